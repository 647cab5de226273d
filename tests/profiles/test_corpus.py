"""The recipe for the corpus on which profiles are trained: which texts of its sources it keeps, and which it drops."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from conversion.profiles import clean, collect, evaluation_sources, lines, sources

LONG = "A line of prose that has more than forty characters in it."
PROSE = sources.Source("p", "prose", "English", "text", 10**6, ("*",))
CODE = sources.Source("p", "code", "C", "code", 10**6, ("*",))


def test_a_long_line_is_kept_once_and_a_short_one_a_few_times() -> None:
    kept = lines.Lines(set())
    kept.start(PROSE)
    assert [kept.keep(LONG), kept.keep("  " + LONG + " "), kept.keep(LONG + " More.")] == [True, False, True]
    assert sum(kept.keep("File") for _ in range(50)) == lines.SHORT_LINE_LIMIT
    kept.start(CODE)
    assert all(kept.keep("}") for _ in range(50))
    assert not kept.keep(LONG)


@pytest.mark.parametrize(
    ("line", "kind", "kept"),
    [
        (LONG, "prose", True),
        ("0123456789abcdef" * 4 + " " + LONG, "prose", False),
        ("12 345 678 910 11 12 13 14 15 16 17 18 19 20 21 22", "prose", False),
        ("x" * 5000, "code", False),
        ("The menu that you will see here and the other are English.", "language", False),
        ("Ein Satz, der lang genug ist, um als Zeile zu gelten, bleibt.", "language", True),
    ],
)
def test_what_is_worth_keeping(line: str, kind: str, kept: bool) -> None:
    source = dataclasses.replace(PROSE, kind=kind)
    assert lines.worth_keeping(line, source, set()) is kept


def test_a_part_of_a_text_is_spread_over_it() -> None:
    text = "".join(f"line {i:04}\n" for i in range(1000))
    pieces = "".join(collect._pieces(text, 2000, 100))
    assert 1500 < len(pieces) < 2500
    numbers = [int(line[5:]) for line in pieces.splitlines()]
    assert numbers == sorted(numbers)
    assert numbers[0] < 50
    assert numbers[-1] > 900
    assert "".join(collect._pieces(text, 10**6)) == text


def test_markup_is_undone() -> None:
    page = b"<html><head><style>p {}</style></head><body><h1>Title</h1><p>One &amp; two<br>three</p></body></html>"
    assert clean.read(page, "html", "utf-8").split() == ["Title", "One", "&", "two", "three"]
    assert clean.read(b'.SH NAME\n\\fBls\\fR \\- list\n.\\" no\n', "roff", "utf-8").split("\n")[-2] == "ls - list"


def test_every_package_has_a_version_and_none_is_one_of_the_evaluation() -> None:
    packages = {source.package for source in collect.all_sources()}
    versions = collect.recorded_versions()
    assert packages <= versions.keys()
    reserved = Path(evaluation_sources.__file__).read_text(encoding="utf-8")
    assert not [package for package in packages if f'"{package}"' in reserved]
