"""Cartridges of many vocabularies, which a TOML file lists, with certificates.

An entry gives the location of a vocabulary, its SHA-256 and licence, and the ids of some texts; catalogue.example.toml
has all keys. For each entry the script writes DIR/NAME/ (or with --dat DIR/NAME.dat and DIR/NAME.json). It checks the
ids, compares with the reference library, and writes the certificate of full agreement into the cartridge.
DIR/catalogue.json lists all finished vocabularies. Run it again to continue: finished work is kept. It needs Python
3.11.

    $ python -m conversion.catalogue conversion/catalogue.example.toml -o made --strings 100 --only science
    science: made/science/tokenizer.dat: agreed with tokenizers ...
    made/catalogue.json: 1 of 3 vocabularies

    $ python -m conversion.catalogue conversion/catalogue.example.toml -o profiles --dat --strings 0
    science: profiles/science.dat: not compared
    lite: profiles/lite.dat: not compared
    standard: profiles/standard.dat: not compared
    profiles/catalogue.json: 3 of 3 vocabularies

The exit code is 1 when an entry could not be made; the others are made nevertheless.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from conversion import script
from conversion.catalogue_entries import CatalogueError, EntryError, read_catalogue
from conversion.catalogue_output import Output
from crayon_hf.errors import CrayonError

STRINGS = 1000


def main(argv: Sequence[str] | None = None) -> int:
    """Make the catalogue's unfinished entries. Return the exit code. Raise CatalogueError for a file without
    entries."""
    options = _parser().parse_args(argv)
    entries = read_catalogue(options.catalogue)
    names = [name for name, _ in entries]
    if unknown := [name for name in options.only if name not in names]:
        raise CatalogueError(f"{options.catalogue} has no {', '.join(unknown)}; it has {', '.join(names)}")
    failed = False
    with Output(options.output, names, is_flat=options.dat, strings=options.strings) as output:
        for name, entry in entries:
            if options.only and name not in options.only:
                continue
            try:
                said = output.make(entry(), options.catalogue)
                print(f"{name}: {output.cartridge(name)}: {said}", flush=True)
            except (CrayonError, OSError, ValueError) as error:
                said = " ".join(str(error).split())
                print(f"FAILED {said if isinstance(error, EntryError) else f'{name}: {said}'}", file=sys.stderr)
                failed = True
        print(f"{output.index}: {len(output.finished)} of {len(names)} vocabularies")
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m conversion.catalogue",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("catalogue", type=Path, metavar="FILE.toml", help="the catalogue")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", required=True, help="the folder for the cartridges")
    parser.add_argument("--dat", action="store_true", help="write NAME.dat and NAME.json, not a directory for each")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this entry; may be repeated")
    parser.add_argument(
        "--strings",
        type=int,
        default=STRINGS,
        metavar="N",
        help="generated strings to compare for the certificate; 0 writes no certificate (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    script.run("catalogue", main)
