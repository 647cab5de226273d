"""Separators as they are written on a command line, and for which files settings are."""

from __future__ import annotations

import pytest

from crayon_hf import CorpusError
from crayon_hf.cli.tokenize import unescaped
from crayon_hf.corpora import InputFile, Reading
from crayon_hf.text_readers.files import check_files


@pytest.mark.parametrize(
    ("text", "means"),
    [
        (r"\n\n", "\n\n"),
        (r"\r\t\f\v\0", "\r\t\f\v\0"),
        (r"\\n", r"\n"),
        (r"\\\n", "\\\n"),
        (r"\x1e", "\x1e"),
        (r"\x1E\u001fa", "\x1e\x1fa"),
        (r"\u2028|\U0001f642", "\u2028|\U0001f642"),
        ("a\nb ü", "a\nb ü"),
    ],
)
def test_escapes(text: str, means: str) -> None:
    assert unescaped(text) == means


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"a\q", r"\\q is not an escape; use one of"),
        ("a\\", "is not an escape"),
        (r"\x1", r"\\x is not an escape"),
        (r"\u12", r"\\u is not an escape"),
        (r"\012", r"\\01 is not an escape"),
        ("\\\n", "is not an escape"),
        (r"\xff", r"\\xff is not ASCII; for the character write \\u00ff"),
        (r"\ud800", "is not a character"),
        (r"\U00110000", "is not a character"),
    ],
)
def test_what_is_no_escape(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unescaped(text)


@pytest.mark.slow
def test_settings_and_the_files_that_they_are_for() -> None:
    """By names alone: none of these files is there."""
    text, lines, table = (InputFile(name, 1) for name in ("a.txt.gz", "b.jsonl", "c.parquet"))
    check_files([text, lines, table], Reading(separator=b"\n", column="body"))
    check_files([text], Reading(separator=b"\n"))
    check_files([lines], Reading(template="{a}{b}"))
    check_files([InputFile("a", 1)], Reading(format="text", separator=b"\n"))
    for files, reading, message in (
        (
            [lines, table],
            Reading(separator=b"\n"),
            "for text files, but there are only jsonl and parquet",
        ),
        ([text], Reading(column="body"), "the column 'body' is for files with columns, but there are only text files"),
        ([lines, text], Reading(template="{a}"), r"a\.txt\.gz: a template is for files with columns"),
        ([lines, InputFile("z.bin", 1)], Reading(), r"z\.bin: its name does not say its format"),
        ([InputFile("c.parquet.gz", 1)], Reading(), "unpack it first"),
    ):
        with pytest.raises(CorpusError, match=message):
            check_files(files, reading)
    for reading, message in (
        (Reading(format="jsonl", separator=b"\n"), "separator is for text files, and format is 'jsonl'"),
        (Reading(format="text", column="body"), "for files with columns, and format is 'text'"),
        (Reading(template="{a"), "braces"),
    ):
        with pytest.raises(ValueError, match=message):
            check_files([text], reading)
