"""Replaces attributes of another library temporarily."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from crayon_hf.util.import_hooks import no_longer, when_imported

_ABSENT: Any = object()
_lock = threading.RLock()
_replaced: dict[tuple[int, str], Replacement] = {}


class Replacement:
    """Replaces one attribute between `put` and `take_back`.

    The program imports `module`, now or later; this class never does. `owner` is the name of a class in the module, or
    empty for the module's own attributes.
    """

    def __init__(self, module: str, owner: str, name: str, make: Callable[[Any, Replacement], Any]) -> None:
        """`make(original, self)` returns the replacement. It receives the original attribute as in ``__dict__``.

        Code that has imported or wrapped the replacement keeps it after `take_back`. So it must act like the original
        while `is_wanted` is false.
        """
        self.module = module
        self.owner = owner
        self.name = name
        self.is_wanted = False
        self._make = make
        self._stock = self._ours = self._home = _ABSENT

    def put(self) -> None:
        """Replace the attribute now, or as soon as the module is imported. Idempotent."""
        self.is_wanted = True
        when_imported(self.module, self.owner or self.name, self._put)

    def take_back(self) -> None:
        """Undo `put`, unless another library has replaced the attribute since."""
        self.is_wanted = False
        no_longer(self.module, self._put)
        with _lock:
            if self._home is _ABSENT:
                return
            _replaced.pop((id(self._home), self.name), None)
            if vars(self._home).get(self.name, _ABSENT) is self._ours:
                if self._stock is _ABSENT:
                    delattr(self._home, self.name)
                else:
                    setattr(self._home, self.name, self._stock)
            self._stock = self._ours = self._home = _ABSENT

    def state(self) -> str:
        """Return the state in words."""
        if self.module not in sys.modules:
            return f"waits for the import of {self.module.partition('.')[0]}"
        if self._home is not _ABSENT and vars(self._home).get(self.name, _ABSENT) is self._ours:
            return "in place"
        home = sys.modules[self.module]
        if not hasattr(getattr(home, self.owner, None) if self.owner else home, self.name):
            return "not in this version"
        return "not in place: other code has replaced it"

    def _put(self) -> None:
        module = sys.modules[self.module]
        home: Any = getattr(module, self.owner) if self.owner else module
        with _lock:
            there = vars(home).get(self.name, _ABSENT)
            if there is not _ABSENT and there is self._ours:
                return
            bases = home.__mro__ if isinstance(home, type) else (home,)
            seen = next((vars(base)[self.name] for base in bases if self.name in vars(base)), _ABSENT)
            if seen is _ABSENT:
                return  # this version of the library lacks the attribute
            self._home, self._stock, self._ours = home, there, self._make(seen, self)
            _replaced[id(home), self.name] = self
            setattr(home, self.name, self._ours)


def stock(home: Any, name: str) -> Any:
    """Return the attribute `name` of a class or a module without our replacement."""
    with _lock:
        replacement = _replaced.get((id(home), name))
        if replacement is None or replacement._stock is _ABSENT:
            return getattr(home, name)
        raw = replacement._stock
    return raw.__get__(None, home) if isinstance(home, type) and hasattr(raw, "__get__") else raw


def like(seen: Any, ours: Callable[..., Any]) -> Any:
    """Give the function `ours` the name, documentation and signature of `seen`, as a class method if `seen` is one."""
    kind = type(seen) if isinstance(seen, (classmethod, staticmethod)) else None
    named = wraps(seen.__func__ if kind else seen)(ours)
    return kind(named) if kind else named
