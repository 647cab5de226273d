"""Makes words for messages: numbers with nouns, lists, suggestions, and errors in one line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun; `nouns` is the plural if it does not end in s.

    >>> plural(1, "file"), plural(2000, "file"), plural(0, "box", "boxes")
    ('1 file', '2,000 files', '0 boxes')
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def joined(words: Iterable[str], last: str = "and") -> str:
    """Join at least one word with commas, and `last` before the last.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end


def meant(word: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: a known word that resembles it, or nothing.

    >>> meant("gpt-4p", ["gpt-4o", "o1"])
    ": did you mean 'gpt-4o'?"
    """
    like = get_close_matches(word, known, 1)
    return f": did you mean {like[0]!r}?" if like else ""


def error_line(error: BaseException) -> str:
    """Return an error as one line: the message, with the file in front for an error of the system.

    >>> error_line(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory'
    """
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def first_line(error: BaseException) -> str:
    r"""Return the class of an error and the first line of its message.

    >>> first_line(ValueError("one\ntwo"))
    'ValueError: one'
    """
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__
