"""A fuzz target that reads any bytes as a ``tokenizer.json``: crayon_hf and ``tokenizers`` both refuse it, or give the
same results."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import crayon_hf
from crayon_hf.parity.compare.records import Mode, Outcome
from tests.fuzz.edge.judging import MOST_IDS, PROBES, Defect, by_chance, compare, is_for_the_library, reference_of
from tests.fuzz.edge.mutating import SEPARATOR, json_document, text_of


def tokenizer_json(data: bytes) -> None:
    """The input has a document, and then a text to encode with it."""
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
    if isinstance(reference, Outcome):
        if not isinstance(ours, Outcome) and reference.error[0] != "PanicException":
            raise Defect(f"only the reference refuses it: {reference.error[0]}: {reference.message}")
    elif isinstance(ours, Outcome):
        if not is_for_the_library(ours):
            raise Defect(f"only ours refuses it: {ours.error[0]}: {ours.message}")
    else:
        texts = [text_of(said), *PROBES] if said else list(PROBES)
        compare(ours, reference, [(text,) for text in texts])
        compare(ours, reference, [(texts[0], texts[-1])], Mode(add_special_tokens=False), fast=False)


def mutate(data: bytes, rng: Random) -> bytes | None:
    """Mutate the part before the separator as JSON; libFuzzer mutates the rest."""
    document, separator, rest = data.partition(SEPARATOR)
    changed = json_document(document, rng)
    return None if changed is None else changed + separator + rest


def _counts_up(document: bytes) -> bool:
    """Whether the document has a number so large that ``tokenizers`` could allocate memory for all ids up to it."""
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
