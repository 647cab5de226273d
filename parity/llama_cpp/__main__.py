"""The command of `parity.llama_cpp`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import parity.llama_cpp
from crayon_hf import Tokenizer
from crayon_hf.errors import UnsupportedError
from crayon_hf.formats.recognise import Kind
from crayon_hf.parity.inputs.texts import shared_directory
from parity.llama_cpp.made import MODELS
from parity.llama_cpp.random_files import compare_files
from parity.pairs import (
    CallsSide,
    Inputs,
    Pair,
    Row,
    check_kind,
    compare,
    make_parser,
    one_by_one,
    our_side,
    pair_of,
    run,
)
from parity.runner import AGREED, DIFFERED, MISUSED

_BETWEEN = "\n__ggml_vocab_test__\n"


def found_files() -> list[str]:
    """Return the shared GGUF files. If none exist, raise UnsupportedError, which explains the alternatives."""
    shared = shared_directory()
    paths = sorted(shared.glob("vocab/gguf/*.gguf")) if shared else []
    if not paths:
        raise UnsupportedError(
            "no GGUF files here: name one (llama.cpp has vocabularies and their vectors in models/ggml-vocab-*.gguf, "
            ".inp and .out), or set CRAYON_SHARED to a directory with vocab/gguf"
        )
    return [str(path) for path in paths]


def vectors_of(path: str) -> tuple[list[str], list[list[int]]] | None:
    """Return the published texts and their ids, or None if they are not beside the file."""
    texts_file, ids_file = Path(path + ".inp"), Path(path + ".out")
    if not (texts_file.exists() and ids_file.exists()):
        return None
    texts = texts_file.read_bytes().decode().split(_BETWEEN)
    lines = ids_file.read_text(encoding="utf-8").split("\n")
    return texts, [[int(word) for word in line.split()] for line in lines][: len(texts)]


def compare_vectors(pair: Pair, texts: list[str], ids: list[list[int]]) -> Iterator[Row]:
    """Compare our ids with the published ones, and yield the row of the table."""
    known = dict(zip(texts, ids, strict=True))
    published = replace(pair, reference="published vectors", expected=CallsSide(one_by_one(known.__getitem__)))
    return compare(published, [("vectors", (("vectors", text) for text in texts))])


def open_llama(path: str) -> Any:
    """Return llama.cpp's vocabulary of the file, or None if llama-cpp-python is not installed."""
    try:
        return import_module("llama_cpp").Llama(model_path=path, vocab_only=True, verbose=False)
    except ImportError:
        return None


def open_pair(path: str, llama: Any) -> Pair:
    """Return both sides of a comparison for a GGUF file. If `llama` is None, the reference cannot encode."""
    tokenizer = Tokenizer.from_file(path)
    encode = one_by_one(lambda text: llama.tokenize(text.encode(), add_bos=False, special=True))
    reference = f"llama-cpp-python {version('llama-cpp-python')}" if llama else "llama.cpp"
    return pair_of(path, reference, CallsSide(encode), our_side(tokenizer, decodes=False), tokenizer)


def rows_of(arguments: argparse.Namespace, inputs: Inputs) -> Iterator[Row]:
    """Compare all targets, and yield the rows of the table."""
    for path in arguments.targets or found_files():
        check_kind(path, Kind.GGUF, "parity.llama_cpp")
        llama, vectors = open_llama(path), vectors_of(path)
        pair = open_pair(path, llama)
        if vectors is not None:
            yield from compare_vectors(pair, *vectors)
        if llama is not None:
            yield from compare(pair, inputs.of(pair))
        else:
            why = "llama-cpp-python is not installed" + ("" if vectors else f", and {path}.inp and .out are missing")
            yield Row(pair.target, pair.reference, "strings", skipped=why)


def compare_random(arguments: argparse.Namespace) -> int:
    """Compare random files of each model. Print a row for each model, and return the exit status."""
    seeds = range(arguments.seed, arguments.seed + arguments.random)
    files = texts = differences = 0
    for counts in compare_files(arguments.model, seeds, arguments.each):
        print("\n".join(counts.lines()), flush=True)
        files, texts = files + counts.files - counts.refused, texts + counts.texts
        differences += counts.differences
    print(f"{files:,} files, {texts:,} texts: " + (f"{differences:,} differ" if differences else "all agree"))
    return DIFFERED if differences else AGREED if files else MISUSED


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if everything agrees, 1 if something differs, 2 for wrong usage."""
    parser = make_parser("parity.llama_cpp", parity.llama_cpp.__doc__, "GGUF")
    add = parser.add_argument_group("random files").add_argument
    add("--random", type=int, metavar="N", help="instead: N random files of each model, the first of seed --seed")
    add("--model", action="append", choices=MODELS, default=[], help="only this model; may be repeated")
    add("--each", type=int, default=40, metavar="N", help="texts for each random file (default %(default)s)")
    arguments = parser.parse_args(argv)
    if arguments.random is None:
        return run(parser, argv, rows_of)
    if arguments.targets:
        parser.error("--random makes its own files: give no file names")
    return compare_random(arguments)


if __name__ == "__main__":
    sys.exit(main())
