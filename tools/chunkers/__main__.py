"""Compares our chunker with others, and tests our adapters in their libraries: `make chunkers`.

It installs the libraries in an environment below ``build/`` (a gigabyte), and runs ``tests/budgets/test_adapters.py``
in it. Then it prints the table of ``chunkers.comparison``, to which it passes its arguments. The exit status is 1 if
the tests or the table fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from parity.environments import environment

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = (
    "semchunk==4.1.1",
    "semantic-text-splitter==0.33.1",
    "chonkie==1.7.0",
    "langchain-text-splitters==1.1.3",
    "llama-index-core==0.14.25",
    "haystack-ai==3.4.1",
    "tokenizers==0.23.3",
    "tiktoken==0.14.0",
    "icu4py==1.2.0",
)
OTHERS = [
    "markdown-it-py>=3",
    "tree-sitter>=0.24",
    "tree-sitter-json",
    "tree-sitter-python",
    "numpy",
    "pytest",
    "hypothesis",
]


def main() -> int:
    """Run the command."""
    python = str(environment(ROOT / "build" / "chunkers", [*VERSIONS, *OTHERS]))
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tools")])}
    tests = ["pytest", "-p", "no:cacheprovider", "-rs", "tests/budgets/test_adapters.py"]
    commands = (tests, ["chunkers.comparison", *sys.argv[1:]])
    return max(subprocess.run([python, "-m", *command], cwd=ROOT, env=found).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main())
