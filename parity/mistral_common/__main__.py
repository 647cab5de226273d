"""The command of `parity.mistral_common`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import parity.mistral_common
from crayon_hf import Tokenizer
from crayon_hf.formats.recognise import Kind
from crayon_hf.util.extras import needed
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


def shipped() -> list[str]:
    """Return the ``tekken.json`` files in the installed package `mistral_common`."""
    package = import_module("mistral_common")
    return sorted(str(path) for folder in package.__path__ for path in Path(folder, "data").glob("tekken*.json"))


def open_pair(path: str) -> Pair:
    """Return both sides of a comparison for a ``tekken.json``. Raise UnsupportedError for another kind of file."""
    check_kind(path, Kind.TEKKEN, "parity.mistral_common")
    library = import_module("mistral_common.tokens.tokenizers.tekken").Tekkenizer.from_file(Path(path))
    tokenizer = Tokenizer.from_file(path)
    tokenizer.encode_special_tokens = True  # the reference finds no special tokens in a text
    encode = one_by_one(lambda text: library.encode(text, bos=False, eos=False))
    side = CallsSide(encode, one_by_one(library.decode))
    return pair_of(path, f"mistral-common {version('mistral-common')}", side, our_side(tokenizer), tokenizer)


def rows_of(arguments: argparse.Namespace, inputs: Inputs) -> Iterator[Row]:
    """Compare all targets, and yield the rows of the table."""
    with needed("the comparison", "", "mistral-common"):
        found = shipped()
    for path in arguments.targets or found:
        pair = open_pair(path)
        yield from compare(pair, inputs.of(pair))


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if everything agrees, 1 if something differs, 2 for wrong usage."""
    return run(make_parser("parity.mistral_common", parity.mistral_common.__doc__, "TEKKEN_JSON"), argv, rows_of)


if __name__ == "__main__":
    sys.exit(main())
