"""Cartridges with text tables: docs/cartridge-format.md holds for what the compiler writes of every kind of model, and
what the engine makes of it is what the reference makes of the document."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from tests.support import cartridge_reader as plain
from tests.support import reference_impl
from tests.support.cartridge_cases import TEXTS, child, compiled, parsed, rewritten, sections_of
from tests.support.cartridge_text import NAMES, text_source
from tests.support.versions import REFERENCE

cpu = reference_impl.cpu

BPE_SECTIONS = {"merge_products", "pair_table", "pair_filter", "char_pairs", "reachable_pilots", "reachable_slots"}
BYTE_SECTIONS = {"byte_pair_ranks", "word_table", "raw_tokens"}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@cache
def read(name: str) -> plain.Cartridge:
    return plain.Cartridge(compiled(text_source(name)))


@cache
def document(name: str) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(text_source(name))
    return source


def model_tokens(model: dict[str, Any]) -> list[tuple[str, int]]:
    """Each token of the model and its id."""
    vocab = model["vocab"]
    return list(vocab.items()) if isinstance(vocab, dict) else [(token, i) for i, (token, _) in enumerate(vocab)]


def model_merges(model: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Left, right and product of each merge, by rank."""
    prefix = model.get("continuing_subword_prefix") or ""
    for merge in model.get("merges", ()):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        yield left, right, left + right[len(prefix) :]


# -- what the compiler writes


def test_every_kind_is_there() -> None:
    kinds = {document(name)["model"]["type"] for name in NAMES}
    assert kinds == {"BPE", "WordPiece", "WordLevel", "Unigram"}
    assert sum(bool(document(name)["model"].get("byte_fallback")) for name in NAMES) == 3


def test_container(name: str, tmp_path: Path) -> None:
    source, data = text_source(name), compiled(text_source(name))
    sections, digest = plain.read_sections(data)  # checks layout, padding and checksums
    assert digest == hashlib.sha256(source).digest()
    assert {plain.NAMES[section.type] for section in sections if section.flags != plain.REQUIRED} <= {
        "score_ulps",
        "reads_alike",
    }
    model = document(name)["model"]
    filled = {plain.NAMES[section.type] for section in sections if section.data}
    assert len(sections) == len({section.type for section in sections})
    assert not filled & BYTE_SECTIONS
    assert ("byte_ids" in filled) == bool(model.get("byte_fallback"))
    assert ("scores" in filled) == (model["type"] == "Unigram")
    optional = {"merge_products", "reachable_pilots", "reachable_slots"} if not model.get("merges") else set()
    assert filled & BPE_SECTIONS == (BPE_SECTIONS - optional if model["type"] == "BPE" else set())
    path = tmp_path / "a.dat"
    path.write_bytes(data)
    assert plain.write_cartridge(sections, digest) == data
    engine = _core.Engine.open(str(path), verify=True)
    assert engine.info()["tokens"] == "text"
    assert engine.info()["family"] is None
    assert engine.source_digest == hashlib.sha256(source).hexdigest()


def test_compiling_is_deterministic(name: str) -> None:
    code = (
        "import hashlib, sys; from crayon_hf import _core; "
        'data = _core.compile_tokenizer_json(sys.stdin.buffer.read(), \'{"reference":"tokenizers"}\'); '
        "print(hashlib.sha256(data).hexdigest())"
    )
    source = text_source(name)
    other = child(code, lines=source, PYTHONHASHSEED="4711")
    assert other.stdout.decode().strip() == hashlib.sha256(compiled(source)).hexdigest()


def test_components(name: str) -> None:
    """The document without vocabulary, merges and added tokens, and nothing else."""
    source = document(name)
    expected = {key: value for key, value in source.items() if key not in ("version", "added_tokens")}
    expected["model"] = {key: value for key, value in source["model"].items() if key not in ("vocab", "merges")}
    assert read(name).components == expected
    engine = _core.Engine.from_bytes(compiled(text_source(name)))
    assert json.loads(engine.components) == expected


