"""The output directory of a job: its owner, its files, and its reuse by another job.

Layout:

- ``OUT/00000.bin`` ...: token files of the format
- ``OUT/manifest.json``: describes the token files; written last
- ``OUT/held-out/``: a directory of the same layout for held-out documents
- ``OUT/bad-records.jsonl``: bad records, if any
- ``OUT/_crayon/job.json``: the request, while the job is not finished
- ``OUT/_crayon/00000.json`` ...: states of tasks (`crayon_hf.corpora.job.state`)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.formats.output import ENDING
from crayon_hf.corpora.job.state import JOB, PLACE, Counts, load, own_files, remove_files
from crayon_hf.corpora.job.summary import SCHEMA
from crayon_hf.errors import JobError
from crayon_hf.util.files import final_name

OUTPUTS = r"\d{5,}"
"""The names of tasks."""
_STATES = re.compile(r"\d{5,}\.(json|hashes|chosen|bad-records\.jsonl)")
HELD_OUT = "held-out"
MANIFEST, BAD_RECORDS = "manifest.json", "bad-records.jsonl"


class Directory:
    """The output directory of a job. Several processes may run the same job in it at once.

    The job file claims the directory; it is created only if none exists. From then on every file has the same bytes,
    whichever process writes it. The manifest comes last, and the job file is removed after it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.place = os.path.join(path, PLACE)
        self._storage = storage.of(path)

    # -- ownership

    def check(self) -> None:
        """Raise JobError if the directory has files of other programs."""
        if self._has(JOB) or self.manifest() is not None:
            return
        try:
            there = set(self._storage.names(self.path))
        except NotADirectoryError:
            raise JobError(f"{self.path} is not a directory: give another output") from None
        # the temporary file that becomes the job file may be there
        is_new = there <= {PLACE} and all(JOB in (name, final_name(name, ENDING)) for name in self._inside())
        if not is_new and not self._has(JOB):  # else another process has just begun
            names = ", ".join(sorted(there)[:3])
            raise JobError(f"{self.path} has files of other programs ({names}): give an empty or a new directory")

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of a finished job, or None. Raises JobError if it is damaged."""
        path = os.path.join(self.path, MANIFEST)
        found = _parsed(self._storage.read(path) or b"")
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            return None
        try:
            FORMATS[found["settings"]["format"]], found["settings"]["max_tokens_per_shard"], Counts(**found["counts"])
            [(task["inputs"], shard["name"], file["name"], file["bytes"])
             for task in found["tasks"] for shard in task["shards"] for file in shard["files"]]  # fmt: skip
            found["tokenizer"], [file["bytes"] for file in found["merged"]]
        except (KeyError, TypeError) as error:
            raise _damaged(path) from error
        return found

    def job(self) -> dict[str, Any] | None:
        """The request of an unfinished job, or None."""
        path = os.path.join(self.place, JOB)
        data = self._storage.read(path)  # once: another process may create the file meanwhile
        if data is None:
            return None
        found = _parsed(data)
        needed = {"inputs", "tokenizer", "group_bytes", "shuffle", "seed", "max_tokens_per_shard"}
        if not isinstance(found, dict) or not needed <= found.keys() or found.get("format") not in FORMATS:
            raise _damaged(path)
        return found

    def has_finished_tasks(self) -> bool:
        """Whether a task of the unfinished job is finished."""
        paths = [os.path.join(self.place, name) for name in self._inside() if re.fullmatch(r"\d{5,}\.json", name)]
        return any(state is not None and state.done for state in self._storage.map(load, paths))

    def belongings(self) -> list[str]:
        """The names of all files of the job, except its state and manifest. Readers look for the first ones first."""
        done = self.manifest()
        request = self.job() if done is None else done["settings"]
        if request is None:
            return []
        lists = [BAD_RECORDS] if done is None or done["counts"]["bad_records"] else []
        return [*merged_files(request["format"]), *lists, *own_files(self.path, request, OUTPUTS)]

    @property
    def is_settled(self) -> bool:
        """Whether no files of an unfinished job are left."""
        return not self._has("") and not self._inside()

    # -- changes

    def tidy_up(self) -> None:
        """Remove the leftovers of killed processes."""
        self.check()
        self._storage.remove_leftovers(self.path)

    def begin(self, request: dict[str, Any]) -> bool:
        """Claim the directory for a request. Return False if another process has claimed it."""
        try:
            self._storage.make(self.place)
            return self._storage.create(os.path.join(self.place, JOB), json.dumps(request).encode())
        except FileNotFoundError:  # another process of the same job has just tidied up
            return False

    def clear(self) -> None:
        """Remove an earlier job's files. States and manifest come last, so another run can continue the removal."""
        remove_files(self.path, self.belongings())
        self.settle()
        self._storage.remove([os.path.join(self.path, MANIFEST)])

    def clear_held_out(self) -> None:
        """Remove the held-out files of an earlier job."""
        aside = Directory(os.path.join(self.path, HELD_OUT))
        if aside.manifest() is None and aside.job() is None:
            return
        aside.tidy_up()
        aside.clear()
        self._storage.drop(aside.path)

    def place_file(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file of the directory atomically."""
        self._storage.place(os.path.join(self.path, name), parts)

    def settle(self) -> None:
        """Remove the state of a job, `job.json` last. The manifest of a finished job exists already."""
        self._storage.remove_leftovers(self.path)
        self._storage.end_uploads(self.path)
        self._storage.remove(os.path.join(self.place, name) for name in self._inside() if _STATES.fullmatch(name))
        self._storage.remove([os.path.join(self.place, JOB)])
        self._storage.drop(self.place)  # unless it has files of other programs, or of another process of this job

    def _inside(self) -> list[str]:
        """Return the names in ``_crayon``."""
        try:
            return self._storage.names(self.place)
        except NotADirectoryError:
            return []

    def _has(self, name: str) -> bool:
        return self._storage.is_there(os.path.join(self.place, name) if name else self.place)


def _parsed(data: bytes) -> Any:
    """The value of a JSON document, or None if it is damaged."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def merged_files(format: str) -> list[str]:
    """The names of the files that describe all shards."""
    return [name] if (name := FORMATS[format].merged_file) else []


def _damaged(path: str) -> JobError:
    return JobError(
        f"{path} is damaged, so the files of this job are unknown: give another output, or move this directory"
    )
