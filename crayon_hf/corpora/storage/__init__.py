"""Storage of a job's files: a local directory, or a prefix of an object store.

A job names its files by paths such as ``OUT/_crayon/job.json``; `of` returns the storage of a path. Every storage
guarantees that files appear atomically, and that they survive a crash once written.
"""

from __future__ import annotations

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


__all__ = ["PLACE", "Storage", "normal", "of"]
