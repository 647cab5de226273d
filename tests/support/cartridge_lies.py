"""Forged cartridges with valid checksums, each with words that the error on opening or verifying it must contain."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

from crayon_hf import _core
from crayon_hf.tokenizer_json.parts import split
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import parsed, rewritten, sections_of, signed, word_table
from tests.support.compile_rule import changed, replace_by

Contents = bytes | dict[str, bytes | None]
MAY_BE_EMPTY = ("trie", "added_trie", "added_trie_normalized", "added_tokens", "raw_tokens", "score_ulps")


class Forgeries:
    """Collects forged copies of one cartridge. `files` maps a fault's name to the copy and a pattern for its error."""

    def __init__(self, data: bytes, name: str = "") -> None:
        self.name = name
        self.data = data
        self.cartridge = plain.Cartridge(data)
        self.contents = {plain.NAMES[number]: content for number, content in sections_of(data).items()}
        self.files: dict[str, tuple[bytes, str]] = {}

    def add(self, title: str, section: str, content: Contents) -> None:
        """Add a copy with other contents in `section`, which the error must name. A dict replaces several sections."""
        self.say(title, rf"section {section}\b", content if isinstance(content, dict) else {section: content})

    def say(self, title: str, pattern: str, changes: dict[str, bytes | None]) -> None:
        assert f"{self.name}{title}" not in self.files
        self.files[f"{self.name}{title}"] = (rewritten(self.data, changes), pattern)

    def cut(self, pattern_of: Callable[[str], str], *optional: str) -> None:
        """Add copies in which a section is cut, empty or missing. The model may do without the `optional` ones."""
        for section, content in self.contents.items():
            if section in ("metadata", "token_bytes", "reads_alike") or not content:
                continue
            # A partial element is always refused; a missing element only if the code fixes the size.
            self.say(f"{section} cut", pattern_of(section), {section: content[:-1]})
            if section not in (*MAY_BE_EMPTY, *optional):
                self.say(f"{section} empty", pattern_of(section), {section: b""})
                self.say(f"{section} missing", pattern_of(section), {section: None})

    def array(self, section: str, code: str, changes: Mapping[int, int | float]) -> bytes:
        return array(self.data, section, code, changes)

    def components(self, *path: str, value: Any) -> bytes:
        return components(self.data, *path, value=value)


def container_cases(small: bytes) -> dict[str, tuple[bytes, str]]:
    """Cartridges with a wrong header or section table and valid checksums, each with words of its error. Opening
    refuses them all."""

    def patched(*changes: tuple[int, str, int]) -> bytes:
        data = bytearray(small)
        for at, code, value in changes:
            struct.pack_into("<" + code, data, at, value)
        return signed(data)

    sections, digest = parsed(small)
    (first,) = struct.unpack_from("<I", small, 64)
    name = plain.NAMES[first]
    patches: dict[str, tuple[tuple[tuple[int, str, int], ...], str]] = {
        **{f"file_size {size}": (((8, "Q", size),), "header says") for size in (0, 2**64 - 1)},
        **{f"{count} sections": (((16, "I", count),), "sections") for count in (257, 2**32 - 1)},
        "no sections": (((16, "I", 0),), "section program"),
        **{f"offset {at}": (((72, "Q", at),), f"section {name} ") for at in (65, len(small) + 64, 2**64 - 64)},
        **{f"size {size}": (((80, "Q", size),), f"section {name} ") for size in (len(small), 2**64 - 1)},
        "offset and size wrap": (((72, "Q", 64), (80, "Q", 2**64 - 64)), f"section {name} "),
    }
    cases = {title: (patched(*changes), says) for title, (changes, says) in patches.items()}
    cases["a section twice"] = (plain.write_cartridge([*sections, sections[4]], digest), "appears twice")
    one_more = read_program(small)["n_ids"] + 1
    for field, value, says in (("n_ids", 2**21, "larger"), ("n_merges", 2**22, "larger"), ("n_ids", one_more, "token")):
        cases[f"{field} {value}"] = (rewritten(small, {"program": program(small, **{field: value})}), says)
    forged = Forgeries(small)
    forged.cut(lambda section: rf"section {section}\b")
    contents = forged.contents
    three = {"pair_table": contents["pair_table"][:24], "word_table": contents["word_table"][:192]}
    for title, data in {**three, "pair_filter": b"\xff" * 24}.items():
        forged.say(f"{title} of three", title, {title: data})
    for count in (767, 768, 771):
        words = contents["byte_cuts"].ljust(8 * 774, b"\0")[: 8 * count]
        forged.say(f"byte_cuts of {count} words", "section byte_cuts ", {"byte_cuts": words})
    return cases | forged.files


