"""The double-array builder: the trie it packs is the keys and nothing else, dense and the same every time."""

from __future__ import annotations

import base64
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, VocabularyError

SHARED = os.environ.get("CRAYON_SHARED")

Keys = list[tuple[bytes, int]]
Arrays = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]


def numbered(keys: set[bytes] | list[bytes], seed: int = 0) -> Keys:
    values = list(range(len(keys)))
    random.Random(seed).shuffle(values)
    return list(zip(sorted(keys), values, strict=True))


def find(trie: Arrays, key: bytes) -> int:
    """Look a key up by the definition of the layout."""
    base, check, values = trie
    node = 0
    for byte in key:
        child = int(base[node]) + byte
        if not 0 < child < len(base) or check[child] != node:
            return -1
        node = child
    return int(values[node])


def assert_well_formed(trie: Arrays, keys: Keys) -> None:
    """The layout's rules, and that there is one node for each prefix of a key and none besides."""
    base, check, values = trie
    assert base.dtype == check.dtype == values.dtype == np.int32
    assert len(base) == len(check) == len(values)
    assert base[0] == 1
    assert check[0] == -1
    assert base[check[check >= 0]].min(initial=1) >= 1
    used = check >= 0
    slots = np.flatnonzero(used)
    labels = slots - base[check[slots]]
    assert ((labels >= 0) & (labels <= 255)).all()
    assert (check[~used] == -1).all()
    assert (values[~used][1:] == -1).all()
    assert (base[~used][1:] == 0).all()
    assert len(base) == (slots[-1] + 1 if len(slots) else 1)  # trimmed
    # Prefixes of sorted keys: each key adds those longer than what it shares with the one before.
    nodes, before = 1, b""
    for key, _ in keys:
        nodes += len(key) - next((i for i, (x, y) in enumerate(zip(before, key, strict=False)) if x != y), len(before))
        before = key
    assert used.sum() + 1 == nodes
    assert (values >= 0).sum() == len(keys)


def density(trie: Arrays) -> float:
    return (1 + int((trie[1] >= 0).sum())) / len(trie[0])


@settings(max_examples=300, deadline=None)
@given(
    st.sets(st.binary(min_size=1, max_size=6) | st.text("ab", min_size=1, max_size=9).map(str.encode), max_size=60),
    st.lists(st.binary(max_size=5), max_size=20),
)
def test_round_trip(keys: set[bytes], others: list[bytes]) -> None:
    pairs = numbered(keys)
    trie = _core.build_double_array(pairs)
    assert_well_formed(trie, pairs)
    assert _core.list_double_array(*trie) == pairs
    for key, value in pairs:
        assert find(trie, key) == value
        assert find(trie, key + b"\0") == dict(pairs).get(key + b"\0", -1)
        assert find(trie, key[:-1]) == dict(pairs).get(key[:-1], -1)
    for other in others:
        assert find(trie, other) == dict(pairs).get(other, -1)


def random_words(seed: int, count: int, alphabet: list[bytes], longest: int) -> set[bytes]:
    rng = random.Random(seed)
    words: set[bytes] = set()
    while len(words) < count:
        words.add(b"".join(rng.choices(alphabet, k=rng.randint(1, longest))))
    return words


def syllables(seed: int, count: int) -> set[bytes]:
    """Words that share prefixes as words of a language do, some with a leading space."""
    rng = random.Random(seed)
    stock = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "ing")]
    weights = [1 / (i + 1) for i in range(len(stock))]
    rng.shuffle(stock)
    words: set[bytes] = set()
    while len(words) < count:
        parts = rng.choices(stock, weights, k=rng.randint(1, 5))
        words.add((rng.choice(["", " "]) + "".join(parts)).encode())
    return words | {bytes([b]) for b in range(256)}


def bushy(seed: int, count: int) -> set[bytes]:
    """The leaves of a trie where every other node has two to six children: no single child to fill a hole with."""
    rng = random.Random(seed)
    leaves = [b""]
    while len(leaves) < count:
        parent = leaves.pop(rng.randrange(len(leaves)))
        leaves += [parent + bytes([b]) for b in rng.sample(range(32, 127), rng.randint(2, 6))]
    return set(leaves)


