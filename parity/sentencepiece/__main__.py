"""The command of `parity.sentencepiece`."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import parity.sentencepiece
from crayon_hf import Tokenizer
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.parity.compare.sentencepiece_side import OurPiecesSide, SentencePieceSide
from crayon_hf.parity.inputs.texts import shared_directory
from crayon_hf.util.extras import needed
from parity.pairs import Inputs, Pair, Row, check_kind, compare, make_parser, pair_of, run
from parity.runner import AGREED, DIFFERED, MISUSED
from parity.sentencepiece.random_run import RandomRun


def found_models(directory: str) -> list[str]:
    """Return the shared models. If none exist, train one and write it into `directory`."""
    shared = shared_directory()
    paths = sorted(shared.glob("vocab/*/tokenizer.model")) if shared else []
    return [str(path) for path in paths if recognise(path) is Kind.SENTENCEPIECE] or [train(directory)]


def train(directory: str) -> str:
    """Train a BPE model with byte fallback on the sources of a few modules of Python's library. Return its path."""
    texts = [inspect.getsource(import_module(name)) for name in ("argparse", "tarfile", "decimal", "typing")]
    prefix = str(Path(directory, "trained"))
    import_module("sentencepiece").SentencePieceTrainer.train(
        sentence_iterator=(line for text in texts for line in text.splitlines()),
        model_prefix=prefix,
        vocab_size=2000,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    return f"{prefix}.model"


def open_pair(path: str) -> Pair:
    """Return both sides of a comparison for a model's file. Raise UnsupportedError for another kind of file."""
    check_kind(path, Kind.SENTENCEPIECE, "parity.sentencepiece")
    tokenizer = Tokenizer.from_file(path)
    expected = SentencePieceSide(import_module("sentencepiece").SentencePieceProcessor(model_file=path))
    pair = pair_of(path, f"sentencepiece {version('sentencepiece')}", expected, OurPiecesSide(tokenizer), tokenizer)
    return replace(pair, target=Path(path).parent.name) if pair.target == "tokenizer.model" else pair


def rows_of(arguments: argparse.Namespace, inputs: Inputs) -> Iterator[Row]:
    """Compare all targets, and yield the rows of the table."""
    with needed("the comparison", "", "sentencepiece"):
        import_module("sentencepiece")
    with TemporaryDirectory(prefix="crayon-parity-") as directory:
        for path in arguments.targets or found_models(directory):
            pair = open_pair(path)
            yield from compare(pair, inputs.of(pair))


def run_random(arguments: argparse.Namespace) -> int:
    """Compare random models; return the exit status."""
    random_run = RandomRun(arguments.seed)
    random_run.run(range(arguments.first, arguments.first + arguments.models))
    print("\n".join([*random_run.reports, random_run.summary()]))
    if not random_run.counts["compared"]:
        return MISUSED
    return DIFFERED if random_run.counts["differing"] else AGREED


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if everything agrees, 1 if something differs, 2 for wrong usage."""
    parser = make_parser("parity.sentencepiece", parity.sentencepiece.__doc__, "MODEL")
    parser.add_argument("--models", type=int, default=0, metavar="N", help="compare N random models instead of files")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="the number of the first random model")
    arguments = parser.parse_args(argv)
    return run_random(arguments) if arguments.models else run(parser, argv, rows_of)


if __name__ == "__main__":
    sys.exit(main())
