"""`Tokenizer`: the interface of ``tokenizers.Tokenizer`` over a compiled cartridge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, overload

from crayon_hf import _core
from crayon_hf.budgets import calls, splitting
from crayon_hf.cartridges.source_json import reference_of
from crayon_hf.errors import TokenIdError, UnsupportedError
from crayon_hf.tokenizer import opening, sources
from crayon_hf.tokenizer.async_methods import AsyncMethods
from crayon_hf.tokenizer.mutators import MutableSettings
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_state import state
from crayon_hf.tokenizer_state.modes import EXACT, mode_of
from crayon_hf.util import validation
from crayon_hf.util.files import write_atomic
from crayon_hf.util.reference import need_components

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers

    from crayon_hf.file_encoding import FileChunk
    from crayon_hf.tokenizer_state.state import TokenizerState

    AnyArray: TypeAlias = npt.NDArray[Any] | _core.DeviceArray


class Tokenizer(MutableSettings, AsyncMethods):
    """Text to ids and back, with the ids of the reference library.

    Open one with `from_file`, `from_str`, `from_pretrained`, `from_tiktoken` or `from_profile`. It gives the
    reference's ids, or with ``mode="greedy"`` the longest token at each place.

    It does everything that a ``tokenizers.Tokenizer`` does. `normalizer`, `model` and the others are objects of that
    library; changing one changes the tokenizer. (One exception: a part of a ``Sequence`` that outlives the sequence.)
    Many threads can use one tokenizer at once. A call that runs while another thread changes the tokenizer uses the old
    state to its end.

    >>> tokenizer = Tokenizer.from_profile("lite")
    >>> tokenizer.encode("Hello, world!").ids
    [23071, 11, 1125, 0]
    """

    __slots__ = ("__dict__", "__weakref__")

    def __init__(self, model: tokenizers.models.Model) -> None:
        """A tokenizer of nothing but a model of the ``tokenizers`` library."""
        from crayon_hf.tokenizer_json.components import check_kind

        check_kind("model", model)
        self._begin(opening.open_model(model))

    # -- opening

    @classmethod
    def _of(cls, parts: TokenizerState) -> Tokenizer:
        tokenizer = cls.__new__(cls)
        tokenizer._begin(parts)
        return tokenizer

    @staticmethod
    def from_file(path: str | os.PathLike[str], mode: str = "exact") -> Tokenizer:
        """Open a ``tokenizer.json``, a cartridge (``.dat``) or any other source, recognised by its contents.

        Other sources are files of SentencePiece, GGUF, tekken, tiktoken, BERT, GPT-2 and CRAYON, or a directory with
        one of them. The first opening compiles a source into the cache; later ones map it from there.
        """
        return Tokenizer._of(sources.open_any(path, mode_of(mode)))

    @staticmethod
    def from_str(json: str, mode: str = "exact") -> Tokenizer:
        """Open the text of a ``tokenizer.json``.

        The cartridge of a text of 256 KiB or more is kept in the cache, like that of a file.
        """
        if not isinstance(json, str):
            raise TypeError(f"json is {type(json).__name__}, expected str")
        return Tokenizer.from_buffer(json.encode(), mode)

    @staticmethod
    def from_buffer(buffer: bytes, mode: str = "exact") -> Tokenizer:
        """Open the bytes of a ``tokenizer.json``, as `from_str`."""
        if not isinstance(buffer, (bytes, bytearray, memoryview)):
            raise TypeError(f"buffer is {type(buffer).__name__}, expected bytes")
        return Tokenizer._of(opening.open_buffer(buffer, mode_of(mode)))

    @staticmethod
    def from_pretrained(
        identifier: str, revision: str = "main", token: str | None = None, mode: str = "exact"
    ) -> Tokenizer:
        """Open the ``tokenizer.json`` of a repository on the Hugging Face Hub.

        If the repository has a cartridge that agrees with it, that is used; `engine_report` says so.
        """
        return Tokenizer._of(opening.open_pretrained(identifier, revision, token, mode_of(mode)))

    @classmethod
    def from_tokenizers(cls, reference: tokenizers.Tokenizer) -> Tokenizer:
        """A copy of a ``tokenizers.Tokenizer``. Later changes of one do not change the other.

        UnsupportedError for one with a component that is written in Python.
        """
        try:
            source = _core.with_exact_scores(reference.to_str().encode())
        except AttributeError:
            need_components("from_tokenizers")
            raise TypeError(f"reference is {type(reference).__name__}, expected tokenizers.Tokenizer") from None
        except Exception as error:  # the library raises Exception itself
            raise UnsupportedError(f"the tokenizer cannot be written: {error}") from error
        tokenizer = cls._of(opening.open_buffer(source))
        tokenizer._take_marks(reference)
        return tokenizer

    @staticmethod
    def from_tiktoken(
        path_or_name: str | os.PathLike[str],
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
        mode: str = "exact",
    ) -> Tokenizer:
        """Open a tiktoken rank file, or a published encoding by its name (``"cl100k_base"``).

        A published file is recognised by its contents. Any other needs its `pattern`, or the `name` of the encoding
        whose pattern and special tokens it uses; `special_tokens` maps their text to their ids. A name alone looks in
        tiktoken's cache, and then asks tiktoken. It always means the encoding, also where a path has it.
        """
        return Tokenizer._of(opening.open_tiktoken(path_or_name, pattern, special_tokens, name, mode_of(mode)))

    @staticmethod
    def from_profile(name: str, mode: str = "exact") -> Tokenizer:
        """Open a profile by its name: ``lite``, or any name in the search path (see ``CRAYON_PROFILE_DIR``).

        The name always means the profile, also where a path has it.
        """
        return Tokenizer._of(sources.open_profile(name, mode_of(mode)))

    # -- encoding

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> _core.Encoding:
        """Encode a text, or a pair of texts; with `is_pretokenized` each is a list of words."""
        if type(is_pretokenized) is not bool or type(add_special_tokens) is not bool:
            validation.check_flags(is_pretokenized=is_pretokenized, add_special_tokens=add_special_tokens)
        engine = self._engine or self._settle()  # _current_engine(), without a call: this is a hot path
        as_text, truncation, padding = self._special_as_text, self._truncation, self._padding
        try:
            return engine.encode(sequence, pair, is_pretokenized, add_special_tokens, as_text, truncation, padding)
        except TypeError:
            plain, plain_pair = validation.plain(sequence), validation.plain(pair)
            if plain is sequence and plain_pair is pair:
                raise
        how = is_pretokenized, add_special_tokens, as_text, truncation, padding
        return engine.encode(plain, plain_pair, *how)

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[_core.Encoding]:
        """Encode many inputs, each one a text or a pair of texts. `threads` 0 means one for each core."""
        return self._encode_batch(input, is_pretokenized, add_special_tokens, True, threads)

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[_core.Encoding]:
        """`encode_batch` without offsets: those of the result are all (0, 0)."""
        return self._encode_batch(input, is_pretokenized, add_special_tokens, False, threads)

    def _encode_batch(
        self, input: Any, is_pretokenized: bool, add_special_tokens: bool, offsets: bool, threads: int
    ) -> list[_core.Encoding]:
        validation.check_flags(is_pretokenized=is_pretokenized, add_special_tokens=add_special_tokens)
        engine = self._current_engine()
        as_text, sizes = self._special_as_text, (self._truncation, self._padding)
        try:
            return engine.encode_batch(input, is_pretokenized, add_special_tokens, as_text, offsets, threads, *sizes)
        except TypeError:
            plain = validation.plain(input)
            if plain is input:
                raise
        return engine.encode_batch(plain, is_pretokenized, add_special_tokens, as_text, offsets, threads, *sizes)

    def encode_columns(
        self,
        first: list[str],
        second: list[str] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: tuple[int, int, str, str] | None = None,
        padding: tuple[int | None, str, int | None, int, int] | None = None,
        columns: Sequence[str] = ("input_ids", "token_type_ids", "attention_mask"),
        as_arrays: bool = False,
        threads: int = 0,
    ) -> dict[str, Any] | None:
        """Encode many texts, or pairs of texts, into columns of lists or of arrays. None if the tokenizer is not
        native.

        `truncation` is (max_length, stride, strategy, direction), `padding` (length or None, side, multiple or None,
        id, type id); the settings of the tokenizer are ignored.
        """
        engine, as_text = self._current_engine(), self._special_as_text
        return engine.encode_columns(
            first, second, add_special_tokens, as_text, truncation, padding, columns, as_arrays, threads
        )

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of any bytes at all, UTF-8 or not: no special tokens, no normalizer. `decode_bytes` undoes it."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data is {type(data).__name__}, expected bytes")
        return self._current_engine().encode_bytes(bytes(data))

    @overload
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        threads: int = 0,
        *,
        as_device_arrays: Literal[False] = False,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    @overload
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        threads: int = 0,
        *,
        as_device_arrays: bool,
    ) -> tuple[AnyArray, AnyArray]: ...
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        threads: int = 0,
        *,
        as_device_arrays: bool = False,
    ) -> tuple[AnyArray, AnyArray]:
        """Encode many texts into two arrays, (ids, row_splits): text i has ``ids[row_splits[i]:row_splits[i + 1]]``.

        Truncation and padding are ignored, here and in `count_tokens`. With `as_device_arrays` the arrays stay in the
        memory of the tokenizer's device (see `to`), for ``torch.from_dlpack``; on the CPU they are NumPy arrays, which
        it takes as well.
        """
        engine, as_text = self._current_engine(), self._special_as_text
        if self._placement is not None:
            made = self._placement.try_ragged(engine, texts, add_special_tokens, as_text, threads, as_device_arrays)
            if made is not None:
                return made  # type: ignore[no-any-return]
        return engine.encode_ragged(texts, add_special_tokens, as_text, threads)

    def encode_flat(
        self,
        data: Any,
        offsets: Any,
        add_special_tokens: bool = True,
        threads: int = 0,
        *,
        as_device_arrays: bool = False,
    ) -> tuple[AnyArray, AnyArray]:
        """`encode_ragged` of texts that lie one behind the other: text i is ``data[offsets[i]:offsets[i + 1]]``, UTF-8.

        `data` is not copied, and must not change meanwhile: a buffer (bytes, a mapped file, an array, pinned
        or not), or a vector of uint8 or int8 with ``__dlpack__``: a tensor on the CPU, or on the tokenizer's device.
        `offsets` are integers on the CPU, one more than there are texts. InvalidUtf8Error names the text and the byte.
        """
        from crayon_hf.device.flat_texts import encode_on_cpu

        engine, as_text = self._current_engine(), self._special_as_text
        if self._placement is not None:
            made = self._placement.try_flat(engine, data, offsets, add_special_tokens, as_text, as_device_arrays)
            if made is not None:
                return made  # type: ignore[no-any-return]
        return encode_on_cpu(engine, data, offsets, add_special_tokens, as_text, threads)

    def encode_file(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        chunk_bytes: int = 1 << 20,
        offsets: bool = False,
        add_special_tokens: bool = True,
    ) -> Iterator[FileChunk]:
        """Encode a file of any size in little memory; yields (ids, offsets, start, end) of each chunk.

        `file` is a path, which is mapped, or a binary file (a pipe, ``gzip.open``, ``socket.makefile``), which is read.
        The ids together are those of the whole text, with special tokens only at its beginning and end. With `offsets`
        each id has its range of bytes in the file. Memory does not grow with the file, as long as there are places
        where the text can surely be cut. A megabyte of one letter has none, and with a custom pattern there may be none
        at all (``_core.StreamEncoder.streams``); chunks then grow as needed. The memory of arrays is used again once
        they are deleted. Truncation and padding are ignored.
        """
        from crayon_hf.file_encoding import encode_file

        return encode_file(
            self._current_engine(),
            self._special_as_text,
            file,
            chunk_bytes=chunk_bytes,
            offsets=offsets,
            add_special_tokens=add_special_tokens,
        )

    # -- budgets: functions that take a tokenizer first

    count_tokens = calls.count_tokens
    fits = calls.fits
    truncate_text = calls.truncate_text
    split_text = splitting.split_text
    split_batch = splitting.split_batch
    split_file = splitting.split_file

    def post_process(
        self, encoding: _core.Encoding, pair: _core.Encoding | None = None, add_special_tokens: bool = True
    ) -> _core.Encoding:
        """Truncate and pad an encoding made with ``add_special_tokens=False``, and add special tokens."""
        if type(encoding) is not _core.Encoding or pair is not None:
            for name, value in (("encoding", encoding), ("pair", pair)):
                if type(value).__name__ != "Encoding" and (value is not None or name == "encoding"):
                    raise TypeError(f"{name} is {type(value).__name__}, expected Encoding")
        engine = self._engine or self._settle()
        return engine.post_process(encoding, pair, add_special_tokens, self._truncation, self._padding)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many special tokens `encode` adds to a text, or to a pair."""
        if type(is_pair) is not bool:
            is_pair = validation.flag(is_pair, "is_pair")
        return (self._engine or self._settle()).num_special_tokens_to_add(is_pair)

    # -- decoding

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True, unknown_ids: str = "skip") -> str:
        """The text of some ids.

        Ids that are not in the vocabulary are left out, as by the reference: models with padded embeddings give some.
        With ``unknown_ids="error"`` they are a TokenIdError. An id that does not fit 32 bits is an OverflowError.

        >>> tokenizer = Tokenizer.from_profile("lite")
        >>> tokenizer.decode([*tokenizer.encode("Hello").ids, 10**6])
        'Hello'
        """
        if type(skip_special_tokens) is not bool:
            validation.check_flags(skip_special_tokens=skip_special_tokens)
        strict = unknown_ids != "skip" and validation.is_strict(unknown_ids)
        engine = self._current_engine()
        if isinstance(ids, Iterator):  # which can be read once
            ids = list(ids)
        try:
            return engine.decode(ids, skip_special_tokens)  # the shortest way, which takes known ids alone
        except TokenIdError:
            if strict:
                raise
            known = validation.ids_of_32_bits(ids)
        except TypeError:
            if not validation.is_empty_array(ids):
                raise
            known = []
        return engine.decode(known, skip_special_tokens, unknown_ids)

    def decode_bytes(self, ids: Sequence[int], skip_special_tokens: bool = False) -> bytes:
        """The bytes of some ids, which need not be whole characters."""
        engine = self._current_engine()
        return engine.decode_bytes([] if validation.is_empty_array(ids) else ids, skip_special_tokens)

    def decode_batch(
        self,
        sequences: Iterable[Sequence[int]],
        skip_special_tokens: bool = True,
        threads: int = 0,
        unknown_ids: str = "skip",
    ) -> list[str]:
        """`decode` for many sequences of ids."""
        validation.check_flags(skip_special_tokens=skip_special_tokens)
        strict = unknown_ids != "skip" and validation.is_strict(unknown_ids)
        rows = [[] if validation.is_empty_array(ids) else ids for ids in sequences]
        engine = self._current_engine()
        try:
            return engine.decode_batch(rows, skip_special_tokens, threads=threads)
        except TokenIdError:
            if strict:
                raise
        known = list(map(validation.ids_of_32_bits, rows))
        return engine.decode_batch(known, skip_special_tokens, unknown_ids=unknown_ids, threads=threads)

    # -- vocabulary

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, spelled as in the vocabulary; None when there is none."""
        engine = self._engine or self._settle()
        try:
            return engine.token_to_id(token)
        except TypeError:
            validation.text(token, "token")
            raise

    def id_to_token(self, id: int) -> str | None:
        """The token with an id, spelled as in the vocabulary; None when there is none."""
        engine = self._engine or self._settle()
        try:
            token = engine.id_to_token(id)
        except TypeError:
            token = None
        if token is None:
            validation.unsigned(id, "id", 32)
        return token

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Every token and its id."""
        return self._current_engine().get_vocab(validation.flag(with_added_tokens, "with_added_tokens"))

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        if type(with_added_tokens) is not bool:
            with_added_tokens = validation.flag(with_added_tokens, "with_added_tokens")
        return (self._engine or self._settle()).get_vocab_size(with_added_tokens)

    # -- saving

    def to_str(self, pretty: bool = False) -> str:
        """The ``tokenizer.json``, as the ``tokenizers`` library writes it."""
        return _core.decode_utf8(self._written(pretty))

    def _written(self, pretty: bool) -> bytes:
        return b"".join(self._written_parts(pretty))

    def _written_parts(self, pretty: bool) -> list[bytes]:
        validation.check_flags(pretty=pretty)
        with state.lock:
            parts = self._state
            document, source, engine, added = (
                parts.without_vocabulary(),
                parts.source,
                parts.made_of_source(),
                parts.added(),
            )
        return tokenizer_json.parts_of(document | self._sizes_as_json(), pretty, source.read, engine, added)

    def _sizes_as_json(self) -> dict[str, Any]:
        sizes = {"truncation": self._truncation, "padding": self._padding}
        return {name: None if size is None else size.as_json() for name, size in sizes.items()}

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Write the ``tokenizer.json`` to `path`; if `path` ends in ``.dat``, the cartridge, and the json beside it.

        The json beside a cartridge is, byte for byte, the one that it was compiled from; `pretty` is for a json alone.
        """
        name = os.fspath(path)
        if not name.endswith(".dat"):
            write_atomic(name, self._written_parts(pretty))
            return
        with state.lock:
            parts = self._state
            is_native = isinstance(parts.engine(), _core.Engine)
            if is_native and (parts.is_modified or parts.stored_settings() != self._settings()[1:]):
                parts = opening.open_buffer(self._written(pretty=False))
            source, cartridge = parts.source.read(), parts.cartridge()
        write_atomic(name.removesuffix(".dat") + ".json", source)
        write_atomic(name, cartridge)

    # -- devices

    def to(self, device: Any) -> Tokenizer:
        """Encode batches on a device from now on, with the same ids. Returns the tokenizer, as ``torch.nn.Module.to``
        does.

        `device` is ``"cuda"``, ``"cuda:1"``, ``"rocm"``, ``"cpu"``, a ``torch.device``, or ``"auto"``: the best
        available (or ``CRAYON_DEVICE``). The device encodes `encode_ragged`, `encode_flat` and `count_tokens` of many
        texts; with ``"auto"`` only batches that are large enough. The CPU encodes everything else, and vocabularies
        that no GPU supports, with a `DeviceWarning` if you named a GPU. `engine_report` says what encodes, and why.

        A device that is unavailable, full or lost is a `DeviceError`, and the tokenizer stays where it is; with
        ``"auto"`` the CPU goes on, with one `DeviceWarning`. Copies are on the same device. A pickled tokenizer goes
        there when it first encodes a batch. A forked child cannot use a device of its parent.
        """
        from crayon_hf.tokenizer.device_placement import Placement, name_of

        name = name_of(device)
        placement = None if name == "cpu" else Placement(name)
        if placement is not None:
            placement.prepare(self._current_engine())
        self._placement = placement
        return self

    @property
    def device(self) -> str:
        """The device that encodes batches: ``"cpu"``, ``"cuda:0"``, ``"rocm:0"``."""
        return self._where()[0]

    def _where(self) -> tuple[str, str]:
        if self._placement is None:
            return "cpu", "the tokenizer was not moved"
        choice = self._placement.choice(self._current_engine())
        return choice.name, choice.reason

    # -- the engine

    @property
    def mode(self) -> str:
        """``"exact"`` or ``"greedy"``, as it was opened. It cannot be changed, and files do not save it."""
        return self._state.mode.name

    @property
    def engine(self) -> str:
        """``"native"``, or ``"delegated"`` when a component is not native and the reference library encodes."""
        return "native" if isinstance(self._current_engine(), _core.Engine) else "delegated"

    def engine_report(self) -> dict[str, Any]:
        """Which engine this is and why: engine, mode, reason, cpu, cartridge, reference, origin, refused, device,
        device_reason.

        `origin` says where the cartridge is from: "repository" (it was beside the tokenizer's files), "cache" (compiled
        on this machine and kept), "memory" (compiled and not kept), or None when delegated. `refused` says why a
        cartridge beside the tokenizer's files is not used.
        """
        engine = self._current_engine()
        device, why = self._where()
        return {
            "engine": self.engine,
            "mode": self.mode,
            "reason": getattr(engine, "reason", None),
            "cpu": engine.cpu,
            "cartridge": self._state.path,
            "reference": reference_of(engine.metadata),
            "origin": self._state.origin(),
            "refused": self._state.refused,
            "device": device,
            "device_reason": why,
        }

    def engine_info(self) -> dict[str, Any]:
        """Facts about the cartridge, or about the reference of a delegated tokenizer."""
        return self._current_engine().info()

    @property
    def source_digest(self) -> str | None:
        """The SHA-256 (hex) of the tokenizer.json that the cartridge was compiled from; None when delegated."""
        engine = self._current_engine()
        return engine.source_digest if isinstance(engine, _core.Engine) else None

    def __repr__(self) -> str:
        return self._shown(repr)

    def __str__(self) -> str:
        return self._shown(str)

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts, and a text in coloured tokens."""
        return self._html(type(self).__name__)

    def _html(self, name: str, origin: str | None = None) -> str:
        """The same under another name; `origin` is what it was opened by, where that is not a file."""
        from crayon_hf.display.html import of_tokenizer, short_path
        from crayon_hf.display.tokens import sample_of

        parts = self._state
        path = parts.path if parts.came_along else parts.source.path
        facts = {
            "tokens": f"{self.get_vocab_size():,}",
            "engine": self.engine,
            "mode": self.mode,
            "from": short_path(origin or path) if path else "memory",
        }
        return of_tokenizer(name, facts, sample_of(self._current_engine()))

    def _shown(self, how: Callable[[Any], str]) -> str:
        from crayon_hf.tokenizer.representation import represent

        try:
            with state.lock:
                parts = self._state
                if parts.mode != EXACT:
                    raise UnsupportedError("the tokenizers library has no such mode")
                document, source, added = parts.without_vocabulary(), parts.source, parts.added()
            return represent(document | self._sizes_as_json(), source.read(), added, how)
        except Exception:  # the library's have no class of their own
            report = self.engine_report()
            facts = {"engine": report["engine"], "vocab_size": self.get_vocab_size(), "mode": report["mode"]}
            return f"Tokenizer({', '.join(f'{name}={fact!r}' for name, fact in facts.items())})"

    # -- copies

    def __copy__(self) -> Tokenizer:
        return self._twin(reopened=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self.__copy__()  # everything that is shared is immutable

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[Any, ...]]:
        device = () if self._placement is None else (self._placement.requested,)
        with state.lock:
            return _unpickle, (type(self), self._state.pickled(), (False, *self._settings()[1:]), *device)

    def __getstate__(self) -> bytes:
        return self._written(pretty=False)

    def __setstate__(self, written: bytes) -> None:
        parts: TokenizerState | None = getattr(self, "_state", None)
        opened = opening.open_buffer(written, EXACT if parts is None else parts.mode)
        with state.lock:
            self._begin(opened)

    def __getnewargs__(self) -> tuple[tokenizers.models.Model]:
        from crayon_hf.tokenizer_json.components import object_of

        return (object_of("model", {"type": "BPE", "vocab": {}, "merges": []}),)

    def _settings(self) -> tuple[Any, ...]:
        return self._special_as_text, self._truncation, self._padding

    def _restore(self, values: tuple[Any, ...]) -> None:
        self._special_as_text, self._truncation, self._padding = values

    def _as_it_is(self) -> Tokenizer:
        return self._twin(reopened=False)

    def _twin(self, reopened: bool) -> Tokenizer:
        with state.lock:
            twin = self._of(self._state.copy(reopened))
        as_text, *sizes = self._settings()
        twin._restore((as_text and not reopened, *sizes))  # no tokenizer.json holds that one
        twin._placement = None if self._placement is None else self._placement.copy()
        return twin


def _unpickle(
    cls: type[Tokenizer], parts: tuple[Any, ...], settings: tuple[Any, ...], device: str | None = None
) -> Tokenizer:
    tokenizer = cls._of(opening.open_pickled(*parts))
    tokenizer._restore(settings)
    if device is not None:
        from crayon_hf.tokenizer.device_placement import Placement

        tokenizer._placement = Placement(device)
    return tokenizer


_core.quicken(Tokenizer)
