"""Compare `crayon_hf.Tokenizer`, opened from a rank file, with `tiktoken.Encoding` of the same ranks.

Examples:

    python -m parity.tiktoken                                    the published encodings, or the ranks of lite
    python -m parity.tiktoken cl100k_base                        one: its file is in $CRAYON_SHARED/vocab, in the cache
                                                                 of tiktoken ($TIKTOKEN_CACHE_DIR), or downloaded
    python -m parity.tiktoken my.tiktoken --pattern '\\w+|\\W+'    your own ranks, and the pattern that splits text
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from crayon_hf.formats.names import NameKind, meaning_of
from crayon_hf.parity.compare.references import TIKTOKEN, Vocabulary
from crayon_hf.parity.compare.targets import Subject, TargetError, exported_ranks, find_target
from parity.runner import make_parser, run

TARGETS = (
    "an encoding of tiktoken, a rank file, a cartridge made from one, or a profile with ranks (default: "
    f"{' '.join(TIKTOKEN)}; without CRAYON_SHARED the profile lite)"
)


def find(name: str, directory: str, pattern: str | None = None) -> Subject:
    """Return the target of a name. For a profile, use the ranks that ``crayon-hf convert --to tiktoken`` writes."""
    if pattern is not None:
        if not os.path.isfile(name):
            raise TargetError(f"{name} is not a rank file, which --pattern is for")
        return _ranks(Vocabulary(Path(name).stem, "tiktoken", Path(name), pattern=pattern))
    meaning = meaning_of(name)
    if meaning.kind is NameKind.PROFILE and meaning.path is not None:
        return _ranks(exported_ranks(meaning.name, meaning.path, directory))
    return find_target(name, "tiktoken", directory)


def _ranks(vocabulary: Vocabulary) -> Subject:
    return Subject(vocabulary.name, "a rank file", vocabulary)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when everything agrees, 1 when something differs, 2 when it could not start."""
    parser = make_parser("tiktoken", __doc__, TARGETS)
    parser.add_argument("--pattern", help="the split pattern of a rank file that tiktoken does not publish")
    pattern = parser.parse_args(argv).pattern
    return run(parser, argv, TIKTOKEN, lambda name, directory: find(name, directory, pattern))


if __name__ == "__main__":
    sys.exit(main())
