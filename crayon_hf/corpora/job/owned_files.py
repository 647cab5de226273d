"""The files of a directory that belong to a job, according to its manifest or states. A job removes no others."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.storage.local import taken_error


def listed(shards: Iterable[dict[str, Any]], format: str, outputs: str) -> list[str]:
    """Return the files of shards, relative to their directory. A shard's last file is the one that readers look for.

    The list of shards may be damaged or forged, and the caller may remove the files.

    Raises:
        ValueError: A shard is not one of `outputs` (a regular expression), or a file is not its shard's.
    """
    files: list[str] = []
    for shard in shards:
        name = shard["name"]
        if not re.fullmatch(rf"(?:{outputs})(?:_\d{{5,}})?", name) or not _is_plain(name):
            raise ValueError(f"{name!r} is not the name of a shard")
        expected = FORMATS[format].files(name)
        for file in shard["files"]:
            place, _, rest = file["name"].rpartition("/")
            is_within = place == name and _is_plain(rest) and expected == [name]  # a format that is a directory
            if file["name"] not in expected and not is_within:
                raise ValueError(f"{file['name']!r} is not a file of {name}")
        files += [file["name"] for file in reversed(shard["files"])]
    return files


def taken(directory: str, format: str, outputs: Collection[str], is_limited: bool) -> Iterator[str]:
    """Yield existing files, even other programs', with names of shards of `outputs`, relative to the directory."""
    endings = "|".join(re.escape(path[1:]) for path in FORMATS[format].files("x"))
    number = r"_\d{5,}" if is_limited else ""
    pattern = re.compile(rf"(?P<output>.+?){number}(?:{endings})", re.DOTALL)
    try:
        there = sorted(storage.of(directory).names(directory))
    except FileNotFoundError:
        return
    for name in there:
        match = pattern.fullmatch(name)
        if match and match["output"] in outputs:
            inside = storage.of(directory).inside(os.path.join(directory, name))
            if inside is not None:  # an empty directory is not reported
                yield from (f"{name}/{one}" for one in sorted(inside))
            else:
                yield name


def refuse_taken(directory: str, names: Iterable[str]) -> None:
    """Raise JobError for the first of `names`, if any."""
    for name in names:
        raise taken_error(os.path.join(directory, name))


def _is_plain(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and name not in (".", "..") and not set(name) & set("/\\\0")
