"""Numbers and sizes as people write them, and the line that says how far a job is."""

from __future__ import annotations

import io
import sys
import time
import types

import pytest

from crayon_hf.util import progress
from crayon_hf.util.numbers import count_of, shown_size, size_of


def test_counts() -> None:
    for text, number in (
        ("0", 0),
        ("32000", 32_000),
        ("32k", 32_000),
        ("1.5M", 1_500_000),
        ("2G", 2 * 10**9),
        ("3B", 3 * 10**9),
    ):
        assert count_of(text) == count_of(text.lower()) == number
    for text in ("", "k", "-1", "1.0001k", "1e3", "32kk", " 5", "٣", "1_000", "1,000"):
        with pytest.raises(ValueError, match="number"):
            count_of(text)


def test_sizes() -> None:
    for text, number in (
        ("7", 7),
        ("16M", 16 << 20),
        ("16mb", 16 << 20),
        ("1KiB", 1024),
        ("2G", 2 << 30),
        ("1T", 1 << 40),
    ):
        assert size_of(text) == number
    for text in ("", "M", "1.5G", "-1", "5X", "²"):
        with pytest.raises(ValueError, match="number of bytes"):
            size_of(text)
    assert [shown_size(size) for size in (0, 1, 1023, 1024, 5 << 30, 3 << 40)] == [
        "0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "5.0 GiB", "3.0 TiB",
    ]  # fmt: skip


def test_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    assert progress.time_left(90.0, 1, 4) == ", 0:30 left"
    for begun, done, total in ((90.0, 0, 4), (90.0, 4, 4), (90.0, 3, 0), (99.9, 1, 2)):
        assert progress.time_left(begun, done, total) == ""


def test_a_notebook_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no terminal in a notebook, and a line is written over all the same."""
    stream = io.StringIO()
    assert not progress.is_watched(stream)
    line = progress.Line(stream)
    line.write("one")
    assert stream.getvalue() == "one\n"
    shell = types.SimpleNamespace(get_ipython=lambda: object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert progress.is_watched(stream)
    assert not progress.is_watched(None)
    stream = io.StringIO()
    line = progress.Line(stream)
    for text in ("a long one", "short"):
        line.write(text)
    line.end()
    assert stream.getvalue() == "\ra long one\rshort     \n"

    from crayon_hf.training_data.progress import Bar, reporter

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(reporter(True), Bar)


def test_a_stage_that_is_over_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine does not report the end of each stage: the next one says it."""
    from crayon_hf.training_data.progress import Bar

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = Bar()
    bar("Count", 0, 50)
    bar("Merge", 0, 0)
    bar("Merge", 7, 0)
    bar.end()
    lines = [line.split() for line in sys.stderr.getvalue().splitlines()]
    assert [line[0] for line in lines] == ["Count", "Count", "Merge"]
    assert lines[1][1:5] == [f"[{'#' * 30}]", "100", "%", "50"]
    bar("Count", 1, 50)
    bar.end()  # an error ends it: nothing is said to be done that is not
    assert "100" not in sys.stderr.getvalue().splitlines()[-1]
