"""``python -m parity.gpu -o report/``: compares a GPU with the CPU, and measures it, within some minutes."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from crayon_hf.cli.tokenizers import local_name
from crayon_hf.parity.inputs.texts import UnknownVocabularyError
from crayon_hf.util.progress import Progress
from parity.gpu import command
from parity.gpu.report import STEPS

PASSED, FAILED = 0, 1

DESCRIPTION = """\
Compares the ids of a GPU with the CPU's, worst inputs first; looks for results that change from run to run; tries
threads, streams and little memory; runs compute-sanitizer where it is on PATH; measures speed.

DIR gets report.json, report.md, log.txt, every failing input (failures/) and the output of compute-sanitizer. The
report is rewritten after each step, and a crash or a hang is a result. A package without an engine for the GPU gets one
built into DIR, where a compiler and a source tree are here.

The exit status is 0 when all ids are equal and nothing failed, 1 otherwise, 2 for wrong usage.

    python -m parity.gpu -o report/                          ten minutes of this machine's GPU
    python -m parity.gpu -o report/ --minutes 2 -t my-model/ a shorter run, one vocabulary
    python -m parity.gpu -o report/ --device stand-in        without a GPU, on the CPU
"""


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.gpu", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where the report goes")
    parser.add_argument(
        "--device",
        choices=command.DEVICES,
        default="auto",
        help="auto: cuda, else rocm; stand-in: the CPU runs the kernels, slowly, which says nothing of speed "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--minutes", type=float, default=10.0, metavar="N", help="the time; sizes shrink with it (default: %(default)g)"
    )
    parser.add_argument(
        "-t",
        "--tokenizer",
        action="append",
        default=[],
        metavar="NAME_OR_PATH",
        help="a vocabulary that is timed; may be repeated (default: gpt2, llama3 and o200k_base of CRAYON_SHARED, else "
        "the packaged profiles)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="a batch or a measurement that takes longer counts as a hang (default: a tenth of the time, at least 10)",
    )
    parser.add_argument(
        "--source",
        metavar="DIR",
        help="a source tree: kept fuzz inputs, and what an engine is built from (default: where the package or the "
        "working directory is one)",
    )
    parser.add_argument("--sizes", type=float, metavar="N", help="sizes as for N minutes (default: --minutes)")
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="of ids and speed, only what has this in its name in the report"
    )
    parser.add_argument(
        "--steps", default=",".join(STEPS), metavar="LIST", help="only some steps (default: %(default)s)"
    )
    parser.add_argument("--ours", default="", help=argparse.SUPPRESS)  # encoders in the place of ours, for the tests
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check, print the verdict with its reasons."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    steps = tuple(filter(None, arguments.steps.split(",")))
    for step in steps:
        if step not in STEPS:
            parser.error(f"--steps {step}: expected some of {', '.join(STEPS)}")
    if not arguments.minutes > 0:
        parser.error(f"--minutes {arguments.minutes:g}: expected more than 0")
    for option in ("limit", "sizes"):
        value = getattr(arguments, option)
        if value is not None and not value > 0:
            parser.error(f"--{option} {value:g}: expected more than 0")
    shown = Progress()
    options = command.Options(
        output=Path(arguments.output),
        device=arguments.device,
        minutes=arguments.minutes,
        sizes=arguments.sizes,
        limit=arguments.limit,
        tokenizers=tuple(local_name(name) for name in arguments.tokenizer),
        source=arguments.source,
        steps=steps,
        only=arguments.only,
        ours=arguments.ours,
        command=shlex.join(["python", "-m", "parity.gpu", *(sys.argv[1:] if argv is None else argv)]),
    )
    try:
        report = command.check(options, shown)
    except UnknownVocabularyError as error:
        parser.error(str(error))
    finally:
        shown.end()
    for line in command.summary(report):
        print(line)
    print(f"wrote {options.output / 'report.json'} and {options.output / 'report.md'}")
    return PASSED if report.data["verdict"] == "PASS" else FAILED


if __name__ == "__main__":
    sys.exit(main())
