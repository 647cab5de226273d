"""CRAYON's cartridges that are wrong: they have no checksums, so only what they say can be looked at."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, VOCABULARY, Case, file_of

CUT = "version 2 cartridge: cut off inside the header, at N bytes"
SIZE = "version 2 cartridge: it has N bytes, but N slots take N"


def parts() -> tuple[list[int], list[int], list[int]]:
    """Base, check and values of the good file, and a free slot more."""
    data = good.version_2()
    (n,) = struct.unpack_from("<I", data, 8)
    numbers = struct.unpack_from(f"<{3 * n}i", data, 12)
    return [*numbers[:n], 0], [*numbers[n : 2 * n], -1], [*numbers[2 * n :], -1]


def written(base: list[int], check: list[int], values: list[int]) -> bytes:
    n = len(base)
    return b"CRAY" + struct.pack(f"<II{3 * n}i", 2, n, *base, *check, *values)


def cases() -> Iterator[Case]:
    yield from _sizes()
    yield from _tries()
    yield from _companions()
    of_engine = "a version 2 (CRAYON) cartridge: it holds no merges, only greedy mode can use it"
    yield _case("for the engine", "a good one", good.version_2(), of_engine)._replace(only="engine")


def _case(name: str, wrong: str, data: bytes, promise: str, error: str = CARTRIDGE) -> Case:
    return Case(f"version 2: {name}", wrong, file_of(data), error, promise)


def _sizes() -> Iterator[Case]:
    data = good.version_2()
    for end in (8, 9, 10, 11):
        yield _case(f"cut at {end}", "the header is cut", data[:end], CUT)
    n = len(data[12:]) // 12
    for end in (12, 13, 12 + 4 * n, 12 + 8 * n, len(data) - 4, len(data) - 1):
        yield _case(f"cut at {end}", f"nothing from byte {end} on", data[:end], SIZE)
    yield _case("a byte more", "a byte after the end", data + b"\0", SIZE)
    # 12 times 0x55555556 is 2^32 + 8, and 12 times 0x15555556 is 2^28 + 8.
    for value in (0, n - 1, n + 1, 0x15555556, 0x55555556, 2**31, 2**32 - 1):
        yield _case(
            f"{value} slots", f"the header says {value} slots", data[:8] + struct.pack("<I", value) + data[12:], SIZE
        )
    yield _case("no slots", "there is not even a root", data[:8] + bytes(4), "double array: there is no root")


def _tries() -> Iterator[Case]:
    base, check, values = parts()
    n = len(base)
    leaf = next(i for i in range(1, n) if check[i] >= 0 and i not in check)
    inner = next(i for i in range(1, n) if i in check)
    free = next(i for i in range(1, n) if check[i] == -1)

    def changed(array: int, index: int, value: int) -> bytes:
        arrays = [list(base), list(check), list(values)]
        arrays[array][index] = value
        return written(*arrays)

    root = "double array: node N (the root) ..."
    node = "double array: node N ..."
    for value in (0, 2, -1, 2**31 - 1, -(2**31)):
        yield _case(f"base of the root {value}", "the root's base is not 1", changed(0, 0, value), root)
    for value in (0, 1, n, 2**31 - 1):
        yield _case(f"check of the root {value}", "the root has a parent", changed(1, 0, value), root)
    for value in (n, 2**31 - 1, -2, -(2**31)):
        yield _case(f"parent {value}", "a node's parent is out of range", changed(1, leaf, value), node)
    yield _case("a free parent", "a node's parent is a free slot", changed(1, leaf, free), node)
    yield _case("its own parent", "a node is its own parent", changed(1, leaf, leaf), node)
    for value in (n, 2**31 - 1, -(2**31)):
        yield _case(f"base {value}", "the base of a node is far out", changed(0, inner, value), node)
    for value in (-2, -(2**31)):
        yield _case(f"value {value}", "a value below -1", changed(2, leaf, value), node)
    cycle = written([1, 0, 3, 2], [-1, -1, 3, 2], [-1] * 4)
    yield _case("a cycle", "two nodes are each other's parent", cycle, node)
    length = 23_200
    chain = written([*range(1, length), 0], [-1, *range(length - 1)], [*range(length)])
    # The child of node p by the byte 0 is base[p] = p + 1, so each key is one byte longer than the one before.
    chain_keys = "version 2 cartridge: its keys take more than N MiB"
    yield _case("a chain of keys", "280 kilobytes that spell 256 megabytes of keys", chain, chain_keys)
    huge = written(*_with_value(base, check, values, leaf, 2**31 - 1))
    promise = "an id of N, too large: tokenizers would go through all ids up to it"
    yield Case("version 2: an id of 2^31 - 1", "nobody counts up to it", file_of(huge), "UnsupportedError", promise)
    no_keys = written([1], [-1], [-1])
    no_tokens = "the version 2 cartridge has no tokens"
    yield Case("version 2: no keys", "a trie without a token", file_of(no_keys), VOCABULARY, no_tokens)


def _with_value(
    base: list[int], check: list[int], values: list[int], index: int, value: int
) -> tuple[list[int], list[int], list[int]]:
    return base, check, [value if i == index else old for i, old in enumerate(values)]


def _companions() -> Iterator[Case]:
    """The ``.json`` beside a cartridge of CRAYON."""
    tokens = [key.decode("utf-8", "surrogateescape") for key, _ in good.KEYS]

    def beside(data: bytes) -> Callable[[Path], Path]:
        def make(directory: Path) -> Path:
            (directory / "hostile.json").write_bytes(data)
            return file_of(good.version_2())(directory)

        return make

    companion = "the .json beside the version 2 cartridge ..."
    for name, data in {
        "not JSON": b"[",
        "not UTF-8": b'["\xff"]',
        "deep": b"[" * 100_000,
        "an object": b"{}",
        "numbers": b"[1, 2]",
        "no tokens": b"[]",
        "one less": json.dumps(tokens[:-1]).encode(),
        "of another": json.dumps([*tokens[:-1], "another"]).encode(),
        "an id of 2^62": json.dumps({"vocab": {"a": 2**62}}).encode(),
        "an id of 2^31 - 1": json.dumps({"vocab": {"a": 2**31 - 1}}).encode(),
        "a negative id": json.dumps({"vocab": {"a": -1}}).encode(),
    }.items():
        yield Case(f"version 2: strings {name}", f"the strings beside it: {name}", beside(data), VOCABULARY, companion)
    whole = json.dumps(tokens).encode()
    yield Case("version 2: good strings", "nothing is", beside(whole), ACCEPTED, "")
