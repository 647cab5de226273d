"""Storage of a job's files: a local directory, or a prefix of an object store.

A job names its files by paths such as ``OUT/_crayon/job.json``; `of` returns the storage of a path. Every storage
guarantees that files appear atomically, and that they survive a crash once written.
"""

from __future__ import annotations

import tempfile

from crayon_hf.corpora.storage.local import LOCAL, PLACE, Storage
from crayon_hf.text_readers.addresses import is_local, local_path


def of(path: str) -> Storage:
    """The storage of a path or fsspec address."""
    if is_local(path):
        return LOCAL
    from crayon_hf.corpora.storage.store import store_of

    return store_of(path)


def normal(output: str) -> str:
    """An output as a prefix of file names: ``s3://bucket/tokens`` for ``s3://bucket/tokens/``."""
    if is_local(output):
        return local_path(output)
    if "::" in output:
        raise ValueError(f"output is {output!r}: chained addresses are not writable: give one address")
    return output.rstrip("/")


class Gathered:
    """Bytes that are kept in an unnamed temporary file until the whole file is placed."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._file.write(data)

    def place(self, path: str) -> None:
        """Write the file `path`, unless it would be empty."""
        if self._file.tell():
            self._file.seek(0)
            of(path).place(path, iter(lambda: self._file.read(1 << 20), b""))

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()


__all__ = ["PLACE", "Gathered", "Storage", "normal", "of"]
