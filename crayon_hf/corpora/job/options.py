"""What a job over a corpus is asked for: what decides the bytes of its output, and what decides only its speed."""

from __future__ import annotations

from typing import Any, NamedTuple

from crayon_hf.reading.documents import FORMATS as INPUT_FORMATS
from crayon_hf.reading.documents import Reading
from crayon_hf.util import validation

BATCH_BYTES: int = Reading._field_defaults["batch_bytes"]
MAX_DOCUMENT_BYTES: int = Reading._field_defaults["max_document_bytes"]


class Options(NamedTuple):
    """Besides inputs and tokenizer, all that the bytes of the output depend on. See `tokenize_shard`."""

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

    def checked(self) -> Options:
        """The same, of plain Python types. TypeError, ValueError or OverflowError for what makes no sense."""
        from crayon_hf.corpora.formats import FORMATS

        _one_of(self.format, "format", tuple(FORMATS))
        if self.input_format is not None:
            _one_of(self.input_format, "input_format", INPUT_FORMATS)
        for name in ("template", "separator", "eos"):
            if getattr(self, name) is not None:
                _text(getattr(self, name), name)
        if self.separator == "":
            raise ValueError("separator is empty: without one a file is one document")
        most, seed = self.max_tokens_per_shard, validation.unsigned(self.seed, "seed", 64)
        checked = self._replace(
            column=_text(self.column, "column"),
            append_eos=validation.flag(self.append_eos, "append_eos") or self.eos is not None,
            add_special_tokens=validation.flag(self.add_special_tokens, "add_special_tokens"),
            shuffle=validation.flag(self.shuffle, "shuffle"),
            seed=seed if self.shuffle else 0,  # without shuffling it makes no difference
            max_tokens_per_shard=None if most is None else positive(most, "max_tokens_per_shard"),
            max_document_bytes=positive(self.max_document_bytes, "max_document_bytes"),
        )
        checked.reading(BATCH_BYTES, 0).check()
        return checked

    def reading(self, batch_bytes: int, threads: int) -> Reading:
        """How the inputs are read."""
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
    """An integer from 1 on."""
    number = validation.unsigned(value, name, 62)
    if number == 0:
        raise ValueError(f"{name} is 0, expected at least 1")
    return number


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
