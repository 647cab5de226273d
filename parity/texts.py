"""Texts of three kinds and of any size, from the files of this machine, without repetition.

The corpus of ``$CRAYON_SHARED`` comes first, then files of Python and the system, in a mixed order:

- english: Python's help, pages of manuals, documentation of packages (``.rst``, ``.md``, ``.txt``, lists of changes)
- code: the sources of Python's library, then of the installed packages and headers
- languages: translated messages (``.mo``) and manuals of programs; generated strings if the machine has none
"""

from __future__ import annotations

import gettext
import gzip
import hashlib
import os
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import CORPUS, find_text, read_text, shared_directory
from crayon_hf.parity.speed.words import new_words

__all__ = ["KINDS", "WORDS", "gathered", "write_text"]

ROOTS = (*map(sysconfig.get_path, ("stdlib", "purelib")), "/usr/share", "/usr/include", "/usr/lib")
WORDS = "words"
"""The kind of text that consists of half a million different words."""
DIFFERENT_WORDS = 500_000
_ENGLISH = (".rst", ".md", ".txt", ".gz")
_CODE = (".py", ".pyi", ".h", ".hpp", ".c", ".cc", ".js", ".ts")

Piece = tuple[str, bytes]
"""The origin of a piece of text, and its bytes."""


def gathered(kind: str) -> Iterator[Piece]:
    """Yield pieces of text of a kind, as UTF-8. No file is used twice."""
    shared = shared_directory()
    if shared is not None and (shared / "corpus").is_dir():
        yield "the corpus of CRAYON_SHARED", read_text(find_text(kind))
    seen = set()
    for origin, data in KINDS[kind]():
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if data and digest not in seen:
            seen.add(digest)
            yield origin, data


def write_text(kind: str, size: int, path: Path, without: Iterable[str] = ()) -> str:
    """Write `size` bytes of a kind, or fewer if the machine has no more; return their origins, as ``12.3 MB of ...``.

    The strings in `without`, such as special tokens, become spaces.
    """
    pattern = re.compile(b"|".join(re.escape(each.encode()) for each in sorted(without, key=len, reverse=True)))
    origins: Counter[str] = Counter()
    with path.open("wb") as out:
        for origin, data in _words() if kind == WORDS else gathered(kind):
            left = size - sum(origins.values())
            part = pattern.sub(b" ", data) if pattern.pattern else data
            origins[origin] += out.write(part[:left].decode("utf-8", "ignore").encode())
            if len(part) >= left:
                break
    return ", ".join(f"{count / 1e6:.1f} MB of {origin}" for origin, count in origins.items())


def _words() -> Iterator[Piece]:
    """Yield half a million different words again and again, each time in another order."""
    words, generator = list(islice(new_words(3), DIFFERENT_WORDS)), random.Random(1)
    while True:
        generator.shuffle(words)
        yield f"{DIFFERENT_WORDS:,} generated words in ever other orders", f"{' '.join(words)} ".encode()


def _english() -> Iterator[Piece]:
    try:
        from pydoc_data.topics import topics

        yield "Python's help", "\n\n".join(topics[name] for name in sorted(topics)).encode()
    except ImportError:  # a Python without its documentation
        pass
    for path in _files(_ENGLISH):
        data = b"" if _is_translated(path) else _read(path)
        if sum(byte > 127 for byte in data[:4096]) < 40:  # English has few such bytes
            yield ("pages of manuals and lists of changes" if path.suffix == ".gz" else "documentation here"), data


def _code() -> Iterator[Piece]:
    library = Path(os.__file__).parent
    for path in sorted(library.glob("*.py")):
        yield "Python's library", _read(path)
    for path in _files(_CODE):
        yield "sources and headers here", _read(path)


def _languages() -> Iterator[Piece]:
    is_there = False
    for path in filter(_is_translated, _files((".mo", ".gz"))):
        data = _messages(path) if path.suffix == ".mo" else _read(path)
        is_there |= bool(data)
        yield "translated messages and manuals of programs here", data
    if not is_there:
        made = "\n".join(text for _, text in generate(20_000, 25))
        yield "generated strings", made.encode("utf-8", "ignore")


def _is_translated(path: Path) -> bool:
    """Whether a path is like ``locale/de/LC_MESSAGES/x.mo`` or ``man/de/man1/x.1.gz``, but not for English."""
    folder = path.parent.parent
    return not folder.name.startswith("en") and (path.suffix == ".mo" or folder.parent.name == "man")


def _messages(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            messages = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        return "\n".join(filter(None, messages.values())).encode()
    except (OSError, ValueError, LookupError):
        return b""


def _files(endings: tuple[str, ...]) -> Iterable[Path]:
    """Yield the files below the roots that have one of the endings, sorted by digests of their paths."""
    found = set()
    for root in ROOTS:
        for folder, _, names in os.walk(root):
            found |= {os.path.join(folder, name) for name in names if name.endswith(endings)}
    return map(Path, sorted(found, key=lambda path: hashlib.blake2b(path.encode("utf-8", "surrogateescape")).digest()))


def _read(path: Path) -> bytes:
    """Read a file, unpack it if necessary, and return its text as UTF-8. Return no bytes if it is not UTF-8."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(4_000_000)
        return data if data.decode() and b"\0" not in data else b""
    except (OSError, ValueError, EOFError, gzip.zlib.error):  # type: ignore[attr-defined]
        return b""


KINDS: dict[str, Callable[[], Iterator[Piece]]] = dict(zip(CORPUS, (_english, _code, _languages), strict=True))
"""Other sources of text on this machine, by the names of the corpus's texts."""
