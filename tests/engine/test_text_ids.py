"""The fast paths to the ids of models on text give the ids of ``tokenizers`` for any text of any length."""

from __future__ import annotations

import functools
import random
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
    "a sign": {"pattern": {"String": "<"}, "behavior": "MergedWithNext"},
    "the mark": {"pattern": {"String": MARK}},
    "the space": {"pattern": {"String": " "}},
    "nothing": {"pattern": {"String": ""}},
    "marks": {"pattern": {"Regex": f"{MARK}+"}, "behavior": "Removed"},
    "letters": {"pattern": {"Regex": "[a-f]"}, "behavior": "Contiguous"},
    "a letter of two cases": {"pattern": {"Regex": "(?i)k"}},
    "what may be empty": {"pattern": {"Regex": "x*"}},
    "the rest": {"invert": True},
    "only matches": {"behavior": "Removed", "invert": True},
}
"""Variants of the normalizer CONTROL. Some leave a text unchanged if it lacks certain bytes."""


def sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(parts)}


def both_steps(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


WHITE_SPACE = {"type": "WhitespaceSplit"}
WORDS = both_steps(WHITE_SPACE, METASPACE)
FALLBACK = "bpe-spaces, byte_fallback"
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
BERT |= {"lowercase": False}
LLAMA = sequence(PREPEND, REPLACE)
LOWER = {"type": "Lowercase"}
BERT_WORDS = {"type": "BertPreTokenizer"}

# By name: model, normalizer, pre-tokenizer, and added tokens.
_SHAPES: dict[str, tuple[Any, ...]] = {
    # Text with implicit spaces, and text that only looks like it.
    "llama2": (FALLBACK, LLAMA),
    "llama2, later": (FALLBACK, sequence(REPLACE, PREPEND)),
    "llama2, twice": (FALLBACK, sequence(PREPEND, PREPEND, REPLACE)),
    "llama2, other mark": (FALLBACK, sequence({**PREPEND, "prepend": "_"}, REPLACE)),
    "llama2, lower": (FALLBACK, sequence(PREPEND, LOWER, REPLACE)),
    "gemma": (FALLBACK, REPLACE),
    "prepend": (FALLBACK, PREPEND),
    "mistral": (f"{FALLBACK}, ignore_merges", LLAMA, CONTROL),
    **{f"mistral, {name}": (FALLBACK, LLAMA, CONTROL | split) for name, split in SPLITS.items()},
    "digits": (FALLBACK, REPLACE, {"type": "Digits", "individual_digits": True}),
    "gap": (f"{FALLBACK} with a gap", LLAMA),
    "no bytes": ("bpe-spaces, fuse_unk", LLAMA),
    "no unk": ("bpe-spaces, no unk", LLAMA),
    "bytes, no unk": (f"{FALLBACK}, no unk", LLAMA),
    **{f"llama2, {name}": (FALLBACK, LLAMA, None, tokens) for name, tokens in ADDED.items() if "normalized" in name},
    # Words with marks.
    "t5": ("unigram", None, WORDS),
    "t5, ties": ("unigram, ties", None, WORDS),
    "t5, bytes": ("unigram, byte_fallback", None, WORDS),
    "t5, first": ("unigram", None, both_steps(WHITE_SPACE, {**METASPACE, "prepend_scheme": "first"})),
    "t5, never": ("unigram", None, both_steps(WHITE_SPACE, {**METASPACE, "prepend_scheme": "never"})),
    "t5, whole": ("unigram", None, both_steps(WHITE_SPACE, {**METASPACE, "split": False})),
    "t5, other mark": ("unigram", None, both_steps(WHITE_SPACE, {**METASPACE, "replacement": "_"})),
    "t5, bpe": (FALLBACK, None, WORDS),
    "t5, llama2": (FALLBACK, LLAMA, WORDS),
    "t5, nfkc": ("unigram", {"type": "NFKC"}, WORDS),
    "metaspace": ("unigram", None, METASPACE),
    "metaspace, bpe": ("bpe-spaces, byte_fallback, ignore_merges", None, METASPACE),
    # Words between white space of one kind.
    "bert": ("wordpiece", BERT, BERT_WORDS),
    "bert, lower": ("wordpiece, short words", {**BERT, "lowercase": True}, BERT_WORDS),
    "bert, not cleaned": ("wordpiece", {**BERT, "clean_text": False}, BERT_WORDS),
    "bert, added": ("wordpiece", BERT, BERT_WORDS, ADDED["added(normalized)"]),
    "bert, whitespace": ("wordpiece", BERT, {"type": "Whitespace"}),
    "affixes": ("bpe-words, prefix and suffix", None, BERT_WORDS),
    "words": ("wordlevel", BERT, WHITE_SPACE),
}


def assembled(model: str, normalizer: Any = None, pre_tokenizer: Any = None, added: Any = ()) -> dict[str, Any]:
    return assemble(model, added, normalizer=normalizer, pre_tokenizer=pre_tokenizer)


SHAPES = {name: assembled(*shape) for name, shape in _SHAPES.items()}

# All white space, similar characters, control characters, marks, joiners, and characters of each size.
_WHITE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
WHITE = [*_WHITE, *map(chr, range(0x2000, 0x200C))]
OTHERS = [*"\0\x07\x7f\u0301\u200d\ufe0féÉßﬁk\u212aⅣ語日жא가👩\U0010ffff\ufffd", "क्"]  # U+212A: another capital of k
_PARTS = "the wor word ▁ ▁▁ <s> [X] [x] <|a|> <0x41>"
PARTS = [*"abehrtwXY019.,'-<>[]_", *_PARTS.split(), *WHITE, *OTHERS, "  ", "   "]
TEXTS = st.lists(st.sampled_from(PARTS) | st.characters(exclude_categories=["Cs"]), max_size=60).map("".join)
REPEATED = st.tuples(TEXTS, st.integers(1, 40)).map(lambda pair: pair[0] * pair[1])


@functools.cache
def opened(name: str) -> reference_impl.Both:
    return reference_impl.Both(SHAPES[name])


def check(both: reference_impl.Both, *texts: str) -> None:
    """Compare the ids of each text with the reference, twice: the second time the thread's caches have the words."""
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


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_many_new_words(name: str) -> None:
    """After thousands of new words a thread makes its tables for frequent use; ids stay the same."""
    check(opened(name), *(reference_impl.generated_text(random.Random(seed), 15_000) for seed in (1, 2)))


def test_words_with_and_without_their_marks() -> None:
    """A text of a single word is looked up as it is, with its spaces; longer texts are cut into words with marks for
    spaces."""
    for word in ("ab", "ah", "ar"):
        for letter in "bco.":  # the places of cuts
            check(opened("t5, llama2"), f"\u3000{word}", f"{letter}{word}", f"{letter}\u3000{word}")


@pytest.mark.parametrize("name", ["llama2", "gemma", "mistral", "t5", "bert"])
def test_lengths_around_blocks_and_keys(name: str) -> None:
    """Text is cut 64 bytes at a time. Words are looked up in blocks of 256, by keys of up to 15 and 31 bytes."""
    rng = random.Random(3)
    for letters in ("ab", "a. ", "ab é", "aé語👩 "):
        for size in (*range(1, 70), *range(120, 136), 255, 256, 257, 1024):
            check(opened(name), "".join(rng.choices(letters, k=size)))
    for size in range(1, 40):
        check(opened(name), "a" * size, " " + "a" * size, "b " + "é" * size, " " * size, "\u2581" * size)
    for count in (255, 256, 257, 511, 512, 513):
        check(opened(name), "b " * count, "." * count)
