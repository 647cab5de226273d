"""Command line of the table generators: write the file, or with ``--check`` compare it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def main(description: str | None, render: Callable[[], str], output: Path) -> int:
    """Run a generator. Returns 1 if a checked file differs from its result."""
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
