"""The output directory of a job: whose it is, what is in it, and how it becomes another job's.

Layout::

    OUT/00000.bin ...                   token files, as the format has them
    OUT/manifest.json                   what they are; it is there when all of them are
    OUT/held-out/                       such a directory of its own, with what was held out
    OUT/bad-records.jsonl               bad records, if there were any
    OUT/_crayon/job.json                what was asked for, while the job is not done
    OUT/_crayon/lock                    held by the job and by each of its workers
    OUT/_crayon/removing.json           what is being removed, while it is
    OUT/_crayon/00000.json ...          states of tasks (`crayon_hf.corpora.job.state`)
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from typing import Any

from crayon_hf.corpora.formats import FORMATS, remove_leftovers
from crayon_hf.corpora.job.locks import Lock
from crayon_hf.corpora.job.owned_files import listed, remove_listed
from crayon_hf.corpora.job.shard import written
from crayon_hf.corpora.job.state import PLACE, Counts, State, load
from crayon_hf.corpora.job.summary import SCHEMA
from crayon_hf.errors import JobError
from crayon_hf.util.files import final_name, remove_files, sync_directory, write_atomic

_OURS = re.compile(
    r"\d{5,}\.(json|lock|tokens|ends|hashes|hashes\.part|chosen|bad-records\.jsonl)|manifest|bad-records"
)
_PLANNED = ("group_bytes", "shuffle", "seed")
_JOB, _LOCK, _REMOVING = "job.json", "lock", "removing.json"
HELD_OUT = "held-out"
MANIFEST, BAD_RECORDS = "manifest.json", "bad-records.jsonl"


class Directory:
    """An output directory, of a job or to become one's. Nothing in it is changed before `lock`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.place = os.path.join(path, PLACE)
        self._held: Lock | None = None

    # -- whose it is

    def check(self) -> None:
        """JobError for a directory with files that are not a job's."""
        try:
            there = set(os.listdir(self.path))
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise JobError(f"{self.path} is not a directory: give another output") from None
        if there <= {PLACE} and all(self._is_ours(name) for name in self._inside()):
            return
        if {_JOB, _REMOVING}.isdisjoint(self._inside()) and self.manifest() is None:
            names = ", ".join(sorted(there)[:3])
            raise JobError(f"{self.path} has files of others ({names}): give an empty or a new directory")

    def manifest(self) -> dict[str, Any] | None:
        """What is said of a job that is done. JobError where that is no whole manifest."""
        path = os.path.join(self.path, MANIFEST)
        found = _read(path)
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            return None
        try:
            _listed(found)
            Counts(**found["counts"]), found["tokenizer"], [file for task in found["tasks"] for file in task["inputs"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise JobError(
                f"{path} is damaged ({type(error).__name__}: {error}), so it is not known what is this job's: give "
                "another output, or move it and what is beside it"
            ) from error
        return found

    def job(self) -> dict[str, Any] | None:
        """What was asked for, while it is not done."""
        path = os.path.join(self.place, _JOB)
        found = _read(path)
        if not os.path.lexists(path):
            return None
        if not isinstance(found, dict) or not {"inputs", "tokenizer", "format", *_PLANNED} <= found.keys():
            raise JobError(f"{path} is damaged: begin anew with --overwrite (overwrite=True)")
        return found

    def states(self) -> dict[str, State]:
        """Of the tasks that have begun, by their names; without those that are damaged."""
        found = {}
        for name in sorted(self._inside()):
            if re.fullmatch(r"\d{5,}\.json", name):
                with contextlib.suppress(JobError):
                    state = load(os.path.join(self.place, name))
                    if state is not None:
                        found[name.removesuffix(".json")] = state
        return found

    def belongings(self) -> list[str]:
        """The files in it that are ours, as they are to be removed."""
        done = self.manifest()
        if done is not None:
            lists = [BAD_RECORDS] if done["counts"]["bad_records"] else []
            return [MANIFEST, *lists, *_listed(done)]
        if not os.path.lexists(os.path.join(self.place, _JOB)):
            return []
        states = self.states()
        files: list[str] = []
        if states and all(state.done for state in states.values()):  # then these may be there already
            format = FORMATS[next(iter(states.values())).request["format"]]
            files += [BAD_RECORDS] if any(state.counts.bad_records for state in states.values()) else []
            files += format.merged_files
        for name, state in states.items():
            files += written(os.path.join(self.path, name), state)
        return files

    @property
    def is_settled(self) -> bool:
        """True when nothing of a job at work is there."""
        return not os.path.lexists(self.place)

    def lock(self) -> int:
        """Make the directory, and be the only one who works in it; the descriptor of the lock."""
        self.check()
        busy = f"{self.path} is being written by another process: wait for it, or stop it"
        self._held = Lock(os.path.join(self.place, _LOCK), busy)
        self.check()
        if os.path.lexists(os.path.join(self.place, _REMOVING)):
            self._remove()
        remove_leftovers(self.path)
        merged = {name for format in FORMATS.values() for name in format.merged_files}
        remove_files(os.path.join(self.path, name) for name in os.listdir(self.path) if final_name(name) in merged)
        return self._held.descriptor

    def unlock(self) -> None:
        """Let go of it, and leave nothing that workers left who were stopped."""
        if self._held is not None:
            with contextlib.suppress(OSError):  # there may be an error to tell already
                remove_leftovers(self.path)
            self._held.release(remove=not os.path.lexists(os.path.join(self.place, _JOB)))
            with contextlib.suppress(OSError):  # something is in it
                os.rmdir(self.place)
            self._held = None

    # -- changing it, with the lock held

    def begin(self, request: dict[str, Any]) -> None:
        """From now on it is this job's."""
        write_atomic(os.path.join(self.place, _JOB), json.dumps(request).encode())
        sync_directory(self.path)

    def clear(self) -> None:
        """Remove what a job of ours wrote. Once it has begun, it is ended by whoever locks the directory next."""
        names = self.belongings()
        if names or os.path.lexists(os.path.join(self.place, _JOB)):
            write_atomic(os.path.join(self.place, _REMOVING), json.dumps({"names": names}).encode())
            self._remove()

    def clear_held_out(self) -> None:
        """Remove what an older job of this directory held out."""
        aside = Directory(os.path.join(self.path, HELD_OUT))
        if aside.manifest() is None and aside.job() is None:
            return
        aside.lock()
        try:
            aside.clear()
        finally:
            aside.unlock()
        with contextlib.suppress(OSError):  # somebody else's file is in it
            os.rmdir(aside.path)

    def place_file(self, name: str, parts: Iterable[bytes]) -> None:
        """Write a file of the directory, which is there whole or not at all."""
        temporary = os.path.join(self.place, name.partition(".")[0])
        with open(temporary, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, os.path.join(self.path, name))
        sync_directory(self.path)

    def settle(self) -> None:
        """The job is done and its manifest in place: remove what was needed to go on, `job.json` last."""
        self._tidy()
        remove_files([os.path.join(self.place, _JOB)])

    def _remove(self) -> None:
        path = os.path.join(self.place, _REMOVING)
        removing = _read(path)
        names = removing.get("names") if isinstance(removing, dict) else None
        if not isinstance(names, list):
            raise JobError(f"{path} is damaged: remove {self.path} yourself")
        remove_listed(self.path, names)
        remove_leftovers(self.path)
        self._tidy()
        remove_files([os.path.join(self.place, _JOB)])
        remove_files([path])

    def _tidy(self) -> None:
        ours = (name for name in self._inside() if _OURS.fullmatch(name) or final_name(name) is not None)
        remove_files(os.path.join(self.place, name) for name in ours)

    def _inside(self) -> list[str]:
        try:
            return os.listdir(self.place)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _is_ours(self, name: str) -> bool:
        return name in (_JOB, _LOCK, _REMOVING) or final_name(name) in (_JOB, _REMOVING)


def _listed(manifest: dict[str, Any]) -> list[str]:
    """The files that a manifest lists. ValueError and the like for one that no job writes."""
    format = manifest["settings"]["format"]
    merged = [file["name"] for file in manifest["merged"]]
    if not set(merged) <= set(FORMATS[format].merged_files):
        raise ValueError(f"{merged} are not files of the format {format}")
    return merged + listed([shard for task in manifest["tasks"] for shard in task["shards"]], format, r"\d{5,}")


def _read(path: str) -> Any:
    """The JSON in a file; None where there is none."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.read())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
