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

_BETWEEN = "\n__ggml_vocab_test__\n"


def found_files() -> list[str]:
    """The shared GGUF files. UnsupportedError, with what to give, where there are none."""
    shared = shared_directory()
    paths = sorted(shared.glob("vocab/gguf/*.gguf")) if shared else []
    if not paths:
        raise UnsupportedError(
            "no GGUF files here: name one (llama.cpp has vocabularies and their vectors in models/ggml-vocab-*.gguf, "
            ".inp and .out), or set CRAYON_SHARED to a directory with vocab/gguf"
        )
    return [str(path) for path in paths]


def vectors_of(path: str) -> tuple[list[str], list[list[int]]] | None:
    """The published texts and their ids; None where they are not beside the file."""
    texts_file, ids_file = Path(path + ".inp"), Path(path + ".out")
    if not (texts_file.exists() and ids_file.exists()):
        return None
    texts = texts_file.read_bytes().decode().split(_BETWEEN)
    lines = ids_file.read_text(encoding="utf-8").split("\n")
    return texts, [[int(word) for word in line.split()] for line in lines][: len(texts)]


def compare_vectors(pair: Pair, texts: list[str], ids: list[list[int]]) -> Iterator[Row]:
    """The row of the published vectors."""
    known = dict(zip(texts, ids, strict=True))
    published = replace(pair, reference="published vectors", expected=CallsSide(one_by_one(known.__getitem__)))
    return compare(published, [("vectors", (("vectors", text) for text in texts))])


def open_llama(path: str) -> Any:
    """llama.cpp's vocabulary of the file; None where llama-cpp-python is not installed."""
    try:
        return import_module("llama_cpp").Llama(model_path=path, vocab_only=True, verbose=False)
    except ImportError:
        return None


def open_pair(path: str, llama: Any) -> Pair:
    """Both sides of a GGUF file. Without `llama`, the reference's has no ids."""
    tokenizer = Tokenizer.from_file(path)
    encode = one_by_one(lambda text: llama.tokenize(text.encode(), add_bos=False, special=True))
    reference = f"llama-cpp-python {version('llama-cpp-python')}" if llama else "llama.cpp"
    return pair_of(path, reference, CallsSide(encode), our_side(tokenizer, decodes=False), tokenizer)


def rows_of(arguments: argparse.Namespace, inputs: Inputs) -> Iterator[Row]:
    """The rows of all targets."""
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
            yield Row(
                pair.target,
                pair.reference,
                "strings",
                skipped=why if vectors else f"{why}, and {path}.inp and .out are missing",
            )


def main(argv: Sequence[str] | None = None) -> int:
    """0 if everything agrees, 1 if something differs, 2 for a misuse."""
    return run(make_parser("parity.llama_cpp", parity.llama_cpp.__doc__, "GGUF"), argv, rows_of)


if __name__ == "__main__":
    sys.exit(main())
