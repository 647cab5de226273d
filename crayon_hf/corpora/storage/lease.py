"""The right to write to a part of a store, for as long as its holder says now and then that it is alive.

Objects, of which each is written once, by a request that fails where there is one already (``If-None-Match: *``)::

    PLACE/lock                  who has it: a random number, the machine, a locked file of that machine
    PLACE/lock.NUMBER           who took it over from the one of that number, when that one was silent for too long
    PLACE/lock.NUMBER.beat      what the one of that number replaces again and again

The last of that chain has the lease. Whoever wants it watches the last one's beats by its own clock, so clocks need
not agree. A holder that was silent for two thirds of the time looks whether it still has the lease before it changes
anything. Where the last one was on this machine, the system's lock on its file tells at once whether it and its workers
are gone. Who has taken it over from one who had taken it over puts that one's record in the place of the first.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from crayon_hf.corpora.storage import waiting
from crayon_hf.errors import CrayonError, JobError, StoreError
from crayon_hf.util.files import try_lock

_SECONDS = 60.0
_SETTLED = 2.0
"""Seconds that two who write the same object wait for each other, where a store has no conditional requests."""
_ENOUGH = 10
"""Times that of a lease, for which one who wants it waits at most."""
_OLD = 3600.0
"""Seconds after which nobody asks for a locked file any more."""
_NUMBER = re.compile("[0-9a-f]{16}")
_PATIENCE = 5.0
"""Seconds that a holder on this machine gets: workers of a killed job end within moments."""

_held: set[Lease] = set()
"""Of this process."""


def confirm(path: str) -> None:
    """Before a file is changed: StoreError if this process has lost the lease that lets it."""
    for lease in list(_held):
        if lease.covers(path):
            lease.confirm()


class LeaseStore(Protocol):
    """The requests of an object store that a lease makes."""

    has_conditions: bool | None
    """Whether the store creates a key only where there is none; None before the first try."""

    def read(self, path: str) -> bytes | None: ...

    def write(self, path: str, data: bytes) -> None: ...

    def create(self, path: str, data: bytes) -> bool: ...

    def remove(self, paths: Iterable[str]) -> None: ...


class _Holder(NamedTuple):
    """One of the chain."""

    key: str
    number: str
    machine: str
    file: str


class Lease:
    """A lease, and its beats in a thread until `release`. JobError while somebody else has it."""

    def __init__(self, store: LeaseStore, path: str, busy: str) -> None:
        """`path` is that of the lock, ``OUT/_crayon/NAME``; `busy` is what an error says."""
        self._store, self._path, self._busy = store, path, busy
        self._seconds = lease_seconds()
        self._number = os.urandom(8).hex()
        directory, _, name = path.rpartition("/")
        output, name = directory.rpartition("/")[0], name.removesuffix("lock")
        self._covered = f"{output}/{name.removesuffix('.')}", f"{directory}/{name}"
        self._file, self.descriptor = _locked_file(self._number)
        self._is_over, self._lock = threading.Event(), threading.Lock()
        self._is_lost = self._is_asked_for = False
        try:
            self._key, self._chain = self._take()
        except BaseException:
            self._let_go_of_file(not self._is_asked_for)
            raise
        _held.add(self)
        self._beats = threading.Thread(target=self._beat, name="crayon-lease", daemon=True)
        self._beats.start()

    @property
    def keys(self) -> tuple[str, ...]:
        """The paths of its objects."""
        numbers = (holder.number for holder in self._chain)
        return (*(holder.key for holder in self._chain), *(f"{self._path}.{number}.beat" for number in numbers))

    def covers(self, path: str) -> bool:
        """Whether only the holder may change a file."""
        return path.startswith(self._covered) and not path.startswith(self._path)

    def confirm(self) -> None:
        """StoreError if another has it."""
        with waiting.turn(self._lock):  # a beat may be asking a store that does not answer
            if not self._is_lost and time.monotonic() - self._alive > self._seconds * 2 / 3:
                self._renew()
            if self._is_lost:
                raise StoreError(
                    f"{self._path}: this process was silent for more than {self._seconds:.0f} s, and another one has "
                    "taken its work over: nothing more is written here"
                )

    def release(self, remove: bool = False) -> None:
        """Give it up, and `remove` has no meaning: there is nothing to hold on to."""
        if self.descriptor < 0:
            return
        self._is_over.set()
        _held.discard(self)
        is_gone = False
        try:
            with contextlib.suppress(CrayonError, waiting.Stopped), self._lock:  # there may be an error to tell already
                is_gone = self._give_back()
        finally:  # an interrupt as well: while we hold the file, nobody here takes the lease over
            self._let_go_of_file(is_gone)
        self._beats.join()

    def _give_back(self) -> bool:
        """Remove its objects. False: another has it."""
        if not self._is_lost and time.monotonic() - self._alive > self._seconds / 2:
            self._renew()
        if self._is_lost:
            self._store.remove([f"{self._path}.{self._number}.beat"])
            return False
        beats = [f"{self._path}.{holder.number}.beat" for holder in self._chain]
        self._store.remove(beats if self._has_beaten or len(beats) > 1 else [])
        for holder in self._chain:  # the first one first: without it nothing leads to the others
            self._store.remove([holder.key])
        return True

    # -- getting it

    def _take(self) -> tuple[str, list[_Holder]]:
        """The key of our record, and the chain that ends with it."""
        watched, since = "", 0.0
        beaten: bytes | None = None
        began = time.monotonic()
        while True:
            chain = self._walk()
            last = chain[-1] if chain else None
            if last is None or self._is_stale(last, watched, since):
                key = self._path if last is None else f"{self._path}.{last.number}"
                self._has_beaten, self._alive = False, time.monotonic()
                self._is_asked_for = True  # until it is known that we do not have it
                if self._create(key):
                    if last is None:
                        return key, [_Holder(key, self._number, _machine(), self._file)]
                    now = self._walk()
                    if now and now[-1].number == self._number:
                        _forget(last)
                        return key, self._shortened(now)
                    self._store.remove([key])  # the other one gave it back meanwhile: nothing leads to this record
                self._is_asked_for = False
                continue
            beat = self._beats_of(last)
            if last.number != watched:
                watched, beaten, since = last.number, beat, time.monotonic()
            elif beat != beaten:
                raise JobError(self._busy)
            if last.machine == _machine() and os.path.exists(last.file) and time.monotonic() - began > _PATIENCE:
                raise JobError(self._busy)
            if time.monotonic() - began > _ENOUGH * self._seconds:  # one after the other takes it
                raise JobError(self._busy)
            waiting.pause(min(1.0, self._seconds / 20))

    def _shortened(self, chain: list[_Holder]) -> list[_Holder]:
        """Have the one before us begin the chain: of a job that is killed again and again there would be a record for
        each time. Whoever reads the chain meanwhile finds its end in both."""
        *gone, before, own = chain
        if not gone:
            return chain
        data = self._store.read(before.key)
        if data is None:
            return chain
        self._store.write(self._path, data)
        self._store.remove([before.key, *(holder.key for holder in gone[1:])])
        self._store.remove(f"{self._path}.{holder.number}.beat" for holder in gone)
        return [before._replace(key=self._path), own]

    def _is_stale(self, last: _Holder, watched: str, since: float) -> bool:
        if last.number == watched and time.monotonic() - since > self._seconds:
            return True
        return last.machine == _machine() and _is_free(last)

    def _create(self, key: str) -> bool:
        record = {"number": self._number, "host": socket.gethostname(), "machine": _machine(), "file": self._file}
        data = json.dumps({**record, "process": os.getpid()}).encode()
        if self._store.has_conditions is not False and not self._store.create(key, data):
            return False
        if self._store.has_conditions is None:  # a second time must fail
            self._store.has_conditions = not self._store.create(key, data + b"\n")
        if self._store.has_conditions:
            return True
        # Whoever writes last has it: each waits until the other one's request has come as well, and looks.
        self._store.write(key, data)
        time.sleep(min(_SETTLED, self._seconds / 10))
        return self._store.read(key) == data

    def _walk(self) -> list[_Holder]:
        chain: list[_Holder] = []
        key = self._path
        while (data := self._store.read(key)) is not None:
            try:
                record = json.loads(data)
                holder = _Holder(key, str(record["number"]), str(record["machine"]), str(record["file"]))
                if not _NUMBER.fullmatch(holder.number):
                    raise ValueError("of another version")
            except (ValueError, KeyError, TypeError) as error:
                raise JobError(f"{key} is no lock of crayon-hf tokenize: remove it") from error
            chain.append(holder)
            key = f"{self._path}.{holder.number}"
        return chain

    def _beats_of(self, holder: _Holder) -> bytes | None:
        return self._store.read(f"{self._path}.{holder.number}.beat")

    # -- keeping it

    def _beat(self) -> None:
        waiting.give_up_at(self._is_over)
        while not self._is_over.wait(self._seconds / 4):
            with contextlib.suppress(CrayonError, waiting.Stopped), self._lock:  # whoever wants to write is told
                if not self._is_over.is_set() and not self._is_lost:
                    self._renew()

    def _renew(self) -> None:
        now = time.monotonic()
        self._has_beaten = True
        self._store.write(f"{self._path}.{self._number}.beat", str(now).encode())
        own, next = self._store.read(self._key), self._store.read(f"{self._path}.{self._number}")
        if own is None or json.loads(own)["number"] != self._number or next is not None:
            self._is_lost = True
        else:
            self._alive = now

    def _let_go_of_file(self, remove: bool) -> None:
        """Where the lease could not be given back, the file tells the next process here that nobody has it."""
        if self.descriptor >= 0:
            if remove:
                with contextlib.suppress(OSError):
                    os.unlink(self._file)
            os.close(self.descriptor)
            self.descriptor = -1


def lease_seconds() -> float:
    """How long a holder may be silent: the environment variable CRAYON_STORE_LEASE, else a minute."""
    given = os.environ.get("CRAYON_STORE_LEASE", "")
    try:
        seconds = float(given) if given else _SECONDS
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86400:
        raise ValueError(f"CRAYON_STORE_LEASE is {given!r}, expected seconds, from 1 to 86400")
    return seconds


def _locked_file(number: str) -> tuple[str, int]:
    """A file of this machine, and its descriptor, which workers inherit."""
    for path in glob.glob(os.path.join(tempfile.gettempdir(), "crayon-hf-*.lock")):  # of processes that were killed
        with contextlib.suppress(OSError):
            if time.time() - os.stat(path).st_mtime > _OLD and _is_free(_Holder("", _number_in(path), "", path)):
                os.unlink(path)
    descriptor, path = tempfile.mkstemp(prefix=f"crayon-hf-{number}-", suffix=".lock")
    if os.name != "nt":
        try_lock(descriptor)
    return path, descriptor


def _is_free(holder: _Holder) -> bool:
    """True when its file is there, and neither its process nor one that inherited it lives."""
    if os.name == "nt" or not os.path.basename(holder.file).startswith(f"crayon-hf-{holder.number}-"):
        return False
    try:
        descriptor = os.open(holder.file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return try_lock(descriptor)
    finally:
        os.close(descriptor)


def _number_in(path: str) -> str:
    return os.path.basename(path).split("-")[2]


def _forget(holder: _Holder) -> None:
    """Remove the file of one who is gone."""
    if holder.machine == _machine() and _is_free(holder):
        with contextlib.suppress(OSError):
            os.unlink(holder.file)


def _machine() -> str:
    """The same for all processes since the machine was started; empty where nobody knows."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return f"{socket.gethostname()}"
