"""Displays of progress: bars and lines on a terminal, in a notebook and in a log."""

from __future__ import annotations

import io
import sys
import threading
import types

import pytest

from crayon_hf.training_data.progress import reporter
from crayon_hf.util import progress
from crayon_hf.util.progress import Bar, FilesBar, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """The time for progress displays, which passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("tqdm.std.time", made)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=made))
    return made


KINDS = pytest.mark.parametrize("kind", [Terminal, io.StringIO], ids=["terminal", "log"])


def test_a_notebook_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook counts as watched by a user: it has no terminal, but lines in it can be overwritten."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not progress.is_watched(sys.stderr)
    assert reporter(True) is None
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: object()))
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert progress.is_watched(sys.stderr)
    assert not progress.is_watched(None)
    assert isinstance(reporter(True), Bar)


@KINDS
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("leave", [True, False])
def test_stages(kind: type[io.StringIO], leave: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine does not report the end of a stage: the next stage implies it. An error leaves the bar unfinished."""
    monkeypatch.setattr(sys, "stderr", stream := kind())
    before = set(threading.enumerate())
    bar = Bar(leave)
    for stage, done, total in (("Count", 0, 50), ("Merge", 0, 0), ("Merge", 7, 0), ("Write", 1, 50)):
        bar(stage, done, total)
    bar.end()
    bar.end()
    said = stream.getvalue()
    assert set(threading.enumerate()) <= before
    assert ("50/50" in said) == leave
    assert "Write: 100%" not in said
    assert said.count("\n") == (3 * leave if stream.isatty() else 3 + 3 * leave)
    assert ("\r" in said) == stream.isatty()


@KINDS
def test_messages(kind: type[io.StringIO], clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, progress is one line of the terminal's width, which disappears at the end. A log gets a line every
    ten seconds."""
    monkeypatch.setattr(sys, "stderr", stream := kind())
    monkeypatch.setenv("COLUMNS", "40")
    for seconds in (10.0, 0.0):
        monkeypatch.setattr(Progress, "SECONDS", seconds)
        shown = Progress()
        for number in range(3):
            clock.now += 0.11
            shown(f"step {number}, {'a' * 60}")
        shown.end()
        said = stream.getvalue()
        assert ("step 2" in said) == (stream.isatty() or not seconds)
        if stream.isatty():
            assert said.endswith(" \r")
            assert max(map(len, said.split("\r"))) == 39
    shown = Progress(leave=True)
    shown("all")
    clock.now += 0.11
    shown("all is done")
    shown.end()
    assert stream.getvalue().endswith("all is done\n")


def test_time_left(clock: Clock) -> None:
    clock.now = 100.0
    assert progress.time_left(90.0, 1, 4) == ", 0:30 left"
    for begun, done, total in ((90.0, 0, 4), (90.0, 4, 4), (90.0, 3, 0), (99.9, 1, 2)):
        assert progress.time_left(begun, done, total) == ""


@KINDS
def test_files(kind: type[io.StringIO], clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads add files to one bar on a terminal. Control characters in file names have no effect there."""
    monkeypatch.setattr(sys, "stderr", stream := kind())
    bar = FilesBar([10, 30])
    bar.add("early", 10)
    assert stream.getvalue() == ""  # a short command shows none
    clock.now += 2
    bar.add("first", 0)
    clock.now += 0.11
    threads = [threading.Thread(target=bar.add, args=("\x1b[2J.txt", 10)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.now += 0.11
    bar.add("\x1b[2J.txt", 0)
    bar.end()
    bar.end()
    said = stream.getvalue()
    assert ("\\x1b[2J.txt: " in said) == stream.isatty()
    assert ("40.0/40.0" in said) == stream.isatty()
    assert "\x1b[2J" not in said
