"""Ids alone of models on text take shortcuts: they are the reference's, whatever the text, its length and its seams."""

from __future__ import annotations

import functools
import lzma
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.components.cases import ADDED, assemble
from tests.support import reference_impl

MARK = "\u2581"
PREPEND = {"type": "Prepend", "prepend": MARK}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
METASPACE = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
CONTROL = {"type": "Split", "pattern": {"Regex": r"\[x\]|\A<\|(?=a\|>\z)"}, "behavior": "Isolated", "invert": False}

SPLITS: dict[str, dict[str, Any]] = {
    "a sign": {**CONTROL, "pattern": {"String": "<"}, "behavior": "MergedWithNext"},
    "the mark": {**CONTROL, "pattern": {"String": MARK}},
    "the space": {**CONTROL, "pattern": {"String": " "}},
    "nothing": {**CONTROL, "pattern": {"String": ""}},
    "marks": {**CONTROL, "pattern": {"Regex": f"{MARK}+"}, "behavior": "Removed"},
    "letters": {**CONTROL, "pattern": {"Regex": "[a-f]"}, "behavior": "Contiguous"},
    "a letter of two cases": {**CONTROL, "pattern": {"Regex": "(?i)k"}},
    "what may be empty": {**CONTROL, "pattern": {"Regex": "x*"}},
    "the rest": {**CONTROL, "invert": True},
    "only matches": {**CONTROL, "behavior": "Removed", "invert": True},
}
"""Of which some leave a text whole that has none of some bytes."""


def sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(parts)}


def both_steps(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


WORDS = both_steps({"type": "WhitespaceSplit"}, METASPACE)
FALLBACK = "bpe-spaces, byte_fallback"
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": False,
}

