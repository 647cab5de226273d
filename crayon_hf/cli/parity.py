"""The command ``parity``: compare with a reference, on the terminal and in files."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from crayon_hf.cli import parity_checks
from crayon_hf.cli.arguments import DEFAULT, NUMBER, Arguments, UsageError, argument, command, complete_names, option
from crayon_hf.cli.output import print_line
from crayon_hf.cli.parity_greedy import BESIDE, parity_of_greedy
from crayon_hf.util.progress import Progress
from crayon_hf.util.wording import plural

if TYPE_CHECKING:
    from crayon_hf.parity.report import Report

AGREED, DIFFERED = 0, 1


@command(
    "parity",
    examples=(
        ("crayon-hf parity my-model/ --strings 1k --no-speed", "compare only"),
        ("crayon-hf parity my-model/ --text book.txt --html report.html", "with speed, as a page"),
        ("crayon-hf parity my-model/ --certify", "certify the cartridge"),
        ("crayon-hf parity --greedy --text book.txt", "longest match beside merging"),
    ),
)
@argument("target", default=DEFAULT, shell_complete=complete_names, help="default: the profile lite")
@option(
    "--against",
    default="",
    metavar="REFERENCE",
    help="tokenizers (any source of tokenizer.json), tiktoken (rank files and encodings), transformers "
    "(directories) or sentencepiece (.model); default: the target's own",
)
@option(
    "--text",
    multiple=True,
    metavar="FILE",
    help="also compare on this UTF-8 text (.xz is unpacked), or directory of texts; may be repeated",
)
@option("--megabytes", type=float, metavar="MB", help="use only the first MB megabytes of each text")
@option("--strings", type=NUMBER, default=10_000, show_default=True, help="generate N strings")
@option("--tokens", type=NUMBER, help="also generate N strings of tokens (default: a fifth of --strings)")
@option("--seed", type=NUMBER, default=1, show_default=True, help="the seed of both")
@option("--cpu", default="", metavar="NAME", help="an instruction set (default: the best one)")
@option("--no-speed", is_flag=True, help="compare without timing")
@option("--rounds", type=NUMBER, help="time N times (default: 3; with --greedy 5)")
@option("--json", metavar="FILE", help='the report as JSON; "-" is standard output')
@option("--markdown", metavar="FILE", help="the report as Markdown")
@option("--html", metavar="FILE", help="the report as one page that needs no network")
@option("--output", metavar="DIR", help="all three: parity.json, parity.md and parity.html")
@option(
    "--certify",
    is_flag=True,
    help="write a certificate into the cartridge: TARGET is a .dat, or a directory with a tokenizer.dat "
    "(compiled if missing)",
)
@option("--greedy", is_flag=True, help="print how often longest match gives the exact ids, and how fast")
@option(
    "--beside",
    default=BESIDE[0],
    metavar="LIST",
    help="with --greedy, also time: tokenizers, llama.cpp (a .gguf; needs llama-cpp-python)",
)
@option("--ours", default="", hidden=True, help="a substitute, for tests")
def parity(arguments: Arguments) -> int:
    """Compares every field of every result with a reference library, and times both.

    The inputs are generated strings and texts. TARGET is a file, a directory, a cartridge (.dat), a tiktoken encoding,
    a profile, a name below $CRAYON_SHARED/vocab, or a Hub repository (user/name). The default of --text is the corpus
    of CRAYON_SHARED, else the sources of Python's standard library.

    Exit status: 0 if everything agrees, 1 if something differs or cannot be compared, 2 for wrong usage.
    """
    if not arguments.greedy:
        return _compare(arguments)
    for name in ("certify", "markdown", "html", "output"):
        if getattr(arguments, name):
            raise UsageError(f"--{name} cannot be combined with --greedy: it is for the comparison with a reference")
    return parity_of_greedy(arguments)


def _compare(arguments: Arguments) -> int:
    with parity_checks.checked(arguments) as cartridge:
        return _compared(arguments, cartridge)


def _compared(arguments: Arguments, cartridge: str | None) -> int:
    """Compare, print the results and write the reports. Return the exit status, which is 0 only for full agreement."""
    from crayon_hf.parity.compare.targets import TargetError
    from crayon_hf.parity.inputs.texts import UnknownVocabularyError
    from crayon_hf.parity.report import run, write

    shown = Progress()
    try:
        report = run.make_report(
            arguments.target,
            arguments.against,
            strings=arguments.strings,
            tokens=arguments.tokens,
            seed=arguments.seed,
            texts=arguments.text or None,
            megabytes=arguments.megabytes,
            speed=not arguments.no_speed,
            rounds=run.ROUNDS if arguments.rounds is None else max(1, arguments.rounds),
            cpu=arguments.cpu,
            ours=arguments.ours,
            cartridge=cartridge,
            command=_command(arguments),
            progress=shown,
        )
    except (TargetError, UnknownVocabularyError) as error:
        raise UsageError(str(error)) from error
    except ValueError as error:  # an input is not a text
        raise UsageError(str(error)) from error
    finally:
        shown.end()
    to_stdout = arguments.json == "-"
    if to_stdout:
        print_line(report.to_json().rstrip())
    paths = write(
        report,
        arguments.output,
        json=None if to_stdout else arguments.json,
        markdown=arguments.markdown,
        html=arguments.html,
    )
    lines = [f"wrote {path}" for path in paths]
    if cartridge is not None and report.agreed:
        from crayon_hf import certificate

        certificate.certify(cartridge, report)
        lines.append(f"wrote the certificate into {cartridge}")
    elif cartridge is not None:
        lines.append("no certificate was written: it needs full agreement")
    if not to_stdout:
        for line in [*table(report), "", *lines, verdict(report)]:
            print_line(line)
    return AGREED if report.agreed else DIFFERED


def table(report: Report) -> list[str]:
    """The lines of the report for a terminal, without the verdict."""
    from crayon_hf.parity.compare.lines import suite_line

    ours, reference, target = report.ours, report.reference, report.target
    lines = [
        f"{target.name}: {target.kind}, {plural(target.vocab_size, 'token')}",
        f"{ours.name} {ours.version} ({ours.details}) against {reference.name} {reference.version}",
        "",
    ]
    width = max(len(suite.name) for suite in report.suites)
    for suite in report.suites:
        name = f"{suite.name:<{width}}"
        lines.append(suite_line(name, suite.inputs, suite.differing, suite.characters, suite.seconds, suite.failure))
    for shown in report.differences:
        smallest = ", ".join(f"'{text}'" for text in shown.smallest)
        lines += ["", f"{shown.suite}, {shown.category}: differs on {smallest}"]
        lines += [f"  {each.field}: ours {each.ours}, {reference.name} {each.reference}" for each in shown.fields[:3]]
    speeds = [speed for speed in report.speeds if speed.ours]
    if speeds:
        lines += ["", f"{'':<28} {'ours':>12} {reference.name:>14}"]
    for speed in speeds:
        name = f"{speed.scenario} {speed.text}".strip()
        theirs = f"{_middle(speed.reference):,.4g} {speed.unit}" if speed.reference else "none"
        times = f"{speed.ratio:,.1f} times as fast" if speed.ratio else ""
        lines.append(f"{name:<28} {_middle(speed.ours):>7,.4g} {speed.unit:<4} {theirs:>14}   {times}")
    return [*lines, *report.notes]


def _middle(rounds: tuple[float, ...]) -> float:
    from statistics import median

    return median(rounds)


def verdict(report: Report) -> str:
    """The last line of the report."""
    against = f"{report.reference.name} {report.reference.version}"
    if report.agreed:
        return f"all agree with {against}: {plural(report.inputs, 'input')}, {plural(report.characters, 'character')}"
    failed = [suite.name for suite in report.suites if suite.failure or not suite.inputs]
    parts = (
        [f"{report.differing:,} of {plural(report.inputs, 'input')} differ from {against}"] if report.differing else []
    )
    parts += [f"not compared: {', '.join(failed)}"] if failed else []
    return "; ".join(parts) or "nothing was compared"


def _command(arguments: Arguments) -> str:
    """The command line that repeats the comparison, without the options that write files."""
    words = ["crayon-hf", "parity", arguments.target]
    words += ["--against", arguments.against] if arguments.against else []
    words += [part for text in arguments.text for part in ("--text", text)]
    words += ["--strings", str(arguments.strings), "--seed", str(arguments.seed)]
    for name in ("tokens", "megabytes", "rounds"):
        value = getattr(arguments, name)
        words += [] if value is None else [f"--{name}", f"{value:g}" if name == "megabytes" else str(value)]
    words += ["--cpu", arguments.cpu] if arguments.cpu else []
    words += ["--no-speed"] if arguments.no_speed else []
    words += ["--ours", arguments.ours] if arguments.ours else []
    return shlex.join(words)
