"""crayon-hf train, extend and shrink in a shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from crayon_hf import Tokenizer, extend, shrink, train_bpe
from crayon_hf.util.wording import joined
from tests.cli.shell import COMMAND, failure, good
from tests.support.command import call
from tests.support.versions import IS_BESIDE_1, before_1
from tests.training.surgery_cases import vocabulary

TEXT = "The quick brown fox, the lazy dog; it's 2024!\n" * 3 + "漢字 and größe\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with texts, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.txt": TEXT, "b.txt": TEXT.upper()}.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return tmp_path


@pytest.fixture
def old(here: Path) -> None:
    """Write a tokenizer, old.json, beside the texts."""
    vocabulary("bytes", 1).save(here / "old.json")


def saved(here: Path, name: str) -> str:
    return tokenizers.Tokenizer.from_file(str(here / name)).to_str()


def test_a_file(here: Path) -> None:
    lines = good(call("train", "a.txt", "-o", "out", "--vocab-size", "280")).splitlines()
    paths = [os.path.join("out", name) for name in ("tokenizer.json", "tokenizer_config.json", "tokenizer.dat")]
    assert lines[0] == f"wrote {joined(paths)}: 280 tokens"
    assert lines[1] == "merges: 24"
    assert re.fullmatch(r"words: \d+, \d+ of them different", lines[2])
    assert re.fullmatch(r"time: .* s, 0\.0 MB of text, .* MB/s", lines[3])
    expected = train_bpe(here / "a.txt", vocab_size=280)
    made = Tokenizer.from_file(here / "out")
    assert made.engine == "native"
    assert made.get_vocab() == expected.get_vocab()


def test_files_and_options(here: Path) -> None:
    words = "[ab].txt -o out.json --vocab-size 300 --min-frequency 3 --pattern gpt2 --special-token <s>"
    good(call("train", *words.split(), *["--special-token", "</s>", "--max-token-length", "4", "--threads", "1"]))
    given: dict[str, Any] = {"vocab_size": 300, "min_frequency": 3, "pattern": "gpt2", "max_token_length": 4}
    expected = train_bpe([here / "a.txt", here / "b.txt"], special_tokens=["<s>", "</s>"], **given)
    assert saved(here, "out.json") == expected.to_str()
    assert Tokenizer.from_file(here / "out.dat").get_vocab() == expected.get_vocab()
    words = r"**/[ab].txt -o narrow.json --regex \w+|\W --no-byte-alphabet --limit-alphabet 9"
    good(call("train", *words.split()))
    expected = train_bpe(
        [here / "a.txt", here / "b.txt"], pattern=crayon_hf.Regex(r"\w+|\W"), initial_alphabet=(), limit_alphabet=9
    )
    assert saved(here, "narrow.json") == expected.to_str()


def test_like_another(here: Path, template_like: Path) -> None:
    good(call("train", "a.txt", "-o", "a.json", "-t", str(template_like), "--vocab-size", "300"))
    assert saved(here, "a.json") == train_bpe(here / "a.txt", tokenizer=template_like, vocab_size=300).to_str()


@before_1("trainer of these models")
@pytest.mark.parametrize("model", ["unigram", "wordpiece", "wordlevel"])
def test_other_models(model: str, here: Path) -> None:
    lines = good(call("train", "a.txt", "-o", "out.dat", "--model", model, "--vocab-size", "90")).splitlines()
    assert lines[0].startswith("wrote out.json and out.dat: ")
    assert lines[1].endswith("s (trained by the tokenizers library)")
    assert Tokenizer.from_file(here / "out.dat").engine == "native"
    wrong = call("train", "a.txt", "-o", "x", "--model", model, "--pattern", "gpt2")
    assert "--pattern: only for --model bpe" in failure(wrong, 2)


@pytest.mark.usefixtures("old")
def test_what_is_wrong(here: Path) -> None:
    (here / "bad.jsonl").write_text('{"text": "ok"}\n{"text": 5}\n')
    (here / "bad.txt").write_bytes(b"ok\n\xff\n")
    before = sorted(os.listdir(here))
    no_regex = "--regex is not a regular expression"
    if IS_BESIDE_1:  # version 1.0 reads no files: the engine does
        no_regex = 'the regular expression "(" has a group without an end'
    cases = (
        ("train nope.txt -o out", 1, "nope.txt: No such file or directory"),
        ("train a.txt bad.jsonl -o out", 1, "bad.jsonl, line 2: "),
        ("train bad.txt -o out", 1, "bad.txt, line 2 "),
        ("train a.txt -o no/such", 1, f"{here / 'no'}: No such file or directory"),
        ("train a.txt -o out --pattern gpt9", 1, "unknown pattern 'gpt9'"),
        ("train a.txt -o out --regex (", 1, no_regex),
        ("train a.txt - -o out", 2, "standard input (-) and files cannot be combined"),
        ("extend old.json a.txt -o out", 2, "--vocab-size or --new-tokens"),
        ("extend old.json a.txt -o out --vocab-size 9k --new-tokens 9", 2, "cannot be combined"),
        ("extend old.json none.txt -o out --new-tokens 9", 1, "none.txt"),
        ("shrink old.json -o out", 2, "--vocab-size or --used-by"),
        ("shrink old.json -o out --vocab-size 262 --keep no-such", 1, "no-such"),
        ("shrink nowhere -o out --vocab-size 9", 1, "nowhere"),
    )
    for words, code, message in cases:
        assert message in failure(call(*words.split()), code)
    assert sorted(os.listdir(here)) == before


def test_a_directory(here: Path) -> None:
    """Training from a directory reads all its files with a known ending, except the output of an earlier run."""
    (here / "below").mkdir()
    (here / "below" / "c.jsonl").write_text('{"text": "from a record"}\n')
    (here / "below" / ".hidden.txt").write_text("hidden")
    (here / "notes.md").write_text("not known")
    (here / "out").mkdir()
    (here / "out" / "tokenizer.json").write_text("{}")
    lines = good(call("train", ".", "-o", "out", "--vocab-size", "0.3k", "--overwrite")).splitlines()
    assert lines[0].endswith(": 300 tokens")
    paths = [here / "a.txt", here / "b.txt", here / "below" / "c.jsonl"]
    expected = train_bpe(paths, vocab_size=300)
    assert Tokenizer.from_file(here / "out").get_vocab() == expected.get_vocab()
    shutil.rmtree(here / "out")
    assert train_bpe(here, vocab_size=300).get_vocab() == expected.get_vocab()
    (here / "empty").mkdir()
    assert "no file there" in failure(call("train", "empty", "-o", "out"))
    (here / "empty" / "notes.md").write_text("a note\n" * 9)
    assert "known ending" in failure(call("train", "empty", "-o", "out"))
    assert call("train", "empty", "-o", "out", "--format", "text", "--vocab-size", "300").returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("stage", ["Count words", "Compute merges"])
def test_interrupted(stage: str, here: Path) -> None:
    """Ctrl-C during training exits with code 130 at once, and leaves no file."""
    words = [f"{number:x}" * (1 + number % 5) for number in range(300_000)]
    (here / "many.txt").write_text("\n".join(words))
    # An endless input keeps it counting; a huge vocabulary keeps it merging.
    names = ["many.txt"] * (2000 if stage == "Count words" else 1)
    before = sorted(os.listdir(here))
    arguments = [*COMMAND, "train", *names, "-o", "out", "--vocab-size", "4000000", "--progress", "--pattern", "gpt2"]
    child: Any = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here)
    try:
        for line in child.stderr:
            if line.startswith(stage.encode()):
                break
        child.send_signal(signal.SIGINT)
        # 0.2 s is documented; the machine may be busy, and without the signal it takes minutes.
        assert child.wait(60) == 130
        assert sorted(os.listdir(here)) == before
    finally:
        child.kill()
        child.communicate()


# -- extend and shrink


@pytest.mark.usefixtures("old")
def test_extend(here: Path) -> None:
    size = max(Tokenizer.from_file(here / "old.json").get_vocab().values()) + 1
    options = f"--vocab-size {size + 20} --min-frequency 2 --special-token <x> --max-token-length 3 --threads 1"
    words = f"extend old.json a.txt b.txt -o out {options}"
    lines = good(call(*words.split())).splitlines()
    assert lines[0].endswith(f"{os.path.join('out', 'id_map.json')}: {size + 20} ids")
    assert lines[1] == "new tokens: 20"
    assert re.fullmatch(r"time: \d+\.\d s", lines[2])
    given: dict[str, Any] = {"vocab_size": size + 20, "min_frequency": 2, "special_tokens": ["<x>"]}
    expected = extend(here / "old.json", [here / "a.txt", here / "b.txt"], max_token_length=3, **given)
    assert Tokenizer.from_file(here / "out").get_vocab() == expected.tokenizer.get_vocab()
    assert json.loads((here / "out" / "id_map.json").read_text()) == expected.id_map.tolist()
    words = "extend old.json - -o few.json --new-tokens 900 --limit-alphabet 0"
    lines = good(call(*words.split(), stdin=b"xyz")).splitlines()
    assert lines[1].startswith("new tokens: 2, 900 requested")


@pytest.mark.usefixtures("old")
def test_shrink(here: Path) -> None:
    lines = good(call(*["shrink", "old.json", "-o", "small", "--vocab-size", "262", "--keep", "ab"])).splitlines()
    assert lines[0].endswith("262 tokens")
    expected = shrink(here / "old.json", vocab_size=262, keep=["ab"])
    assert lines[1] == f"lost tokens: {expected.lost_tokens}"
    assert Tokenizer.from_file(here / "small").get_vocab() == expected.tokenizer.get_vocab()
    assert json.loads((here / "small" / "id_map.json").read_text()) == expected.id_map.tolist()
    words = "shrink old.json -o used.json --used-by a.txt b.txt --min-frequency 2"
    good(call(*words.split()))
    expected = shrink(here / "old.json", used_by=[here / "a.txt", here / "b.txt"], min_frequency=2)
    assert Tokenizer.from_file(here / "used.json").get_vocab() == expected.tokenizer.get_vocab()
