"""Compare `crayon_hf.AutoTokenizer` with stock `transformers.AutoTokenizer`, which has a process of its own.

Examples:

    python -m parity.transformers                                all published vocabularies, or the profile lite
    python -m parity.transformers llama2 --strings 1000          one of them, on fewer strings
    python -m parity.transformers my-model/ --everything         a directory, all of it as pairs, words and windows
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from crayon_hf.formats import convert, write
from crayon_hf.formats.names import NameKind, meaning_of
from crayon_hf.parity.compare.references import TOKENIZERS
from crayon_hf.parity.compare.targets import Subject, find_target
from parity.runner import make_parser, run

PUBLISHED = tuple(name for name in TOKENIZERS if name != "gpt2")
"""The shared vocabularies that transformers can open as directories. For gpt2, only a tokenizer.json is shared."""

TARGETS = (
    "a directory that AutoTokenizer opens, a repository of the Hub, a profile, or a name below $CRAYON_SHARED/vocab "
    f"(default: {' '.join(PUBLISHED)}; without CRAYON_SHARED the profile lite)"
)


def find(name: str, directory: str) -> Subject:
    """Return the target of a name. For a profile, use the directory that ``crayon-hf convert`` makes of it."""
    meaning = meaning_of(name)
    if meaning.kind is NameKind.PROFILE:
        name = os.path.join(directory, meaning.name)
        write(convert(meaning.path), name)
    return find_target(name, "transformers", directory)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when everything agrees, 1 when something differs, 2 when it could not start."""
    return run(make_parser("transformers", __doc__, TARGETS), argv, PUBLISHED, find)


if __name__ == "__main__":
    sys.exit(main())
