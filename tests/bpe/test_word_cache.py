"""A thread's caches of pretokens: whatever falls together, leaves or comes again, ids are those of merging alone.

The oracle is ``merge_pretoken`` by sweeps, which no cache serves (test_merge.py holds it to the plain twin), and the
reference itself.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

# word_cache.h: the hash, and the number of buckets at first and at most, as powers of two.
FACTORS = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
FIRST, MOST = 10, 17
BLOCK = 256  # scratch.h: pretokens looked up together
LONGEST_KEPT = 256  # piece_ring.h: bytes of a pretoken
RING_BYTES = 4 << 20

WORDS = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LETTERS = [bytes([c]) for c in b"abcdefghijklmnopqrstuvwxyz "]


def document(merges: int = 200, seed: int = 5, longest: int = 6) -> reference_impl.Document:
    rng = random.Random(seed)
    return reference_impl.byte_level_document(
        reference_impl.random_merges(rng, LETTERS, merges, longest=longest), seed=seed, pre_tokenizer=WORDS
    )


def wide(source: reference_impl.Document) -> reference_impl.Document:
    """The same with ids of more than 16 bits for all but a few tokens; tokens that nothing becomes have the others."""
    vocab = {token: i + 70_000 * (i > 20) for token, i in source["model"]["vocab"].items()}
    used = set(vocab.values())
    source["model"]["vocab"] = vocab | {f"unused {i}": i for i in range(70_000) if i not in used}
    return source


def opened(source: reference_impl.Document) -> _core.Engine:
    return _core.Engine.from_bytes(reference_impl.compiled(json.dumps(source)))


def oracle(engine: _core.Engine) -> Callable[[Iterable[bytes]], list[int]]:
    """The ids of pretokens, each merged by sweeps."""
    known: dict[bytes, list[int]] = {}

    def ids(words: Iterable[bytes]) -> list[int]:
        out: list[int] = []
        for word in words:
            if word not in known:
                known[word] = list(_core._testing.merge_pretoken(engine, word, _core._testing.MergeWay.sweeps))
            out += known[word]
        return out

    return ids


def buckets(words: np.ndarray, bits: int) -> np.ndarray:
    """The bucket of each row of eight bytes."""
    low = words.view("<u8").reshape(-1)
    with np.errstate(over="ignore"):
        hashed = low * np.uint64(FACTORS[0]) + np.uint64(8 << 56 & (1 << 64) - 1) * np.uint64(FACTORS[1])
    return hashed >> np.uint64(64 - bits)


def colliding(bits: int, count: int, seed: int = 1) -> list[bytes]:
    """Words of a blank and seven letters that have one bucket, or the bucket beside it, in a table of that size.

    Those that share upper bits share the buckets of smaller tables, too.
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
    """More words than a bucket and its neighbour hold, so that entries leave in the middle of a block."""
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


def test_words_of_one_bucket_against_the_reference() -> None:
    source = json.dumps(document())
    both = reference_impl.Both(source)
    words = [word.decode() for word in colliding(FIRST, 16)]
    rng = random.Random(4)
    for _ in range(4):
        both.check("".join(rng.choices(words, k=BLOCK + 40)))


def border_words() -> list[bytes]:
    """Words that differ in their last byte alone, or in their length alone, of every length near a border."""
    sizes = [*range(2, 20), 31, 32, 33, 47, 48, 49, 63, 64, 65, LONGEST_KEPT - 1, LONGEST_KEPT, LONGEST_KEPT + 1, 400]
    return [b" " + b"a" * (size - 2) + last for size in sizes for last in (b"a", b"b", b"z")]


@pytest.mark.slow
@pytest.mark.parametrize("merges", [0, 1, 200], ids=lambda n: f"{n} merges")
@pytest.mark.parametrize("ids", ["narrow", "wide"])
def test_sizes(merges: int, ids: str) -> None:
    """Words of every size and of every number of ids: few merges leave more than an entry has room for."""
    source = document(merges, longest=40)
    engine = opened(wide(source) if ids == "wide" else source)
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


def test_first_fifteen_bytes_alike() -> None:
    engine = opened(document())
    want = oracle(engine)
    words = [b" abcdefghijklmn" + tail for tail in (b"", b"o", b"p", b"op", b"oq", b"o" * 17, b"o" * 16 + b"q")]
    rng = random.Random(3)
    for _ in range(10):
        check(engine, rng.choices(words, k=BLOCK + 7), want)


