"""A thread's caches of pretokens (the word cache and the memo): ids equal those of merging without a cache.

Words collide in the cache, are evicted from it, and come again.

The expected ids are those of ``tokenizers`` and of ``merge_pretoken`` with a heap, which uses no cache (test_merge.py
compares it with the plain twin).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from crayon_hf import _core
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

# word_cache.h: the hash, and the least and the greatest number of buckets, as powers of two.
FACTORS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
FIRST, MOST = 10, 17
BLOCK = 256  # scratch.h: pretokens looked up together
LONGEST_KEPT = 256  # memo.h: bytes of a pretoken

WORDS = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LETTERS = [bytes([c]) for c in b"abcdefghijklmnopqrstuvwxyz "]


def document(merges: int = 200, seed: int = 5, longest: int = 6) -> reference_impl.Document:
    rng = random.Random(seed)
    return reference_impl.byte_level_document(
        reference_impl.random_merges(rng, LETTERS, merges, longest=longest), seed=seed, pre_tokenizer=WORDS
    )


def opened(source: reference_impl.Document) -> _core.Engine:
    return _core.Engine.from_bytes(reference_impl.compiled(json.dumps(source)))


def oracle(engine: _core.Engine) -> Callable[[Iterable[bytes]], list[int]]:
    """Return a function that gives the ids of pretokens, each merged by a heap without a cache."""
    known: dict[bytes, list[int]] = {}

    def ids(words: Iterable[bytes]) -> list[int]:
        out: list[int] = []
        for word in words:
            if word not in known:
                known[word] = list(_core._testing.merge_pretoken(engine, word, _core._testing.MergeWay.heap))
            out += known[word]
        return out

    return ids


def buckets(words: np.ndarray, bits: int) -> np.ndarray:
    """The bucket of each word of eight bytes (a row of `words`) in a cache of 2**bits buckets."""
    low = words.view("<u8").reshape(-1)
    with np.errstate(over="ignore"):
        hashed = low * np.uint64(FACTORS[0]) + np.uint64(8 << 56 & (1 << 64) - 1) * np.uint64(FACTORS[1])
    return hashed >> np.uint64(64 - bits)


def colliding(bits: int, count: int, seed: int = 1) -> list[bytes]:
    """Words of a space and seven letters that share a bucket, or its neighbour, in a cache of 2**bits buckets.

    Words that share upper bits share the buckets of smaller tables, too.
    """
    rng = np.random.default_rng(seed)
    found: list[bytes] = []
    while len(found) < count:
        words = rng.integers(97, 123, size=(1 << 20, 8), dtype=np.uint8)
        words[:, 0] = 32
        chosen = words[buckets(words, bits) >> np.uint64(1) == 3]
        found += [row.tobytes() for row in chosen]
    return found[:count]


def check(engine: _core.Engine, words: list[bytes], want: Callable[[Iterable[bytes]], list[int]]) -> None:
    assert engine.encode_bytes(b"".join(words)) == want(words)


@pytest.mark.parametrize(("bits", "count"), [(FIRST, 12), (FIRST, 100), (MOST, 9), (MOST, 24)])
def test_words_of_one_bucket(bits: int, count: int) -> None:
    """More words than a bucket and its neighbour hold, so that entries are evicted in the middle of a block."""
    engine = opened(document())
    want = oracle(engine)
    words = colliding(bits, count)
    assert len(set(words)) > 8
    rng = random.Random(2)
    for few in (2, 3, 4, 5, 6, count):
        for _ in range(6):
            check(engine, rng.choices(words[:few], k=3 * BLOCK + rng.randrange(BLOCK)), want)
    others = [b" a", b" b", b" the", b" " + b"z" * 20]
    for _ in range(6):
        check(engine, rng.choices([*words, *others], k=2 * BLOCK), want)


def border_words() -> list[bytes]:
    """Words that differ only in their last byte, or only in their length, for every length near a border. A zero byte
    at the end is part of a word, and invalid UTF-8 is cached like text."""
    sizes = [*range(2, 20), 31, 32, 33, 47, 48, 49, 63, 64, 65, LONGEST_KEPT - 1, LONGEST_KEPT, LONGEST_KEPT + 1, 400]
    return [b" " + b"a" * (size - 2) + last for size in sizes for last in (b"a", b"b", b"\x00", b"\xff")]


@pytest.mark.parametrize("merges", [0, 200], ids=lambda n: f"{n} merges")
def test_sizes(merges: int) -> None:
    """Words of every size and of every number of ids. With few merges, some words have more ids than an entry of the
    cache holds."""
    engine = opened(document(merges, longest=40))
    want = oracle(engine)
    words = border_words()
    rng = random.Random(1)
    for word in words:
        for _ in range(2):
            check(engine, [word], want)
    for _ in range(10):
        check(engine, rng.choices(words, k=BLOCK * 2 + 3), want)
    # The last bytes of a text are read from a copy.
    for word in words[:60]:
        for other in rng.sample(words, 8):
            check(engine, [other, word], want)
            check(engine, [other, word, other[:3]], want)


def many(count: int, seed: int, low: int, high: int) -> list[bytes]:
    rng = random.Random(seed)
    letters = bytes(97 + i % 26 for i in range(256))
    return [b" " + rng.randbytes(rng.randint(low, high)).translate(letters) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 4 << 20], ids=["all are kept", "a part is kept"])
def test_more_long_words_than_a_cache_has_room_for(limit: int) -> None:
    """With little memory the memo is cleared again and again, so that cache entries refer to records that are gone."""
    engine = opened(document(30))
    want = oracle(engine)
    words = many(20_000, 8, 60, 250) + many(40_000, 9, 9, 14)
    random.Random(1).shuffle(words)
    _core._testing.set_working_memory(limit)
    try:
        for part in (words, words[::-1], words[-5000:], words[-5000:]):
            check(engine, part, want)
    finally:
        _core._testing.set_working_memory()


def test_words_beyond_the_largest_cache() -> None:
    """After some laps over more words than the largest cache holds, threads ask the memo first."""
    engine, rng = opened(document()), random.Random(7)
    words = [f" {''.join(rng.choices('abcdefghij', k=rng.choice((6, 7, 18))))}".encode() for _ in range(3 << MOST)]
    text = b"".join(words)
    first = list(engine.encode_bytes(text))
    some = BLOCK * 16
    assert first[: len(oracle(engine)(words[:some]))] == oracle(engine)(words[:some])
    for _ in range(2):
        assert list(engine.encode_bytes(text)) == first
