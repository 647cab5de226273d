"""``crayon-hf run``: run a Python program with other libraries patched to open tokenizers of crayon_hf."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Sequence

import click

from crayon_hf.cli.arguments import Arguments, Command, UsageError, argument, option


class _Run(Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of `run`. From the program on, all words are the program's."""
        at = 0
        while args[at : at + 1] and (args[at] in ("-h", "--help", "--env") or args[at].startswith("--install")):
            at += 2 if args[at] == "--install" else 1
        rest = args[at + 1 :] if args[at : at + 1] == ["--"] else args[at:]
        return super().parse_args(ctx, [*args[:at], "--", *rest])


@click.command(
    "run",
    cls=_Run,
    options_metavar="[--install LIBRARIES] [--env]",
    examples=(
        ("crayon-hf run script.py", "transformers opens tokenizers of crayon-hf"),
        ("crayon-hf run --install all script.py", "tokenizers and tiktoken as well"),
        ("crayon-hf run -m script", "a module; -c CODE runs code"),
        ("crayon-hf run --env", "variables for a shell"),
    ),
)
@option(
    "--install",
    metavar="LIBRARIES",
    help="transformers, tokenizers, tiktoken, separated by commas, or all (default: $CRAYON_INSTALL, else "
    "transformers)",
)
@option("--env", is_flag=True, help="print the variables for a shell to export; run nothing")
@argument(
    "program",
    nargs=-1,
    metavar="(SCRIPT | - | -m MODULE | -c CODE) [ARGS]...",
    help="a file, standard input, a module or code, as for Python itself, and its arguments",
)
def run(arguments: Arguments) -> int:
    """Runs a Python program with crayon_hf.install(), also in the Python processes that it starts.

    transformers, and with --install also tokenizers and tiktoken, open tokenizers of crayon-hf.
    "python -m crayon_hf SCRIPT ARGS" is the same.
    """
    from crayon_hf.patching import startup

    if arguments.env:
        for name, value in startup.variables(arguments.install, os.environ).items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    program = list(arguments.program)
    if program and program[0][:2] in ("-m", "-c"):
        program[:1] = [part for part in (program[0][:2], program[0][2:]) if part]
    if not program or program in (["-m"], ["-c"]):
        raise UsageError("nothing to run: give a SCRIPT, -, -m MODULE or -c CODE (try: crayon-hf run --help)")
    if program[0].startswith("-") and program[0] not in ("-m", "-c", "-"):
        raise click.NoSuchOption(program[0])
    if program[0] not in ("-m", "-c", "-") and not os.path.exists(program[0]):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program[0])
    return startup.run(program, arguments.install)


def is_program(argv: Sequence[str]) -> bool:
    """Whether the arguments of ``python -m crayon_hf`` begin with a program: ``-m``, ``-c``, ``-`` or a file.

    A file is a name with ``.py``, or a path, which names of commands never are.
    """
    if not argv or argv[0] in ("-m", "-c", "-"):
        return bool(argv)
    is_path = os.path.basename(argv[0]) != argv[0]
    return not argv[0].startswith("-") and (argv[0].endswith((".py", ".pyz")) or is_path)