BYTE = [bytes([b]) for b in range(256)]
FAMILIES: dict[str, tuple[Callable[[], set[bytes]], float]] = {
    # name: (keys, the density to reach)
    "syllables": (lambda: syllables(1, 60_000), 0.99),
    "random bytes": (lambda: random_words(2, 40_000, BYTE, 8), 0.99),
    "letters": (lambda: random_words(3, 40_000, [bytes([b]) for b in b"abcdefghijklmnopqrstuvwxyz"], 9), 0.99),
    "cjk": (lambda: random_words(4, 40_000, [chr(0x4E00 + i).encode() for i in range(5000)], 2), 0.99),
    "every byte under every byte": (lambda: {a + b for a in BYTE for b in BYTE}, 0.99),
    "one long chain": (lambda: {random.Random(5).randbytes(200_000)}, 0.99),
    "runs of one letter": (lambda: {b"a" * n for n in range(1, 1200)}, 0.9),
    "every node has two children": (lambda: {f"{i:016b}".encode() for i in range(2**16)}, 0.99),
    "every node has two to six children": (lambda: bushy(9, 40_000), 0.97),
    # Nothing is left to fill the holes with; what counts here is the right answer.
    "pairs of random bytes": (lambda: {random.Random(i).randbytes(2) for i in range(20_000)}, 0.25),
    "one token": (lambda: {b"z"}, 0.01),
    "lowest and highest": (lambda: {b"\0", b"\xff", b"\0\0", b"\xff\xff", b"\0\xff", b"\xff\0"}, 0.01),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name: str) -> None:
    keys, wanted = FAMILIES[name]
    pairs = numbered(keys())
    trie = _core.build_double_array(pairs)
    assert_well_formed(trie, pairs)
    assert _core.list_double_array(*trie) == pairs
    assert density(trie) >= wanted
    again = _core.build_double_array(pairs)
    assert all(np.array_equal(a, b) for a, b in zip(trie, again, strict=True))


def test_values_do_not_move_slots() -> None:
    keys = syllables(6, 2000)
    one, other = _core.build_double_array(numbered(keys, 1)), _core.build_double_array(numbered(keys, 2))
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1], other[1])


def test_no_keys() -> None:
    base, check, values = _core.build_double_array([])
    assert (base.tolist(), check.tolist(), values.tolist()) == ([1], [-1], [-1])
    assert _core.list_double_array(base, check, values) == []


@pytest.mark.slow
def test_200000_tokens_are_packed_densely() -> None:
    assert density(_core.build_double_array(numbered(syllables(8, 200_000)))) > 0.97


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([(b"", 0)], "key 0 is empty"),
        ([(b"a", 0), (b"b", -1)], "key 1 has a negative value"),
        ([(b"a", 0), (b"a", 1)], "key 1 is a duplicate"),
        ([(b"a", 0), (b"c", 1), (b"b", 2)], "key 2 is out of order"),
        ([(b"ab", 0), (b"a", 1)], "key 1 is out of order"),
        ([(b"\x80", 0), (b"\x7f", 1)], "key 1 is out of order"),  # bytes compare unsigned
    ],
)
def test_refused_keys(keys: Keys, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        _core.build_double_array(keys)


@pytest.mark.parametrize("keys", [[("a", 0)], [(b"a", "0")], [(b"a", 2**31)], [b"a"], [(b"a",)], None])
def test_wrong_types(keys: object) -> None:
    with pytest.raises(TypeError):
        _core.build_double_array(keys)  # type: ignore[arg-type]


# -- verification, which stands before every use of a trie that came from elsewhere

SMALL = [(b"a", 0), (b"ab", 1), (b"abc", 2), (b"b", 3)]


def hostile(change: Callable[[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]], None]) -> Arrays:
    base, check, values = (array.copy() for array in _core.build_double_array(SMALL))
    change(base, check, values)
    return base, check, values


def node_of(key: bytes) -> int:
    base = _core.build_double_array(SMALL)[0]
    node = 0
    for byte in key:
        node = int(base[node]) + byte
    return node


A, AB, ABC = node_of(b"a"), node_of(b"ab"), node_of(b"abc")


def set_cycle(base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], _: object) -> None:
    """Two nodes within each other's reach that are each other's parents."""
    base[3], check[3], base[4], check[4] = 4, 4, 3, 3


def set_self(base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], _: object) -> None:
    base[5], check[5] = 5, 5


def set_cycle_with_tail(base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], _: object) -> None:
    set_cycle(base, check, _)
    check[6] = 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b, c, v: b.__setitem__(0, 0), r"node 0 \(the root\) has base 0, not 1"),
        (lambda b, c, v: b.__setitem__(0, 2), r"the root\) has base 2"),
        (lambda b, c, v: c.__setitem__(0, A), r"the root\) has a parent"),
        (lambda b, c, v: c.__setitem__(0, 0), r"the root\) has a parent"),
        (lambda b, c, v: c.__setitem__(AB, len(c)), f"node {AB} has parent .*out of range"),
        (lambda b, c, v: c.__setitem__(AB, 2**31 - 1), f"node {AB} has parent 2147483647, out of range"),
        (lambda b, c, v: c.__setitem__(AB, -2), f"node {AB} has parent -2, out of range"),
        (lambda b, c, v: c.__setitem__(AB, -(2**31)), f"node {AB} has parent -2147483648, out of range"),
        (lambda b, c, v: c.__setitem__(AB, -1), f"node {ABC} has parent {AB}, which is free"),
        (lambda b, c, v: b.__setitem__(A, 2**31 - 1), f"node {AB} is out of reach of its parent {A}"),
        (lambda b, c, v: b.__setitem__(A, -(2**31)), f"node {AB} is out of reach of its parent {A}"),
        (lambda b, c, v: b.__setitem__(A, AB + 1), f"node {AB} is out of reach of its parent {A}"),
        (lambda b, c, v: b.__setitem__(A, AB - 256), f"node {AB} is out of reach of its parent {A}"),
        (lambda b, c, v: v.__setitem__(AB, -2), f"node {AB} has value -2, out of range"),
        (lambda b, c, v: v.__setitem__(7, -(2**31)), "node 7 has value -2147483648"),
        (set_cycle, "is its own ancestor"),
        (set_self, "node 5 is its own ancestor"),
        (set_cycle_with_tail, "is its own ancestor"),
    ],
)
def test_hostile_arrays(change: Callable[..., None], message: str) -> None:
    trie = hostile(change)
    with pytest.raises(CartridgeError, match=message):
        _core.list_double_array(*trie)
    with pytest.raises(CartridgeError, match=message):
        _core.write_cartridge_v2(*trie)


