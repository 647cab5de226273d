"""The state of an output: which shards are finished. The file is replaced atomically, after its shards are on disk.

A resumed call reads all input again, and appends the documents that come after the finished shards.

Layout beside the output ``OUT/NAME``::

    OUT/_crayon/NAME.json               the state
    OUT/_crayon/NAME.bad-records.jsonl  one JSON object for each bad record, in order; complete when the state is done
    OUT/_crayon/NAME.hashes, .chosen    for deduplication: `crayon_hf.corpora.job.choosing`

Invariant: files that the state names exist and are complete. A shard's files are written under temporary names, synced
and renamed, and the directory is synced. The other files that the state names follow, and the state is replaced last.
Files that it does not name may exist, too; they are written again with the same bytes.

Several processes may work on one output at once. They have the same request, because a state is created only if none
exists. The bytes of a file depend only on its name and the request, and files appear atomically. A state is never
replaced by one with fewer shards. No file is removed before the manifest exists, because another process may read it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.storage import PLACE as PLACE
from crayon_hf.corpora.storage.local import taken_error
from crayon_hf.errors import JobError

SCHEMA = "crayon-hf/shard-state/3"


class Counts(NamedTuple):
    """Counts of input read and output written."""

    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    """UTF-8 bytes of the documents."""
    input_bytes: int = 0
    """Stored bytes of the input files."""
    bad_records: int = 0
    duplicates: int = 0
    """Documents left out because an earlier one has the same text."""
    held_out: int = 0
    """Documents left out because they are held out; in the held-out directory, documents that are not held out."""
    not_chosen: int = 0
    """Documents left out because their source of a mixture is read in part."""

    def plus(self, other: Counts) -> Counts:
        """The sum of both."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


class State(NamedTuple):
    """The progress of an output. `shards` are the finished ones, as JSON values."""

    request: dict[str, Any]
    """The request (see `request_of`) of the job. A job with another request cannot resume from this state."""
    shards: tuple[dict[str, Any], ...] = ()
    counts: Counts = Counts()
    """The counts, which are valid once `done` is true."""
    done: bool = False

    def as_bytes(self) -> bytes:
        """The contents of the state file."""
        fields = {"schema": SCHEMA, **self._asdict(), "counts": self.counts._asdict()}
        return json.dumps(fields, separators=(",", ":")).encode()


def load(path: str) -> State | None:
    """Return the state in a file, or None without the file. Raises JobError if it is damaged or lists foreign files."""
    data = storage.of(path).read(path)
    if data is None:
        return None
    try:
        fields = json.loads(data)
        if fields.pop("schema") != SCHEMA:
            raise ValueError("another version")
        fields["counts"], fields["shards"] = Counts(**fields["counts"]), tuple(fields["shards"])
        state = State(**fields)
        name = re.escape(os.path.basename(path).removesuffix(".json"))
        listed(state.shards, state.request["format"], name)
        return state
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobError(
            f"{path} is not a state file of crayon-hf tokenize ({error}): remove it and its token files, "
            "or give --overwrite (overwrite=True)"
        ) from error


# -- the files that belong to a job, according to its manifest or states: a job removes no others


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
            is_within = place == name and _is_plain(rest) and expected == [name]  # the format writes a directory
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
    """Raise JobError for the first of the existing files `names`, if any."""
    for name in names:
        raise taken_error(os.path.join(directory, name))


def _is_plain(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and name not in (".", "..") and not set(name) & set("/\\\0")
