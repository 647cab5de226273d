"""A plain reader of SentencePiece's normalization rules: the twin of `_core.CharsmapRules`."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from crayon_hf import VocabularyError

Rules = dict[str, str]
LONGEST_RULE = 64
MOST_PLACES = 4_000_000
_BYTE = [bytes((byte,)) for byte in range(256)]


def rules_of(charsmap: bytes) -> Rules:
    """All rules (source text to replacement) in the order of the trie. Raises VocabularyError if the data is
    damaged."""
    size = int.from_bytes(charsmap[:4], "little")
    if len(charsmap) < 4 or size % 4 or not 4 < size + 4 < len(charsmap):
        raise VocabularyError("the normalization rules are damaged: their trie is longer than the data")
    units = struct.unpack_from(f"<{size // 4}I", charsmap, 4)
    outputs = charsmap[4 + size :]
    rules: Rules = {}
    try:
        for key, value in _keys(units):
            end = outputs.index(0, value)
            rules[key.decode()] = outputs[value:end].decode()
    except OverflowError as error:
        raise VocabularyError(f"the normalization rules are damaged: {error}") from error
    except (ValueError, IndexError) as error:  # UnicodeDecodeError is a ValueError
        raise VocabularyError("the normalization rules are damaged: a rule is not UTF-8, or has no end") from error
    return rules


def _keys(units: Sequence[int]) -> Iterator[tuple[bytes, int]]:
    children: dict[int, list[tuple[bytes, int]]] = {}
    for place, unit in enumerate(units):
        if 0 < (label := unit & 0x8000_00FF) < 0x100:
            children.setdefault(place ^ label, []).append((_BYTE[label], place))
    reached = 0
    waiting = [(b"", 0)]
    while waiting:
        key, place = waiting.pop()
        reached += 1
        if reached > MOST_PLACES or len(key) > LONGEST_RULE:
            raise OverflowError(f"more than {MOST_PLACES} places, or a rule for more than {LONGEST_RULE} bytes")
        unit = units[place]
        base = place ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if unit & 0x100:
            yield key, units[base] & 0x7FFF_FFFF
        waiting += [(key + label, child) for label, child in children.get(base, ())]
