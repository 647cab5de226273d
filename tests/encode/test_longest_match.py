"""Longest match over bytes: in a tokenizer.json that requests it, and the search for a single token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf.errors import VocabularyError
from tests.support import greedy_reference as twin
from tests.support import reference_impl
from tests.support.cartridge_cases import child, rewritten, sections_of
from tests.support.greedy_reference import ON_BYTES, component, word_piece

cpu = reference_impl.cpu


# -- the form of tokenizer.json that requests longest match


SHAPES = {
    "plain": {},
    "pattern": {"pre_tokenizer": component(ON_BYTES[1])},
    "prefix": {"pre_tokenizer": component(ON_BYTES[2]), "normalizer": {"type": "NFC"}},
    "family": {"pre_tokenizer": component(ON_BYTES[3])},
    "any pre-tokenizer": {"pre_tokenizer": component(ON_BYTES[6])},
}


@pytest.fixture(scope="module", params=SHAPES)
def both(request: pytest.FixtureRequest, cpu: str) -> reference_impl.Both:
    tokens = [b"ab", b" ab", b"a\xc3", b"\xa9 ", b"  a", b"b a", b"'ll", b"\xe4\xb8", b" 12", b"\r\n\n"]
    document = word_piece(tokens) | SHAPES[request.param]
    document["model"]["vocab"] |= {"": 300, "中": 301, "a b": 302, "[hole before]": 310}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    document["added_tokens"] = [
        {"id": 256, "content": "ab"} | flags | {"special": True},
        {"id": 311, "content": "<m>"} | flags | {"rstrip": True, "normalized": True},
    ]
    document["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    return reference_impl.Both(document)


@settings(max_examples=40, deadline=None)
@given(
    reference_impl.texts_of(["ab", " ab", "a", " ", "é ", "中", "'ll", "<m>", "12", "\r\n\n", "[hole before]"]),
    st.booleans(),
)
def test_the_shape_is_what_the_reference_makes_of_it(both: reference_impl.Both, text: str, as_text: bool) -> None:
    both.check(text, special_as_text=as_text)
    both.check(text, "ab a", also_lookups=True)
    both.check_decode(both.plain_reference.encode(text).ids)


def test_what_does_not_fit_stays_text() -> None:
    """WordPiece documents that differ from the form for longest match get text tables, and the reference's ids."""
    fits = word_piece([b"ab"])
    model, vocab = fits["model"], fits["model"]["vocab"]
    less = {token: i for token, i in vocab.items() if token != "z"}
    for change in (
        {"continuing_subword_prefix": "##"},
        {"max_input_chars_per_word": 100},
        {"max_input_chars_per_word": 2**48 - 1},
        {"vocab": less},
    ):
        changed = reference_impl.Both(fits | {"model": model | change})
        assert not changed.engine.info()["longest_match"]
        assert changed.engine.info()["tokens"] == "text"
        for text in ("abab z", "a" * 99, "a" * 101):
            changed.check(text)
    assert reference_impl.open_engine(fits | {"model": model | {"max_input_chars_per_word": 2**48}}).info()[
        "longest_match"
    ]
    for change in ({"unk_token": None}, {"continuing_subword_prefix": 1}, {"vocab": None}):
        with pytest.raises(VocabularyError):
            reference_impl.compiled(fits | {"model": model | change})


# -- one match


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=12), st.integers(0, 14))
def test_longest_match(data: bytes, start: int) -> None:
    document = word_piece([b"ab", b"abab", b"\x00\x00", b"\xff\xfe\xfd"])
    tokens = twin.byte_tokens(document["model"]["vocab"])
    want = tokens.match(data, start) if start < len(data) else (-1, 0)
    engine = reference_impl.open_engine(document)
    assert engine.longest_match(data, start) == engine.greedy().longest_match(data, start) == want
    assert engine.longest_match(data) == (tokens.match(data, 0) if data else (-1, 0))


UNVERIFIED = """
import sys
from crayon_hf import _core
for path in sys.stdin.read().split():
    engine = _core.Engine.open(path)
    for one in (engine, engine.greedy()):
        one.longest_match(bytes(range(256)) * 3, 7)
        one.encode_bytes(bytes(range(256)) * 3)
print("done")
"""


def test_arrays_that_were_never_verified_are_not_left(longest: bytes, tmp_path: Path) -> None:
    """For any contents of a trie that was not verified, a search stays inside the trie's arrays and ends."""
    rng = np.random.default_rng(9)
    size = len(sections_of(longest)[3]) // 12
    paths = []
    for number in range(60):
        limit = (size, 300, 2**31)[number % 3]
        trie = rng.integers(-limit, limit, 3 * size, np.int64)
        trie[size : 2 * size] = rng.integers(-1, 3 if number % 2 else size, size)
        trie[0] = rng.choice([1, -1, 2**31 - 1, -(2**31), size - 1])
        path = tmp_path / f"{number}.dat"
        path.write_bytes(rewritten(longest, {"trie": trie.astype(np.int32).tobytes()}))
        paths.append(str(path))
    done = child(UNVERIFIED, lines="\n".join(paths).encode())
    assert (done.returncode, done.stdout.decode().strip()) == (0, "done"), done.stderr.decode()[-500:]
