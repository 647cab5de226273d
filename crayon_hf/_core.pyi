"""The compiled engine. Its objects are stateless or immutable unless they say otherwise."""

import builtins
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

__version__: str
BUILD_ID: str
"""A digest of the code that compiles vocabularies."""
TRACE_PIECE_BYTES: int

def type_version(type: type, /) -> int:
    """Return a number that changes whenever the class or one of its bases changes, or -1 if the class has none yet.

    The number is the version that CPython's method caches use.
    """

Truncation: TypeAlias = tuple[int, int, str, str]
Padding: TypeAlias = tuple[int | None, str, int | None, int, int, str] | tuple[int | None, str, int | None, int, int]

class Encoding:
    """One encoded input: parallel lists, one element per token. The interface of ``tokenizers.Encoding``."""

    def _repr_html_(self) -> str: ...  # added by the package
    @property
    def ids(self) -> list[int]:
        """The id of each token."""
    @property
    def type_ids(self) -> list[int]:
        """The type id of each token: the sequence that it belongs to, for models that take pairs."""
    @property
    def tokens(self) -> list[str]:
        """Each token, spelled as in the vocabulary."""
    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token's text, in characters of its sequence; (0, 0) for special tokens and padding."""
    @property
    def attention_mask(self) -> list[int]:
        """1 for each token, 0 for padding."""
    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special tokens that the post-processor added and for padding, else 0."""
    @property
    def word_ids(self) -> list[int | None]:
        """The index of each token's word, or None for special tokens and padding."""
    @property
    def words(self) -> list[int | None]:
        """`word_ids`, by its deprecated name."""
    @property
    def sequence_ids(self) -> list[int | None]:
        """The index of each token's sequence, or None for special tokens and padding."""
    @property
    def n_sequences(self) -> int:
        """The number of sequences: 1, or 2 for a pair."""
    @property
    def overflowing(self) -> list[Encoding]:
        """The encodings of the tokens that truncation cut off."""
    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The range of tokens of a word, or None."""
    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The range of characters of a word, or None."""
    def token_to_sequence(self, token_index: int) -> int | None:
        """The sequence of a token, or None."""
    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """The range of characters of a token, or None."""
    def token_to_word(self, token_index: int) -> int | None:
        """The word of a token, or None."""
    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token that contains a character, or None."""
    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word that contains a character, or None."""
    def __init__(self) -> None:
        """An empty encoding."""
    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Concatenate encodings. With `growing_offsets` each one's offsets continue those of the one before."""
    def set_sequence_id(self, sequence_id: int) -> None:
        """Assign all tokens to a sequence."""
    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Pad to `length` tokens, in place."""
    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Truncate to `max_length` tokens, in place. Tokens cut off go to `overflowing`, with `stride` tokens
        repeated."""
    def __copy__(self) -> Encoding: ...
    def __deepcopy__(self, memo: Any) -> Encoding: ...
    def __getstate__(self) -> bytes:
        """Return the JSON that ``tokenizers`` pickles."""
    def __setstate__(self, state: bytes) -> None: ...
    def __len__(self) -> int: ...

class StreamEncoder:
    """Encodes a text of any length through a moving window. One stream, for one thread at a time.

    All ids together are those of the whole text. With ``add_special_tokens`` the post-processor's tokens are at its
    beginning and its end.
    """

    def __init__(
        self, engine: Engine, add_special_tokens: bool = False, special_as_text: bool = False, offsets: bool = False
    ) -> None: ...
    def encode(
        self, buffer: Any, start: int, end: int, is_last: bool
    ) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int64] | None]:
        """Encode bytes [start, end) of a buffer, which begin with the first byte not yet consumed.

        Args:
            buffer: The buffer.
            start: Start of the window in the buffer.
            end: End of the window in the buffer.
            is_last: Whether the text ends at `end`. Then the whole window is consumed.

        Returns:
            (bytes consumed, their ids, (start, end) of each id in the stream or None). If 0 bytes were consumed, call
            again with a larger window. The memory of the arrays is reused once they are deleted.

        Raises:
            InvalidUtf8Error: The text is not UTF-8. The message gives the position in the stream.
        """
    @property
    def streams(self) -> bool:
        """Whether windows before the last can be consumed. False if a component has no place where a text is proven to
        be safe to cut. Then the window has to become the whole text."""
    @property
    def position(self) -> int:
        """The number of bytes consumed so far."""

class DecodeStream:
    """Decodes ids one by one, into chunks of text."""

    @overload
    def __init__(self, ids: list[int], skip_special_tokens: bool) -> None: ...
    @overload
    def __init__(self, other: DecodeStream) -> None: ...
    def step(self, tokenizer: Any, id: Any) -> str | None:
        """Fast path of ``advance(tokenizer._engine, [id])``, for a begun stream, an int and a native engine.

        Other arguments go to the method ``_step`` of a subclass.
        """
    def advance(self, engine: Any, ids: list[int]) -> str | None:
        """Add 32-bit ids. Return the new text, or None while a character is incomplete."""
    @property
    def begun(self) -> bool:
        """Whether `step` was called."""

