"""Forged cartridges with text tables and valid checksums, each with words that the error on opening or verifying it
must contain."""

from __future__ import annotations

import math
import struct
from typing import Any

from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import compiled
from tests.support.cartridge_lies import Forgeries, program, reachable_lies, read_program, trie_of
from tests.support.cartridge_text import text_source


def forgeries(name: str) -> Forgeries:
    return Forgeries(compiled(text_source(name)), f"{name}: ")


def opening_cases(name: str) -> dict[str, tuple[bytes, str]]:
    """Forged copies that opening refuses, even without verification."""
    cases = forgeries(name)
    of_model = "byte_ids|pair_table|pair_filter|char_pairs|scores"

    def pattern_of(section: str) -> str:
        """For a wrong size of a section of 64-bit words the error names the section or the model."""
        model = "|the sections of the (BPE|Unigram) model" if section in of_model else ""
        return rf"section {section}\b{model}"

    cases.cut(pattern_of, "merge_products")
    fields = read_program(cases.data)
    cases.say("n_ids one more", "token", {"program": program(cases.data, n_ids=fields["n_ids"] + 1)})
    cases.add("n_merges one more", "merge_products", {"program": program(cases.data, n_merges=fields["n_merges"] + 1)})
    # If the flag text_tokens is cleared, the engine expects the sections of byte tables, most of which are missing.
    cases.say(
        "text_tokens not said",
        "section (byte_ids|pair_table|byte_pair_ranks) ",
        {"program": program(cases.data, flags=0)},
    )
    if cases.contents.get("char_pairs"):
        for count in (256, 257 + 3):
            cut = cases.contents["char_pairs"].ljust(8 * 263, b"\0")[: 8 * count]
            cases.say(f"char_pairs of {count} words", "char_pairs|sections of the BPE model", {"char_pairs": cut})
        cases.add("pair_table of three", "pair_table", b"\xff" * 24)
    return cases.files


def content_cases(name: str) -> dict[str, tuple[bytes, str]]:
    """Forged copies that open, and that only the verification refuses."""
    cases = forgeries(name)
    token_cases(cases)
    component_cases(cases)
    model = cases.cartridge.components["model"]
    if model["type"] == "BPE":
        merge_cases(cases)
    else:
        other_merge_cases(cases)
    if model["type"] == "Unigram":
        score_cases(cases)
    else:
        scores = struct.pack(f"<{cases.cartridge.model_size + 1}d", *[0.0] * (cases.cartridge.model_size + 1))
        cases.say("scores of another model", "Unigram|section scores", {"scores": scores})
    byte_cases(cases)
    return cases.files


def token_cases(cases: Forgeries) -> None:
    c = cases.cartridge
    model = [i for i in range(c.n_ids) if c.token_flags[i] & plain.MODEL and c.bytes_of(i)]
    token, other = model[-1], model[-2]
    holes = [i for i in range(c.n_ids) if not c.token_flags[i]]
    for title, value in {"raw": plain.RAW, "whole": plain.WHOLE, "merged": plain.MERGED}.items():
        flags = c.token_flags[token] | value
        cases.add(f"a token that is {title}", "token_flags", cases.array("token_flags", "B", {token: flags}))
    bad = bytearray(cases.contents["token_bytes"])
    bad[c.token_offsets[token]] = 0xFF
    cases.add("a token is not UTF-8", "token_bytes", {"token_bytes": bytes(bad)})
    offsets = {token: c.token_offsets[token + 1] + 1}
    cases.add("offsets fall", "token_offsets", cases.array("token_offsets", "I", offsets))
    cases.add("raw_tokens has one", "raw_tokens", struct.pack("<I", token))
    keys = c.trie.items()
    value = c.bytes_of(token)
    for title, new in {
        "a key less": {key: i for key, i in keys.items() if key != value},
        "a key more": keys | {b"a key that was never in it": token},
        "another's id": keys | {value: other},
        "the id of a hole or of none": keys | {value: (holes or [c.n_ids])[0]},
    }.items():
        cases.add(f"trie: {title}", "trie", trie_of(new))
    for section in ("added_trie", "added_trie_normalized"):
        if c.added_tokens:
            more = getattr(c, section).items() | {b"a key that was never in it": 0}
            cases.add(f"{section}: a key more", section, trie_of(more))


def component_cases(cases: Forgeries) -> None:
    cases.add("components is not UTF-8", "components", b'{"a":"\xff"}')
    for value in (None, {"type": "Unheard"}):
        cases.add(f"model {value}", "components", cases.components("model", value=value))
    wrong: dict[str, dict[str, Any]] = {
        "BPE": {"dropout": 2, "unk_token": 1, "byte_fallback": 1, "continuing_subword_prefix": []},
        "WordPiece": {"unk_token": None, "max_input_chars_per_word": -1, "continuing_subword_prefix": None},
        "WordLevel": {"unk_token": None},
        "Unigram": {"byte_fallback": "a", "unk_id": -1},
    }
    for option, value in wrong[cases.cartridge.components["model"]["type"]].items():
        cases.add(f"the model's {option} {value!r}", "components", cases.components("model", option, value=value))


def other_merge_cases(cases: Forgeries) -> None:
    """Add copies that have tables of BPE although their model is another one."""
    pattern = r"only a BPE model has merges|section char_pairs\b"
    cases.say("char_pairs of another model", pattern, {"char_pairs": bytes(8 * 258)})
    one = {"merge_products": struct.pack("<I", 0), "program": program(cases.data, n_merges=1)}
    cases.say("merge_products of another model", "only a BPE model has merges|section merge_products ", one)
    lone = {"pair_filter": bytes(8)}
    cases.say("pair_filter alone", "only a BPE model has merges|section pair_filter ", lone)


