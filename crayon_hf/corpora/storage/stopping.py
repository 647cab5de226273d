"""Stop the work of a thread early: a caller sets an event, and the thread's next wait or check raises `Stopped`."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor


class Stopped(Exception):
    """The caller has stopped the work."""


class _Here(threading.local):
    stop: threading.Event | None = None


_here = _Here()


def stop_at(stop: threading.Event | None) -> None:
    """Make `stop` the event that ends the work of this thread, or None for no event."""
    _here.stop = stop


def stop_here() -> threading.Event | None:
    """The event that ends the work of this thread, or None."""
    return _here.stop


def check(stop: threading.Event | None = None) -> None:
    """Raise Stopped if `stop`, by default this thread's event, is set."""
    stop = stop or _here.stop
    if stop is not None and stop.is_set():
        raise Stopped


def pause(seconds: float) -> None:
    """Sleep, or raise Stopped as soon as the work is stopped."""
    if _here.stop is None:
        time.sleep(seconds)
    elif _here.stop.wait(seconds):
        raise Stopped


def helpers(count: int, name: str = "") -> ThreadPoolExecutor:
    """Return a pool of threads that are stopped with this thread."""
    return ThreadPoolExecutor(count, name, initializer=stop_at, initargs=(_here.stop,))
