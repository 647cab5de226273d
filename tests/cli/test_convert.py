"""crayon-hf convert in a shell: any source to any form, and the result at work in other commands."""

from __future__ import annotations

import json
import os
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
def here(tmp_path, monkeypatch) -> Path:
    """An empty directory, in which the commands run."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def ids(tokenizer: str | Path) -> list[int]:
    return [int(id) for id in good(call("encode", TEXT, "-t", tokenizer)).split()]


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
def test_to_a_directory(here, gpt2_like, slow):
    """The output is named after the source: a file, a directory, or the directory of a file with a generic name."""
    expected = tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    of_slow = (slow, slow / "vocab.json", slow / "merges.txt")
    sources = {gpt2_like: "gpt2_like", **dict.fromkeys(of_slow, "slow-1.5")}
    for source, name in sources.items():
        paths = [os.path.join(name, file) for file in (NAMES[1], NAMES[2], NAMES[0])]
        assert good(call("convert", source)) == f"wrote {joined(paths)}: 2,000 tokens\n"
        assert sorted(os.listdir(here / name)) == NAMES
        assert ids(name) == ids(here / name / "tokenizer.dat") == expected
    for given, made in ((here / "a" / "b", "a/b"), ("c/", "c"), ("d-2.5", "d-2.5")):
        good(call("convert", slow, "-o", given))
        assert sorted(os.listdir(here / made)) == NAMES
    good(call("convert", slow, "-o", slow))  # into the source itself, as the command says
    assert sorted(os.listdir(slow)) == sorted([*NAMES, "vocab.json", "merges.txt"])


def test_not_over_the_source(here, gpt2_like):
    (here / "m").mkdir()
    (here / "m" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    for source in ("m", "m/tokenizer.json", here / "m"):
        assert "'m', like the source: give -o" in failure(call("convert", source))
    assert os.listdir(here / "m") == ["tokenizer.json"]
    (here / "x.json").write_bytes(gpt2_like.read_bytes())
    assert "'x.json', like the source" in failure(call("convert", "x.json", "--to", "tokenizer.json"))
    (here / "y").write_bytes(gpt2_like.read_bytes())
    assert "'y', like the source" in failure(call("convert", "y"))


def test_forms(here, gpt2_like):
    vocabulary = convert(gpt2_like)
    assert good(call("convert", gpt2_like, "--to", "v2")) == "wrote gpt2_like.dat and gpt2_like.json: 1,999 tokens\n"
    made = to_crayon_v2(vocabulary)
    assert ((here / "gpt2_like.dat").read_bytes(), (here / "gpt2_like.json").read_bytes()) == made[:2]

    ranks = to_tiktoken(vocabulary)
    for options in (["--to", "tiktoken"], ["-o", "gpt2_like.tiktoken"], ["--to", "tiktoken", "-o", "."]):
        lines = good(call("convert", gpt2_like, *options)).splitlines()
        assert lines[0].endswith("gpt2_like.tiktoken: 1,999 tokens")
        assert lines[1:] == [f"pattern: {ranks.pattern}", "special token: <|endoftext|>=0"]
        assert (here / "gpt2_like.tiktoken").read_bytes() == ranks.data
    facts = ["--pattern", ranks.pattern, "--special", "<|endoftext|>=0"]
    good(call("convert", "gpt2_like.tiktoken", "-o", "back/", *facts))
    assert ids("back") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids

    expected = Tokenizer.from_file(gpt2_like).to_str(pretty=True).encode()
    for options in (["--to", "tokenizer.json", "-o", "."], ["-o", "tokenizer.json"]):
        assert good(call("convert", gpt2_like, *options)) == "wrote tokenizer.json: 2,000 tokens\n"
        assert (here / "tokenizer.json").read_bytes() == expected


def test_sentencepiece_and_gguf(here, gpt2_like, qwen_like):
    for options in (["--to", "gguf"], ["-o", "gpt2_like.gguf"]):
        out = good(call("convert", gpt2_like, *options))
        assert out == "wrote gpt2_like.gguf: 2,000 tokens\nmodel: gpt2, pre-tokenizer: gpt-2\n"
    assert (here / "gpt2_like.gguf").read_bytes() == to_gguf(convert(gpt2_like)).data
    assert ids("gpt2_like.gguf") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    assert "ByteLevel" in failure(call("convert", gpt2_like, "--to", "sentencepiece"))
    assert "the normalizer NFC" in failure(call("convert", qwen_like, "--to", "gguf"))
    assert "--inexact is for" in failure(call("convert", qwen_like, "--to", "tiktoken", "--inexact"))
    assert os.listdir(here) == ["gpt2_like.gguf"]
    out = good(call("convert", qwen_like, "-o", "q.gguf", "--inexact"))
    assert "not exact: the normalizer NFC: " in out
    assert "has another tokenizer" in failure(call("convert", qwen_like, "-o", "gpt2_like.gguf", "--inexact"))
    good(call("convert", qwen_like, "-o", "gpt2_like.gguf", "--inexact", "--overwrite"))

    merges = [["a", "b"]]
    model = {**BPE, "unk_token": "<unk>", "fuse_unk": True, "merges": merges}
    model |= {"vocab": {"<unk>": 0, "a": 1, "b": 2, "\u2581": 3, "ab": 4}}
    escaped = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    (here / "t.json").write_text(json.dumps(whole_document(model, normalizer=escaped)))
    assert good(call("convert", "t.json", "-o", "t.model")) == "wrote t.model: 5 tokens\n"
    assert good(call("encode", "ab a", "-t", "t.model")).split() == ["4", "3", "1"]


def test_names_of_outputs(here, gpt2_like):
    out = good(call("convert", gpt2_like, "-o", "x.dat"))
    assert out == "wrote x.dat and x.json: 2,000 tokens\n"
    assert (here / "x.json").read_bytes() == gpt2_like.read_bytes()
    assert ids("x.dat") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    assert ".dat" in failure(call("convert", gpt2_like, "-o", "x.bin"))
    assert str(here / "no") in failure(call("convert", gpt2_like, "-o", here / "no" / "x.dat"))
    assert "must end in .dat" in failure(call("convert", gpt2_like, "--to", "v2", "-o", "x.json"))
    assert "must end in .gguf" in failure(call("convert", gpt2_like, "--to", "gguf", "-o", "x.model"))
    assert "onnx" in failure(call("convert", gpt2_like, "--to", "onnx"), 2)


def test_what_fails_leaves_nothing(here, gpt2_like, wordpiece_like):
    assert "GGUF" in failure(call("convert", __file__))
    assert "no-such" in failure(call("convert", "no-such"))
    assert "rank files" in failure(call("convert", gpt2_like, "--pattern", "x"))
    assert "byte-level BPE" in failure(call("convert", wordpiece_like, "--to", "tiktoken"))
    assert "##" in failure(call("convert", wordpiece_like, "--to", "v2"))
    document = json.loads(gpt2_like.read_bytes())
    document["model"]["vocab"]["far"] = 3_000_000
    (here / "far.json").write_text(json.dumps(document))
    for output in ("x", "x.dat"):
        message = failure(call("convert", "far.json", "-o", output))
        assert "the engine does not support it" in message
        assert "--to tokenizer.json" in message
    assert os.listdir(here) == ["far.json"]
    good(call("convert", "far.json", "--to", "tokenizer.json", "-o", "y.json"))
