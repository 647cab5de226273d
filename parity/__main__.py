"""``python -m parity``: list the suites, or run one: ``python -m parity tiktoken cl100k_base``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from crayon_hf.util.wording import meant

LISTED, MISUSED = 0, 2
GROUPS = {"references": "Ours against a library", "parts": "Parts alone", "speed": "Speed and devices"}

USAGE = """\
usage: python -m parity [SUITE [ARGUMENT ...]]

Runs one suite; without SUITE, lists them. `python -m parity SUITE --help` explains the arguments of one.

The exit status is 0 when everything agrees, 1 when something differs or cannot be compared, 2 for wrong usage.

    python -m parity tiktoken cl100k_base
    python -m parity tokenizers my-model/ --strings 1000 --everything
"""


def suites() -> dict[str, tuple[str, str]]:
    """The group and the entry of each suite, by name: the folders beside this file that have a ``__main__.py``."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*/__main__.py")):
        package = import_module(f"parity.{path.parent.name}")
        line = re.sub("^``python -m .*?``: ", "", (package.__doc__ or "").strip().partition("\n")[0])
        found[path.parent.name] = getattr(package, "GROUP", "references"), line[:1].upper() + line[1:]
    return found


def listing() -> str:
    """The suites under the headings of their groups, as a table of names and entries."""
    known = suites()
    width = max(map(len, known))
    lines = []
    for group, heading in GROUPS.items():
        lines += ["", f"{heading}:"]
        lines += [f"  {name:{width}}  {line}" for name, (of, line) in known.items() if of == group]
    return "\n".join(lines[1:])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suite that the first argument names, with the other arguments; return its exit status."""
    name, *arguments = [*(sys.argv[1:] if argv is None else argv)] or ["--help"]
    if name in ("-h", "--help"):
        print(f"{USAGE}\n{listing()}")
        return LISTED
    if name not in suites():
        print(
            f"python -m parity: no suite {name!r}{meant(name, suites())} (`python -m parity` lists them)",
            file=sys.stderr,
        )
        return MISUSED
    status: int = import_module(f"parity.{name}.__main__").main(arguments)
    return status


if __name__ == "__main__":
    sys.exit(main())
