"""Reads the sources of a training, Python texts and files, as batches of a few megabytes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from crayon_hf.text_readers.documents import FORMATS
from crayon_hf.training_data import files
from crayon_hf.training_data.batches import BATCH, Batch, Corpus, Texts
from crayon_hf.util import validation

_MOST_TEXTS = 1 << 14
_LONGEST_NAME = 4096
"""Characters of the longest text that may be a file's name."""


def corpus_of(source: Any, column: str = "text", format: str | None = None, length: int | None = None) -> Corpus:
    """Open a source: a path, a binary file, or an iterable of texts, of lists of texts and of paths.

    A single str is a path, but a str in an iterable is a text. Raise ValueError for a list of str that are all names of
    files, since other libraries take such a list as paths. `length` is the number of items in the iterable.
    """
    column = validation.text(column, "column")
    length = None if length is None else validation.unsigned(length, "length", 64)
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
    if isinstance(source, (str, os.PathLike)):
        return files.corpus_of_files([source], column, format)
    if hasattr(source, "read") and not isinstance(source, io.TextIOBase):
        return files.corpus_of_stream(source, column, format)
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, os.PathLike) for item in source):
        return files.corpus_of_files(source, column, format)
    if (
        isinstance(source, (list, tuple))
        and source
        and all(isinstance(item, str) and _is_file(item) for item in source)
    ):
        raise ValueError(
            f"each text of the list is the name of a file, as {source[0]!r}: to train on the files, give paths "
            f"([pathlib.Path({source[0]!r}), ...]); to train on the names themselves, give iter(texts)"
        )
    return corpus_of_texts(source, length, lambda path: files.corpus_of_files([path], column, format))


def _is_file(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and os.path.isfile(text)


def paths_of(source: Any) -> list[str]:
    """Return the files that a source names, as far as known without iterating over it."""
    if isinstance(source, (str, os.PathLike)):
        return [os.fsdecode(source)]
    if isinstance(source, (list, tuple)):
        return [os.fsdecode(item) for item in source if isinstance(item, os.PathLike)]
    return []


def corpus_of_texts(
    source: Iterable[Any], length: int | None = None, open_file: Callable[[Any], Corpus] | None = None
) -> Corpus:
    """Read an iterable of texts and of iterables of texts, lazily.

    `open_file` opens the paths in the iterable. Without `open_file`, a path is an error.
    """
    return Corpus(_batches(iter(source), open_file), length or 0)


def _batches(items: Iterator[Any], open_file: Callable[[Any], Corpus] | None) -> Iterator[Batch]:
    texts: list[str] = []
    first = size = done = 0

    def batch() -> Texts:
        begin = first
        return Texts(texts, lambda i: f"text {begin + i}", done)

    for item in items:
        if open_file is not None and isinstance(item, os.PathLike):
            if texts:
                yield batch()
                first, texts, size = first + len(texts), [], 0
            yield from (part._replace(done=done) for part in open_file(item).batches)
            done += 1
            continue
        if open_file is not None and isinstance(item, Mapping):  # the reference would train on its keys
            number = first + len(texts)
            raise TypeError(
                f"text {number} is {validation.kind(item)}, expected str: give its text, as in "
                "(row['text'] for row in rows)"
            )
        if isinstance(item, str):
            texts.append(item)
            size += len(item)
        else:
            before = len(texts)
            texts.extend(_texts_of(item, first + before))
            size += sum(len(text) for text in texts[before:] if isinstance(text, str))
        done += 1
        if size >= BATCH or len(texts) >= _MOST_TEXTS:
            yield batch()
            first, texts, size = first + len(texts), [], 0
    if texts:
        yield batch()


def _texts_of(item: Any, number: int) -> Iterable[Any]:
    try:
        if not isinstance(item, (bytes, bytearray)):
            items: Iterator[Any] = iter(item)
            return items
    except TypeError:
        pass
    raise TypeError(f"text {number} is {validation.kind(item)}, expected str or a list of str")
