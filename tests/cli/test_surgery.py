"""crayon-hf extend and shrink, as a shell sees them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import Tokenizer, extend, shrink
from tests.cli.shell import failure, good
from tests.support.command import call
from tests.training.surgery_cases import vocabulary

TEXT = "The quick brown fox, the lazy dog; it's 2024!\n" * 3 + "漢字 and größe\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, text in {"a.txt": TEXT, "b.txt": TEXT.upper()}.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    vocabulary("bytes", 1).save(tmp_path / "old.json")
    return tmp_path


def run(here: Path, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[Any]:
    return call(*arguments, cwd=here, stdin=data)


def test_extend(here: Path) -> None:
    size = max(Tokenizer.from_file(here / "old.json").get_vocab().values()) + 1
    options = f"--vocab-size {size + 30} --min-frequency 2 --special-token <x> --max-token-length 6 --threads 1"
    words = f"extend old.json a.txt b.txt -o out {options}"
    lines = good(run(here, *words.split())).splitlines()
    assert lines[0].endswith(f"{os.path.join('out', 'id_map.json')}: {size + 30} ids")
    assert lines[1] == "new tokens: 30"
    assert re.fullmatch(r"time: \d+\.\d s", lines[2])
    given: dict[str, Any] = {"vocab_size": size + 30, "min_frequency": 2, "special_tokens": ["<x>"]}
    expected = extend(here / "old.json", [here / "a.txt", here / "b.txt"], max_token_length=6, **given)
    assert Tokenizer.from_file(here / "out").get_vocab() == expected.tokenizer.get_vocab()
    assert json.loads((here / "out" / "id_map.json").read_text()) == expected.id_map.tolist()
    words = "extend old.json - -o few.json --new-tokens 900 --limit-alphabet 0"
    lines = good(run(here, *words.split(), data=b"xyz")).splitlines()
    assert lines[1].startswith("new tokens: 2, 900 requested")


def test_shrink(here: Path) -> None:
    lines = good(run(here, *["shrink", "old.json", "-o", "small", "--vocab-size", "262", "--keep", "ab"])).splitlines()
    assert lines[0].endswith("262 tokens")
    expected = shrink(here / "old.json", vocab_size=262, keep=["ab"])
    assert lines[1] == f"lost tokens: {expected.lost_tokens}"
    assert Tokenizer.from_file(here / "small").get_vocab() == expected.tokenizer.get_vocab()
    assert json.loads((here / "small" / "id_map.json").read_text()) == expected.id_map.tolist()
    good(run(here, *["shrink", "old.json", "-o", "used.json", "--used-by", "a.txt", "b.txt", "--min-frequency", "2"]))
    expected = shrink(here / "old.json", used_by=[here / "a.txt", here / "b.txt"], min_frequency=2)
    assert Tokenizer.from_file(here / "used.json").get_vocab() == expected.tokenizer.get_vocab()


def test_what_is_refused(here: Path) -> None:
    before = sorted(os.listdir(here))
    cases = (
        ("extend old.json a.txt -o out", 2, "--vocab-size or --new-tokens"),
        ("extend old.json a.txt -o out --vocab-size 9k --new-tokens 9", 2, "cannot be combined"),
        ("extend old.json none.txt -o out --new-tokens 9", 1, "none.txt"),
        ("shrink old.json -o out", 2, "--vocab-size or --used-by"),
        ("shrink old.json -o out --vocab-size 262 --keep no-such", 1, "no-such"),
        ("shrink nowhere -o out --vocab-size 9", 1, "nowhere"),
    )
    for words, code, message in cases:
        assert message in failure(run(here, *words.split()), code)
    assert sorted(os.listdir(here)) == before
