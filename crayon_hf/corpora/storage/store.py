"""An object store, by the file system that fsspec has for it: s3fs, gcsfs, adlfs, huggingface_hub, ...

A file is one object. A store shows it when its last byte has arrived, and replaces it at once, so there are no
temporary names. Files are made on a disk of this machine first. Nothing depends on a listing: what is there is asked
for by name.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora.formats import remove_leftovers
from crayon_hf.corpora.formats.output import OutputDirectory
from crayon_hf.corpora.storage import s3, waiting
from crayon_hf.corpora.storage.answers import patiently
from crayon_hf.corpora.storage.base import Desk, Item, Result, Storage
from crayon_hf.corpora.storage.lease import Lease, confirm
from crayon_hf.corpora.storage.local import PLACE
from crayon_hf.errors import JobError, MissingExtraError, StoreCredentialsError, StoreError
from crayon_hf.util.extras import how_to_install, needed

if TYPE_CHECKING:
    from crayon_hf.corpora.formats import Format, WrittenFile

_DRIVERS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure", "abfss": "azure",
            "adl": "azure", "hf": "hub"}  # fmt: skip
"""The extra that has the driver of a protocol."""
_PART = 16 << 20
_PARTS_AT_ONCE = 4
"""Bytes of a part of a large file, and how many are in memory; a file of less than two parts goes in one piece."""
_MOST_PARTS = 10_000
_AT_ONCE = 16
"""Small requests at a time."""
_CONFIRMED = 100
"""So many names of a listing are asked for one by one, in case it lags."""


def store_of(address: str) -> Store:
    """The store that an address is in. MissingExtraError without its driver."""
    return _store(address.partition("://")[0], os.getpid())


@functools.lru_cache(maxsize=8)
def _store(protocol: str, process: int) -> Store:
    """One of a kind in a process: a driver's threads do not outlive a fork."""
    with needed(f"{protocol}://", "corpora"):
        import fsspec
    extra = _DRIVERS.get(protocol)
    try:
        return Store(fsspec.filesystem(protocol), protocol)
    except ImportError as error:
        hint = how_to_install(extra) if extra else str(error)
        raise MissingExtraError(f"{protocol}://: its driver is not installed: {hint}", name=error.name) from error
    except ValueError as error:
        raise StoreError(f"{protocol}://: {error}") from error


