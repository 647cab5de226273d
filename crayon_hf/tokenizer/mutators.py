"""Methods that change a `Tokenizer`: components, added tokens, truncation, padding and training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from crayon_hf.tokenizer_json import added_tokens, truncation_padding
from crayon_hf.tokenizer_state import state
from crayon_hf.util import validation
from crayon_hf.util.collector import CollectorPause

if TYPE_CHECKING:
    import tokenizers

    from crayon_hf.cartridges.opened_source import AnyEngine
    from crayon_hf.tokenizer.device_placement import Placement
    from crayon_hf.tokenizer_state.state import TokenizerState
    from crayon_hf.training_data.batches import Corpus
    from crayon_hf.training_data.models import Trained


class MutableSettings:
    """Base of `Tokenizer`: the methods that change it.

    A change takes effect at the next use; a refused change has no effect. The result is the same as saving the
    tokenizer and opening it again. After an attribute of a component changes, ``tokenizers`` can differ for a while,
    because its model caches words and its added tokens keep their normalized spelling.
    """

    __slots__ = ("_engine", "_padding", "_placement", "_special_as_text", "_state", "_truncation")

    _state: TokenizerState
    _engine: AnyEngine | None
    """The engine that encodes. After a change, or while a caller holds a component, it is None: `_state` then makes
    or finds the engine."""
    _placement: Placement | None
    """The device that encodes batches. None means the CPU."""
    _special_as_text: bool
    _truncation: truncation_padding.Truncation | None
    _padding: truncation_padding.Padding | None

    def _begin(self, parts: TokenizerState) -> None:
        self._state = parts
        self._placement = None
        self._special_as_text = False
        self._truncation, self._padding = parts.stored_settings()
        self._engine = parts.engine() if parts.is_idle else None

    def _current_engine(self) -> AnyEngine:
        """Return the engine of the tokenizer's current state."""
        return self._engine or self._settle()

    def _settle(self) -> AnyEngine:
        """Get the engine from `_state`, which applies pending changes. Keep it unless it may change again."""
        with state.lock:
            engine = self._state.engine()
            self._engine = engine if self._state.is_idle else None
        return engine

    # -- added tokens

    def add_tokens(self, tokens: list[str | tokenizers.AddedToken]) -> int:
        """Add tokens that are found in a text before the model sees it.

        Args:
            tokens: Strings, or ``tokenizers.AddedToken`` objects.

        Returns:
            The number of tokens that were added or changed.
        """
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: list[str | tokenizers.AddedToken]) -> int:
        """Add tokens, as `add_tokens` does, that `decode` can skip. An AddedToken argument itself becomes special."""
        return self._add(tokens, special=True)

    def get_added_tokens_decoder(self) -> dict[int, tokenizers.AddedToken]:
        """Return the added tokens by id."""
        return self._state.added().decoder()

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are encoded as ordinary text. By default they are recognised."""
        return self._special_as_text

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._special_as_text = validation.flag(value, "encode_special_tokens")

    # -- truncation and padding

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The truncation that `encode` applies, or None. `enable_truncation` and `no_truncation` set it."""
        return None if self._truncation is None else self._truncation.as_dict()

    @property
    def padding(self) -> dict[str, Any] | None:
        """The padding that `encode` applies, or None. `enable_padding` and `no_padding` set it."""
        return None if self._padding is None else self._padding.as_dict()

    def enable_truncation(
        self,
        max_length: int,
        *,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
        **ignored: Any,
    ) -> None:
        """Cut encodings to `max_length` tokens. The tokens cut off go to `Encoding.overflowing`.

        Args:
            max_length: The most tokens, special tokens included.
            stride: The number of tokens that each overflowing encoding repeats from the encoding before it.
            strategy: For pairs: ``longest_first``, ``only_first`` or ``only_second``.
            direction: The side that is cut: ``right`` or ``left``.

        Raises:
            ValueError: `stride` and special tokens leave no room in `max_length`, or a name is unknown.
        """
        special_tokens = self._current_engine().num_special_tokens_to_add(False)
        self._truncation = truncation_padding.truncation_of(
            max_length, stride, strategy, direction, special_tokens, ignored
        )

    def no_truncation(self) -> None:
        """Turn truncation off."""
        self._truncation = None

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
        **ignored: Any,
    ) -> None:
        """Pad encodings up to `length` tokens.

        Args:
            direction: The side that is padded: ``right`` or ``left``.
            pad_id: Id of the padding.
            pad_type_id: Type id of the padding.
            pad_token: Token of the padding.
            length: The number of tokens; None means that of the longest encoding of a batch.
            pad_to_multiple_of: Round the length up to a multiple of this.
        """
        self._padding = truncation_padding.padding_of(
            direction, pad_id, pad_type_id, pad_token, length, pad_to_multiple_of, ignored
        )

    def no_padding(self) -> None:
        """Turn padding off."""
        self._padding = None

    # -- components

    @property
    def model(self) -> tokenizers.models.Model:
        """The model, as an object of ``tokenizers``. The first use is slow: that library opens the vocabulary."""
        model: tokenizers.models.Model = self._component("model")
        return model

    @model.setter
    def model(self, model: tokenizers.models.Model) -> None:
        self._set_component("model", model)

    @property
    def normalizer(self) -> tokenizers.normalizers.Normalizer | None:
        """The normalizer, an object of ``tokenizers``, or None."""
        normalizer: tokenizers.normalizers.Normalizer | None = self._component("normalizer")
        return normalizer

    @normalizer.setter
    def normalizer(self, normalizer: tokenizers.normalizers.Normalizer | None) -> None:
        self._set_component("normalizer", normalizer)

    @property
    def pre_tokenizer(self) -> tokenizers.pre_tokenizers.PreTokenizer | None:
        """The pre-tokenizer, an object of ``tokenizers``, or None."""
        pre_tokenizer: tokenizers.pre_tokenizers.PreTokenizer | None = self._component("pre_tokenizer")
        return pre_tokenizer

    @pre_tokenizer.setter
    def pre_tokenizer(self, pre_tokenizer: tokenizers.pre_tokenizers.PreTokenizer | None) -> None:
        self._set_component("pre_tokenizer", pre_tokenizer)

    @property
    def post_processor(self) -> tokenizers.processors.PostProcessor | None:
        """The post-processor, an object of ``tokenizers``, or None."""
        post_processor: tokenizers.processors.PostProcessor | None = self._component("post_processor")
        return post_processor

    @post_processor.setter
    def post_processor(self, post_processor: tokenizers.processors.PostProcessor | None) -> None:
        self._set_component("post_processor", post_processor)

    @property
    def decoder(self) -> tokenizers.decoders.Decoder | None:
        """The decoder, an object of ``tokenizers``, or None."""
        decoder: tokenizers.decoders.Decoder | None = self._component("decoder")
        return decoder

    @decoder.setter
    def decoder(self, decoder: tokenizers.decoders.Decoder | None) -> None:
        self._set_component("decoder", decoder)

    # -- training

    def train(self, files: list[str], trainer: tokenizers.trainers.Trainer | None = None) -> None:
        """Train the model on files of text, one line at a time.

        The native trainer trains BPE models, the ``tokenizers`` library all others.

        Args:
            files: Paths.
            trainer: A trainer of ``tokenizers``; by default one for the model's type, with its default options.
        """
        from crayon_hf.training_data.files import corpus_of_files

        if not isinstance(files, (list, tuple)):
            raise TypeError(f"files is {validation.kind(files)}, expected a list of str and os.PathLike")
        for i, name in enumerate(files):
            if not isinstance(name, (str, os.PathLike)):
                raise TypeError(f"files[{i}] is {validation.kind(name)}, expected str or os.PathLike")

        def corpus() -> Corpus:
            return corpus_of_files(files, format="text")

        self._train(trainer, corpus, lambda reference: reference.train(list(map(os.fspath, files)), trainer))

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        trainer: tokenizers.trainers.Trainer | None = None,
        length: int | None = None,
    ) -> None:
        """Train the model on texts. If the iterator raises, the tokenizer is unchanged.

        Args:
            iterator: Texts, or lists of texts.
            trainer: A trainer of ``tokenizers``; by default one for the model's type, with its default options.
            length: The number of texts, for the progress bar.
        """
        from crayon_hf.training_data.corpus import corpus_of_texts

        length = None if length is None else validation.unsigned(length, "length", 64)
        self._train(
            trainer,
            lambda: corpus_of_texts(iterator, length),
            lambda reference: reference.train_from_iterator(iterator, trainer, length),
        )

    # -- inside

    def _take_marks(self, reference: tokenizers.Tokenizer) -> None:
        """Copy the settings of the ``tokenizers.Tokenizer`` `reference` that a tokenizer.json does not store."""
        self._special_as_text = reference.encode_special_tokens
        self._mark(*added_tokens.lasting_of(reference))

    def _marks(self) -> tuple[list[str], list[str]]:
        """Return the arguments with which `_mark` copies this tokenizer's marks to another one of the same file."""
        with state.lock:
            added = self._state.added()
            return added.lasting_specials(), added.lasting_spellings()

    def _mark(self, special: list[str], normalized: list[str]) -> None:
        """Mark added tokens by their contents, against their flags.

        `special` then count as special tokens, and `normalized` are spelled as normalized ones.
        """
        if special or normalized:
            with state.lock:
                self._state.mark_added(special, normalized)
                self._engine = None

    def _add(self, tokens: Any, special: bool) -> int:
        with CollectorPause():
            checked = added_tokens.tokens_of(tokens, special)
            with state.lock:
                count = self._state.add(checked)
                if count:
                    self._engine = None
        return count

    def _component(self, kind: str) -> Any:
        with state.lock:
            component = self._state.component(kind)
            if component is not None:
                self._engine = None
        return component

    def _set_component(self, kind: str, component: Any) -> None:
        with state.lock:
            self._state.set_component(kind, component)
            self._engine = None

    def _put_component(self, kind: str, document: dict[str, Any] | None) -> None:
        with state.lock:
            self._state.put_component(kind, document)
            self._engine = None

    def _train(
        self,
        trainer: tokenizers.trainers.Trainer | None,
        corpus: Callable[[], Corpus],
        by_reference: Callable[[tokenizers.Tokenizer], None],
    ) -> None:
        from crayon_hf.training_data.models import train_model
        from crayon_hf.training_data.options import native_options
        from crayon_hf.training_data.progress import reporter_of

        with state.lock:
            untrained = self._state.untrained(self._special_as_text)
        options = native_options(untrained.parts["model"], trainer)
        if options is None:
            self._train_by_reference(by_reference)
        else:
            self._take(train_model(untrained, corpus(), options, reporter_of(trainer)))

    def _train_by_reference(self, train: Callable[[tokenizers.Tokenizer], None]) -> None:
        with state.lock:
            reference = self._state.reference()
        reference.encode_special_tokens = self._special_as_text
        train(reference)  # runs the caller's code, which may use this very tokenizer
        with state.lock:
            self._state.take_trained(reference)
            self._engine = None

    def _take(self, trained: Trained) -> None:
        with state.lock:
            self._state.take_model(trained.model, trained.special_tokens)
            self._engine = None


for _member in vars(MutableSettings).values():
    if callable(_member) and not _member.__name__.startswith("_"):
        # Python's errors about missing arguments then name the class that users know.
        _member.__qualname__ = f"Tokenizer.{_member.__name__}"
        _member.__module__ = "crayon_hf.tokenizer"
