"""Damaged cartridges in CRAYON's version 2 format. It has no checksums, so only the contents can be checked."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, VOCABULARY, Case, file_of, together

SIZE = "version 2 cartridge: it has N bytes, but N slots take N"
NODE = "double array: node N ..."
ROOT = "double array: node N (the root) ..."
COMPANION = "the .json beside the version 2 cartridge ..."
TOO_LARGE = "an id of N, too large: tokenizers would go through all ids up to it"
OF_ENGINE = "a version 2 (CRAYON) cartridge: it holds no merges, only greedy mode can use it"


def written(base: list[int], check: list[int], values: list[int]) -> bytes:
    n = len(base)
    return b"CRAY" + struct.pack(f"<II{3 * n}i", 2, n, *base, *check, *values)


def cases() -> Iterator[Case]:
    data = good.version_2()
    (n,) = struct.unpack_from("<I", data, 8)
    numbers = list(struct.unpack_from(f"<{3 * n}i", data, 12))
    leaf = next(i for i in range(1, n) if numbers[n + i] >= 0 and i not in numbers[n : 2 * n])

    def changed(index: int, value: int) -> bytes:
        return data[:12] + struct.pack(f"<{3 * n}i", *numbers[:index], value, *numbers[index + 1 :])

    length = 23_200
    chain = written([*range(1, length), 0], [-1, *range(length - 1)], [*range(length)])
    files: dict[str, tuple[bytes, str, str]] = {
        "cut at 11": (data[:11], CARTRIDGE, "version 2 cartridge: cut off inside the header, at N bytes"),
        "a byte more": (data + b"\0", CARTRIDGE, SIZE),
        # 12 times 0x55555556 is 2^32 + 8.
        "wrapping slots": (data[:8] + struct.pack("<I", 0x55555556) + data[12:], CARTRIDGE, SIZE),
        "no slots": (data[:8] + bytes(4), CARTRIDGE, "double array: the root is missing"),
        "base of the root": (changed(0, 2**31 - 1), CARTRIDGE, ROOT),
        "parent": (changed(n + leaf, -2), CARTRIDGE, NODE),
        "a cycle": (written([1, 0, 3, 2], [-1, -1, 3, 2], [-1] * 4), CARTRIDGE, NODE),
        # 280 kilobytes with 256 megabytes of keys: the child of node p by the byte 0 is p + 1.
        "a chain of keys": (chain, CARTRIDGE, "version 2 cartridge: its keys take more than N MiB"),
        "an id of 2^31 - 1": (changed(2 * n + leaf, 2**31 - 1), "UnsupportedError", TOO_LARGE),
        "no keys": (written([1], [-1], [-1]), VOCABULARY, "the version 2 cartridge has no tokens"),
    }
    for name, (content, error, promise) in files.items():
        yield Case(f"version 2: {name}", file_of(content), error, promise)
    yield Case("version 2: for the engine", file_of(data), CARTRIDGE, OF_ENGINE, only="engine")
    tokens = [key.decode("utf-8", "surrogateescape") for key, _ in good.KEYS]
    companions = {
        "not JSON": b"[",
        "deep": b"[" * 100_000,
        "numbers": b"[1, 2]",
        "of another": json.dumps([*tokens[:-1], "another"]).encode(),
        "an id of 2^62": json.dumps({"vocab": {"a": 2**62}}).encode(),
    }
    for name, content in companions.items():
        yield Case(f"version 2: strings {name}", _beside(content), VOCABULARY, COMPANION)
    yield Case("version 2: good strings", _beside(json.dumps(tokens).encode()), ACCEPTED, "")


def _beside(data: bytes) -> Callable[[Path], Path]:
    """A valid version 2 cartridge with these bytes as the ``.json`` list of tokens beside it."""
    return together(file_of(data, "hostile.json"), file_of(good.version_2()))
