"""What the suites of single libraries share: the table, the smallest differing input, the exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from crayon_hf import UnsupportedError
from crayon_hf.formats.recognise import Kind
from parity import pairs
from parity.pairs import CallsSide, Inputs, Pair, Row


def lengths(texts: list[str]) -> list[list[int]]:
    return [[len(text)] for text in texts]


def wrong_with_x(texts: list[str]) -> list[list[int]]:
    return [[len(text)] if "x" not in text else [0] for text in texts]


def decoded(rows: list[list[int]]) -> list[str]:
    return ["a" * row[0] for row in rows]


def pair(ours: CallsSide, expected: CallsSide | None = None) -> Pair:
    return Pair("one", "library 1.0", expected or CallsSide(lengths), ours, [b"ab", b"c"])


def run(ours: CallsSide, *options: str, expected: CallsSide | None = None) -> int:
    def rows_of(arguments: argparse.Namespace, inputs: Inputs) -> Iterator[Row]:
        one = pair(ours, expected)
        yield from pairs.compare(one, inputs.of(one))

    return pairs.run(pairs.make_parser("parity.some", "Some.", "FILE"), options, rows_of)


def test_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "own.txt"
    text.write_text("Some plain words.\n" * 200, encoding="utf-8")
    assert run(CallsSide(lengths), "--strings", "80", "--text", str(text), "--megabytes", "0.002") == 0
    heading, *rows, last = capsys.readouterr().out.splitlines()
    assert heading.split() == ["target", "reference", "suite", "inputs", "characters", "seconds", "verdict"]
    shown = [row.split() for row in rows]
    assert [(row[3], row[-1]) for row in shown] == [("strings", "agree"), ("tokens", "agree"), ("own", "agree")]
    assert shown[2][:6] == ["one", "library", "1.0", "own", "1", "2,000"]
    assert last.endswith("all agree")


def test_the_smallest_difference_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "own.txt"
    text.write_text("no difference here\n" * 300 + "but in extra\n", encoding="utf-8")
    assert run(CallsSide(wrong_with_x), "--strings", "0", "--text", str(text)) == 1
    said = capsys.readouterr().out
    assert "1 DIFFER" in said
    assert "own: 'x'  (1 characters" in said
    assert said.splitlines()[-1] == "3 inputs: 1 differ"


def test_another_text_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    ours = CallsSide(lengths, lambda rows: [text.replace("aaa", "aab") for text in decoded(rows)])
    assert run(ours, "--strings", "40", expected=CallsSide(lengths, decoded)) == 1
    assert "decoded: first difference at 2" in capsys.readouterr().out


def test_an_error_is_a_difference() -> None:
    def fails(texts: list[str]) -> list[list[int]]:
        if any("x" in text for text in texts):
            raise KeyError("x")
        return lengths(texts)

    rows = list(pairs.compare(pair(CallsSide(fails)), [("made", [("made", "a"), ("made", "bx")])]))
    assert [(row.inputs, row.differing) for row in rows] == [(2, 1)]


def test_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(CallsSide(lengths), "--strings", "0") == 2
    assert run(CallsSide(lengths), "--text", str(tmp_path / "missing.txt")) == 2
    said = capsys.readouterr().err
    assert "python -m parity.some: nothing was compared" in said
    assert "missing.txt" in said


def test_a_row_that_was_not_compared() -> None:
    row = Row("one", "library", "strings", skipped="it is not installed")
    assert row.lines()[0].endswith("not compared: it is not installed")


def test_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.tiktoken").write_text("YQ== 0\nYg== 1\n")
    with pytest.raises(UnsupportedError, match=r"a tiktoken rank file: parity\.some compares a GGUF file"):
        pairs.check_kind(str(tmp_path / "a.tiktoken"), Kind.GGUF, "parity.some")
