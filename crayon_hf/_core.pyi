"""The compiled engine. Everything here is stateless or immutable; the Python face adds no algorithms to it."""

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
    """A number that is another one as soon as something in a class or in one of its bases has changed, or -1 where
    there is none yet: the version by which CPython's own caches of methods go."""

Truncation: TypeAlias = tuple[int, int, str, str]
Padding: TypeAlias = tuple[int | None, str, int | None, int, int, str] | tuple[int | None, str, int | None, int, int]

class Encoding:
    """One encoded input: parallel lists, one element per token. The interface of ``tokenizers.Encoding``."""

    def _repr_html_(self) -> str: ...  # the package puts it there
    @property
    def ids(self) -> list[int]: ...
    @property
    def type_ids(self) -> list[int]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def attention_mask(self) -> list[int]: ...
    @property
    def special_tokens_mask(self) -> list[int]: ...
    @property
    def word_ids(self) -> list[int | None]: ...
    @property
    def words(self) -> list[int | None]: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...
    @property
    def n_sequences(self) -> int: ...
    @property
    def overflowing(self) -> list[Encoding]: ...
    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None: ...
    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None: ...
    def token_to_sequence(self, token_index: int) -> int | None: ...
    def token_to_chars(self, token_index: int) -> tuple[int, int] | None: ...
    def token_to_word(self, token_index: int) -> int | None: ...
    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None: ...
    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None: ...
    def __init__(self) -> None: ...
    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding: ...
    def set_sequence_id(self, sequence_id: int) -> None: ...
    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None: ...
    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None: ...
    def __copy__(self) -> Encoding: ...
    def __deepcopy__(self, memo: Any) -> Encoding: ...
    def __getstate__(self) -> bytes:
        """The JSON that ``tokenizers`` pickles."""
    def __setstate__(self, state: bytes) -> None: ...
    def __len__(self) -> int: ...

class StreamEncoder:
    """Encodes a text of any length through a window that moves over it: one stream, for one thread at a time.

    All ids together are those that the engine gives for the whole text; with ``add_special_tokens`` the
    post-processor's are at the very beginning and the very end."""

    def __init__(
        self, engine: Engine, add_special_tokens: bool = False, special_as_text: bool = False, offsets: bool = False
    ) -> None: ...
    def encode(
        self, buffer: Any, start: int, end: int, is_last: bool
    ) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int64] | None]:
        """Encode bytes [start, end) of a buffer, which begin with the first byte that was not consumed yet.

        Returns how many bytes were consumed, their ids, and of each id the bytes of the stream that it stands for. The
        last window is consumed whole. Of any other 0 bytes may be: then it has to be larger. InvalidUtf8Error gives the
        place in the stream. The arrays' memory is used again when no array shows it any more."""
    @property
    def streams(self) -> bool:
        """False when nothing is consumed before the last window: some component has no proof of where a text may be
        cut, so the window has to become the whole text."""
    @property
    def position(self) -> int:
        """How many bytes were consumed so far."""

class DecodeStream:
    """The text of ids as they come, a chunk at each step."""

    @overload
    def __init__(self, ids: list[int], skip_special_tokens: bool) -> None: ...
    @overload
    def __init__(self, other: DecodeStream) -> None: ...
    def step(self, tokenizer: Any, id: Any) -> str | None:
        """``advance(tokenizer._engine, [id])`` where the stream has begun, `id` is an int and the engine is native;
        else what the method ``_step`` of a subclass gives for the same arguments."""
    def advance(self, engine: Any, ids: list[int]) -> str | None:
        """Add ids, of 32 bits; the new text, or None while a character is not whole."""
    @property
    def begun(self) -> bool:
        """True once there was a step."""

