"""The checksum and the hashes of a cartridge, from docs/cartridge-format.md and the xxHash library only."""

from __future__ import annotations

import struct

from xxhash import xxh64_intdigest

MASK = 2**64 - 1


def xxh64(data: bytes) -> int:
    """The 64-bit xxHash, by its own library."""
    return xxh64_intdigest(data)


def pair_home(left: int, right: int, places: int) -> int:
    """The slot of pair_table where the search for a pair begins, or its bit in pair_filter."""
    return ((left << 21 | right) * 0x9E3779B97F4A7C15 & MASK) >> (64 - (places.bit_length() - 1))


def reachable_home(left: int, right: int, pilot: int, places: int) -> int:
    """The only slot of reachable_slots where a pair can be."""
    low = (left << 21 | right) * 0x9E3779B97F4A7C15 >> 12 & 0xFFFFFFFF
    return (low * (2 * pilot + 1) & 0xFFFFFFFF) >> (32 - (places.bit_length() - 1))


def word_key(word: bytes) -> tuple[int, int]:
    """The two halves of the key of a word of 1 to 15 bytes, without the number of ids."""
    lo, hi = struct.unpack("<2Q", word.ljust(15, b"\0") + bytes([len(word)]))
    return lo, hi


def word_home(word: bytes, buckets: int) -> int:
    """The bucket of word_table where the search for a word begins."""
    lo, hi = word_key(word)
    product = (lo ^ 0x9E3779B97F4A7C15) * (hi ^ 0xD6E8FEB86659FD93)
    return (product & MASK ^ product >> 64) & (buckets - 1)
