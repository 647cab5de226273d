"""Watch the memory of all processes of a job, and their reads and writes, from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from threading import Thread

from crayon_hf.parity.speed.child.memory import sizes_of

__all__ = ["Watch"]

_EVERY = 0.05


class Watch:
    """Watches a process and its descendants until it has ended, and then kills the remaining ones."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        """The most memory of all processes together, shared pages counted once."""
        self.moved: dict[int, int] = {}
        """The bytes that each process read and wrote, as far as the samples show."""

    def begin(self, pid: int) -> None:
        """Start watching the process `pid` and its descendants, in a thread."""
        Thread(target=self._look, args=[pid], daemon=True).start()

    def _look(self, pid: int) -> None:
        tree = {pid: 0.0}
        while found := self._tree(pid):
            tree = found
            self.peak_mb = max(self.peak_mb, sum(tree.values()))
            time.sleep(_EVERY)
        for each in tree.keys() - {pid}:  # workers of a killed process would keep its pipe open
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)

    def _tree(self, pid: int) -> dict[int, float]:
        """Return the megabytes of the process `pid` and of each descendant, with shared pages divided among them.

        Also note how much each process has read and written.
        """
        found: dict[int, float] = {}
        left = [pid]
        while left:
            each = left.pop()
            with contextlib.suppress(OSError, ValueError, KeyError):  # it has just ended
                found[each] = sizes_of(each)["Pss"]
                of = Path(f"/proc/{each}")
                calls = dict(line.split(": ") for line in (of / "io").read_text(encoding="ascii").splitlines())
                self.moved[each] = int(calls["rchar"]) + int(calls["wchar"])
                for task in (of / "task").iterdir():
                    left += map(int, (task / "children").read_text(encoding="ascii").split())
        return found
