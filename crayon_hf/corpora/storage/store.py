"""Object stores through fsspec's file systems: s3fs, gcsfs, adlfs, huggingface_hub, ...

A file is one object. Stores publish and replace objects atomically, so temporary names are not needed. Files are
written to a local disk first.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from crayon_hf.corpora.formats import WrittenFile, remove_leftovers
from crayon_hf.corpora.formats.output import workplace
from crayon_hf.corpora.storage import s3, stopping
from crayon_hf.corpora.storage.answers import patiently
from crayon_hf.corpora.storage.local import Item, Result, Storage
from crayon_hf.errors import MissingExtraError, StoreCredentialsError, StoreError
from crayon_hf.util.extras import how_to_install, needed

_DRIVERS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure", "abfss": "azure",
            "adl": "azure", "hf": "hub"}  # fmt: skip
"""The extra of this package that installs a protocol's driver."""
_PART = 16 << 20
_PARTS_AT_ONCE = 4
"""Bytes of a part of a multipart upload, and parts in memory at a time. Files under two parts are uploaded whole."""
_MOST_PARTS = 10_000
_AT_ONCE = 16
"""Small requests that run at a time."""


def store_of(address: str) -> Store:
    """The store of an address. Raises MissingExtraError without its driver."""
    return _store(address.partition("://")[0], os.getpid())


@functools.lru_cache(maxsize=8)
def _store(protocol: str, process: int) -> Store:
    """One store of each protocol in a process, because the threads of a driver do not survive a fork."""
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
    """Objects of one kind of store. Requests that fail are retried."""

    def __init__(self, system: Any, protocol: str) -> None:
        self.system, self._protocol = system, protocol

    def read(self, path: str) -> bytes | None:
        path = _key(path)
        try:
            if s3.is_s3(self.system):
                return patiently(path, lambda: s3.read(self.system, path))
            self.system.invalidate_cache()
            return bytes(patiently(path, lambda: self.system.cat_file(path)))
        except (FileNotFoundError, IsADirectoryError):
            return None

    def create(self, path: str, data: bytes) -> bool:
        """Create an object with ``If-None-Match: *``, which fails if it exists. The object is read afterwards, because
        answers may be lost and servers may ignore the condition."""
        path = _key(path)
        try:
            patiently(path, lambda: self.system.pipe_file(path, data, mode="create"), writes=True)
        except FileExistsError:
            pass
        except StoreCredentialsError:
            raise
        except StoreError as error:
            if self.read(path) is None:  # otherwise the object exists, for which the driver has no error of its own
                if not isinstance(error.__cause__, (TypeError, ValueError, NotImplementedError)):
                    raise
                self.place(path, [data])  # the driver has no conditional write
        return self.read(path) == data

    def put(self, path: str, source: str) -> None:
        """Upload a local file. Large ones go in parts, which become visible together. Stopping this thread's work ends
        the upload between two parts."""
        path = _key(path)
        size = os.path.getsize(source)
        part = _PART if size <= _PART * _MOST_PARTS else size // _MOST_PARTS + (1 << 20) >> 20 << 20
        how: dict[str, Any] = {}
        if self._protocol in ("s3", "s3a"):
            how = {"chunksize": part, "max_concurrency": _PARTS_AT_ONCE, "callback": _parts_sent()}
        elif self._protocol in ("gs", "gcs"):
            how = {"chunksize": part, "callback": _parts_sent()}
        patiently(path, lambda: self.system.put_file(source, path, **how), writes=True)

    def place(self, path: str, parts: Iterable[bytes]) -> None:
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
        return sorted({name[len(inside) :].partition("/")[0] for name in found if name.startswith(inside)})

    def inside(self, path: str) -> list[str] | None:
        return self.names(path) or None

    def remove(self, paths: Iterable[str]) -> None:
        for _ in self.map(self._remove, list(paths)):
            pass

    def _remove(self, path: str) -> None:
        path = _key(path)
        with contextlib.suppress(FileNotFoundError):
            patiently(path, lambda: self.system.rm_file(path))

    def make(self, directory: str) -> None:
        """Do nothing: buckets are created by their owners, and directories need no creation."""

    def drop(self, directory: str) -> None:
        """Do nothing: a directory disappears with its last object."""

    def remove_leftovers(self, directory: str) -> None:
        _remove_scratch()

    def end_uploads(self, directory: str) -> None:
        s3.abort(self.system, _key(directory))

    @contextlib.contextmanager
    def workplace(self, directory: str) -> Iterator[str]:
        with _scratch(_key(directory)) as place:
            yield place

    def publish(self, workplace: str, directory: str, files: Sequence[WrittenFile]) -> None:
        for file in files:
            stopping.check()
            source = os.path.join(workplace, *file.name.split("/"))
            self.put(f"{directory}/{file.name}", source)
            os.unlink(source)

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterable[Result]:
        if len(items) < 2:
            return [function(item) for item in items]
        with stopping.helpers(min(_AT_ONCE, len(items))) as threads:
            return list(threads.map(function, items))


def _parts_sent() -> Any:
    """A callback that drivers call after each part, in their own threads. It ends the upload if its work is stopped."""
    from fsspec.callbacks import Callback

    stop = stopping.stop_here()
    return Callback(hooks={"stop": lambda size, sent, **_: stopping.check(stop)})


def _key(path: str) -> str:
    """The address with ``/`` between its parts, where `os.path.join` uses another separator."""
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _remove_scratch() -> str:
    """Remove the scratch directories of killed processes. Return the parent of all scratch directories."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = os.path.join(tempfile.gettempdir(), f"crayon-hf-{user}")
    os.makedirs(shared, mode=0o700, exist_ok=True)
    remove_leftovers(shared)
    return shared


@contextlib.contextmanager
def _scratch(output: str) -> Iterator[str]:
    """A temporary local directory for files of `output`."""
    with workplace(os.path.join(_remove_scratch(), re.sub(r"\W+", "-", output)[-40:])) as place:
        yield place
