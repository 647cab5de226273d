"""`Tokenizer`: the interface of ``tokenizers.Tokenizer`` over a compiled cartridge."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, overload

from crayon_hf import _core
from crayon_hf.budgets import calls, splitting
from crayon_hf.cartridges.compiling import reference_of
from crayon_hf.cartridges.opened_source import beside
from crayon_hf.errors import TokenIdError, UnsupportedError
from crayon_hf.tokenizer import opening
from crayon_hf.tokenizer.async_methods import AsyncMethods
from crayon_hf.tokenizer.mutators import MutableSettings
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_state import state
from crayon_hf.tokenizer_state.modes import EXACT, mode_of
from crayon_hf.util import validation
from crayon_hf.util.files import write_atomic
from crayon_hf.util.reference import exact_json_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers

    from crayon_hf.file_encoding import FileChunk
    from crayon_hf.tokenizer_state.state import TokenizerState

    AnyArray: TypeAlias = npt.NDArray[Any] | _core.DeviceArray


class Tokenizer(MutableSettings, AsyncMethods):
    """Turns text into ids and back, with the ids of the reference library.

    Open one with `from_file`, `from_str`, `from_pretrained`, `from_tiktoken` or `from_profile`. Each takes a `mode`:
    ``"exact"`` (the default) gives the reference's ids, ``"greedy"`` takes the longest token at each position.

    It has every method and attribute of ``tokenizers.Tokenizer``. `normalizer`, `model` and the other components are
    objects of that library; changing one changes the tokenizer. Exception: changing a part of a ``Sequence`` has no
    effect once the sequence is deleted.

    Any number of threads can use one tokenizer at once. If a thread changes it, calls that are running finish with the
    old state.

    >>> tokenizer = Tokenizer.from_profile("lite")
    >>> tokenizer.encode("Hello, world!").ids
    [23071, 11, 1125, 0]
    """

    __slots__ = ("__dict__", "__weakref__")

    def __init__(self, model: tokenizers.models.Model) -> None:
        """Make a tokenizer with a model of the ``tokenizers`` library and no other component."""
        from crayon_hf.tokenizer_json.components import check_kind

        check_kind("model", model)
        self._begin(opening.open_model(model))

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:
        """The class, or the one of ``tokenizers`` if that is imported: `isinstance` is true for both."""
        return getattr(sys.modules.get("tokenizers"), "Tokenizer", type(self))

    # -- opening

    @classmethod
    def _of(cls, parts: TokenizerState) -> Tokenizer:
        tokenizer = cls.__new__(cls)
        tokenizer._begin(parts)
        return tokenizer

    @staticmethod
    def from_file(path: str | os.PathLike[str], mode: str = "exact") -> Tokenizer:
        """Open a ``tokenizer.json``, a cartridge (``.dat``) or another vocabulary file.

        The first opening compiles the source into the cache. Later ones map the cartridge from there.

        Args:
            path: The file, or a directory that contains one. Its contents decide the format: SentencePiece, GGUF,
                tekken, tiktoken, BERT, GPT-2 or CRAYON.
            mode: ``"exact"`` or ``"greedy"``.

        Raises:
            FileNotFoundError: `path` does not exist.
            VocabularyError: The file is malformed, or its format is unknown.
            CartridgeError: The cartridge is damaged.
        """
        return Tokenizer._of(opening.open_any(path, mode_of(mode)))

    @staticmethod
    def from_str(json: str, mode: str = "exact") -> Tokenizer:
        """Open the text of a ``tokenizer.json``.

        The compiled cartridge of a text of 256 KiB or more is kept in the cache.

        Raises:
            VocabularyError: The text is malformed.

        >>> copy = Tokenizer.from_str(Tokenizer.from_profile("lite").to_str())
        >>> copy.get_vocab_size()
        50000
        """
        if not isinstance(json, str):
            raise TypeError(f"json is {type(json).__name__}, expected str")
        return Tokenizer.from_buffer(json.encode(), mode)

    @staticmethod
    def from_buffer(buffer: bytes, mode: str = "exact") -> Tokenizer:
        """Open the bytes of a ``tokenizer.json``. See `from_str`."""
        if not isinstance(buffer, (bytes, bytearray, memoryview)):
            raise TypeError(f"buffer is {type(buffer).__name__}, expected bytes")
        return Tokenizer._of(opening.open_buffer(buffer, mode_of(mode)))

    @staticmethod
    def from_pretrained(
        identifier: str, revision: str = "main", token: str | None = None, mode: str = "exact"
    ) -> Tokenizer:
        """Open the ``tokenizer.json`` of a repository on the Hugging Face Hub.

        If the repository also has a cartridge that matches it, opening maps that cartridge. `engine_report` says
        whether the cartridge was used.

        Args:
            identifier: ``"owner/name"``.
            revision: A branch, a tag or a commit.
            token: An access token; by default that of ``hf auth login``.
            mode: ``"exact"`` or ``"greedy"``.

        Raises:
            MissingExtraError: huggingface_hub is not installed.
        """
        return Tokenizer._of(opening.open_pretrained(identifier, revision, token, mode_of(mode)))

    @classmethod
    def from_tokenizers(cls, reference: tokenizers.Tokenizer) -> Tokenizer:
        """Copy a ``tokenizers.Tokenizer``. Later changes of one do not change the other.

        Raises:
            UnsupportedError: A component is written in Python.
        """
        tokenizer = cls._of(opening.open_buffer(exact_json_of(reference)))
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

        Args:
            path_or_name: A rank file, or the name of an encoding. A name always means the encoding, even if a file has
                that name. The encoding is read from tiktoken's cache, or downloaded by tiktoken.
            pattern: The pre-tokenizer pattern of a rank file. Published files are recognised by their contents and need
                none.
            special_tokens: The ids of special tokens, by their text.
            name: The encoding whose pattern and special tokens the file uses, instead of `pattern`.
            mode: ``"exact"`` or ``"greedy"``.

        Raises:
            VocabularyError: The file is malformed, or is unknown and `pattern` and `name` are missing.
        """
        return Tokenizer._of(opening.open_tiktoken(path_or_name, pattern, special_tokens, name, mode_of(mode)))

    @staticmethod
    def from_profile(name: str, mode: str = "exact") -> Tokenizer:
        """Open a profile by its name: ``lite``, or any profile in the search path (see ``CRAYON_PROFILE_DIR``).

        A name always means the profile, even if a file has that name.

        Raises:
            ProfileNotFoundError: The search path has no profile of that name.
        """
        return Tokenizer._of(opening.open_profile(name, mode_of(mode)))

    # -- encoding

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> _core.Encoding:
        """Encode a text, or a pair of texts, as ``tokenizers`` does.

        Args:
            sequence: A text. With `is_pretokenized`, a list of words.
            pair: A second text, or None.
            is_pretokenized: Whether `sequence` and `pair` are lists of words.
            add_special_tokens: Whether the post-processor adds special tokens.

        Returns:
            An `Encoding`, with offsets in characters.

        >>> encoding = Tokenizer.from_profile("lite").encode("Hello, world!")
        >>> encoding.tokens, encoding.offsets
        (['Hello', ',', 'Ġworld', '!'], [(0, 5), (5, 6), (6, 12), (12, 13)])
        """
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
        """Encode many inputs in parallel. Each is a text, or a pair of texts.

        Args:
            input: The inputs, of the types that `encode` takes.
            is_pretokenized: Whether texts are lists of words.
            add_special_tokens: Whether the post-processor adds special tokens.
            threads: Number of threads; 0 means ``CRAYON_NUM_THREADS``, else one for each core.

        Returns:
            An `Encoding` for each input.
        """
        return self._encode_batch(input, is_pretokenized, add_special_tokens, True, threads)

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True, threads: int = 0
    ) -> list[_core.Encoding]:
        """`encode_batch` without offsets: each offset of the result is (0, 0)."""
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
        """Encode many texts, or pairs of texts, into the columns that a model takes.

        The truncation and padding of the tokenizer are ignored; the arguments replace them.

        Args:
            first: The texts.
            second: The second text of each pair, or None.
            add_special_tokens: Whether the post-processor adds special tokens.
            truncation: (max_length, stride, strategy, direction), or None.
            padding: (length or None for the longest, side, multiple or None, id, type id), or None.
            columns: Names of the columns, such as ``"input_ids"``, ``"special_tokens_mask"`` and ``"length"``.
            as_arrays: Whether columns are int64 arrays of shape (texts, tokens) instead of a list for each text.
            threads: As for `encode_batch`.

        Returns:
            A dict of columns. None if this call does not support the tokenizer: it is delegated, or its post-processor
            or truncation needs `Encoding` objects.

        Raises:
            ValueError: `as_arrays` is true, and rows differ in length.
        """
        engine, as_text = self._current_engine(), self._special_as_text
        return engine.encode_columns(
            first, second, add_special_tokens, as_text, truncation, padding, columns, as_arrays, threads
        )

    def encode_bytes(self, data: bytes) -> list[int]:
        """Encode any bytes, valid UTF-8 or not, without special tokens and normalizer. `decode_bytes` is the inverse.

        >>> tokenizer = Tokenizer.from_profile("lite")
        >>> tokenizer.decode_bytes(tokenizer.encode_bytes(b"\\xff!"))
        b'\\xff!'
        """
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
        """Encode many texts into two arrays, without a Python object for each text. Truncation and padding are ignored.

        Args:
            texts: The texts, str or UTF-8 bytes.
            add_special_tokens: Whether the post-processor adds special tokens.
            threads: As for `encode_batch`.
            as_device_arrays: Whether the arrays stay in the memory of the tokenizer's device (see `to`), for
                ``torch.from_dlpack``. On the CPU they are NumPy arrays, which ``torch.from_dlpack`` takes as well.

        Returns:
            (ids, row_splits), int32 of shape (ids,) and int64 of shape (texts + 1,). The ids of text i are
            ``ids[row_splits[i]:row_splits[i + 1]]``.

        >>> Tokenizer.from_profile("lite").encode_ragged(["Hello", "world!"])
        (array([23071,  6459,     0], dtype=int32), array([0, 1, 3]))
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
        """`encode_ragged` of texts that are concatenated in one buffer: text i is ``data[offsets[i]:offsets[i + 1]]``.

        Args:
            data: UTF-8 in a buffer (bytes, a mapped file, an array), or a vector of uint8 or int8 with ``__dlpack__``,
                on the CPU or on the tokenizer's device. It is read without a copy and must not change during the call.
            offsets: Integers on the CPU: the first byte of each text, then the end of the last text.
            add_special_tokens: Whether the post-processor adds special tokens.
            threads: As for `encode_batch`.
            as_device_arrays: As for `encode_ragged`.

        Returns:
            (ids, row_splits) as `encode_ragged`.

        Raises:
            InvalidUtf8Error: A text is not UTF-8. The message names the text and the byte.
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
        """Encode a file of any size in constant memory, chunk by chunk. Truncation and padding are ignored.

        The ids of all chunks together are those of the whole text, with special tokens only at its beginning and end.
        Memory stays constant as long as the text can be cut without changing an id. A megabyte of one letter cannot be
        cut, nor can most texts with a custom pattern. Chunks then grow as needed. The memory of a chunk is reused once
        its arrays are deleted.

        Args:
            file: A path, which is mapped, or a binary file (a pipe, ``gzip.open``, ``socket.makefile``), which is read.
            chunk_bytes: The most bytes of text in a chunk, unless the chunk has to grow.
            offsets: Whether each id gets its range of bytes in the file.
            add_special_tokens: Whether the post-processor adds special tokens.

        Yields:
            A named tuple (ids, offsets, start, end) for each chunk; [start, end) are its bytes in the file.

        Raises:
            InvalidUtf8Error: The file is not UTF-8.

        >>> import io
        >>> [chunk.ids.tolist() for chunk in Tokenizer.from_profile("lite").encode_file(io.BytesIO(b"Hello, world!"))]
        [[23071, 11, 1125, 0]]
        """
        from crayon_hf.file_encoding import encode_file

        engine, as_text = self._current_engine(), self._special_as_text
        return encode_file(engine, as_text, file, chunk_bytes, offsets, add_special_tokens)

    # -- budgets: functions whose first argument is a tokenizer

    count_tokens = calls.count_tokens
    fits = calls.fits
    truncate_text = calls.truncate_text
    split_text = splitting.split_text
    split_batch = splitting.split_batch
    split_file = splitting.split_file

    def post_process(
        self, encoding: _core.Encoding, pair: _core.Encoding | None = None, add_special_tokens: bool = True
    ) -> _core.Encoding:
        """Truncate and pad an encoding made with ``add_special_tokens=False``, then add special tokens."""
        if type(encoding) is not _core.Encoding or pair is not None:
            for name, value in (("encoding", encoding), ("pair", pair)):
                if type(value).__name__ != "Encoding" and (value is not None or name == "encoding"):
                    raise TypeError(f"{name} is {type(value).__name__}, expected Encoding")
        engine = self._engine or self._settle()
        return engine.post_process(encoding, pair, add_special_tokens, self._truncation, self._padding)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of special tokens that `encode` adds to a text, or to a pair of texts."""
        if type(is_pair) is not bool:
            is_pair = validation.flag(is_pair, "is_pair")
        return (self._engine or self._settle()).num_special_tokens_to_add(is_pair)

    # -- decoding

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True, unknown_ids: str = "skip") -> str:
        """Return the text of ids.

        Args:
            ids: Ids: a list, an array, or any iterable of int.
            skip_special_tokens: Whether special tokens are left out.
            unknown_ids: ``"skip"`` leaves out ids that are not in the vocabulary, as ``tokenizers`` does; models with
                padded embeddings produce some. ``"error"`` raises.

        Raises:
            TokenIdError: An id is not in the vocabulary, with ``unknown_ids="error"``.
            OverflowError: An id does not fit 32 bits.

        >>> tokenizer = Tokenizer.from_profile("lite")
        >>> tokenizer.decode([*tokenizer.encode("Hello").ids, 10**6])
        'Hello'
        """
        if type(skip_special_tokens) is not bool:
            validation.check_flags(skip_special_tokens=skip_special_tokens)
        strict = unknown_ids != "skip" and validation.is_strict(unknown_ids)
        engine = self._current_engine()
        if isinstance(ids, Iterator):  # the second attempt below needs the ids again
            ids = list(ids)
        try:
            return engine.decode(ids, skip_special_tokens)  # the fast path: raises for unknown ids
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
        """Return the bytes of ids, which may end in the middle of a character.

        Raises:
            UnsupportedError: The decoder does more than join the bytes of tokens.
        """
        engine = self._current_engine()
        return engine.decode_bytes([] if validation.is_empty_array(ids) else ids, skip_special_tokens)

    def decode_batch(
        self,
        sequences: Iterable[Sequence[int]],
        skip_special_tokens: bool = True,
        threads: int = 0,
        unknown_ids: str = "skip",
    ) -> list[str]:
        """`decode` many sequences of ids in parallel; `threads` as for `encode_batch`."""
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
        """Return the id of a token, spelled as in the vocabulary, or None if it is unknown."""
        engine = self._engine or self._settle()
        try:
            return engine.token_to_id(token)
        except TypeError:
            validation.text(token, "token")
            raise

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, spelled as in the vocabulary, or None if it is unknown."""
        engine = self._engine or self._settle()
        try:
            token = engine.id_to_token(id)
        except TypeError:
            token = None
        if token is None:
            validation.unsigned(id, "id", 32)
        return token

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the vocabulary, a dict from token to id."""
        return self._current_engine().get_vocab(validation.flag(with_added_tokens, "with_added_tokens"))

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        if type(with_added_tokens) is not bool:
            with_added_tokens = validation.flag(with_added_tokens, "with_added_tokens")
        return (self._engine or self._settle()).get_vocab_size(with_added_tokens)

    # -- saving

    def to_str(self, pretty: bool = False) -> str:
        """Return the ``tokenizer.json`` as the ``tokenizers`` library writes it."""
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
        """Write the ``tokenizer.json``, or a cartridge with its ``tokenizer.json`` beside it.

        Args:
            path: The file to write. If it ends in ``.dat``, it becomes the cartridge, and ``NAME.json`` beside it is
                byte for byte the document that it was compiled from.
            pretty: Whether to indent the json. Ignored for a cartridge.
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
        write_atomic(beside(name), source)
        write_atomic(name, cartridge)

    # -- devices

    def to(self, device: Any) -> Tokenizer:
        """Encode batches on a device from now on, with the same ids.

        The device encodes `encode_ragged`, `encode_flat`, and `count_tokens` of many texts; with ``"auto"`` only large
        batches. The CPU encodes everything else, and vocabularies that no GPU supports, with a `DeviceWarning` if you
        named a GPU. `engine_report` says which device encodes, and why.

        Copies use the same device. A pickled tokenizer moves to it when it first encodes a batch. A forked child cannot
        use a device of its parent.

        Args:
            device: ``"cuda"``, ``"cuda:1"``, ``"rocm"``, ``"cpu"``, a ``torch.device``, or ``"auto"``: the one that
                ``CRAYON_DEVICE`` names, else the best available. If an ``"auto"`` device fails, the CPU continues, with
                one `DeviceWarning`.

        Returns:
            The tokenizer itself, as ``torch.nn.Module.to`` does.

        Raises:
            DeviceError: A device named here is unavailable, full or lost. The tokenizer keeps its current device.
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
        """``"exact"`` or ``"greedy"``. It is fixed at opening, and files do not store it."""
        return self._state.mode.name

    @property
    def engine(self) -> str:
        """``"native"``, or ``"delegated"`` if the engine does not support a component and the reference library
        encodes."""
        return "native" if isinstance(self._current_engine(), _core.Engine) else "delegated"

    def engine_report(self) -> dict[str, Any]:
        """Return a dict that says which engine encodes, and why.

        Its keys are engine, mode, reason, cpu, cartridge, reference, origin, refused, device and device_reason.
        `origin` is the cartridge's: "repository" (found beside the tokenizer's files), "cache" (compiled here and
        kept), "memory" (compiled and not kept), or None when delegated. `refused` says why a cartridge beside the
        tokenizer's files is not used.

        >>> Tokenizer.from_profile("lite").engine_report()["origin"]
        'repository'
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
        """Return facts about the cartridge, or about the reference of a delegated tokenizer."""
        return self._current_engine().info()

    @property
    def source_digest(self) -> str | None:
        """The SHA-256 (hex) of the ``tokenizer.json`` that the cartridge was compiled from, or None when delegated."""
        engine = self._current_engine()
        return engine.source_digest if isinstance(engine, _core.Engine) else None

    def __repr__(self) -> str:
        return self._shown(repr)

    def __str__(self) -> str:
        return self._shown(str)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: facts about the tokenizer, and a sample text in coloured tokens."""
        return self._html(type(self).__name__)

    def _html(self, name: str, origin: str | None = None) -> str:
        """Return the text of `_repr_html_` with this title. `origin` names the source if it is not a file."""
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
        except Exception:  # the library raises plain Exception
            report = self.engine_report()
            facts = {"engine": report["engine"], "vocab_size": self.get_vocab_size(), "mode": report["mode"]}
            return f"Tokenizer({', '.join(f'{name}={fact!r}' for name, fact in facts.items())})"

    # -- copies

    def __copy__(self) -> Tokenizer:
        return self._twin(reopened=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self.__copy__()  # copies share only immutable objects

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
        twin._restore((as_text and not reopened, *sizes))  # a tokenizer.json does not store this setting
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