def test_tokens(name: str) -> None:
    source, cartridge = document(name), read(name)
    tokens = model_tokens(source["model"])
    by_id = {i: token for token, i in tokens}
    added = {token["id"]: token for token in source["added_tokens"]}
    all_ids = by_id | {i: token["content"] for i, token in added.items()}
    assert (cartridge.n_ids, cartridge.model_size, cartridge.vocab_size) == (
        max(all_ids) + 1,
        len(tokens),
        len(all_ids),
    )
    assert cartridge.max_token_bytes == max(len(text.encode()) for text in all_ids.values())
    for i in range(cartridge.n_ids):
        text = all_ids.get(i, "")
        assert cartridge.bytes_of(i) == text.encode()
        flags = plain.PRESENT * (i in all_ids) | plain.MODEL * (i in by_id) | plain.ADDED * (i in added)
        assert cartridge.token_flags[i] == flags | plain.SPECIAL * (i in added and added[i]["special"])
        white = plain.WHITE_SPACE | {"Ġ"}
        leading = next((k for k, char in enumerate(text) if char not in white), len(text))
        trailing = next((k for k, char in enumerate(reversed(text)) if char not in white), len(text))
        assert (cartridge.leading[i], cartridge.trailing[i]) == (leading, trailing)
    # Of equal strings the larger id; the empty one is no key.
    assert cartridge.trie.items() == {token.encode(): i for token, i in sorted(tokens, key=lambda t: t[1]) if token}
    if source["model"].get("byte_fallback"):
        vocab = dict(tokens)
        assert list(cartridge.byte_ids) == [vocab.get(f"<0x{byte:02X}>", plain.NO_RANK) for byte in range(256)]