@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b"\x80", b"\xf0"], ids=repr)
def test_bytes_that_are_no_text(byte: bytes) -> None:
    """Zeros are not padding, and what is no UTF-8 is cached like anything else."""
    engine = opened(document())
    want = oracle(engine)
    words = [start + byte * n + end for n in range(1, 36) for start in (b" ",) for end in (b"", b"\x00", b"\x01")]
    words = list(dict.fromkeys(words))
    rng = random.Random(6)
    for word in words:
        check(engine, [word], want)
    for _ in range(10):
        check(engine, rng.choices(words, k=BLOCK + 31), want)


def test_zeros_alone() -> None:
    """Fifteen zeros and nothing at all have the key of an empty entry, but for the size."""
    engine = opened(document() | {"pre_tokenizer": WORDS | {"use_regex": False}})
    want = oracle(engine)
    assert engine.encode_bytes(b"") == []
    for n in [*range(1, 40), *range(40, 0, -1)]:
        check(engine, [b"\x00" * n], want)
    assert engine.encode_bytes(b"") == []


def many(count: int, seed: int, low: int, high: int) -> list[bytes]:
    rng = random.Random(seed)
    letters = bytes(97 + i % 26 for i in range(256))
    return [b" " + rng.randbytes(rng.randint(low, high)).translate(letters) for _ in range(count)]


@pytest.mark.slow
def test_more_words_than_there_is_room_for() -> None:
    """The table grows to its end, and goes on with the newest."""
    engine = opened(document())
    want = oracle(engine)
    words = many(330_000, 7, 3, 12)
    assert len(set(words)) > 2 * 2**MOST
    for part in (words, words[:100_000], words[::-1]):
        check(engine, part, want)


@pytest.mark.slow
@pytest.mark.parametrize("ids", ["narrow", "wide"])
def test_more_long_words_than_there_is_room_for(ids: str) -> None:
    """The ring goes round: records that a word's entry leads to are gone, or in the way of others."""
    source = document(30)
    engine = opened(wide(source) if ids == "wide" else source)
    want = oracle(engine)
    words = many(20_000, 8, 60, 250) + many(40_000, 9, 9, 14)
    assert sum(map(len, words)) * (5 if ids == "wide" else 3) > 1.5 * RING_BYTES
    random.Random(1).shuffle(words)
    for part in (words, words[::-1], words[-5000:], words[-5000:]):
        check(engine, part, want)


def test_engines_have_caches_of_their_own() -> None:
    engines = [opened(document(seed=seed)) for seed in (1, 2)]
    wants = [oracle(engine) for engine in engines]
    words = [*colliding(FIRST, 8), *border_words()]
    assert wants[0](words) != wants[1](words)
    for _ in range(3):
        for engine, want in zip(engines, wants, strict=True):
            check(engine, words, want)


@pytest.mark.parametrize("size", [2, 14, 15, 16, 17, 40])
def test_tokens_that_merging_does_not_reach(size: int) -> None:
    """With ignore_merges, a pretoken that is a token is that token, however long."""
    source = document(60)
    token = " " + "q" * (size - 1)
    source["model"]["ignore_merges"] = True
    vocab = source["model"]["vocab"]
    vocab[reference_impl.spell(token.encode())] = len(vocab)
    both = reference_impl.Both(json.dumps(source))
    for text in (token, token + "q", token[:-1], token * 3, (token + token[:-1] + " ab") * 200):
        both.check(text)
        both.check(text)


def test_spans_and_ids_agree() -> None:
    """Offsets come from the same entries."""
    source = json.dumps(document(40))
    engine = _core.Engine.from_bytes(reference_impl.compiled(source))
    reference = Tokenizer.from_str(source)
    rng = random.Random(11)
    words = [word.decode() for word in [*colliding(FIRST, 12), *border_words(), *many(40, 3, 1, 40)]]
    for _ in range(5):
        text = "".join(rng.choices(words, k=BLOCK + 50))
        want = reference.encode(text)
        for _ in range(2):
            got = engine.encode(text)
            assert got.ids == want.ids == engine.encode_ids(text)
            assert got.offsets == want.offsets
