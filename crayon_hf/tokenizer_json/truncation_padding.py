"""The settings for truncation and padding: made from arguments or a ``tokenizer.json``, and written to one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from crayon_hf.errors import VocabularyError
from crayon_hf.util import validation

_SIZE_BITS, _ID_BITS = 64, 32
_MOST_PADDED = (1 << 32) - 1
_STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
_DIRECTIONS = {"left": "Left", "right": "Right"}


class Truncation(NamedTuple):
    """The settings for cutting long encodings. The native engine takes the fields in this order."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"

    def as_dict(self) -> dict[str, Any]:
        """Return the value of `Tokenizer.truncation`."""
        return self._asdict()

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for a ``tokenizer.json``."""
        return {
            "direction": _DIRECTIONS[self.direction],
            "max_length": self.max_length,
            "strategy": _STRATEGIES[self.strategy],
            "stride": self.stride,
        }


class Padding(NamedTuple):
    """The settings for padding short encodings. The native engine takes the fields in this order."""

    length: int | None = None
    direction: str = "right"
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"

    def as_dict(self) -> dict[str, Any]:
        """Return the value of `Tokenizer.padding`."""
        order = ("length", "pad_to_multiple_of", "pad_id", "pad_token", "pad_type_id", "direction")
        return {name: getattr(self, name) for name in order}

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for a ``tokenizer.json``."""
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length},
            "direction": _DIRECTIONS[self.direction],
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }


def truncation_of(
    max_length: Any, stride: Any, strategy: Any, direction: Any, special_tokens: int, ignored: Mapping[str, Any]
) -> Truncation:
    """Check the arguments of `enable_truncation`. `special_tokens` is the number of special tokens around one text."""
    wanted = Truncation(
        validation.unsigned(max_length, "max_length", _SIZE_BITS),
        validation.unsigned(stride, "stride", _SIZE_BITS),
        _one_of(strategy, "strategy", _STRATEGIES),
        _one_of(direction, "direction", _DIRECTIONS),
    )
    _say_ignored(ignored)
    room = wanted.max_length - special_tokens
    if 0 <= room < wanted.stride:
        raise ValueError(
            f"a stride of {wanted.stride} does not fit into a max_length of {wanted.max_length}, "
            f"of which {special_tokens} are special tokens"
        )
    return wanted


def padding_of(
    direction: Any,
    pad_id: Any,
    pad_type_id: Any,
    pad_token: Any,
    length: Any,
    pad_to_multiple_of: Any,
    ignored: Mapping[str, Any],
) -> Padding:
    """Check the arguments of `enable_padding`."""
    others = dict(ignored)
    if "max_length" in others:
        print("enable_padding(max_length=X) is deprecated, use enable_padding(length=X) instead")
        length = others.pop("max_length")
    wanted = Padding(
        _unsigned_or_none(length, "length"),
        _one_of(direction, "direction", _DIRECTIONS),
        _unsigned_or_none(pad_to_multiple_of, "pad_to_multiple_of"),
        validation.unsigned(pad_id, "pad_id", _ID_BITS),
        validation.unsigned(pad_type_id, "pad_type_id", _ID_BITS),
        validation.text(pad_token, "pad_token"),
    )
    _say_ignored(others)
    return wanted


def check_reference_pads(padding: Sequence[Any]) -> None:
    """Raise ValueError for a padding length beyond our engine's limit, before ``tokenizers`` pads.

    That library would allocate that length, and end the process if the allocation fails. `padding` has the fields of
    `Padding`.
    """
    length, multiple = padding[0], padding[2] or 0
    if length is None:
        length = multiple  # the shortest padded length
    elif multiple:
        length = (length + -length % multiple) % (1 << _SIZE_BITS)  # it wraps around
    if length > _MOST_PADDED:
        raise ValueError(f"padding to {length} tokens, which is more than 2^32-1")


def stored_truncation(document: Any) -> Truncation | None:
    """Return the truncation of a ``tokenizer.json``. Raise VocabularyError if it is malformed.

    Old files have no direction and truncate on the right.
    """
    if document is None:
        return None
    with _refusing("truncation", document):
        return Truncation(
            _stored(document["max_length"], "max_length", _SIZE_BITS),
            _stored(document["stride"], "stride", _SIZE_BITS),
            _key_of(document["strategy"], _STRATEGIES),
            _key_of(document.get("direction", "Right"), _DIRECTIONS),
        )


def stored_padding(document: Any) -> Padding | None:
    """Return the padding of a ``tokenizer.json``. Raise VocabularyError if it is malformed."""
    if document is None:
        return None
    with _refusing("padding", document):
        strategy = document["strategy"]
        if strategy != "BatchLongest" and set(strategy) != {"Fixed"}:
            raise ValueError(strategy)
        return Padding(
            None if strategy == "BatchLongest" else _stored(strategy["Fixed"], "Fixed", _SIZE_BITS),
            _key_of(document["direction"], _DIRECTIONS),
            _stored_or_none(document.get("pad_to_multiple_of"), "pad_to_multiple_of"),
            _stored(document["pad_id"], "pad_id", _ID_BITS),
            _stored(document["pad_type_id"], "pad_type_id", _ID_BITS),
            validation.text(document["pad_token"], "pad_token"),
        )


@contextmanager
def _refusing(name: str, document: Any) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise VocabularyError(f"tokenizer.json: malformed {name}: {document!r}") from error


def _one_of(value: Any, name: str, known: Mapping[str, str]) -> str:
    if validation.text(value, name) not in known:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(known)}")
    return str(value)


def _unsigned_or_none(value: Any, name: str) -> int | None:
    return None if value is None else validation.unsigned(value, name, _SIZE_BITS)


def _stored(value: Any, name: str, bits: int) -> int:
    """Check a number from a file, which must not be a bool."""
    if isinstance(value, bool):
        raise TypeError(f"{name} is bool, expected int")
    return validation.unsigned(value, name, bits)


def _stored_or_none(value: Any, name: str) -> int | None:
    return None if value is None else _stored(value, name, _SIZE_BITS)


def _key_of(value: str, spellings: Mapping[str, str]) -> str:
    return {spelling: key for key, spelling in spellings.items()}[value]


def _say_ignored(options: Mapping[str, Any]) -> None:
    for name in options:  # the reference prints this instead of raising
        print(f"Ignored unknown kwarg option {name}")
