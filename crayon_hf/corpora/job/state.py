"""How far a shard's input is tokenized: a file that is replaced whole, after what it speaks of is on the disk.

Layout beside the output ``OUT/NAME``::

    OUT/_crayon/NAME.json               the state
    OUT/_crayon/NAME.bad-records.jsonl  one JSON object for each bad record, in order; counts up to `bad_bytes`
    OUT/_crayon/NAME.tokens, .ends      with shuffling: the ids of all documents so far, and where each one ends
    OUT/_crayon/NAME.hashes, .chosen    without duplicates: `crayon_hf.corpora.job.choosing`
    OUT/_crayon/NAME.lock               held by who works on it

The order of effects: a shard's files are written under temporary names, forced to the disk and renamed, and the
directory is forced to the disk, too; then what the state speaks of besides; then the state is replaced. So whatever the
state says is there. What it does not say may be there as well, whole or in part, and is written again, the same bytes.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

from crayon_hf.corpora import storage
from crayon_hf.corpora.job.owned_files import listed
from crayon_hf.corpora.storage.local import PLACE as PLACE
from crayon_hf.errors import JobError

SCHEMA = "crayon-hf/shard-state/1"


class Checkpoint(NamedTuple):
    """Where the documents after those of the finished shards begin."""

    file: int = 0
    """Index of the input file."""
    position: Any = None
    """Of `read_documents`; None is the file's beginning."""
    documents: int | None = None
    """How many documents after the position are done; so are bad records before the next one. None: nothing is."""


class Counts(NamedTuple):
    """What was read and written."""

    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    """Of the documents, as UTF-8."""
    input_bytes: int = 0
    """Of the input files, as they are stored."""
    bad_records: int = 0
    duplicates: int = 0
    """Documents that were left out, as their text was there before."""
    held_out: int = 0
    """Documents of the other side: those held out, and in their directory those that are not."""
    not_chosen: int = 0
    """Documents of a source of a mixture of which a part was taken, and not these."""

    @property
    def read(self) -> int:
        """All documents that were read, also those that were not written."""
        return self.documents + self.duplicates + self.held_out + self.not_chosen

    def plus(self, other: Counts) -> Counts:
        """The sums."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


class State(NamedTuple):
    """All that is known of a shard's input. `shards` are those that are finished, as JSON values."""

    request: dict[str, Any]
    """What was asked for; another request does not go on from here."""
    shards: tuple[dict[str, Any], ...] = ()
    next: Checkpoint = Checkpoint()
    counts: Counts = Counts()
    bad_bytes: int = 0
    spooled: tuple[int, int] = (0, 0)
    """With shuffling: how many tokens and documents of the files beside the state count."""
    ordered: int | None = None
    """With shuffling, once everything is spooled: how many documents, in their new order, the finished shards have."""
    packed: int = 0
    """With packing: what of the next sequences' first document or window is in the finished shards
    (`crayon_hf.corpora.job.packing`)."""
    done: bool = False

    def save(self, path: str) -> None:
        """Replace the file, durably."""
        fields = {"schema": SCHEMA, **self._asdict(), "next": self.next._asdict(), "counts": self.counts._asdict()}
        storage.of(path).write(path, json.dumps(fields, separators=(",", ":")).encode())


def load(path: str) -> State | None:
    """The state in a file; None when there is no file. JobError for one that is not ours, or lists what is not."""
    data = storage.of(path).read(path)
    if data is None:
        return None
    try:
        fields = json.loads(data)
        if fields.pop("schema") != SCHEMA:
            raise ValueError("of another version")
        fields["next"], fields["counts"] = Checkpoint(**fields["next"]), Counts(**fields["counts"])
        fields["shards"], fields["spooled"] = tuple(fields["shards"]), tuple(fields["spooled"])
        state = State(**fields)
        name = re.escape(os.path.basename(path).removesuffix(".json"))
        listed(state.shards, state.request["format"], name)
        return state
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobError(
            f"{path} is not a state file of crayon-hf tokenize ({error}): remove it, and what was written there, "
            "or give --overwrite (overwrite=True)"
        ) from error
