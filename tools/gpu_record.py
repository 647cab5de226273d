"""The build's record of its GPU engines: crayon_hf/device/engines.json, which crayon_hf/device/engines.py reads.

pip hides the output of a build. The record tells an installed package why it lacks an engine.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

NAME = "crayon_hf/device/engines.json"
_LONGEST = 300
# error: | error #20208-D: | fatal error: | nvcc fatal   : | ld: cannot find -lx
_ERROR = re.compile(r"\berror(?: #[\w-]+)? ?:|\bfatal\s*:|\bld(?:\.\w+)?: (?!warning)")


def first_error(said: str) -> str:
    """Return the first error line of a compiler's output, shortened, or its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("ninja: ")]
    line = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "it said nothing")
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


class Record:
    """For each device of `Tokenizer.to`: the architectures of its engine, or why it is missing."""

    def __init__(self) -> None:
        self._engines: dict[str, dict[str, Any]] = {}

    def built(self, device: str, architectures: list[str]) -> None:
        self._engines[device] = {"architectures": architectures}

    def left_out(self, device: str, why: str, build_with: str) -> None:
        """Record that the build did not try the engine. `build_with` says what a build with it needs."""
        self._engines[device] = {"left_out": why, "build_with": build_with}

    def failed(self, device: str, compiler: str, said: str) -> None:
        """Record that the build of the engine failed. `said` is the compiler's output."""
        self._engines[device] = {"failed": f"{compiler} failed: {first_error(said)}"}

    def write(self, root: Path) -> None:
        """Write the record into the package in `root`."""
        path = root / NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self._engines, indent=1, sort_keys=True) + "\n", encoding="utf-8")
