"""Saves trained tokenizers."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crayon_hf.training_data.corpus import paths_of
from crayon_hf.util.files import temporary_path, write_atomic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crayon_hf.tokenizer import Tokenizer

_ENDINGS = (".json", ".dat")
_IN_DIRECTORY = ("tokenizer.json", "tokenizer_config.json", "tokenizer.dat")
_ID_MAP = "id_map.json"


def checked(output: str | os.PathLike[str] | None, source: Any, overwrite: bool) -> str | None:
    """Check that the result can be written, before a training that may take hours. Return the path of the result.

    Raises:
        OSError: `output` cannot be written, or already has a tokenizer and `overwrite` is False.
        ValueError: `output` would replace a file that `source` names.
    """
    from crayon_hf.formats.repository import has_another, tokenizer_in

    if output is None:
        return None
    output = os.fsdecode(output)
    path = os.path.abspath(output)
    is_directory = not path.endswith(_ENDINGS)
    folder = path if is_directory and os.path.isdir(path) else os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if is_directory and os.path.lexists(path) and not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
    there = tokenizer_in(path, settings=True) if is_directory else []
    for target in dict.fromkeys([*_targets(path), *(os.path.join(path, name) for name in there)]):
        if os.path.isdir(target):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
        if os.path.lexists(target) and not os.path.isfile(target):
            raise FileExistsError(errno.EEXIST, "exists and is not a regular file", target)
        for read in paths_of(source):
            if os.path.exists(target) and os.path.exists(read) and os.path.samefile(read, target):
                raise ValueError(f"{target} is an input of the training and would be replaced: choose another output")
    if not is_directory:
        there = [target for target in _targets(path) if os.path.lexists(target)]
    if there and not overwrite:
        raise has_another(output, there) if is_directory else has_another(there[0])
    return output


def _targets(path: str) -> list[str]:
    if not path.endswith(_ENDINGS):
        return [os.path.join(path, name) for name in _IN_DIRECTORY]
    return [os.path.splitext(path)[0] + ending for ending in _ENDINGS]


def save(
    tokenizer: Tokenizer,
    path: str | None,
    config: Mapping[str, Any] | None = None,
    id_map: npt.NDArray[np.int64] | None = None,
) -> list[str]:
    """Write a tokenizer to `path`, and return the paths of the files: none if `path` is None.

    If `path` ends in ``.json`` or ``.dat``, both files are written: the tokenizer.json and its cartridge. Any other
    `path` is a directory. Each file appears whole or not at all. Files of a previous tokenizer are removed. A delegated
    tokenizer has no cartridge.

    `config` has settings for a directory's ``tokenizer_config.json``. `id_map` is written as a JSON list.
    """
    if path is None:
        return []
    native = tokenizer.engine == "native"
    numbers = None if id_map is None else json.dumps(id_map.tolist(), separators=(",", ":")).encode() + b"\n"
    if not path.endswith(_ENDINGS):
        from crayon_hf.formats.converted import Converted
        from crayon_hf.formats.repository import write

        converted = Converted(tokenizer.to_str().encode(), dict(config or {}), "tokenizers")
        more = {} if numbers is None else {_ID_MAP: numbers}
        return write(converted, path, cartridge=native, overwrite=True, more=more)
    stem = os.path.splitext(path)[0]
    if numbers is None:
        return _save_files(tokenizer, stem, native)
    name = f"{stem}.{_ID_MAP}"
    staged = temporary_path(name)
    try:
        write_atomic(staged, numbers)
        files = _save_files(tokenizer, stem, native)
        os.replace(staged, name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(staged)
    return [*files, name]


def _save_files(tokenizer: Tokenizer, stem: str, native: bool) -> list[str]:
    if native:
        tokenizer.save(f"{stem}.dat")
        return [f"{stem}.json", f"{stem}.dat"]
    write_atomic(f"{stem}.json", tokenizer.to_str(pretty=True).encode())
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{stem}.dat")  # the cartridge of a previous tokenizer
    return [f"{stem}.json"]