SHAPES: dict[str, dict[str, Any]] = {
    # Text whose spaces are not written out, and what only looks like it.
    "llama2": assemble(FALLBACK, normalizer=sequence(PREPEND, REPLACE)),
    "llama2, later": assemble(FALLBACK, normalizer=sequence(REPLACE, PREPEND)),
    "llama2, twice": assemble(FALLBACK, normalizer=sequence(PREPEND, PREPEND, REPLACE)),
    "llama2, other mark": assemble(FALLBACK, normalizer=sequence({**PREPEND, "prepend": "_"}, REPLACE)),
    "llama2, lower": assemble(FALLBACK, normalizer=sequence(PREPEND, {"type": "Lowercase"}, REPLACE)),
    "gemma": assemble(FALLBACK, normalizer=REPLACE),
    "prepend": assemble(FALLBACK, normalizer=PREPEND),
    "mistral": assemble(f"{FALLBACK}, ignore_merges", normalizer=sequence(PREPEND, REPLACE), pre_tokenizer=CONTROL),
    **{
        f"mistral, {name}": assemble(FALLBACK, normalizer=sequence(PREPEND, REPLACE), pre_tokenizer=split)
        for name, split in SPLITS.items()
    },
    "mistral, two steps": assemble(
        FALLBACK, normalizer=sequence(PREPEND, REPLACE), pre_tokenizer=both_steps(CONTROL, SPLITS["a sign"])
    ),
    "digits": assemble(FALLBACK, normalizer=REPLACE, pre_tokenizer={"type": "Digits", "individual_digits": True}),
    "gap": assemble(f"{FALLBACK} with a gap", normalizer=sequence(PREPEND, REPLACE)),
    "no bytes": assemble("bpe-spaces, fuse_unk", normalizer=sequence(PREPEND, REPLACE)),
    "no unk": assemble("bpe-spaces, no unk", normalizer=sequence(PREPEND, REPLACE)),
    "bytes, no unk": assemble(f"{FALLBACK}, no unk", normalizer=sequence(PREPEND, REPLACE)),
    **{
        f"llama2, {name}": assemble(FALLBACK, added, normalizer=sequence(PREPEND, REPLACE))
        for name, added in ADDED.items()
        if "normalized" in name
    },
    # Words that are marked.
    "t5": assemble("unigram", pre_tokenizer=WORDS),
    "t5, ties": assemble("unigram, ties", pre_tokenizer=WORDS),
    "t5, bytes": assemble("unigram, byte_fallback", pre_tokenizer=WORDS),
    "t5, first": assemble(
        "unigram", pre_tokenizer=both_steps(WORDS["pretokenizers"][0], {**METASPACE, "prepend_scheme": "first"})
    ),
    "t5, never": assemble(
        "unigram", pre_tokenizer=both_steps(WORDS["pretokenizers"][0], {**METASPACE, "prepend_scheme": "never"})
    ),
    "t5, whole": assemble(
        "unigram", pre_tokenizer=both_steps(WORDS["pretokenizers"][0], {**METASPACE, "split": False})
    ),
    "t5, other mark": assemble(
        "unigram", pre_tokenizer=both_steps(WORDS["pretokenizers"][0], {**METASPACE, "replacement": "_"})
    ),
    "t5, bpe": assemble(FALLBACK, pre_tokenizer=WORDS),
    "t5, llama2": assemble(FALLBACK, normalizer=sequence(PREPEND, REPLACE), pre_tokenizer=WORDS),
    "t5, nfkc": assemble("unigram", normalizer={"type": "NFKC"}, pre_tokenizer=WORDS),
    "metaspace": assemble("unigram", pre_tokenizer=METASPACE),
    "metaspace, bpe": assemble("bpe-spaces, byte_fallback, ignore_merges", pre_tokenizer=METASPACE),
    # Words between white space, all of it alike.
    "bert": assemble("wordpiece", normalizer=BERT, pre_tokenizer={"type": "BertPreTokenizer"}),
    "bert, lower": assemble(
        "wordpiece, short words", normalizer={**BERT, "lowercase": True}, pre_tokenizer={"type": "BertPreTokenizer"}
    ),
    "bert, not cleaned": assemble(
        "wordpiece", normalizer={**BERT, "clean_text": False}, pre_tokenizer={"type": "BertPreTokenizer"}
    ),
    "bert, added": assemble(
        "wordpiece", ADDED["added(normalized)"], normalizer=BERT, pre_tokenizer={"type": "BertPreTokenizer"}
    ),
    "bert, whitespace": assemble("wordpiece", normalizer=BERT, pre_tokenizer={"type": "Whitespace"}),
    "affixes": assemble("bpe-words, prefix and suffix", pre_tokenizer={"type": "BertPreTokenizer"}),
    "words": assemble("wordlevel", normalizer=BERT, pre_tokenizer={"type": "WhitespaceSplit"}),
}
PUBLISHED = ("llama2", "mistral-v1", "mistral-v3", "t5-small", "bert-cased")

# Every white character there is, what looks like one, control characters, marks, joiners, and characters of each size.
WHITE = [
    chr(c)
    for c in (
        *range(9, 14),
        *range(28, 33),
        0x85,
        0xA0,
        0x1680,
        *range(0x2000, 0x200C),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
        0x3000,
        0xFEFF,
    )
]
OTHERS = [
    "\0",
    "\x07",
    "\x7f",
    "\u0301",
    "\u200d",
    "\ufe0f",
    "é",
    "É",
    "ß",
    "ﬁ",
    "k",
    "\u212a",  # the other capital of k
    "Ⅳ",
    "語",
    "日",
    "ж",
    "א",
    "क्",
    "가",
    "👩",
    "\U0010ffff",
    "\ufffd",
]
PARTS = [
    *"abehrtwXY019.,'-<>[]_",
    "the",
    "wor",
    "word",
    "▁",
    "▁▁",
    "<s>",
    "[X]",
    "[x]",
    "<|a|>",
    "<0x41>",
    *WHITE,
    *OTHERS,
    "  ",
    "   ",
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.characters(exclude_categories=["Cs"]), max_size=60).map("".join)
REPEATED = st.tuples(TEXTS, st.integers(1, 40)).map(lambda pair: pair[0] * pair[1])


@functools.cache
def opened(name: str) -> reference_impl.Both:
    return reference_impl.Both(SHAPES[name])


