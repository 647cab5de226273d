"""CRAYON's double arrays: the packed trie has the keys and nothing else, is dense, and is always the same. Version 2
cartridges hold them unchanged."""

from __future__ import annotations

import importlib.util
import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path

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


def file_of(*trie: npt.NDArray[np.int32]) -> bytes:
    """An independent writer of version 2 cartridges."""
    return b"CRAY" + struct.pack("<II", 2, len(trie[0])) + b"".join(array.tobytes() for array in trie)


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
    data = _core.write_cartridge_v2(*trie)
    assert data == file_of(*trie)
    assert all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(_core.read_cartridge_v2(data), trie, strict=True)
    )
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
BASE = _core.build_double_array(SMALL)[0].tolist()
A = BASE[0] + ord("a")
AB = BASE[A] + ord("b")
ABC = BASE[AB] + ord("c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(([("base", 0, value)], "root") for value in (0, 2)),
        *(([("check", 0, value)], "root") for value in (A, 0)),
        *(([("check", AB, value)], f"node {AB} has parent") for value in (99_999, 2**31 - 1, -2, -(2**31))),
        ([("check", AB, -1)], f"node {ABC} has parent {AB}, which is free"),
        *(([("base", A, value)], "out of reach") for value in (2**31 - 1, -(2**31), AB + 1, AB - 256)),
        *(([("values", node, value)], f"node {node} has value") for node, value in ((AB, -2), (7, -(2**31)))),
        ([("base", 3, 4), ("check", 3, 4), ("base", 4, 3), ("check", 4, 3)], "is its own ancestor"),
        ([("base", 5, 5), ("check", 5, 5)], "node 5 is its own ancestor"),
    ],
)
def test_hostile_arrays(changes: list[tuple[str, int, int]], message: str) -> None:
    trie = dict(zip(("base", "check", "values"), _core.build_double_array(SMALL), strict=True))
    for name, index, value in changes:
        trie[name][index] = value
    for call in (_core.list_double_array, _core.write_cartridge_v2):
        with pytest.raises(CartridgeError, match=message):
            call(*trie.values())


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
    """Damaged arrays are refused, in memory and in a file, or have the keys that a lookup finds."""
    arrays = _core.build_double_array(SMALL)
    size = len(arrays[0])
    for _ in range(data.draw(st.integers(1, 4))):
        array = data.draw(st.sampled_from(arrays))
        near = st.integers(-3, size + 3)
        array[data.draw(st.integers(0, size - 1))] = data.draw(near | st.integers(-(2**31), 2**31 - 1))
    try:
        keys = _core.list_double_array(*arrays)
    except CartridgeError:
        with pytest.raises(CartridgeError):
            _core.read_cartridge_v2(file_of(*arrays))
        return
    assert _core.write_cartridge_v2(*_core.read_cartridge_v2(file_of(*arrays))) == file_of(*arrays)
    assert sorted(keys) == keys
    assert all(find(arrays, key) == value for key, value in keys)
    _, check, values = arrays
    assert len(keys) == ((check[1:] >= 0) & (values[1:] >= 0)).sum() + (values[0] >= 0)


# -- version 2 cartridges

KEYS = [(b"a", 5), (b"ab", 0), (b"abc", 2**31 - 1), (b"b\xff", 3), ("é".encode(), 4)]


def test_slots_that_mean_nothing_are_kept() -> None:
    """Slots of the trie that no lookup reads are written unchanged: bases of leaves, free slots, and slots after the
    last node."""
    more = ([7, -9], [-1, -1], [11, -1])
    base, check, values = map(np.append, _core.build_double_array(KEYS), np.int32(more))
    leaf = next(i for i in range(1, len(check)) if check[i] >= 0 and i not in check)
    base[[leaf, 2]] = -(2**31), 2**31 - 1
    data = file_of(base, check, values)
    trie = _core.read_cartridge_v2(data)
    assert _core.write_cartridge_v2(*trie) == data
    assert _core.list_double_array(*trie) == KEYS


def wrong_files() -> Iterator[tuple[bytes, str]]:
    """Yield files that must be refused, each with a pattern for the error."""
    data = _core.write_cartridge_v2(*_core.build_double_array(KEYS))
    for size in range(len(data)):
        yield data[:size], "cut off inside the header" if size < 12 else f"it has {size} bytes"
    yield data + b"\0", r"it has \d+ bytes"
    for bit in range(32):
        magic = struct.unpack("<I", data[:4])[0] ^ 1 << bit
        yield struct.pack("<I", magic) + data[4:], 'does not begin with "CRAY"'
    for version in (0, 1, 3, 2 << 24, 2**32 - 1):
        yield data[:4] + struct.pack("<I", version) + data[8:], f"its version is {version}$"
    # 12 * n wraps around 32 bits to sizes that a file can have: 12 * 0x55555556 = 2**32 + 8
    for n in (0, 1, 2, 0x55555556, 0x15555556, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        for body in (data[12:], b"\0" * (12 * n % 2**32 if 12 * n % 2**32 < 1000 else 0)):
            if len(body) != 12 * n:
                yield data[:8] + struct.pack("<I", n) + body, f"but {n} slots take {12 + 12 * n}$"
    yield file_of(*np.int32([[], [], []])), "the root is missing"
    yield file_of(*np.int32([[1, 0, 3, 2], [-1, -1, 3, 2], [-1] * 4])), "is its own ancestor"


def test_wrong_files_are_refused() -> None:
    for data, says in wrong_files():
        with pytest.raises(CartridgeError, match=says):
            _core.read_cartridge_v2(data)


def published_cartridges() -> list[Path]:
    """The cartridges in the installed package xerv-crayon, which is located without importing it."""
    spec = importlib.util.find_spec("crayon")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return sorted(path for folder in folders for path in Path(folder, "resources", "dat").glob("*.dat"))


@pytest.mark.skipif(not published_cartridges(), reason="xerv-crayon is not installed")
@pytest.mark.parametrize("path", published_cartridges(), ids=lambda path: path.stem)
def test_published_cartridges(path: Path) -> None:
    data = path.read_bytes()
    trie = _core.read_cartridge_v2(data)
    assert _core.write_cartridge_v2(*trie) == data
    keys = _core.list_double_array(*trie)
    # The list beside it has duplicates, of which the last counts. CRAYON's compiler dropped tokens that begin with NUL.
    tokens = json.loads(path.with_suffix(".json").read_bytes())
    assert dict(keys) == {token.encode(): i for i, token in enumerate(tokens) if not token.startswith("\0")}
    # Our packing is not larger.
    assert len(_core.build_double_array(keys)[0]) <= len(trie[0])
