"""The pulled profiles, in one directory of the search path.

Layout::

    NAME.json, NAME.dat        relative symbolic links into .pulled, or copies where the system has no links
    .pulled/<digest>/          tokenizer.json, tokenizer.dat, and record.json with their origin and digests. <digest> is
                               the SHA-256 of record.json. Never changed
    .pulled/lock               held by the process that changes the directory; released when it dies

A new directory is written to disk under a temporary name and then renamed; then NAME.json is replaced, then NAME.dat. A
process that opens the profile between these two steps finds the new source and the old cartridge. It then compiles the
new source (`opening.open_found`). Temporary files found by the holder of the lock were left by a process that died.

A directory without a link is removed by the next pull, not by the pull that replaced its link. Another process may have
resolved the old link without having opened the file yet.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from crayon_hf.cartridges.search_path import files_of, home_directory, search_path
from crayon_hf.errors import HubError
from crayon_hf.util.files import final_name, sync_directory, temporary_path, write_atomic

JSON, CARTRIDGE, RECORD = "tokenizer.json", "tokenizer.dat", "record.json"
_KINDS = {".json": JSON, ".dat": CARTRIDGE}  # in the order of replacement

PLACE = ".pulled"
_INTO = re.compile(rf"{re.escape(PLACE)}[/\\]([0-9a-f]{{64}})[/\\](?:{re.escape(JSON)}|{re.escape(CARTRIDGE)})")
_NAME = re.compile(r"[0-9a-f]{64}")
_LOCK_SECONDS = 60.0


class Record(NamedTuple):
    """The origin of a pulled profile. `reason` says why `origin` is "compiled" (here) and not "repository"."""

    repo: str
    revision: str
    commit: str
    origin: str
    reason: str | None
    files: Mapping[str, Mapping[str, Any]]
    """The ``sha256`` and the ``bytes`` of each file."""

    def write(self) -> bytes:
        """The record as JSON; equal records give equal bytes."""
        fields = {"schema": "crayon-hf/pulled/1", **self._asdict()}
        return json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


class Installed(NamedTuple):
    """An installed profile. `changed` is False if it already existed with the same content."""

    cartridge: Path
    source: Path
    changed: bool


def default_directory() -> Path:
    """Return the first entry of ``CRAYON_PROFILE_DIR``, or the user's own profile directory if the variable is not set.

    Raise HubError for a user without a home.
    """
    override = [entry for entry in os.environ.get("CRAYON_PROFILE_DIR", "").split(os.pathsep) if entry]
    directory = Path(override[0]) if override else home_directory()
    if directory is None:
        raise HubError("this user has no home directory: name a directory with --directory or CRAYON_PROFILE_DIR")
    return directory


def describe(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return the entry `files` of a `Record`: the digest and size of each file."""
    return {name: {"sha256": sha256(data).hexdigest(), "bytes": len(data)} for name, data in sorted(files.items())}


def record_of(path: str | os.PathLike[str]) -> Record | None:
    """Return the record of a profile's file, or None for a file that was not pulled."""
    file = Path(path)
    kind = _KINDS.get(file.suffix)
    store = Store(file.parent)
    digest = None if kind is None else store._digest_of(file, kind)
    return None if digest is None else store._record(digest)


