"""The comparison of two tokenizers: the reference agrees with itself, and every planted difference is found and
minimised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.parity.compare.comparison import Comparison, FastPaths, Result, describe, singles
from crayon_hf.parity.compare.minimise import minimise
from crayon_hf.parity.compare.records import (
    DEFAULT,
    FieldDifference,
    Item,
    Mode,
    OurBytesSide,
    Outcome,
    SameBytesSide,
    TokenizersSide,
    compare_outcomes,
)
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.compare.suites import WINDOWS
from crayon_hf.parity.inputs.byte_strings import generate_bytes
from crayon_hf.parity.inputs.strings import CATEGORIES, generate

N = len(CATEGORIES) * 6


def compare(path: Path, make: Any, mode: Mode = DEFAULT, *, inputs: Any = None, fast: bool = False) -> Result:
    vocabulary = Vocabulary("gpt2", "tokenizers", path)
    ours = make(vocabulary.open_reference())
    paths = FastPaths(ours) if fast else None
    comparison = Comparison(TokenizersSide(ours), vocabulary.reference_side, mode, paths)
    given = singles(generate(N, 11, specials=vocabulary.specials())) if inputs is None else singles(inputs)
    return comparison.run(given)


def test_windows_that_a_side_refuses_are_errors(gpt2_like: Path, stand_in: ModuleType) -> None:
    side = Vocabulary("gpt2", "tokenizers", gpt2_like).reference_side()
    mode = Mode(max_length=4, stride=5)
    assert [outcome.error[0] for outcome in side.outcomes([("a",), ("b",)], mode)] == ["ValueError"] * 2
    assert compare(gpt2_like, stand_in.Agrees, mode).total_differing == 0
    assert compare(gpt2_like, stand_in.WrongStride, mode).total_differing == N


def test_wrong_ids_are_found_and_made_small(gpt2_like: Path, stand_in: ModuleType) -> None:
    texts = [("words", "a caf\u00e9 with 3 rooms, open since 1987"), ("other", "plain")]
    result = compare(gpt2_like, stand_in.WrongIds, inputs=texts)
    assert (result.total, result.total_differing) == (2, 1)
    assert dict(result.differing) == {"words": 1}
    (difference,) = result.differences
    assert difference.found == (texts[0][1],)
    assert difference.smallest == ("\u00e91",)
    assert "ids" in [each.field for each in difference.fields]
    report = "\n".join(difference.lines())
    assert r"'\xe91'  (2 characters, found in 36)" in report
    assert "ids: first difference at 0" in report


@pytest.mark.parametrize(
    ("name", "mode", "fields", "smallest"),
    [
        ("WrongOffsets", DEFAULT, ["offsets"], 1),
        ("WrongDecoding", DEFAULT, ["decoded"], 1),
        ("Raises", DEFAULT, ["error"], 1),
        ("WrongStride", WINDOWS[0], ["overflowing"], 5),
        ("WrongRagged", None, ["own encode_ragged", "own encode_ragged of bytes"], 1),
        ("WrongCount", None, ["own count_tokens"], 0),
    ],
)
def test_what_is_wrong_is_found(
    gpt2_like: Path, stand_in: ModuleType, name: str, mode: Mode | None, fields: list[str], smallest: int
) -> None:
    """Each faulty stand-in is found in a mode. If `mode` is None, the fault is in calls that return no Encodings, which
    only `fast` compares."""
    make = getattr(stand_in, name)
    if mode is None:
        inputs = [("a", "some words"), ("b", "\t"), ("c", "a\ud800")]
        assert compare(gpt2_like, make, inputs=inputs).total_differing == 0
        result = compare(gpt2_like, make, inputs=inputs, fast=True)
        assert (result.differing["b"], result.differing["c"]) == (1, 0)
    else:
        result = compare(gpt2_like, make, mode)
    difference = result.differences[0]
    found = [each.field for each in difference.fields]
    assert found == fields if mode is None else fields[0] in found
    assert len(difference.smallest[0]) >= smallest
    assert any(fields[0] in line for line in difference.lines())


def test_bytes_come_back_or_are_reported(gpt2_like: Path, stand_in: ModuleType) -> None:
    side = OurBytesSide(stand_in.WrongBytes(None))
    given = [(name, data.decode("latin-1")) for name, data in generate_bytes(500)]
    result = Comparison(side, SameBytesSide).run(singles(given))
    assert result.differing["valid"] == 0
    assert min(result.differing[name] for name in ("random", "mutated", "truncated", "malformed")) > 10
    assert len(result.differences[0].smallest[0]) == 1
    assert result.differences[0].fields[0].field == "bytes"


def test_a_difference_only_within_a_batch_is_said_to_be_one(gpt2_like: Path, stand_in: ModuleType) -> None:
    result = compare(gpt2_like, stand_in.WrongInBatch, inputs=[("a", "x"), ("b", "clean")])
    (difference,) = result.differences
    assert not difference.alone
    assert difference.smallest == ("clean",)
    assert "only within its batch" in difference.lines()[1]


# -- errors are outcomes


def test_which_errors_agree() -> None:
    record = Outcome({"ids": [1]})
    type_error, value_error = Outcome.of_error(TypeError("no")), Outcome.of_error(ValueError("no"))
    unicode_error = Outcome.of_error(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"))
    assert compare_outcomes(type_error, type_error) == []
    assert compare_outcomes(unicode_error, value_error) == []
    for ours, reference in (
        (value_error, unicode_error),
        (value_error, type_error),
        (record, type_error),
        (type_error, record),
    ):
        assert [each.field for each in compare_outcomes(ours, reference)] == ["error"]


# -- small parts


def test_a_long_difference_is_shown_where_it_begins() -> None:
    lines = describe(FieldDifference("ids", [*range(100), -1], [*range(101)]))
    assert lines[0] == "ids: first difference at 100, lengths 101 and 101"
    assert lines[1].endswith("[96, 97, 98, 99, -1]")
    assert lines[2].endswith("[96, 97, 98, 99, 100]")
    lines = describe(FieldDifference("error", "TypeError: no", None))
    assert lines == ["error: ours 'TypeError: no'", "       reference None"]


# -- the minimiser


@pytest.mark.parametrize(
    ("text", "differs", "expected"),
    [
        ("some words, \u00e9 and 42, and more", lambda text: "\u00e9" in text, "\u00e9"),
        ("abcdef" * 50, lambda text: len(text) >= 33, "a" * 33),
        ("x'\u017f y", lambda text: "'\u017f" in text, "'\u017f"),
        ("one (two) three", lambda text: "(" in text and ")" in text[text.index("(") :], "()"),
        ("qq\U0001f600zz", lambda text: any(ord(ch) > 0xFFFF for ch in text), "\U0001f600"),
        ("The end.", lambda text: len(text.split()) == 2, "a a"),
        ("", lambda text: True, ""),
    ],
)
def test_the_smallest_is_found(text: str, differs: Callable[[str], bool], expected: str) -> None:
    assert minimise((text,), lambda item: differs(item[0])) == (expected,)


def test_nothing_can_be_taken_out() -> None:
    def differs(item: Item) -> bool:
        return sum(map(ord, item[0])) % 7 == 3 and len(item[0]) > 2

    tried = 0
    for _, text in generate(120, 2, ["mixture", "prose", "emoji"]):
        if differs((text,)):
            tried += 1
            (smallest,) = minimise((text,), differs)
            assert differs((smallest,))
            assert not any(differs((smallest[:i] + smallest[i + 1 :],)) for i in range(len(smallest)))
    assert tried > 5
