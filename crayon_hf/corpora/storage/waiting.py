"""Waiting that ends early: whoever began a thread's work may give it up, and what the thread waits for then is over."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

_MOMENT = 1.0
"""Seconds."""


class Stopped(Exception):
    """Somebody else ended the work."""


class _Here(threading.local):
    stop: threading.Event | None = None


_here = _Here()
_given_up = threading.Event()
_given_up.set()


def give_up_at(stop: threading.Event | None) -> None:
    """From now on the work of this thread is given up when `stop` is set."""
    _here.stop = stop


def check() -> None:
    """Stopped, where the work of this thread is given up."""
    checked(_here.stop)


def checked(stop: threading.Event | None) -> None:
    """Stopped, where this is set."""
    if stop is not None and stop.is_set():
        raise Stopped


def stop_here() -> threading.Event | None:
    """What this thread's work is given up at."""
    return _here.stop


@contextlib.contextmanager
def in_haste() -> Iterator[None]:
    """Meanwhile no wait of this thread is worth it: each is Stopped."""
    before, _here.stop = _here.stop, _given_up
    try:
        yield
    finally:
        _here.stop = before


def pause(seconds: float) -> None:
    """Sleep. Stopped, at once, where the work of this thread is given up."""
    if _here.stop is None:
        time.sleep(seconds)
    elif _here.stop.wait(seconds):
        raise Stopped


@contextlib.contextmanager
def turn(lock: threading.Lock) -> Iterator[None]:
    """Have a lock. Stopped, where the work of this thread is given up and another has the lock for longer than
    moments."""
    while not lock.acquire(timeout=_MOMENT):
        check()
    try:
        yield
    finally:
        lock.release()


def helpers(count: int, name: str = "") -> ThreadPoolExecutor:
    """Threads that work for this one: their work is given up with its own."""
    return ThreadPoolExecutor(count, name, initializer=give_up_at, initargs=(_here.stop,))
