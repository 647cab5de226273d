"""``python -m parity.training``: training, against the trainer of ``tokenizers``.

A ByteLevel vocabulary is trained on each text, followed by small random corpora with random options. The whole
``tokenizer.json`` must be equal, to the byte.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module

from crayon_hf.parity.compare.records import attempt
from crayon_hf.parity.inputs.texts import CORPUS, UnknownVocabularyError, find_text, read_text

from .cases import BYTES, Case, pre_tokenizers, random_case
from .compare import Answer, Finding, Train, check, difference, ours, reference, smallest, train_with


def text_of(spec: str, limit: int) -> tuple[str, bytes]:
    """Return the name and the text of ``NAME=FILE,FILE`` or ``NAME``: its files joined, at most `limit` bytes."""
    name, _, files = spec.partition("=")
    parts: list[bytes] = []
    for file in (files or name).split(","):
        left = limit - sum(map(len, parts))
        if left > 0:
            parts.append(read_text(find_text(file), left))
    return (name if files else find_text(name).name.split(".")[0]), b"".join(parts)


def text_case(name: str, data: bytes, vocab_size: int) -> Case:
    """Return the case that trains byte-level BPE, like gpt2's, on the lines of a text."""
    options = {"vocab_size": vocab_size, "initial_alphabet": BYTES, "special_tokens": ["<|endoftext|>"]}
    return Case(name, pre_tokenizers()["ByteLevel"], None, (data.decode(),), options, as_file=True)


def ours_or(stand_in: str) -> Train:
    """Return a function that trains a case with our class, or with the class that ``module:class`` names.

    That class needs ``from_str``, ``train``, ``train_from_iterator`` and ``to_str``.
    """

    def other(case: Case) -> Answer:
        module, _, name = stand_in.partition(":")
        answer: Answer = attempt(train_with, getattr(import_module(module), name), case)
        return answer

    return other if stand_in else ours


def compare_text(case: Case, train: Train) -> str:
    """Train both sides on a text and compare the results. Print and return the first difference; print the times."""
    start = time.perf_counter()
    expected = reference(case)
    between = time.perf_counter()
    found = train(case)
    took = f"(the reference took {between - start:.1f} s, ours {time.perf_counter() - between:.1f} s)"
    what = difference(expected, found)
    print(f"{case.name}: {what or 'tokenizer.json equal'} {took}", flush=True)
    return what


def compare_random(count: int, seed: int, train: Train, show: int, say: Callable[[str], None]) -> int:
    """Compare trainings on random cases. Return the number of cases that differ."""
    findings: list[Finding] = []
    compared = by_chance = undecided = 0
    for number in range(count):
        for finding in check(random_case(number, seed), train):
            compared += 1
            by_chance += finding.by_chance
            undecided += finding.undecided
            if finding.what:
                findings.append(finding)
                if len(findings) <= show:
                    say("\n".join(smallest(finding.case, train).lines()))
    equal = compared - by_chance - undecided - len(findings)
    say(
        f"{count} random corpora, {compared} trainings: {equal} equal, {by_chance} equal to one of several answers of "
        f"the reference, {undecided} where it gave too many answers to tell, {len(findings)} DIFFERENT"
    )
    return len(findings)


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(prog="python -m parity.training", description=__doc__)
    parser.add_argument(
        "--text",
        action="append",
        metavar="TEXT",
        help="a file, a name of $CRAYON_SHARED/corpus, or NAME=FILE,FILE...; may be repeated",
    )
    parser.add_argument("--no-texts", action="store_true", help="compare random corpora alone")
    parser.add_argument("--megabytes", type=float, default=20, metavar="MB", help="size of each text (%(default)s)")
    parser.add_argument("--vocab-size", type=int, default=32000, metavar="N", help="default %(default)s")
    parser.add_argument("--random", type=int, default=300, metavar="N", help="random corpora (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="differences to show (default %(default)s)")
    parser.add_argument("--ours", default="", help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when all is equal, 1 when something differs, 2 when it could not start."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    try:
        specs = [] if arguments.no_texts else arguments.text or CORPUS
        texts = dict(text_of(spec, int(arguments.megabytes * 1e6)) for spec in specs)
    except (UnknownVocabularyError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2

    def say(line: str) -> None:
        print(line, flush=True)

    train = ours_or(arguments.ours)
    differ = 0
    for name, data in texts.items():
        label = f"{name}, {len(data) / 1e6:.1f} MB, vocabulary {arguments.vocab_size:,}"
        differ += bool(compare_text(text_case(label, data, arguments.vocab_size), train))
    if arguments.random:
        differ += compare_random(arguments.random, arguments.seed, train, arguments.show, say)
    say(f"{differ} differences" if differ else "no difference")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
