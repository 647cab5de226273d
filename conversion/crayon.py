"""A version 2 cartridge of CRAYON to one of ours.

The .json beside it has the strings of its tokens, and is used where it is there. The result is a tokenizer.json that
matches the longest token at each place; CRAYON's own ids need `CrayonVocab(compat="xerv")`.

    $ python -m conversion.crayon vocab_lite.dat -o lite.dat
    read vocab_lite.dat and vocab_lite.json: sha256 ...
    wrote lite.json
    wrote lite.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from collections.abc import Sequence

from conversion import script
from crayon_hf.formats import convert
from crayon_hf.formats.recognise import Kind


def main(argv: Sequence[str] | None = None) -> None:
    """Convert it. WrongKindError, VocabularyError, UnsupportedError, OSError."""
    options = script.parser("crayon", __doc__, "FILE", "a .dat of CRAYON").parse_args(argv)
    source = script.find(options.source, Kind.CRAYON_V2)
    script.write(convert(options.source), options.output, source)


if __name__ == "__main__":
    script.run("crayon", main)
