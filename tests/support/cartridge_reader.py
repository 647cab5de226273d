"""A reader of cartridge files in plain Python, written from docs/cartridge-format.md alone. Tests compare the engine
with it.

The reader is slow, and shares no code with the engine.
"""

from __future__ import annotations

import json
import struct
from typing import NamedTuple

from xxhash import xxh64_intdigest

from crayon_hf.util.byte_level import BYTE_LEVEL

REQUIRED = 1
_NAMES = """metadata program trie token_offsets token_bytes token_flags token_trim byte_ids merge_products pair_table
byte_pair_ranks word_table added_tokens added_trie added_trie_normalized components raw_tokens certificate pair_filter
scores char_pairs reachable_pilots reachable_slots byte_cuts score_ulps reads_alike"""
NAMES = dict(enumerate(_NAMES.split(), 1))
TYPES = {name: number for number, name in NAMES.items()}

PRESENT, RAW, MODEL, ADDED, SPECIAL, WHOLE, MERGED = 1, 2, 4, 8, 16, 32, 64
NORMALIZED, SPECIAL_TOKEN = 8, 16
IGNORE_MERGES, TEXT_TOKENS = 1, 2
TEXT_ONLY = 1
NO_RANK = 2**32 - 1
EMPTY_PAIR = 2**64 - 1

