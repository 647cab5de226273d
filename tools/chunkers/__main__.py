"""Chunkers beside ours, and our adapters in the libraries that they are for: `make chunkers`.

It installs the libraries in an environment of its own, runs ``tests/budgets/test_adapters.py`` in it, and then the
comparison (``chunkers.comparison``), whose table it prints. The exit status is 1 when a test fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from chunkers.environment import ROOT, environment


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m chunkers", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=("tests", "comparison"), help="one of the two (default: both)")
    parser.add_argument("rest", nargs="*", metavar="-- ARGUMENTS", help="arguments of the comparison (-- --help)")
    options = parser.parse_args(arguments)
    python = environment()
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tools")])}
    failed = 0
    if options.only != "comparison":
        tests = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-rs", "tests/budgets/test_adapters.py"]
        failed |= subprocess.run(tests, cwd=ROOT, env=found).returncode
    if options.only != "tests":
        failed |= subprocess.run(
            [str(python), "-m", "chunkers.comparison", *options.rest], cwd=ROOT, env=found
        ).returncode
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
