"""CRAYON's version 2 cartridges: reading one and writing it again gives the same bytes, and damaged ones are
refused."""

from __future__ import annotations

import importlib.util
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError

KEYS = [(b"a", 5), (b"ab", 0), (b"abc", 2**31 - 1), (b"b\xff", 3), ("é".encode(), 4)]


def plain_writer(base: list[int], check: list[int], values: list[int]) -> bytes:
    """An independent writer of version 2 cartridges."""
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
    """Slots of the trie that no lookup reads are written unchanged: bases of leaves, free slots, and slots after the
    last node."""
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


def wrong_files() -> Iterator[tuple[bytes, str]]:
    """Yield files that must be refused, each with a pattern for the error."""
    data = small_file()
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
    yield plain_writer([], [], []), "the root is missing"
    yield plain_writer([1, 0, 3, 2], [-1, -1, 3, 2], [-1] * 4), "is its own ancestor"


def test_wrong_files_are_refused() -> None:
    for data, says in wrong_files():
        with pytest.raises(CartridgeError, match=says):
            _core.read_cartridge_v2(data)


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
