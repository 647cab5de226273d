"""Compare `crayon_hf.Tokenizer` with `tokenizers.Tokenizer`, every field of every result.

Examples:

    python -m parity.tokenizers                                  all published vocabularies, or the profile lite
    python -m parity.tokenizers gpt2 my-model/ --everything      two of them, all of it as pairs, words and windows
    python -m parity.tokenizers tokenizer.json --cpu all         on every instruction set of this machine
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from crayon_hf.parity.compare.references import TOKENIZERS
from crayon_hf.parity.compare.targets import Subject, find_target
from parity.runner import make_parser, run

TARGETS = (
    "a tokenizer.json or all that converts to one, a directory, a cartridge, a profile, or a name below "
    f"$CRAYON_SHARED/vocab (default: {' '.join(TOKENIZERS)}; without CRAYON_SHARED the profile lite)"
)


def find(name: str, directory: str) -> Subject:
    """Return the target of a name. Raise TargetError for an unknown name."""
    return find_target(name, "tokenizers", directory)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when everything agrees, 1 when something differs, 2 when it could not start."""
    return run(make_parser("tokenizers", __doc__, TARGETS), argv, TOKENIZERS, find)


if __name__ == "__main__":
    sys.exit(main())
