"""The outcome of one side for one input, in a form that can be compared, hashed and kept.

A *side* is the reference library or crayon_hf ("ours") behind one method, ``outcomes(items, mode)``. An item is a tuple
of one text, or of two (a pair). An ``Outcome`` has all fields of a result, or the class of the error that was raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

Item = tuple[str, ...]

ENCODING_FIELDS = (
    "ids",
    "offsets",
    "tokens",
    "type_ids",
    "special_tokens_mask",
    "word_ids",
    "attention_mask",
    "sequence_ids",
    "n_sequences",
)
LOOKUP_LIMIT = 16
"""In inputs of at most this many characters, every position is also looked up: character to token, and back."""


@dataclass(frozen=True)
class Mode:
    """How an item is encoded."""

    add_special_tokens: bool = True
    words: bool = False
    """Split the text at spaces and encode the parts as pretokenized input."""
    special_as_text: bool = False
    """Special tokens in the text are plain text (``encode_special_tokens`` of tokenizers)."""
    max_length: int | None = None
    """Truncate to this number of tokens, with the rest in overflowing windows. None keeps the tokenizer's setting."""
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"
    """The side that truncation removes tokens from."""
    pad: str = ""
    """The side that is padded, ``left`` or ``right``. An empty text keeps the tokenizer's own setting."""
    pad_length: int | None = None
    """The padded length in tokens. None pads to the longest encoding of the batch."""
    pad_multiple: int | None = None
    pad_id: int = 0

    @property
    def label(self) -> str:
        """The name in reports, empty for the default."""
        parts = [
            "" if self.add_special_tokens else "no-special",
            "words" if self.words else "",
            "as-text" if self.special_as_text else "",
            "" if self.max_length is None else f"cut-{self.direction}-{self.max_length}-{self.stride}-{self.strategy}",
            "" if not self.pad else f"pad-{self.pad}-{self.pad_length or 'longest'}-{self.pad_multiple or 1}",
        ]
        return "+".join(part for part in parts if part)

    @property
    def windows(self) -> bool:
        """Whether results are truncated or padded."""
        return self.max_length is not None or self.pad != ""

    def arguments(self, item: Item) -> Any:
        """The item as an argument of ``encode_batch``."""
        parts = tuple(text.split(" ") for text in item) if self.words else item
        return parts[0] if len(parts) == 1 else parts


DEFAULT = Mode()


@dataclass(frozen=True)
class Outcome:
    """A record of fields, or an error: the names of its class and of the class's bases."""

    fields: dict[str, Any] = field(default_factory=dict)
    error: tuple[str, ...] = ()
    message: str = ""

    @staticmethod
    def of_error(error: BaseException) -> Outcome:
        """The outcome of a call that raised."""
        names = tuple(cls.__name__ for cls in type(error).__mro__ if cls not in (object, BaseException))
        return Outcome(error=names, message=str(error))


@dataclass(frozen=True)
class FieldDifference:
    """One field on which the two sides disagree."""

    field: str
    ours: Any
    reference: Any


def compare_outcomes(ours: Outcome, reference: Outcome) -> list[FieldDifference]:
    """Return the fields that differ. Errors agree if an ``except`` for the class of the reference's error catches ours.

    Our ValueError agrees with a panic of the reference, which no ``except Exception`` catches.
    """
    if ours.error or reference.error:
        if ours.error and reference.error and {reference.error[0], _name(reference)} & set(ours.error):
            return []
        return [FieldDifference("error", _what(ours), _what(reference))]
    names = [*reference.fields, *(name for name in ours.fields if name not in reference.fields)]
    pairs = [(name, ours.fields.get(name), reference.fields.get(name)) for name in names]
    return [FieldDifference(*pair) for pair in pairs if pair[1] != pair[2]]


def _name(outcome: Outcome) -> str:
    return "ValueError" if outcome.error[0] == "PanicException" else outcome.error[0]


def _what(outcome: Outcome) -> Any:
    return f"{outcome.error[0]}: {outcome.message}" if outcome.error else outcome.fields.get("ids")


def has_surrogates(item: Item) -> bool:
    """Whether a text of the item has lone surrogates, which UTF-8 cannot encode."""
    for text in item:
        try:
            text.encode()
        except UnicodeEncodeError:
            return True
    return False


class Side(Protocol):
    """One side of the comparison: the reference, or ours."""

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""


def attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of the call, or its error as an Outcome. A panic of a Rust extension counts as an error."""
    try:
        return call(*arguments)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        return Outcome.of_error(error)


def each(batch: Callable[[list[Any]], list[Any]], one: Callable[[Any], Any], inputs: list[Any]) -> list[Any]:
    """Return the results of a call of `batch` with all inputs.

    If that fails, return the results of `one` for each input, with errors as Outcomes.
    """
    results = attempt(batch, inputs)
    if isinstance(results, Outcome) or len(results) != len(inputs):
        return [attempt(one, value) for value in inputs]
    return list(results)


def encoding_fields(encoding: Any, item: Item) -> dict[str, Any]:
    """Return the attributes of an ``Encoding`` as plain values, and for a short input `item` all position lookups."""
    fields = {name: getattr(encoding, name) for name in ENCODING_FIELDS}
    overflowing = encoding.overflowing
    if overflowing:
        fields["overflowing"] = [tuple(encoding_fields(part, ()).items()) for part in overflowing]
    if item and sum(map(len, item)) <= LOOKUP_LIMIT:
        fields["lookups"] = _lookups(encoding, item)
    return fields


def outcome_of(fields: Callable[..., dict[str, Any]], *parts: Any) -> Outcome:
    """Return the outcome with the result of ``fields(*parts)``.

    If a part is an error, or the call raises one, return that error as the outcome.
    """
    for part in parts:
        if isinstance(part, Outcome):
            return part
    made = attempt(fields, *parts)
    return made if isinstance(made, Outcome) else Outcome(made)


def _lookups(encoding: Any, item: Item) -> list[Any]:
    found: list[Any] = []
    for token in range(len(encoding) + 1):
        found.append(encoding.token_to_chars(token))
        found.append(encoding.token_to_word(token))
        found.append(encoding.token_to_sequence(token))
    for sequence, text in enumerate(item):
        for position in range(len(text) + 1):
            found.append(encoding.char_to_token(position, sequence))
            found.append(encoding.char_to_word(position, sequence))
            found.append(encoding.word_to_tokens(position, sequence))
            found.append(encoding.word_to_chars(position, sequence))
    return found


@contextmanager
def using(tokenizer: Any, mode: Mode) -> Iterator[Outcome | None]:
    """Set the tokenizer to the mode, and on exit restore truncation and padding.

    Yield None, or the error with which the tokenizer refuses the mode.
    """
    tokenizer.encode_special_tokens = mode.special_as_text
    if not mode.windows:
        yield None
        return
    before = attempt(lambda: (tokenizer.truncation, tokenizer.padding))
    refused = before if isinstance(before, Outcome) else attempt(_set_windows, tokenizer, mode)
    try:
        yield refused
    finally:
        if not isinstance(before, Outcome):
            attempt(_restore_windows, tokenizer, *before)


def _restore_windows(tokenizer: Any, truncation: dict[str, Any] | None, padding: dict[str, Any] | None) -> None:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if padding is not None:
        tokenizer.enable_padding(**padding)
    if truncation is not None:  # last: a file can hold settings that the call refuses
        tokenizer.enable_truncation(**truncation)


def _set_windows(tokenizer: Any, mode: Mode) -> None:
    if mode.max_length is not None:
        tokenizer.enable_truncation(
            mode.max_length, stride=mode.stride, strategy=mode.strategy, direction=mode.direction
        )
    if mode.pad:
        tokenizer.enable_padding(
            direction=mode.pad,
            pad_id=mode.pad_id,
            pad_type_id=1,
            pad_token="<pad>",
            length=mode.pad_length,
            pad_to_multiple_of=mode.pad_multiple,
        )


class TokenizersSide:
    """Anything with the interface of ``tokenizers.Tokenizer``: the reference itself, or ours."""

    FIELDS = (*ENCODING_FIELDS, "overflowing", "lookups", "decoded", "decoded_with_special")

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        with using(self.tokenizer, mode) as refused:
            return [refused] * len(items) if refused else self._outcomes(items, mode)

    def _outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        tokenizer = self.tokenizer
        options = {"is_pretokenized": mode.words, "add_special_tokens": mode.add_special_tokens}

        def one(arguments: Any) -> Any:
            if isinstance(arguments, tuple):
                return tokenizer.encode(arguments[0], arguments[1], **options)
            return tokenizer.encode(arguments, **options)

        # One text that cannot be encoded fails a whole batch, so such texts are encoded one by one.
        results: list[Any] = [None] * len(items)
        whole = [i for i, item in enumerate(items) if not has_surrogates(item)]
        inputs = [mode.arguments(items[i]) for i in whole]
        for i, result in zip(whole, each(partial(tokenizer.encode_batch, **options), one, inputs), strict=True):
            results[i] = result
        for i in set(range(len(items))).difference(whole):
            results[i] = attempt(one, mode.arguments(items[i]))
        outcomes = [outcome_of(encoding_fields, result, item) for result, item in zip(results, items, strict=True)]
        self._decode(outcomes)
        return outcomes

    def _decode(self, outcomes: list[Outcome]) -> None:
        done = [outcome for outcome in outcomes if not outcome.error]
        sequences = [outcome.fields["ids"] for outcome in done]
        for name, skip in (("decoded", True), ("decoded_with_special", False)):
            batch = partial(self.tokenizer.decode_batch, skip_special_tokens=skip)
            one = partial(self.tokenizer.decode, skip_special_tokens=skip)
            for outcome, text in zip(done, each(batch, one, sequences), strict=True):
                outcome.fields[name] = ("error", text.error[0]) if isinstance(text, Outcome) else text


class TiktokenSide:
    """A ``tiktoken.Encoding``. Each text is encoded with all special tokens allowed, and with none (``ordinary``)."""

    FIELDS = ("ids", "ordinary", "decoded_bytes", "decoded_with_special", "starts")

    def __init__(self, encoding: Any, threads: int = 2) -> None:
        self.encoding = encoding
        self.threads = threads

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        encoding, threads = self.encoding, self.threads
        texts = [item[0] for item in items]
        with_special = partial(encoding.encode_batch, allowed_special="all", num_threads=threads)
        ids = each(with_special, partial(encoding.encode, allowed_special="all"), texts)
        ordinary = each(partial(encoding.encode_ordinary_batch, num_threads=threads), encoding.encode_ordinary, texts)
        return [outcome_of(self._fields, *parts) for parts in zip(ids, ordinary, items, strict=True)]

    def _fields(self, ids: list[int], ordinary: list[int], item: Item) -> dict[str, Any]:
        fields: dict[str, Any] = {"ids": ids, "ordinary": ordinary}
        fields["decoded_bytes"] = self.encoding.decode_bytes(ids)
        fields["decoded_with_special"] = self.encoding.decode(ids)
        if not has_surrogates(item):  # tiktoken replaces surrogates, so its offsets are those of another text
            fields["starts"] = self.encoding.decode_with_offsets(ids)[1]
        return fields


class OurTiktokenSide:
    """Our tokenizer, opened from a rank file, with the fields of ``TiktokenSide``."""

    def __init__(self, tokenizer: Any, ordinary: Any) -> None:
        self.tokenizer = tokenizer
        self.ordinary = ordinary  # a second handle on the same vocabulary, so that no setting changes between calls
        ordinary.encode_special_tokens = True

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        texts = [item[0] for item in items]
        encodings = each(self.tokenizer.encode_batch, self.tokenizer.encode, texts)
        ordinary = each(self.ordinary.encode_batch, self.ordinary.encode, texts)
        return [outcome_of(self._fields, *parts) for parts in zip(encodings, ordinary, items, strict=True)]

    def _fields(self, encoding: Any, ordinary: Any, item: Item) -> dict[str, Any]:
        ids = encoding.ids
        fields: dict[str, Any] = {"ids": ids, "ordinary": ordinary.ids}
        fields["decoded_bytes"] = self.tokenizer.decode_bytes(ids)
        fields["decoded_with_special"] = self.tokenizer.decode(ids, skip_special_tokens=False)
        if not has_surrogates(item):
            fields["starts"] = [start for start, _ in encoding.offsets]
        return fields


class OurBytesSide:
    """Our tokenizer's ``encode_bytes``, which accepts any bytes, and back. An item has the bytes as Latin-1 text."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        return [outcome_of(self._fields, item) for item in items]

    def _fields(self, item: Item) -> dict[str, Any]:
        data = item[0].encode("latin-1")
        ids = self.tokenizer.encode_bytes(data)
        decoded = self.tokenizer.decode_bytes(ids)
        return {"bytes": decoded, "text": self.tokenizer.decode(ids, skip_special_tokens=False)}


class SameBytesSide:
    """The expected outcome of ``OurBytesSide``: the same bytes again, and Python's decoding of them."""

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        encoded = [item[0].encode("latin-1") for item in items]
        return [Outcome({"bytes": data, "text": data.decode("utf-8", "replace")}) for data in encoded]
