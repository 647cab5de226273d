"""`CrayonTokenizerFast`: `transformers.PreTrainedTokenizerFast` on the engine of this package."""

from __future__ import annotations

import functools
import os
from typing import Any

from transformers import BatchEncoding, PreTrainedTokenizerFast

from crayon_hf.errors import CrayonError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.transformers import calling, loading, pickling
from crayon_hf.transformers.backend import Assigned, assign, model_kind, report
from crayon_hf.transformers.classes import CrayonMeta, adopt, class_for, derive_from, opened_as, stock_class
from crayon_hf.transformers.construction import is_building, over_our_engine, with_backend
from crayon_hf.transformers.originals import NAMES, is_own, note_replaced, plain_backend
from crayon_hf.transformers.rebinding import natively


def _if_own(method: Any) -> Any:
    return method if is_own(method) else None


_OWN_DECODE = _if_own(PreTrainedTokenizerFast._decode)
_OWN_IDS_TO_TOKENS = _if_own(PreTrainedTokenizerFast.convert_ids_to_tokens)
_OWN_TOKENS_TO_IDS = _if_own(PreTrainedTokenizerFast.convert_tokens_to_ids)
"""transformers' own methods, to detect that a program has replaced them."""


class CrayonTokenizerFast(PreTrainedTokenizerFast, metaclass=CrayonMeta):
    """A `PreTrainedTokenizerFast` that gives the same results many times faster.

    Open one with `from_pretrained`: a Hub id, a directory, a ``tokenizer.json`` or a cartridge (``.dat``). The
    documentation of ``transformers`` applies. `save_pretrained` writes the same files, and renews an existing
    ``tokenizer.dat``. ``backend_tokenizer.save("tokenizer.dat")`` writes a new one. The class of an instance is always
    a subclass for one class of ``transformers``, with the same name. docs/drop-in.md has examples.
    """

    _crayon_stock: type | None = None

    # -- opening and saving

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *init_inputs: Any, **kwargs: Any) -> Any:
        """Open a tokenizer, as `PreTrainedTokenizerFast.from_pretrained` does, or a cartridge by its path.

        Raises:
            VocabularyError: A file of the tokenizer is damaged.
            CartridgeError: The cartridge is damaged.
        """
        stock = stock_class(cls)
        if stock is cls:  # a program's subclass of ours is built without conversion
            return super().from_pretrained(pretrained_model_name_or_path, *init_inputs, **kwargs)
        name = pretrained_model_name_or_path
        if loading.is_cartridge(name):
            return cls(tokenizer_object=Tokenizer.from_file(name), name_or_path=os.fspath(name), **kwargs)
        if is_building():  # called by AutoTokenizer
            return super().from_pretrained(name, *init_inputs, **kwargs)
        return loading.load(super().from_pretrained, stock, name, init_inputs, kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **with_backend(kwargs))  # type: ignore[no-untyped-call]

    @classmethod
    def _from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        # This method reads only the added tokens of a tokenizer.json.
        return over_our_engine(super()._from_pretrained, with_vocabulary=False)(*args, **kwargs)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: Any = False, **kwargs: Any) -> dict[str, Any]:
        """Return the constructor's arguments, which the class of transformers makes from files."""
        method: Any = super().convert_to_native_format
        made: dict[str, Any] = over_our_engine(method.__func__.__get__(stock_class(cls)))(trust_remote_code, **kwargs)
        return made

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: facts about the tokenizer, and a sample text in coloured tokens."""
        from html import escape

        backend = self.backend_tokenizer
        if not isinstance(backend, Tokenizer):
            return f"<pre>{escape(repr(self))}</pre>"
        return backend._html(type(self).__name__, self.name_or_path)

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        names: tuple[str, ...] = super()._save_pretrained(
            save_directory=save_directory,
            file_names=file_names,
            legacy_format=legacy_format,
            filename_prefix=filename_prefix,
        )
        source = next((name for name in reversed(names) if name.endswith("tokenizer.json")), "")
        cartridge = source.removesuffix(".json") + ".dat"
        if not source or not os.path.isfile(cartridge):
            return names
        try:  # renew the cartridge: a previous tokenizer's would be refused
            Tokenizer.from_file(source).save(cartridge)
        except CrayonError:
            return names
        return (*names, cartridge)

    # -- methods that programs replace

    @property
    def _crayon_plain_calls(self) -> bool:
        return plain_backend(self, "encode_batch") is not None

    def __setattr__(self, key: str, value: Any) -> None:
        if key == "_tokenizer":
            assign(self.__dict__, value)
            return
        super().__setattr__(key, value)  # type: ignore[no-untyped-call]
        if key in NAMES:
            note_replaced(self)

    def __delattr__(self, key: str) -> None:
        super().__delattr__(key)
        if key in NAMES:
            note_replaced(self)

    # -- the backend

    _tokenizer = Assigned()

    def __getattr__(self, key: str) -> Any:
        deferred = self.__dict__.get("_crayon_deferred")
        if deferred is not None and key in deferred.names:
            return deferred.values()[key]
        return PreTrainedTokenizerFast.__getattr__(self, key)  # type: ignore[no-untyped-call]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return pickling.reduce_instance(self, super().__reduce_ex__(protocol))

    def engine_report(self) -> dict[str, Any]:
        """Return which engine encodes, and the origin of its cartridge: see `crayon_hf.Tokenizer.engine_report`."""
        return report(self._tokenizer)

    # -- encoding

    def __call__(self, text: Any = None, *args: Any, **kwargs: Any) -> BatchEncoding:
        """Encode one text or many, alone or in pairs, as `PreTrainedTokenizerFast` does."""
        if args or kwargs or type(text) is not str:
            made = calling.call(self, text, args, kwargs)
        else:
            made = calling.call_one(self, text)
        return super().__call__(text, *args, **kwargs) if made is None else made

    def encode(self, text: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the ids of a text, as `PreTrainedTokenizerFast.encode` does."""
        if type(text) is str and not args and not kwargs:
            made = calling.call_one(self, text)
            if made is not None:
                return made.data["input_ids"]
        return super().encode(text, *args, **kwargs)

    # -- decoding

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> str:
        if PreTrainedTokenizerFast._decode is not _OWN_DECODE:
            options = kwargs | {"clean_up_tokenization_spaces": clean_up_tokenization_spaces}
            return str(super()._decode(token_ids, skip_special_tokens=skip_special_tokens, **options))
        text: str = super()._decode(
            token_ids, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False, **kwargs
        )
        if calling.cleans_up(self, clean_up_tokenization_spaces):
            text = self.clean_up_tokenization(text)
        return text

    def decode(self, token_ids: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the text of ids, as `PreTrainedTokenizerFast.decode` does."""
        kind = type(token_ids)
        if kind is int or (kind is list and token_ids and type(token_ids[0]) is int):
            # transformers checks each id for a tensor; this path does not.
            made = calling.decode_row(self, token_ids, args, kwargs)
            if made is not None:
                return made
        return super().decode(token_ids, *args, **kwargs)

    def batch_decode(self, sequences: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the texts of many sequences of ids, as `PreTrainedTokenizerFast.batch_decode` does."""
        made = calling.decode_many(self, sequences, args, kwargs)
        return super().batch_decode(sequences, *args, **kwargs) if made is None else made

    # -- tokens and ids

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Return the tokens of ids, as `PreTrainedTokenizerFast.convert_ids_to_tokens` does."""
        if type(ids) is int and PreTrainedTokenizerFast.convert_ids_to_tokens is _OWN_IDS_TO_TOKENS:
            return self._tokenizer.id_to_token(ids)  # the body of transformers' method
        made = calling.tokens_of(self, ids, skip_special_tokens) if type(ids) is list else None
        return super().convert_ids_to_tokens(ids, skip_special_tokens=skip_special_tokens) if made is None else made

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the ids of tokens, as `PreTrainedTokenizerFast.convert_tokens_to_ids` does."""
        if type(tokens) is str and PreTrainedTokenizerFast.convert_tokens_to_ids is _OWN_TOKENS_TO_IDS:
            return self._convert_token_to_id_with_added_voc(tokens)  # the body of transformers' method
        made = calling.ids_of(self, tokens) if type(tokens) is list else None
        return super().convert_tokens_to_ids(tokens) if made is None else made

    def _encode_without_added_tokens(self, text: str) -> list[int]:
        made = calling.encode_without_added_tokens(self, text)
        return super()._encode_without_added_tokens(text) if made is None else made

    # -- training

    def train_new_from_iterator(self, *args: Any, **kwargs: Any) -> Any:
        """Train a new tokenizer of the same kind, as `PreTrainedTokenizerFast.train_new_from_iterator` does."""
        method: Any = super().train_new_from_iterator
        if model_kind(self._tokenizer) == "BPE":
            method = natively(method)
        return method(*args, **kwargs)


for _name in ("_encode_without_added_tokens", "convert_to_native_format"):
    if not hasattr(PreTrainedTokenizerFast, _name):  # transformers 4
        delattr(CrayonTokenizerFast, _name)

derive_from(CrayonTokenizerFast)
pickling.watch()


def open_class(from_pretrained: Any, cls: type, name: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the stock `from_pretrained` of `cls`, and return a tokenizer of our class for `cls`.

    `from_pretrained` is the attribute in the ``__dict__`` of the common base class.
    """
    if isinstance(cls, CrayonMeta) or is_building():
        return from_pretrained.__get__(None, cls)(name, *inputs, **kwargs)
    return loading.load(from_pretrained.__get__(None, opened_as(cls)), cls, name, inputs, kwargs)


def adopt_new(tokenizer: Any) -> None:
    """Convert a tokenizer that a transformers constructor made, unless a running `from_pretrained` will convert it."""
    if not is_building():
        adopt(tokenizer, keep=True)


for _name in (
    *("__call__", "encode", "decode", "batch_decode", "convert_ids_to_tokens", "convert_tokens_to_ids"),
    "train_new_from_iterator",
):  # help(), editors and get_type_hints() show the signature and the documentation of transformers
    functools.update_wrapper(CrayonTokenizerFast.__dict__[_name], getattr(PreTrainedTokenizerFast, _name))

__all__ = ["CrayonTokenizerFast", "class_for"]
