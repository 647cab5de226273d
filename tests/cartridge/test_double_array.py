"""The double-array builder: the packed trie has the keys and nothing else, is dense, and is always the same."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, VocabularyError

Keys = list[tuple[bytes, int]]
Arrays = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]


def numbered(keys: set[bytes] | list[bytes], seed: int = 0) -> Keys:
    values = list(range(len(keys)))
    random.Random(seed).shuffle(values)
    return list(zip(sorted(keys), values, strict=True))


def find(trie: Arrays, key: bytes) -> int:
    """Look up a key in a double array by the definition of its layout."""
    base, check, values = trie
    node = 0
    for byte in key:
        child = int(base[node]) + byte
        if not 0 < child < len(base) or check[child] != node:
            return -1
        node = child
    return int(values[node])


def assert_well_formed(trie: Arrays, keys: Keys) -> None:
    """Check the layout's rules, and that the trie has exactly one node for each prefix of a key."""
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
    # Prefixes of sorted keys: each key adds the prefixes that are longer than its common prefix with the key before.
    nodes, before = 1, b""
    for key, _ in keys:
        nodes += len(key) - next((i for i, (x, y) in enumerate(zip(before, key, strict=False)) if x != y), len(before))
        before = key
    assert used.sum() + 1 == nodes
    assert (values >= 0).sum() == len(keys)


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
    assert all(np.array_equal(a, b) for a, b in zip(trie, _core.build_double_array(pairs), strict=True))
    for key, value in pairs:
        assert find(trie, key) == value
        assert find(trie, key + b"\0") == dict(pairs).get(key + b"\0", -1)
        assert find(trie, key[:-1]) == dict(pairs).get(key[:-1], -1)
    for other in others:
        assert find(trie, other) == dict(pairs).get(other, -1)


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


def test_it_is_dense() -> None:
    rng = random.Random(1)
    stock = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "ing")]
    words = {rng.choice(["", " "]) + "".join(rng.choices(stock, k=rng.randint(1, 5))) for _ in range(30_000)}
    pairs = numbered({word.encode() for word in words})
    trie = _core.build_double_array(pairs)
    assert_well_formed(trie, pairs)
    assert (1 + int((trie[1] >= 0).sum())) / len(trie[0]) >= 0.99


# -- verification, which precedes every use of a trie from a file

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


def at(array: int, index: int, value: int) -> Callable[..., None]:
    return lambda *arrays: arrays[array].__setitem__(index, value)


def set_cycle(base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], _: object) -> None:
    """Make nodes 3 and 4 each other's parents."""
    base[3], check[3], base[4], check[4] = 4, 4, 3, 3


def set_self(base: npt.NDArray[np.int32], check: npt.NDArray[np.int32], _: object) -> None:
    base[5], check[5] = 5, 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *((at(0, 0, value), "root") for value in (0, 2)),
        *((at(1, 0, value), "root") for value in (A, 0)),
        *((at(1, AB, value), f"node {AB} has parent") for value in (99_999, 2**31 - 1, -2, -(2**31))),
        (at(1, AB, -1), f"node {ABC} has parent {AB}, which is free"),
        *((at(0, A, value), "out of reach") for value in (2**31 - 1, -(2**31), AB + 1, AB - 256)),
        *((at(2, node, value), f"node {node} has value") for node, value in ((AB, -2), (7, -(2**31)))),
        (set_cycle, "is its own ancestor"),
        (set_self, "node 5 is its own ancestor"),
    ],
)
def test_hostile_arrays(change: Callable[..., None], message: str) -> None:
    trie = hostile(change)
    with pytest.raises(CartridgeError, match=message):
        _core.list_double_array(*trie)
    with pytest.raises(CartridgeError, match=message):
        _core.write_cartridge_v2(*trie)


def test_verification_ends_and_does_not_recurse() -> None:
    """A chain of nodes through a million slots, each node's parent in the next slot: the worst order for a walk towards
    the root."""
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