class WordCounter:
    """Counts the words of texts for a trainer, as ``tokenizers`` does in ``train_from_iterator``.

    Words are the pretokens that `engine`'s added tokens, normalizer and pre-tokenizer make. An added token in a text is
    a word of its own; ``added_tokens=False`` leaves added tokens out. Memory grows with unique words only:
    32 to 48 bytes each, plus the bytes of words longer than 15.

    `threads` is as for an Engine. All threads work without the GIL, the calling thread included. If a call raises, none
    of its texts are counted. `progress(stage, done, total)` is called in the calling thread, at most ten times a
    second, with "counting words" (bytes) or "merging counts". If `progress` raises, the call ends, as for an interrupt.

    Only one call may run at a time. Another thread's call, or a call from within `progress`, raises RuntimeError. After
    a fork during a call, the counter stays busy in the child.

    Raise ValueError for an engine in greedy mode, and for texts on which the reference panics.
    """

    def __init__(self, engine: Engine, threads: int = 0, added_tokens: bool = True) -> None: ...
    def add(
        self, texts: Sequence[str | builtins.bytes], progress: Callable[[str, int, int], None] | None = None
    ) -> None:
        """Count texts, one in each item.

        A large text is cut where words end, so that all threads work on it. With a custom pattern no such place is
        proven, and an interrupt may wait for one text. InvalidUtf8Error names the item and the byte. Raise TypeError
        for a lone surrogate, and for other types.
        """
    def add_lines(self, data: Any, progress: Callable[[str, int, int], None] | None = None) -> None:
        """Count the lines of a buffer (bytes, a mapped file) as texts, with their "\n", as ``train(files)`` reads them.

        The buffer is not copied. InvalidUtf8Error names the byte of the buffer.
        """
    def add_words(self, words: Mapping[str, int]) -> None:
        """Add words with their counts. Raise ValueError for counts beyond 64 bits."""
    def words(self) -> list[tuple[builtins.bytes, int, bool]]:
        """Return (text, count, is_raw), sorted. A raw word has the bytes that its byte-level characters spell. Other
        words are UTF-8."""
    @property
    def unique(self) -> int:
        """The number of unique words after the last completed call. Safe to read any time, as `total` and `bytes`."""
    @property
    def total(self) -> int:
        """The number of all words, repeated ones included."""
    @property
    def bytes(self) -> int:
        """The number of bytes of text read. A word of `add_words` counts as often as it occurs."""

