"""Matches paths against the patterns of ``.gitignore`` files, exactly as git does (gitignore(5)).

Patterns and paths are bytes, as in git: ``?`` matches one byte.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SPECIAL = re.compile(rb"[*?\[\\]")
_TOKEN = re.compile(rb"\*+|\[[!^]?|\\.|[^\\]", re.DOTALL)
_IN_BRACKETS = re.compile(rb"\[:([^\]]*):\]|(\\.|[^\\])(?:-(?!\])(\\.|[^\\]))?", re.DOTALL)
"""One part of ``[...]``: a named class, or one character, or the first and last one of a range."""
_CLASSES = {
    b"alnum": rb"a-zA-Z0-9",
    b"alpha": rb"a-zA-Z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb" \t\n\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9a-fA-F",
}
_NOTHING, _DIRECTORIES = rb"(?!)", rb"(?:.*/)?"


class Rule(NamedTuple):
    """One pattern of a ``.gitignore`` file."""

    matches: re.Pattern[bytes]
    """Matches a whole path from the directory of the ``.gitignore`` on."""
    is_negated: bool
    """Whether the pattern re-includes files that an earlier pattern ignores."""
    is_of_directories: bool
    """Whether the pattern matches only directories."""


def rules_of(data: bytes) -> tuple[Rule, ...]:
    r"""Parse the text of a ``.gitignore``. Of several rules that match, the last one decides.

    >>> [rule] = rules_of(b"# Python\n/build/\n")
    >>> rule.is_of_directories, bool(rule.matches.fullmatch(b"build"))
    (True, True)
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return tuple(_rule(line) for line in lines if line and not line.startswith(b"#"))


def _rule(line: bytes) -> Rule:
    pattern = _without_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
    is_negated = pattern.startswith(b"!")
    pattern = pattern[is_negated:]
    is_of_directories = pattern.endswith(b"/")
    pattern = pattern[: len(pattern) - is_of_directories]
    is_of_names = b"/" not in pattern
    regex = _regex(pattern.removeprefix(b"/"), is_of_names)
    return Rule(re.compile(_DIRECTORIES * is_of_names + regex, re.DOTALL), is_negated, is_of_directories)


def _without_spaces(pattern: bytes) -> bytes:
    """Strip trailing spaces, except one that a backslash escapes."""
    stripped = pattern.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return pattern[: len(stripped) + backslashes % 2]


def _regex(pattern: bytes, is_of_names: bool) -> bytes:
    """Translate `pattern` to a regular expression. A single ``*`` matches no slash."""
    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:  # a backslash at the end
            return _NOTHING
        begin, at = token.span()
        if token[0].startswith(b"*"):
            # git matches the literal prefix separately, so stars right after it begin a pattern.
            begins = pattern[begin - 1 : begin] in (b"", b"/") or not _SPECIAL.search(pattern[:begin])
            part = rb"[^/]*"
            if at - begin > 1 and begins and not is_of_names:  # any number of directories
                if pattern.startswith(b"/", at):
                    part, at = _DIRECTORIES, at + 1
                elif at == len(pattern) or pattern.startswith(rb"\/", at):
                    part = rb".*"
        elif token[0] == b"?":
            part = rb"[^/]"
        elif token[0].startswith(b"["):
            part, at = _bracket(pattern, at, len(token[0]) > 1)
        else:
            part = re.escape(token[0][-1:])
        parts.append(part)
    return b"".join(parts)


def _bracket(pattern: bytes, at: int, is_negated: bool) -> tuple[bytes, int]:
    """Translate the inside of ``[...]``, which begins at `at`. Return also the index after the bracket."""
    begin, parts = at, b""
    while not pattern.startswith(b"]", at) or at == begin:
        found = _IN_BRACKETS.match(pattern, at)
        if found is None or (found[1] is not None and found[1] not in _CLASSES):
            return _NOTHING, len(pattern)
        named, first, last = found.groups()
        if named is not None:
            parts += _CLASSES[named]
        else:
            parts += rb"\x%02x-\x%02x" % (first[-1], max(first[-1], (last or first)[-1]))
        at = found.end()
    return rb"(?!/)[%s/%s]" % (b"^" * is_negated, parts), at + 1
