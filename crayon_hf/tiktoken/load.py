"""``tiktoken.load``: reads and writes rank files. Network addresses are left to the tiktoken library."""

from __future__ import annotations

import binascii
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha1, sha256
from typing import Any

from crayon_hf.formats.tiktoken import write_ranks
from crayon_hf.util.extras import needed
from crayon_hf.util.files import temporary_path, write_atomic

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]


def read_file(blobpath: str) -> bytes:
    """Return the contents of a file, given its path or network address."""
    if "://" in blobpath:
        data: bytes = _library().read_file(blobpath)
        return data
    with open(blobpath, "rb") as file:
        return file.read()


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether these bytes have this SHA-256, in hexadecimal."""
    return sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Read a file like `read_file`, through tiktoken's cache of files.

    Raise ValueError if the file's SHA-256 is not `expected_hash`.
    """
    chosen = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    directory = os.path.join(tempfile.gettempdir(), "data-gym-cache") if chosen is None else chosen
    if not directory:
        return read_file(blobpath)
    path = os.path.join(directory, sha1(blobpath.encode()).hexdigest())
    if os.path.exists(path):
        data = read_file(path)
        if expected_hash is None or check_hash(data, expected_hash):
            return data
    data = read_file(blobpath)
    if expected_hash and not check_hash(data, expected_hash):
        raise ValueError(f"Hash mismatch: {blobpath} does not have the SHA-256 {expected_hash}, and may be damaged")
    try:
        os.makedirs(directory, exist_ok=True)
        temporary = temporary_path(path)
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, path)  # replaces a link itself, not its target
    except OSError:
        if chosen is not None:
            raise
    return data


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Read the tokens of a rank file and their ranks. Raise ValueError for a malformed line."""
    ranks = {}
    decode = binascii.a2b_base64
    for line in read_file_cached(tiktoken_bpe_file, expected_hash).splitlines():
        if line:
            try:
                token, rank = line.split()
                ranks[decode(token)] = int(rank)
            except ValueError as error:
                raise ValueError(f"Error parsing line {line!r} in {tiktoken_bpe_file}") from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write a rank file."""
    if "://" in tiktoken_bpe_file:
        _library().dump_tiktoken_bpe(bpe_ranks, tiktoken_bpe_file)
    else:
        write_atomic(tiktoken_bpe_file, write_ranks(bpe_ranks))


def data_gym_to_mergeable_bpe_ranks(*arguments: Any, **named: Any) -> dict[bytes, int]:
    """Read GPT-2's original files, ``vocab.bpe`` and ``encoder.json``, with the tiktoken library. Return the ranks."""
    ranks: dict[bytes, int] = _library().data_gym_to_mergeable_bpe_ranks(*arguments, **named)
    return ranks


def _library() -> Any:
    with needed("this call", "tiktoken"):
        from tiktoken import load
    return load
