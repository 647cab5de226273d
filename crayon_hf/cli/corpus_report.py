"""The command ``corpus-report``: what is in a directory of token files."""

from __future__ import annotations

import argparse
import os
from typing import Any

from crayon_hf.cli.arguments import UsageError, add_command
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name


def add_corpus_report(subparsers: Any) -> None:
    """What ``corpus-report`` takes."""
    command = add_command(
        subparsers,
        "corpus-report",
        corpus_report,
        "what is in token files",
        "Says what is in a directory that tokenize made: documents, tokens and lengths, bytes per token, scripts, "
        "the tokens that are most frequent and those that are never used, and what was left out.\n\n"
        "It reads all tokens once.",
        (
            ("crayon-hf corpus-report my-tokens/", "for people"),
            ("crayon-hf corpus-report my-tokens/ --html report.html", "and as a page"),
            ("crayon-hf corpus-report my-tokens/ --json -", "only as JSON"),
        ),
    )
    command.add_argument("directory", metavar="OUT", help="the output of tokenize, in any format")
    command.add_argument(
        "-t",
        "--tokenizer",
        metavar="TOKENIZER",
        help="the one that it was made with (default: what its manifest names, if it is still there)",
    )
    reports = command.add_argument_group("what is written")
    reports.add_argument("--json", metavar="FILE", help='the report as JSON; "-" is the standard output')
    reports.add_argument("--html", metavar="FILE", help="the report as one page that needs no network")


def corpus_report(arguments: argparse.Namespace) -> int:
    """Read all tokens, and say what there is."""
    from crayon_hf.corpora.report.html import to_html
    from crayon_hf.corpora.report.measuring import make_report
    from crayon_hf.util.files import write_atomic

    for name in ("json", "html"):
        path = getattr(arguments, name)
        if path and path != "-" and not os.path.isdir(os.path.dirname(path) or "."):
            raise UsageError(f"--{name} {path}: there is no directory {os.path.dirname(path)}")
    named = None if arguments.tokenizer is None else local_name(arguments.tokenizer)
    report = make_report(arguments.directory, named)
    if arguments.html:
        write_atomic(arguments.html, to_html(report).encode())
    if arguments.json and arguments.json != "-":
        write_atomic(arguments.json, report.to_json().encode("utf-8", "backslashreplace"))
    for line in report.to_json().rstrip("\n").split("\n") if arguments.json == "-" else report.lines():
        print_line(line)
    return 0