class WordCounter:
    """Counts the words of texts for a trainer: the pretokens that `engine`'s added tokens, normalizer and pre-tokenizer
    make, as ``tokenizers`` counts them in ``train_from_iterator``. An added token in a text is a word of its own.

    `threads` as for an Engine; all of them, the calling one too, work without the GIL. Memory grows with unique words
    alone (32 to 48 bytes each, and the bytes of those that have more than 15).

    A call that raises has counted nothing. `progress(stage, done, total)` is called in the calling thread, at most ten
    times a second, with "counting words" (bytes) or "merging counts"; what it raises ends the work, as an interrupt
    does, with progress or without. One call at a time: RuntimeError while another thread, or a callback's caller, uses
    the counter. In a child of a fork during a call the counter stays busy.

    ValueError for an engine in greedy mode, and for texts on which the reference panics."""

    def __init__(self, engine: Engine, threads: int = 0) -> None: ...
    def add(
        self, texts: Sequence[str | builtins.bytes], progress: Callable[[str, int, int], None] | None = None
    ) -> None:
        """Each item is one text. A large one is cut where words end, so that all threads work on it; where nothing
        proves such places (a pattern of one's own), an interrupt may wait for one text.

        InvalidUtf8Error names the item and the byte; TypeError for a lone surrogate, and what is no text."""
    def add_lines(self, data: Any, progress: Callable[[str, int, int], None] | None = None) -> None:
        """Each line of a buffer (bytes, a mapped file), with its "\\n" if it has one, is one text, as ``train(files)``
        reads them. Nothing is copied. InvalidUtf8Error names the byte of the buffer."""
    def add_words(self, words: Mapping[str, int]) -> None:
        """Words that were cut before, and how often each occurs. ValueError for counts that 64 bits do not hold."""
    def words(self) -> list[tuple[builtins.bytes, int, bool]]:
        """(text, count, is_raw), sorted: the bytes of a raw word stand for their byte-level characters, those of others
        are UTF-8."""
    @property
    def unique(self) -> int:
        """Unique words, after the last call that ended; these three may be asked for at any time."""
    @property
    def total(self) -> int:
        """Words in all."""
    @property
    def bytes(self) -> int:
        """Bytes of text read; of words that were cut before, as often as they count."""