class Store:
    """One directory of profiles, into which `pull` installs."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(os.path.abspath(directory))
        self.place = self.directory / PLACE

    def check(self, name: str, repo: str, force: bool = False) -> None:
        """Raise HubError if the name `name` has a profile from another repository, or one that was not pulled.

        `force` permits replacing such a profile in this directory. It does not permit a profile of that name earlier in
        the search path, or a directory or special file in the way.
        """
        for suffix in _KINDS:
            path = self.directory / f"{name}{suffix}"
            if os.path.lexists(path) and not path.is_symlink() and not path.is_file():
                what = "a directory" if path.is_dir() else "not a regular file"
                raise HubError(
                    f"{repo}: {path} is {what}, but the profile needs that path: move it, or give another name (--name)"
                )
        for directory in _before(self.directory):
            if taken := files_of(name, directory):
                raise HubError(
                    f"{repo}: {taken[0]} comes earlier in the search path and would be found instead of a profile "
                    f"{name!r} in {self.directory}: give another name (--name)"
                )
        if force:
            return
        for path in files_of(name, self.directory):
            digest = self._digest_of(path, _KINDS[path.suffix])
            if digest is None:
                raise HubError(
                    f"{repo}: {path} was not pulled, and would be overwritten: give another name (--name), or --force"
                )
            record = self._record(digest)
            if record is not None and record.repo != repo:
                raise HubError(
                    f"{repo}: the profile {name!r} in {self.directory} was pulled from {record.repo}: give another "
                    "name (--name), or --force"
                )

    def install(self, name: str, record: Record, files: Mapping[str, bytes], force: bool = False) -> Installed:
        """Install a profile, replacing one of its name. If that fails, raise HubError and change nothing.

        `files` are the contents of `JSON` and `CARTRIDGE`, which `record` describes.
        """
        paths = {suffix: self.directory / f"{name}{suffix}" for suffix in _KINDS}
        data = record.write()
        digest = sha256(data).hexdigest()
        try:
            self.place.mkdir(parents=True, exist_ok=True)
            with self._locked(record.repo):
                self.check(name, record.repo, force)
                held = [self._digest_of(path, _KINDS[suffix]) for suffix, path in paths.items()]
                self._tidy(keep={digest, *filter(None, held)})
                changed = self._stage(digest, {**files, RECORD: data}) or held != [digest, digest]
                if changed:
                    self._replace({path: os.path.join(PLACE, digest, _KINDS[suffix]) for suffix, path in paths.items()})
                    sync_directory(str(self.directory))
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            raise HubError(
                f"{record.repo}: the profile {name!r} cannot be stored in {self.directory}: "
                f"{error.strerror or error}{where}"
            ) from error
        return Installed(paths[".dat"], paths[".json"], changed)

    # -- reading

    def _digest_of(self, path: Path, kind: str) -> str | None:
        """Return the name of the directory in `PLACE` that a file links to or is a copy from.

        Return None for a file that no pull has made.
        """
        if path.is_symlink():
            match = _INTO.fullmatch(os.readlink(path))
            return match[1] if match and os.readlink(path).endswith(kind) else None
        try:
            size, found = path.stat().st_size, ""
            for digest in self._digests():
                record = self._record(digest)
                if record is not None and record.files[kind]["bytes"] == size:
                    found = found or sha256(path.read_bytes()).hexdigest()
                    if record.files[kind]["sha256"] == found:
                        return digest
        except OSError:
            pass  # missing or unreadable
        return None

    def _digests(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.place) if _NAME.fullmatch(name))
        except OSError:
            return []

    def _record(self, digest: str) -> Record | None:
        try:
            data = (self.place / digest / RECORD).read_bytes()
            if sha256(data).hexdigest() != digest:
                return None
            fields = json.loads(data)
            return Record(**{key: fields[key] for key in Record._fields})
        except (OSError, ValueError, KeyError):
            return None

    # -- changing, with the lock held

    @contextlib.contextmanager
    def _locked(self, repo: str) -> Iterator[None]:
        from filelock import FileLock, Timeout  # huggingface_hub needs it, too

        try:
            with FileLock(str(self.place / "lock"), timeout=_LOCK_SECONDS):
                yield
        except Timeout as error:
            raise HubError(f"{repo}: another pull is at work in {self.directory}: try again") from error

    def _stage(self, digest: str, files: Mapping[str, bytes]) -> bool:
        """Write or repair the directory `digest` with these files. Return whether anything was written."""
        target = self.place / digest
        if target.is_dir():
            damaged = {name: data for name, data in files.items() if not _is(target / name, data)}
            for name, data in damaged.items():
                write_atomic(target / name, data)
            return bool(damaged)
        stage = Path(temporary_path(str(target)))
        try:
            stage.mkdir()
            for name, data in files.items():
                write_atomic(stage / name, data)
            stage.rename(target)
        except BaseException:
            shutil.rmtree(stage, ignore_errors=True)
            raise
        sync_directory(str(self.place))
        return True

    def _replace(self, names: Mapping[Path, str]) -> None:
        """Replace each path by a link to its new target. All links are made before the first replacement.

        So a full disk leaves the old files in place.
        """
        temporary = {path: Path(temporary_path(str(path))) for path in names}
        try:
            for path, leads_to in names.items():
                try:
                    os.symlink(leads_to, temporary[path])
                except (OSError, NotImplementedError):  # the system has no links, or does not permit them
                    _copy(self.directory / leads_to, temporary[path])
            for path in names:
                self._point(path, temporary[path])
        except BaseException:
            for left in temporary.values():
                with contextlib.suppress(OSError):
                    left.unlink()
            raise

    def _point(self, path: Path, temporary: Path) -> None:
        os.replace(temporary, path)

    def _tidy(self, keep: set[str]) -> None:
        """Remove the temporary files of processes that died, and the directories without a link."""
        with contextlib.suppress(OSError):
            for path in self.directory.iterdir():
                if final_name(path.name) is not None and not path.is_dir():
                    path.unlink()
                elif path.suffix in _KINDS and (digest := self._digest_of(path, _KINDS[path.suffix])):
                    keep.add(digest)
            for path in self.place.iterdir():
                is_old = _NAME.fullmatch(path.name) and path.name not in keep
                if is_old or final_name(path.name) is not None:
                    shutil.rmtree(path, ignore_errors=True)


def _before(directory: Path) -> list[Path]:
    """Return the directories before this one in the search path, or an empty list if this one is not in the path."""
    places = search_path()
    real = [os.path.realpath(place) for place in places]
    where = os.path.realpath(directory)
    return places[: real.index(where)] if where in real else []


def _is(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


def _copy(source: Path, target: Path) -> None:
    with open(source, "rb") as reader, open(target, "xb") as writer:
        shutil.copyfileobj(reader, writer)
        writer.flush()
        os.fsync(writer.fileno())
