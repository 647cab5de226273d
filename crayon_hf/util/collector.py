"""The cyclic garbage collector."""

from __future__ import annotations

import gc
import os
import threading


class CollectorPause:
    """The collector rests while such a block runs in some thread, and is then on again if it was on.

    A vocabulary becomes a hundred thousand tuples and strings. The collector would look through them again and again as
    they are made, which takes as long as making them, and finds nothing. What others say to `gc` meanwhile is undone.

    Example:
        >>> with CollectorPause():
        ...     merges = [(str(i), str(-i)) for i in range(100_000)]
    """

    _lock = threading.Lock()
    _running = 0
    _was_on = False

    def __enter__(self) -> None:
        with CollectorPause._lock:
            CollectorPause._running += 1  # before the collector is off: another thread may fork
            if CollectorPause._running == 1:
                CollectorPause._was_on = gc.isenabled()
                gc.disable()

    def __exit__(self, *error: object) -> None:
        with CollectorPause._lock:
            if not CollectorPause._running:
                return  # a block that a fork has cut
            if CollectorPause._running == 1 and CollectorPause._was_on:
                gc.enable()
            CollectorPause._running -= 1

    @classmethod
    def _in_a_fork(cls) -> None:
        """The threads that had such blocks are not in the child."""
        cls._lock = threading.Lock()
        if cls._running and cls._was_on:
            gc.enable()
        cls._running = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CollectorPause._in_a_fork)