class Engine:
    """An immutable view of a cartridge. Threads can share it; it releases the GIL while it works.

    ``special_as_text=True`` treats special added tokens in a text as plain text. ``threads=0`` means
    ``CRAYON_NUM_THREADS``, else one thread per core.
    """

    @staticmethod
    def open(
        path: str | bytes | os.PathLike[str],
        verify: bool | Literal["memory"] = False,
        verified: tuple[int, int, int, int, int] | None = None,
    ) -> Engine:
        """Map a cartridge.

        Args:
            path: The file.
            verify: ``"memory"`` checks every checksum, index and search first, so that no later use can read outside
                the map or loop forever. True also checks that derived tables match their sources, which doubles the
                time.
            verified: Size, modification and change time in ns, inode and device of a file that passed `verify` before.

        Raises:
            OSError: As for open(), FileNotFoundError for example.
            CartridgeError: The contents are damaged.
        """
    @staticmethod
    def from_bytes(data: bytes, verify: bool | Literal["memory"] = True) -> Engine:
        """Open a cartridge in memory. ``verify`` is as for `open`."""
    @property
    def cpu(self) -> str:
        """The instruction set in use: "scalar", "avx2", "avx512" or "neon"."""
    @property
    def source_digest(self) -> str:
        """SHA-256 (hex) of the tokenizer.json that the cartridge was compiled from."""
    @property
    def metadata(self) -> str:
        """The cartridge's metadata, a JSON object as text."""
    @property
    def certificate(self) -> str | None:
        """The cartridge's certificate, a JSON object as text, or None.

        The certificate is about the cartridge, not about results of `with_components` or `greedy`. Raise CartridgeError
        if it is not a JSON object.
        """
    def mismatch(self, tokenizer_json: bytes) -> str | None:
        """Compare the cartridge with a tokenizer.json without compiling it.

        Tokens and ids, merges, scores, model options, added tokens and their flags, every component, truncation and
        padding are compared. White space and the order of members do not matter. Derived tables are not compared:
        `verify` checks them, so a file that passes both matches its tokenizer.json. The result is about the cartridge,
        as that of `certificate`.

        Metadata is not compared; the caller must check it. The metadata's `reference` decides which Unicode tables are
        right, so a cartridge that says "tiktoken" can match a document that ``tokenizers`` reads differently.

        Returns:
            None if both agree, else one line that names the first difference.

        Raises:
            VocabularyError: Compiling would refuse the document; UnsupportedError if it is well-formed.
        """
    def info(self) -> dict[str, Any]: ...
    @property
    def components(self) -> str:
        """The tokenizer.json without added tokens, vocabulary and merges."""
    def with_components(self, components: str, added_tokens: list[dict[str, Any]] | None = None) -> Engine:
        """Return another engine on the same cartridge, with other components and added tokens. This engine is
        unchanged.

        Args:
            components: JSON as in `components`.
            added_tokens: Dicts as in `added_tokens()`; None keeps them. The flag ``respelled`` marks a token that is
                not normalized, but spelled as the normalizer leaves it.

        Raises:
            UnsupportedError: A component is not native with this cartridge's tables.
            VocabularyError: A component is malformed.
        """
    @property
    def mode(self) -> str:
        """ "exact", or "greedy" for an engine that `greedy` made. `with_components` keeps it."""
    def greedy(self, unknown: tuple[int, int] | None = None) -> Engine:
        """Return an engine with longest match on the same cartridge, with the same components and added tokens.

        Pieces of the pre-tokenizer that are adjacent in the text are joined, so only its changes and removals of text
        matter. Text becomes a special token of the model only as an added token. `unknown` is (first, id): ids of the
        model from `first` on become `id`. Raise ValueError if `id` is beyond the vocabulary.
        """
    def longest_match(self, data: bytes, start: int = 0) -> tuple[int, int]:
        """Return (id, bytes) of the longest token of the model at `start` of `data`, or (-1, 0).

        In greedy mode only tokens that text can become count.
        """
    # -- encoding. `truncation` is (max_length, stride, strategy, direction) or None, `padding` is (length or None,
    # direction, pad_to_multiple_of or None, pad_id, pad_type_id, pad_token) or None
    def encode(
        self,
        sequence: str | Sequence[str],
        pair: str | Sequence[str] | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        truncation: Truncation | None = None,
        padding: Padding | None = None,
    ) -> Encoding: ...
    def encode_batch(
        self,
        inputs: Sequence[Any],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        offsets: bool = True,
        threads: int = 0,
        truncation: Truncation | None = None,
        padding: Padding | None = None,
    ) -> list[Encoding]: ...
    def encode_columns(
        self,
        first: Sequence[str],
        second: Sequence[str] | None = None,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        truncation: Truncation | None = None,
        padding: Padding | None = None,
        columns: Sequence[str] = ("input_ids", "token_type_ids", "attention_mask"),
        as_arrays: bool = False,
        threads: int = 0,
    ) -> dict[str, Any] | None:
        """Return the columns that a model takes: a list for each text, or int64 arrays of shape (texts, tokens).

        "special_tokens_mask" and "length" are columns, too. Return None if columns cannot be made without encodings:
        for truncation with a stride, and for a post-processor that fails or does more than add special tokens around a
        text. Raise ValueError for arrays of rows with different lengths.
        """
    def encode_row(
        self,
        text: str,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        columns: tuple[str, ...] = ("input_ids", "token_type_ids", "attention_mask"),
    ) -> dict[str, list[int]] | None:
        """`encode_columns` of one text, without the outer lists."""
    def post_process(
        self,
        encoding: Encoding,
        pair: Encoding | None = None,
        add_special_tokens: bool = True,
        truncation: Truncation | None = None,
        padding: Padding | None = None,
    ) -> Encoding: ...
    def encode_ids(
        self, text: str | bytes, add_special_tokens: bool = True, special_as_text: bool = False
    ) -> list[int]: ...
    def encode_lists(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> list[list[int]]:
        """`encode_ids` of many texts. Lists are made while other threads encode."""
    def encode_bytes(self, data: bytes) -> list[int]:
        """Encode any bytes, valid UTF-8 or not, without added tokens, normalizer and post-processor. Lossless."""
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return (ids, row_splits): the ids of text i are ids[row_splits[i]:row_splits[i + 1]]."""
    def encode_ranges(
        self,
        data: Any,
        begins: npt.ArrayLike,
        ends: npt.ArrayLike,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
        suffix: Sequence[int] = (),
        dtype: str = "int32",
        suffix_empty: bool = True,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """`encode_ragged` of the texts data[begins[i]:ends[i]], without a copy. Ranges may overlap.

        Args:
            data: A buffer of UTF-8 (bytes, a mapped file). It must not change during the call.
            begins: One-dimensional, int64 or losslessly convertible to it.
            ends: As `begins`.
            suffix: Ids that follow those of each text.
            dtype: Type of the ids: "int32", "uint16" or "uint32".
            suffix_empty: Whether texts without ids get the suffix, too.

        Raises:
            InvalidUtf8Error: Names the first text that is not UTF-8, and the offset in it.
            ValueError: A range is outside of the buffer, or an id does not fit `dtype`.
        """
    def count_tokens(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> list[int]: ...
    # -- budgets (crayon_hf.budgets)
    def count_up_to(
        self,
        texts: Sequence[str | bytes],
        limit: int,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> list[int]:
        """`count_tokens`, or ``limit + 1`` for longer texts. Encoding stops once the answer is known."""
    def truncation_place(
        self,
        text: str,
        max_tokens: int,
        cut_off: str = "right",
        add_special_tokens: bool = True,
        special_as_text: bool = False,
    ) -> int:
        """Return the character at which to cut a text so that the kept side has at most `max_tokens` tokens.

        `cut_off` is the side to drop, "right" or "left". If the whole text fits, the result is the text's length, or 0
        if `cut_off` is "left". Raise ValueError if the special tokens alone exceed `max_tokens`.
        """
    def token_index(self, text: str, special_as_text: bool = False) -> TokenIndex: ...
    def appender(self, special_as_text: bool = False) -> Appender: ...
    # -- how one text becomes tokens, for display (cpp/include/crayon/trace/trace.h describes the fields)
    def trace_parts(self, text: str | bytes, special_as_text: bool = False) -> list[dict[str, Any]]:
        """Return added tokens, and the text between them with its pieces for the model."""
    def trace_raw_parts(self, data: bytes) -> list[dict[str, Any]]:
        """`trace_parts` for `encode_bytes`."""
    def trace_piece(self, piece: bytes) -> dict[str, Any]:
        """Return how a piece of at most TRACE_PIECE_BYTES becomes tokens: its merges in order, its best path, or its
        walks."""
    def trace_longest_match(self, run: bytes) -> list[dict[str, Any]]:
        """Return the walks of longest match over adjacent pieces.

        The run has at most TRACE_RUN_BYTES, and all walks but the last at most TRACE_STEPS.
        """
    # -- decoding. `ids` is a sequence of ints or an integer ndarray; `unknown_ids` is "error" (TokenIdError) or "skip"
    def decode(self, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str: ...
    def decode_bytes(self, ids: Any, skip_special_tokens: bool = False) -> bytes:
        """Return the bytes of ids. Raise UnsupportedError if decoding does more than join the tokens' bytes."""
    def decode_batch(
        self, sequences: Iterable[Any], skip_special_tokens: bool = True, threads: int = 0, unknown_ids: str = "error"
    ) -> list[str]: ...
    # -- vocabulary
    def token_to_id(self, token: str, /) -> int | None: ...
    def id_to_token(self, id: int, /) -> str | None: ...
    def id_to_bytes(self, id: int) -> bytes | None: ...
    # These return None for other types and for unknown ids or tokens: the caller handles them.
    def ids_to_tokens(self, ids: Any, /) -> list[str | None] | None: ...
    def tokens_to_ids(self, tokens: Any, /) -> list[int | None] | None: ...
    def token_bytes(self, id: Any, /) -> bytes | None: ...
    def tokens_bytes(self, ids: Any, /) -> list[bytes] | None: ...
    def bytes_and_starts(self, ids: Any, /) -> tuple[bytes, list[int]] | None:
        """Return the bytes of a list of ids, and the character at which each id begins."""
    def id_of_bytes(self, token: Any, /) -> int | None:
        """Return the id that decodes to these bytes, or to the UTF-8 of this text, in a byte-level vocabulary."""
    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]: ...
    def get_vocab_size(self, with_added_tokens: bool = True, /) -> int: ...
    def vocabulary_json(self, pretty: bool) -> bytes | None:
        """Return the model's vocabulary as in a ``tokenizer.json``, without merges, or None if tokens are bytes."""
    @property
    def reads_alike(self) -> bool:
        """Whether the cartridge holds exactly the values that Python reads from the ``tokenizer.json``.

        If so, the file lists the vocabulary in order of ids, and each merge and added token once, with its id.
        """
    @property
    def has_model_type(self) -> bool:
        """Whether the ``tokenizer.json`` names its model's type. Old files do not. Valid only with `reads_alike`."""
    def model_vocabulary(self) -> tuple[dict[str, int] | list[tuple[str, float]], list[tuple[str, str]]]:
        """Return the model's tokens with their ids (for Unigram with the scores that Python reads), and merges by rank.

        Raise UnsupportedError unless `reads_alike`.
        """
    def added_tokens(self) -> list[dict[str, Any]]:
        """Return dicts with id, content, single_word, lstrip, rstrip, normalized, special, in order of addition."""
    def num_special_tokens_to_add(self, is_pair: bool, /) -> int: ...