def check(both: reference_impl.Both, *texts: str) -> None:
    """Also when the thread has met the text's words before."""
    for text in (*texts, *texts):
        want = reference_impl.try_reference(lambda text=text: both.reference.encode(text, add_special_tokens=False))
        if want is None:
            with pytest.raises(Exception, match=r"."):
                both.engine.encode_ids(text, False)
        else:
            assert both.engine.encode_ids(text, False) == want.ids, ascii(text)


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(TEXTS | REPEATED, min_size=1, max_size=4))
def test_any_text(name: str, texts: list[str]) -> None:
    check(opened(name), *texts)


def new_words(seed: int, count: int) -> str:
    """Words that are mostly new, of up to 45 characters, so that a thread makes the tables that many of them need."""
    rng = random.Random(seed)
    starts, vowels, ends = (
        ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "w", "th", "st", "br", "é", "ж"],
        ["a", "e", "i", "o", "u", "ea", "é"],
        ["", "n", "r", "s", "nd", ",", "."],
    )
    words = (
        "".join(
            rng.choice(starts) + rng.choice(vowels) + rng.choice(ends) for _ in range(rng.choice((1, 2, 3, 4, 5, 6, 9)))
        )
        for _ in range(count)
    )
    return "".join(word + rng.choice((" ", " ", " ", " ", "  ", "\n")) for word in words)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_many_new_words(name: str) -> None:
    check(opened(name), new_words(1, 3000), new_words(2, 10))


def test_words_with_and_without_their_marks() -> None:
    """A text of one word could be taken with its spaces as they are, others by the words that get marks."""
    for word in ("ab", "ah", "ar"):
        for letter in "bco.":  # where it is cut
            check(opened("t5, llama2"), f"\u3000{word}", f"{letter}{word}", f"{letter}\u3000{word}")


@pytest.mark.parametrize("name", ["llama2", "gemma", "mistral", "t5", "bert"])
def test_lengths_around_blocks_and_keys(name: str) -> None:
    """Text is cut 64 bytes at a time, and looked up by keys of up to 15 and 31 bytes, in blocks of 256."""
    rng = random.Random(3)
    for letters in ("ab", "a. ", "ab é", "aé語👩 "):
        for size in (*range(1, 70), *range(120, 136), 255, 256, 257, 1024):
            check(opened(name), "".join(rng.choices(letters, k=size)))
    for size in range(1, 40):
        check(opened(name), "a" * size, " " + "a" * size, "b " + "é" * size, " " * size, "\u2581" * size)
    for count in (255, 256, 257, 511, 512, 513):
        check(opened(name), "b " * count, "." * count)


@pytest.mark.parametrize("name", ["llama2", "t5", "bert"])
def test_every_character(name: str) -> None:
    """Alone, between letters, and between spaces."""
    both = opened(name)
    points = [
        c for c in (*range(0x3400), *range(0xA000, 0xD800), *range(0xE000, 0x10000, 7)) if not 0xD800 <= c < 0xE000
    ]
    texts = ["".join(f"a{chr(c)}b {chr(c)} " for c in points[i : i + 64]) for i in range(0, len(points), 64)]
    for text, want in zip(texts, both.reference.encode_batch(texts, add_special_tokens=False), strict=True):
        assert both.engine.encode_ids(text, False) == want.ids, ascii(text)


@functools.cache
def published(shared: Path, name: str) -> reference_impl.Both:
    return reference_impl.Both((shared / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(shared: Path, name: str) -> None:
    if not (shared / "vocab" / name / "tokenizer.json").exists():
        pytest.skip("no tokenizer.json")
    both = published(shared, name)
    check(both, new_words(4, 2000))
    for corpus in ("english", "code", "multi"):
        with lzma.open(shared / "corpus" / f"{corpus}.txt.xz", "rt", encoding="utf-8") as file:
            check(both, *(file.read(4000) for _ in range(8)))

    @settings(max_examples=200, deadline=None)
    @given(texts=st.lists(TEXTS | REPEATED, min_size=1, max_size=4))
    def any_text(texts: list[str]) -> None:
        check(both, *texts)

    any_text()