PROGRAM = ("flavor", "flags", "n_ids", "model_size", "vocab_size", "n_merges", "max_token_bytes")


def read_program(data: bytes) -> dict[str, int]:
    return dict(zip(PROGRAM, struct.unpack_from("<7I", sections_of(data)[2]), strict=True))


def program(data: bytes, reserved: tuple[int, ...] = (0,) * 9, **changes: int) -> bytes:
    return struct.pack("<16I", *(read_program(data) | changes).values(), *reserved)


def components(data: bytes, *path: str, value: Any) -> bytes:
    """The section of components of the cartridge `data`, with `value` at the JSON path `path`."""
    document = json.loads(sections_of(data)[plain.TYPES["components"]])
    return changed(document, path, replace_by(value)).encode()


def array(data: bytes, name: str, code: str, changes: Mapping[int, int | float]) -> bytes:
    """The section `name` of a cartridge, with elements replaced. `code` is the struct code of an element, and `changes`
    maps indices to values."""
    out = bytearray(sections_of(data)[plain.TYPES[name]])
    size = struct.calcsize(code)
    for index, value in changes.items():
        at = index * size if index >= 0 else len(out) + index * size
        struct.pack_into("<" + code, out, at, value)
    return bytes(out)


def trie_of(keys: dict[bytes, int]) -> bytes:
    return b"".join(part.tobytes() for part in _core.build_double_array(sorted(keys.items())))


def reachable_lies(forged: Forgeries) -> dict[str, tuple[str, Contents]]:
    """Faults of the table of reachable merges, by name: the section that the error must name, and the forged
    contents."""
    c, contents = forged.cartridge, forged.contents
    filled = next(i for i, slot in enumerate(c.reachable_slots) if slot != plain.EMPTY_PAIR)
    free = next(i for i, slot in enumerate(c.reachable_slots) if slot == plain.EMPTY_PAIR)
    slot = c.reachable_slots[filled]
    wrong = {
        "a merge that happens is missing": {filled: plain.EMPTY_PAIR},
        "a merge elsewhere": {filled: plain.EMPTY_PAIR, free: slot},
        "a merge twice": {free: slot},
        "a merge of another rank": {filled: slot ^ 1},
        "a merge of a rank out of range": {filled: slot | 2**22 - 1},
        "a merge of other tokens": {filled: slot ^ 1 << 43},
        "a merge of ids out of range": {filled: slot | (2**42 - 2) << 22},
    }
    slots: dict[str, tuple[str, Contents]] = {
        name: ("reachable_slots", forged.array("reachable_slots", "Q", changes)) for name, changes in wrong.items()
    }
    return slots | {
        "no merges that happen": ("reachable_slots", b"\xff" * 8 * len(c.reachable_slots)),
        "reachable_slots of 2^23": ("reachable_slots", b"\xff" * 2**26),
        "one pilot": ("reachable_pilots", bytes(2)),
        "pilots of zeros": ("reachable_slots", {"reachable_pilots": bytes(len(contents["reachable_pilots"]))}),
        "twice as many pilots": ("reachable_slots", {"reachable_pilots": contents["reachable_pilots"] * 2}),
    }


