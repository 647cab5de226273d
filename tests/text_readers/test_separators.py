"""Separators of documents as users write them on a command line, with escapes."""

from __future__ import annotations

import pytest

from crayon_hf.cli.tokenize import unescaped


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
        (r"a\q", "is not an escape"),
        ("a\\", "is not an escape"),
        (r"\x1", "is not an escape"),
        (r"\u12", "is not an escape"),
        (r"\012", "is not an escape"),
        ("\\\n", "is not an escape"),
        (r"\xff", r"\\xff is not ASCII; for the character write \\u00ff"),
        (r"\ud800", "is not a character"),
        (r"\U00110000", "is not a character"),
    ],
)
def test_what_is_no_escape(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unescaped(text)