class TokenIndex:
    """`crayon_hf.TokenIndex`, but ranges of characters must be inside the text. Threads can share it."""

    def count(self, start: int, end: int, /) -> int: ...
    def ids(self, start: int, end: int, /) -> list[int]: ...
    def longest(self, start: int, max_tokens: int, /) -> int: ...
    def longest_before(self, end: int, max_tokens: int, /) -> int: ...

class Appender:
    """`crayon_hf.Appender`. Raises RuntimeError if two threads use it at once."""

    def append(self, text: str, /) -> int: ...
    def prepend(self, text: str, /) -> int: ...
    def pop(self, characters: int, /) -> int: ...
    def ids_from(self, start: int, /) -> list[int]: ...
    @property
    def count(self) -> int: ...
    @property
    def characters(self) -> int: ...
    @property
    def text(self) -> str: ...

class DeviceEncoder:
    """Encodes batches of texts on a device, with the ids of `Engine.encode_ragged`.

    Threads can share it: their batches run one after the other, without the GIL. Results are complete when they are
    returned.

    Args:
        engine: The engine, which is kept.
        device: A result of ``crayon_hf._cuda.open``, ``crayon_hf._hip.open`` or `host_device`, which is kept.
        elements: Ids that a partition (a part of a batch) has room for, unless the device has less free memory.
        margin: Ids reserved for each text, beyond its bytes.
        lanes: Partitions in flight at a time.
        measure: Whether to count and time the device's work for `report`, at a small cost.

    Raises:
        UnsupportedError: `why_not_on_device` gives a reason.
        DeviceOutOfMemoryError: In any call.
        DeviceLostError: In any call; also in a forked child of the process that made it.
        DeviceError: A driver call failed. The next call may succeed.
    """

    def __init__(
        self,
        engine: Engine,
        device: Any,
        elements: int = 536870912,
        margin: int = 64,
        lanes: int = 2,
        measure: bool = False,
    ) -> None: ...
    @overload
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
        as_device_arrays: Literal[False] = False,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...
    @overload
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool,
        special_as_text: bool,
        threads: int,
        as_device_arrays: bool,
    ) -> tuple[Any, Any]:
        """Return (ids, row_splits), of shapes (ids,) and (texts + 1,), on the device as DeviceArrays if asked.

        `threads` convert the texts to UTF-8. Errors of the texts are those of `Engine.encode_ragged`.
        """
    def encode_flat(
        self,
        data: Any,
        offsets: npt.ArrayLike,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        as_device_arrays: bool = False,
    ) -> tuple[Any, Any]:
        """`encode_ragged` of concatenated texts: text i is data[offsets[i]:offsets[i + 1]], UTF-8.

        `data` is a host buffer, or has ``__dlpack__`` or ``__cuda_array_interface__``: a contiguous vector of uint8 or
        int8, on the CPU (pinned or not) or on this device. The device waits for pending work in the array's stream. The
        data must not change during the call.

        InvalidUtf8Error names the first text that is not UTF-8, and the byte. Raise ValueError for data on another
        device, and for offsets that decrease or exceed the data. Raise TypeError for data that is not bytes.
        """
    @property
    def report(self) -> dict[str, Any]:
        """Counts so far: partitions, bytes, pretokens and ids.

        merged_pretokens and merged_bytes are those that the device merged; host_pretokens and host_documents those that
        the CPU encoded. longest_walk is the most windows of 64 bytes that one thread searched for pretokens, or 0 if
        below 64.

        With `measure` also times, including the vocabulary's upload. ``kernels`` has launches, blocks and seconds of
        each kernel, measured by the device. With several lanes, kernels that overlap include each other's time.
        ``device`` has calls and bytes of allocated, allocated_pinned, to_device, to_host, copied and zeroed; also
        released, released_pinned, waits, wait_seconds, and held and most_held in bytes of device memory.
        """
    @property
    def engine(self) -> Engine: ...
    @property
    def device(self) -> str:
        """The name as in torch: "cuda:0"."""