def merge_cases(cases: Forgeries) -> None:
    c = cases.cartridge
    table = list(c.pair_table)
    lonely = next(i for i in range(1, len(table)) if table[i - 1] == table[i] == plain.EMPTY_PAIR)
    words = list(c.char_pairs)
    for title, changes in {
        "another flag": {256: words[256] ^ 2},
        "text_only or not": {256: words[256] ^ plain.TEXT_ONLY},
        "an ASCII pair more": {128 * 1 // 64: words[2] | 1},
        "another pair more": {257: words[257] | (words[257] + 1)},
    }.items():
        cases.add(f"char_pairs: {title}", "char_pairs", cases.array("char_pairs", "Q", changes))
    pairs, size = cases.contents["char_pairs"], 8 * (len(words) - 257)
    cases.add("char_pairs: a larger table", "char_pairs", pairs + bytes(size))
    if size > 8:
        cases.add("char_pairs: a smaller table", "char_pairs", pairs[: -size // 2])
    cases.say("without pair_table", "pair_table", {"pair_table": b"", "pair_filter": b""})
    full = [i for i, slot in enumerate(table) if slot != plain.EMPTY_PAIR]
    if not full:
        return
    slot = table[full[0]]
    model = [i for i in range(c.n_ids) if c.token_flags[i] & plain.MODEL]
    not_model = next((i for i in range(c.n_ids) if not c.token_flags[i] & plain.MODEL), c.n_ids)
    rank = slot & 2**22 - 1
    twice = cases.array("pair_table", "Q", {lonely: slot})
    cases.add("pair_table with a pair twice", "pair_table", twice)
    cases.add("pair_table of full slots", "pair_table", struct.pack("<Q", slot) * 8192)
    for title, value in {
        "out of range": c.n_ids,
        "no model token": not_model,
        "of another string": next(i for i in model if c.bytes_of(i) != c.bytes_of(c.merge_products[rank])),
    }.items():
        content = cases.array("merge_products", "I", {rank: value})
        cases.add(f"a product {title}", "merge_products", content)
    for title, (section, changed) in list(reachable_lies(cases).items())[:4]:
        cases.add(title, section, changed)
    ascii_word = next(i for i in range(256) if words[i])
    content = cases.array("char_pairs", "Q", {ascii_word: words[ascii_word] & (words[ascii_word] - 1)})
    cases.add("char_pairs: an ASCII pair less", "char_pairs", content)
    other_word = next((i for i in range(257, len(words)) if words[i]), None)
    if other_word is not None:
        content = cases.array("char_pairs", "Q", {other_word: words[other_word] & (words[other_word] - 1)})
        cases.add("char_pairs: another pair less", "char_pairs", content)
    for prefix in ("#", "###"):
        if len(prefix) != len(c.components["model"]["continuing_subword_prefix"] or ""):
            content = cases.components("model", "continuing_subword_prefix", value=prefix)
            pattern = "section merge_products|byte_fallback and a prefix"
            cases.say(f"the prefix {prefix}", pattern, {"components": content})


def score_cases(cases: Forgeries) -> None:
    c = cases.cartridge
    last = len(c.scores) - 1
    for title, changes in {
        "no number": {0: math.nan},
        "the last is no number": {last: math.nan},
        "the last is not the least": {last: c.scores[last] / 2},
        "one is less than the last": {0: c.scores[last] * 2 - 1},
    }.items():
        cases.add(f"scores: {title}", "scores", cases.array("scores", "d", dict(changes)))
    for title, content in {
        "one less": cases.contents["scores"][8:],
        "one more": cases.contents["scores"][-8:] + cases.contents["scores"],
    }.items():
        cases.say(f"scores: {title}", "section score(s|_ulps) ", {"scores": content})
        cases.say(f"scores: {title}, alone", "section scores ", {"scores": content, "score_ulps": None})
    for id, score in enumerate(c.scores[:-1]):
        if math.isinf(score):
            cases.add(f"score_ulps: beyond the score of {id}", "score_ulps", cases.array("score_ulps", "b", {id: 1}))
    for value in (last, 2**32):
        content = cases.components("model", "unk_id", value=value)
        cases.say(f"unk_id {value}", "unk_id|section components", {"components": content})


def byte_cases(cases: Forgeries) -> None:
    c = cases.cartridge
    if not c.byte_ids:
        some = struct.pack("<256I", *range(256))
        cases.add("byte_ids without byte_fallback", "byte_ids", {"byte_ids": some})
        return
    for title, value in {"out of range": c.n_ids, "missing": plain.NO_RANK, "another's": c.byte_ids[0x42]}.items():
        cases.add(f"a byte's id {title}", "byte_ids", cases.array("byte_ids", "I", {0x41: value}))
    missing = next((byte for byte in range(256) if c.byte_ids[byte] == plain.NO_RANK), None)
    if missing is not None:
        content = cases.array("byte_ids", "I", {missing: c.byte_ids[0x41]})
        cases.add("an id for a byte that has none", "byte_ids", content)
    content = cases.components("model", "byte_fallback", value=False)
    cases.say("byte_ids that nobody wants", "section byte_ids", {"components": content})
