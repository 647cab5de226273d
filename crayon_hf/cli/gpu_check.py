"""The command ``gpu-check``: all that can be learnt from a GPU in some minutes."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from crayon_hf.cli.arguments import UsageError, add_command
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.util.progress import Line

PASSED, FAILED = 0, 1
_DEVICES = ("auto", "cuda", "rocm", "stand-in")
_STEPS = ("environment", "ids", "repeats", "sanitizer", "speed")


def add_gpu_check(subparsers: Any) -> None:
    """What ``gpu-check`` takes."""
    command = add_command(
        subparsers,
        "gpu-check",
        gpu_check,
        "check and measure a GPU",
        "Compares the ids of a GPU with the CPU's, worst inputs first; looks for what changes from run to run, and for "
        "what threads, streams and little memory do; runs compute-sanitizer where it is on PATH; measures speed.\n\n"
        "DIR gets report.json, report.md, log.txt, every failing input (failures/) and what compute-sanitizer says. "
        "The report is rewritten after each step, and a crash or a hang is a result: nothing that was learnt is lost. "
        "An engine for the GPU is built first, into DIR, where the package has none and a compiler and a source tree "
        "are here.\n\n"
        "The exit status is 0 when all ids are equal and nothing failed, 1 otherwise, 2 for wrong usage.",
        (
            ("crayon-hf gpu-check -o report/", "ten minutes of this machine's GPU"),
            ("crayon-hf gpu-check -o report/ --minutes 2 -t my-model/", "less of all, one vocabulary"),
            ("crayon-hf gpu-check -o report/ --device stand-in", "without a GPU, on the CPU"),
        ),
    )
    command.add_argument("-o", "--output", required=True, metavar="DIR", help="where the report goes")
    command.add_argument(
        "--device",
        choices=_DEVICES,
        default="auto",
        help="auto: cuda, else rocm; stand-in: the CPU runs the kernels, slowly, which says nothing of speed "
        "(default: %(default)s)",
    )
    command.add_argument(
        "--minutes", type=float, default=10.0, metavar="N", help="the time; sizes shrink with it (default: %(default)g)"
    )
    command.add_argument(
        "-t",
        "--tokenizer",
        action="append",
        default=[],
        metavar="NAME_OR_PATH",
        help="a vocabulary that is timed; may be repeated (default: gpt2, llama3 and o200k_base of CRAYON_SHARED, else "
        "the packaged profiles)",
    )
    command.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="a batch or a measurement that takes longer counts as a hang (default: a tenth of the time, at least 10)",
    )
    command.add_argument(
        "--source",
        metavar="DIR",
        help="a source tree: kept fuzz inputs, and what an engine is built from (default: where the package or the "
        "working directory is one)",
    )
    command.add_argument("--sizes", type=float, metavar="N", help="sizes as for N minutes (default: --minutes)")
    command.add_argument(
        "--only", default="", metavar="WORDS", help="of ids and speed, only what has this in its name in the report"
    )
    command.add_argument(
        "--steps", default=",".join(_STEPS), metavar="LIST", help="only some steps (default: %(default)s)"
    )
    command.add_argument("--ours", default="", help=argparse.SUPPRESS)  # encoders in the place of ours, for the tests


def gpu_check(arguments: argparse.Namespace) -> int:
    """Run it, print the verdict with its reasons."""
    from crayon_hf.parity.gpu_check import command
    from crayon_hf.parity.inputs.texts import UnknownVocabularyError

    steps = tuple(filter(None, arguments.steps.split(",")))
    for step in steps:
        if step not in _STEPS:
            raise UsageError(f"--steps {step}: expected some of {', '.join(_STEPS)}")
    if not arguments.minutes > 0:
        raise UsageError(f"--minutes {arguments.minutes:g}: expected more than 0")
    for option in ("limit", "sizes"):
        value = getattr(arguments, option)
        if value is not None and not value > 0:
            raise UsageError(f"--{option} {value:g}: expected more than 0")
    shown = Line()
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
        command=" ".join(["crayon-hf", *map(shlex.quote, sys.argv[1:])]),
    )
    try:
        report = command.check(options, lambda message: shown.write(message[:100]) if shown.is_live else None)
    except UnknownVocabularyError as error:
        raise UsageError(str(error)) from error
    finally:
        shown.clear()
    for line in command.summary(report):
        print_line(line)
    print_line(f"wrote {options.output / 'report.json'} and {options.output / 'report.md'}")
    return PASSED if report.data["verdict"] == "PASS" else FAILED
