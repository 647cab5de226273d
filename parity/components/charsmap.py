"""Builds a ``precompiled_charsmap``: a Darts-clone double array of the keys, and their replacements."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any

LEAF, VALUE = 1 << 8, 1 << 31


def charsmap(rules: Mapping[str, str]) -> bytes:
    """Return the map that replaces each key by its value. Keys must not contain NUL."""
    pool = bytearray()
    places: dict[str, int] = {}
    for value in sorted(set(rules.values())):
        places[value] = len(pool)
        pool += value.encode() + b"\0"
    root: dict[Any, Any] = {}
    for key, value in rules.items():
        node = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = places[value]

    units, used = {0: 0}, {0}
    shared: dict[int, int] = {}
    first_free = 1

    def base_for(labels: list[int]) -> int:
        nonlocal first_free
        while first_free in units:
            first_free += 1
        spot = first_free
        while True:
            base = spot ^ labels[0]
            if base not in used and all(base ^ label not in units for label in labels):
                return base
            spot += 1

    queue = [(0, root)]
    while queue:
        position, node = queue.pop()
        labels = [0] * (None in node) + sorted(byte for byte in node if byte is not None)
        alone = labels == [0]  # nodes that only hold a value share it
        if alone and node[None] in shared:
            base = shared[node[None]]
        else:
            base = base_for(labels)
            used.add(base)
            if alone:
                shared[node[None]] = base
        offset = position ^ base
        if offset >= 1 << 21:
            raise ValueError("too many rules")
        units[position] |= offset << 10 | (LEAF if None in node else 0)
        if None in node:
            units[base] = VALUE | node[None]
        for byte in labels[None in node :]:
            units[base ^ byte] = byte
            queue.append((base ^ byte, node[byte]))
    size = (max(units) | 0xFF) + 1
    return struct.pack(f"<I{size}I", 4 * size, *(units.get(i, 0) for i in range(size))) + bytes(pool)


def precompiled(rules: Mapping[str, str]) -> dict[str, str]:
    """Return a tokenizer.json's Precompiled normalizer with these rules."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(rules)).decode()}
