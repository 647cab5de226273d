"""Which shards of an output are finished: a file that is replaced whole, after what it speaks of is on the disk.

A call that goes on reads all input again, and writes the documents behind those of the finished shards.

Layout beside the output ``OUT/NAME``::

    OUT/_crayon/NAME.json               the state
    OUT/_crayon/NAME.bad-records.jsonl  one JSON object for each bad record, in order; there when the state is done
    OUT/_crayon/NAME.hashes, .chosen    without duplicates: `crayon_hf.corpora.job.choosing`

The order of effects: a shard's files are written under temporary names, forced to the disk and renamed, and the
directory is forced to the disk, too; then the other files that the state names; then the state is replaced. So whatever
the state says is there. Files that it does not name may be there as well, and are written again, the same bytes.

Several processes may work on one output at once: the bytes of each file depend on its name and the request alone, and
each file appears whole. The first state is created only where there is none, so all of them have the same request. A
state is never replaced by one that says less, and no file is removed before the job's manifest is there: another
process may be about to read it.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

from crayon_hf.corpora import storage
from crayon_hf.corpora.job.owned_files import listed
from crayon_hf.corpora.storage import PLACE as PLACE
from crayon_hf.errors import JobError

SCHEMA = "crayon-hf/shard-state/3"


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

    def plus(self, other: Counts) -> Counts:
        """The sums."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


class State(NamedTuple):
    """All that is known of a shard's input. `shards` are those that are finished, as JSON values."""

    request: dict[str, Any]
    """What was asked for; another request does not go on from here."""
    shards: tuple[dict[str, Any], ...] = ()
    counts: Counts = Counts()
    """When it is done."""
    done: bool = False

    def as_bytes(self) -> bytes:
        """The contents of its file."""
        fields = {"schema": SCHEMA, **self._asdict(), "counts": self.counts._asdict()}
        return json.dumps(fields, separators=(",", ":")).encode()


def load(path: str) -> State | None:
    """The state in a file; None when there is no file. JobError for one that is not ours, or lists what is not."""
    data = storage.of(path).read(path)
    if data is None:
        return None
    try:
        fields = json.loads(data)
        if fields.pop("schema") != SCHEMA:
            raise ValueError("of another version")
        fields["counts"], fields["shards"] = Counts(**fields["counts"]), tuple(fields["shards"])
        state = State(**fields)
        name = re.escape(os.path.basename(path).removesuffix(".json"))
        listed(state.shards, state.request["format"], name)
        return state
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobError(
            f"{path} is not a state file of crayon-hf tokenize ({error}): remove it, and what was written there, "
            "or give --overwrite (overwrite=True)"
        ) from error