class Store(Storage):
    """Objects of one kind of store. Every request is made again where that may help."""

    lists_all = False

    def __init__(self, system: Any, protocol: str) -> None:
        self.system, self._protocol = system, protocol
        self.has_conditions: bool | None = None
        """Whether `create` fails where there is an object already; None: nobody has tried."""

    def read(self, path: str) -> bytes | None:
        path = _key(path)
        try:
            if s3.is_s3(self.system):
                return patiently(path, lambda: s3.read(self.system, path))
            self.system.invalidate_cache()
            return bytes(patiently(path, lambda: self.system.cat_file(path)))
        except (FileNotFoundError, IsADirectoryError):
            return None

    def write(self, path: str, data: bytes) -> None:
        path = _key(path)
        self._change(path, lambda: self.system.pipe_file(path, data))

    def _change(self, path: str, call: Callable[[], Any], writes: bool = True) -> None:
        """A request that changes something, while we may: each time it is made."""

        def once() -> None:
            confirm(path)
            call()

        patiently(path, once, writes)

    def create(self, path: str, data: bytes) -> bool:
        """Write an object, unless there is one; False then. What is there is `data` or another's, whatever answer is
        lost: the caller's `data` has to be its own. A store without such a request just writes it."""
        path = _key(path)
        refused: StoreError | None = None
        try:
            patiently(path, lambda: self.system.pipe_file(path, data, mode="create"), writes=True)
            return True
        except FileExistsError:
            pass
        except StoreCredentialsError:
            raise
        except StoreError as error:  # some drivers have no error of their own for what is there
            refused = error
        if refused is not None and isinstance(refused.__cause__, (TypeError, ValueError, NotImplementedError)):
            self.has_conditions = False
            self.write(path, data)
            return True
        found = self.read(path)
        if found is None and refused is not None:
            raise refused
        return found == data

    def put(self, path: str, source: str) -> None:
        """Upload a file of this machine: large ones in parts, which nobody sees until all are there, and between which
        the work of this thread may be given up."""
        path = _key(path)
        size = os.path.getsize(source)
        part = _PART if size <= _PART * _MOST_PARTS else size // _MOST_PARTS + (1 << 20) >> 20 << 20
        how: dict[str, Any] = {}
        if self._protocol in ("s3", "s3a"):
            how = {"chunksize": part, "max_concurrency": _PARTS_AT_ONCE, "callback": _parts_sent()}
        elif self._protocol in ("gs", "gcs"):
            how = {"chunksize": part, "callback": _parts_sent()}
        self._change(path, lambda: self.system.put_file(source, path, **how))

    def place(self, path: str, parts: Iterable[bytes], temporary: str) -> None:
        with _scratch(path) as directory:
            name = os.path.join(directory, "whole")
            with open(name, "wb") as file:
                file.writelines(parts)
            self.put(path, name)

    def is_there(self, path: str) -> bool:
        return self.size(path) >= 0

    def size(self, path: str) -> int:
        path = _key(path)
        try:
            if s3.is_s3(self.system):
                return patiently(path, lambda: s3.size(self.system, path))
            self.system.invalidate_cache()
            found = patiently(path, lambda: self.system.info(path))
        except (FileNotFoundError, NotADirectoryError):
            return -1
        return int(found["size"] or 0) if found["type"] == "file" else -1

    def names(self, directory: str) -> list[str]:
        directory = _key(directory)
        self.system.invalidate_cache()
        try:
            found = patiently(directory, lambda: self.system.find(directory))
        except FileNotFoundError:
            return []
        inside = self.system._strip_protocol(directory).rstrip("/") + "/"
        keys = [name[len(inside) :] for name in found if name.startswith(inside)]
        if len(keys) <= _CONFIRMED:
            are_there = self.map(lambda key: self.is_there(f"{directory}/{key}"), keys)
            keys = [key for key, is_there in zip(keys, are_there, strict=True) if is_there]
        return sorted({key.partition("/")[0] for key in keys})

    def inside(self, path: str) -> list[str] | None:
        return self.names(path) or None

    def remove(self, paths: Iterable[str]) -> None:
        for _ in self.map(self._remove, list(paths)):
            pass

    def _remove(self, path: str) -> None:
        path = _key(path)
        with contextlib.suppress(FileNotFoundError):
            self._change(path, lambda: self.system.rm_file(path), writes=False)

    def remove_listed(self, directory: str, names: Sequence[str]) -> None:
        self.remove(f"{directory}/{name}" for name in names)

    def make(self, directory: str) -> None:
        """A bucket is its owner's to make."""

    def drop(self, directory: str) -> None:
        """It is gone with its last object."""

    def sync(self, directory: str) -> None:
        """What was answered is stored."""

    def remove_leftovers(self, directory: str, names: Collection[str] | None = None) -> None:
        directory = _key(directory)
        for name in names or ("manifest.json",):  # another's uploads are not ours to abort
            confirm(f"{directory}/{name}")
        s3.abort(self.system, directory, names)
        if names is None:
            _remove_scratch()

    def remove_halves(self, directory: str, names: Collection[str]) -> None:
        """There are none."""

    def written(self, format: Format, prefix: str) -> list[str]:
        return format.written(prefix, self.is_there)

    def merge(self, format: Format, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        if not format.merged_files:
            return []
        with _scratch(directory) as place:
            names = [f"{shard}/{name}" for shard in shards for name in format.merged_files]
            for _ in self.map(functools.partial(self._fetch, directory, place), names):
                pass
            merged = format.merge(place, shards)
            for file in merged:
                self.put(f"{directory}/{file.name}", os.path.join(place, file.name))
        return merged

    def _fetch(self, directory: str, place: str, name: str) -> None:
        data = self.read(f"{directory}/{name}")
        if data is None:
            raise JobError(f"{directory}/{name} was done, and is gone: --overwrite (overwrite=True) begins anew")
        path = os.path.join(place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    @contextlib.contextmanager
    def desk(self, output: str, goes_on: Callable[[], bool]) -> Iterator[Desk]:
        output = _key(output)
        with _scratch(output) as directory:
            yield _Desk(self, output, directory, goes_on)

    def lease(self, path: str, busy: str) -> Lease:
        return Lease(self, _key(path), busy)

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        if len(items) < 2:
            return [function(item) for item in items]
        with waiting.helpers(min(_AT_ONCE, len(items))) as threads:
            return list(threads.map(function, items))


class _Desk(Desk):
    """A directory of this machine, which ends with the work."""

    keeps = False

    def __init__(self, store: Store, output: str, directory: str, goes_on: Callable[[], bool]) -> None:
        self._store, self._directory, self._goes_on = store, directory, goes_on
        place, name = output.rpartition("/")[::2]
        self.beside = os.path.join(directory, "beside", name)
        self._kept = f"{place}/{PLACE}"
        for part in ("beside", "shard"):
            os.mkdir(os.path.join(directory, part))
        self._published = 0

    def prefix(self, prefix: str) -> str:
        return os.path.join(self._directory, "shard", _key(prefix).rpartition("/")[2])

    def publish(self, prefix: str, files: Sequence[WrittenFile]) -> None:
        directory = _key(prefix).rpartition("/")[0]
        targets = [f"{directory}/{file.name}" for file in files]
        may_be_ours = self._goes_on() and not self._published
        if not may_be_ours:
            for target in targets:
                if self._store.is_there(target):
                    raise _taken(target)
        elif len(targets) > 1:  # an older index must never be beside new tokens
            self._store.remove(targets[-1:])
        self._published += 1
        for target, file in zip(targets, files, strict=True):
            waiting.check()
            source = os.path.join(self._directory, "shard", *file.name.split("/"))
            self._store.put(target, source)
            os.unlink(source)

    def fetch(self, path: str) -> None:
        data = self._store.read(f"{self._kept}/{os.path.basename(path)}")
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)

    def keep(self, path: str) -> None:
        self._store.put(f"{self._kept}/{os.path.basename(path)}", path)


def _parts_sent() -> Any:
    """What a driver tells of each part that it has sent, in a thread of its own: it ends an upload that is given up."""
    from fsspec.callbacks import Callback

    stop = waiting.stop_here()
    return Callback(hooks={"stop": lambda size, sent, **_: waiting.checked(stop)})


def _key(path: str) -> str:
    """An address whose parts `os.path.join` has put together, whatever this system has between them."""
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _taken(path: str) -> JobError:
    """The error for a file in our way."""
    return JobError(f"{path} is there, and nothing says that it is ours: move it, or give another output")


def _remove_scratch() -> str:
    """Where directories of this machine are made, without what killed processes left there."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = os.path.join(tempfile.gettempdir(), f"crayon-hf-{user}")
    os.makedirs(shared, mode=0o700, exist_ok=True)
    remove_leftovers(shared)
    return shared


@contextlib.contextmanager
def _scratch(output: str) -> Iterator[str]:
    """A directory of this machine, for a while."""
    shared = _remove_scratch()
    directory = OutputDirectory(os.path.join(shared, re.sub(r"\W+", "-", output)[-40:]))
    try:
        yield directory.make()
    finally:
        directory.discard()
