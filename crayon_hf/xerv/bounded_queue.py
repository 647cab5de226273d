"""Bounded queues between threads, which can be ended, cancelled, and kept in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Ended(Exception):
    """Nothing can be put any more, or nothing will come any more."""


class Channel(Generic[T]):
    """Waits without polling: for room, for an item, or for the end."""

    def __init__(self, capacity: int) -> None:
        self._capacity: float = capacity
        # Reentrant, since the garbage collector may cancel a pipeline wherever its thread happens to be.
        self._lock = threading.RLock()
        self._changed_for_putters = threading.Condition(self._lock)
        self._changed_for_getters = threading.Condition(self._lock)
        self._items: deque[T] = deque()
        self._is_ended = False

    def put(self, item: T, timeout: float | None = None, admit: Callable[[T], bool] | None = None) -> bool:
        """False when there was no room in time.

        `admit` is called once there is room, before anybody can get the item; when it says no, the item is dropped.
        """
        with self._lock:
            if not self._changed_for_putters.wait_for(lambda: self._is_ended or self._has_room(item), timeout):
                return False
            if self._is_ended:
                raise Ended
            if admit is None or admit(item):
                self._add(item)
                self._changed_for_getters.notify_all()
            return True

    def get(self, timeout: float | None = None) -> T:
        """The next item. TimeoutError when none came in time."""
        with self._lock:
            if not self._changed_for_getters.wait_for(lambda: self._is_ended or self._has_next(), timeout):
                raise TimeoutError
            if not self._has_next():
                raise Ended
            item = self._take()
            self._changed_for_putters.notify_all()
            return item

    def end(self) -> None:
        """Take no more items. Those that are here can still be got."""
        with self._lock:
            self._is_ended = True
            self._wake_all()

    def cancel(self) -> None:
        """`end`, and forget what is here."""
        with self._lock:
            self._items.clear()
            self.end()

    def unbound(self) -> None:
        """Take any number of items from now on."""
        with self._lock:
            self._capacity = float("inf")
            self._wake_all()

    def discard(self, unwanted: Callable[[T], bool]) -> None:
        """Forget some of the items."""
        with self._lock:
            kept = [item for item in self._items if not unwanted(item)]
            self._items.clear()
            self._items.extend(kept)
            self._wake_all()

    def __len__(self) -> int:
        return len(self._items)

    def _wake_all(self) -> None:
        self._changed_for_putters.notify_all()
        self._changed_for_getters.notify_all()

    def _has_room(self, item: T) -> bool:
        return len(self._items) < self._capacity

    def _has_next(self) -> bool:
        return bool(self._items)

    def _add(self, item: T) -> None:
        self._items.append(item)

    def _take(self) -> T:
        return self._items.popleft()


class OrderedChannel(Channel[Any]):
    """Gives items in the order of their numbers (0, 1, 2, ...), whatever order they are put in.

    An item waits for room while it is `capacity` numbers or more ahead of the next one. That one always has room, and
    was taken from the channel before this one first: so whoever has it is not waiting here, and nothing is stuck.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._next = 0
        self._early: dict[int, Any] = {}

    def cancel(self) -> None:
        with self._lock:
            self._early.clear()
            self.end()

    def __len__(self) -> int:
        return len(self._early)

    def _has_room(self, item: Any) -> bool:
        return bool(item.number < self._next + self._capacity)

    def _has_next(self) -> bool:
        return self._next in self._early

    def _add(self, item: Any) -> None:
        self._early[item.number] = item

    def _take(self) -> Any:
        item = self._early.pop(self._next)
        self._next += 1
        return item
