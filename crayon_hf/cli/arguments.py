"""What the commands' arguments have in common, and the error that a wrong one is."""

from __future__ import annotations

import argparse
from typing import Any

from crayon_hf.state.modes import MODES


class UsageError(Exception):
    """The command line itself is wrong."""


def add_command(subparsers: Any, name: str, run: Any, help: str, description: str) -> argparse.ArgumentParser:
    """A command of this name; ``run`` takes the parsed arguments and returns the exit code."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    return command


def add_tokenizer(command: argparse.ArgumentParser) -> None:
    """``--tokenizer``, with a default."""
    command.add_argument(
        "-t",
        "--tokenizer",
        default="lite",
        metavar="NAME_OR_PATH",
        help='a profile name, or the path of a vocabulary of any kind (default: the profile "lite")',
    )


def add_mode(command: argparse.ArgumentParser) -> None:
    """``--mode``."""
    command.add_argument("--mode", choices=MODES, default="exact", help="greedy: longest match (default: %(default)s)")


def add_special(command: argparse.ArgumentParser) -> None:
    """How special tokens and bytes that are no text are taken."""
    command.add_argument("--no-special", action="store_true", help="do not add special tokens around the text")
    command.add_argument(
        "--special-as-text", action="store_true", help="read special tokens inside the text as ordinary text"
    )
    command.add_argument("--bytes", action="store_true", help="the input is any bytes, not UTF-8 text; lossless")


def number(text: str) -> int:
    """A number, written in digits alone."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def size(text: str) -> int:
    """A number of bytes: ``16M``, ``1G``."""
    digits, factor = (
        (text[:-1], 1 << (10, 20, 30)["KMG".index(text[-1].upper())])
        if text[-1:].upper() in ("K", "M", "G")
        else (text, 1)
    )
    return number(digits) * factor
