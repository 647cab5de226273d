"""Minimise an input for which two tokenizers give different results: delta debugging over characters."""

from __future__ import annotations

import time
from collections.abc import Callable

from .records import Item

# Replacements that are easier to read, simplest first.
SIMPLE = "a 1."


class _Budget:
    def __init__(self, differs: Callable[[Item], bool], checks: int, seconds: float) -> None:
        self._differs = differs
        self._checks = checks
        self._deadline = time.monotonic() + seconds
        self._known: dict[Item, bool] = {}

    def spent(self) -> bool:
        return self._checks <= 0 or time.monotonic() > self._deadline

    def differs(self, item: Item) -> bool:
        """Whether the two sides' results for the item differ. False for new items once the budget is spent."""
        if item not in self._known:
            if self.spent():
                return False
            self._checks -= 1
            self._known[item] = self._differs(item)
        return self._known[item]


def minimise(item: Item, differs: Callable[[Item], bool], checks: int = 4000, seconds: float = 30.0) -> Item:
    """Shrink an item until removing any one character removes the difference, or until the budget is spent.

    ``differs`` says whether an item still shows the difference. It must be true for the given item. The budget is the
    number of calls of ``differs`` (``checks``) and the time.
    """
    budget = _Budget(differs, checks, seconds)
    before: Item | None = None
    while item != before and not budget.spent():
        before = item
        for part in range(len(item)):
            item = _remove(item, part, budget)
        for part in range(len(item)):
            item = _simplify(item, part, budget)
    return item


def _with(item: Item, part: int, text: str) -> Item:
    return (*item[:part], text, *item[part + 1 :])


def _remove(item: Item, part: int, budget: _Budget) -> Item:
    """Remove ever smaller pieces: halves, quarters, ... single characters."""
    size = len(item[part])
    while size >= 1:
        at = 0
        while at < len(item[part]):
            text = item[part]
            shorter = _with(item, part, text[:at] + text[at + size :])
            if budget.differs(shorter):
                item = shorter
            else:
                at += size
        size //= 2
    return item


def _simplify(item: Item, part: int, budget: _Budget) -> Item:
    """Replace unusual characters by simple ones: all occurrences at once, then single ones."""
    for ch in dict.fromkeys(item[part]):
        for simple in _simpler_than(ch):
            candidate = _with(item, part, item[part].replace(ch, simple))
            if budget.differs(candidate):
                item = candidate
                break
    for at in range(min(len(item[part]), 200)):
        text = item[part]
        for simple in _simpler_than(text[at]):
            candidate = _with(item, part, text[:at] + simple + text[at + 1 :])
            if budget.differs(candidate):
                item = candidate
                break
    return item


def _simpler_than(ch: str) -> str:
    at = SIMPLE.find(ch)
    return SIMPLE if at < 0 else SIMPLE[:at]
