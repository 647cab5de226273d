"""CRAYON's version 2 cartridges for the tests: a writer, and a plain longest match."""

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
    """Write a cartridge in which a token's id is its position; of equal tokens the last one counts, as in CRAYON."""
    keys = {token.encode(): id for id, token in enumerate(tokens) if token}
    path.write_bytes(_core.write_cartridge_v2(*_core.build_double_array(sorted(keys.items()))))
    if companion:
        path.with_suffix(".json").write_text(json.dumps(list(tokens)), encoding="utf-8")
    return path


def complete(tokens: Sequence[str]) -> dict[bytes, int]:
    """The tokens with their ids, followed by ids for bytes that have none."""
    ids = {token.encode(): id for id, token in enumerate(tokens) if token}
    missing = [bytes([byte]) for byte in range(256) if bytes([byte]) not in ids]
    return ids | {byte: len(tokens) + i for i, byte in enumerate(missing)}


def longest_match(ids: dict[bytes, int], data: bytes, unknown: int | None = None) -> list[int]:
    """The longest token at each position; `unknown` for a byte that begins none."""
    found, at, longest = [], 0, max(map(len, ids))
    while at < len(data):
        ends = range(min(len(data), at + longest), at, -1)
        end = next((end for end in ends if data[at:end] in ids), at + 1)
        token = data[at:end]
        found.append(ids[token] if unknown is None or token in ids else unknown)
        at = end
    return found
