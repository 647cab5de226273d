"""Any bytes as a ``tokenizer.json``, ours against the reference: what both open says the same, and what one refuses the
other refuses, but for documents of `_STRICTER`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import crayon_hf
from crayon_hf.parity.compare.records import Mode, Outcome
from tests.fuzz.edge import mutators
from tests.fuzz.edge.choices import SEPARATOR, text_of
from tests.fuzz.edge.judging import (
    MOST_IDS,
    PROBES,
    Defect,
    by_chance,
    compare,
    dumped,
    is_for_the_library,
    reference_of,
)
from tests.fuzz.edge.small_documents import small_documents


def one_input(data: bytes) -> None:
    document, _, said = data.partition(SEPARATOR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
        try:
            ours: Any = crayon_hf.Tokenizer.from_buffer(document)
        except crayon_hf.CrayonError as error:
            ours = Outcome.of_error(error)
    if _counts_up(document) or by_chance(document):
        return
    reference = reference_of(document)
    if isinstance(ours, Outcome) or isinstance(reference, Outcome):
        check_refusals(document, ours, reference)
        return
    judge(ours, reference, [text_of(said), *PROBES] if said else list(PROBES))


def check_refusals(document: bytes, ours: Any, reference: Any) -> None:
    """Both refuse, or there is a reason why only one does."""
    if isinstance(reference, Outcome):
        if isinstance(ours, Outcome) or reference.error[0] == "PanicException" or _lenient(document, reference.message):
            return
        raise Defect(f"only the reference refuses it: {reference.error[0]}: {reference.message}")
    if not is_for_the_library(ours) and not _strict(document, ours.message):
        raise Defect(f"only ours refuses it: {ours.error[0]}: {ours.message}")


def judge(ours: Any, reference: Any, texts: list[str]) -> None:
    """All that both say of texts and pairs."""
    compare(ours, reference, [(text,) for text in texts])
    compare(ours, reference, [(texts[0], texts[-1])], Mode(add_special_tokens=False), fast=False)


def _strict(document: bytes, message: str) -> bool:
    """What ours alone refuses on purpose."""
    return False


def _lenient(document: bytes, message: str) -> bool:
    """What the reference alone refuses, and need not."""
    return False


def _counts_up(document: bytes) -> bool:
    """Whether the reference would make room for ids up to a great one."""
    try:
        numbers = [int(digits) for digits in _numbers(json.loads(document))]
    except (ValueError, RecursionError, OverflowError):
        return False
    return max(numbers, default=0) > MOST_IDS


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


def mutate(data: bytes, rng: mutators.Random) -> bytes | None:  # type: ignore[name-defined]
    """The document as JSON; the text by libFuzzer."""
    document, separator, said = data.partition(SEPARATOR)
    changed = mutators.json_document(document, rng)
    return None if changed is None else changed + separator + said


def seeds() -> Iterator[bytes]:
    """Each kind of model, and each kind of component."""
    from parity.components import parts as parts

    documents = list(small_documents())
    yield from (dumped(document) + SEPARATOR + b"Hello <s> a\xc3\xa9 l" for document in documents)
    for section in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        kinds = {name.partition("(")[0]: part for name, part in getattr(parts, f"{section}s")().items()}
        for at, part in enumerate(kinds.values()):
            yield dumped({**documents[at % len(documents)], section: part}) + SEPARATOR + b"he llo"
