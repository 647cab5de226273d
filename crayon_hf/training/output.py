"""Saving what was trained."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from crayon_hf.files import write_atomic

if TYPE_CHECKING:
    from crayon_hf.tokenizer import Tokenizer

_ENDINGS = (".json", ".dat")


def check(output: str | os.PathLike[str]) -> None:
    """OSError for what cannot be written: better before hours of training than after them."""
    path = os.path.abspath(os.fspath(output))
    is_directory = not path.endswith(_ENDINGS)
    folder = path if is_directory and os.path.isdir(path) else os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if is_directory == os.path.isfile(path) and os.path.exists(path):
        code = errno.ENOTDIR if is_directory else errno.EISDIR
        raise OSError(code, os.strerror(code), path)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


def save(tokenizer: Tokenizer, output: str | os.PathLike[str]) -> list[str]:
    """Write the ``tokenizer.json`` and the cartridge, or a directory of them; the paths of what was written.

    Each file appears whole or not at all. Without a native engine there is no cartridge.
    """
    path = os.fspath(output)
    native = tokenizer.engine == "native"
    if not path.endswith(_ENDINGS):
        from crayon_hf.conversion import write
        from crayon_hf.conversion.converted import Converted

        written: list[str] = write(Converted(tokenizer.to_str().encode(), {}, "tokenizers"), path, cartridge=native)
        return written
    stem = os.path.splitext(path)[0]
    if native:
        tokenizer.save(f"{stem}.dat")
        return [f"{stem}.json", f"{stem}.dat"]
    write_atomic(f"{stem}.json", tokenizer.to_str(pretty=True).encode())
    return [f"{stem}.json"]
