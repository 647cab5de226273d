"""The checksum and the hashes of a cartridge, from docs/cartridge-format.md alone."""

from __future__ import annotations

import struct
from functools import lru_cache

MASK = 2**64 - 1


def _rotl(x: int, r: int) -> int:
    x &= MASK
    return (x << r | x >> (64 - r)) & MASK


@lru_cache(64)
def xxh64(data: bytes, seed: int = 0) -> int:
    """The 64-bit xxHash."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
    at = len(data) // 32 * 32
    if at:
        lanes = [seed + p1 + p2, seed + p2, seed, seed - p1]
        a, b, c, d = (lane & MASK for lane in lanes)
        for w, x, y, z in struct.iter_unpack("<4Q", data[:at]):
            a = a + w * p2 & MASK
            a = (a << 31 | a >> 33) * p1 & MASK
            b = b + x * p2 & MASK
            b = (b << 31 | b >> 33) * p1 & MASK
            c = c + y * p2 & MASK
            c = (c << 31 | c >> 33) * p1 & MASK
            d = d + z * p2 & MASK
            d = (d << 31 | d >> 33) * p1 & MASK
        h = _rotl(a, 1) + _rotl(b, 7) + _rotl(c, 12) + _rotl(d, 18)
        for lane in (a, b, c, d):
            h = (h ^ _rotl(lane * p2, 31) * p1 & MASK) * p1 + p4 & MASK
    else:
        h = seed + p5
    h = h + len(data) & MASK
    while len(data) - at >= 8:
        (word,) = struct.unpack_from("<Q", data, at)
        h = _rotl(h ^ _rotl(word * p2, 31) * p1 & MASK, 27) * p1 + p4 & MASK
        at += 8
    if len(data) - at >= 4:
        (word,) = struct.unpack_from("<I", data, at)
        h = _rotl(h ^ word * p1 & MASK, 23) * p2 + p3 & MASK
        at += 4
    for byte in data[at:]:
        h = _rotl(h ^ byte * p5 & MASK, 11) * p1 & MASK
    h = (h ^ h >> 33) * p2 & MASK
    h = (h ^ h >> 29) * p3 & MASK
    return h ^ h >> 32


def pair_home(left: int, right: int, places: int) -> int:
    """The slot of pair_table where the search for a pair begins, or its bit in pair_filter."""
    return ((left << 21 | right) * 0x9E3779B97F4A7C15 & MASK) >> (64 - (places.bit_length() - 1))


def live_home(left: int, right: int, pilot: int, places: int) -> int:
    """The only slot of live_slots where a pair can be."""
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
