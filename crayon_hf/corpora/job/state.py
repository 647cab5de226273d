"""The state of an output: its request and, once it is finished, its shards. The file is replaced atomically.

A call that resumes an unfinished output writes all its shards again.

Layout beside the output ``OUT/NAME``::

    OUT/_crayon/NAME.json               the state
    OUT/_crayon/NAME.bad-records.jsonl  one JSON object for each bad record, in order; complete when the state is done
    OUT/_crayon/NAME.hashes, .chosen    for deduplication: `crayon_hf.corpora.job.choosing`

Invariant: files that the state names exist and are complete. A shard's files are written under temporary names, synced
and renamed, and the directory is synced. The list of bad records follows, and the state is replaced last.

Several processes may work on one output at once. They have the same request, because a state is created only if none
exists. The bytes of a file depend only on its name and the request, and files appear atomically. No file is removed
before the manifest exists, because another process may read it.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.storage import PLACE as PLACE
from crayon_hf.errors import JobError

SCHEMA = "crayon-hf/shard-state/3"
JOB = "job.json"
"""The request of an unfinished job, beside the states of its tasks."""


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
    """The state of an output. `shards`, as JSON values, and `counts` are valid once `done` is true."""

    request: dict[str, Any]
    """The request (see `request_of`) of the job. A job with another request cannot resume from this state."""
    shards: tuple[dict[str, Any], ...] = ()
    counts: Counts = Counts()
    done: bool = False

    def as_bytes(self) -> bytes:
        """The contents of the state file."""
        fields = {"schema": SCHEMA, **self._asdict(), "counts": self.counts._asdict()}
        return json.dumps(fields, separators=(",", ":")).encode()


def load(path: str) -> State | None:
    """Return the state in a file, or None without the file. Raises JobError if it is damaged."""
    data = storage.of(path).read(path)
    if data is None:
        return None
    try:
        fields = json.loads(data)
        if fields.pop("schema") != SCHEMA:
            raise ValueError("another version")
        fields["counts"], fields["shards"] = Counts(**fields["counts"]), tuple(fields["shards"])
        FORMATS[fields["request"]["format"]], [file["bytes"] for shard in fields["shards"] for file in shard["files"]]
        return State(**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobError(
            f"{path} is not a state file of crayon-hf tokenize ({error}): remove it and its token files, "
            "or give --overwrite (overwrite=True)"
        ) from error


# -- the files of a job, by their names: a job removes no others


def shard_files(directory: str, request: dict[str, Any], outputs: str) -> list[str]:
    """Return the existing files, even of other programs, with names of shards, relative to the directory.

    `outputs` is a regular expression for the names of outputs. A shard's file that readers look for comes first.
    """
    number = r"_\d{5,}" if request["max_tokens_per_shard"] is not None else ""
    place, found = storage.of(directory), []
    there = sorted(place.names(directory))
    for ending in reversed(FORMATS[request["format"]].files("")):
        for name in there:
            if re.fullmatch(f"(?:{outputs}){number}{re.escape(ending)}", name):
                inside = place.inside(os.path.join(directory, name))  # an empty directory is not reported
                found += [name] if inside is None else [f"{name}/{one}" for one in sorted(inside)]
    return found


def own_files(directory: str, request: dict[str, Any], outputs: str) -> list[str]:
    """Return those of the `shard_files` that the format writes."""
    format = FORMATS[request["format"]]
    return [name for name in shard_files(directory, request, outputs) if format.writes(name)]


def remove_files(directory: str, files: list[str]) -> None:
    """Remove files of a directory, and its subdirectories that become empty."""
    place = storage.of(directory)
    place.remove(os.path.join(directory, name) for name in files)
    for name in {name.rpartition("/")[0] for name in files} - {""}:
        place.drop(os.path.join(directory, name))


def refuse_taken(directory: str, names: list[str]) -> None:
    """Raise JobError if files have names that a job needs."""
    if names:
        path = os.path.join(directory, names[0])
        raise JobError(f"{path} exists, but is not a file of this job: move it, or give another output")