WHITE_SPACE = frozenset(
    map(chr, [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
)


class FormatError(Exception):
    """The file violates docs/cartridge-format.md."""


# -- the container


class Section(NamedTuple):
    type: int
    flags: int
    data: bytes


def write_cartridge(sections: list[Section], digest: bytes, version: int = 3, revision: int = 4) -> bytes:
    """Return a cartridge with these sections in this order, and valid checksums. `digest` is that of its source."""
    at = _aligned(64 + 32 * len(sections))
    table, body = b"", b""
    start = at
    for section in sections:
        table += struct.pack("<IIQQQ", section.type, section.flags, at, len(section.data), xxh64(section.data))
        body += section.data.ljust(_aligned(len(section.data)), b"\0")
        at = start + len(body)
    fields = (b"CRAY", version, at, len(sections), revision)
    checksum = xxh64(struct.pack("<4sIQIIQ32s", *fields, 0, digest) + table)
    head = struct.pack("<4sIQIIQ32s", *fields, checksum, digest) + table
    return head.ljust(start, b"\0") + body


def read_sections(data: bytes) -> tuple[list[Section], bytes]:
    """Return the sections in file order and the source digest, after checking every rule of the container."""
    if len(data) < 64:
        raise FormatError("the header is cut")
    magic, version, size, count, revision, checksum, digest = struct.unpack_from("<4sIQIIQ32s", data)
    if (magic, version, revision, size) != (b"CRAY", 3, 4, len(data)):
        raise FormatError("magic, version, revision or size")
    end = 64 + 32 * count
    if count > 256 or end > size:
        raise FormatError("the section table does not fit")
    if xxh64(data[:24] + bytes(8) + data[32:end]) != checksum:
        raise FormatError("checksum of header and table")
    sections = []
    for number, flags, offset, length, section_checksum in struct.iter_unpack("<IIQQQ", data[64:end]):
        if offset != _aligned(end) or offset + length > size or any(data[end:offset]):
            raise FormatError(f"place of section {number}")
        end = offset + length
        body = data[offset:end]
        if xxh64(body) != section_checksum:
            raise FormatError(f"checksum of section {number}")
        if number not in NAMES and flags & REQUIRED:
            raise FormatError(f"section {number} is required and unknown")
        sections.append(Section(number, flags, body))
    if size != _aligned(end) or any(data[end:]):
        raise FormatError("the end of the file")
    return sections, digest


def _aligned(n: int) -> int:
    return -(-n // 64) * 64


# -- the checksum of the file, and the hashes of its tables


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


# -- the contents


class Trie:
    """The double-array trie of a section."""

    def __init__(self, data: bytes) -> None:
        n = len(data) // 12
        self.base, self.check, self.values = (struct.unpack_from(f"<{n}i", data, 4 * n * i) for i in range(3))

    def items(self) -> dict[bytes, int]:
        """Every key and its value."""
        keys = {0: b""}
        for node in range(1, len(self.check)):
            chain = []
            while node not in keys and self.check[node] >= 0:
                chain.append(node)
                node = self.check[node]
            for child in reversed(chain):
                keys[child] = keys[node] + bytes([child - self.base[node]])
                node = child
        return {key: self.values[node] for node, key in keys.items() if self.values and self.values[node] >= 0}


BYTE_OF = {chr(char): byte for byte, char in BYTE_LEVEL.items()}


class Cartridge:
    """A cartridge's unpacked sections, and the lookups that docs/cartridge-format.md defines on them."""

    def __init__(self, data: bytes) -> None:
        sections, self.digest = read_sections(data)
        self.sections = {section.type: section.data for section in sections}
        program = struct.unpack("<16I", self._section("program"))
        self.flavor, self.flags, self.n_ids, self.model_size, self.vocab_size = program[:5]
        self.n_merges, self.max_token_bytes = program[5:7]
        self.is_text = bool(self.flags & TEXT_TOKENS)
        self.token_offsets = self._array("token_offsets", "I")
        self.token_bytes = self._section("token_bytes")
        self.token_flags = self._section("token_flags")
        trim = self._array("token_trim", "H")
        self.leading, self.trailing = trim[: self.n_ids], trim[self.n_ids :]
        self.byte_ids = self._array("byte_ids", "I")
        self.merge_products = self._array("merge_products", "I")
        self.pair_table = self._array("pair_table", "Q")
        self.pair_filter = self._array("pair_filter", "Q")
        self.byte_pair_ranks = self._array("byte_pair_ranks", "I")
        self.reachable_pilots = self._array("reachable_pilots", "H")
        self.reachable_slots = self._array("reachable_slots", "Q")
        self.byte_cuts = self._array("byte_cuts", "Q")
        self.word_table = list(struct.iter_unpack("<2Q4I", self._section("word_table")))
        self.added_tokens = list(struct.iter_unpack("<2I", self._section("added_tokens")))
        self.raw_tokens = self._array("raw_tokens", "I")
        self.trie = Trie(self._section("trie"))
        self.added_trie = Trie(self._section("added_trie"))
        self.added_trie_normalized = Trie(self._section("added_trie_normalized"))
        self.scores = self._array("scores", "d")
        self.score_ulps = self._array("score_ulps", "b")
        self.char_pairs = self._array("char_pairs", "Q")
        self.components = json.loads(self._section("components"))

    def _section(self, name: str) -> bytes:
        return self.sections.get(TYPES[name], b"")

    def _array(self, name: str, code: str) -> tuple[int, ...]:
        data = self._section(name)
        return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)

    def bytes_of(self, token_id: int) -> bytes:
        return self.token_bytes[self.token_offsets[token_id] : self.token_offsets[token_id + 1]]

    def string_of(self, token_id: int) -> str:
        data = self.bytes_of(token_id)
        return (
            data.decode()
            if self.is_text or self.token_flags[token_id] & RAW
            else "".join(chr(BYTE_LEVEL[b]) for b in data)
        )

    def vocabulary(self, with_added: bool = True) -> dict[str, int]:
        wanted = PRESENT if with_added else MODEL
        return {self.string_of(i): i for i in range(self.n_ids) if self.token_flags[i] & wanted}

    def merges(self) -> list[tuple[int, int, int, int]]:
        """The merges as (rank, left id, right id, product id), in order of rank."""
        slots = (slot for slot in self.pair_table if slot != EMPTY_PAIR)
        fields = ((slot & 2**22 - 1, slot >> 43, slot >> 22 & 2**21 - 1) for slot in slots)
        return sorted((rank, left, right, self.merge_products[rank]) for rank, left, right in fields)

    def words(self) -> dict[bytes, tuple[int, ...]]:
        """Every word of word_table, with its ids."""
        out = {}
        for lo, hi, *ids in self.word_table:
            if hi:
                word = struct.pack("<2Q", lo, hi)[: hi >> 56 & 15]
                out[word] = tuple(ids[: hi >> 60])
        return out

    # -- the searches of docs/cartridge-format.md

    def may_merge(self, left: int, right: int) -> bool:
        """Whether pair_filter says that the pair of ids may have a rank."""
        bit = pair_home(left, right, 64 * len(self.pair_filter))
        return bool(self.pair_filter[bit // 64] >> bit % 64 & 1)

    def rank(self, left: int, right: int) -> int:
        slots = len(self.pair_table)
        at = pair_home(left, right, slots)
        while (slot := self.pair_table[at]) != EMPTY_PAIR:
            if slot >> 22 == (left << 21 | right):
                return slot & 2**22 - 1
            at = (at + 1) % slots
        return NO_RANK

    def reachable_rank(self, left: int, right: int) -> int:
        """Return the rank of a pair of ids from the table of reachable merges, or NO_RANK."""
        pilot = self.reachable_pilots[pair_home(left, right, len(self.reachable_pilots))]
        slot = self.reachable_slots[reachable_home(left, right, pilot, len(self.reachable_slots))]
        return slot & 2**22 - 1 if slot >> 22 == (left << 21 | right) else NO_RANK

    def find_word(self, word: bytes) -> tuple[int, ...] | None:
        lo, hi = word_key(word)
        buckets = len(self.word_table) // 2
        at = word_home(word, buckets)
        while True:
            for key_lo, key_hi, *ids in self.word_table[2 * at : 2 * at + 2]:
                if (key_lo, key_hi & 2**60 - 1) == (lo, hi):
                    return tuple(ids[: key_hi >> 60])
            if self.word_table[2 * at + 1][1] == 0:
                return None
            at = (at + 1) % buckets

    def merge(self, word: bytes) -> list[int]:
        """Return the ids of a word: join the leftmost pair of lowest rank, until no pair has a rank."""
        ids = [self.byte_ids[b] for b in word]
        while len(ids) > 1:
            rank, at = min((self.rank(ids[i], ids[i + 1]), i) for i in range(len(ids) - 1))
            if rank == NO_RANK:
                break
            ids[at : at + 2] = [self.merge_products[rank]]
        return ids
