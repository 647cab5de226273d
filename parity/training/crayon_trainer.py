"""CRAYON's published trainer, built from the source in its package, and a search for merges that are not BPE's.

``crayon/c_ext/trainer.cpp`` drops a pair from its queue if its count has changed, while BPE puts it back with the new
count. Such a pair is merged only if its count grows again later.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NotBuiltError", "Slip", "first_slip", "trainer"]

Merge = tuple[int, int]
"""The two ids that a merge joins. Ids below 256 are bytes, and later ids are merges by rank."""

_NAME = "crayon_trainer"


class NotBuiltError(RuntimeError):
    """CRAYON's trainer is not installed, or no compiler is available."""


@contextmanager
def trainer() -> Iterator[Any]:
    """Build the trainer: ``train(data, vocab_size, min_freq)`` returns its merges by rank."""
    found = find_spec("crayon")
    folders = list(found.submodule_search_locations or []) if found else []
    sources = [path for folder in folders if (path := Path(folder) / "c_ext" / "trainer.cpp").is_file()]
    if not sources:
        raise NotBuiltError("xerv-crayon is not installed: pip install xerv-crayon==5.3.8")
    with TemporaryDirectory(prefix="crayon-trainer-") as directory:
        target = os.path.join(directory, _NAME + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))
        compiler = os.environ.get("CXX", "c++")
        command = [compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-w", f"-I{sysconfig.get_paths()['include']}"]
        command += ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        try:
            built = subprocess.run([*command, str(sources[0]), "-o", target], capture_output=True, text=True)
        except OSError as error:
            raise NotBuiltError(f"no compiler for {sources[0]}: {error}") from None
        if built.returncode != 0:
            raise NotBuiltError(f"{sources[0]} does not compile: {built.stderr.strip().splitlines()[-1:]}")
        spec = spec_from_file_location(_NAME, target)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)

        def train(data: bytes, vocab_size: int, min_freq: int = 2) -> list[Merge]:
            if not data:
                return []
            return [pair for pair, _ in module.train_fast(data, vocab_size, min_freq)]

        yield train


@dataclass(frozen=True)
class Slip:
    """A wrong merge: its pair was not the most frequent one."""

    rank: int
    pair: tuple[bytes, bytes]
    count: int
    best: tuple[bytes, bytes]
    best_count: int

    def __str__(self) -> str:
        return (
            f"merge {self.rank} is {self.pair[0]!r} {self.pair[1]!r}, {self.count} times in the text, "
            f"while {self.best[0]!r} {self.best[1]!r} is there {self.best_count} times"
        )


def first_slip(data: bytes, merges: Sequence[Merge], limit: int | None = None, ended: int | None = None) -> Slip | None:
    """Apply the merges to the text, and find the first one that BPE would never do, regardless of ties and overlaps.

    Such a merge is of a pair that occurs less often than another pair of two different tokens. At most ``limit`` merges
    are tried. ``ended`` is the least count of a pair that must be merged. If given, ending before such a pair is merged
    is a slip.
    """
    ids: npt.NDArray[np.int64] = np.frombuffer(data, np.uint8).astype(np.int64)
    spelled = [bytes([byte]) for byte in range(256)]
    for rank, (left, right) in enumerate(merges[:limit]):
        size = len(spelled)
        counts = np.bincount(ids[:-1] * size + ids[1:], minlength=size * size)
        count = int(counts[left * size + right])
        counts[:: size + 1] = 0  # runs of one token overlap
        best = int(counts.argmax())
        if counts[best] > count:
            names = (spelled[left], spelled[right]), (spelled[best // size], spelled[best % size])
            return Slip(rank, names[0], count, names[1], int(counts[best]))
        ids = _merged(ids, left, right, size)
        spelled.append(spelled[left] + spelled[right])
    if ended is not None and (limit is None or len(merges) <= limit) and len(ids) > 1:
        size = len(spelled)
        counts = np.bincount(ids[:-1] * size + ids[1:], minlength=size * size)
        counts[:: size + 1] = 0
        best = int(counts.argmax())
        if counts[best] >= ended:
            return Slip(len(merges), (b"", b""), 0, (spelled[best // size], spelled[best % size]), int(counts[best]))
    return None


def _merged(ids: npt.NDArray[np.int64], left: int, right: int, product: int) -> npt.NDArray[np.int64]:
    """Return the ids with each pair `left`, `right` replaced by `product`. If pairs overlap, replace the first."""
    at = np.flatnonzero((ids[:-1] == left) & (ids[1:] == right))
    if left == right and len(at):
        starts = np.flatnonzero(np.diff(at, prepend=-2) != 1)
        run = np.arange(len(at)) - np.repeat(starts, np.diff(starts, append=len(at)))
        at = at[run % 2 == 0]
    ids = ids.copy()
    ids[at] = product
    return np.delete(ids, at + 1)
