"""Matches names against the patterns of ``.gitignore`` files, exactly as git does (gitignore(5)).

Patterns and names are bytes, as in git: ``?`` matches one byte.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SPECIAL = re.compile(rb"[*?\[\\]")
_ALPHA = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGIT, _GRAPH = frozenset(b"0123456789"), frozenset(range(33, 127))
_CLASSES = {
    b"alnum": _ALPHA | _DIGIT,
    b"alpha": _ALPHA,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset((*range(32), 127)),
    b"digit": _DIGIT,
    b"graph": _GRAPH,
    b"lower": frozenset(b"abcdefghijklmnopqrstuvwxyz"),
    b"print": _GRAPH | {32},
    b"punct": _GRAPH - _ALPHA - _DIGIT,
    b"space": frozenset(b" \t\n\r"),
    b"upper": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}
_NOTHING, _DIRECTORIES = rb"(?!)", rb"(?:.*/)?"


class Rule(NamedTuple):
    """One pattern of a ``.gitignore`` file."""

    matches: re.Pattern[bytes]
    is_negated: bool
    """Whether the pattern re-includes files that an earlier pattern ignores."""
    is_of_directories: bool
    """Whether the pattern matches only directories."""
    is_of_names: bool
    """Whether the pattern is compared with a file's name. Otherwise it is with the path from the ``.gitignore`` on."""


class Rules(NamedTuple):
    """The patterns of one file, applied to names in one directory at or below it."""

    rules: tuple[Rule, ...]
    """The patterns in the file's order, of which the last match decides."""
    below: bytes
    """The path from the file's directory to the names' directory, with a final slash. Empty if both are the same."""

    def inside(self, directory: bytes) -> Rules:
        """Return the patterns for names in a subdirectory."""
        return self._replace(below=self.below + directory + b"/")

    def verdict(self, name: bytes, is_directory: bool) -> bool | None:
        """Return whether the last matching pattern ignores the name, or None if no pattern matches."""
        for rule in reversed(self.rules):
            subject = name if rule.is_of_names else self.below + name
            if (is_directory or not rule.is_of_directories) and rule.matches.fullmatch(subject):
                return not rule.is_negated
        return None


def rules_of(data: bytes) -> tuple[Rule, ...]:
    r"""Parse the text of a ``.gitignore``.

    >>> [rule] = rules_of(b"# Python\n/build/\n")
    >>> rule.is_of_directories, rule.is_of_names, bool(rule.matches.fullmatch(b"build"))
    (True, False, True)
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
    matches = re.compile(_regex(pattern.removeprefix(b"/"), is_of_names), re.DOTALL)
    return Rule(matches, is_negated, is_of_directories, is_of_names)


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
        char = pattern[at : at + 1]
        if char == b"*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip(b"*"))
            # git matches the literal prefix separately, so stars right after it begin a pattern.
            begins = pattern[at - 1 : at] in (b"", b"/") or not _SPECIAL.search(pattern[:at])
            parts.append(_stars(pattern, end) if end - at > 1 and begins and not is_of_names else rb"[^/]*")
            at = end + (parts[-1] == _DIRECTORIES)
        elif char == b"?":
            parts.append(rb"[^/]")
            at += 1
        elif char == b"[":
            found = _bracket(pattern, at + 1)
            if found is None:
                return _NOTHING
            chars, at = found
            parts.append(b"[" + b"".join(rb"\x%02x" % char for char in sorted(chars)) + b"]" if chars else _NOTHING)
        else:
            at += char == b"\\"
            if at == len(pattern):
                return _NOTHING
            parts.append(re.escape(pattern[at : at + 1]))
            at += 1
    return b"".join(parts)


def _stars(pattern: bytes, end: int) -> bytes:
    """Translate two or more stars at the beginning of a path component, by the text that follows them."""
    if pattern[end : end + 1] == b"/":
        return _DIRECTORIES
    return rb".*" if end == len(pattern) or pattern.startswith(rb"\/", end) else rb"[^/]*"


def _bracket(pattern: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """Return the bytes that ``[...]`` matches and the index after the bracket, or None if ``[...]`` matches nothing."""
    is_negated = pattern[at : at + 1] in (b"!", b"^")
    at += is_negated
    begin, chars = at, set[int]()
    before: int | None = None
    """The first character of a range, if a hyphen follows."""
    while (char := pattern[at : at + 1]) != b"]" or at == begin:
        is_range = char == b"-" and before is not None and pattern[at + 1 : at + 2] != b"]"
        if (end := _class_end(pattern, at)) != -1:
            named = _CLASSES.get(pattern[at + 2 : end - 1])
            if named is None:
                return None
            chars |= named
            before, at = None, end + 1
            continue
        at += is_range
        at += pattern[at : at + 1] == b"\\"
        if at >= len(pattern):
            return None
        chars.update(range(before, pattern[at] + 1) if is_range and before is not None else (pattern[at],))
        before = None if is_range else pattern[at]
        at += 1
    return frozenset((set(range(256)) - chars if is_negated else chars) - {ord("/")}), at + 1


def _class_end(pattern: bytes, at: int) -> int:
    """Return the index of the ``]`` that ends a ``[:...:]`` (possibly empty), or -1 if none begins at `at`."""
    end = pattern.find(b"]", at + 3) if pattern.startswith(b"[:", at) and pattern[at + 2 : at + 3] != b"]" else -1
    return end if pattern[end - 1 : end] == b":" else -1