def test_merges(name: str) -> None:
    model, cartridge = document(name)["model"], read(name)
    vocab = dict(model_tokens(model))
    last: dict[tuple[int, int], int] = {}
    merges = list(model_merges(model))
    for rank, (left, right, product) in enumerate(merges):
        last[vocab[left], vocab[right]] = rank
        assert cartridge.merge_products[rank] == vocab[product]
    assert cartridge.n_merges == len(merges) == len(cartridge.merge_products)
    assert {(left, right): rank for rank, left, right, _ in cartridge.merges()} == last
    if model["type"] != "BPE":
        return
    assert all(cartridge.rank(left, right) == rank for (left, right), rank in last.items())
    bits = [0] * len(cartridge.pair_filter)
    for left, right in last:
        assert cartridge.may_merge(left, right)
        bit = plain.pair_home(left, right, 64 * len(bits))
        bits[bit // 64] |= 1 << bit % 64
    assert list(cartridge.pair_filter) == bits


def test_scores(name: str) -> None:
    """As the reference reads the numbers, which is not to the last bit what the text says."""
    cartridge = read(name)
    model = json.loads(Tokenizer.from_str(text_source(name).decode()).to_str())["model"]
    scores = [score for _, score in model["vocab"]] if model["type"] == "Unigram" else []
    assert list(cartridge.scores) == ([*scores, min(scores)] if scores else [])


def char_pairs(strings: set[str], text_only: bool) -> list[int]:
    """The section, from the page."""
    pairs = {(ord(a), ord(b)) for string in strings for a, b in pairwise(string)}
    words = [0] * 256
    for a, b in pairs:
        if max(a, b) < 128:
            words[(128 * a + b) // 64] |= 1 << b % 64
    others = [pair for pair in pairs if max(pair) >= 128]
    bits = 64
    while bits < 16 * len(others):
        bits *= 2
    table = [0] * (bits // 64)
    for a, b in others:
        bit = plain.pair_home(a, b, bits)
        table[bit // 64] |= 1 << bit % 64
    return [*words, plain.TEXT_ONLY * text_only, *table]


def test_char_pairs(name: str) -> None:
    model, cartridge = document(name)["model"], read(name)
    if model["type"] != "BPE":
        assert cartridge.char_pairs == ()
        return
    merges = list(model_merges(model))
    byte_tokens = {f"<0x{byte:02X}>" for byte in range(256)} if model["byte_fallback"] else set()
    text_only = not any(byte_tokens & {left, right} for left, right, _ in merges)
    assert text_only == (name != "some_bytes")
    assert list(cartridge.char_pairs) == char_pairs({product for _, _, product in merges}, text_only)
    assert all(cartridge.may_join(ord(a), ord(b)) for _, _, product in merges for a, b in pairwise(product))
    inside = {(a, b) for _, _, product in merges for a, b in pairwise(product)}
    assert not any(cartridge.may_join(a, b) for a in range(128) for b in range(128) if (chr(a), chr(b)) not in inside)


def test_every_merge_is_in_the_table_without_chains(name: str) -> None:
    cartridge = read(name)
    merges = cartridge.merges() if cartridge.n_merges else []
    assert all(cartridge.reachable_rank(left, right) == rank for rank, left, right, _ in merges)
    assert sum(slot != plain.EMPTY_PAIR for slot in cartridge.reachable_slots) == len(merges)


def test_added_tokens(name: str) -> None:
    source, cartridge = document(name), read(name)
    engine = _core.Engine.from_bytes(compiled(text_source(name)))
    reference = Tokenizer.from_str(text_source(name).decode())
    bits = ("single_word", "lstrip", "rstrip", "normalized", "special")
    rows, tries = [], ({}, {})
    for index, (token_id, flags) in enumerate(cartridge.added_tokens):
        content = cartridge.string_of(token_id)
        rows.append({"id": token_id, "content": content} | {key: bool(flags >> i & 1) for i, key in enumerate(bits)})
        normalized = bool(flags & plain.NORMALIZED)
        if normalized and reference.normalizer is not None:
            content = reference.normalizer.normalize_str(content)
        tries[normalized][content.encode()] = index
    assert rows == source["added_tokens"] == engine.added_tokens()
    assert (cartridge.added_trie.items(), cartridge.added_trie_normalized.items()) == tries


# -- what the engine does with it


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
"""What another reference does otherwise, by the vocabularies that show it."""


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


# -- what a reader accepts


def test_position_independence(name: str) -> None:
    data = compiled(text_source(name))
    sections, digest = parsed(data)
    for seed in range(2):
        shuffled = random.Random(seed).sample(sections, len(sections))
        same_results(data, plain.write_cartridge(shuffled, digest))


def test_an_absent_section_is_an_empty_one(name: str) -> None:
    data = compiled(text_source(name))
    empty: dict[str, bytes | None] = {
        plain.NAMES[section.type]: None for section in parsed(data)[0] if not section.data
    }
    assert empty
    same_results(data, rewritten(data, empty))


def test_sections_of_byte_tables_are_passed_over(name: str) -> None:
    data = compiled(text_source(name))
    for content in (b"", b"\xff" * 999):
        same_results(data, rewritten(data, {"byte_pair_ranks": content, "word_table": content}))


@pytest.mark.parametrize("name", ["llama_like", "some_bytes", "affixes"])
def test_tables_may_be_built_otherwise(name: str) -> None:
    """A larger hash table, filled in another order, and a filter that says less."""
    data = compiled(text_source(name))
    slots = [plain.EMPTY_PAIR] * 16384
    for rank, left, right, _ in reversed(read(name).merges()):
        at = plain.pair_home(left, right, len(slots))
        while slots[at] != plain.EMPTY_PAIR:
            at = (at + 1) % len(slots)
        slots[at] = left << 43 | right << 22 | rank
    same_results(data, rewritten(data, {"pair_table": struct.pack("<16384Q", *slots), "pair_filter": b"\xff" * 8}))


def same_results(data: bytes, other: bytes) -> None:
    assert sections_of(data) != sections_of(other) or data != other
    engines = [_core.Engine.from_bytes(data), _core.Engine.from_bytes(other)]
    for text in (*TEXTS, *MORE_TEXTS):
        assert len({tuple(engine.encode_ids(text)) for engine in engines}) == 1
        assert len({tuple(engine.encode(text).offsets) for engine in engines}) == 1
