"""What a text asks of the GPU's kernels: pretokens, ids and merges for a byte, and the bytes that each step moves.

    python tools/gpu_traffic.py CARTRIDGE TEXT ...

The kernels run on the CPU (`_core._testing.host_device`), so no GPU is needed; counts are the same on one. A step's
traffic is that of its arrays, each read or written once: a lower bound, as if what neighbours read again were in a
cache, and with the vocabulary's tables in a cache, too. Texts are cut into documents of some 2 KB.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from crayon_hf import _core

DOCUMENT = 2048
BITMAP = 1 / 8
"""Bytes of a bitmap for a byte of text."""


def documents(text: bytes) -> np.ndarray:
    """Offsets that cut a text between characters."""
    offsets = [0]
    while offsets[-1] < len(text):
        end = min(offsets[-1] + DOCUMENT, len(text))
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end += 1
        offsets.append(end)
    return np.array(offsets, dtype=np.int64)


def traffic(pretokens: float, ids: float, merged: float, merged_bytes: float) -> dict[str, float]:
    """Bytes that each step reads and writes, for a byte of text, with the numbers of each for a byte. Arrays as in
    cpp/gpu/work.h."""
    chunk = 1 / 64
    return {
        "text from the host": 1,
        "clearing": 4 * BITMAP + 2 * chunk,
        "find_added": 1,
        "describe_chunks": 1 + BITMAP + 2 * chunk,
        "digits": 4 * chunk,
        "boundaries": 1 + BITMAP + 2 * chunk + 2 * BITMAP,
        "join_added": BITMAP,
        "count, list": 2 * BITMAP + 4 * pretokens,
        "look_up_words": 1 + BITMAP + 12 * pretokens,
        "merge": 24 * merged + 5 * merged_bytes,
        "count_ids": 4 * pretokens,
        "write_ids": 16 * pretokens + 8 * ids,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cartridge")
    parser.add_argument("texts", nargs="+", type=Path)
    given = parser.parse_args()
    engine = _core.Engine.open(given.cartridge)
    for path in given.texts:
        text = path.read_bytes()
        encoder = _core.DeviceEncoder(engine, _core._testing.host_device(1 << 36))
        encoder.encode_flat(text, documents(text))
        report = encoder.report
        names = ("pretokens", "ids", "merged_pretokens", "merged_bytes")
        numbers = [report[name] / report["bytes"] for name in names]
        steps = traffic(*numbers)
        print(path.name, ", ".join(f"{name} {n:.4f}" for name, n in zip(names, numbers, strict=True)))
        print("   ", ", ".join(f"{name} {n:.2f}" for name, n in steps.items()), f"| all {sum(steps.values()):.1f}")


if __name__ == "__main__":
    main()
