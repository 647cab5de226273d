"""Child processes that import exactly what this one imports."""

from __future__ import annotations

import json
import sys


def isolated(program: str) -> str:
    """A program for ``python -c`` that imports nothing of what lies in the working directory."""
    return "import sys; sys.path[:] = filter(None, sys.path)" + program


_PROGRAM = isolated("""
import json
sys.path[:] = json.loads(sys.argv.pop(1))
from importlib import import_module
sys.exit(import_module(sys.argv.pop(1)).main())
""")


def child_command(module: str, *arguments: str) -> list[str]:
    """The command that runs ``main()`` of a module in a fresh interpreter.

    ``python -m`` would put the working directory first, where another crayon_hf, or half of one, may lie.
    """
    return [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), module, *arguments]
