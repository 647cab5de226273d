"""Cartridges that were made to deceive: every checksum is right, and what they hold is not (cartridge_lies.py)."""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import cartridge_reader as plain
from tests.support import cartridge_text_lies
from tests.support.cartridge_cases import TEXTS, compiled, cutter, judged, nfc, parsed, patterns, rewritten, sections_of
from tests.support.cartridge_lies import array, container_cases, content_cases, longest_match_cases
from tests.support.cartridge_text import NAMES, text_source
from tests.support.sampling import sampled


def test_signed_containers(small: bytes, tmp_path: Path) -> None:
    assert_named(container_cases(small), "open", tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_signed_containers_of_text(name: str, tmp_path: Path) -> None:
    assert_named(cartridge_text_lies.opening_cases(name), "open", tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_signed_contents_of_text(name: str, tmp_path: Path) -> None:
    cases = cartridge_text_lies.content_cases(name)
    assert len(cases) > 60
    assert_named(cases, "verify", tmp_path)


@pytest.mark.slow
def test_signed_contents(small: bytes, llama3_like: Path, tmp_path: Path) -> None:
    cases = content_cases(small, compiled(unmergeable(llama3_like)))
    assert len(cases) > 150
    assert_named(cases, "verify", tmp_path)


def test_signed_contents_of_longest_match(small: bytes, longest: bytes, tmp_path: Path) -> None:
    assert_named(longest_match_cases(small, longest), "verify", tmp_path)


CODES = {"token_flags": "B", "token_trim": "H", "pair_table": "Q", "pair_filter": "Q", "word_table": "I", "trie": "i"}
CODES |= {
    "score_ulps": "b",
    "reads_alike": "B",
    "byte_cuts": "Q",
    "reachable_pilots": "H",
    "reachable_slots": "Q",
    "added_trie": "i",
    "added_trie_normalized": "i",
    "metadata": "B",
    "token_bytes": "B",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["small", "longest"])
def test_what_passes_does_what_it_says(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Single elements changed at random and signed. Most are refused; those that pass are other vocabularies, and the
    plain reader and the engine agree on them."""
    rng = random.Random(5)
    data: bytes = request.getfixturevalue(kind)
    contents = {plain.NAMES[section.type]: section.data for section in parsed(data)[0]}
    del contents["components"]  # of which test_other_components has others
    files, cases = {}, {}
    for number in range(220):
        name = rng.choice(sorted(contents))
        code = CODES.get(name, "I")
        count = len(contents[name]) // struct.calcsize(code)
        values = struct.unpack(f"<{count}{code}", contents[name])
        index = rng.randrange(count)
        bits = rng.choice([1, 2, 8, 16])
        limit = 2 ** (8 * struct.calcsize(code))
        new = rng.choice([rng.choice(values), values[index] ^ rng.getrandbits(bits), 0, values[index] + 1]) % limit
        if code == "i" and new >= limit // 2:
            new -= limit
        other = rewritten(data, {name: array(data, name, code, {index: new})})
        path = tmp_path / f"{number}.dat"
        path.write_bytes(other)
        title = f"{number}: {name} [{index}] {values[index]} -> {new}"
        files[title], cases[title] = other, ("use", str(path), TEXTS[:5])
    assert 20 < agreements(files, cases) < 200


TEXT_CODES = CODES | {"char_pairs": "Q", "scores": "d", "components": "B"}


@pytest.mark.parametrize("name", NAMES)
def test_what_passes_of_text_tables_can_be_used(name: str, tmp_path: Path) -> None:
    """Single elements changed at random and signed: a file is refused, or it encodes, or says why it cannot."""
    rng = random.Random(name)
    data = compiled(text_source(name))
    contents = {plain.NAMES[section.type]: section.data for section in parsed(data)[0] if section.data}
    texts, cases = [*TEXTS[:5], "a" * 300], {}
    for number in range(120):
        section = rng.choice(sorted(contents))
        code = TEXT_CODES.get(section, "I")
        size = struct.calcsize(code)
        index = rng.randrange(len(contents[section]) // size)
        changed = bytearray(contents[section])
        place = slice(index * size, index * size + size)
        kind = rng.randrange(3)
        if kind == 0:
            changed[place] = rng.randbytes(size)
        elif kind == 1:
            changed[index * size + rng.randrange(size)] ^= 1 << rng.randrange(8)
        else:
            other = rng.randrange(len(contents[section]) // size) * size
            changed[place] = changed[other : other + size]
        path = tmp_path / f"{number}.dat"
        path.write_bytes(rewritten(data, {section: bytes(changed)}))
        cases[f"{number}: {section} [{index}]"] = ("use", str(path), texts)
    verdicts = judged(cases)
    refused = 0
    for title, verdict in verdicts.items():
        kind, _, rest = verdict.partition(" ")
        refused += kind == "CartridgeError:"
        assert kind in ("CartridgeError:", "VocabularyError:", "accepted"), f"{title}: {verdict}"
        if kind == "accepted":
            for text, (ids, offsets, bare) in zip(texts, json.loads(rest), strict=True):
                assert ids == bare, title
                assert all(0 <= start <= end <= len(text) for start, end in offsets), title
    assert 40 < refused < 120


def other_components(small: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Components that these tables can have as well."""
    known = json.loads(sections_of(small)[plain.TYPES["components"]])
    byte_level, template = known["pre_tokenizer"], known["post_processor"]["processors"][1]
    cartridge = plain.Cartridge(small)
    hole = next(i for i in range(cartridge.n_ids) if not cartridge.token_flags[i])
    for name in ("add_prefix_space", "use_regex", "trim_offsets"):
        yield f"{name} changed", known | {"pre_tokenizer": byte_level | {name: not byte_level[name]}}
    last = byte_level | {"use_regex": False, "add_prefix_space": False}
    for pattern in (*patterns().values(), r"\s+|\w", "a|the"):
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        yield f"split on {pattern}", known | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, last]}}
    yield "no normalizer", known | {"normalizer": None}
    yield "NFC twice", known | {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 2}}
    ends = {"sep": ["x", 5], "cls": ["y", hole]}
    roberta = {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": False}
    for post in (None, template, roberta, {"type": "BertProcessing", **ends}):
        yield f"post-processor {post and post['type']}", known | {"post_processor": post}
    both = {"type": "Sequence", "processors": [roberta, template]}
    yield "Roberta, then a template", known | {"post_processor": both}
    for ids in ([], [hole], [cartridge.n_ids], [2**31 - 1, 0]):  # which need not be ids of tokens
        special = {"<mask>": {"id": "<mask>", "ids": ids, "tokens": ["<mask>"] * len(ids)}}
        yield f"special ids {ids}", known | {"post_processor": template | {"special_tokens": special}}
    only_b = template | {"single": [{"Sequence": {"id": "B", "type_id": 0}}]}
    yield "a template for a pair alone", known | {"post_processor": only_b}
    yield "no decoder", known | {"decoder": None}


def test_other_components_over_the_same_tables(small: bytes, tmp_path: Path) -> None:
    """A component has no copy in the tables, but in added_trie_normalized: another one that is known is another
    tokenizer, and the plain reader and the engine agree on it."""
    files, cases = {}, {}
    for number, (title, components) in enumerate(other_components(small)):
        data = rewritten(small, {"components": json.dumps(components).encode()})
        path = tmp_path / f"{number}.dat"
        path.write_bytes(data)
        files[title], cases[title] = data, ("use", str(path), TEXTS)
    assert agreements(files, cases) == len(cases) - 1  # the template for a pair alone has no single text


def agreements(files: dict[str, bytes], cases: dict[str, tuple[Any, ...]]) -> int:
    """How many files pass. On each the plain reader and the engine agree."""
    passed = 0
    for title, verdict in judged(cases).items():
        if verdict.startswith("CartridgeError: "):
            continue
        texts = cases[title][2]
        cartridge = plain.Cartridge(files[title])
        cut = cutter(cartridge.pattern)
        try:
            expected = [cartridge.frame(cartridge.encode(text, cut, nfc)) for text in texts]
        except plain.FormatError:  # a template for parts that are not there, and the like
            assert verdict.startswith("VocabularyError: "), f"{title}: {verdict}"
            continue
        assert verdict.startswith("accepted "), f"{title}: {verdict}"
        passed += 1
        for text, ids, found in zip(texts, expected, json.loads(verdict.removeprefix("accepted ")), strict=True):
            full, offsets, bare = found
            assert ids == full == bare, title
            assert all(0 <= start <= end <= len(text) for start, end in offsets), title
    return passed


def unmergeable(path: Path) -> bytes:
    """The vocabulary with a token that only `ignore_merges` gives."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["vocab"]["theq"] = max(token["id"] for token in document["added_tokens"]) + 1
    document["added_tokens"] = []
    document["post_processor"] = None
    return json.dumps(document).encode()


def assert_named(cases: dict[str, tuple[bytes, str]], way: str, directory: Path) -> None:
    """Every case is refused with a CartridgeError that says what it must."""
    files: dict[str, tuple[Any, ...]] = {}
    for number, (name, (data, _)) in enumerate(cases.items()):
        path = directory / f"{number}.dat"
        path.write_bytes(data)
        files[name] = (way, str(path))
    verdicts = judged(files)
    wrong = {
        name: verdicts[name]
        for name, (_, expected) in cases.items()
        if not verdicts[name].startswith("CartridgeError: ") or not re.search(expected, verdicts[name])
    }
    assert not wrong, "\n".join(f"{k}: {v}" for k, v in wrong.items())
