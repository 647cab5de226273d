"""``crayon-hf run``: a Python program in which other libraries open tokenizers of crayon_hf."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any

from crayon_hf.cli.arguments import UsageError, add_command

_USAGE = """\
crayon-hf run [--install LIBRARIES] SCRIPT [ARGS ...]
       crayon-hf run [--install LIBRARIES] -m MODULE [ARGS ...]
       crayon-hf run [--install LIBRARIES] -c CODE [ARGS ...]
       crayon-hf run [--install LIBRARIES] --env"""

_DESCRIPTION = """\
Runs a Python program, and every Python that it starts, with crayon_hf.install(): transformers, and with --install also
tokenizers and tiktoken, open tokenizers of crayon-hf.

"python -m crayon_hf SCRIPT ARGS" is the same.
"""


def add_run(subparsers: Any) -> None:
    """The command."""
    examples = (
        ("crayon-hf run script.py", "transformers opens tokenizers of crayon-hf"),
        ("crayon-hf run --install all script.py", "tokenizers and tiktoken as well"),
        ("crayon-hf run --env", "variables for a shell"),
    )
    command = add_command(subparsers, "run", run, "run a Python program with these tokenizers", _DESCRIPTION, examples)
    command.usage = _USAGE
    command.add_argument(
        "--install",
        metavar="LIBRARIES",
        help="transformers, tokenizers, tiktoken, with commas between them, or all (default: $CRAYON_INSTALL, else "
        "transformers)",
    )
    command.add_argument("--env", action="store_true", help="print the variables for a shell to export; run nothing")
    command.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module, and its arguments"
    )
    command.add_argument(
        "-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE", help="a program, and its arguments"
    )
    command.add_argument(
        "script", nargs=argparse.REMAINDER, metavar="SCRIPT", help="a file (-: standard input), and its arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    from crayon_hf.patching import startup

    if arguments.env:
        for name, value in startup.variables(arguments.install, os.environ).items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    if arguments.module:
        program = ["-m", *arguments.module]
    elif arguments.code:
        program = ["-c", *arguments.code]
    else:
        program = arguments.script
    if not program:
        raise UsageError("nothing to run: give a SCRIPT, -, -m MODULE or -c CODE (try: crayon-hf run --help)")
    return startup.run(program, arguments.install)


def is_program(argv: Sequence[str]) -> bool:
    """Whether ``python -m crayon_hf`` is followed by a program: ``-m``, ``-c``, ``-``, or a file that is no command."""
    if not argv or argv[0] in ("-m", "-c", "-"):
        return bool(argv)
    return os.path.isfile(argv[0]) and (argv[0].endswith((".py", ".pyz")) or os.path.basename(argv[0]) != argv[0])
