"""A cartridge read and used in plain Python, from docs/cartridge-format.md alone: the second implementation that the
engine's tests compare with. Slow, complete, nothing shared with the engine."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

MASK = 2**64 - 1
REQUIRED = 1
NAMES = {
    1: "metadata",
    2: "program",
    3: "trie",
    4: "token_offsets",
    5: "token_bytes",
    6: "token_flags",
    7: "token_trim",
    8: "byte_ids",
    9: "merge_products",
    10: "pair_table",
    11: "byte_pair_ranks",
    12: "word_table",
    13: "added_tokens",
    14: "added_trie",
    15: "added_trie_normalized",
    16: "post_processor",
    17: "raw_tokens",
    18: "certificate",
    19: "pair_filter",
}
TYPES = {name: number for number, name in NAMES.items()}

PRESENT, RAW, MODEL, ADDED, SPECIAL, WHOLE = 1, 2, 4, 8, 16, 32
SINGLE_WORD, LSTRIP, RSTRIP, NORMALIZED, SPECIAL_TOKEN = 1, 2, 4, 8, 16
IGNORE_MERGES, ADD_PREFIX_SPACE = 1, 2
NO_RANK = 2**32 - 1
EMPTY_PAIR = 2**64 - 1
BYTE_LEVEL, TEMPLATE, ROBERTA = 1, 2, 3

WHITE_SPACE = frozenset(
    map(chr, [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
)


class FormatError(Exception):
    """The file is not what the page says."""


# -- checksums and hashes


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


def word_key(word: bytes) -> tuple[int, int]:
    """The two halves of the key of a word of 1 to 15 bytes, without the number of ids."""
    lo, hi = struct.unpack("<2Q", word.ljust(15, b"\0") + bytes([len(word)]))
    return lo, hi


def word_home(word: bytes, buckets: int) -> int:
    """The bucket of word_table where the search for a word begins."""
    lo, hi = word_key(word)
    product = (lo ^ 0x9E3779B97F4A7C15) * (hi ^ 0xD6E8FEB86659FD93)
    return (product & MASK ^ product >> 64) & (buckets - 1)


# -- the container


class Section(NamedTuple):
    type: int
    flags: int
    data: bytes


def write_cartridge(sections: list[Section], digest: bytes, version: int = 3, revision: int = 1) -> bytes:
    """The file of these sections, in their order, with the checksums that it must have."""
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
    """The sections in file order and the source digest; every rule of the container checked."""
    if len(data) < 64:
        raise FormatError("the header is cut")
    magic, version, size, count, revision, checksum, digest = struct.unpack_from("<4sIQIIQ32s", data)
    if (magic, version, revision, size) != (b"CRAY", 3, 1, len(data)):
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


# -- the contents


class Trie:
    """A double array."""

    def __init__(self, data: bytes) -> None:
        n = len(data) // 12
        self.base, self.check, self.values = (struct.unpack_from(f"<{n}i", data, 4 * n * i) for i in range(3))

    def step(self, node: int, byte: int) -> int:
        child = self.base[node] + byte
        return child if 0 < child < len(self.check) and self.check[child] == node else -1

    def prefixes(self, text: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
        """(end, value) of each key that begins at `start`, shortest first."""
        node = 0
        for at in range(start, len(text) if self.base else 0):
            node = self.step(node, text[at])
            if node < 0:
                return
            if self.values[node] >= 0:
                yield at + 1, self.values[node]

    def find(self, key: bytes) -> int:
        return next((value for end, value in self.prefixes(key) if end == len(key)), -1)

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


class Piece(NamedTuple):
    is_sequence: int
    sequence: int
    type_id: int
    ids: tuple[int, ...]


class Step(NamedTuple):
    kind: int
    flags: int
    sep: int
    cls: int
    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]


def read_post_processor(data: bytes) -> list[Step]:
    words = iter(struct.unpack(f"<{len(data) // 4}I", data))

    def pieces() -> tuple[Piece, ...]:
        out = []
        for _ in range(next(words)):
            is_sequence, sequence, type_id = next(words), next(words), next(words)
            out.append(Piece(is_sequence, sequence, type_id, tuple(next(words) for _ in range(next(words)))))
        return tuple(out)

    steps = []
    for _ in range(next(words)):
        kind, flags, sep, cls = next(words), next(words), next(words), next(words)
        steps.append(Step(kind, flags, sep, cls, pieces(), pieces()))
    if next(words, None) is not None:
        raise FormatError("post_processor has words left over")
    return steps


def byte_level_alphabet() -> list[str]:
    """The character for each byte."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(b if b in printable else next(others)) for b in range(256)]