class DeviceArray:
    """A vector of int32 or int64 in a device's memory, for other libraries: ``torch.from_dlpack(array)``.

    Each library gets a view of the same memory. Memory and device live as long as any view.
    """

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export by DLPack's rules. The array is complete, so streams need not wait.

        `dl_device` is the array's device, or (1, 0), the CPU, for a copy. Raise BufferError for other devices.
        """
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def numpy(self) -> npt.NDArray[Any]:
        """Return a copy on the host."""
    def __len__(self) -> int: ...
    @property
    def shape(self) -> tuple[int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...

def why_not_on_device(engine: Engine) -> str:
    """Return why GPUs cannot encode with an engine's vocabulary, or "" if they can."""

def train_bpe(
    words: WordCounter,
    *,
    vocab_size: int = 30000,
    min_frequency: int = 0,
    special_tokens: Sequence[str] = (),
    limit_alphabet: int | None = None,
    initial_alphabet: Sequence[str] = (),
    continuing_subword_prefix: str = "",
    end_of_word_suffix: str = "",
    max_token_length: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the tokens by id, and the merges by rank (pairs of ids), of the BpeTrainer of ``tokenizers``.

    docs/training.md describes the algorithm and its memory. The words are unchanged. `progress` is as for WordCounter.
    Raise ValueError for an initial alphabet with other strings than single characters, and for unique words of more
    than 4 billion characters.
    """

def extend_bpe(
    words: WordCounter,
    engine: Engine,
    *,
    tokens: Sequence[str],
    reusable: Sequence[int],
    apart: Sequence[int],
    vocab_size: int,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    continuing_subword_prefix: str = "",
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the new tokens, and the new merges by rank, of `train_bpe` begun with `engine`'s ids of each word.

    `tokens` has the string of each id, empty for an unused id. New ids follow, up to `vocab_size` in all. A pair is
    never merged if a part is in `apart`, or if its product has `max_token_length` characters. A product that is an old
    token must be in `reusable`, and no word of several tokens may contain that token yet. Raise ValueError if another
    kind of engine counted the words.
    """

def token_uses(
    words: WordCounter, engine: Engine, progress: Callable[[str, int, int], None] | None = None
) -> npt.NDArray[np.uint64]:
    """Return the number of times that each id occurs in the words, of shape (largest id + 1,)."""

def word_characters(words: WordCounter) -> dict[str, int]:
    """Return the characters of the words with their counts. Raw words give byte-level characters."""

def kept_tokens(
    engine: Engine,
    *,
    required: Sequence[int],
    uses: Sequence[int] | npt.NDArray[np.uint64],
    most: int | None,
    continuing_subword_prefix: str = "",
    end_of_word_suffix: str = "",
) -> npt.NDArray[np.bool_]:
    """Return for each id whether a smaller vocabulary keeps it, of shape (largest id + 1,).

    The ids that the merges of kept tokens need are kept, too. `uses` has a count for each id, or is empty. With `most`
    (the number of tokens) the most used ids come first, then ids of the lowest rank. Without `most`, all used ids are
    kept. All ids in `required` are kept.
    """

def utf8_errors(data: Any, begins: npt.ArrayLike, ends: npt.ArrayLike, threads: int = 0) -> npt.NDArray[np.int64]:
    """Return for each text data[begins[i]:ends[i]] the offset of its first byte that is not UTF-8, or -1.

    Ranges as for `Engine.encode_ranges`.
    """

def split_ranges(data: Any, separator: bytes, threads: int = 0) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (begins, ends) of the documents of ``bytes(data).split(separator)``, without an empty last one.

    Raise ValueError for an empty separator.
    """

class JsonLines:
    """The result of `read_json_lines`."""

    @property
    def line_begins(self) -> npt.NDArray[np.int64]:
        """Shape (lines + 1,): line i is block[line_begins[i]:line_begins[i + 1]], with its "\n" if it has one."""
    @property
    def status(self) -> npt.NDArray[np.uint8]:
        """Shape (lines,). 0: an object with a str in every column. 1: a blank line. 2: unsure, ask Python's json."""
    @property
    def begins(self) -> npt.NDArray[np.int64]:
        """Shape (lines, columns): the text of column j is block[begins[i, j]:ends[i, j]]. -1 unless status is 0."""
    @property
    def ends(self) -> npt.NDArray[np.int64]: ...

def whole_lines(block: Any, begin: int, size: int, most: int, at_end: bool) -> int:
    """Return how many bytes of ``block[:size]`` are whole lines.

    Count at most `most` lines, each of which ends past `begin` (>= 1). The caller knows that no line ends before
    `begin`. With `at_end` the last line needs no line ending.
    """

def read_json_lines(block: Any, size: int, columns: Sequence[str], threads: int = 0) -> JsonLines:
    """Find the texts of `columns` in the lines of JSON block[:size], a writable buffer.

    Lines end with "\n", except possibly the last. Status 0 means that ``json.loads`` accepts the line, and that its str
    in each column is that text, in UTF-8. Texts with escapes are unescaped in place, after which the line is not JSON
    any more. Other lines are unchanged.

    Status 2 is for lines without an object that has one str in every column. It is also for rare valid ones: NaN,
    numbers of more than 600 bytes, more than 64 levels, a column that occurs twice or has half a surrogate pair.

    Raise BufferError for a read-only buffer. Raise ValueError for a size beyond the buffer, and for a repeated column.
    """

class HeldFile:
    """An open regular file or directory, closed with the object. Raises OSError if it cannot be held, as on Windows."""

    def __init__(self, path: str | bytes | os.PathLike[str], is_directory: bool = False) -> None: ...
    def fileno(self) -> int: ...
    def is_ours(self) -> bool:
        """Whether the descriptor is still this file: other code may have closed it and reused its number."""

    @staticmethod
    def count() -> int:
        """Return the number of held files in this process."""

def open_regular(path: str | bytes | os.PathLike[str], flags: int = 0) -> int:
    """Return a descriptor for reading a regular file, without blocking. It serves as an opener for `open`. Raise
    OSError for other types of files."""

def compile_tokenizer_json(data: bytes, metadata: str = "{}", flavor: str = "oniguruma") -> bytes:
    """Compile a tokenizer.json to a version 3 cartridge.

    Args:
        data: The document.
        metadata: A JSON object that is stored unchanged.
        flavor: The Unicode tables of the pre-tokenizer: "oniguruma" (tokenizers) or "rust_regex" (tiktoken).

    Raises:
        VocabularyError: The document is malformed.
        UnsupportedError: It is well-formed, but the named component is not native.
    """

def with_certificate(cartridge: bytes, certificate: str | None) -> bytes:
    """Return the cartridge with this certificate as its last section, replacing a previous one.

    `certificate` is a JSON object of at most 1 MiB in UTF-8, or None to remove it. All other sections are unchanged.
    The whole file is verified first. Raise CartridgeError if it is damaged, or of version 2, which has no sections.
    Raise ValueError for a malformed certificate.
    """

def cartridge_sections(path: str | bytes | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the section table: dicts with name, type, offset, size, checksum."""

def trim() -> None:
    """Free the memory that engines and device encoders keep between calls, except memory in use."""

def working_memory() -> dict[str, int]:
    """Return the size of the memory that engines of this process keep between calls.

    Engines keep `bytes` of at most `limit`, in `scratches` scratch buffers, each for one thread at a time.
    `scratches_made` counts the buffers made so far.
    """

def property_ranges(name: str) -> list[tuple[int, int]]:
    """Return the ranges (first, last) of code points that the engine's ``\\p{...}`` matches.

    `name` is in lower case, without spaces, underscores and hyphens. Raise ValueError for an unknown name."""

def usable_cores() -> int:
    """Return the cores that this process may use, at least 1: by affinity, and by control-group quota, rounded up."""

def cpu_levels() -> list[str]:
    """Return the instruction sets that this build and this CPU can run, slowest first."""

# -- building blocks, exposed for tests, converters and tools
def merges_from_ranks(tokens: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Return (left, right, product), indices into `tokens` (in order of rank), for each token that merging can make."""

def build_double_array(
    keys: Sequence[tuple[bytes, int]],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return (base, check, values) of the packed trie. Keys are unique and sorted bytewise."""

def read_cartridge_v2(data: bytes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
def write_cartridge_v2(
    base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], values: npt.NDArray[np.int32]
) -> bytes: ...
def list_double_array(
    base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], values: npt.NDArray[np.int32]
) -> list[tuple[bytes, int]]: ...
def canonical_pattern(family: str) -> str:
    """Return the regular expression of a pretokenizer family, spelled so that ``tokenizers`` reads it as we do."""

def family_of_pattern(pattern: str, flavor: str) -> str | None:
    """Return the native family of a published pattern in an engine's syntax, or None if the pattern is not native."""

def is_read_alike(pattern: str) -> bool:
    """Whether this is a published pattern without a scanner that both regular expression engines read alike."""

def quicken(tokenizer: type) -> None:
    """Replace hot methods of the class `Tokenizer` with C functions. Unusual arguments go to the original methods."""

def decode_utf8(data: bytes) -> str:
    """``data.decode()``, but faster."""

def model_text(tokenizer_json: bytes, pretty: bool) -> tuple[bytes, bytes | None] | None:
    """Return the vocabulary and merges of a ``tokenizer.json`` as the library writes them, or None if only the library
    can."""

def spell_scores(scores: Iterable[float]) -> list[str]:
    """Return JSON of each number that the library and other readers parse to exactly this double, if possible."""

def settle_scores(scores: Iterable[float]) -> list[float]:
    """Return the numbers, or the nearest ones that the library reads back as `spell_scores` spells them."""

def with_exact_scores(tokenizer_json: bytes) -> bytes:
    """Respell the scores of a Unigram model in a living tokenizer's `to_str` by `spell_scores`."""

def json_normalize(data: bytes) -> str:
    """Parse a JSON document as the compiler does, and write it without white space."""

def added_tokens_text(tokens: dict[int, Any], pretty: bool) -> bytes:
    """Return JSON of added tokens by id, in dict order, as the library writes it in a ``tokenizer.json``."""

def normalize(component: str, text: str, aligned: bool = True) -> tuple[str, list[tuple[int, int]]]:
    """Return the text normalized by a component (JSON), and the original bytes of each of its bytes."""

def merges_by_score(
    scores: dict[str, float],
) -> tuple[list[tuple[str, str]], list[tuple[int, int]], list[tuple[int, int]]] | None:
    """Return (pairs, entangled, equal): the pairs that make pieces, best piece first, longer left part first.

    `entangled` has ranges of pairs of one piece in which one pair ends as another begins. `equal` has ranges of pairs
    of several pieces with one score, in any order. Return None if a part is a single character but not a piece, for
    scores with zeros of both signs, and for NaN.
    """

def vocabulary_text(vocab: dict[str, int], pretty: bool) -> bytes:
    """Return JSON of tokens in the order of their ids, as the library writes a model's vocabulary."""

def read_rank_file(data: bytes) -> dict[bytes, int] | None:
    """Return the tokens of a rank file and their ranks, or None if `rank_file` would not write the same file."""

def rank_file(tokens: list[bytes], ranks: list[int]) -> bytes | None:
    """Return the text of a rank file, or None unless tokens are bytes and ranks are 64-bit ints."""

def vocabulary_of_ranks(tokens: list[bytes], ids: list[int], specials: dict[str, int]) -> bytes:
    """Return the members "vocab" and "merges" of a ``tokenizer.json``.

    Tokens are in the order of their ids; so are special tokens.
    """

class CharsmapRules:
    """SentencePiece's normalization rules: a ``precompiled_charsmap``."""

    def __init__(self, charsmap: bytes) -> None:
        """Read the rules. Raise VocabularyError if the data is damaged."""

    def __len__(self) -> int: ...
    def as_dict(self) -> dict[str, str]:
        """Return all rules: key to replacement."""

    def characters(self) -> dict[str, str]:
        """Return the rules for single characters."""

    def following(self) -> dict[str, str]:
        """Return, for each proper prefix of keys of several characters, the characters that end such keys, in order.

        Raise UnsupportedError if a prefix of several characters is not a key.
        """

    def apply(self, text: str) -> str:
        """Apply the rules to a text: from left to right, the longest match first."""

    def differences(self, component: str) -> tuple[str, dict[str, str]]:
        """Return the characters for which a normalizer (JSON) breaks the rules, and longer rules that it breaks."""

class TextModel:
    """A model on text without other components: the "model" of a tokenizer.json."""

    def __init__(self, model: str) -> None: ...
    @staticmethod
    def open(cartridge: bytes) -> TextModel: ...
    @property
    def options(self) -> str: ...
    @property
    def cartridge(self) -> bytes: ...
    def __len__(self) -> int: ...
    def tokenize(self, piece: str) -> list[tuple[int, str, tuple[int, int]]]:
        """Return (id, string, byte offsets) of each token."""
    def count(self, piece: str) -> int: ...

class _testing:
    """The module `crayon_hf._core._testing`: single parts of the engine, for tests only."""

    TRACE_RUN_BYTES: int
    TRACE_STEPS: int

    @staticmethod
    def host_device(budget_bytes: int, kind: str = "host", is_deferred: bool = False) -> Any:
        """Return a device for `DeviceEncoder` that runs the GPU kernels on the CPU, slowly, for tests.

        It claims `budget_bytes` of memory. With `is_deferred` a stream's work runs when it is waited for, not before.
        `kind` is the kind that it claims: host, cuda or rocm.
        """
    @staticmethod
    def fail_on_device(device: Any, call: str, calls: int, status: str, times: int = 1) -> None:
        """Make `times` calls of a `host_device` fail, after `calls` more succeed.

        `status` is out_of_memory, unusable, lost or failed. After lost, all calls fail.
        """
    @staticmethod
    def take_device_memory(device: Any, bytes: int, is_told: bool = True) -> None:
        """Simulate another process that uses `bytes` of a `host_device`. Unless `is_told`, they count as free."""
    @staticmethod
    def device_counts(device: Any) -> dict[str, int]:
        """Return a `host_device`'s calls by name, its used and pinned bytes (now and at most), and its open streams."""
    @staticmethod
    def open_device_stream(device: Any) -> int:
        """Open a stream of a `host_device`, as another library would."""
    @staticmethod
    def copy_on_device(device: Any, stream: int, to: Any, from_: Any) -> None:
        """Enqueue a copy from one buffer to another in a stream of a `host_device`. Both must live until it runs."""
    @staticmethod
    def stream_after_on_device(device: Any, stream: int, other: int) -> None:
        """Make a stream of a `host_device` wait for another."""

    @staticmethod
    def on_device(device: Any, data: Any) -> DeviceArray:
        """Copy a buffer's bytes to a device's memory, as int8. Raise DeviceOutOfMemoryError if it is full."""

    @staticmethod
    def taken(device: Any, size: int) -> DeviceArray:
        """Allocate `size` uninitialized bytes of a device's memory. Raise DeviceOutOfMemoryError if it is full."""

    @staticmethod
    def memory(device: Any) -> tuple[int, int]:
        """Return (free, total) bytes of a device's memory."""

    @staticmethod
    def pinned(device: Any, size: int) -> npt.NDArray[np.uint8]:
        """Allocate `size` bytes of host memory, pinned for a device. DeviceOutOfMemoryError."""

    class MergeWay:
        """The merge algorithms, which must agree; `usual` chooses by length."""

        usual: _testing.MergeWay
        together: _testing.MergeWay
        heap: _testing.MergeWay

    @staticmethod
    def set_working_memory(limit: int = 0, idle_milliseconds: int = 60_000) -> None:
        """Limit the bytes that engines keep between calls (0: the default), and how long unused memory is kept."""

    @staticmethod
    def core_quota(root: str) -> float | None:
        """Return the cores that control groups below `root`, instead of "/", allow this process."""

    @staticmethod
    def thread_count(threads: int, bytes: int) -> int:
        """Return the number of threads of a call with `bytes` of text."""

    @staticmethod
    def ready_calls(engine: Engine, texts: Any, waits_long: bool) -> int:
        """Return how often a batch would take the GIL to make objects of ids. `waits_long`: taking the GIL is slow."""

    @staticmethod
    def encoded_bytes(engine: Engine, first: list[str], second: list[str] | None, truncation: Any) -> int:
        """Return the bytes of text that `Engine.encode_columns` encodes."""

    @staticmethod
    def merge_pretoken(engine: Engine, pretoken: bytes, way: MergeWay) -> list[int]:
        """Return the ids of a pretoken by merging alone, without the word table and added tokens."""

    @staticmethod
    def cuts(engine: Engine, pretoken: bytes) -> list[int]:
        """Return where a pretoken is cut before it is merged."""

    @staticmethod
    def decode_strings(engine: Engine, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str:
        """`Engine.decode` by the decoder's general algorithm, with which its fast paths must agree."""

    @staticmethod
    def model_type(engine: Engine) -> str:
        """Return the type of the model in a tokenizer.json."""

    @staticmethod
    def verify_cartridge(path: str | bytes | os.PathLike[str]) -> None:
        """Read a whole cartridge and check every checksum and index. Raises CartridgeError."""

    @staticmethod
    def match_backwards(
        base: npt.NDArray[np.int32],
        check: npt.NDArray[np.int32],
        values: npt.NDArray[np.int32],
        text: bytes,
        start: int,
        stop: int,
    ) -> list[tuple[int, int]]:
        """Return (bytes, value) of the longest key at each position of text[start:stop], or (0, -1)."""

    @staticmethod
    def pretokenize(
        data: bytes, family: str, flavor: str = "oniguruma", cpu: str = "", capacity: int = 1024
    ) -> list[int]:
        """Return the end offsets (bytes) of the pretokens of `data`.

        `cpu` forces an instruction set. `capacity` is the most pretokens of one call of the scanner.
        """

    @staticmethod
    def known_patterns(flavor: str) -> list[str]:
        """Return every pattern that family_of_pattern knows."""

    @staticmethod
    def added_token_classes() -> bytes:
        """Return a byte for each code point: 1 for \\w and 2 for white space, as added tokens see them."""

    @staticmethod
    def utf8_chars(data: bytes, backwards: bool = False) -> list[tuple[int, int, bool]]:
        """Return (code point, bytes, valid) for each character; an invalid byte is one character."""

    @staticmethod
    def utf8_error(data: bytes) -> int:
        """Return the offset of the first byte that is not valid UTF-8, or the size."""

    @staticmethod
    def utf8_of(text: str) -> bytes:
        """Return the UTF-8 of a str from its code points, by both algorithms. Raise ValueError for surrogates."""

    @staticmethod
    def utf8_lossy(data: bytes) -> str:
        """Return the text with every maximal invalid subpart replaced by U+FFFD."""

    @staticmethod
    def char_classes(flavor: str) -> bytes:
        """Return a class byte for each of the 1,114,112 code points (the values of CharClass in unicode.h)."""

    @staticmethod
    def normalizer_leaves(component: str, text: str) -> bool:
        """Whether the normalizer surely leaves the text unchanged. False may be wrong."""

    @staticmethod
    def pre_tokenize(
        component: str, text: str, raw_bytes: bool = False, aligned: bool = True, base: int = 0, inserted: str = ""
    ) -> list[tuple[Any, tuple[int, int]]]:
        """Return the pieces of a text by a pre-tokenizer (JSON), each with the characters that it comes from."""

    @staticmethod
    def ends_in_byte_level(component: str) -> bool:
        """Whether a pre-tokenizer's last step, and no other, is a ByteLevel."""

    @staticmethod
    def regex_find_all(pattern: str, text: str) -> list[tuple[int, int]]:
        """Return the successive matches of an Oniguruma pattern, as byte offsets."""

    @staticmethod
    def regex_literal_find_all(literal: str, text: str) -> list[tuple[int, int]]:
        """Return the successive matches of a literal string, as byte offsets."""

    @staticmethod
    def decode_tokens(component: str, tokens: Sequence[str]) -> str:
        """Return the text that a decoder (JSON) makes of tokens."""

    @staticmethod
    def decode_chain(component: str, tokens: Sequence[str]) -> list[str]:
        """Return the strings that the decoder's text is joined from."""

    @staticmethod
    def post_process_encodings(
        component: str, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Apply a post-processor (JSON, or "null") to encodings, which stay unchanged."""

    @staticmethod
    def count_special_tokens(component: str, is_pair: bool) -> int: ...
    @staticmethod
    def special_frames(component: str) -> tuple[Any, Any]:
        """Return the tokens that a post-processor puts around one sequence and around a pair, if that is all it
        does."""

    @staticmethod
    def truncate_encodings(
        encoding: Encoding,
        pair: Encoding | None = None,
        max_length: int = 512,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
        added: int = 0,
    ) -> None: ...
    @staticmethod
    def pad_encodings(
        encodings: Sequence[Encoding], length: int | None = None, multiple_of: int = 0, direction: str = "right"
    ) -> None: ...
