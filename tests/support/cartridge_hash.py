"""The checksum of a cartridge file and the hashes of its tables, written from docs/cartridge-format.md alone."""

from __future__ import annotations

import struct

from xxhash import xxh64_intdigest

MASK = 2**64 - 1


def xxh64(data: bytes) -> int:
    """The 64-bit xxHash, computed by the Python package xxhash."""
    return xxh64_intdigest(data)


def pair_home(left: int, right: int, places: int) -> int:
    """The slot of pair_table where the search for a pair of ids begins, or the pair's bit in pair_filter. `places` is
    the number of slots or bits."""
    return ((left << 21 | right) * 0x9E3779B97F4A7C15 & MASK) >> (64 - (places.bit_length() - 1))


def reachable_home(left: int, right: int, pilot: int, places: int) -> int:
    """The only slot of reachable_slots where a pair of ids can be. `places` is the number of slots, and `pilot` the
    pair's entry of reachable_pilots."""
    low = (left << 21 | right) * 0x9E3779B97F4A7C15 >> 12 & 0xFFFFFFFF
    return (low * (2 * pilot + 1) & 0xFFFFFFFF) >> (32 - (places.bit_length() - 1))


def word_key(word: bytes) -> tuple[int, int]:
    """The two halves of the 128-bit key in word_table of a word of 1 to 15 bytes, without the word's number of ids."""
    lo, hi = struct.unpack("<2Q", word.ljust(15, b"\0") + bytes([len(word)]))
    return lo, hi


def word_home(word: bytes, buckets: int) -> int:
    """The bucket of word_table where the search for a word begins."""
    lo, hi = word_key(word)
    product = (lo ^ 0x9E3779B97F4A7C15) * (hi ^ 0xD6E8FEB86659FD93)
    return (product & MASK ^ product >> 64) & (buckets - 1)
