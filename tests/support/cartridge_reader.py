"""A cartridge read and used in plain Python, from docs/cartridge-format.md alone: the second implementation that the
engine's tests compare with. Slow, nothing shared with the engine. It encodes with byte tables; of text tables it reads
what they hold."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.support.cartridge_hash import pair_home as pair_home
from tests.support.cartridge_hash import reachable_home as reachable_home
from tests.support.cartridge_hash import word_home as word_home
from tests.support.cartridge_hash import word_key as word_key
from tests.support.cartridge_hash import xxh64 as xxh64

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
    16: "components",
    17: "raw_tokens",
    18: "certificate",
    19: "pair_filter",
    20: "scores",
    21: "char_pairs",
    22: "reachable_pilots",
    23: "reachable_slots",
    24: "byte_cuts",
    25: "score_ulps",
    26: "reads_alike",
}
TYPES = {name: number for number, name in NAMES.items()}

PRESENT, RAW, MODEL, ADDED, SPECIAL, WHOLE, MERGED = 1, 2, 4, 8, 16, 32, 64
SINGLE_WORD, LSTRIP, RSTRIP, NORMALIZED, SPECIAL_TOKEN = 1, 2, 4, 8, 16
IGNORE_MERGES, TEXT_TOKENS, LONGEST_MATCH = 1, 2, 4
TEXT_ONLY = 1
NO_RANK = 2**32 - 1
EMPTY_PAIR = 2**64 - 1

WHITE_SPACE = frozenset(
    map(chr, [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
)


class FormatError(Exception):
    """The file is not what the page says."""


# -- the container


class Section(NamedTuple):
    type: int
    flags: int
    data: bytes


def write_cartridge(sections: list[Section], digest: bytes, version: int = 3, revision: int = 4) -> bytes:
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
    """Of a template: sequence 0 or 1, or the ids of special tokens."""

    sequence: int | None
    ids: tuple[int, ...]


class Step(NamedTuple):
    """What one post-processor does to ids."""

    kind: str
    sep: int = 0
    cls: int = 0
    single: tuple[Piece, ...] = ()
    pair: tuple[Piece, ...] = ()


def flattened(component: Any, parts: str) -> list[Any]:
    """A component, or those of a Sequence at any depth."""
    if component is None:
        return []
    if component["type"] != "Sequence":
        return [component]
    return [inner for part in component[parts] for inner in flattened(part, parts)]


def read_post_processor(component: Any) -> list[Step]:
    steps = []
    for part in flattened(component, "processors"):
        if part["type"] in ("RobertaProcessing", "BertProcessing"):
            steps.append(Step(part["type"], part["sep"][1], part["cls"][1]))
        elif part["type"] == "TemplateProcessing":
            special = {name: tuple(token["ids"]) for name, token in part["special_tokens"].items()}
            single, pair = (
                tuple(
                    Piece("AB".index(piece["Sequence"]["id"]), ())
                    if "Sequence" in piece
                    else Piece(None, special[piece["SpecialToken"]["id"]])
                    for piece in part[name]
                )
                for name in ("single", "pair")
            )
            steps.append(Step("TemplateProcessing", single=single, pair=pair))
        elif part["type"] != "ByteLevel":  # which changes offsets alone
            raise FormatError(f"post_processor {part['type']}")
    return steps


def read_pre_tokenizer(component: Any) -> tuple[str, bool]:
    """The family by name, or its pattern; and whether a space is put in front. Of byte tables."""
    *splits, last = flattened(component, "pretokenizers")
    if last["type"] != "ByteLevel" or len(splits) > 1:
        raise FormatError("the pre_tokenizer is no family")
    uses_regex = last.get("use_regex", True)
    if not splits:
        return "gpt2" if uses_regex else "whole", last["add_prefix_space"]
    (split,) = splits
    keeps_all = (split["behavior"], split["invert"]) in (("Isolated", False), ("Isolated", True), ("Removed", True))
    if split["type"] != "Split" or not keeps_all or uses_regex or last["add_prefix_space"]:
        raise FormatError("the pre_tokenizer is no family")
    return split["pattern"]["Regex"], False


def read_normalizer(component: Any) -> bool:
    """Whether it is NFC; else it is none."""
    names = {part["type"] for part in flattened(component, "normalizers")}
    if names - {"NFC"}:
        raise FormatError(f"normalizer {names}")
    return bool(names)


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
        if not self.is_text:
            self.pattern, self.add_prefix_space = read_pre_tokenizer(self.components["pre_tokenizer"])
            self.composes = read_normalizer(self.components["normalizer"])
            self.steps = read_post_processor(self.components["post_processor"])

    def _section(self, name: str) -> bytes:
        return self.sections.get(TYPES[name], b"")

    def _array(self, name: str, code: str) -> tuple[int, ...]:
        data = self._section(name)
        return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)

    def bytes_of(self, token_id: int) -> bytes:
        return self.token_bytes[self.token_offsets[token_id] : self.token_offsets[token_id + 1]]

    def string_of(self, token_id: int) -> str:
        data = self.bytes_of(token_id)
        return data.decode() if self.is_text or self.token_flags[token_id] & RAW else "".join(ALPHABET[b] for b in data)

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

    def reachable_rank(self, left: int, right: int) -> int:
        """The rank of a merge that happens somewhere."""
        pilot = self.reachable_pilots[pair_home(left, right, len(self.reachable_pilots))]
        slot = self.reachable_slots[reachable_home(left, right, pilot, len(self.reachable_slots))]
        return slot & 2**22 - 1 if slot >> 22 == (left << 21 | right) else NO_RANK

    def may_join(self, left: int, right: int) -> bool:
        """False when char_pairs says that no merge makes a string with these two characters side by side."""
        if left < 128 and right < 128:
            bit = 128 * left + right
            return bool(self.char_pairs[bit // 64] >> bit % 64 & 1)
        bit = pair_home(left, right, 64 * (len(self.char_pairs) - 257))
        return bool(self.char_pairs[257 + bit // 64] >> bit % 64 & 1)

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

    def merge(self, word: bytes, ranks: list[int] | None = None) -> list[int]:
        """Merging alone: the pair of lowest rank, the leftmost of equals, until none is left. ``ranks`` gets those."""
        ids = [self.byte_ids[b] for b in word]
        while len(ids) > 1:
            rank, at = min((self.rank(ids[i], ids[i + 1]), i) for i in range(len(ids) - 1))
            if rank == NO_RANK:
                break
            ids[at : at + 2] = [self.merge_products[rank]]
            if ranks is not None:
                ranks.append(rank)
        return ids

    def match(self, word: bytes) -> list[int]:
        """The longest key of the trie at each place. Every byte is one."""
        ids, at = [], 0
        while at < len(word):
            at, token_id = max(self.trie.prefixes(word, at))
            ids.append(token_id)
        return ids

    def define_pretoken(self, word: bytes) -> list[int]:
        """What a pretoken becomes, by definition."""
        if self.flags & LONGEST_MATCH:
            return self.match(word)
        if self.flags & IGNORE_MERGES and (token_id := self.trie.find(word)) >= 0:
            return [token_id]
        return self.merge(word)

    def encode_pretoken(self, word: bytes) -> list[int]:
        """The same, with the tables that make it fast."""
        if self.flags & LONGEST_MATCH:
            return self.match(word)
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
            normal = nfc(outer) if self.composes else outer
            for inner, inner_index in self.split_added(normal, self.added_trie_normalized):
                if inner_index >= 0:
                    ids.append(self.added_tokens[inner_index][0])
                    continue
                prefix = " " if self.add_prefix_space and not inner.startswith(" ") else ""
                ids += self.encode_segment((prefix + inner).encode(), cut)
        return ids

    def frame(self, first: list[int], second: list[int] | None = None) -> list[int]:
        """The ids after post-processing, special tokens added."""
        parts = [first] if second is None else [first, second]
        for step in self.steps:
            if step.kind == "RobertaProcessing":
                parts = [[step.sep if i else step.cls, *part, step.sep] for i, part in enumerate(parts)]
            elif step.kind == "BertProcessing":
                parts = [[*([] if i else [step.cls]), *part, step.sep] for i, part in enumerate(parts)]
            else:
                pieces = step.single if len(parts) == 1 else step.pair
                if len(parts) not in (1, 2) or any((piece.sequence or 0) >= len(parts) for piece in pieces):
                    raise FormatError("a template for parts that are not there")
                parts = [list(piece.ids) if piece.sequence is None else parts[piece.sequence] for piece in pieces]
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
