"""The command of `parity.crayon`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import parity.crayon
from crayon_hf import CrayonVocab, Tokenizer
from crayon_hf.errors import UnsupportedError
from crayon_hf.formats.recognise import Kind
from parity.crayon import releases
from parity.crayon.processes import Opened
from parity.pairs import CallsSide, Inputs, Pair, Row, check_kind, compare, make_parser, one_by_one, pair_of, run

RELEASE = "5.3.8"
_WHERE = (
    "from importlib.util import find_spec; print(*(find_spec('crayon') or {}).submodule_search_locations, sep='\\n')"
)


def shipped(python: str = "") -> list[str]:
    """Return the ``.dat`` files of the CRAYON in an environment. Raise UnsupportedError if it has none."""
    found = subprocess.run([python or sys.executable, "-c", _WHERE], capture_output=True, text=True)
    paths = [path for folder in found.stdout.splitlines() for path in Path(folder, "resources", "dat").glob("*.dat")]
    if not paths:
        raise UnsupportedError(
            f"{python or 'this Python'} has no CRAYON: pip install xerv-crayon=={RELEASE}, or name the interpreter of "
            "an environment that has it with --python"
        )
    return sorted(map(str, paths))


def open_crayon(path: str, python: str = "") -> Opened:
    """Open CRAYON with longest match over bytes. Raise UnsupportedError for a release with another engine."""
    crayon = Opened(path, python)
    if crayon.engine != "crayon_cpu":
        crayon.close()
        raise UnsupportedError(
            f"xerv-crayon {crayon.release} has another engine ({crayon.engine}) with other ids: pip install "
            f"xerv-crayon=={RELEASE} here, and give an environment with {crayon.release} as --other-python"
        )
    return crayon


def open_pair(path: str, crayon: Opened) -> Pair:
    """Return both sides of a comparison for a version 2 cartridge: `crayon`, and ours with CRAYON's own ids."""
    vocab = CrayonVocab(compat="xerv")
    vocab.load_profile(path)
    decodes = Path(path).with_suffix(".json").exists()
    expected = CallsSide(crayon.ids, crayon.decode if decodes else None)
    ours = CallsSide(vocab.tokenize, one_by_one(vocab.decode) if decodes else None)
    return pair_of(path, f"xerv-crayon {crayon.release}", expected, ours, Tokenizer.from_file(path))


def rows_of(arguments: argparse.Namespace, inputs: Inputs) -> Iterator[Row]:
    """Compare all targets and yield the rows of the table. Then print the tables of ``--other-python``, if given."""
    pairs: dict[str, Pair] = {}
    for path in arguments.targets or shipped(arguments.python):
        check_kind(path, Kind.CRAYON_V2, "parity.crayon")
        with open_crayon(path, arguments.python) as crayon:
            pair = pairs[path] = open_pair(path, crayon)
            yield from compare(pair, inputs.of(pair))
    for path, pair in pairs.items() if arguments.other_python else ():
        with open_crayon(path, arguments.python) as crayon, Opened(path, arguments.other_python) as other:
            releases.show(path, crayon, other, inputs.of(pair))


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if everything agrees with release 5.3.8, 1 if something differs, 2 for wrong usage."""
    parser = make_parser("parity.crayon", parity.crayon.__doc__, "DAT")
    parser.add_argument("--python", default="", metavar="PATH", help="the interpreter that has CRAYON (default: this)")
    parser.add_argument("--other-python", default="", metavar="PATH", help="one with another release, for contrast")
    return run(parser, argv, rows_of)


if __name__ == "__main__":
    sys.exit(main())