ALPHABET = byte_level_alphabet()
BYTE_OF = {char: byte for byte, char in enumerate(ALPHABET)}


class Cartridge:
    """The sections, unpacked, and what they mean."""

    def __init__(self, data: bytes) -> None:
        sections, self.digest = read_sections(data)
        self.sections = {section.type: section.data for section in sections}
        program = struct.unpack("<16I", self._section("program"))
        self.family, self.flavor, self.normalizer, self.flags = program[:4]
        self.n_ids, self.model_size, self.vocab_size, self.n_merges, self.max_token_bytes = program[4:9]
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
        self.word_table = list(struct.iter_unpack("<2Q4I", self._section("word_table")))
        self.added_tokens = list(struct.iter_unpack("<2I", self._section("added_tokens")))
        self.raw_tokens = self._array("raw_tokens", "I")
        self.trie = Trie(self._section("trie"))
        self.added_trie = Trie(self._section("added_trie"))
        self.added_trie_normalized = Trie(self._section("added_trie_normalized"))
        self.steps = read_post_processor(self._section("post_processor"))

    def _section(self, name: str) -> bytes:
        return self.sections.get(TYPES[name], b"")

    def _array(self, name: str, code: str) -> tuple[int, ...]:
        data = self._section(name)
        return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)

    def bytes_of(self, token_id: int) -> bytes:
        return self.token_bytes[self.token_offsets[token_id] : self.token_offsets[token_id + 1]]

    def string_of(self, token_id: int) -> str:
        data = self.bytes_of(token_id)
        return data.decode() if self.token_flags[token_id] & RAW else "".join(ALPHABET[b] for b in data)

    def vocabulary(self, with_added: bool = True) -> dict[str, int]:
        wanted = PRESENT if with_added else MODEL
        return {self.string_of(i): i for i in range(self.n_ids) if self.token_flags[i] & wanted}

    def merges(self) -> list[tuple[int, int, int, int]]:
        """(rank, left, right, product), in order of rank."""
        slots = (slot for slot in self.pair_table if slot != EMPTY_PAIR)
        fields = ((slot & 2**22 - 1, slot >> 43, slot >> 22 & 2**21 - 1) for slot in slots)
        return sorted((rank, left, right, self.merge_products[rank]) for rank, left, right in fields)

    def words(self) -> dict[bytes, tuple[int, ...]]:
        """Every entry of the word table."""
        out = {}
        for lo, hi, *ids in self.word_table:
            if hi:
                word = struct.pack("<2Q", lo, hi)[: hi >> 56 & 15]
                out[word] = tuple(ids[: hi >> 60])
        return out

    # -- searches, as the page describes them

    def may_merge(self, left: int, right: int) -> bool:
        """False when pair_filter says that the pair has no rank."""
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

    # -- encoding

    def merge(self, word: bytes) -> list[int]:
        """Merging alone: the pair of lowest rank, the leftmost of equals, until none is left."""
        ids = [self.byte_ids[b] for b in word]
        while len(ids) > 1:
            rank, at = min((self.rank(ids[i], ids[i + 1]), i) for i in range(len(ids) - 1))
            if rank == NO_RANK:
                break
            ids[at : at + 2] = [self.merge_products[rank]]
        return ids

    def define_pretoken(self, word: bytes) -> list[int]:
        """What a pretoken becomes, by definition."""
        if self.flags & IGNORE_MERGES and (token_id := self.trie.find(word)) >= 0:
            return [token_id]
        return self.merge(word)

    def encode_pretoken(self, word: bytes) -> list[int]:
        """The same, with the tables that make it fast."""
        if len(word) <= 15:
            known = self.find_word(word)
            return list(known) if known is not None else self.merge(word)
        if len(word) <= self.max_token_bytes:
            token_id = self.trie.find(word)
            if token_id >= 0 and self.token_flags[token_id] & WHOLE:
                return [token_id]
        return self.merge(word)

    def encode_segment(self, segment: bytes, cut: Callable[[bytes], list[int]]) -> list[int]:
        """The ids of a text without added tokens; `cut` gives the end offsets of its pretokens."""
        ends = cut(segment)
        return [
            i for start, end in zip([0, *ends], ends, strict=False) for i in self.encode_pretoken(segment[start:end])
        ]

    def split_added(self, text: str, trie: Trie) -> Iterator[tuple[str, int]]:
        """(piece, index in added_tokens or -1), in order."""
        data, done, at = text.encode(), 0, 0
        while at < len(data):
            longest = max(trie.prefixes(data, at), default=None)
            if longest is None:
                at += 1
                continue
            start, (stop, index) = at, longest
            at = stop
            flags = self.added_tokens[index][1]
            before, after = data[:start].decode(), data[stop:].decode()
            if flags & SINGLE_WORD and (_is_word(before[-1:]) or _is_word(after[:1])):
                continue
            if flags & LSTRIP:
                start = max(done, start - len(before.encode()) + len(_strip_end(before).encode()))
            if flags & RSTRIP:
                stop += len(after.encode()) - len(_strip_start(after).encode())
            if start > stop:
                raise FormatError("added tokens claim the same white space")
            if done < start:
                yield data[done:start].decode(), -1
            if start < stop:
                yield data[start:stop].decode(), index
            done = stop
        if done < len(data):
            yield data[done:].decode(), -1

    def encode(self, text: str, cut: Callable[[bytes], list[int]], nfc: Callable[[str], str]) -> list[int]:
        """The ids of a text before post-processing."""
        ids = []
        for outer, index in self.split_added(text, self.added_trie):
            if index >= 0:
                ids.append(self.added_tokens[index][0])
                continue
            normal = nfc(outer) if self.normalizer == 1 else outer
            for inner, inner_index in self.split_added(normal, self.added_trie_normalized):
                if inner_index >= 0:
                    ids.append(self.added_tokens[inner_index][0])
                    continue
                prefix = " " if self.flags & ADD_PREFIX_SPACE and not inner.startswith(" ") else ""
                ids += self.encode_segment((prefix + inner).encode(), cut)
        return ids

    def frame(self, first: list[int], second: list[int] | None = None) -> list[int]:
        """The ids after post-processing, special tokens added."""
        parts = [first] if second is None else [first, second]
        for step in self.steps:
            if step.kind == ROBERTA:
                parts = [[step.sep if i else step.cls, *part, step.sep] for i, part in enumerate(parts)]
            if step.kind == TEMPLATE:
                pieces = step.single if len(parts) == 1 else step.pair
                if len(parts) not in (1, 2) or any(p.is_sequence and p.sequence >= len(parts) for p in pieces):
                    raise FormatError("a template for parts that are not there")
                parts = [parts[piece.sequence] if piece.is_sequence else list(piece.ids) for piece in pieces]
        return [i for part in parts for i in part]

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        return b"".join(self.bytes_of(i) for i in ids if not (skip_special and self.token_flags[i] & SPECIAL))


def _is_word(char: str) -> bool:
    """Near enough for tests: letters, digits and the underscore of ASCII and common scripts."""
    return char.isalnum() or char == "_"


def _strip_end(text: str) -> str:
    while text and text[-1] in WHITE_SPACE:
        text = text[:-1]
    return text


def _strip_start(text: str) -> str:
    while text and text[0] in WHITE_SPACE:
        text = text[1:]
    return text
