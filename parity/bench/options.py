"""The options of the benchmark, of ``python -m parity.bench``.

The benchmark itself is imported when an option needs it: every start of the command line builds all its options.
"""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_options", "thread_counts"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that all ways to run the benchmark have."""
    add = parser.add_argument
    add(
        "--scenario",
        type=_scenarios,
        metavar="LIST",
        help="with commas between them: first, first-large, repeated, new-words, long-document, lines, short, decode, "
        "open, memory, hostile, lists (default: all; with --quick without first-large, long-document, lines, memory, "
        "lists); or jobs: training, corpora, file, process, transformers, server",
    )
    add(
        "--engines",
        type=_engines,
        metavar="LIST",
        help="with commas between them: crayon, tokenizers, tiktoken, gigatoken, fastokens, tokie; of jobs also "
        "rustbpe, datatrove, crayon_in_datatrove (default: all that are installed)",
    )
    add(
        "--peer",
        type=_peer,
        action="append",
        default=[],
        metavar="NAME=MODULE:FUNCTION",
        help="another engine: FUNCTION(path of a tokenizer.json) returns a function from texts to lists of ids",
    )
    add("--prerelease", action="store_true", help="also the pre-release of tokenizers, in a new environment")
    add("--prerelease-python", metavar="FILE", help="the interpreter of an environment that has it, instead")
    add("--threads", type=thread_counts, metavar="LIST", help="numbers of threads (default: 1,all; with --quick 1)")
    add("--rounds", type=int, metavar="N", help="time N times (default: 3; with --quick 1)")
    add(
        "--minutes", type=float, metavar="N", help="begin no further round that would take longer than N minutes in all"
    )
    add("--megabytes", type=float, metavar="MB", help="take so much of each text at most; for jobs, so much")
    add("--quick", action="store_true", help="little text and one round: rough figures in minutes")
    add("--json", metavar="FILE", help='every round as JSON; "-" is the standard output')
    add("--markdown", metavar="FILE", help="write the tables between the marks of this file")
    add("--reasons", metavar="FILE", help="JSON: why cells fall short of the targets, and what would move them")
    add("--clock", choices=("wall", "cpu"), default="wall", help="what the tables of one thread go by (default: wall)")


def thread_counts(text: str) -> list[int]:
    """Numbers such as ``1,2``; ``all`` is the number of cores that this process may use."""
    words = text.split(",")
    if "all" in words:
        from crayon_hf.parity.speed.processes import all_cores

        words = [str(len(all_cores())) if word == "all" else word for word in words]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of threads such as 1,2 or 1,all")
    return sorted({int(word) for word in words})


def _known(text: str, known: tuple[str, ...], what: str) -> list[str]:
    for word in text.split(","):
        if word not in known:
            raise argparse.ArgumentTypeError(f"no {what} {word!r}; there are: {', '.join(known)}")
    return text.split(",")


def _scenarios(text: str) -> list[str]:
    from .targets import JOBS, SCENARIOS

    return _known(text, (*SCENARIOS, *JOBS), "scenario")


def _engines(text: str) -> list[str]:
    from crayon_hf.parity.speed.processes import PEERS

    from .jobs import JOBS

    of_jobs = tuple(engine for job in JOBS.values() for engine in job.engines)
    return _known(text, tuple(dict.fromkeys((*PEERS, *of_jobs))), "engine")


def _peer(text: str) -> Any:
    from crayon_hf.parity.speed.child.engines import ENGINES
    from crayon_hf.parity.speed.processes import Engine

    name, _, function = text.partition("=")
    if not name or ":" not in function or name in ENGINES:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=MODULE:FUNCTION with a new name")
    return Engine(name, stand_in=function)
