"""Recognises damaged downloads: a file that a server, a proxy or git put in the place of the wanted one."""

from __future__ import annotations

import os
import re
from typing import Any

FIRST = 1 << 12
"""So many bytes of a file say what it is."""

_LFS = b"version https://git-lfs.github.com/spec/v1"
_PAGE = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_SHOWN = 120


def damage_of(data: bytes) -> str | None:
    """What is wrong with a file that begins so, and what to do, to follow its name; None: nothing that is known here.

    >>> damage_of(b"<!DOCTYPE html><title>Sign in</title>").partition(":")[0]
    'is an HTML page, not the file itself'
    """
    head = data[:FIRST].removeprefix(b"\xef\xbb\xbf")
    if not head.strip(b"\0 \t\r\n"):
        return f"is {'empty' if not head else 'blank'}: the download failed, so download it again"
    if head.startswith(_LFS):
        return "is a Git LFS pointer, not the file itself: fetch it with git lfs pull"
    if _PAGE.match(head):
        return (
            "is an HTML page, not the file itself: download it again, from the address with /resolve/ in place of "
            "/blob/, and logged in where the repository asks for that (hf auth login)"
        )
    said = _error(data) if len(data) < FIRST and head.lstrip()[:1] == b"{" else None
    if said is not None:
        return (
            f"is the error message of a server, not the file itself: {said}: check the name of the repository, log in "
            "where it asks for that (hf auth login), and download it again"
        )
    return None


def is_pointer(path: str, size: int) -> bool:
    """Whether a file of so many bytes is what Git LFS puts in the place of one that it did not fetch."""
    return len(_LFS) < size < 1024 and "Git LFS" in (damage_in(path) or "")


def damage_in(path: str | os.PathLike[str]) -> str | None:
    """`damage_of` a file; None, too, for what cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return damage_of(file.read(FIRST))
    except OSError:
        return None


def _error(data: bytes) -> str | None:
    """What ``{"error": ...}`` says."""
    import json  # which opening a good file need not wait for

    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or "error" not in document or len(document) > 8:
        return None
    said = document["error"]
    line = " ".join((said if isinstance(said, str) else json.dumps(said)).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
