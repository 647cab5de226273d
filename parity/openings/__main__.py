"""Open each directory with stock transformers and with ours in turn, in a fresh process and with an empty cache.

Ours opens a directory in three ways: with a cartridge beside the tokenizer.json, without a cartridge, and without a
cartridge and with a read-only cache. The exit status is 1 when ids differ or the cartridge is not used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from crayon_hf.cartridges.cache import SETTLED_NS
from crayon_hf.formats import convert, write
from crayon_hf.parity.inputs.texts import shared_directory
from crayon_hf.parity.speed.machine import cpu_model
from crayon_hf.util.markdown import table

AGREED, DIFFERED, MISUSED = 0, 1, 2
STOCK, CARTRIDGE, NONE, UNUSABLE = WAYS = "stock", "cartridge", "no cartridge", "no cache"
CHILD = str(Path(__file__).with_name("child.py"))
ROOT = str(Path(__file__).parents[2])


@dataclass
class Openings:
    """The results for one directory: for each way of opening, a row of `child` for each round."""

    name: str
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {way: [] for way in WAYS})

    @property
    def fault(self) -> str:
        """Why the figures do not count. Empty if they count."""
        if any(row["ids"] != self.rows[STOCK][0]["ids"] for rows in self.rows.values() for row in rows):
            return "other ids"
        origins = {row["origin"] for row in self.rows[CARTRIDGE]}
        return "" if origins == {"repository"} else f"the cartridge is not used: {self.rows[CARTRIDGE][0]['refused']}"

    def cells(self, figure: str) -> list[str]:
        """A row of the table: stock's seconds, and for each way the seconds and the median ratio of the rounds."""
        stock = [row[figure] for row in self.rows[STOCK]]
        cells = [self.name, self.rows[STOCK][0]["class"], f"{median(stock):.3f}"]
        for way in WAYS[1:]:
            ours = [row[figure] for row in self.rows[way]]
            ratio = median(mine / theirs for mine, theirs in zip(ours, stock, strict=True))
            cells.append(f"{median(ours):.3f} ({ratio:.2f})")
        return cells


def opened(python: str, way: str, directory: Path, cache: Path) -> dict[str, Any]:
    """Run `child` for one opening, in a process and a cache of its own."""
    kept = cache / "file" / "in" if way == UNUSABLE else Path(tempfile.mkdtemp(dir=cache))
    (cache / "file").touch()
    environment = {**os.environ, "CRAYON_CACHE_DIR": str(kept), "PYTHONPATH": ROOT, "HF_HUB_OFFLINE": "1"}
    module = "transformers" if way == STOCK else "crayon_hf"
    command = [python, "-W", "ignore", CHILD, module, str(directory)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{way}, {directory}: {done.stderr.strip().splitlines()[-1]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def measure(directories: Sequence[Path], rounds: int, python: str) -> Iterator[Openings]:
    """Open each directory in all ways in each round."""
    with tempfile.TemporaryDirectory(prefix="crayon-openings-") as folder:
        work = Path(folder)
        for directory in directories:
            plain, beside = work / "plain" / directory.name, work / "beside" / directory.name
            write(convert(directory), beside, cartridge=True)
            shutil.copytree(beside, plain)
            (plain / "tokenizer.dat").unlink()
            time.sleep(SETTLED_NS / 1e9 + 0.1)  # the cache does not trust files that have just changed
            found = Openings(directory.name)
            for number in range(rounds):
                for way in WAYS if number % 2 else WAYS[::-1]:
                    found.rows[way].append(opened(python, way, beside if way == CARTRIDGE else plain, work))
            yield found


def versions(python: str) -> str:
    """The versions of an interpreter and its libraries, for the heading."""
    code = "import platform, transformers, tokenizers; print(platform.python_version(), transformers.__version__, "
    done = subprocess.run([python, "-c", f"{code}tokenizers.__version__)"], capture_output=True, text=True, check=True)
    of_python, of_transformers, of_tokenizers = done.stdout.split()[-3:]
    return f"Python {of_python}, transformers {of_transformers}, tokenizers {of_tokenizers}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m parity.openings", description=__doc__)
    parser.add_argument("directories", nargs="*", type=Path, help="default: those of $CRAYON_SHARED/vocab")
    parser.add_argument("--rounds", type=int, default=5, help="how often each way is measured (default: 5)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with another transformers")
    options = parser.parse_args(argv)
    shared = shared_directory()
    found_there = () if shared is None else (shared / "vocab").glob("*/tokenizer.json")
    directories = options.directories or sorted(path.parent for path in found_there)
    if not directories:
        parser.error("name a directory with a tokenizer.json, or set CRAYON_SHARED")
    print(f"{cpu_model()}; {versions(options.python)}; {options.rounds} rounds, medians; (ratio to stock)")
    results = list(measure(directories, options.rounds, options.python))
    for figure in ("processor", "clock"):
        rows = [found.cells(figure) for found in results]
        print(f"\n{table((f'seconds, {figure}', 'class', *WAYS), rows, numbers=len(WAYS))}")
    faults = [f"{found.name}: {found.fault}" for found in results if found.fault]
    print("\n".join(["", *faults] if faults else []))
    return DIFFERED if faults else AGREED


if __name__ == "__main__":
    sys.exit(main())
