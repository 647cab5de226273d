"""``crayon-hf truncate``: a text truncated to a number of tokens."""

from __future__ import annotations

import sys

from click import Choice

from crayon_hf.budgets.places import KINDS
from crayon_hf.cli.arguments import NUMBER, Arguments, UsageError, command, option
from crayon_hf.cli.inputs import TEXTS, find_files, is_standard_input, opened, texts_of, utf8


@command(
    "truncate",
    examples=(
        ("crayon-hf truncate book.txt --max-tokens 512 > part.txt", "the beginning of a file"),
        ("crayon-hf truncate book.txt -n 512 --side left", "its end"),
        ("crayon-hf truncate -n 3 'Ask, and it shall be given you'", "a text"),
        ("crayon-hf truncate poem.txt -n 8 --lines", "each line"),
    ),
)
@option("-n", "--max-tokens", type=NUMBER, required=True, help="the most tokens of a text")
@option(
    "--side",
    type=Choice(("right", "left")),
    default="right",
    show_default=True,
    help="cut off the end (right) or the beginning (left)",
)
@option("--boundary", type=Choice(KINDS), help="end after a whole unit, or at a finer kind if one is too long")
@TEXTS
def truncate(arguments: Arguments) -> int:
    """Prints each text, truncated to at most N tokens.

    Special tokens around a text count. Texts of the command line and of --lines end with a newline; a text from a file
    or from standard input is written without one.
    """
    find_files(arguments)
    texts = texts_of(arguments)
    is_file = bool(arguments.file) or is_standard_input(arguments)
    tokenizer = opened(arguments)
    for data in texts:
        text = utf8(data, "truncate works on text")
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
