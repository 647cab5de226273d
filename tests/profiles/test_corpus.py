"""What the recipe of the profiles' corpus keeps of its sources, and that it leaves out what it must."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

TOOLS = Path(__file__).parents[2] / "conversion" / "profiles"
MODULES = ("clean", "collect", "excluded", "lines", "sources")
LONG = "A line of prose that has more than forty characters in it."


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules by their names, imported as when collect.py runs, and gone afterwards."""
    monkeypatch.syspath_prepend(TOOLS)
    before = set(sys.modules)
    yield SimpleNamespace(**{name: __import__(name) for name in MODULES})
    for name in set(sys.modules) - before:
        if str(TOOLS) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


def test_a_long_line_is_kept_once_and_a_short_one_a_few_times(tools: SimpleNamespace) -> None:
    lines = tools.lines.Lines(set())
    lines.start(tools.sources.prose("p", "text", 1, "*"))
    assert [lines.keep(LONG), lines.keep("  " + LONG + " "), lines.keep(LONG + " More.")] == [True, False, True]
    assert sum(lines.keep("File") for _ in range(50)) == tools.lines.SHORT_LINE_LIMIT
    lines.start(tools.sources.code("p", "C", 1, "*"))
    assert all(lines.keep("}") for _ in range(50))
    assert not lines.keep(LONG)


def test_excluded_lines_are_left_out_wherever_they_are(tools: SimpleNamespace) -> None:
    lines = tools.lines.Lines({tools.excluded.key(LONG)})
    lines.start(tools.sources.prose("p", "text", 1, "*"))
    assert not lines.keep(f"\t{LONG}\n")
    assert lines.hits == {tools.excluded.key(LONG)}
    assert lines.dropped["excluded"] == lines.excluded_here == 1


def test_the_list_of_excluded_lines_is_whole(tools: SimpleNamespace) -> None:
    size = tools.excluded.FILE.stat().st_size
    assert size % tools.excluded.KEY_SIZE == 0
    assert len(tools.excluded.excluded_keys()) == size // tools.excluded.KEY_SIZE > 0


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
def test_what_is_worth_keeping(tools: SimpleNamespace, line: str, kind: str, kept: bool) -> None:
    source = dataclasses.replace(tools.sources.prose("p", "text", 1, "*"), kind=kind)
    assert tools.lines.worth_keeping(line, source, set()) is kept


def test_a_part_of_a_text_is_spread_over_it(tools: SimpleNamespace) -> None:
    text = "".join(f"line {i:04}\n" for i in range(1000))
    pieces = "".join(tools.collect._pieces(text, 2000, 100))
    assert 1500 < len(pieces) < 2500
    numbers = [int(line[5:]) for line in pieces.splitlines()]
    assert numbers == sorted(numbers)
    assert numbers[0] < 50
    assert numbers[-1] > 900
    assert "".join(tools.collect._pieces(text, 10**6)) == text


def test_markup_is_undone(tools: SimpleNamespace) -> None:
    page = b"<html><head><style>p {}</style></head><body><h1>Title</h1><p>One &amp; two<br>three</p></body></html>"
    assert tools.clean.read(page, "html", "utf-8").split() == ["Title", "One", "&", "two", "three"]
    assert tools.clean.read(b'.SH NAME\n\\fBls\\fR \\- list\n.\\" no\n', "roff", "utf-8").split("\n")[-2] == "ls - list"


def test_every_package_has_a_version_and_none_is_one_of_the_evaluation(tools: SimpleNamespace) -> None:
    packages = {source.package for source in tools.collect.all_sources()}
    versions = tools.collect.recorded_versions()
    assert packages <= versions.keys()
    reserved = (TOOLS / "evaluation_sources.py").read_text(encoding="utf-8")
    assert not [package for package in packages if f'"{package}"' in reserved]
