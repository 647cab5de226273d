"""Speed and memory beside other engines: ``python -m crayon_hf.parity.bench``, ``crayon-hf bench``.

Every figure comes from a process of its own, so that caches are cold in the first pass; ids are compared before
anything is timed; rounds are interleaved, so that a slow minute of the machine hits all engines alike.
"""

from __future__ import annotations

from ..harness.references import find
from .command import Bench, from_options, main, run_bench, write
from .machine import machine_lines
from .measuring import BenchError

__all__ = ["Bench", "BenchError", "find", "from_options", "machine_lines", "main", "run_bench", "write"]
