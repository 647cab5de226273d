"""Writes cartridges of CRAYON's version 2 format for tests, and encodes by a plain longest match as CRAYON does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from crayon_hf import _core

WORDS = (
    *("!", '"', "a", "b", "c", "e", "h", "t", "he", "the", " ", " the", "thesis", "ab", "abc", "é", "日本", "日本語"),
    *("\n", "\r\n", "x" * 300, "é" * 70, "\x00", "🙂", "<UNK>", "bca"),
)


def write_version_2(path: Path, tokens: Sequence[str], companion: bool = True) -> Path:
    """Write a version 2 cartridge in which a token's id is its position in `tokens`. Of equal tokens the last one
    counts, as in CRAYON. `companion` also writes the .json list of tokens that CRAYON puts beside it."""
    keys = {token.encode(): id for id, token in enumerate(tokens) if token}
    path.write_bytes(_core.write_cartridge_v2(*_core.build_double_array(sorted(keys.items()))))
    if companion:
        path.with_suffix(".json").write_text(json.dumps(list(tokens)), encoding="utf-8")
    return path


def complete(tokens: Sequence[str]) -> dict[bytes, int]:
    """Map tokens to their ids, and bytes that are not tokens to the ids after these."""
    ids = {token.encode(): id for id, token in enumerate(tokens) if token}
    missing = [bytes([byte]) for byte in range(256) if bytes([byte]) not in ids]
    return ids | {byte: len(tokens) + i for i, byte in enumerate(missing)}


def longest_match(ids: dict[bytes, int], data: bytes, unknown: int | None = None) -> list[int]:
    """Return the ids of the longest token at each position, and `unknown` for a byte at which no token begins."""
    found, at, longest = [], 0, max(map(len, ids))
    while at < len(data):
        ends = range(min(len(data), at + longest), at, -1)
        end = next((end for end in ends if data[at:end] in ids), at + 1)
        token = data[at:end]
        found.append(ids[token] if unknown is None or token in ids else unknown)
        at = end
    return found
