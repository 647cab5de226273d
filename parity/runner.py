"""Run a reference's suite: a report for each vocabulary and instruction set, and a verdict.

``crayon-hf parity`` makes such a report for one target. Here the targets are many, and speeds are not measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crayon_hf.cli.arguments import DEFAULT
from crayon_hf.cli.parity import table
from crayon_hf.errors import CrayonError
from crayon_hf.parity.compare.references import FIELDS
from crayon_hf.parity.compare.targets import Subject
from crayon_hf.parity.inputs.texts import UnknownVocabularyError, shared_directory
from crayon_hf.parity.report import Report
from crayon_hf.parity.report.run import make_report
from crayon_hf.util.progress import Progress

from .options import add_texts, texts_of

AGREED, DIFFERED, MISUSED = 0, 1, 2

Find = Callable[[str, str], Subject]
"""Takes a name on the command line and a directory, and finds the target. Files made for it go into the directory."""


def make_parser(reference: str, description: str, targets: str) -> argparse.ArgumentParser:
    """Make the command line of ``python -m parity.REFERENCE``. `targets` describes the positional arguments."""
    compared = textwrap.fill(f"Compared for each input: {', '.join(FIELDS[reference])}.", 100)
    parser = argparse.ArgumentParser(
        prog=f"python -m parity.{reference}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=f"{description.strip()}\n\n{compared}",
        epilog="The exit status is 0 when everything agrees, 1 when something differs or cannot be compared, 2 for "
        "wrong usage.",
    )
    parser.add_argument("names", nargs="*", metavar="VOCABULARY", help=targets)
    add = add_texts(parser, 10_000)
    of_tokens = "strings of the vocabulary's own tokens (default: a fifth of --strings)"
    add("--tokens", type=int, metavar="N", help=of_tokens)
    of_all = "compare all strings and texts in the other modes, too, instead of a share of the strings"
    add("--everything", action="store_true", help=of_all)
    add = parser.add_argument_group("the run").add_argument
    of_cpu = "instruction sets, each in a process of its own: avx2,avx512, or all"
    add("--cpu", default="", metavar="LIST", help=of_cpu)
    add("--jobs", type=int, default=1, metavar="N", help="vocabularies at a time (default %(default)s)")
    add("--json", metavar="FILE", help="write the reports to FILE")
    add("--ours", default="", help=argparse.SUPPRESS)  # for the tests: opens our side otherwise
    parser.set_defaults(reference=reference)
    return parser


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None, published: Sequence[str], find: Find) -> int:
    """Run the command of a suite; return its exit status.

    Without names on the command line, the vocabularies are `published`, names below ``$CRAYON_SHARED/vocab``, or the
    profile ``lite`` if that is not set. `find` opens a name.
    """
    arguments = parser.parse_args(argv)
    reports: list[Report] = []
    lock, shown = threading.Lock(), Progress()
    cpus = cpu_names(arguments.cpu)
    with tempfile.TemporaryDirectory(prefix="crayon-parity-") as directory:

        def compare(subject: Subject) -> None:
            for cpu in cpus:
                report = make_report(
                    subject,
                    strings=arguments.strings,
                    tokens=arguments.tokens,
                    seed=arguments.seed,
                    texts=texts,
                    megabytes=arguments.megabytes,
                    is_everything=arguments.everything,
                    speed=False,
                    cpu=cpu,
                    ours=arguments.ours,
                    progress=shown,
                )
                with lock:
                    reports.append(report)
                    print("\n".join([*table(report), ""]), flush=True)

        try:
            texts, _ = texts_of(arguments)
            if not (arguments.strings or arguments.tokens or texts):
                raise UnknownVocabularyError("nothing to compare: no strings and no texts")
            names = arguments.names or (published if shared_directory() else [DEFAULT])
            subjects = [find(name, tempfile.mkdtemp(dir=directory)) for name in names]
            with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
                list(pool.map(compare, subjects))
        except (CrayonError, UnknownVocabularyError) as error:
            print(f"{parser.prog}: {error}", file=sys.stderr)
            return MISUSED
        finally:
            shown.end()
    failed = sum(not report.agreed for report in reports)
    reference = f"{reports[0].reference.name} {reports[0].reference.version}"
    count = f"{len(reports)} report{'s'[: len(reports) != 1]}"
    says = f"all agree with {reference}: {count}"
    if failed:
        says = f"{failed} of {len(reports)} reports do not agree with {reference}"
    print(f"{says}, {sum(report.inputs for report in reports):,} inputs")
    if arguments.json:
        made = {"agreed": not failed, "reports": [json.loads(report.to_json()) for report in reports]}
        Path(arguments.json).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return DIFFERED if failed else AGREED


def cpu_names(listed: str) -> list[str]:
    """Return the instruction sets that ``--cpu`` lists. An empty name means the best one of this machine."""
    if listed != "all":
        return [name.strip() for name in listed.split(",")]
    from crayon_hf import _core

    return list(_core.cpu_levels())
