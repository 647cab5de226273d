"""The cartridge format: the compiler writes what docs/cartridge-format.md specifies, and the reader accepts nothing
else.

Tests compare the engine with a plain reader that was written from that page alone (cartridge_reader.py).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
import struct
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import CartridgeError
from tests.support import cartridge_reader as plain
from tests.support import reference_impl
from tests.support.cartridge_cases import PAGE, TEXTS, compiled, parsed, rewritten, sections_of, word_table
from tests.support.cartridge_reader import Section
from tests.support.cartridge_text import NAMES, text_source
from tests.support.versions import REFERENCE


@cache
def read(source: bytes) -> plain.Cartridge:
    return plain.Cartridge(compiled(source))


# -- the page


def test_the_patterns_on_the_page_are_the_families() -> None:
    block = re.search(r"```\n(gpt2 .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    patterns = dict(line.split(maxsplit=1) for line in block[1].splitlines())
    assert {_core.family_of_pattern(pattern, "oniguruma"): family for family, pattern in patterns.items()} == {
        family: family for family in ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken")
    }


# -- output of the compiler

OF_MERGES = {
    *("merge_products", "pair_table", "byte_pair_ranks", "word_table", "pair_filter"),
    *("reachable_pilots", "reachable_slots", "byte_cuts"),
}


def test_container(source: bytes, tmp_path: Path) -> None:
    data = compiled(source)
    sections, digest = plain.read_sections(data)  # checks layout, padding and checksums
    assert digest == hashlib.sha256(source).digest()
    assert {section.type for section in sections if not section.flags & plain.REQUIRED} <= {plain.TYPES["reads_alike"]}
    names = [plain.NAMES[section.type] for section in sections]
    absent = {"certificate", "scores", "score_ulps", "char_pairs", "reads_alike"}
    absent |= set() if read(source).n_merges else OF_MERGES
    assert sorted(set(names) - {"reads_alike"}) == sorted(set(plain.TYPES) - absent)
    path = tmp_path / "a.dat"
    path.write_bytes(data)
    rows = _core.cartridge_sections(str(path))
    assert [(row["name"], row["type"], row["size"], row["checksum"]) for row in rows] == [
        (plain.NAMES[s.type], s.type, len(s.data), plain.xxh64(s.data)) for s in sections
    ]
    assert all(row["offset"] % 64 == 0 for row in rows)
    assert plain.write_cartridge(sections, digest) == data
    engine = _core.Engine.open(str(path), verify=True)
    assert engine.source_digest == hashlib.sha256(source).hexdigest()
    assert engine.metadata == '{"reference":"tokenizers"}' == sections_of(data)[1].decode()


def test_tokens(source: bytes) -> None:
    document = json.loads(source)
    cartridge, engine = read(source), _core.Engine.from_bytes(compiled(source))
    vocab: dict[str, int] = document["model"]["vocab"]
    added = {token["content"]: token["id"] for token in document["added_tokens"]}
    assert cartridge.vocabulary(with_added=False) == vocab == engine.get_vocab(with_added_tokens=False)
    assert cartridge.vocabulary() == vocab | added == engine.get_vocab()
    assert (cartridge.n_ids, cartridge.model_size, cartridge.vocab_size) == (
        max((vocab | added).values()) + 1,
        len(vocab),
        len(vocab | added),
    )
    assert cartridge.max_token_bytes == max(len(cartridge.bytes_of(i)) for i in range(cartridge.n_ids))
    special = {token["id"] for token in document["added_tokens"] if token["special"]}
    for token_id in range(cartridge.n_ids):
        flags = cartridge.token_flags[token_id]
        assert engine.id_to_bytes(token_id) == (cartridge.bytes_of(token_id) if flags & plain.PRESENT else None)
        assert bool(flags & plain.ADDED) == (token_id in added.values())
        assert bool(flags & plain.SPECIAL) == (token_id in special)
    for token, token_id in (vocab | added).items():
        spelled = token != "" and all(char in plain.BYTE_OF for char in token)
        assert bool(cartridge.token_flags[token_id] & plain.RAW) == (not spelled)
        assert engine.token_to_id(token) == token_id
        white = "".join(plain.WHITE_SPACE) + "Ġ"
        trim = len(token) - len(token.lstrip(white)), len(token) - len(token.rstrip(white))
        assert (cartridge.leading[token_id], cartridge.trailing[token_id]) == trim
    raw = [i for i in range(cartridge.n_ids) if cartridge.token_flags[i] & plain.RAW]
    assert list(cartridge.raw_tokens) == sorted(raw, key=cartridge.bytes_of)
    model = [i for i in vocab.values() if i not in raw]
    assert cartridge.trie.items() == {cartridge.bytes_of(i): i for i in model}
    assert [cartridge.bytes_of(i) for i in cartridge.byte_ids] == [bytes([b]) for b in range(256)]


def test_merges(merging: bytes) -> None:
    model = json.loads(merging)["model"]
    cartridge, vocab = read(merging), model["vocab"]
    assert cartridge.n_merges == len(model["merges"]) == len(cartridge.merge_products)
    last: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, merge in enumerate(model["merges"]):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        last[vocab[left], vocab[right]] = (rank, vocab[left + right])
        assert cartridge.merge_products[rank] == vocab[left + right]
    assert {(left, right): (rank, product) for rank, left, right, product in cartridge.merges()} == last
    assert all(cartridge.rank(left, right) == rank for (left, right), (rank, _) in last.items())
    bits = [0] * len(cartridge.pair_filter)
    for left, right in last:
        assert cartridge.may_merge(left, right)
        bit = plain.pair_home(left, right, 64 * len(bits))
        bits[bit // 64] |= 1 << bit % 64
    assert list(cartridge.pair_filter) == bits
    for a, b in itertools.product(range(256), repeat=2):
        ids = cartridge.byte_ids[a], cartridge.byte_ids[b]
        assert cartridge.byte_pair_ranks[256 * a + b] == cartridge.rank(*ids) == last.get(ids, (plain.NO_RANK, 0))[0]


def test_the_word_table_holds_only_results(merging: bytes) -> None:
    """Each entry of the word table has the ids that the definition gives for its word, and no required word is
    missing."""
    cartridge = read(merging)
    words = cartridge.words()
    model = cartridge.trie.items()
    ignores = cartridge.flags & plain.IGNORE_MERGES
    results = {word: [token_id] if ignores else cartridge.merge(word) for word, token_id in model.items()}
    expected = {w: tuple(ids) for w, ids in results.items() if len(w) <= 15 and len(ids) <= 4}
    assert words == expected
    assert all(cartridge.find_word(word) == ids for word, ids in words.items())
    assert cartridge.find_word(b"not a word") is None
    for word, token_id in model.items():
        assert bool(cartridge.token_flags[token_id] & plain.WHOLE) == (results[word] == [token_id])
        assert bool(cartridge.token_flags[token_id] & plain.MERGED) == (cartridge.merge(word) == [token_id])


def test_added_tokens(source: bytes) -> None:
    document = json.loads(source)
    cartridge, engine = read(source), _core.Engine.from_bytes(compiled(source))
    bits = ("single_word", "lstrip", "rstrip", "normalized", "special")
    composes = document["normalizer"] is not None
    rows, tries = [], ({}, {})
    for index, (token_id, flags) in enumerate(cartridge.added_tokens):
        content = cartridge.string_of(token_id)
        rows.append({"id": token_id, "content": content} | {name: bool(flags >> i & 1) for i, name in enumerate(bits)})
        normalized = bool(flags & plain.NORMALIZED)
        key = unicodedata.normalize("NFC", content) if composes and normalized else content
        tries[normalized][key.encode()] = index
    assert rows == document["added_tokens"] == engine.added_tokens()
    assert (cartridge.added_trie.items(), cartridge.added_trie_normalized.items()) == tries


# -- files that a reader accepts


def same_results(data: bytes, other: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.dat"
    path.write_bytes(other)
    engines = [_core.Engine.from_bytes(data), _core.Engine.from_bytes(other), _core.Engine.open(str(path))]
    _core._testing.verify_cartridge(str(path))
    for text in TEXTS:
        assert len({tuple(engine.encode_ids(text)) for engine in engines}) == 1
        assert len({tuple(engine.encode(text).offsets) for engine in engines}) == 1


def test_position_independence(small: bytes, longest: bytes, tmp_path: Path) -> None:
    """A cartridge gives the same results with its sections in any order, mapped or copied to any address."""
    for data in (small, longest):
        sections, digest = parsed(data)
        for seed in range(3):
            shuffled = random.Random(seed).sample(sections, len(sections))
            same_results(data, plain.write_cartridge(shuffled, digest), tmp_path)


@pytest.mark.parametrize("number", [0, 27, 31, 32, 255, 2**32 - 1])
def test_unknown_sections(small: bytes, tmp_path: Path, number: int) -> None:
    """Unknown optional sections are skipped, at any position and of any size. For an unknown required section, the
    error has its number."""
    sections, digest = parsed(small)
    for at in (0, 5, len(sections)):
        for content in (b"", b"\xff" * 1000):
            optional = [*sections[:at], Section(number, 0, content), *sections[at:]]
            same_results(small, plain.write_cartridge(optional, digest), tmp_path)
            required = [*sections[:at], Section(number, 1, content), *sections[at:]]
            path = tmp_path / "required.dat"
            path.write_bytes(plain.write_cartridge(required, digest))
            with pytest.raises(CartridgeError, match=f"section type {number} is required"):
                _core.Engine.open(str(path))


def test_tables_may_be_built_otherwise(small: bytes, tmp_path: Path) -> None:
    """docs/cartridge-format.md allows larger hash tables, another order of insertion, and more words."""
    cartridge = plain.Cartridge(small)
    slots = [plain.EMPTY_PAIR] * 16384
    for rank, left, right, _ in reversed(cartridge.merges()):
        at = plain.pair_home(left, right, len(slots))
        while slots[at] != plain.EMPTY_PAIR:
            at = (at + 1) % len(slots)
        slots[at] = left << 43 | right << 22 | rank
    words = {word: tuple(cartridge.merge(word)) for word in (b" quick brown", b"xyz", b"\xff\xfe")}
    changes: dict[str, bytes | None] = {
        "pair_table": struct.pack(f"<{len(slots)}Q", *slots),
        "pair_filter": b"\xff" * 8,
        "word_table": word_table(cartridge.words() | words, 4096),
    }
    same_results(small, rewritten(small, changes), tmp_path)
    same_results(small, rewritten(small, {"reachable_pilots": b"", "reachable_slots": b""}), tmp_path)


# -- text tables

cpu = reference_impl.cpu


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@cache
def document(name: str) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(text_source(name))
    return source


def test_components(name: str) -> None:
    """The section of components has the document without its vocabulary, merges and added tokens."""
    source = document(name)
    expected = {key: value for key, value in source.items() if key not in ("version", "added_tokens")}
    expected["model"] = {key: value for key, value in source["model"].items() if key not in ("vocab", "merges")}
    assert read(text_source(name)).components == expected
    engine = _core.Engine.from_bytes(compiled(text_source(name)))
    assert json.loads(engine.components) == expected


def test_scores(name: str) -> None:
    """Scores are read as the reference reads them, which can differ from the text in the last bit."""
    cartridge = read(text_source(name))
    model = json.loads(Tokenizer.from_str(text_source(name).decode()).to_str())["model"]
    scores = [score for _, score in model["vocab"]] if model["type"] == "Unigram" else []
    assert list(cartridge.scores) == ([*scores, min(scores)] if scores else [])


MORE_TEXTS = (
    "\u2581 \u2581the\u2581\u2581",
    "crayon box Crayon BOX crayon  box\u2003x <r>  the",
    "AaA <0x41> \u00c9t\u00e9 \u00e9b ab" * 3,
    "\x00\x01\u0301\U0010ffff\u0378",
    "thetheThe" * 40,
)


DECODED_AS_ADDED = "decodes an added token that is looked for in normalized text as it was added"
BEFORE_0_23 = {
    **dict.fromkeys(("llama_like", "bert_like", "word_level"), DECODED_AS_ADDED),
    "odd_unigram": "counts pieces of one spelling once in get_vocab_size(True)",
}
"""Vocabularies for which tokenizers before 0.23 gives other results, and the reason."""


def test_the_engine_agrees(name: str, cpu: str) -> None:
    if REFERENCE < (0, 23) and name in BEFORE_0_23:
        pytest.skip(f"tokenizers before 0.23 {BEFORE_0_23[name]}")
    both = reference_impl.Both(text_source(name).decode())
    assert both.engine.cpu == cpu
    for text in (*TEXTS, *MORE_TEXTS):
        both.check(text, also_lookups=True)
        both.check(text, TEXTS[2], add_special_tokens=False)
        both.check([text, "a", text], is_pretokenized=True)
        both.reference.encode_special_tokens = False
        both.check_decode(both.reference.encode(text).ids)
    for with_added in (True, False):
        assert both.engine.get_vocab(with_added) == both.reference.get_vocab(with_added)
        assert both.engine.get_vocab_size(with_added) == both.reference.get_vocab_size(with_added)
    for token_id in range(both.engine.get_vocab_size() + 60):
        token = both.reference.id_to_token(token_id)
        assert both.engine.id_to_token(token_id) == token
        assert both.engine.id_to_bytes(token_id) == (None if token is None else token.encode())
        if token is not None:
            assert both.engine.token_to_id(token) == both.reference.token_to_id(token)
