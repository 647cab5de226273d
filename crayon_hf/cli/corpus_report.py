"""The command ``corpus-report``: describe a directory of token files."""

from __future__ import annotations

import os

from crayon_hf.cli.arguments import Arguments, UsageError, argument, command, complete_names, option
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name


@command(
    "corpus-report",
    examples=(
        ("crayon-hf corpus-report my-tokens/", "on the terminal"),
        ("crayon-hf corpus-report my-tokens/ --json -", "only as JSON"),
    ),
)
@argument("directory", metavar="OUT", help="the output of tokenize, in any format")
@option(
    *("-t", "--tokenizer"),
    metavar="TOKENIZER",
    shell_complete=complete_names,
    help="the tokenizer that it was made with (default: the one that its manifest names)",
)
@option("--json", metavar="FILE", help='the report as JSON; "-" is standard output')
def corpus_report(arguments: Arguments) -> int:
    """Describes a directory that tokenize has written.

    It counts documents, tokens, their lengths and scripts, and what was left out. It lists the most frequent tokens and
    those never used. It reads all tokens once.
    """
    from crayon_hf.corpora.report.measuring import make_report
    from crayon_hf.util.files import write_atomic

    path = arguments.json
    if path and path != "-" and not os.path.isdir(os.path.dirname(path) or "."):
        raise UsageError(f"--json {path}: no directory {os.path.dirname(path)}")
    named = None if arguments.tokenizer is None else local_name(arguments.tokenizer)
    report = make_report(arguments.directory, named)
    if path and path != "-":
        write_atomic(path, report.to_json().encode("utf-8", "backslashreplace"))
    for line in report.to_json().rstrip("\n").split("\n") if path == "-" else report.lines():
        print_line(line)
    return 0
