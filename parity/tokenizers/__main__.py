"""Compares `crayon_hf.Tokenizer` with `tokenizers.Tokenizer`, every field of every result.

Examples:

    python -m parity.tokenizers                                  all published vocabularies, or the profile lite
    python -m parity.tokenizers gpt2 my-model/ --everything      two of them, also as pairs, words and windows
    python -m parity.tokenizers tokenizer.json --cpu all         on every instruction set of this machine
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from crayon_hf.parity.compare.references import TOKENIZERS, Vocabulary
from crayon_hf.parity.compare.targets import find_target
from parity.options import make_parser
from parity.runner import run

TARGETS = (
    "a tokenizer.json or all that converts to one, a directory, a cartridge, a profile, or a name below "
    f"$CRAYON_SHARED/vocab (default: {' '.join(TOKENIZERS)}; without CRAYON_SHARED the profile lite)"
)


def find(name: str, directory: str) -> Vocabulary:
    """The vocabulary that a name stands for. TargetError where it stands for none."""
    return find_target(name, "tokenizers", directory).vocabulary


def main(argv: Sequence[str] | None = None) -> int:
    """The command: 0 when everything agrees, 1 when something does not, 2 when it could not start."""
    return run(make_parser("tokenizers", __doc__, TARGETS), argv, TOKENIZERS, find)


if __name__ == "__main__":
    sys.exit(main())
