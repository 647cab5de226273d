"""Recognises damaged downloads: files that a server, a proxy or git wrote instead of the wanted one."""

from __future__ import annotations

import os
import re
from typing import Any

FIRST = 1 << 12
"""The number of bytes at the beginning of a file that are examined."""

_LFS = b"version https://git-lfs.github.com/spec/v1"
_PAGE = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_ZEROS = re.compile(rb"(?:[^\0]\0{3}){2}|(?:\0{3}[^\0]){2}")
_SHOWN = 120


def damage_of(data: bytes) -> str | None:
    """Return the damage of a file with these first bytes and its remedy, or None for other files.

    The result follows the file's name in a message.

    >>> damage_of(b"<!DOCTYPE html><title>Sign in</title>").partition(":")[0]
    'is an HTML page, not the file itself'
    """
    head = data[:FIRST].removeprefix(b"\xef\xbb\xbf")
    if head[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff") or _ZEROS.match(head):
        return "is UTF-32 text: convert it to UTF-8 (iconv -f UTF-32 -t UTF-8)"
    if is_utf_16(head):
        return "is UTF-16 text: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"
    if not head.strip(b"\0 \t\r\n"):
        return f"is {'empty' if not head else 'blank'}: the download failed, so download it again"
    if head.startswith(_LFS):
        return "is a Git LFS pointer, not the file itself: fetch it with git lfs pull"
    if _PAGE.match(head):
        return (  # prose: long sentence
            "is an HTML page, not the file itself: download it again, from the address with /resolve/ in place of "
            "/blob/; if the repository needs a login, run hf auth login first"
        )
    said = _error(data) if len(data) < FIRST and head.lstrip()[:1] == b"{" else None
    if said is not None:
        return (  # prose: long sentence
            f"is the error message of a server, not the file itself: {said}: check the name of the repository, log in "
            "if it needs a login (hf auth login), and download it again"
        )
    return None


def json_fault(error: Exception) -> str:
    """Return why `json` refused a text, for a message after the name of the text.

    >>> from json import JSONDecodeError
    >>> json_fault(JSONDecodeError("Expecting ',' delimiter", '{"a": [1, 2', 11))
    'is cut short after 11 characters: download it again'
    """
    document, at = getattr(error, "doc", ""), getattr(error, "pos", -1)
    is_at_end = document.strip() and (at >= len(document.rstrip()) or "Unterminated string" in str(error))
    if is_at_end:
        return f"is cut short after {len(document):,} characters: download it again"
    if isinstance(error, UnicodeDecodeError) and error.reason == "unexpected end of data":
        return f"is cut short after {len(error.object):,} bytes: download it again"
    return f"is not JSON: {error}"


def is_utf_16(head: bytes) -> bool:
    """Whether a text with this beginning is UTF-16, which some Windows programs write."""
    pairs = head[: len(head) // 2 * 2]
    zeros = (pairs[::2].count(0), pairs[1::2].count(0))
    is_marked = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    return is_marked or (len(pairs) > 2 and min(zeros) == 0 and max(zeros) * 3 > len(pairs))


def is_pointer(path: str, size: int) -> bool:
    """Whether a file of `size` bytes is a Git LFS pointer instead of the file's contents."""
    return len(_LFS) < size < 1024 and "Git LFS" in (damage_in(path) or "")


def damage_in(path: str | os.PathLike[str]) -> str | None:
    """Return `damage_of` for the beginning of a file, or None if it cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return damage_of(file.read(FIRST))
    except OSError:
        return None


def _error(data: bytes) -> str | None:
    """Return the message in ``{"error": ...}``."""
    import json  # not at the top: opening an undamaged file does not need it

    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or "error" not in document or len(document) > 8:
        return None
    said = document["error"]
    line = " ".join((said if isinstance(said, str) else json.dumps(said)).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
