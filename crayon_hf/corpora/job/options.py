"""Options of a corpus job. Some decide the bytes of its output, others only its speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

from crayon_hf.corpora.formats import FORMATS
from crayon_hf.text_readers.documents import FORMATS as INPUT_FORMATS
from crayon_hf.text_readers.documents import Reading
from crayon_hf.util import validation

BATCH_BYTES: int = Reading._field_defaults["batch_bytes"]
MAX_SEQUENCE_LENGTH = 1 << 24
PACKINGS = ("concat", "best-fit")
REMAINDERS = ("drop", "keep", "pad")
_FLAGS = ("append_eos", "add_special_tokens", "shuffle", "deduplicate")
MAX_DOCUMENT_BYTES: int = Reading._field_defaults["max_document_bytes"]


class ShardOptions(TypedDict, total=False):
    """The arguments of `tokenize_shard`, except the format, that the bytes of the output depend on."""

    column: str
    template: str | None
    separator: str | None
    input_format: str | None
    append_eos: bool
    eos: str | None
    add_special_tokens: bool
    bad_records: str
    shuffle: bool
    seed: int
    max_tokens_per_shard: int | None
    max_document_bytes: int
    sequence_length: int | None
    packing: str | None
    remainder: str | None
    pad_token: str | None
    deduplicate: bool


class CorpusOptions(ShardOptions, total=False):
    """The arguments of `tokenize_corpus` that the bytes of the output depend on."""

    held_out: float | None


class Options(NamedTuple):
    """All that the bytes of the output depend on besides inputs and tokenizer. See `tokenize_shard`."""

    format: str = "megatron"
    input_format: str | None = None
    column: str = "text"
    template: str | None = None
    separator: str | None = None
    append_eos: bool = False
    eos: str | None = None
    add_special_tokens: bool = False
    bad_records: str = "stop"
    shuffle: bool = False
    seed: int = 0
    max_tokens_per_shard: int | None = None
    max_document_bytes: int = MAX_DOCUMENT_BYTES
    sequence_length: int | None = None
    packing: str | None = None
    remainder: str | None = None
    pad_token: str | None = None
    deduplicate: bool = False
    held_out: float | None = None
    is_held_out: bool = False
    """Whether this job writes the held-out documents, in ``OUT/held-out``, instead of the others."""
    mixture: tuple[tuple[str, int, float], ...] | None = None
    """The fields of `Source`s of `crayon_hf.corpora.job.mixture`."""

    @classmethod
    def of(cls, function: str, format: str, given: Mapping[str, Any], known: frozenset[str]) -> Options:
        """Return the checked options `given` to a function. Raises TypeError for a name that is not `known`."""
        for name in sorted(given.keys() - known):
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        return cls(format, **given).checked()

    def checked(self) -> Options:
        """Return the options as plain Python types. Raises TypeError, ValueError or OverflowError for invalid ones."""
        _one_of(self.format, "format", tuple(FORMATS))
        if self.input_format is not None:
            _one_of(self.input_format, "input_format", INPUT_FORMATS)
        for name in ("column", "template", "separator", "eos"):
            if getattr(self, name) is not None:
                _text(getattr(self, name), name)
        if self.separator == "":
            raise ValueError("separator is empty: leave it out for one document a file")
        most, seed = self.max_tokens_per_shard, validation.unsigned(self.seed, "seed", 64)
        flags: dict[str, Any] = {name: validation.flag(getattr(self, name), name) for name in _FLAGS}
        checked = self._replace(
            **{**flags, "append_eos": flags["append_eos"] or self.eos is not None},
            seed=seed if self.shuffle else 0,  # without shuffling it makes no difference
            max_tokens_per_shard=None if most is None else positive(most, "max_tokens_per_shard"),
            max_document_bytes=positive(self.max_document_bytes, "max_document_bytes"),
            held_out=None if self.held_out is None else _share(self.held_out, "held_out"),
        )
        checked.reading(BATCH_BYTES, 0).check()
        return checked._packing_checked()

    def _packing_checked(self) -> Options:
        """Return the options with the default packing and remainder filled in."""
        if self.sequence_length is None:
            for name in ("packing", "remainder", "pad_token"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} needs a sequence length: give sequence_length as well")
            return self
        length, limit = positive(self.sequence_length, "sequence_length"), self.max_tokens_per_shard
        if not 2 <= length <= MAX_SEQUENCE_LENGTH:
            raise ValueError(f"sequence_length is {length}, expected 2 to {MAX_SEQUENCE_LENGTH:,}")
        if limit is not None and limit < length:
            raise ValueError(f"max_tokens_per_shard is {limit}, less than one sequence of {length} tokens")
        packing = "concat" if self.packing is None else self.packing
        _one_of(packing, "packing", PACKINGS)
        has_rows, remainder = FORMATS[self.format].has_rows, self.remainder
        if remainder is None:
            remainder = "drop" if packing == "concat" else "keep" if has_rows else "pad"
        _one_of(remainder, "remainder", REMAINDERS)
        if remainder == "keep" and not has_rows:
            raise ValueError(
                f"remainder is 'keep', and readers of the format {self.format} count {length} tokens for each "
                "sequence: use 'pad' or 'drop'"
            )
        if remainder == "drop" and packing == "best-fit":
            raise ValueError("remainder is 'drop', and with best-fit most sequences are short: use 'keep' or 'pad'")
        if self.pad_token is not None:
            if remainder != "pad":
                raise ValueError(f"pad_token is for the remainder 'pad', not {remainder!r}")
            _text(self.pad_token, "pad_token")
        return self._replace(sequence_length=length, packing=packing, remainder=remainder)

    def reading(self, batch_bytes: int, threads: int) -> Reading:
        """The settings for reading the inputs."""
        return Reading(
            format=self.input_format,
            column=self.column,
            template=self.template,
            separator=None if self.separator is None else self.separator.encode(),
            bad_records=self.bad_records,
            batch_bytes=batch_bytes,
            max_document_bytes=self.max_document_bytes,
            threads=threads,
        )


def positive(value: Any, name: str) -> int:
    """Return the argument `name` as int. Raises an error unless it is an integer of at least 1."""
    number = validation.unsigned(value, name, 62)
    if number == 0:
        raise ValueError(f"{name} is 0, expected at least 1")
    return number


def _share(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {validation.kind(value)}, expected float")
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}, expected a share between 0 and 1, such as 0.005")
    return float(value)


def _text(value: Any, name: str) -> str:
    try:
        return validation.text(value, name)
    except UnicodeEncodeError:
        raise ValueError(f"{name} is {value!r}, which cannot be written as UTF-8") from None


def _one_of(value: Any, name: str, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {validation.kind(value)}, expected str")
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(allowed)}")
