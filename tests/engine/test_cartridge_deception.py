"""Cartridges that were made to deceive: every checksum is right, and what they hold is not (cartridge_lies.py)."""

from __future__ import annotations

import json
import random
import re
import struct
from pathlib import Path
from typing import Any

from tests.engine import cartridge_reader as plain
from tests.engine.cartridge_cases import FAMILIES, TEXTS, compiled, cutter, judged, nfc, parsed, rewritten
from tests.engine.cartridge_lies import array, container_cases, content_cases


def test_signed_containers(small: bytes, tmp_path: Path) -> None:
    assert_named(container_cases(small), "open", tmp_path)


def test_signed_contents(small: bytes, llama3_like: Path, tmp_path: Path) -> None:
    cases = content_cases(small, compiled(unmergeable(llama3_like)))
    assert len(cases) > 150
    assert_named(cases, "verify", tmp_path)


CODES = {"token_flags": "B", "token_trim": "H", "pair_table": "Q", "pair_filter": "Q", "word_table": "I", "trie": "i"}
CODES |= {"added_trie": "i", "added_trie_normalized": "i", "metadata": "B", "token_bytes": "B"}


def test_what_passes_does_what_it_says(small: bytes, tmp_path: Path) -> None:
    """Single elements changed at random and signed. Most are refused; those that pass are other vocabularies, and the
    plain reader and the engine agree on them."""
    rng = random.Random(5)
    contents = {plain.NAMES[section.type]: section.data for section in parsed(small)[0]}
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
        data = rewritten(small, {name: array(small, name, code, {index: new})})
        path = tmp_path / f"{number}.dat"
        path.write_bytes(data)
        title = f"{number}: {name} [{index}] {values[index]} -> {new}"
        files[title], cases[title] = data, ("use", str(path), TEXTS[:5])
    passed = 0
    for title, verdict in judged(cases).items():
        if verdict.startswith("CartridgeError: "):
            continue
        cartridge = plain.Cartridge(files[title])
        cut = cutter(FAMILIES[cartridge.family])
        try:
            expected = [cartridge.frame(cartridge.encode(text, cut, nfc)) for text in TEXTS[:5]]
        except plain.FormatError:  # a template for parts that are not there, and the like
            assert verdict.startswith("VocabularyError: "), f"{title}: {verdict}"
            continue
        assert verdict.startswith("accepted "), f"{title}: {verdict}"
        passed += 1
        for text, ids, found in zip(TEXTS, expected, json.loads(verdict.removeprefix("accepted ")), strict=False):
            full, offsets, bare = found
            assert ids == full == bare, title
            assert all(0 <= start <= end <= len(text) for start, end in offsets), title
    assert 20 < passed < 200


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
