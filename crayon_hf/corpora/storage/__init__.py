"""Where the files of a job are: a directory of this machine, or keys of an object store that begin alike.

A job names its files by paths, ``OUT/_crayon/job.json``, and `of` tells what reads and writes there. Both promise the
same: a file is there whole or not at all, and what was written is there after a crash.
"""

from __future__ import annotations

from crayon_hf.corpora.storage.local import LOCAL, PLACE, Storage
from crayon_hf.text_readers.addresses import is_local, local_path


def of(path: str) -> Storage:
    """The storage that a path, or an address of fsspec, is in."""
    if is_local(path):
        return LOCAL
    from crayon_hf.corpora.storage.store import store_of

    return store_of(path)


def normal(output: str) -> str:
    """An output as the names of its files begin: ``s3://bucket/tokens`` for ``s3://bucket/tokens/``."""
    if is_local(output):
        return local_path(output)
    if "::" in output:
        raise ValueError(f"output is {output!r}: an address in an address cannot be written to")
    return output.rstrip("/")


__all__ = ["PLACE", "Storage", "normal", "of"]
