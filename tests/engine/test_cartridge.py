"""The cartridge: docs/cartridge-format.md holds for what the compiler writes, and nothing else is accepted.

A plain reader, written from the page alone (cartridge_reader.py), is the other side of every comparison.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, pre_tokenizers

from crayon_hf import _core
from crayon_hf.errors import CartridgeError
from tests.engine import cartridge_reader as plain
from tests.engine.cartridge_reader import Section

PAGE = Path(__file__).parents[2] / "docs" / "cartridge-format.md"
FAMILIES = ("whole", "gpt2", "cl100k", "llama3", "qwen2", "o200k")
TEXTS = (
    "",
    " ",
    "The quick brown fox; it's what they've said, isn't it? We'LL see 12345 of them in 2024.\r\n\n  Yes.",
    "Größe, déjà vu, e\u0301te\u0301, Быстрая лиса, 敏捷的棕色狐狸, 안녕하세요, तेज़ भूरी, 🙂👩‍👩‍👧‍👦",
    "def encode(self, text: str) -> list[int]:\n    return [self.vocab[t]  for t in text.split()]\n",
    "crayon crayons [L]  [L] [R]  x<|endoftext|> a\u00e9| e\u0301!  \u3000<mask>\u2003<mask> [X] 中文 _crayon",
    "internationalization " * 3 + "a" * 200 + " " * 40 + "0" * 70,
)


def structure(document: dict[str, Any]) -> dict[str, Any]:
    """The vocabulary with everything that the format has a case for: raw tokens, an id without a token, a token that
    its merges never make, two merges of one pair, NFC, a prefix space, added tokens with every flag."""
    model = document["model"]
    vocab: dict[str, int] = model["vocab"]
    model["merges"] = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    model["merges"].append(model["merges"][20])
    for token in ("中文", "", "theq", "internationalizationalism"):
        vocab[token] = len(vocab)
    vocab["[hole before]"] = len(vocab) + 20
    document["normalizer"] = {"type": "NFC"}
    document["pre_tokenizer"] = {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": True,
        "use_regex": True,
    }
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_tokens(
        [
            AddedToken("crayon", single_word=True),
            AddedToken("[L]", lstrip=True),
            AddedToken("[R]", rstrip=True, normalized=False),
            AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False, special=True),
            AddedToken("e\u0301!", normalized=True),
            AddedToken("a\u00e9|", normalized=False),
            AddedToken("\u2003[X]\u2003", normalized=False),
            AddedToken("Ġd", normalized=False),
        ]
    )
    mask = tokenizer.token_to_id("<mask>")
    document = json.loads(tokenizer.to_str())
    special = {"<mask>": {"id": "<mask>", "ids": [mask], "tokens": ["<mask>"]}}
    document["post_processor"] = {
        "type": "Sequence",
        "processors": [
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<mask>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [
                    {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "<mask>", "type_id": 0}},
                    {"Sequence": {"id": "B", "type_id": 1}},
                ],
                "special_tokens": special,
            },
        ],
    }
    return document


@pytest.fixture(scope="session")
def every_case(gpt2_like: Path, vocabularies: Path) -> Path:
    document = structure(json.loads(gpt2_like.read_text(encoding="utf-8")))
    path = vocabularies / "every_case.json"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture(scope="session", params=["gpt2_like", "llama3_like", "qwen_like", "roberta_like", "every_case"])
def source(request: pytest.FixtureRequest) -> bytes:
    """The bytes of a tokenizer.json."""
    path: Path = request.getfixturevalue(request.param)
    return path.read_bytes()


@cache
def compiled(source: bytes) -> bytes:
    return _core.compile_tokenizer_json(source, '{"reference":"tokenizers"}')


@cache
def read(source: bytes) -> plain.Cartridge:
    return plain.Cartridge(compiled(source))


@pytest.fixture(scope="session")
def small(every_case: Path) -> bytes:
    """A cartridge with something in every section."""
    return compiled(every_case.read_bytes())


@lru_cache(8)
def parsed(data: bytes) -> tuple[list[Section], bytes]:
    return plain.read_sections(data)


def child(code: str, *arguments: str, lines: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs Python code in another process, with the package that this one has, for at most 20 s."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=lines,
        capture_output=True,
        timeout=20,
        check=False,
        cwd=tempfile.gettempdir(),
        env=os.environ | {"PYTHONPATH": path} | environment,
    )


def sections_of(data: bytes) -> dict[int, bytes]:
    return {section.type: section.data for section in parsed(data)[0]}


def rewritten(data: bytes, changes: dict[str, bytes | None]) -> bytes:
    """The file with other contents in some sections, signed as if they were meant. These sections come last, in this
    order; None is for a section that shall be missing."""
    sections, digest = parsed(data)
    kept = [section for section in sections if plain.NAMES[section.type] not in changes]
    new = [Section(plain.TYPES[name], 1, content) for name, content in changes.items() if content is not None]
    return plain.write_cartridge(kept + new, digest)


def signed(data: bytes | bytearray) -> bytes:
    """The file with the checksum that its header and table must have, as far as they can be found."""
    out = bytearray(data)
    (count,) = struct.unpack_from("<I", out, 16)
    end = min(64 + 32 * count, len(out))
    struct.pack_into("<Q", out, 24, plain.xxh64(bytes(out[:24] + bytes(8) + out[32:end])))
    return bytes(out)


# -- the page


def test_the_examples_on_the_page_are_right() -> None:
    page = PAGE.read_text(encoding="utf-8")
    hashes = {"none": b"", "`CRAY`": b"CRAY", "0, 1, ... 100": bytes(range(101))}
    for name, data in hashes.items():
        assert f"| {name} | `{plain.xxh64(data):X}` |" in page
    text = " ".join(page.split())
    key = 220 << 21 | 83
    product = key * 0x9E3779B97F4A7C15 % 2**64
    assert (
        f"For left 220, right 83 and 2^17 slots the key is `{key:X}`, the product `{product:X}`, "
        f"the slot {plain.pair_home(220, 83, 2**17)}." in text
    )
    lo, hi = plain.word_key(b" the")
    folded = (lo ^ 0x9E3779B97F4A7C15) * (hi ^ 0xD6E8FEB86659FD93)
    folded = folded % 2**64 ^ folded >> 64
    assert (
        f"For the word ` the`, `lo` is `{lo:X}`, `hi` is `{hi:X}`, the folded product `{folded:X}`, "
        f"and of 2^15 buckets it is {plain.word_home(b' the', 2**15)}." in text
    )


def test_the_sections_on_the_page_are_those_that_are_known() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| .*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(number): name for number, name in rows if name in plain.TYPES} == plain.NAMES


@cache
def patterns() -> dict[str, str]:
    """The families' patterns, from the page."""
    block = re.search(r"```\n(gpt2 .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    return dict(line.split(maxsplit=1) for line in block[1].splitlines())


def cutter(family: str) -> Callable[[bytes], list[int]]:
    """The end offsets of pretokens, by the page's pattern and the reference's regular expressions."""
    split = None if family == "whole" else pre_tokenizers.Split(Regex(patterns()[family]), "isolated")

    def cut(data: bytes) -> list[int]:
        if split is None:
            return [len(data)] if data else []
        text = data.decode()
        return [len(text[:end].encode()) for _, (_, end) in split.pre_tokenize_str(text)]

    return cut


@pytest.mark.parametrize("family", FAMILIES)
def test_the_patterns_on_the_page_are_the_families(family: str) -> None:
    assert set(patterns()) == set(FAMILIES) - {"whole"}
    extra = (
        "can't CAN'T it\u2019s '\u017f Hello WORLD HelloWorld ʰa",
        "1234567 ½²",
        " \t\n \r\n x",
        "path//\n/x!?\n\n",
    )
    for text in (*TEXTS, *extra):
        data = text.encode()
        assert _core.pretokenize(data, family) == cutter(family)(data)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


# -- what the compiler writes


def test_container(source: bytes, tmp_path: Path) -> None:
    data = compiled(source)
    sections, digest = plain.read_sections(data)  # checks layout, padding and checksums
    assert digest == hashlib.sha256(source).digest()
    assert [section.type for section in sections if not section.flags & plain.REQUIRED] == []
    assert {plain.NAMES[section.type] for section in sections} == set(plain.TYPES) - {"certificate"}
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


def test_compiling_is_deterministic(source: bytes) -> None:
    """The same bytes again, here and in another process with other hash seeds."""
    code = (
        "import hashlib, sys; from crayon_hf import _core; "
        'data = _core.compile_tokenizer_json(sys.stdin.buffer.read(), \'{"reference":"tokenizers"}\'); '
        "print(hashlib.sha256(data).hexdigest())"
    )
    other = child(code, lines=source, PYTHONHASHSEED="4711")
    assert other.stdout.decode().strip() == hashlib.sha256(compiled(source)).hexdigest()
    assert _core.compile_tokenizer_json(source, '{"reference":"tokenizers"}') == compiled(source)
    assert _core.compile_tokenizer_json(source, "{}") != compiled(source)


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
        white = plain.WHITE_SPACE | {"Ġ"}
        leading = next((i for i, char in enumerate(token) if char not in white), len(token))
        trailing = next((i for i, char in enumerate(reversed(token)) if char not in white), len(token))
        assert (cartridge.leading[token_id], cartridge.trailing[token_id]) == (leading, trailing)
    raw = [i for i in range(cartridge.n_ids) if cartridge.token_flags[i] & plain.RAW]
    assert list(cartridge.raw_tokens) == sorted(raw, key=cartridge.bytes_of)
    model = [i for i in vocab.values() if i not in raw]
    assert cartridge.trie.items() == {cartridge.bytes_of(i): i for i in model}
    assert [cartridge.bytes_of(i) for i in cartridge.byte_ids] == [bytes([b]) for b in range(256)]


def test_merges(source: bytes) -> None:
    model = json.loads(source)["model"]
    cartridge, vocab = read(source), model["vocab"]
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
    for a, b in random.Random(1).sample([(a, b) for a in range(256) for b in range(256)], 2000):
        ids = cartridge.byte_ids[a], cartridge.byte_ids[b]
        assert cartridge.byte_pair_ranks[256 * a + b] == cartridge.rank(*ids) == last.get(ids, (plain.NO_RANK, 0))[0]


def test_the_word_table_holds_only_results(source: bytes) -> None:
    """Every entry is what the definition makes of its word, and every word that must be in it is."""
    cartridge = read(source)
    words = cartridge.words()
    model = cartridge.trie.items()
    results = {word: cartridge.define_pretoken(word) for word in model}
    expected = {w: tuple(ids) for w, ids in results.items() if len(w) <= 15 and len(ids) <= 4}
    assert words == expected
    assert all(cartridge.find_word(word) == ids for word, ids in words.items())
    assert cartridge.find_word(b"not a word") is None
    for word, token_id in model.items():
        assert bool(cartridge.token_flags[token_id] & plain.WHOLE) == (results[word] == [token_id])


def test_a_token_that_merges_never_make_is_not_its_own_word(every_case: Path) -> None:
    cartridge = read(every_case.read_bytes())
    vocab = cartridge.vocabulary()
    assert cartridge.find_word(b"theq") == tuple(cartridge.merge(b"theq")) != (vocab["theq"],)
    assert not cartridge.token_flags[vocab["internationalizationalism"]] & plain.WHOLE


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
        key = nfc(content) if composes and normalized else content
        tries[normalized][key.encode()] = index
    rows.sort(key=lambda row: row["id"])
    assert rows == sorted(document["added_tokens"], key=lambda row: row["id"]) == engine.added_tokens()
    assert (cartridge.added_trie.items(), cartridge.added_trie_normalized.items()) == tries


def test_the_plain_encoder_agrees(source: bytes) -> None:
    """Ids by the page's rules and tables, ids of the reference, ids of the engine."""
    cartridge, engine = read(source), _core.Engine.from_bytes(compiled(source))
    reference = Tokenizer.from_str(source.decode())
    cut = cutter(FAMILIES[cartridge.family])
    for text in TEXTS:
        ids = cartridge.frame(cartridge.encode(text, cut, nfc))
        expected = reference.encode(text)
        assert ids == expected.ids == engine.encode_ids(text) == engine.encode(text).ids
        assert engine.encode(text).offsets == expected.offsets
        pretokens = [text.encode()[a:b] for a, b in pairwise([0, *cut(text.encode())])]
        assert all(cartridge.encode_pretoken(word) == cartridge.define_pretoken(word) for word in pretokens)
        assert engine.decode_bytes(ids) == cartridge.decode(ids)
        assert engine.decode_bytes(ids, skip_special_tokens=True) == cartridge.decode(ids, skip_special=True)
    first, second = TEXTS[2], TEXTS[5]
    pair = cartridge.frame(cartridge.encode(first, cut, nfc), cartridge.encode(second, cut, nfc))
    assert pair == reference.encode(first, second).ids == engine.encode(first, second).ids


# -- what a reader accepts


def same_results(data: bytes, other: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.dat"
    path.write_bytes(other)
    engines = [_core.Engine.from_bytes(data), _core.Engine.from_bytes(other), _core.Engine.open(str(path))]
    _core.verify_cartridge(str(path))
    for text in TEXTS:
        assert len({tuple(engine.encode_ids(text)) for engine in engines}) == 1
        assert len({tuple(engine.encode(text).offsets) for engine in engines}) == 1


def test_position_independence(small: bytes, tmp_path: Path) -> None:
    """Sections in any order, mapped or copied to any place: the same results."""
    sections, digest = parsed(small)
    for seed in range(3):
        shuffled = random.Random(seed).sample(sections, len(sections))
        same_results(small, plain.write_cartridge(shuffled, digest), tmp_path)


@pytest.mark.parametrize("number", [0, 20, 31, 32, 255, 2**32 - 1])
def test_unknown_sections(small: bytes, tmp_path: Path, number: int) -> None:
    """An optional one is passed over, wherever it stands and however large; a required one is refused by number."""
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


def test_a_certificate_is_optional(small: bytes, tmp_path: Path) -> None:
    sections, digest = parsed(small)
    same_results(small, plain.write_cartridge([*sections, Section(18, 0, b'{"text":"x"}')], digest), tmp_path)


def test_tables_may_be_built_otherwise(small: bytes, tmp_path: Path) -> None:
    """Larger hash tables, another order of insertion, more words: what the page leaves open is open."""
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


def word_table(words: dict[bytes, tuple[int, ...]], buckets: int) -> bytes:
    table = [[bytes(32), bytes(32)] for _ in range(buckets)]
    for word, ids in words.items():
        at = plain.word_home(word, buckets)
        while table[at][1] != bytes(32):
            at = (at + 1) % buckets
        entry = word.ljust(15, b"\0") + bytes([len(word) | len(ids) << 4]) + struct.pack("<4I", *[*ids, 0, 0, 0][:4])
        table[at][table[at][0] != bytes(32)] = entry
    return b"".join(entry for bucket in table for entry in bucket)


# -- files that are none


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.dat")
    for call in (_core.Engine.open, _core.verify_cartridge, _core.cartridge_sections):
        with pytest.raises(FileNotFoundError) as raised:
            call(missing)
        assert raised.value.filename == missing
        with pytest.raises(IsADirectoryError):
            call(str(tmp_path))


def test_files_that_are_no_cartridges(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    for content in (b"", b"C", b"CRAY", b"CRAY\3\0\0", b"\0" * 4096, b'{"model": {}}' * 100):
        path.write_bytes(content)
        for verify in (False, True):
            with pytest.raises(CartridgeError, match=re.escape(str(path))):
                _core.Engine.open(str(path), verify=verify)
        with pytest.raises(CartridgeError):
            _core.Engine.from_bytes(content)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    assert "not a regular file" in judged({"fifo": ("open", str(path))})["fifo"]
    assert "not a regular file" in judged({"device": ("open", "/dev/zero")})["device"]


def test_versions(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    for version, message in (
        (0, "version 0"),
        (1, "version 1"),
        (2, "version 2"),
        (4, "version 4"),
        (2**31, "version"),
    ):
        data = bytearray(small)
        struct.pack_into("<I", data, 4, version)
        path.write_bytes(signed(data))
        with pytest.raises(CartridgeError, match=message):
            _core.Engine.open(str(path))
    for revision in (0, 2, 2**32 - 1):
        path.write_bytes(plain.write_cartridge(*parsed(small), revision=revision))
        with pytest.raises(CartridgeError, match=f"revision {revision} is not read"):
            _core.Engine.open(str(path))
    path.write_bytes(_core.write_cartridge_v2(*_core.build_double_array([(b"a", 0)])))
    with pytest.raises(CartridgeError, match="version 2"):
        _core.Engine.open(str(path))
    with pytest.raises(CartridgeError, match="version is 3"):
        _core.read_cartridge_v2(small)


# -- damage

# Judges files in a process of its own, so that a crash or a hang is a verdict and not the end of the tests. Reads lines
# of JSON: a name, a way to judge, and what that needs. Answers one line for each.
JUDGE = """
import json, sys
from crayon_hf import _core
from crayon_hf.errors import CartridgeError
base = open(sys.argv[1], "rb").read() if len(sys.argv) > 1 else b""
for line in sys.stdin:
    name, way, *rest = json.loads(line)
    try:
        if way == "flip":
            data = bytearray(base)
            data[rest[0]] ^= 1 << rest[1]
            _core.Engine.from_bytes(bytes(data))
        elif way == "flip unverified":
            data = bytearray(base)
            data[rest[0]] ^= 1 << rest[1]
            with open(rest[2], "wb") as file:
                file.write(data)
            _core.Engine.open(rest[2])
        elif way == "cut":
            _core.Engine.from_bytes(base[:rest[0]])
        elif way == "cut unverified":
            with open(rest[1], "wb") as file:
                file.write(base[:rest[0]])
            _core.Engine.open(rest[1])
        else:
            engine = _core.Engine.open(rest[0], verify=way != "open")
        verdict = "accepted"
        if way == "use":
            encodings = [engine.encode(text) for text in rest[1]]
            verdict += " " + json.dumps([[e.ids, e.offsets, engine.encode_ids(t)] for e, t in zip(encodings, rest[1])])
    except CartridgeError as error:
        verdict = "CartridgeError: " + str(error)
    except BaseException as error:
        verdict = type(error).__name__ + ": " + str(error)
    print(json.dumps([name, verdict]), flush=True)
"""


def judged(cases: dict[str, tuple[Any, ...]], base: str = "") -> dict[str, str]:
    """The verdict on every case. A case that kills its judge, or keeps it busy for 20 s, gets that for a verdict."""
    verdicts: dict[str, str] = {}
    while len(verdicts) < len(cases):
        left = {name: case for name, case in cases.items() if name not in verdicts}
        lines = "".join(json.dumps([name, *case]) + "\n" for name, case in left.items())
        try:
            done = child(JUDGE, *([base] if base else []), lines=lines.encode())
            output, end = done.stdout, f"died with {done.returncode}: {done.stderr.decode()[-300:]}"
        except subprocess.TimeoutExpired as expired:
            output, end = expired.stdout or b"", "hangs"
        verdicts |= dict(json.loads(line) for line in output.splitlines() if line.endswith(b"]"))
        guilty = next((name for name in left if name not in verdicts), None)
        if guilty is not None:
            verdicts[guilty] = end
    return verdicts


def assert_refused(verdicts: dict[str, str]) -> None:
    accepted = {name: verdict for name, verdict in verdicts.items() if not verdict.startswith("CartridgeError: ")}
    assert not accepted


@pytest.fixture(scope="session")
def small_file(small: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cartridge") / "small.dat"
    path.write_bytes(small)
    return path


def test_every_truncation_is_refused(small: bytes, small_file: Path, tmp_path: Path) -> None:
    rng = random.Random(2)
    edges = {0, 1, 4, 8, 16, 24, 32, 63, 64, len(small) - 1, *(rng.randrange(len(small)) for _ in range(100))}
    for row in _core.cartridge_sections(str(small_file)):
        edges |= {row["offset"] + d for d in (-1, 0, 1)} | {row["offset"] + row["size"] + d for d in (-1, 0, 1)}
    edges |= {64 + 32 * i for i in range(19)}
    edges = {edge for edge in edges if edge < len(small)}
    cases: dict[str, tuple[Any, ...]] = {f"{edge}": ("cut", edge) for edge in edges}
    cases |= {f"unverified {edge}": ("cut unverified", edge, str(tmp_path / "cut.dat")) for edge in edges}
    assert_refused(judged(cases, str(small_file)))
    with pytest.raises(CartridgeError, match="extended"):
        _core.Engine.from_bytes(small + b"\0" * 64)


def test_every_flip_is_refused(small: bytes, small_file: Path, tmp_path: Path) -> None:
    """In header and table each byte, with and without verify; in each section and each gap between them some."""
    rng = random.Random(3)
    sections = sorted(_core.cartridge_sections(str(small_file)), key=lambda row: row["offset"])
    table_end = 64 + 32 * len(sections)
    head = [(at, rng.randrange(8)) for at in range(table_end)]
    places, padding, end = list(head), [], table_end
    for row in sections:
        padding += range(end, row["offset"])
        end = row["offset"] + row["size"]
        ends = [row["offset"], end - 1] if row["size"] else []
        inside = [rng.randrange(row["offset"], end) for _ in range(20 if row["size"] else 0)]
        places += [(at, rng.randrange(8)) for at in {*ends, *inside}]
    padding += range(end, len(small))
    places += [(at, rng.randrange(8)) for at in rng.sample(padding, min(150, len(padding)))]
    assert len(places) >= 900
    cases: dict[str, tuple[Any, ...]] = {f"byte {at} bit {bit}": ("flip", at, bit) for at, bit in places}
    scratch = str(tmp_path / "flipped.dat")
    cases |= {f"unverified {at} {bit}": ("flip unverified", at, bit, scratch) for at, bit in head}
    assert_refused(judged(cases, str(small_file)))


# -- files that were made to deceive: every checksum is right


def container_cases(small: bytes) -> dict[str, tuple[bytes, str]]:
    """Headers and tables that are signed and wrong, with what the error must say. All are refused on opening."""

    def patched(*changes: tuple[int, str, int]) -> bytes:
        data = bytearray(small)
        for at, code, value in changes:
            struct.pack_into("<" + code, data, at, value)
        return signed(data)

    sections, digest = parsed(small)
    (first,) = struct.unpack_from("<I", small, 64)
    name = plain.NAMES[first]
    cases = {
        "file_size 0": (patched((8, "Q", 0)), "header says 0"),
        "file_size 2^64 - 1": (patched((8, "Q", 2**64 - 1)), "header says"),
        "257 sections": (patched((16, "I", 257)), "257 sections"),
        "2^32 - 1 sections": (patched((16, "I", 2**32 - 1)), "sections"),
        "no sections": (patched((16, "I", 0)), "section program"),
        "offset not aligned": (patched((72, "Q", 65)), f"section {name} "),
        "offset outside": (patched((72, "Q", len(small) + 64)), f"section {name} "),
        "offset near 2^64": (patched((72, "Q", 2**64 - 64)), f"section {name} "),
        "size outside": (patched((80, "Q", len(small))), f"section {name} "),
        "size near 2^64": (patched((80, "Q", 2**64 - 1)), f"section {name} "),
        "offset and size wrap": (patched((72, "Q", 64), (80, "Q", 2**64 - 64)), f"section {name} "),
        "a section twice": (plain.write_cartridge([*sections, sections[4]], digest), "appears twice"),
        "n_ids too large": (rewritten(small, {"program": program(small, n_ids=2**21)}), "larger than"),
        "n_ids 2^32 - 1": (rewritten(small, {"program": program(small, n_ids=2**32 - 1)}), "larger than"),
        "n_merges too large": (rewritten(small, {"program": program(small, n_merges=2**22)}), "larger than"),
        "n_ids one more": (
            rewritten(small, {"program": program(small, n_ids=read_program(small)["n_ids"] + 1)}),
            "token",
        ),
    }
    contents = sections_of(small)
    for section in sections:
        title = plain.NAMES[section.type]
        if title in ("metadata", "token_bytes"):
            continue
        # A cut element is refused at once; a whole one less only where the size is given by the program.
        if title != "post_processor":
            cut = contents[section.type][:-1]
            cases[f"{title} cut"] = (rewritten(small, {title: cut}), f"section {title} ")
        if title not in ("trie", "added_trie", "added_trie_normalized", "added_tokens", "raw_tokens"):
            cases[f"{title} empty"] = (rewritten(small, {title: b""}), f"section {title} ")
            cases[f"{title} missing"] = (rewritten(small, {title: None}), f"section {title} ")
    for count in (0, 3):
        filters = rewritten(small, {"pair_filter": b"\xff" * 8 * count})
        cases[f"pair_filter of {count}"] = (filters, "section pair_filter ")
    three = {"pair_table": contents[10][:24], "word_table": contents[12][:192]}
    cases |= {f"{title} of three": (rewritten(small, {title: data}), title) for title, data in three.items()}
    cases["pair_table of one slot"] = (rewritten(small, {"pair_table": b"\xff" * 8}), "section pair_table ")
    return cases


PROGRAM = (
    "family",
    "flavor",
    "normalizer",
    "flags",
    "n_ids",
    "model_size",
    "vocab_size",
    "n_merges",
    "max_token_bytes",
)


def read_program(data: bytes) -> dict[str, int]:
    return dict(zip(PROGRAM, struct.unpack_from("<9I", sections_of(data)[2]), strict=True))


def program(data: bytes, reserved: int = 0, **changes: int) -> bytes:
    return struct.pack("<16I", *(read_program(data) | changes).values(), 0, 0, 0, 0, 0, 0, reserved)


def array(data: bytes, name: str, code: str, changes: dict[int, int]) -> bytes:
    """A section with some elements replaced."""
    out = bytearray(sections_of(data)[plain.TYPES[name]])
    size = struct.calcsize(code)
    for index, value in changes.items():
        at = index * size if index >= 0 else len(out) + index * size
        struct.pack_into("<" + code, out, at, value)
    return bytes(out)


def trie_of(keys: dict[bytes, int]) -> bytes:
    return b"".join(part.tobytes() for part in _core.build_double_array(sorted(keys.items())))


def content_cases(small: bytes, ignoring: bytes) -> dict[str, tuple[bytes, str]]:
    """Contents that lie, and the section that the error must name."""
    c = plain.Cartridge(small)
    vocab = c.vocabulary()
    contents = {plain.NAMES[number]: data for number, data in sections_of(small).items()}
    n, n_added = c.n_ids, len(c.added_tokens)
    hole = next(i for i in range(n) if not c.token_flags[i])
    raw = vocab["中文"]
    a, b = c.byte_ids[ord("a")], c.byte_ids[ord("b")]
    added_id = c.added_tokens[0][0]
    special = next(i for i in range(n) if c.token_flags[i] & plain.SPECIAL)
    word_ids = [i for i in range(n) if c.token_flags[i] & plain.WHOLE]
    whole = next(i for i in word_ids if c.bytes_of(i).isalpha() and 2 < len(c.bytes_of(i)) < 5)
    cases: dict[str, tuple[str, bytes | dict[str, bytes | None]]] = {}

    def case(name: str, section: str, content: bytes | dict[str, bytes | None]) -> None:
        cases[name] = (section, content)

    def flags(token_id: int, value: int) -> bytes:
        return array(small, "token_flags", "B", {token_id: value})

    # metadata, certificate, program
    for name, text in {"nothing": b"", "a list": b"[]", "cut": b'{"a":', "not UTF-8": b'{"a":"\xff"}'}.items():
        case(f"metadata is {name}", "metadata", text)
        case(f"certificate is {name}", "certificate", text)
    wrong = {"family": 6, "flavor": 2, "normalizer": 2, "flags": 4, "reserved": 1}
    program_values = read_program(small)
    wrong |= {field: program_values[field] + 1 for field in ("model_size", "vocab_size", "max_token_bytes")}
    for field, value in wrong.items():
        case(f"program with {field} {value}", "program", program(small, **{field: value}))
    case("max_token_bytes 0", "program", program(small, max_token_bytes=0))
    case("max_token_bytes 2^32 - 1", "program", program(small, max_token_bytes=2**32 - 1))

    # tokens
    offsets = c.token_offsets
    case("first offset not 0", "token_offsets", array(small, "token_offsets", "I", {0: 1}))
    case("last offset too large", "token_offsets", array(small, "token_offsets", "I", {-1: offsets[-1] + 1}))
    swapped = {300: offsets[301], 301: offsets[300]}
    case("offsets fall", "token_offsets", array(small, "token_offsets", "I", swapped))
    for name, value in {"a little": offsets[-1] + 1, "far": 2**31, "to the end of 32 bits": 2**32 - 1}.items():
        # The token before the jump is raw and its bytes come last, so that they are read as text to the end and on.
        jump = {
            "token_offsets": array(small, "token_offsets", "I", {raw + 1: value}),
            "program": program(small, max_token_bytes=2**32 - 1),
            "token_bytes": contents["token_bytes"],
        }
        case(f"an offset jumps {name}", "token_offsets", jump)
    case("token_bytes is shorter", "token_offsets", {"token_bytes": contents["token_bytes"][:-1]})
    case("token_bytes is empty", "token_offsets", {"token_bytes": b""})
    case("another token's bytes", "trie", {"token_bytes": b"\0" + contents["token_bytes"][1:]})
    case("a flag that is not known", "token_flags", flags(a, c.token_flags[a] | 64))
    case("flags of a hole", "token_flags", flags(hole, plain.PRESENT))
    case("present, of no vocabulary", "token_flags", flags(hole, plain.PRESENT | plain.RAW))
    case("special, not added", "token_flags", flags(a, c.token_flags[a] | plain.SPECIAL))
    case("raw, but spells bytes", "token_flags", flags(whole, plain.PRESENT | plain.MODEL | plain.RAW))
    case("a token goes missing", "token_flags", flags(whole, 0))
    case("not whole, but is", "token_flags", flags(whole, c.token_flags[whole] & ~plain.WHOLE))
    for name in ("theq", "internationalizationalism"):
        case(f"{name} is whole", "token_flags", flags(vocab[name], c.token_flags[vocab[name]] | plain.WHOLE))
    case("a raw token is whole", "token_flags", flags(raw, c.token_flags[raw] | plain.WHOLE))
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
    case("raw_tokens is empty", "raw_tokens", b"")
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
    for size in (2, 8192):
        case(f"{size} full slots", "pair_table", struct.pack("<Q", slot) * size)
    case("a long chain", "pair_table", struct.pack("<Q", slot) * (2**14 - 1) + b"\xff" * 8)
    case("a rank out of range", "pair_table", pairs({full: slot | (2**22 - 1)}))
    case("a left id out of range", "pair_table", pairs({full: slot | (2**21 - 1) << 43}))
    case("a right id out of range", "pair_table", pairs({full: slot | (2**21 - 1) << 22}))
    case("a pair where no search finds it", "pair_table", pairs({full: plain.EMPTY_PAIR, lonely: slot}))
    case("a pair twice", "pair_table", pairs({lonely: slot}))
    case("an empty pair_table", "byte_pair_ranks", {"pair_table": b"\xff" * 128})
    bit = plain.pair_home(slot >> 43, slot >> 22 & 2**21 - 1, 64 * len(c.pair_filter))
    lacking = c.pair_filter[bit // 64] & ~(1 << bit % 64)
    case("pair_filter lacks a pair", "pair_filter", array(small, "pair_filter", "Q", {bit // 64: lacking}))
    case("pair_filter of zeros", "pair_filter", bytes(len(contents["pair_filter"])))
    case("a small pair_filter of zeros", "pair_filter", bytes(8))
    rank, left, right, _ = next(m for m in c.merges() if len(c.bytes_of(m[3])) == 2)
    pair = 256 * c.bytes_of(left)[0] + c.bytes_of(right)[0]
    for name, changes in {
        "out of range": {pair: c.n_merges},
        "of another merge": {pair: rank + 1},
        "missing": {pair: plain.NO_RANK},
        "for a pair that has none": {256 * 0xFF + 0xFF: rank},
    }.items():
        case(f"byte_pair_ranks {name}", "byte_pair_ranks", array(small, "byte_pair_ranks", "I", changes))

    # words
    words = c.words()
    buckets = len(c.word_table) // 2

    def entry_of(word: bytes) -> int:
        """Where a word's entry begins."""
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
    for count in (0, 1, 3, 5, 15):
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
    for size in (2, 2 * buckets):
        case(f"{size} full entries", "word_table", filled * size)
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
            "a parent below -1": {m + leaf: -2},
            "a node that is its own parent": {m + leaf: leaf, leaf: leaf},
            "a cycle": {m + parent: leaf, leaf: parent},
            "a value out of range": {2 * m + leaf: value},
            "a value of 2^31 - 1": {2 * m + leaf: 2**31 - 1},
            "a value below -1": {2 * m + leaf: -2},
            "a key less": {2 * m + leaf: -1},
            "the empty key": {2 * m: trie.values[leaf]},
        }.items():
            case(f"{name}: {change}", name, array(small, name, "i", at))
        case(f"{name}: another value", name, array(small, name, "i", {2 * m + leaf: (trie.values[leaf] + 1) % 2}))
        case(f"{name}: one key more", name, trie_of(values | {b"a key that was never in it": min(values.values())}))
        case(f"{name}: the same keys otherwise", name, trie_of({key[::-1]: i for key, i in values.items()}))
        case(f"{name}: empty", name, b"")
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

    # post-processor
    good = struct.unpack(f"<{len(contents['post_processor']) // 4}I", contents["post_processor"])
    assert len(good) > 12
    roberta = (plain.ROBERTA, 0, special, special, 0, 0)
    template = (plain.TEMPLATE, 0, 0, 0, 1, 0, 0, 0, 1)
    for name, stream in {
        "empty": (),
        "cut": good[:-1],
        "cut in the middle": good[: len(good) // 2],
        "words left over": (*good, 0),
        "2^32 - 1 steps": (2**32 - 1, *good[1:]),
        "a step too many": (good[0] + 1, *good[1:]),
        "a step too few": (good[0] - 1, *good[1:]),
        "kind 0": (1, 0, 0, 0, 0, 0, 0),
        "kind 4": (1, 4, 0, 0, 0, 0, 0),
        "unknown flags": (1, 1, 4, 0, 0, 0, 0),
        "sep out of range": (1, 3, 0, n, special, 0, 0),
        "sep without a token": (1, 3, 0, hole, special, 0, 0),
        "cls out of range": (1, 3, 0, special, 2**32 - 1, 0, 0),
        "cls without a token": (1, 3, 0, special, hole, 0, 0),
        "2^32 - 1 pieces": (1, 2, 0, 0, 0, 2**32 - 1, 0),
        "pieces for all that is left": (1, 2, 0, 0, 0, 3, 0, 0, 0),
        "2^32 - 1 ids": (1, *template[:-1], 2**32 - 1, special, 0),
        "an id out of range": (1, *template, n, 0),
        "an id without a token": (1, *template, hole, 0),
        "sequence 2": (1, 2, 0, 0, 0, 1, 1, 2, 0, 0, 0),
        "neither sequence nor special": (1, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0),
        "65 steps": (65, *roberta * 65),
        "20,000 steps": (20_000, *roberta * 20_000),
    }.items():
        case(f"post_processor: {name}", "post_processor", struct.pack(f"<{len(stream)}I", *stream))

    out: dict[str, tuple[bytes, str]] = {}
    for name, (section, content) in cases.items():
        changes = content if isinstance(content, dict) else {section: content}
        out[name] = (rewritten(small, changes), rf"section {section}\b")

    # With ignore_merges, a token that is missing from the table would be merged.
    reader = plain.Cartridge(ignoring)
    table_words = reader.words()
    lost = next(word for word in table_words if len(reader.merge(word)) > 1)
    fewer = {word: ids for word, ids in table_words.items() if word != lost}
    buckets = len(reader.word_table) // 2
    for name, entries in {"lacks": fewer, "merges": fewer | {lost: tuple(reader.merge(lost))}}.items():
        data = rewritten(ignoring, {"word_table": word_table(entries, buckets)})
        out[f"ignore_merges: the table {name} a token"] = (data, "section word_table ")
    return out


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