def content_cases(small: bytes, ignoring: bytes) -> dict[str, tuple[bytes, str]]:
    """Cartridges with one section of false contents, each with the section that the error must name."""
    forged = Forgeries(small)
    case, c, contents = forged.add, forged.cartridge, forged.contents
    vocab = c.vocabulary()
    n, n_added = c.n_ids, len(c.added_tokens)
    hole = next(i for i in range(n) if not c.token_flags[i])
    raw = vocab["中文"]
    a, b = c.byte_ids[ord("a")], c.byte_ids[ord("b")]
    added_id = c.added_tokens[0][0]
    special = next(i for i in range(n) if c.token_flags[i] & plain.SPECIAL)
    word_ids = [i for i in range(n) if c.token_flags[i] & plain.WHOLE]
    whole = next(i for i in word_ids if c.bytes_of(i).isalpha() and 2 < len(c.bytes_of(i)) < 5)

    def flags(token_id: int, value: int) -> bytes:
        return array(small, "token_flags", "B", {token_id: value})

    # metadata, certificate, program
    for name, text in {"nothing": b"", "a list": b"[]", "cut": b'{"a":', "not UTF-8": b'{"a":"\xff"}'}.items():
        case(f"metadata is {name}", "metadata", text)
        case(f"certificate is {name}", "certificate", text)
        case(f"components is {name}", "components", text)
    for name, flag in {"0": b"\0", "4": b"\4", "two bytes": b"\1\1"}.items():
        case(f"reads_alike is {name}", "reads_alike", flag)
    wrong = {"flavor": 2, "flags": 8}
    program_values = read_program(small)
    wrong |= {field: program_values[field] + 1 for field in ("model_size", "vocab_size", "max_token_bytes")}
    for field, value in wrong.items():
        case(f"program with {field} {value}", "program", program(small, **{field: value}))
    case("both flags", "program", program(small, flags=plain.IGNORE_MERGES | plain.TEXT_TOKENS))
    case("a reserved word", "program", program(small, (0,) * 8 + (1,)))
    case("ignore_merges, which tables do not know", "word_table", {"program": program(small, flags=1)})
    case("text_tokens over byte tables", "token_flags", {"program": program(small, flags=2)})
    # tokens
    offsets = c.token_offsets
    case("first offset not 0", "token_offsets", array(small, "token_offsets", "I", {0: 1}))
    case("last offset too large", "token_offsets", array(small, "token_offsets", "I", {-1: offsets[-1] + 1}))
    swapped = {300: offsets[301], 301: offsets[300]}
    case("offsets fall", "token_offsets", array(small, "token_offsets", "I", swapped))
    # The token before the jump in offsets is raw and its bytes come last: decoding them as text would read past the
    # end.
    jump = {
        "token_offsets": array(small, "token_offsets", "I", {raw + 1: 2**32 - 1}),
        "program": program(small, max_token_bytes=2**32 - 1),
        "token_bytes": contents["token_bytes"],
    }
    case("an offset jumps", "token_offsets", jump)
    case("token_bytes is shorter", "token_offsets", {"token_bytes": contents["token_bytes"][:-1]})
    case("another token's bytes", "trie", {"token_bytes": b"\0" + contents["token_bytes"][1:]})
    case("a flag that is not known", "token_flags", flags(a, c.token_flags[a] | 128))
    case("flags of a hole", "token_flags", flags(hole, plain.PRESENT))
    case("special, not added", "token_flags", flags(a, c.token_flags[a] | plain.SPECIAL))
    case("raw, but spells bytes", "token_flags", flags(whole, plain.PRESENT | plain.MODEL | plain.RAW))
    case("a token goes missing", "token_flags", flags(whole, 0))
    case("not whole, but is", "token_flags", flags(whole, c.token_flags[whole] & ~plain.WHOLE))
    for name in ("theq", "internationalizationalism", "中文"):
        case(f"{name} is whole", "token_flags", flags(vocab[name], c.token_flags[vocab[name]] | plain.WHOLE))
    case("not merged, but is", "token_flags", flags(whole, c.token_flags[whole] & ~plain.MERGED))
    for name in ("theq", "中文"):
        case(f"{name} is merged", "token_flags", flags(vocab[name], c.token_flags[vocab[name]] | plain.MERGED))
    not_utf8 = bytearray(contents["token_bytes"])
    not_utf8[offsets[raw]] = 0xFF
    case("a raw token is not UTF-8", "token_bytes", bytes(not_utf8))
    for name, index in {"leading": vocab["Ġd"], "trailing": n + whole, "of a hole": hole}.items():
        value = struct.unpack_from("<H", contents["token_trim"], 2 * index)[0] + 1
        case(f"token_trim {name}", "token_trim", array(small, "token_trim", "H", {index: value}))
    for name, value in {"out of range": n, "a hole": hole, "raw": raw, "2^32 - 1": 2**32 - 1, "another's": b}.items():
        case(f"byte_ids is {name}", "byte_ids", array(small, "byte_ids", "I", {ord("a"): value}))
    raws = list(c.raw_tokens)
    case("raw_tokens not sorted", "raw_tokens", struct.pack(f"<{len(raws)}I", *reversed(raws)))
    case("raw_tokens with one twice", "raw_tokens", array(small, "raw_tokens", "I", {0: raws[1]}))
    case("raw_tokens lacks one", "raw_tokens", contents["raw_tokens"][:-4])
    case("raw_tokens out of range", "raw_tokens", array(small, "raw_tokens", "I", {0: n}))
    case("raw_tokens names another", "raw_tokens", array(small, "raw_tokens", "I", {0: a}))

    # merges
    for name, value in {"out of range": n, "raw": raw, "a hole": hole, "of other bytes": a}.items():
        case(f"a product {name}", "merge_products", array(small, "merge_products", "I", {40: value}))
    table = list(c.pair_table)
    full = next(i for i, slot in enumerate(table) if slot != plain.EMPTY_PAIR)
    lonely = next(i for i in range(1, len(table)) if table[i - 1] == table[i] == plain.EMPTY_PAIR)
    slot = table[full]

    def pairs(changes: dict[int, int]) -> bytes:
        return array(small, "pair_table", "Q", changes)

    without_empty = {i: slot for i, other in enumerate(table) if other == plain.EMPTY_PAIR}
    case("pair_table without an empty slot", "pair_table", pairs(without_empty))
    case("full slots", "pair_table", struct.pack("<Q", slot) * 8192)
    case("a long chain", "pair_table", struct.pack("<Q", slot) * (2**14 - 1) + b"\xff" * 8)
    case("a rank out of range", "pair_table", pairs({full: slot | (2**22 - 1)}))
    case("a left id out of range", "pair_table", pairs({full: slot | (2**21 - 1) << 43}))
    case("a right id out of range", "pair_table", pairs({full: slot | (2**21 - 1) << 22}))
    case("a pair where no search finds it", "pair_table", pairs({full: plain.EMPTY_PAIR, lonely: slot}))
    case("a pair twice", "pair_table", pairs({lonely: slot}))
    bit = plain.pair_home(slot >> 43, slot >> 22 & 2**21 - 1, 64 * len(c.pair_filter))
    lacking = c.pair_filter[bit // 64] & ~(1 << bit % 64)
    case("pair_filter lacks a pair", "pair_filter", array(small, "pair_filter", "Q", {bit // 64: lacking}))
    case("pair_filter of zeros", "pair_filter", bytes(len(contents["pair_filter"])))
    rank, left, right, _ = next(m for m in c.merges() if len(c.bytes_of(m[3])) == 2)
    pair = 256 * c.bytes_of(left)[0] + c.bytes_of(right)[0]
    for name, changes in {
        "out of range": {pair: c.n_merges},
        "of another merge": {pair: rank + 1},
        "missing": {pair: plain.NO_RANK},
        "for a pair that has none": {256 * 0xFF + 0xFF: rank},
    }.items():
        case(f"byte_pair_ranks {name}", "byte_pair_ranks", array(small, "byte_pair_ranks", "I", changes))

    cuts = c.byte_cuts
    full = next(i for i in range(768, len(cuts)) if cuts[i])
    part = next(i for i in range(768) if cuts[i])
    for name, changes in {
        "a bit less": {full: cuts[full] & (cuts[full] - 1)},
        "a bit more": {full: cuts[full] | (cuts[full] + 1)},
        "a part less": {part: cuts[part] & (cuts[part] - 1)},
        "a part more": {part: cuts[part] | (cuts[part] + 1)},
    }.items():
        case(f"byte_cuts: {name}", "byte_cuts", array(small, "byte_cuts", "Q", changes))
    case("byte_cuts: nothing can be cut", "byte_cuts", b"\xff" * len(contents["byte_cuts"]))
    case("byte_cuts: all can be cut", "byte_cuts", bytes(len(contents["byte_cuts"])))

    for name, (section, content) in reachable_lies(forged).items():
        case(name, section, content)

    # words
    words = c.words()
    buckets = len(c.word_table) // 2

    def entry_of(word: bytes) -> int:
        """The byte position of a word's entry in word_table."""
        key = word.ljust(15, b"\0") + bytes([len(word) | len(words[word]) << 4])
        return contents["word_table"].index(key)

    def entry(word: bytes, at: int, new: bytes) -> bytes:
        out = bytearray(contents["word_table"])
        start = entry_of(word) + at
        out[start : start + len(new)] = new
        return bytes(out)

    two = next(word for word, ids in words.items() if len(ids) == 2 and len(word) > 2)
    single = c.bytes_of(whole)
    spelled = {single: tuple(c.byte_ids[byte] for byte in single[:4])} if len(single) <= 4 else {}
    true_words = {word: tuple(c.merge(word)) for word in (b"qzx", b"zqj")}
    case("a word with the id of its token", "word_table", word_table(words | {b"theq": (vocab["theq"],)}, buckets))
    assert spelled
    case("a word as single bytes", "word_table", word_table(words | spelled, buckets))
    case("a word that is no token, wrongly", "word_table", word_table(words | {b"qzx": true_words[b"zqj"]}, buckets))
    case("an id out of range", "word_table", entry(two, 16, struct.pack("<I", n)))
    case("an id of other bytes", "word_table", entry(two, 16, struct.pack("<I", c.byte_ids[0])))
    case("an unused id", "word_table", entry(two, 24, struct.pack("<I", 1)))
    for count in (0, 1, 3, 5):
        case(f"{count} ids for two", "word_table", entry(two, 15, bytes([len(two) | count << 4])))
    for size in (0, 1, 15):
        case(f"a length of {size}", "word_table", entry(two, 15, bytes([size | 2 << 4])))
    case("a key with something after the word", "word_table", entry(two, len(two), b"\1"))
    index = next(i for i in range(buckets) if not any(c.word_table[2 * i][:2]))
    moved = bytearray(entry(two, 0, bytes(32)))
    moved[64 * index : 64 * index + 32] = contents["word_table"][entry_of(two) :][:32]
    case("a word where no search finds it", "word_table", bytes(moved))
    for name, at in {"lo": 64 * index, "ids": 64 * index + 16}.items():
        empty = bytearray(contents["word_table"])
        empty[at] = 1
        case(f"an empty entry with {name}", "word_table", bytes(empty))
    filled = contents["word_table"][entry_of(two) :][:32]
    case("full entries", "word_table", filled * 2 * buckets)
    case("a long chain of words", "word_table", filled * (2**13 - 1) + bytes(32))

    # tries
    for name, value, values in (
        ("trie", n, c.trie.items()),
        ("added_trie", n_added, c.added_trie.items()),
        ("added_trie_normalized", n_added, c.added_trie_normalized.items()),
    ):
        trie = getattr(c, f"{name}")
        m = len(trie.check)
        leaf = next(i for i in range(m) if trie.values[i] >= 0 and trie.check[i] > 0)
        parent = trie.check[leaf]
        for change, at in {
            "base of the root": {0: 2},
            "check of the root": {m: 0},
            "a parent out of range": {m + leaf: m},
            "a cycle": {m + parent: leaf, leaf: parent},
            "a value out of range": {2 * m + leaf: value},
            "a value below -1": {2 * m + leaf: -2},
            "a key less": {2 * m + leaf: -1},
            "the empty key": {2 * m: trie.values[leaf]},
        }.items():
            case(f"{name}: {change}", name, array(small, name, "i", at))
        case(f"{name}: another value", name, array(small, name, "i", {2 * m + leaf: (trie.values[leaf] + 1) % 2}))
        case(f"{name}: one key more", name, trie_of(values | {b"a key that was never in it": min(values.values())}))
        case(f"{name}: the same keys otherwise", name, trie_of({key[::-1]: i for key, i in values.items()}))
        case(f"{name}: not three arrays", name, contents[name][:-4])
    long_whole = max((i for i in word_ids), key=lambda i: len(c.bytes_of(i)))
    case("trie: a long token for a short word", "trie", trie_of(c.trie.items() | {b"x" * 16: long_whole}))

    # added tokens
    def added(changes: dict[int, int]) -> bytes:
        return array(small, "added_tokens", "I", changes)

    first_flags = c.added_tokens[0][1]
    for name, changes in {
        "an id out of range": {0: n},
        "the id 2^32 - 1": {0: 2**32 - 1},
        "an id that is not added": {0: a},
        "an id twice": {0: c.added_tokens[1][0]},
        "a flag that is not known": {1: first_flags | 32},
        "special, says one": {1: first_flags ^ plain.SPECIAL_TOKEN},
    }.items():
        case(f"added_tokens: {name}", "added_tokens", added(changes))
    case("added_tokens: one less", "added_tokens", contents["added_tokens"][:-8])
    case("added_tokens: none", "added_tokens", b"")
    case("added_tokens: normalized or not", "added_trie", {"added_tokens": added({1: first_flags ^ plain.NORMALIZED})})
    case("token_flags: not added", "token_flags", flags(added_id, c.token_flags[added_id] & ~plain.ADDED))
    case("token_flags: not special", "added_tokens", flags(special, c.token_flags[special] & ~plain.SPECIAL))

    for name, content in component_cases(small).items():
        case(f"components: {name}", "components", content)
    # A normalizer that changes the spelling of tokens that match in normalized text.
    for kind in ({"type": "Lowercase"}, {"type": "NFD"}, {"type": "Prepend", "prepend": "x"}):
        case(f"normalizer {kind}", "added_trie_normalized", {"components": components(small, "normalizer", value=kind)})

    # With ignore_merges, a word that is missing in the word table would be merged.
    reader = plain.Cartridge(ignoring)
    table_words = reader.words()
    lost = next(word for word in table_words if len(reader.merge(word)) > 1)
    fewer = {word: ids for word, ids in table_words.items() if word != lost}
    buckets = len(reader.word_table) // 2
    for name, entries in {"lacks": fewer, "merges": fewer | {lost: tuple(reader.merge(lost))}}.items():
        data = rewritten(ignoring, {"word_table": word_table(entries, buckets)})
        forged.files[f"ignore_merges: the table {name} a token"] = (data, "section word_table ")
    return forged.files


def longest_match_cases(small: bytes, longest: bytes) -> dict[str, tuple[bytes, str]]:
    """Cartridges with false tables for longest match, or with tables that contradict the longest-match flag."""
    forged = Forgeries(longest)
    c = forged.cartridge
    merging = {plain.NAMES[number]: data for number, data in sections_of(small).items()}
    raw = c.vocabulary()["中文"]
    a, b = c.byte_ids[ord("a")], c.byte_ids[ord("b")]
    keys = c.trie.items()
    for flags in (3, 5, 6, 8):
        forged.say(f"flags {flags}", "section (program|pair_table) ", {"program": program(longest, flags=flags)})
    for flags in (0, 1):
        forged.add(f"flags {flags}, without merges", "pair_table", {"program": program(longest, flags=flags)})
    forged.say("text tables", "section ", {"program": program(longest, flags=2)})
    for name in ("byte_pair_ranks", "word_table", "byte_cuts"):
        forged.say(f"with {name}", f"section {name} .* longest match", {name: merging[name]})
    forged.add("with products", "merge_products", merging["merge_products"])
    for name, token, bit in (
        ("no token is whole", a, 0),
        ("a raw token is whole", raw, plain.WHOLE),
        ("a token is merged", a, plain.WHOLE | plain.MERGED),
    ):
        flags = c.token_flags[token] & ~plain.WHOLE | bit
        forged.add(name, "token_flags", forged.array("token_flags", "B", {token: flags}))
    forged.add("two keys swapped", "trie", trie_of(keys | {b"a": b, b"b": a}))
    forged.add("a key less", "trie", trie_of({key: i for key, i in keys.items() if key != b"theq"}))
    most: dict[str, Any] = {"type": "WordPiece", "continuing_subword_prefix": "", "max_input_chars_per_word": 2**53}
    for name, value in {
        "no model": None,
        "BPE": {"type": "BPE"},
        "no type": most | {"type": None},
        "a prefix": most | {"continuing_subword_prefix": "##"},
        "a limit": most | {"max_input_chars_per_word": 2**48 - 1},
        "no unknown token": most | {"unk_token": None},
    }.items():
        forged.add(name, "components", forged.components("model", value=value))
    known = json.loads(sections_of(longest)[plain.TYPES["components"]])["model"]
    of_merges = rewritten(small, {"components": components(small, "model", value=known)})
    return forged.files | {"merges for another model": (of_merges, "section components")}


def component_cases(small: bytes) -> dict[str, bytes]:
    """Sections of components that name an unknown component, or one that cannot run on byte tables."""
    known = json.loads(sections_of(small)[plain.TYPES["components"]])
    pre, post = known["pre_tokenizer"], known["post_processor"]
    _, template = post["processors"]
    broken: dict[str, bytes] = {}

    def case(name: str, *path: str, value: Any) -> None:
        broken[name] = components(small, *path, value=value)

    for member in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        for wrong in ({"type": "Unheard"}, {}, 7, {"type": "BPE"}):
            case(f"{member} {wrong}", member, value=wrong)
    case("no pre_tokenizer", "pre_tokenizer", value=None)
    case("a pre_tokenizer without ByteLevel", "pre_tokenizer", value={"type": "Whitespace"})
    after = {"type": "Sequence", "pretokenizers": [pre, {"type": "Whitespace"}]}
    case("ByteLevel, but not last", "pre_tokenizer", value=after)
    cuts = {"type": "Sequence", "pretokenizers": [split("(a"), pre]}
    case("a pattern that is none", "pre_tokenizer", value=cuts)
    case("a normalizer that spells bytes", "normalizer", value={"type": "ByteLevel"})
    for option, value in {"byte_fallback": True, "ignore_merges": True, "dropout": 0.5}.items():
        case(f"the model with {option}", "model", option, value=value)
    mask = {"id": "<mask>", "ids": [1], "tokens": ["<mask>"]}
    for name, changes in {
        "sequence C": {"single": [{"Sequence": {"id": "C", "type_id": 0}}]},
        "a special token that is not defined": {"special_tokens": {}},
        "a negative id": {"special_tokens": {"<mask>": mask | {"ids": [-1]}}},
        "more tokens than ids": {"special_tokens": {"<mask>": mask | {"tokens": ["a", "b"]}}},
    }.items():
        case(f"a template with {name}", "post_processor", value=template | changes)
    case("20,000 steps", "post_processor", value={"type": "Sequence", "processors": [template] * 20_000})
    text = json.dumps(known)
    broken["nested too deep"] = text.replace('"truncation": null', '"truncation": ' + "[" * 1000 + "]" * 1000).encode()
    broken["words after the object"] = text.encode() + b" x"
    return broken
