"""Encodings with all their fields equal those of ``tokenizers``, for every type of published vocabulary."""

from __future__ import annotations

import functools
import json
import random

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.encode_shapes import PIECES, SHAPES, SURROGATES, opened, vocabulary

cpu = reference_impl.cpu


@pytest.fixture(params=SHAPES, scope="module")
def both(request: pytest.FixtureRequest, cpu: str) -> reference_impl.Both:
    return opened(request.param, cpu)


@pytest.fixture(scope="module")
def gpt2_both(cpu: str) -> reference_impl.Both:
    return opened("gpt2", cpu)


BYTES = st.binary(max_size=100) | st.lists(
    st.sampled_from([b" ", b"\xff", b"\xe4\xb8", b"\xad", b"a", b"'s", b"\xf0\x9f", b"\x80", b"\n", b"1"])
).map(b"".join)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    text=reference_impl.texts_of(PIECES, size=30),
    pair=st.none() | reference_impl.texts_of(PIECES, size=6),
    special=st.booleans(),
    as_text=st.booleans(),
)
def test_texts_of_pieces(both: reference_impl.Both, text: str, pair: str | None, special: bool, as_text: bool) -> None:
    both.check(text, pair, add_special_tokens=special, special_as_text=as_text)


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=60), data=BYTES)
def test_any_text_and_any_bytes(both: reference_impl.Both, text: str, data: bytes) -> None:
    both.check(text)
    both.check([text, text[::2]], is_pretokenized=True)
    ids = both.engine.encode_bytes(data)
    assert both.engine.decode_bytes(ids) == b"".join(map(both.engine.id_to_bytes, ids)) == data


# -- inputs with their own code paths


def test_words_around_the_size_of_keys(gpt2_both: reference_impl.Both) -> None:
    """Words of up to 15 bytes are looked up by keys of 16 bytes. Reading a key must not pass the end of the text."""
    rng = random.Random(7)
    for size in range(1, 40):
        for letters in ("etaoin", "\u0430\u0431\u0432", "\u4e2d\u6587", "q"):
            word = "".join(rng.choices(letters, k=size))
            for text in (word, " " + word, word + " a", f"{word} {word}", f"{word}1"):
                gpt2_both.check(text)
                gpt2_both.check(text)


@pytest.mark.parametrize("word", ["a", " the", "qzx", "\u4e2d", "1 "])
def test_around_the_size_of_blocks(gpt2_both: reference_impl.Both, word: str) -> None:
    """Pretokens are cut and looked up in blocks of 256, so texts have about one, two and four blocks."""
    for count in (*range(254, 259), 511, 512, 513, 1024):
        gpt2_both.check(f"{word}!" * (count // 2) + word * (count % 2))
        gpt2_both.check(f" {word}" * count)


DECOMPOSED = [
    "e\u0301te\u0301",
    "a\u0323\u0307\u0301x",
    "\u1100\u1161\u11a8 \u1100\u1161",
    "q\u0301\u0323 <|end|>e\u0301",
]
SPLIT = [
    "\u4e2d\u9f98\U0001f680x",
    "a\U0001f469\u200d\U0001f4bb\u00e9",
    " \u20ac\u20ac 1\u20ac",
    "\U0001f642\u0301\u0301 \x00",
]


@pytest.mark.parametrize("text", DECOMPOSED + SPLIT)
@pytest.mark.parametrize("shape", ["gpt2", "o200k", "qwen"])
def test_offsets(shape: str, text: str, cpu: str) -> None:
    """Offsets are right for characters that several tokens share, and for characters that normalization joins."""
    opened(shape, cpu).check(text, "e\u0301 " + text, also_lookups=True)
    opened(shape, cpu).check([text, "x", text], is_pretokenized=True, also_lookups=True)


# -- engines of the flavor ``tiktoken`` use its character classes, and treat invalid text as it does


@functools.cache
def rank_file() -> tuple[tiktoken.Encoding, str]:
    """The trained vocabulary of type cl100k, as an encoding of tiktoken and as a tokenizer.json."""
    tokens = sorted(json.loads(vocabulary("cl100k"))["model"]["vocab"].items(), key=lambda item: item[1])
    ranks = sorted({reference_impl.token_bytes(token) for token, _ in tokens} - {b"<|begin|>", b"<|end|>"}, key=len)
    family = "cl100k"
    pattern = _core.canonical_pattern(family)
    reference = tiktoken.Encoding(
        "test",
        pat_str=pattern,
        mergeable_ranks={token: i for i, token in enumerate(ranks)},
        special_tokens={"<|end|>": len(ranks)},
    )
    merges = [(ranks[left], ranks[right]) for left, right, _ in _core.merges_from_ranks(ranks)]
    document = reference_impl.byte_level_document()
    document["model"] |= {
        "vocab": {reference_impl.spell(token): i for i, token in enumerate(ranks)},
        "merges": [[reference_impl.spell(a), reference_impl.spell(b)] for a, b in merges],
        "ignore_merges": True,
    }
    document["pre_tokenizer"] = json.loads(vocabulary("cl100k"))["pre_tokenizer"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    document["added_tokens"] = [{"id": len(ranks), "content": "<|end|>", **flags}]
    return reference, json.dumps(document)


@pytest.fixture(scope="module")
def ranked(cpu: str) -> tuple[tiktoken.Encoding, _core.Engine]:
    reference, text = rank_file()
    return reference, reference_impl.open_engine(text, "rust_regex")


@settings(max_examples=100, deadline=None)
@given(text=reference_impl.texts_of([*PIECES, *SURROGATES], size=15))
def test_tiktoken(ranked: tuple[tiktoken.Encoding, _core.Engine], text: str) -> None:
    """Lone surrogates become U+FFFD, as in tiktoken."""
    reference, engine = ranked
    want = reference.encode(text, allowed_special="all")
    assert engine.encode_ids(text) == want
    assert engine.encode(text).ids == want
    assert engine.encode_ids(text, special_as_text=True) == reference.encode_ordinary(text)
    assert engine.decode_bytes(want) == reference.decode_bytes(want)
    assert engine.decode(want, skip_special_tokens=False) == reference.decode(want)
