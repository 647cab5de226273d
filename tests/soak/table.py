"""What was done: operations, errors, differences."""

from __future__ import annotations

import collections
import contextlib
import threading
import traceback
from collections.abc import Iterator
from typing import Any

COLUMNS = ("times", "comparisons", "expected_errors", "unexpected_errors", "differences")
KEPT = 20
"""Faults that are told in full."""


class Difference(AssertionError):
    """Ours is not what the reference gave."""


class Count:
    """What one run of an operation found, before it is added to the table."""

    def __init__(self) -> None:
        self.comparisons = self.expected_errors = 0

    def same(self, ours: Any, wanted: Any, what: str) -> None:
        """Compare. Difference says where the two part."""
        self.comparisons += 1
        if ours != wanted:
            raise Difference(f"{what}: {_parting(ours, wanted)}")

    @contextlib.contextmanager
    def refused(self, *errors: type[BaseException]) -> Iterator[None]:
        """What is inside has to raise one of these errors."""
        try:
            yield
        except errors:
            self.expected_errors += 1
        else:
            raise Difference(f"nothing was raised, expected {' or '.join(error.__name__ for error in errors)}")


def _parting(ours: Any, wanted: Any) -> str:
    if isinstance(ours, (list, str)) and isinstance(wanted, (list, str)):
        at = next((i for i, (a, b) in enumerate(zip(ours, wanted, strict=False)) if a != b), -1)
        if at < 0:
            return f"{len(ours)} items, expected {len(wanted)}"
        return f"item {at} is {ours[at]!r:.300}, expected {wanted[at]!r:.300}"
    return f"{ours!r:.300}, expected {wanted!r:.300}"


class Table:
    """Counts by operation, from any thread."""

    def __init__(self) -> None:
        self.rows: dict[str, collections.Counter[str]] = {}
        self.faults: list[str] = []
        self._lock = threading.Lock()

    def add(self, name: str, count: Count, error: BaseException | None) -> None:
        """One run of an operation, and what it raised."""
        with self._lock:
            row = self.rows.setdefault(name, collections.Counter())
            row["times"] += 1
            row["comparisons"] += count.comparisons
            row["expected_errors"] += count.expected_errors
            if error is None:
                return
            row["differences" if isinstance(error, Difference) else "unexpected_errors"] += 1
            if len(self.faults) < KEPT:
                self.faults.append(f"{name}: " + "".join(traceback.format_exception(error)))

    @property
    def is_clean(self) -> bool:
        return not any(row["differences"] or row["unexpected_errors"] for row in self.rows.values())

    def totals(self) -> dict[str, int]:
        return {column: sum(row[column] for row in self.rows.values()) for column in COLUMNS}

    def as_text(self) -> str:
        """The table, in Markdown."""
        names = [column.replace("_", " ") for column in COLUMNS]
        lines = ["| operation | " + " | ".join(names) + " |", "|---|" + "---:|" * len(COLUMNS)]
        rows = [*sorted(self.rows.items()), ("all", collections.Counter(self.totals()))]
        for name, row in rows:
            lines.append(f"| {name} | " + " | ".join(f"{row[column]:,}" for column in COLUMNS) + " |")
        return "\n".join(lines)