def test_verification_ends_and_does_not_recurse() -> None:
    """A chain through a million slots, from the last to the first: the worst order for a walk towards the root."""
    n = 1_000_000
    check = np.arange(1, n + 1, dtype=np.int32)  # the parent of each node is the next slot
    base = np.arange(-1, n - 1, dtype=np.int32)
    values = np.full(n, -1, dtype=np.int32)
    base[0], check[0] = 1, -1
    check[n - 1] = n - 2  # a cycle at the far end
    base[n - 2] = n - 3
    with pytest.raises(CartridgeError, match="is its own ancestor"):
        _core.list_double_array(base, check, values)
    # The same chain, joined to the root.
    keys = _core.list_double_array(*_core.build_double_array([(b"\0" * n, 7)]))
    assert keys == [(b"\0" * n, 7)]


def test_listing_is_bounded() -> None:
    """A chain with a value on every node spells n * n / 2 bytes: more than any memory."""
    n = 1_000_000
    base = np.arange(1, n + 1, dtype=np.int32)
    check = np.arange(-1, n - 1, dtype=np.int32)
    values = np.zeros(n, dtype=np.int32)
    with pytest.raises(CartridgeError, match="256 MiB"):
        _core.list_double_array(base, check, values)


def test_array_arguments() -> None:
    base, check, values = _core.build_double_array(SMALL)
    with pytest.raises(ValueError, match="same length"):
        _core.list_double_array(base, check[:-1], values)
    with pytest.raises(ValueError, match="one dimension"):
        _core.list_double_array(base.reshape(1, -1), check, values)
    with pytest.raises(TypeError):
        _core.list_double_array(base.astype(np.float64), check, values)
    with pytest.raises(TypeError):
        _core.list_double_array(base.astype(np.int64), check, values)  # type: ignore[arg-type]
    strided = np.repeat(base, 2)[::2]
    assert _core.list_double_array(strided, check, values) == SMALL


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    arrays = hostile(lambda b, c, v: None)
    size = len(arrays[0])
    for _ in range(data.draw(st.integers(1, 4))):
        array = data.draw(st.sampled_from(arrays))
        near = st.integers(-3, size + 3)
        array[data.draw(st.integers(0, size - 1))] = data.draw(near | st.integers(-(2**31), 2**31 - 1))
    try:
        keys = _core.list_double_array(*arrays)
    except CartridgeError:
        return
    assert sorted(keys) == keys
    assert all(find(arrays, key) == value for key, value in keys)
    assert len(keys) == sum(1 for node in range(1, size) if arrays[1][node] >= 0 and arrays[2][node] >= 0) + (
        arrays[2][0] >= 0
    )


# -- real vocabularies


def byte_level_alphabet() -> dict[str, int]:
    """Of GPT-2: the printable characters of Latin-1 stand for themselves, the other bytes for U+0100 and on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(0x100 + i): b for i, b in enumerate(others)}


def real_tokens(name: str) -> set[bytes]:
    folder = Path(str(SHARED), "vocab", name)
    if rank_file := next(folder.glob("*.tiktoken"), None):
        return {base64.b64decode(line.split()[0]) for line in rank_file.read_bytes().splitlines() if line}
    alphabet = byte_level_alphabet()
    vocab = json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    return {bytes(alphabet[c] for c in token) for token in vocab if all(c in alphabet for c in token)}


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="CRAYON_SHARED is not set")
@pytest.mark.parametrize("name", ["gpt2", "r50k_base", "cl100k_base", "llama3", "qwen", "o200k_base"])
def test_real_vocabularies(name: str) -> None:
    pairs = numbered(real_tokens(name))
    assert len(pairs) > 50_000
    trie = _core.build_double_array(pairs)
    assert density(trie) > 0.99
    assert_well_formed(trie, pairs)
    assert _core.list_double_array(*trie) == pairs
