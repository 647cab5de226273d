"""Documents cut from real texts: the shared corpus, or any file."""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

CORPUS = ("english", "code", "multi")
DOCUMENT_BYTES = 2048
MOST_CATEGORIES = 40


class UnknownVocabularyError(ValueError):
    """A vocabulary or a text that cannot be found, or a vocabulary without a known reference."""


def shared_directory() -> Path | None:
    """The directory named by ``CRAYON_SHARED``, with ``vocab`` and ``corpus``."""
    value = os.environ.get("CRAYON_SHARED")
    return Path(value) if value else None


def shared_vocabulary(name: str) -> Path | None:
    """Return the directory of a vocabulary in ``$CRAYON_SHARED/vocab``, or None if it does not exist."""
    shared = shared_directory()
    if shared is None or not name or "/" in name or os.sep in name or not (shared / "vocab" / name).is_dir():
        return None
    return shared / "vocab" / name


def find_text(spec: str) -> Path:
    """Find a text by its name below ``$CRAYON_SHARED/corpus``, or by its path."""
    path = Path(spec)
    if spec in CORPUS and not path.exists():
        shared = shared_directory()
        if shared is None:
            raise UnknownVocabularyError(f"{spec}: set CRAYON_SHARED to the directory that has corpus/{spec}.txt.xz")
        path = shared / "corpus" / f"{spec}.txt.xz"
    if not path.is_file():
        raise UnknownVocabularyError(f"no text {spec!r}: {path} is not a file; known names: {', '.join(CORPUS)}")
    return path


def default_texts(directory: str, limit: int | None = None) -> Sequence[str]:
    """Return the names of the shared corpus. Without a corpus, return the file that `python_library` writes."""
    shared = shared_directory()
    return CORPUS if shared is not None and (shared / "corpus").is_dir() else [python_library(directory, limit)]


def python_library(directory: str, limit: int | None = None) -> str:
    """Write the sources of Python's library, a few megabytes that every machine has, into a file in `directory`.

    No file is added once `limit` bytes are written. Return the path.
    """
    path, size = Path(directory) / "python-library.txt", 0
    with path.open("wb") as out:
        for source in sorted(Path(os.__file__).parent.glob("*.py")):
            if limit is not None and size >= limit:
                break
            size += out.write(source.read_bytes().decode("utf-8", "replace").encode())
    return str(path)


def read_text(path: Path, limit: int | None = None) -> bytes:
    """Return at most ``limit`` bytes of a text file, cut between characters. Files ending in ``.xz`` are unpacked."""
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
        data = stream.read() if limit is None else stream.read(limit)
    if len(data) == limit:
        data = data[: _boundary(data, len(data))]
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    return data


def _boundary(data: bytes, end: int) -> int:
    """Return the last position at or before ``end`` that is between two UTF-8 characters of the data."""
    if end >= len(data):
        # At the end of the data, find out whether the last character is whole.
        start = len(data) - 1
        while start >= 0 and len(data) - start < 4 and data[start] & 0xC0 == 0x80:
            start -= 1
        if start < 0 or data[start] < 0xC0:
            return len(data)
        width = 2 if data[start] < 0xE0 else 3 if data[start] < 0xF0 else 4
        return len(data) if start + width <= len(data) else start
    while end > 0 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def documents(data: bytes, size: int = DOCUMENT_BYTES) -> Iterator[str]:
    """Cut the data between characters into documents of at most ``size`` bytes. Joined, they are the data again."""
    if size < 4:
        raise ValueError("a document needs room for one character: at least 4 bytes")
    at = 0
    while at < len(data):
        end = _boundary(data, at + size) if at + size < len(data) else len(data)
        yield data[at:end].decode()
        at = end


def text_files(spec: str) -> dict[str, Path]:
    """Return the files of a text by name, sorted: the file itself, or all files of a directory but hidden ones."""
    path = Path(spec)
    if not path.is_dir():
        found = find_text(spec)
        return {found.name.split(".")[0]: found}
    files: dict[str, Path] = {}
    for file in sorted(path.rglob("*")):
        relative = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in relative.parts):
            files[str(relative)] = file
    if not files:
        raise UnknownVocabularyError(f"no text {spec!r}: the directory has no files")
    return files


def text_documents(spec: str, limit: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield the documents of a file or of a directory's files, as (category, document): at most ``limit`` bytes a file.

    The category is the name of the file, or its suffix if the directory has more than forty files.
    """
    files = text_files(spec)
    for name, path in files.items():
        category = name if len(files) <= MOST_CATEGORIES else f"*{path.suffix}"
        for document in documents(read_text(path, limit), DOCUMENT_BYTES):
            yield category, document