class Engine:
    """An immutable view of a cartridge. Safe to share between threads; releases the GIL while it works.

    ``special_as_text=True`` treats special added tokens in the text as plain text.
    ``threads=0`` means as many as ``CRAYON_NUM_THREADS`` says, else one per core.
    """

    @staticmethod
    def open(
        path: str | bytes | os.PathLike[str],
        verify: bool | Literal["memory"] = False,
        verified: tuple[int, int, int, int, int] | None = None,
    ) -> Engine:
        """Map a cartridge. ``verify`` checks it first: ``"memory"`` every checksum, index and search, so that no use of
        it can read outside it or loop without end; True also that each table which follows from others says what those
        say, which takes as long again. The file ``verified`` passed before: bytes, modification and change time in ns,
        inode and device.

        Raises FileNotFoundError and other OSError as open() does, CartridgeError for anything wrong inside."""
    @staticmethod
    def from_bytes(data: bytes, verify: bool | Literal["memory"] = True) -> Engine:
        """A cartridge held in memory; ``verify`` as for `open`."""
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
        """The cartridge's certificate, a JSON object as text, None when it has none.

        It is about the cartridge, not about what `with_components` or `greedy` made of it. CartridgeError for one that
        is no JSON object."""
    def mismatch(self, tokenizer_json: bytes) -> str | None:
        """None when this cartridge says exactly what `compile_tokenizer_json` makes of the document, else one line that
        names the first thing that differs: tokens and ids, merges, scores, the model's options, added tokens and their
        flags, every component, truncation, padding. White space and the order of members do not count.

        It costs a fraction of compiling: what is derived from these facts is not made. `verify` makes it, so a file
        that passes both lies about nothing in its tokenizer.json. The metadata is not compared: whoever asks must look
        at it himself. Only the flavor has to be that of the library which the metadata's `reference` names, so a
        cartridge that says "tiktoken" may match a document that ``tokenizers`` reads otherwise.

        About the cartridge, like `certificate`. Raises VocabularyError and UnsupportedError for a document that
        compiling would refuse."""
    def info(self) -> dict[str, Any]: ...
    @property
    def components(self) -> str:
        """JSON: the tokenizer.json without added tokens, vocabulary and merges."""
    def with_components(self, components: str, added_tokens: list[dict[str, Any]] | None = None) -> Engine:
        """Another engine over the same cartridge, with other components (JSON as above) and other added tokens (as
        `added_tokens()` gives them; None keeps them; ``respelled`` may be among the flags of one that is not
        normalized, but spelled as the normalizer leaves it). This engine stays as it is.

        Raises UnsupportedError for what is not native over this cartridge's tables, VocabularyError for what is
        malformed."""
    @property
    def mode(self) -> str:
        """Either "exact" or, for an engine that `greedy` made, "greedy". `with_components` keeps it."""
    def greedy(self, unknown: tuple[int, int] | None = None) -> Engine:
        """Longest match over the same cartridge, with the same components and added tokens.

        The pre-tokenizer counts only for what it changes or removes: pieces that touch each other are joined. No text
        becomes a special token of the model but as an added token. `unknown` is (first, id): the model's ids from
        `first` on are given as `id`. ValueError when that is beyond the vocabulary's."""
    def longest_match(self, data: bytes, start: int = 0) -> tuple[int, int]:
        """(id, bytes) of the longest token of the model that `data` goes on with at `start`; (-1, 0) if there is none.

        In greedy mode, of the tokens that text becomes."""
    # -- encoding. `truncation` is (max_length, stride, strategy, direction), `padding` is (length or None, direction,
    # pad_to_multiple_of or None, pad_id, pad_type_id, pad_token); None is neither
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
        """The columns that a model takes: lists of a list for each text, or int64 arrays of shape (texts, tokens).

        "special_tokens_mask" and "length" are columns, too. None when columns alone cannot say it: a post-processor
        that does more than to put special tokens around, truncation with a stride, or one that fails. ValueError for
        arrays of rows with different lengths."""
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
        """Any bytes at all, valid UTF-8 or not: no added tokens, no normalizer, no post-processor; lossless."""
    def encode_ragged(
        self,
        texts: Sequence[str | bytes],
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        threads: int = 0,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """(ids, row_splits): the ids of text i are ids[row_splits[i]:row_splits[i + 1]]."""
    def encode_spans(
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
        """`encode_ragged` of the texts data[begins[i]:ends[i]], UTF-8 in a buffer (bytes, a mapped file), read where
        they lie; spans may overlap. The buffer must not change meanwhile.

        `suffix` follows the ids of each text; with ``suffix_empty=False`` not of one that has no ids. `dtype` of the
        ids is "int32", "uint16" or "uint32". `begins` and `ends` are one-dimensional, int64 or what becomes that
        without loss.

        InvalidUtf8Error names the first text that is not UTF-8, and the offset in it. ValueError for a span outside of
        the buffer, and for an id that `dtype` does not hold."""
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
        """`count_tokens`, or ``limit + 1`` for a text that has more: it is encoded no further than that takes."""
    def truncation_place(
        self,
        text: str,
        max_tokens: int,
        cut_off: str = "right",
        add_special_tokens: bool = True,
        special_as_text: bool = False,
    ) -> int:
        """Where to cut a text, in characters, so that what is not `cut_off` ("right" or "left") has at most
        `max_tokens` tokens; its length, or 0, where nothing is to be cut off. ValueError when the special tokens alone
        are more."""
    def token_index(self, text: str, special_as_text: bool = False) -> TokenIndex: ...
    def appender(self, special_as_text: bool = False) -> Appender: ...
    # -- how one text becomes tokens, for people to look at (cpp/include/crayon/trace/trace.h says what the fields are)
    def trace_segments(self, text: str | bytes, special_as_text: bool = False) -> list[dict[str, Any]]:
        """Added tokens, and the stretches between them with the pieces that the model is given."""
    def trace_raw_segments(self, data: bytes) -> list[dict[str, Any]]:
        """The same for `encode_bytes`."""
    def trace_piece(self, piece: bytes) -> dict[str, Any]:
        """How one piece becomes tokens: merges in order, the best path or the walks; of at most TRACE_PIECE_BYTES."""
    def trace_longest_match(self, run: bytes) -> list[dict[str, Any]]:
        """The walks of longest match over pieces that touch each other; of at most TRACE_RUN_BYTES and, but for
        the last one, TRACE_STEPS."""
    # -- decoding. `ids` is any sequence of ints or an integer ndarray; `unknown_ids` is "error" (TokenIdError), "skip"
    def decode(self, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str: ...
    def decode_bytes(self, ids: Any, skip_special_tokens: bool = False) -> bytes:
        """Raises UnsupportedError where decoding is more than joining the tokens' bytes."""
    def decode_batch(
        self, sequences: Iterable[Any], skip_special_tokens: bool = True, threads: int = 0, unknown_ids: str = "error"
    ) -> list[str]: ...
    # -- vocabulary
    def token_to_id(self, token: str, /) -> int | None: ...
    def id_to_token(self, id: int, /) -> str | None: ...
    def id_to_bytes(self, id: int) -> bytes | None: ...
    # These give None for what they leave to their caller: other types, what there is not.
    def ids_to_tokens(self, ids: Any, /) -> list[str | None] | None: ...
    def tokens_to_ids(self, tokens: Any, /) -> list[int | None] | None: ...
    def token_bytes(self, id: Any, /) -> bytes | None: ...
    def tokens_bytes(self, ids: Any, /) -> list[bytes] | None: ...
    def bytes_and_starts(self, ids: Any, /) -> tuple[bytes, list[int]] | None:
        """The bytes of a list of ids, and where each id begins, in characters."""
    def id_of_bytes(self, token: Any, /) -> int | None:
        """The id that decodes to these bytes, or to the UTF-8 of this text, in a byte-level vocabulary."""
    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]: ...
    def get_vocab_size(self, with_added_tokens: bool = True, /) -> int: ...
    def vocabulary_json(self, pretty: bool) -> bytes | None:
        """The model's vocabulary as a ``tokenizer.json`` has it, without merges; None where tokens are bytes."""
    @property
    def reads_alike(self) -> bool:
        """Whether Python reads of the ``tokenizer.json`` just what the cartridge has: the vocabulary by id, each merge
        and added token once, with its id."""
    @property
    def has_model_type(self) -> bool:
        """Whether a ``tokenizer.json`` that `reads_alike` names the type of its model: older ones leave it out."""
    def model_vocabulary(self) -> tuple[dict[str, int] | list[tuple[str, float]], list[tuple[str, str]]]:
        """The model's tokens with their ids, or of a Unigram model with the scores that Python reads, by id; and its
        merges by rank. UnsupportedError unless `reads_alike`."""
    def added_tokens(self) -> list[dict[str, Any]]:
        """In order of addition: dicts with id, content, single_word, lstrip, rstrip, normalized, special."""
    def num_special_tokens_to_add(self, is_pair: bool, /) -> int: ...

class TokenIndex:
    """`crayon_hf.TokenIndex`, with ranges of characters that lie inside the text. Any number of threads may use it."""

    def count(self, start: int, end: int, /) -> int: ...
    def ids(self, start: int, end: int, /) -> list[int]: ...
    def longest(self, start: int, max_tokens: int, /) -> int: ...
    def longest_before(self, end: int, max_tokens: int, /) -> int: ...

class Appender:
    """`crayon_hf.Appender`. RuntimeError where two threads use it at once."""

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

    `device` is what ``crayon_hf._cuda.open``, ``crayon_hf._hip.open`` or `host_device` gave; it is kept, and so is the
    engine. A batch is cut into partitions that have room for `elements` ids, or as many as the device's free memory
    allows, each text counting for its bytes and `margin`; `lanes` of them are on their way at a time. Any number of
    threads may use it; their batches go one after the other, without the GIL. `measure` counts and times what the
    device does, for `report`; it takes a little of the device's time.

    UnsupportedError for a vocabulary that `why_not_on_device` says something of. All calls: DeviceOutOfMemoryError;
    DeviceLostError, also in a child that was forked from the process that made it; DeviceError for a call of the driver
    that failed, after which the next may succeed. Results are complete when they are returned."""

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
        """(ids, row_splits), of shapes (ids,) and (texts + 1,); as DeviceArrays, they stay on the device.

        `threads` make UTF-8 of the texts. Errors of the texts are those of `Engine.encode_ragged`."""
    def encode_flat(
        self,
        data: Any,
        offsets: npt.ArrayLike,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        as_device_arrays: bool = False,
    ) -> tuple[Any, Any]:
        """The same of texts that lie one behind the other: text i is data[offsets[i]:offsets[i + 1]], UTF-8.

        `data` is any buffer of the host, or has ``__dlpack__`` or ``__cuda_array_interface__``: a contiguous vector of
        uint8 or int8, on the CPU (pinned or not) or on this device. What its library has put into the array's stream
        is waited for on the device. It must not change meanwhile.

        InvalidUtf8Error names the first text that is not UTF-8, and the byte. ValueError for data on another device,
        and for offsets that fall, or go beyond the data; TypeError for data that is not of bytes."""
    @property
    def report(self) -> dict[str, Any]:
        """What it has done so far: partitions, bytes, pretokens, ids; what of it the device merged (merged_pretokens,
        merged_bytes), and what the CPU encoded (host_pretokens, host_documents). longest_walk is the most windows of 64
        bytes that one thread looked through for pretokens; 0 if no thread took as many as 64.

        With `measure` also what that took, the vocabulary's upload included. ``kernels`` has of each kernel that was
        launched its launches, blocks and seconds. They are the device's own time for all that it ran; with more than
        one lane, kernels that ran at the same time have each other's time in theirs. ``device`` has allocated,
        allocated_pinned, to_device, to_host, copied and zeroed, each a dict of calls and bytes; released,
        released_pinned, waits and wait_seconds; held and most_held, bytes of the device's memory."""
    @property
    def engine(self) -> Engine: ...
    @property
    def device(self) -> str:
        """As in torch: "cuda:0"."""

class DeviceArray:
    """A vector of int32 or int64 in a device's memory, for other libraries to take over: ``torch.from_dlpack(array)``.

    Each that takes it has a view of the same memory, which lives, and the device with it, as long as any of them."""

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """As DLPack has it. The array is complete: no stream has to wait. `dl_device` is its own, or (1, 0), the CPU,
        where it is copied to. BufferError for others."""
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def numpy(self) -> npt.NDArray[Any]:
        """A copy on the host."""
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
    """Why no GPU encodes with an engine's vocabulary; empty when they do."""

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
    """The tokens by id, and the merges by rank (pairs of ids), that the BpeTrainer of ``tokenizers`` finds for these
    words with these options: docs/training.md says how, and what its memory is.

    The words stay as they are. `progress` as for WordCounter, some ten times a second. ValueError for an initial
    alphabet of anything but single characters, and for more unique words than 4 billion characters."""

def utf8_errors(data: Any, begins: npt.ArrayLike, ends: npt.ArrayLike, threads: int = 0) -> npt.NDArray[np.int64]:
    """For each text data[begins[i]:ends[i]] the offset in it of the first byte that is not UTF-8, or -1.

    Spans as for `Engine.encode_spans`."""

def split_spans(data: Any, separator: bytes, threads: int = 0) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(begins, ends) of the documents that ``bytes(data).split(separator)`` gives, without an empty last one.

    ValueError for an empty separator."""

class JsonLines:
    """What `read_json_lines` found."""

    @property
    def line_begins(self) -> npt.NDArray[np.int64]:
        """Of shape (lines + 1,): line i is block[line_begins[i]:line_begins[i + 1]], with its "\n" if it has one."""
    @property
    def status(self) -> npt.NDArray[np.uint8]:
        """Of shape (lines,). 0: an object with a str in every column. 1: a blank line. 2: unsure, ask Python's json."""
    @property
    def begins(self) -> npt.NDArray[np.int64]:
        """Of shape (lines, columns): the text of column j is block[begins[i, j]:ends[i, j]]. -1 unless status is 0."""
    @property
    def ends(self) -> npt.NDArray[np.int64]: ...

def whole_lines(block: Any, begin: int, size: int, most: int, at_end: bool) -> int:
    """How many bytes of ``block[:size]`` are whole lines, at most `most` of those that end past `begin` (>= 1); before
    it none ends. With `at_end` the last line needs no end."""

def read_json_lines(block: Any, size: int, columns: Sequence[str], threads: int = 0) -> JsonLines:
    """Where the texts of `columns` are in the lines of JSON block[:size], a writable buffer.

    Lines end with "\n", the last one perhaps without. When status is 0, ``json.loads`` takes the line, and its str of
    each column is that text, in UTF-8: texts with escapes are unescaped in place, and the rest of such a line is no
    JSON any more. Other lines stay byte for byte as they are. Unsure is whatever is not an object with one str for
    every column, and also what is right but rare: NaN, numbers of more than 600 bytes, more than 64 levels, a column
    that occurs twice or has half a surrogate pair.

    BufferError for a buffer that is read-only; ValueError for a size beyond the buffer's and for a column that is
    asked for twice."""

class HeldFile:
    """A regular file, or a directory, that is held open and closed with the object. OSError where it cannot be, as on
    Windows."""

    def __init__(self, path: str | bytes | os.PathLike[str], is_directory: bool = False) -> None: ...
    def fileno(self) -> int: ...
    def is_ours(self) -> bool:
        """False when somebody closed the descriptor, whoever may have its number now."""

    @staticmethod
    def count() -> int:
        """How many there are in this process."""

def open_regular(path: str | bytes | os.PathLike[str], flags: int = 0) -> int:
    """A descriptor to read a regular file, without waiting; an opener for `open`. OSError for anything else."""

def compile_tokenizer_json(data: bytes, metadata: str = "{}", flavor: str = "oniguruma") -> bytes:
    """A version 3 cartridge from the bytes of a tokenizer.json. `metadata` is a JSON object that is stored as it is.

    `flavor` says whose Unicode tables the pretokenizer follows: "oniguruma" (tokenizers) or "rust_regex" (tiktoken).
    Raises VocabularyError (malformed) or UnsupportedError (well-formed, not native: the message names what)."""

def with_certificate(cartridge: bytes, certificate: str | None) -> bytes:
    """The file with this certificate, a JSON object of at most 1 MiB in UTF-8, as its last section, in place of any
    that it had; None takes that out. All other sections stay byte for byte what they are.

    The file is verified whole first: CartridgeError for one that is damaged, or of version 2, which has no sections.
    ValueError for what is no certificate."""

def cartridge_sections(path: str | bytes | os.PathLike[str]) -> list[dict[str, Any]]:
    """The section table: dicts with name, type, offset, size, checksum."""

def trim() -> None:
    """Free what the engines, and encoders on devices, keep between calls, all of it that is not in use."""

def working_memory() -> dict[str, int]:
    """What the engines of this process keep between calls: `bytes` of at most `limit`, in so many `scratches`, each of
    which one thread uses at a time; and how many were made since the process began (`scratches_made`)."""

def usable_cores() -> int:
    """How many this process may use: by its affinity, and by the quota of its control group, rounded up. At least 1."""

def cpu_levels() -> list[str]:
    """The instruction sets that this build and this CPU can run, worst first."""

# -- building blocks, exposed for tests, converters and tools
def merges_from_ranks(tokens: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """(left, right, product) indices into `tokens` (in order of rank), one per token that merging can reach."""

def build_double_array(
    keys: Sequence[tuple[bytes, int]],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(base, check, values) of the packed trie; keys sorted bytewise and unique."""

def read_cartridge_v2(data: bytes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
def write_cartridge_v2(
    base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], values: npt.NDArray[np.int32]
) -> bytes: ...
def list_double_array(
    base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], values: npt.NDArray[np.int32]
) -> list[tuple[bytes, int]]: ...
def canonical_pattern(family: str) -> str:
    """The regular expression of a pretokenizer family, spelled so that ``tokenizers`` reads it as we do."""

def family_of_pattern(pattern: str, flavor: str) -> str | None:
    """The native family of a published pattern in an engine's reading; None when it is not native."""

def is_read_alike(pattern: str) -> bool:
    """Whether this is a published pattern without a scanner that both engines of regular expressions read alike."""

def quicken(tokenizer: type) -> None:
    """Give the class `Tokenizer` its shortest calls in C++. They leave all but the usual arguments to its own."""

def decode_utf8(data: bytes) -> str:
    """``data.decode()``, in less time."""

def model_text(tokenizer_json: bytes, pretty: bool) -> tuple[bytes, bytes | None] | None:
    """The vocabulary and merges of a ``tokenizer.json`` as the library writes them; None when only it knows how."""

def spell_scores(scores: Iterable[float]) -> list[str]:
    """JSON of each number, which the library and every other reader take for this very double if that can be."""

def settle_scores(scores: Iterable[float]) -> list[float]:
    """The numbers, or their nearest neighbours that the library reads back as `spell_scores` spells them."""

def with_exact_scores(tokenizer_json: bytes) -> bytes:
    """The `to_str` of a living tokenizer, in which the scores of a Unigram model are as `spell_scores` has them."""

def json_normalize(data: bytes) -> str:
    """Parse a JSON document as the compiler does and write it again, without white space."""

def added_tokens_text(tokens: dict[int, Any], pretty: bool) -> bytes:
    """JSON of added tokens by their ids, in the order of these, as the library writes that of a ``tokenizer.json``."""

def normalize(component: str, text: str, aligned: bool = True) -> tuple[str, list[tuple[int, int]]]:
    """What a normalizer (JSON, as in tokenizer.json) makes of a text, and the original bytes of each byte of it."""

def merges_by_score(
    scores: dict[str, float],
) -> tuple[list[tuple[str, str]], list[tuple[int, int]], list[tuple[int, int]]] | None:
    """The pairs that make pieces, the best piece first, a longer left part first. Where those of a piece stand of which
    one ends as another begins, and those of several pieces of one score, in any order.

    None where a part is a single character that is no piece, and for pieces of both zeros.
    """

def vocabulary_text(vocab: dict[str, int], pretty: bool) -> bytes:
    """JSON of tokens in the order of their ids, as the library writes the vocabulary of a model."""

def read_rank_file(data: bytes) -> dict[bytes, int] | None:
    """The tokens of a rank file and their ranks; None unless it is as `rank_file` writes one."""

def rank_file(tokens: list[bytes], ranks: list[int]) -> bytes | None:
    """The text of a rank file; None unless the ranks are bytes and ints of 64 bits."""

def vocabulary_of_ranks(tokens: list[bytes], ids: list[int], specials: dict[str, int]) -> bytes:
    """The members "vocab" and "merges" of a ``tokenizer.json``, of tokens in the order of their ids, and special tokens
    in that of theirs."""

class CharsmapRules:
    """SentencePiece's normalization rules: a ``precompiled_charsmap``."""

    def __init__(self, charsmap: bytes) -> None:
        """VocabularyError when the data is damaged."""

    def __len__(self) -> int: ...
    def as_dict(self) -> dict[str, str]:
        """All rules: a key, and the text that replaces it."""

    def characters(self) -> dict[str, str]:
        """The rules for single characters."""

    def following(self) -> dict[str, str]:
        """For each beginning of a key of several characters, the last characters of such keys, in order.

        UnsupportedError when such a beginning of several characters is no key.
        """

    def apply(self, text: str) -> str:
        """The text after the rules: from left to right, the longest that fits."""

    def differences(self, component: str) -> tuple[str, dict[str, str]]:
        """Where a normalizer (JSON) differs from the rules: single characters, of all that exist, and longer rules."""

class TextModel:
    """A model on text alone: the "model" of a tokenizer.json."""

    def __init__(self, model: str) -> None: ...
    @staticmethod
    def open(cartridge: bytes) -> TextModel: ...
    @property
    def options(self) -> str: ...
    @property
    def cartridge(self) -> bytes: ...
    def __len__(self) -> int: ...
    def tokenize(self, piece: str) -> list[tuple[int, str, tuple[int, int]]]:
        """(id, string, byte offsets) of each token."""
    def count(self, piece: str) -> int: ...

class _testing:
    """A module, `crayon_hf._core._testing`: parts of the engine one by one, for tests alone."""

    TRACE_RUN_BYTES: int
    TRACE_STEPS: int

    @staticmethod
    def host_device(budget_bytes: int, kind: str = "host", is_deferred: bool = False) -> Any:
        """A device for `DeviceEncoder` that runs the kernels of GPUs on the CPU, slowly, for tests. Its memory is the
        host's, of which it pretends to have so many bytes. With `is_deferred` a stream's work is done when somebody
        waits for it, not before. `kind` is what it says it is: host, cuda or rocm."""
    @staticmethod
    def fail_on_device(device: Any, call: str, calls: int, status: str, times: int = 1) -> None:
        """After `calls` more, so many calls of a `host_device` give a status: out_of_memory, unusable, lost, failed.
        After lost, all do."""
    @staticmethod
    def take_device_memory(device: Any, bytes: int, is_told: bool = True) -> None:
        """Another process has so many bytes of a `host_device`. Unless `is_told`, it says that they are free."""
    @staticmethod
    def device_counts(device: Any) -> dict[str, int]:
        """How often a `host_device` was called, by call; bytes used, and pinned, now and at most; open streams."""
    @staticmethod
    def open_device_stream(device: Any) -> int:
        """A stream of a `host_device`, as another library may have one."""
    @staticmethod
    def copy_on_device(device: Any, stream: int, to: Any, from_: Any) -> None:
        """Put into a stream of a `host_device` that a buffer gets the bytes of another. Both must live till then."""
    @staticmethod
    def stream_after_on_device(device: Any, stream: int, other: int) -> None:
        """Let a stream of a `host_device` wait for what is in another."""

    @staticmethod
    def on_device(device: Any, data: Any) -> DeviceArray:
        """A buffer's bytes in a device's memory, as int8. DeviceOutOfMemoryError."""

    @staticmethod
    def taken(device: Any, size: int) -> DeviceArray:
        """So many bytes of a device's memory, with anything in them. DeviceOutOfMemoryError."""

    @staticmethod
    def memory(device: Any) -> tuple[int, int]:
        """How many bytes of a device's memory are free, and how many there are."""

    @staticmethod
    def pinned(device: Any, size: int) -> npt.NDArray[np.uint8]:
        """So many bytes of the host's memory, pinned for a device. DeviceOutOfMemoryError."""

    class MergeWay:
        """The ways of merging that must agree; `usual` chooses by length."""

        usual: _testing.MergeWay
        short_arrays: _testing.MergeWay
        together: _testing.MergeWay
        sweeps: _testing.MergeWay
        heap: _testing.MergeWay

    @staticmethod
    def set_working_memory(limit: int = 0, idle_milliseconds: int = 60_000) -> None:
        """How much the engines keep between calls (0: as without a test), and for how long what nobody uses."""

    @staticmethod
    def core_quota(root: str) -> float | None:
        """The cores that the control groups below a directory, in place of "/", leave this process."""

    @staticmethod
    def thread_count(threads: int, bytes: int) -> int:
        """How many threads a call with so many bytes of text has."""

    @staticmethod
    def ready_calls(engine: Engine, texts: Any, waits_long: bool) -> int:
        """How often a batch would take the GIL to make objects of ids, where that takes long or does not."""

    @staticmethod
    def encoded_bytes(engine: Engine, first: list[str], second: list[str] | None, truncation: Any) -> int:
        """How many bytes of text `Engine.encode_columns` encodes."""

    @staticmethod
    def merge_pretoken(engine: Engine, pretoken: bytes, way: MergeWay) -> list[int]:
        """What merging alone makes of one pretoken: the word table and added tokens are left out."""

    @staticmethod
    def cuts(engine: Engine, pretoken: bytes) -> list[int]:
        """Where a pretoken is cut before it is merged."""

    @staticmethod
    def decode_strings(engine: Engine, ids: Any, skip_special_tokens: bool = True, unknown_ids: str = "error") -> str:
        """`Engine.decode` by the decoder's general way, which its quick ways must agree with; no bytes are joined."""

    @staticmethod
    def model_type(engine: Engine) -> str:
        """The type of the model, as a tokenizer.json calls it."""

    @staticmethod
    def verify_cartridge(path: str | bytes | os.PathLike[str]) -> None:
        """Read a cartridge whole and check every checksum and index. Raises CartridgeError."""

    @staticmethod
    def match_backwards(
        base: npt.NDArray[np.int32],
        check: npt.NDArray[np.int32],
        values: npt.NDArray[np.int32],
        text: bytes,
        start: int,
        stop: int,
    ) -> list[tuple[int, int]]:
        """(bytes, value) of the longest key at each place of text[start:stop]; (0, -1) where there is none."""

    @staticmethod
    def pretokenize(
        data: bytes, family: str, flavor: str = "oniguruma", cpu: str = "", capacity: int = 1024
    ) -> list[int]:
        """End offsets (bytes) of the pretokens of `data`; `cpu` forces an instruction set.

        `capacity` is how many pretokens one call of the scanner may give."""

    @staticmethod
    def known_patterns(flavor: str) -> list[str]:
        """Every pattern that family_of_pattern knows."""

    @staticmethod
    def added_token_classes() -> bytes:
        """One byte for each code point: 1 for \\w and 2 for white space, as added tokens see them."""

    @staticmethod
    def utf8_chars(data: bytes, backwards: bool = False) -> list[tuple[int, int, bool]]:
        """(code point, bytes, valid) for each character; an invalid byte is one character."""

    @staticmethod
    def utf8_error(data: bytes) -> int:
        """Offset of the first byte that is not valid UTF-8, or the size."""

    @staticmethod
    def utf8_of(text: str) -> bytes:
        """The UTF-8 of a str by its code points, written in both ways; ValueError for one with surrogates."""

    @staticmethod
    def utf8_lossy(data: bytes) -> str:
        """The text with every maximal invalid subpart replaced by U+FFFD."""

    @staticmethod
    def char_classes(flavor: str) -> bytes:
        """One class byte for each of the 1,114,112 code points (the values of CharClass in unicode.h)."""

    @staticmethod
    def normalizer_leaves(component: str, text: str) -> bool:
        """True when the normalizer surely leaves the text as it is; False may be wrong."""

    @staticmethod
    def pre_tokenize(
        component: str, text: str, raw_bytes: bool = False, aligned: bool = True, base: int = 0, inserted: str = ""
    ) -> list[tuple[Any, tuple[int, int]]]:
        """The pieces that a pre-tokenizer (JSON) cuts a text into, each with the characters that it comes from."""

    @staticmethod
    def ends_in_byte_level(component: str) -> bool:
        """Whether a pre-tokenizer's last step, and no other, is a ByteLevel."""

    @staticmethod
    def regex_find_all(pattern: str, text: str) -> list[tuple[int, int]]:
        """The matches of an Oniguruma pattern, one after the other, as byte offsets."""

    @staticmethod
    def regex_literal_find_all(literal: str, text: str) -> list[tuple[int, int]]:
        """The places of a string, one after the other, as byte offsets."""

    @staticmethod
    def decode_tokens(component: str, tokens: Sequence[str]) -> str:
        """The text that a decoder (JSON, as in tokenizer.json) makes of tokens' strings."""

    @staticmethod
    def decode_chain(component: str, tokens: Sequence[str]) -> list[str]:
        """The strings of which that text is put together."""

    @staticmethod
    def post_process_encodings(
        component: str, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """What a post-processor (JSON, or "null") makes of encodings, which are left as they are."""

    @staticmethod
    def count_special_tokens(component: str, is_pair: bool) -> int: ...
    @staticmethod
    def special_frames(component: str) -> tuple[Any, Any]:
        """What a post-processor puts around one sequence and around a pair, when that is all that it does."""

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
