"""Map a dataset with random tokenizers, in two successive processes, with stock transformers and with ours.

``datasets`` names its cache files by a hash of the mapped function. In each case, a seed decides how a tokenizer is
opened, changed, and used without changing its ids. The case maps a dataset, uses the tokenizer again, and maps again.
The second process does the same with other uses.

Our tokenizer must give stock's ids. Its second map, and both maps of the second process, must find the cached results.
If not, the exit status is 1. The table also has stock's hits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crayon_hf.parity.inputs.texts import shared_directory
from crayon_hf.util.markdown import table

Rows = dict[str, dict[str, Any]]
"""The child's printed rows, by seed."""

AGREED, DIFFERED = 0, 1
CHILD = str(Path(__file__).with_name("child.py"))
ROOT = str(Path(__file__).parents[2])
LIBRARIES = {
    "stock": "transformers",
    "ours": "crayon_hf",
    "installed": "transformers after crayon_hf.install()",
}
RUNS = 1, 2
TOGETHER = 5
"""The number of cases in a process. Several processes are needed, since a first use affects a class once in each."""


def run(library: str, number: int, seeds: Sequence[int], directories: Sequence[Path], work: Path) -> Rows:
    """Run the cases of all seeds with a library, some in each process. Return the children's rows, by seed."""
    rows: Rows = {}
    for first in range(0, len(seeds), TOGETHER):
        rows |= process(library, number, seeds[first : first + TOGETHER], directories, work)
    return rows


def process(library: str, number: int, seeds: Sequence[int], directories: Sequence[Path], work: Path) -> Any:
    """Run cases in one process, which imports the library once. Return its rows, by seed."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(work / "cache")}
    arguments = [library, str(number), f"{seeds[0]}", f"{len(seeds)}", str(work / library), *map(str, directories)]
    command = [sys.executable, "-W", "ignore", CHILD, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{library}, run {number}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def faults(rows: dict[str, dict[int, Rows]], seed: str) -> list[str]:
    """Return the faults in the case of a seed: other ids than stock's, or mapped results not found in the cache."""
    expected = rows["stock"][1][seed]
    found = []
    for library in (name for name in LIBRARIES if name != "stock"):
        for number in RUNS:
            row = rows[library][number][seed]
            if row["ids"] != expected["ids"]:
                found.append(f"{library}, run {number}: other ids")
            if not row["again"]:
                found.append(f"{library}, run {number}: not found after {', '.join(row['uses']) or 'nothing'}")
        if not rows[library][2][seed]["first"]:
            found.append(f"{library}: the second run did not find the first one's")
    return [f"seed {seed} ({expected['case']}): {fault}" for fault in found]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m parity.datasets", description=__doc__)
    parser.add_argument("directories", nargs="*", type=Path, help="default: those of $CRAYON_SHARED/vocab")
    parser.add_argument("--cases", type=int, default=100, metavar="N", help="random cases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first case (default: %(default)s)")
    options = parser.parse_args(argv)
    shared = shared_directory()
    known = () if shared is None else (shared / "vocab").glob("*/tokenizer.json")
    directories = [path.resolve() for path in options.directories] or sorted(path.parent for path in known)
    if not directories:
        parser.error("name a directory with a tokenizer.json, or set CRAYON_SHARED")
    seeds = range(options.seed, options.seed + options.cases)
    with tempfile.TemporaryDirectory(prefix="crayon-datasets-") as folder:
        rows = {
            library: {number: run(library, number, seeds, directories, Path(folder)) for number in RUNS}
            for library in LIBRARIES
        }
    print(f"{options.cases} cases from seed {options.seed}, {len(directories)} tokenizers\n")
    cells = []
    for library, runs in rows.items():
        again = sum(row["again"] for number in RUNS for row in runs[number].values())
        first = sum(row["first"] for row in runs[2].values())
        cells.append((LIBRARIES[library], f"{again} of {2 * len(seeds)}", f"{first} of {len(seeds)}"))
    print(table(("tokenizers", "found after other use", "found by the second run"), cells, numbers=2))
    seen = [fault for seed in map(str, seeds) for fault in faults(rows, seed)]
    print("\n".join(["", *seen] if seen else []))
    return DIFFERED if seen else AGREED


if __name__ == "__main__":
    sys.exit(main())
