"""Compares random calls of `crayon_hf.budgets` (cuts, ranges, appends, splits) with encoding anew by the reference
library.

    python tests/budgets/run.py [--calls 100000] [--only split] [VOCABULARY ...]

A vocabulary is a target of `crayon-hf parity`; the default is all below $CRAYON_SHARED/vocab. Texts are hostile strings
with added tokens between them; 100,000 characters of one letter, one digit, one emoji and one accent come last. A seed
decides everything. Differences are printed, and make the exit status 1.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script: prefer an installed package to the one beside the tests
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    os.environ["HF_HUB_OFFLINE"] = "1"

from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.compare.targets import find_target
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import shared_directory
from tests.budgets.against import Against, Different, Ids, Ranges

HOSTILE = (
    *("a", "aa ", " ", "\n", "\t ", "1", "12 ", "\u0301", "e\u0301", "\u1100\u1161\u11a8", "\u0323\u0307"),
    *("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u200d", "\ufe0f", "\u4e2d", "\u3002", "\u2581", "\u00a0"),
    *("the", " of", "'s", "'", "x=", "\r\n", "\x00", "\ufffd", "\ufb01", "\u0130", "\u212b", "\u00bd", "...", "{}"),
)
LONG = ("a", "7", "\U0001f469\u200d\U0001f680", "e\u0301")


def reference_of(vocabulary: Vocabulary) -> tuple[Ids, Ranges | None]:
    """The reference library's functions from a text to its ids and to its tokens' untrimmed ranges (None if the library
    has no ranges)."""
    reference: Any = vocabulary.open_reference()
    if vocabulary.kind == "sentencepiece":
        return reference.encode, None
    if vocabulary.kind == "tiktoken":
        return lambda text: reference.encode(text, allowed_special="all", disallowed_special=()), None
    reference.post_processor = None  # it may trim the ranges
    reference.no_truncation()
    reference.no_padding()
    charsmap = reference.normalizer is not None and "recompiled" in str(reference.normalizer)
    return (
        lambda text: reference.encode(text, add_special_tokens=False).ids,
        None if charsmap else lambda text: reference.encode(text, add_special_tokens=False).offsets,
    )


def check(vocabulary: Vocabulary, calls: int, seed: int, only: str = "") -> int:
    """Compare about `calls` random calls with a vocabulary. Returns the number of compared results."""
    rng = random.Random(f"{seed} {vocabulary.name}")
    against = Against(vocabulary.open_ours(), *reference_of(vocabulary))
    # SentencePiece does not match control tokens in a text.
    specials = () if vocabulary.kind == "sentencepiece" else vocabulary.specials()
    strings = [text for _, text in generate(2000, seed, specials=specials) if len(text) < 4000]
    while against.done < calls:
        parts = rng.choices(strings, k=rng.randrange(1, 4)) + rng.choices((*HOSTILE, *specials), k=rng.randrange(60))
        rng.shuffle(parts)
        compare(against, rng, "".join(parts).encode("utf-8", "ignore").decode(), only)
    for unit in LONG:  # texts that may have no seam
        compare(against, rng, unit * (100_000 // len(unit)), only)
    return against.done


def compare(against: Against, rng: random.Random, text: str, only: str) -> None:
    if only in ("", "index"):
        against.index(rng, text, ranges=20)
    if only in ("", "cut"):
        against.cut(rng, text)
    if only in ("", "split"):
        against.split(rng, text[:1000])
    if only in ("", "append"):
        against.append(rng, text, changes=8)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("vocabulary", nargs="*", help="what `crayon-hf parity` takes; all below $CRAYON_SHARED/vocab")
    parser.add_argument("--calls", type=int, default=100_000, help="results to compare per vocabulary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", choices=("index", "cut", "split", "append"), help="one kind of calls")
    given = parser.parse_args(arguments)
    shared = shared_directory()
    names = given.vocabulary or (sorted(path.name for path in (shared / "vocab").iterdir()) if shared else ["lite"])
    failed = 0
    for name in names:
        if name == "gguf" and not given.vocabulary:  # two files of vocabularies that other directories have
            continue
        with tempfile.TemporaryDirectory() as directory:
            vocabulary = find_target(name, "", directory).vocabulary
            try:
                done = check(vocabulary, given.calls, given.seed, given.only)
            except Different as difference:
                failed += 1
                print(f"{name}: {difference}", flush=True)
                continue
        print(f"{name}: {done:,} results as {vocabulary.reference_version} has them", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
