"""Every packaged profile: native, complete, as docs/profiles.md says, and equal to stock tokenizers."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers

import crayon_hf
from crayon_hf.util.byte_level import BYTE_LEVEL

SPECIALS = ["<|endoftext|>", "<|pad|>", "<|unk|>", "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>"]
PROMISED = {"lite": (50_000, SPECIALS), "science": (786, []), "standard": (206_373, SPECIALS)}

ROOT = Path(__file__).parents[2]
FOLDER = Path(crayon_hf.__file__).parent / "profiles"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))

TEXTS = [
    "",
    " ",
    "The quick brown fox doesn't jump over 13 lazy dogs; it's 1,024.5 km/h slower.\n\n\tAnd   so on...  \n",
    "def f(x: int) -> dict[str, float]:\n    return {'a': x ** 2, \"b\": 0x1F}  # ok\r\n",
    r"\int_{0}^{\infty} x^2 e^{-x} dx = 2!, $E = \hbar\omega$, ∑ β ≤ Ω, H2SO4 at 25 °C, 5 µm",
    "Ünïcödé · Ελληνικά · русский · עברית · العربية · हिन्दी · বাংলা · ไทย · 中文 · 日本語 · 한국어 · Tiếng Việt",
    "👩‍👩‍👧 e\u0301 \u200b\ufeff \U0010ffff \u0378 \x00\x7f\x85",
    "<|endoftext|> <|im_start|>user<|im_end|>",
    "a" * 500 + " " * 500 + "\n" * 50,
]


def random_texts(count: int) -> list[str]:
    rng = random.Random(6)
    ranges = [(0, 0x7F), (0x20, 0x7E), (0x80, 0x7FF), (0x900, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]
    texts = []
    for _ in range(count):
        low, high = rng.choice(ranges)
        texts.append("".join(chr(rng.randint(low, high)) * rng.choice((1, 1, 1, 9)) for _ in range(rng.randint(1, 30))))
    return texts


@pytest.fixture(scope="module", params=NAMES)
def profile(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def ours(profile) -> crayon_hf.Tokenizer:
    return crayon_hf.Tokenizer.from_profile(profile)


@pytest.fixture(scope="module")
def stock(profile) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(FOLDER / f"{profile}.json"))


def test_what_the_issue_names_is_there():
    assert {"lite", "science"} <= set(NAMES)


def test_compiled_when_built(profile, ours):
    report = ours.engine_report()
    assert report["engine"] == "native", report
    assert report["cartridge"] == str(FOLDER / f"{profile}.dat")


def test_ids_without_holes(profile, ours):
    size, _ = PROMISED[profile]
    assert ours.get_vocab_size() == size
    assert sorted(ours.get_vocab().values()) == list(range(size))


def test_special_tokens_are_the_last_ids(profile, ours, stock):
    size, names = PROMISED[profile]
    added = {id: token.content for id, token in stock.get_added_tokens_decoder().items()}
    assert added == dict(enumerate(names, size - len(names)))
    for id, name in added.items():
        assert ours.encode(name).ids == [id]
        assert ours.decode([id]) == ""
        assert ours.decode([id], skip_special_tokens=False) == name


@pytest.mark.slow
def test_every_byte_has_a_token(stock):
    vocab = stock.get_vocab()
    assert all(chr(symbol) in vocab for symbol in BYTE_LEVEL.values())
    assert json.loads(stock.to_str())["model"].get("byte_fallback", False) is False


def test_nothing_is_added_to_a_text(ours):
    assert ours.encode("").ids == []
    assert ours.encode("a b", "c").ids == ours.encode("a b").ids + ours.encode("c").ids


@pytest.mark.parametrize("text", TEXTS)
def test_same_as_stock(ours, stock, text):
    left, right = ours.encode(text), stock.encode(text)
    assert left.ids == right.ids
    assert left.offsets == right.offsets
    assert left.tokens == right.tokens
    assert ours.decode(left.ids, skip_special_tokens=False) == text


def test_random_texts_come_back(ours, stock):
    texts = random_texts(500)
    for text, left, right in zip(texts, ours.encode_batch(texts), stock.encode_batch(texts), strict=True):
        assert left.ids == right.ids, repr(text)
        assert ours.decode(left.ids, skip_special_tokens=False) == text


def test_bytes_that_are_no_text_come_back(ours):
    rng = random.Random(7)
    for _ in range(100):
        data = rng.randbytes(rng.randint(1, 60))
        assert ours.decode_bytes(ours.encode_bytes(data)) == data


def test_the_recipe_of_science_gives_the_file(tmp_path):
    made = tmp_path / "science.json"
    command = [sys.executable, "-m", "conversion.profiles.science", "-o", made]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{made}: 530 terms, 9796 bytes\n"
    assert made.read_bytes() == (FOLDER / "science.json").read_bytes()
