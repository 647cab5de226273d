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

import contextlib
import json
import os
import re
from collections.abc import Iterable
from typing import Any

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.formats.output import ENDING
from crayon_hf.corpora.job.job_spec import plan
from crayon_hf.corpora.job.shard import written
from crayon_hf.corpora.job.state import PLACE, Counts, State, listed, load
from crayon_hf.corpora.job.summary import SCHEMA
from crayon_hf.errors import JobError, StoreError
from crayon_hf.util.files import final_name

_OURS = re.compile(r"\d{5,}\.(json|hashes|chosen|bad-records\.jsonl)")

_PLANNED = ("group_bytes", "shuffle", "seed")
_JOB = "job.json"
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
        if self._has(_JOB) or self.manifest() is not None:
            return
        try:
            there = set(self._storage.names(self.path))
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise JobError(f"{self.path} is not a directory: give another output") from None
        if not there <= {PLACE} or not all(_is_ours(name) for name in self._inside()):
            if self._has(_JOB):  # another process has just begun
                return
            names = ", ".join(sorted(there)[:3])
            raise JobError(f"{self.path} has files of other programs ({names}): give an empty or a new directory")

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of a finished job, or None. Raises JobError if it is damaged."""
        path = os.path.join(self.path, MANIFEST)
        found = self._read(path)
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            return None
        try:
            _listed(found)
            Counts(**found["counts"]), found["tokenizer"], [file for task in found["tasks"] for file in task["inputs"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise JobError(
                f"{path} is damaged, so the files of this job are unknown: give another output, or move this directory"
            ) from error
        return found

    def job(self) -> dict[str, Any] | None:
        """The request of an unfinished job, or None."""
        path = os.path.join(self.place, _JOB)
        found = self._read(path)
        if found is None and not self._storage.is_there(path):
            return None
        if not _is_job(found):
            raise JobError(f"{path} is damaged: begin anew with --overwrite (overwrite=True)")
        return dict(found)

    def states(self) -> dict[str, State]:
        """The states of tasks by name, except damaged ones."""
        found = {}
        names = [name for name in sorted(self._inside()) if re.fullmatch(r"\d{5,}\.json", name)]
        for name, state in zip(names, self._storage.map(self._state, names), strict=True):
            if state is not None:
                found[name.removesuffix(".json")] = state
        return found

    def _state(self, name: str) -> State | None:
        try:
            return load(os.path.join(self.place, name))
        except StoreError:  # the store failed; the state may exist
            raise
        except JobError:
            return None

    def belongings(self) -> list[str]:
        """The names of all files of the job, except its state."""
        done = self.manifest()
        if done is not None:
            lists = [BAD_RECORDS] if done["counts"]["bad_records"] else []
            return [MANIFEST, *lists, *_listed(done)]
        if not self._has(_JOB):
            return []
        states = self.states()
        files: list[str] = []
        if states and all(state.done for state in states.values()):  # then the merged files may exist already
            format = FORMATS[next(iter(states.values())).request["format"]]
            files += [BAD_RECORDS] if any(state.counts.bad_records for state in states.values()) else []
            files += format.merged_files
        for name, state in states.items():
            files += written(os.path.join(self.path, name), state)
        return files

    @property
    def is_settled(self) -> bool:
        """Whether no files of an unfinished job are left."""
        if self._storage.lists_all:
            return not self._has("")
        return not self._has(_JOB) and not any(map(_is_left, self._storage.names(self.place)))

    # -- changes

    def tidy_up(self) -> None:
        """Remove the leftovers of killed processes."""
        self.check()
        self._storage.remove_leftovers(self.path)

    def begin(self, request: dict[str, Any]) -> bool:
        """Claim the directory for a request. Return False if another process has claimed it."""
        try:
            self._storage.make(self.place)
            return self._storage.create(os.path.join(self.place, _JOB), json.dumps(request).encode())
        except FileNotFoundError:  # another process of the same job has just tidied up
            return False

    def go_on(self, request: dict[str, Any]) -> None:
        """Replace the job file by the request of a job that resumes it."""
        self._storage.write(os.path.join(self.place, _JOB), json.dumps(request).encode())

    def clear(self) -> None:
        """Remove an earlier job's files. States and manifest come last, so another run can continue the removal."""
        names = self.belongings()
        self._storage.remove_listed(self.path, [name for name in names if name != MANIFEST])
        self.settle()
        self._storage.remove([os.path.join(self.path, MANIFEST)])

    def clear_held_out(self) -> None:
        """Remove the held-out files of an earlier job."""
        aside = Directory(os.path.join(self.path, HELD_OUT))
        if aside.manifest() is None and aside.job() is None:
            return
        aside.tidy_up()
        aside.clear()
        with contextlib.suppress(OSError):  # the directory has files of other programs
            self._storage.drop(aside.path)

    def place_file(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file of the directory atomically."""
        self._storage.place(os.path.join(self.path, name), parts)

    def settle(self) -> None:
        """Remove the state of a job, `job.json` last. The manifest of a finished job exists already."""
        self._storage.remove_leftovers(self.path)
        self._storage.end_uploads(self.path)
        self._storage.remove(os.path.join(self.place, name) for name in self._inside() if _is_left(name))
        self._storage.remove([os.path.join(self.place, _JOB)])
        with contextlib.suppress(OSError):  # it has files of other programs, or of another process of this job
            self._storage.drop(self.place)

    def _inside(self) -> Iterable[str]:
        """Return the names in ``_crayon``, or for a store that cannot list them, all that the current job may write."""
        try:
            names = self._storage.names(self.place)
        except (FileNotFoundError, NotADirectoryError):
            return []
        if self._storage.lists_all:
            return names
        job = self._read(os.path.join(self.place, _JOB))
        if _is_job(job):
            tasks = plan(job, self.path)
            names += (f"{task.name}{ending}" for task in tasks for ending in (".json", ".bad-records.jsonl"))
        return set(names)

    def _has(self, name: str) -> bool:
        return self._storage.is_there(os.path.join(self.place, name) if name else self.place)

    def _read(self, path: str) -> Any:
        """Return the JSON of a file, or None if the file does not exist or is not JSON."""
        try:
            return json.loads(self._storage.read(path) or b"")
        except ValueError:
            return None


def _is_left(name: str) -> bool:
    """Whether a file in ``_crayon`` is the state of an unfinished job, or a leftover."""
    return bool(_OURS.fullmatch(name))


def _is_ours(name: str) -> bool:
    """Whether a file in ``_crayon`` is the job file, or the temporary file that becomes it."""
    return _JOB in (name, final_name(name, ENDING))


def _is_job(found: Any) -> bool:
    return isinstance(found, dict) and {"inputs", "tokenizer", "format", *_PLANNED} <= found.keys()


def _listed(manifest: dict[str, Any]) -> list[str]:
    """The token files that a manifest lists. Raises ValueError, KeyError or TypeError for a forged list."""
    format = manifest["settings"]["format"]
    merged = [file["name"] for file in manifest["merged"]]
    if not set(merged) <= set(FORMATS[format].merged_files):
        raise ValueError(f"{merged} are not files of the format {format}")
    return merged + listed([shard for task in manifest["tasks"] for shard in task["shards"]], format, r"\d{5,}")
