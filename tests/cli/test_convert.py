"""crayon-hf convert in a shell: any source to any form, and the result at work in other commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import tokenizers

from crayon_hf import Tokenizer
from crayon_hf.formats import convert
from crayon_hf.formats.export import to_crayon_v2, to_gguf, to_tiktoken
from crayon_hf.tokenizer_json.parts import BPE, whole_document
from crayon_hf.util.wording import joined
from tests.cli.shell import failure, good
from tests.support.command import call
from tests.support.versions import before_1

TEXT = "Hello, wörld! It's 2024."
NAMES = ["tokenizer.dat", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def run(tmp_path):
    """A function that runs a command in an empty directory."""
    (tmp_path / "here").mkdir()

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        return call(*arguments, cwd=tmp_path / "here")

    return run


@pytest.fixture
def here(tmp_path) -> Path:
    return tmp_path / "here"


def ids(run, tokenizer: str | Path) -> list[int]:
    return [int(id) for id in good(run("encode", TEXT, "-t", tokenizer)).split()]


@pytest.fixture
def slow(tmp_path, gpt2_like) -> Path:
    """vocab.json and merges.txt in a directory with a dot in its name."""
    model = json.loads(gpt2_like.read_bytes())["model"]
    path = tmp_path / "slow-1.5"
    path.mkdir()
    (path / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (path / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])), encoding="utf-8")
    return path


@before_1("class that reads vocab.json and merges.txt")
def test_to_a_directory(run, here, gpt2_like, slow):
    """The output is named after the source: a file, a directory, or the directory of a file with a generic name."""
    expected = tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    sources = {
        gpt2_like: "gpt2_like",
        slow: "slow-1.5",
        slow / "vocab.json": "slow-1.5",
        slow / "merges.txt": "slow-1.5",
    }
    for source, name in sources.items():
        paths = [os.path.join(name, file) for file in (NAMES[1], NAMES[2], NAMES[0])]
        assert good(run("convert", source)) == f"wrote {joined(paths)}: 2,000 tokens\n"
        assert sorted(os.listdir(here / name)) == NAMES
        assert ids(run, name) == ids(run, here / name / "tokenizer.dat") == expected
    for given, made in ((here / "a" / "b", "a/b"), ("c/", "c"), ("d-2.5", "d-2.5")):
        good(run("convert", slow, "-o", given))
        assert sorted(os.listdir(here / made)) == NAMES
    good(run("convert", slow, "-o", slow))  # into the source itself, as the command says
    assert sorted(os.listdir(slow)) == sorted([*NAMES, "vocab.json", "merges.txt"])


def test_not_over_the_source(run, here, gpt2_like):
    (here / "m").mkdir()
    (here / "m" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    for source in ("m", "m/tokenizer.json", here / "m"):
        assert "'m', like the source: give -o" in failure(run("convert", source))
    assert os.listdir(here / "m") == ["tokenizer.json"]
    (here / "x.json").write_bytes(gpt2_like.read_bytes())
    assert "'x.json', like the source" in failure(run("convert", "x.json", "--to", "tokenizer.json"))
    (here / "y").write_bytes(gpt2_like.read_bytes())
    assert "'y', like the source" in failure(run("convert", "y"))


def test_forms(run, here, gpt2_like):
    vocabulary = convert(gpt2_like)
    assert good(run("convert", gpt2_like, "--to", "v2")) == "wrote gpt2_like.dat and gpt2_like.json: 1,999 tokens\n"
    made = to_crayon_v2(vocabulary)
    assert ((here / "gpt2_like.dat").read_bytes(), (here / "gpt2_like.json").read_bytes()) == made[:2]

    ranks = to_tiktoken(vocabulary)
    for options in (["--to", "tiktoken"], ["-o", "gpt2_like.tiktoken"], ["--to", "tiktoken", "-o", "."]):
        lines = good(run("convert", gpt2_like, *options)).splitlines()
        assert lines[0].endswith("gpt2_like.tiktoken: 1,999 tokens")
        assert lines[1:] == [f"pattern: {ranks.pattern}", "special token: <|endoftext|>=0"]
        assert (here / "gpt2_like.tiktoken").read_bytes() == ranks.data
    good(
        run("convert", "gpt2_like.tiktoken", "-o", "back/", "--pattern", ranks.pattern, "--special", "<|endoftext|>=0")
    )
    assert ids(run, "back") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids

    expected = Tokenizer.from_file(gpt2_like).to_str(pretty=True).encode()
    for options in (["--to", "tokenizer.json", "-o", "."], ["-o", "tokenizer.json"]):
        assert good(run("convert", gpt2_like, *options)) == "wrote tokenizer.json: 2,000 tokens\n"
        assert (here / "tokenizer.json").read_bytes() == expected


def test_sentencepiece_and_gguf(run, here, gpt2_like, qwen_like):
    for options in (["--to", "gguf"], ["-o", "gpt2_like.gguf"]):
        out = good(run("convert", gpt2_like, *options))
        assert out == "wrote gpt2_like.gguf: 2,000 tokens\nmodel: gpt2, pre-tokenizer: gpt-2\n"
    assert (here / "gpt2_like.gguf").read_bytes() == to_gguf(convert(gpt2_like)).data
    assert ids(run, "gpt2_like.gguf") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    assert "ByteLevel" in failure(run("convert", gpt2_like, "--to", "sentencepiece"))
    assert "the normalizer NFC" in failure(run("convert", qwen_like, "--to", "gguf"))
    assert "--inexact is for" in failure(run("convert", qwen_like, "--to", "tiktoken", "--inexact"))
    assert os.listdir(here) == ["gpt2_like.gguf"]
    out = good(run("convert", qwen_like, "-o", "q.gguf", "--inexact"))
    assert "not exact: the normalizer NFC: " in out
    assert "has another tokenizer" in failure(run("convert", qwen_like, "-o", "gpt2_like.gguf", "--inexact"))
    good(run("convert", qwen_like, "-o", "gpt2_like.gguf", "--inexact", "--overwrite"))

    merges = [["a", "b"]]
    model = {**BPE, "unk_token": "<unk>", "fuse_unk": True, "merges": merges}
    model |= {"vocab": {"<unk>": 0, "a": 1, "b": 2, "\u2581": 3, "ab": 4}}
    escaped = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    (here / "t.json").write_text(json.dumps(whole_document(model, normalizer=escaped)))
    assert good(run("convert", "t.json", "-o", "t.model")) == "wrote t.model: 5 tokens\n"
    assert good(run("encode", "ab a", "-t", "t.model")).split() == ["4", "3", "1"]


def test_names_of_outputs(run, here, gpt2_like):
    out = good(run("convert", gpt2_like, "-o", "x.dat"))
    assert out == "wrote x.dat and x.json: 2,000 tokens\n"
    assert (here / "x.json").read_bytes() == gpt2_like.read_bytes()
    assert ids(run, "x.dat") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    assert ".dat" in failure(run("convert", gpt2_like, "-o", "x.bin"))
    assert str(here / "no") in failure(run("convert", gpt2_like, "-o", here / "no" / "x.dat"))
    assert "must end in .dat" in failure(run("convert", gpt2_like, "--to", "v2", "-o", "x.json"))
    assert "must end in .gguf" in failure(run("convert", gpt2_like, "--to", "gguf", "-o", "x.model"))
    assert "onnx" in failure(run("convert", gpt2_like, "--to", "onnx"), 2)


def test_what_fails_leaves_nothing(run, here, gpt2_like, wordpiece_like):
    assert "GGUF" in failure(run("convert", __file__))
    assert "no-such" in failure(run("convert", "no-such"))
    assert "rank files" in failure(run("convert", gpt2_like, "--pattern", "x"))
    assert "byte-level BPE" in failure(run("convert", wordpiece_like, "--to", "tiktoken"))
    assert "##" in failure(run("convert", wordpiece_like, "--to", "v2"))
    document = json.loads(gpt2_like.read_bytes())
    document["model"]["vocab"]["far"] = 3_000_000
    (here / "far.json").write_text(json.dumps(document))
    for output in ("x", "x.dat"):
        message = failure(run("convert", "far.json", "-o", output))
        assert "the engine does not support it" in message
        assert "--to tokenizer.json" in message
    assert os.listdir(here) == ["far.json"]
    good(run("convert", "far.json", "--to", "tokenizer.json", "-o", "y.json"))
