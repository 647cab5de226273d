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
        ("crayon-hf corpus-report my-tokens/ --html report.html", "and as a page"),
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
@option("--html", metavar="FILE", help="the report as one page that needs no network")
def corpus_report(arguments: Arguments) -> int:
    """Describes a directory that tokenize has written.

    It counts documents, tokens, their lengths and scripts, and what was left out. It lists the most frequent tokens and
    those never used. It reads all tokens once.
    """
    from crayon_hf.corpora.report.html import to_html
    from crayon_hf.corpora.report.measuring import make_report
    from crayon_hf.util.extras import need
    from crayon_hf.util.files import write_atomic

    for name in ("json", "html"):
        path = getattr(arguments, name)
        if path and path != "-" and not os.path.isdir(os.path.dirname(path) or "."):
            raise UsageError(f"--{name} {path}: no directory {os.path.dirname(path)}")
    if arguments.html:
        need("a page", "report", "jinja2")
    named = None if arguments.tokenizer is None else local_name(arguments.tokenizer)
    report = make_report(arguments.directory, named)
    if arguments.html:
        write_atomic(arguments.html, to_html(report).encode())
    if arguments.json and arguments.json != "-":
        write_atomic(arguments.json, report.to_json().encode("utf-8", "backslashreplace"))
    for line in report.to_json().rstrip("\n").split("\n") if arguments.json == "-" else report.lines():
        print_line(line)
    return 0
