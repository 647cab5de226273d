"""Every packaged profile runs in the engine, is complete, matches docs/profiles.md, and gives the ids of stock
tokenizers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers

import crayon_hf

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


@pytest.fixture(scope="module", params=NAMES)
def profile(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def ours(profile) -> crayon_hf.Tokenizer:
    return crayon_hf.Tokenizer.from_profile(profile)


@pytest.fixture(scope="module")
def stock(profile) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(FOLDER / f"{profile}.json"))


def test_compiled_when_built(profile, ours):
    report = ours.engine_report()
    assert report["engine"] == "native", report
    assert report["cartridge"] == str(FOLDER / f"{profile}.dat")


def test_special_tokens_are_the_last_ids(profile, ours, stock):
    size, names = PROMISED[profile]
    added = {id: token.content for id, token in stock.get_added_tokens_decoder().items()}
    assert added == dict(enumerate(names, size - len(names)))
    for id, name in added.items():
        assert ours.encode(name).ids == [id]
        assert ours.decode([id]) == ""
        assert ours.decode([id], skip_special_tokens=False) == name


@pytest.mark.parametrize("text", TEXTS)
def test_same_as_stock(ours, stock, text):
    left, right = ours.encode(text), stock.encode(text)
    assert left.ids == right.ids
    assert left.offsets == right.offsets
    assert left.tokens == right.tokens
    assert ours.decode(left.ids, skip_special_tokens=False) == text


def test_the_recipe_of_science_gives_the_file(tmp_path):
    made = tmp_path / "science.json"
    command = [sys.executable, "-m", "conversion.profiles.science", "-o", made]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{made}: 530 terms, 9796 bytes\n"
    assert made.read_bytes() == (FOLDER / "science.json").read_bytes()
