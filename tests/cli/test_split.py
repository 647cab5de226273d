"""``crayon-hf split``: its lines are the chunks of `Tokenizer.split_text` and `split_file`."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from crayon_hf import Tokenizer
from tests.support.command import call

TEXT = "One two, thrée. Four.\r\n\r\nFive six\n\n seven <|endoftext|> eight" * 3


@pytest.fixture
def run(gpt2_like):
    def run(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
        return call("split", *arguments, "-t", gpt2_like, stdin=stdin, environment={"NO_COLOR": "1"})

    return run


def rows(done: subprocess.CompletedProcess[bytes]) -> list[dict]:
    assert (done.returncode, done.stderr) == (0, b""), done
    return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]


def refusal(done: subprocess.CompletedProcess[bytes], code: int) -> str:
    assert (done.returncode, done.stdout) == (code, b""), done
    return done.stderr.decode()


def test_texts_files_and_standard_input(run, gpt2_like, tmp_path):
    tokenizer = Tokenizer.from_file(str(gpt2_like))
    expected = [chunk._asdict() for chunk in tokenizer.split_text(TEXT, 9, 2, None)]
    options = ("-n", 9, "--overlap", 2, "--boundaries", "none")
    assert rows(run(TEXT, *options)) == expected
    assert rows(run(*options, stdin=TEXT)) == rows(run("-", *options, stdin=TEXT)) == expected
    assert rows(run(TEXT, "", TEXT, *options)) == expected * 2
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(TEXT.encode())
    files = rows(run("-f", *paths, *options))
    assert files == [{"file": str(path)} | each for path in paths for each in expected]


def test_options(run, gpt2_like):
    tokenizer = Tokenizer.from_file(str(gpt2_like))
    lines = [chunk._asdict() for chunk in tokenizer.split_text(TEXT, 9, 0, re.compile(r"\n"), strip=True)]
    assert rows(run(TEXT, "-n", 9, "--pattern", r"\n", "--strip")) == lines
    for row in lines:
        row["tokens"] = len(row.pop("ids"))
    assert rows(run(TEXT, "-n", 9, "--pattern", r"\n", "--strip", "--no-ids")) == lines
    tokenizer.encode_special_tokens = True
    as_text = [chunk._asdict() for chunk in tokenizer.split_text(TEXT, 9, 0, None)]
    assert rows(run(TEXT, "-n", 9, "--boundaries", "none", "--special-as-text")) == as_text


def test_special_tokens_around_chunks(run, template_like):
    tokenizer = Tokenizer.from_file(str(template_like))
    expected = [chunk._asdict() for chunk in tokenizer.split_text(TEXT, 9, boundaries=None, add_special_tokens=True)]
    done = call("split", TEXT, "-n", "9", "--boundaries", "none", "--special", "-t", template_like)
    assert rows(done) == expected


@pytest.mark.slow
@pytest.mark.parametrize("boundaries", ["paragraph", "sentence", "word", "markdown"])
def test_named_boundaries(boundaries, run, gpt2_like):
    pytest.importorskip("icu4py")
    pytest.importorskip("markdown_it")
    tokenizer = Tokenizer.from_file(str(gpt2_like))
    expected = [chunk._asdict() for chunk in tokenizer.split_text(TEXT, 9, 2, boundaries)]
    assert rows(run(TEXT, "-n", 9, "--overlap", 2, "--boundaries", boundaries)) == expected


def test_what_cannot_be_is_refused(run, tmp_path):
    assert "--max-tokens" in refusal(run("a"), 2)
    assert "max_tokens is 0" in refusal(run("a", "-n", 0, "--boundaries", "none"), 2)
    assert "overlap is 4" in refusal(run("a", "-n", 4, "--overlap", 4, "--boundaries", "none"), 2)
    assert "'sentences', expected one of" in refusal(run("a", "-n", 4, "--boundaries", "sentences"), 2)
    assert "not a regular expression" in refusal(run("a", "-n", 4, "--pattern", "("), 2)
    assert "cannot be combined" in refusal(run("a", "-n", 4, "-f", tmp_path), 2)
    assert "none" in refusal(run("-n", 4, "-f", tmp_path / "none"), 1)
    (tmp_path / "bad").write_bytes(b"ab\xff")
    message = refusal(run("-n", 4, "--boundaries", "none", "-f", tmp_path / "bad"), 1)
    assert f"{tmp_path / 'bad'}: " in message
    assert "offset 2" in message
