"""Random cuts, ranges, appends and splits beside encoding anew with the reference library.

    python tests/budgets/run.py [--calls 100000] [--minutes M] [--only split] [VOCABULARY ...]

A vocabulary is what `crayon-hf parity` takes; without any all below $CRAYON_SHARED/vocab. Texts are hostile strings,
text where there is a corpus, and added tokens between them; a megabyte of one letter, one digit, one emoji and one
accent come last. A seed decides everything. What is different is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script: the package that is installed first, then what stands beside the tests
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    os.environ["HF_HUB_OFFLINE"] = "1"

import crayon_hf
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.compare.targets import find_target
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import load_documents, shared_directory
from tests.budgets.against import Against, Different, Ids, Spans

HOSTILE = (
    *("a", "aa ", " ", "\n", "\t ", "1", "12 ", "\u0301", "e\u0301", "\u1100\u1161\u11a8", "\u0323\u0307"),
    *("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u200d", "\ufe0f", "\u4e2d", "\u3002", "\u2581", "\u00a0"),
    *("the", " of", "'s", "'", "x=", "\r\n", "\x00", "\ufffd", "\ufb01", "\u0130", "\u212b", "\u00bd", "...", "{}"),
)
LONG = {"a letter": "a", "a digit": "7", "an emoji": "\U0001f469\u200d\U0001f680", "an accent": "e\u0301"}


def texts(rng: random.Random, specials: tuple[str, ...], documents: list[str]) -> Iterator[str]:
    """Texts of up to some thousand characters without end."""
    seed = 0
    strings: list[str] = []
    while True:
        parts: list[str] = []
        wanted = int(2 ** rng.uniform(0, 12))
        while wanted > 0:
            if not strings:
                seed += 1
                strings = [text for _, text in generate(200, seed, specials=specials) if len(text) < 4000]
            kind = rng.random()
            if kind < 0.35:
                part = strings.pop()
            elif kind < 0.7 and documents:
                document = rng.choice(documents)
                start = rng.randrange(len(document))
                part = document[start : start + rng.randrange(600)]
            elif kind < 0.8 and specials:
                part = rng.choice(("", " ", "a", "  ")) + rng.choice(specials) + rng.choice(("", " ", "b", "\n "))
            elif kind < 0.85:
                part = rng.choice(HOSTILE) * rng.randrange(1, 300)
            else:
                part = "".join(rng.choices(HOSTILE, k=rng.randrange(1, 20)))
            parts.append(part)
            wanted -= len(part) + 1
        text = "".join(parts)
        yield text.encode("utf-8", "ignore").decode()


def reference_of(vocabulary: Vocabulary) -> tuple[Ids, Spans | None]:
    """The ids of the reference library, and its spans where it says them as they are."""
    reference: Any = vocabulary.open_reference()
    if vocabulary.kind == "tokenizers":
        reference.post_processor = None  # which may trim what the spans say
        reference.no_truncation()
        reference.no_padding()
        charsmap = reference.normalizer is not None and "recompiled" in str(reference.normalizer)
        return (
            lambda text: reference.encode(text, add_special_tokens=False).ids,
            None if charsmap else lambda text: reference.encode(text, add_special_tokens=False).offsets,
        )
    if vocabulary.kind == "sentencepiece":
        return reference.encode, None

    def ids(text: str) -> list[int]:
        return reference.encode(text, allowed_special="all", disallowed_special=())  # type: ignore[no-any-return]

    def spans(text: str) -> list[tuple[int, int]]:
        found, characters = [], 0
        for id in ids(text):
            data = reference.decode_single_token_bytes(id)
            begun = sum(byte & 0xC0 != 0x80 for byte in data)
            found.append((characters - (data[0] & 0xC0 == 0x80), characters + begun))
            characters += begun
        return found

    return ids, spans


def check(vocabulary: Vocabulary, calls: int, seconds: float, seed: int, only: str = "") -> tuple[int, float]:
    """How many results were compared, and in how long."""
    begun = time.monotonic()
    rng = random.Random(f"{seed} {vocabulary.name}")
    ours = vocabulary.open_ours()
    against = Against(ours, *reference_of(vocabulary))
    documents = load_documents(["english", "code", "multi"], limit=1 << 20) if shared_directory() else {}
    pool = [text for group in documents.values() for text in group if text]
    # As a tokenizer of SentencePiece reads text, its control tokens are none.
    specials = () if vocabulary.kind == "sentencepiece" else vocabulary.specials()
    source = texts(rng, specials, pool)
    while against.done < calls and time.monotonic() - begun < seconds:
        text = next(source)
        if only in ("", "index"):
            against.index(rng, text, ranges=20)
        if only in ("", "cut"):
            against.cut(rng, text)
        if only in ("", "split"):
            against.split(rng, text[:1000])
        if only in ("", "append"):
            against.append(rng, text, changes=8)
    for unit in LONG.values():
        check_long(rng, against, unit, 1_000_000)
    return against.done, time.monotonic() - begun


def check_long(rng: random.Random, against: Against, unit: str, size: int) -> None:
    """A text of one thing alone: a few of each kind, since it may have no seam."""
    text = unit * (size // len(unit))
    index = crayon_hf.TokenIndex(against.ours, text)
    whole = against.count(text)
    against.same(index.count(), whole, "count()", unit)
    for _ in range(20):
        start = rng.randrange(len(text))
        end = min(len(text), start + int(2 ** rng.uniform(0, 12)))
        against.same(index.count(start, end), against.count(text[start:end]), f"count({start}, {end})", unit)
    for most in (5, 1000):
        for side in ("right", "left"):
            part = against.ours.truncate_text(text, most, side=side, add_special_tokens=False)  # type: ignore[arg-type]
            against.same(len(part) > 0 and against.count(part) <= most, True, f"truncate_text({most}, {side!r})", unit)
        against.same(against.ours.count_tokens(text, False, limit=most), min(whole, most + 1), f"limit={most}", unit)
    chunks = against.ours.split_text(text, 1000, 10, None)
    sizes = {len(chunk.ids) for chunk in chunks}
    against.same((chunks[-1].end, max(sizes) <= 1000), (len(text), True), "split_text(1000, 10)", unit)
    for chunk in rng.choices(chunks, k=5):
        against.same(chunk.ids, against.ids(chunk.text), "a chunk of 1000", unit)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("vocabulary", nargs="*", help="what `crayon-hf parity` takes; all below $CRAYON_SHARED/vocab")
    parser.add_argument("--calls", type=int, default=100_000, help="results to compare per vocabulary")
    parser.add_argument("--minutes", type=float, default=60, help="at most so many per vocabulary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", choices=("index", "cut", "split", "append"), help="one kind of calls")
    given = parser.parse_args(arguments)
    shared = shared_directory()
    names = given.vocabulary or (sorted(path.name for path in (shared / "vocab").iterdir()) if shared else ["lite"])
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            if name == "gguf" and not given.vocabulary:  # two files, of vocabularies that are there anyway
                continue
            vocabulary = find_target(name, "", directory).vocabulary
            try:
                done, seconds = check(vocabulary, given.calls, 60 * given.minutes, given.seed, given.only)
            except Different as difference:
                failed += 1
                print(f"{name}: {difference}", flush=True)
                continue
            print(f"{name}: {done:,} results as {vocabulary.reference_version} has them, {seconds:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
