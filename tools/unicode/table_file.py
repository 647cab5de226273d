"""The command line of the table generators: write the table's file, or with ``--check`` compare it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def main(description: str | None, render: Callable[[], str], output: Path) -> int:
    """Write `render()` to `output`, or compare them with ``--check``. Returns the exit status: 1 if they differ."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    check = parser.parse_args().check
    text = render()
    if check:
        if output.read_text(encoding="utf-8") != text:
            print(f"{output} is not what the installed references give", file=sys.stderr)
            return 1
        return 0
    output.write_text(text, encoding="utf-8")
    return 0


def array_lines(name: str, kind: str, values: Sequence[int], spelled: Callable[[int], str] = str) -> list[str]:
    """Return the definition of a C++ array of a type (`kind`), in lines of at most 120 characters."""
    out, line = [f"constexpr {kind} {name}[{len(values)}] = {{"], "   "
    for value in values:
        item = f" {spelled(value)},"
        if len(line) + len(item) > 120:
            out.append(line)
            line = "   "
        line += item
    return [*out, line, "};"]
