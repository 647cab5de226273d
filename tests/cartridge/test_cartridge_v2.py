"""CRAYON's version 2 cartridges: read, written again bit for bit, and refused when anything is wrong."""

from __future__ import annotations

import importlib.util
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError

KEYS = [(b"a", 5), (b"ab", 0), (b"abc", 2**31 - 1), (b"b\xff", 3), ("é".encode(), 4)]


def plain_writer(base: list[int], check: list[int], values: list[int]) -> bytes:
    """The format, written down a second time."""
    n = len(base)
    return b"CRAY" + struct.pack(f"<II{n}i{n}i{n}i", 2, n, *base, *check, *values)


def small_file() -> bytes:
    return _core.write_cartridge_v2(*_core.build_double_array(KEYS))


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.binary(min_size=1, max_size=5), st.integers(0, 2**31 - 1), max_size=30))
def test_round_trip(vocabulary: dict[bytes, int]) -> None:
    trie = _core.build_double_array(sorted(vocabulary.items()))
    data = _core.write_cartridge_v2(*trie)
    assert data == plain_writer(*(array.tolist() for array in trie))
    again = _core.read_cartridge_v2(data)
    assert all(a.dtype == np.int32 and np.array_equal(a, b) for a, b in zip(again, trie, strict=True))
    assert dict(_core.list_double_array(*again)) == vocabulary


def test_slots_that_mean_nothing_are_kept() -> None:
    """Bases of leaves and of free slots, values of free slots, slots after the last node: all written as they came."""
    base, check, values = (array.tolist() for array in _core.build_double_array(KEYS))
    base += [7, -9]
    check += [-1, -1]
    values += [11, -1]
    leaf = next(i for i in range(1, len(check)) if check[i] >= 0 and i not in check)
    base[leaf] = -(2**31)
    base[2] = 2**31 - 1
    data = plain_writer(base, check, values)
    trie = _core.read_cartridge_v2(data)
    assert _core.write_cartridge_v2(*trie) == data
    assert _core.list_double_array(*trie) == KEYS


def test_the_empty_key_may_have_a_value() -> None:
    trie = _core.read_cartridge_v2(plain_writer([1], [-1], [3]))
    assert _core.list_double_array(*trie) == [(b"", 3)]


def test_every_truncation_is_refused() -> None:
    data = small_file()
    for size in range(len(data)):
        with pytest.raises(CartridgeError, match="cut off inside the header" if size < 12 else f"it has {size} bytes"):
            _core.read_cartridge_v2(data[:size])


def test_trailing_bytes_are_refused() -> None:
    with pytest.raises(CartridgeError, match=r"it has \d+ bytes"):
        _core.read_cartridge_v2(small_file() + b"\0")


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("bit", range(8))
def test_flipped_magic(at: int, bit: int) -> None:
    data = bytearray(small_file())
    data[at] ^= 1 << bit
    with pytest.raises(CartridgeError, match='does not begin with "CRAY"'):
        _core.read_cartridge_v2(bytes(data))


@pytest.mark.parametrize("version", [0, 1, 3, 2 << 24, 2**32 - 1])
def test_wrong_version(version: int) -> None:
    data = small_file()
    with pytest.raises(CartridgeError, match=f"its version is {version}$"):
        _core.read_cartridge_v2(data[:4] + struct.pack("<I", version) + data[8:])


# 12 * n wraps around 32 bits to sizes that a file can have: 12 * 0x55555556 = 2**32 + 8
@pytest.mark.parametrize("n", [0, 1, 2, 0x55555556, 0x15555556, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_wrong_number_of_slots(n: int) -> None:
    data = small_file()
    for body in (data[12:], b"\0" * (12 * n % 2**32 if 12 * n % 2**32 < 1000 else 0)):
        if len(body) == 12 * n:
            continue
        with pytest.raises(CartridgeError, match=f"but {n} slots take {12 + 12 * n}$"):
            _core.read_cartridge_v2(data[:8] + struct.pack("<I", n) + body)


def test_no_slots_at_all() -> None:
    with pytest.raises(CartridgeError, match="there is no root"):
        _core.read_cartridge_v2(plain_writer([], [], []))


def test_cycle() -> None:
    with pytest.raises(CartridgeError, match="is its own ancestor"):
        _core.read_cartridge_v2(plain_writer([1, 0, 3, 2], [-1, -1, 3, 2], [-1] * 4))


def test_node_below_a_free_slot() -> None:
    with pytest.raises(CartridgeError, match="node 2 has parent 1, which is free"):
        _core.read_cartridge_v2(plain_writer([1, 1, 0], [-1, -1, 1], [-1, -1, 0]))


@pytest.mark.parametrize("value", [-2, -(2**31)])
def test_value_out_of_range(value: int) -> None:
    with pytest.raises(CartridgeError, match=f"node 1 has value {value}, out of range"):
        _core.read_cartridge_v2(plain_writer([1, 0], [-1, 0], [-1, value]))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_is_refused_or_kept_bit_for_bit(data: st.DataObject) -> None:
    file = bytearray(small_file())
    for _ in range(data.draw(st.integers(1, 4))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    try:
        trie = _core.read_cartridge_v2(bytes(file))
    except CartridgeError:
        return
    assert _core.write_cartridge_v2(*trie) == file
    _core.list_double_array(*trie)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 40), st.data())
def test_random_slots(n: int, data: st.DataObject) -> None:
    near = st.lists(st.integers(-1, n), min_size=n, max_size=n)
    file = plain_writer([1, *data.draw(near)[1:]], [-1, *data.draw(near)[1:]], data.draw(near))
    try:
        trie = _core.read_cartridge_v2(file)
    except CartridgeError:
        return
    assert _core.write_cartridge_v2(*trie) == file
    _core.list_double_array(*trie)


def test_argument_must_be_bytes() -> None:
    with pytest.raises(TypeError):
        _core.read_cartridge_v2("CRAY")  # type: ignore[arg-type]


def published_cartridges() -> list[Path]:
    """Those that the package xerv-crayon ships. It is found, never imported."""
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
    # The list beside it has duplicates, of which the last one counts. CRAYON's compiler dropped what begins with NUL.
    tokens = json.loads(path.with_suffix(".json").read_bytes())
    assert dict(keys) == {token.encode(): i for i, token in enumerate(tokens) if not token.startswith("\0")}
    # Packed by us, it is no larger.
    assert len(_core.build_double_array(keys)[0]) <= len(trie[0])
