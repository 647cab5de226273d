"""``crayon-hf truncate``: a text cut to so many tokens."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from crayon_hf.budgets.places import KINDS
from crayon_hf.cli.arguments import UsageError, add_command, number
from crayon_hf.cli.commands import add_texts, opened, texts_of, utf8

_DESCRIPTION = """\
Prints each text, cut to at most N tokens. Special tokens around a text count. Texts of the command line and of --lines
end with a newline; a text from a file or from standard input is written without one.
"""


def add_truncate(subparsers: Any) -> None:
    """What ``truncate`` takes."""
    command = add_command(
        subparsers,
        "truncate",
        truncate,
        "cut texts to a number of tokens",
        _DESCRIPTION,
        (
            ("crayon-hf truncate -f book.txt --max-tokens 512 > part.txt", "the beginning of a file"),
            ("crayon-hf truncate -f book.txt -n 512 --side left", "its end"),
            ("crayon-hf truncate -n 3 'Ask, and it shall be given you'", "a text"),
            ("crayon-hf truncate -f poem.txt -n 8 --lines", "each line"),
        ),
    )
    command.add_argument(
        "-n", "--max-tokens", type=number, required=True, metavar="N", help="the most tokens of a text"
    )
    command.add_argument(
        "--side",
        choices=("right", "left"),
        default="right",
        help="cut off the end (right) or the beginning (left; default: right)",
    )
    command.add_argument(
        "--boundary", choices=KINDS, help="cut at the end of one, or at a finer one if a single one is too long"
    )
    add_texts(command, takes_bytes=False)


def truncate(arguments: argparse.Namespace) -> int:
    """Each text, cut."""
    texts = texts_of(arguments)
    is_file = arguments.file is not None or arguments.text in ([], ["-"])
    tokenizer = opened(arguments)
    for data in texts:
        text = utf8(data, "it is text that is cut")
        try:
            part = tokenizer.truncate_text(
                text,
                arguments.max_tokens,
                arguments.side,
                arguments.boundary,
                not arguments.no_special,
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        sys.stdout.buffer.write(part.encode() + (b"" if is_file and not arguments.lines else b"\n"))
    return 0
