"""`CollectorPause`, which pauses Python's garbage collector during a block of code."""

from __future__ import annotations

import gc
import os
import threading


class CollectorPause:
    """Pauses the garbage collector while any thread is in such a block, then restores it.

    A vocabulary becomes a hundred thousand tuples and strings. The collector would scan them again and again, which
    doubles the time and frees nothing. Calls of `gc.disable` during the pause are undone.

    Example:
        >>> with CollectorPause():
        ...     merges = [(str(i), str(-i)) for i in range(100_000)]
    """

    _lock = threading.Lock()
    _running = 0
    _was_on = False

    def __enter__(self) -> None:
        with CollectorPause._lock:
            CollectorPause._running += 1  # before gc.disable(): another thread may fork in between
            if CollectorPause._running == 1:
                CollectorPause._was_on = gc.isenabled()
                gc.disable()

    def __exit__(self, *error: object) -> None:
        with CollectorPause._lock:
            if not CollectorPause._running:
                return  # a fork inside the block has reset the count
            if CollectorPause._running == 1 and CollectorPause._was_on:
                gc.enable()
            CollectorPause._running -= 1

    @classmethod
    def _in_a_fork(cls) -> None:
        """Reset the pause: the threads that had such blocks do not exist in the child."""
        cls._lock = threading.Lock()
        if cls._running and cls._was_on:
            gc.enable()
        cls._running = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CollectorPause._in_a_fork)
