"""crayon-hf convert, as a shell sees it: any source to any form, and the result at work in the other commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers

from crayon_hf import Tokenizer, _core
from crayon_hf.cli.conversion import _Progress
from crayon_hf.formats import convert
from crayon_hf.formats.crayon_v2 import read_crayon_v2
from crayon_hf.formats.export import to_crayon_v2, to_tiktoken
from tests.support.command import call
from tests.support.versions import before_1

COMMAND = [sys.executable, "-c", "import sys; from crayon_hf.cli import main; sys.exit(main())"]
TEXT = "Hello, wörld! It's 2024."
NAMES = ["tokenizer.dat", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def run(tmp_path):
    """Run a command in an empty directory of its own."""
    (tmp_path / "here").mkdir()

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = call(*arguments, cwd=tmp_path / "here")
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def here(tmp_path) -> Path:
    return tmp_path / "here"


def good(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def failure(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done
    (message,) = done.stderr.splitlines()
    return message.removeprefix("crayon-hf: error: ")


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
    """Called after the source: a file, a directory, or the directory of a file whose name says nothing."""
    expected = tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    sources = {
        gpt2_like: "gpt2_like",
        slow: "slow-1.5",
        slow / "vocab.json": "slow-1.5",
        slow / "merges.txt": "slow-1.5",
    }
    for source, name in sources.items():
        paths = [os.path.join(name, file) for file in (NAMES[1], NAMES[2], NAMES[0])]
        assert good(run("convert", source)) == f"wrote {' and '.join(paths)}: 2000 tokens\n"
        assert sorted(os.listdir(here / name)) == NAMES
        assert ids(run, name) == ids(run, here / name / "tokenizer.dat") == expected
    for given, made in ((here / "a" / "b", "a/b"), ("c/", "c"), ("d-2.5", "d-2.5")):
        good(run("convert", slow, "-o", given))
        assert sorted(os.listdir(here / made)) == NAMES
    good(run("convert", slow, "-o", slow))  # into the source itself, since somebody says so
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
    assert good(run("convert", gpt2_like, "--to", "v2")) == "wrote gpt2_like.dat and gpt2_like.json: 1999 tokens\n"
    made = to_crayon_v2(vocabulary)
    assert ((here / "gpt2_like.dat").read_bytes(), (here / "gpt2_like.json").read_bytes()) == made[:2]

    ranks = to_tiktoken(vocabulary)
    for options in (["--to", "tiktoken"], ["-o", "gpt2_like.tiktoken"], ["--to", "tiktoken", "-o", "."]):
        lines = good(run("convert", gpt2_like, *options)).splitlines()
        assert lines[0].endswith("gpt2_like.tiktoken: 1999 tokens")
        assert lines[1:] == [f"pattern: {ranks.pattern}", "special token: <|endoftext|>=0"]
        assert (here / "gpt2_like.tiktoken").read_bytes() == ranks.data
    good(
        run("convert", "gpt2_like.tiktoken", "-o", "back/", "--pattern", ranks.pattern, "--special", "<|endoftext|>=0")
    )
    assert ids(run, "back") == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids

    expected = Tokenizer.from_file(gpt2_like).to_str(pretty=True).encode()
    for options in (["--to", "tokenizer.json", "-o", "."], ["-o", "tokenizer.json"]):
        assert good(run("convert", gpt2_like, *options)) == "wrote tokenizer.json: 2000 tokens\n"
        assert (here / "tokenizer.json").read_bytes() == expected


@pytest.mark.slow
@before_1("class that reads vocab.json and merges.txt")
def test_any_source_as_a_tokenizer(run, here, gpt2_like, slow):
    """What -t takes: whatever convert takes."""
    expected = tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    for tokenizer in (slow, slow / "merges.txt", gpt2_like.parent / gpt2_like.name):
        assert ids(run, tokenizer) == expected
    keys = [(bytes([byte]), byte) for byte in range(255)] + [(b"Hello", 255)]
    (here / "crayon").write_bytes(_core.write_cartridge_v2(*_core.build_double_array(sorted(keys))))
    stock = tokenizers.Tokenizer.from_str(read_crayon_v2((here / "crayon").read_bytes(), None).tokenizer_json.decode())
    assert ids(run, "crayon") == stock.encode(TEXT).ids
    assert good(run("convert", "crayon", "-o", "crayon-hf")).endswith(": 257 tokens\n")
    (here / "empty").mkdir()
    assert "tekken.json" in failure(run("encode", TEXT, "-t", "empty"))


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


def test_progress(run, capsys, monkeypatch):
    """On a terminal one line that goes away, elsewhere lines, and nothing unless it is asked for."""
    shown = _Progress()
    for done in range(3):
        shown("merging", done, 2)
    shown.end()
    assert capsys.readouterr().err == "merging: 0 of 2\nmerging: 2 of 2\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = _Progress()
    shown("merging", 2, 2)
    shown("done", 0, 0)
    shown.end()
    assert capsys.readouterr().err == f"\rmerging: 2 of 2\rdone           \r{'':4}\r"


@pytest.mark.slow
@before_1("class that reads vocab.json and merges.txt")
def test_no_file_of_the_source_is_lost(run, here, gpt2_like, slow):
    """The json beside a cartridge may have the name of what it was made of."""
    for name in ("vocab.json", "merges.txt"):
        (here / name).write_bytes((slow / name).read_bytes())
    tokens = [chr(byte) for byte in range(97, 123)]
    keys = [(token.encode(), id) for id, token in enumerate(tokens)]
    (here / "old.dat").write_bytes(_core.write_cartridge_v2(*_core.build_double_array(keys)))
    (here / "old.json").write_text(json.dumps(tokens))
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    for arguments in (("vocab.json", "-o", "vocab.dat"), ("old.dat", "-o", "old.json"), ("old.dat", "-o", "./old.dat")):
        assert "a file of the source, and would be overwritten" in failure(run("convert", *arguments))
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before
    # The same again is no loss.
    (here / "same.json").write_bytes(gpt2_like.read_bytes())
    good(run("convert", "same.json", "-o", "same.dat"))
    assert (here / "same.json").read_bytes() == gpt2_like.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="names are bytes here")
def test_a_name_that_is_not_utf8(run, here, gpt2_like):
    source = os.path.join(os.fsencode(here), b"\xff\xf0.json")
    with open(source, "wb") as file:
        file.write(gpt2_like.read_bytes())
    done = subprocess.run([*COMMAND, "convert", source, "-o", b"out\xff/"], capture_output=True, cwd=here)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"out\xff/tokenizer.dat" in done.stdout
    assert sorted(os.listdir(os.path.join(os.fsencode(here), b"out\xff"))) == [name.encode() for name in NAMES]


def test_a_directory_where_a_file_should_be(run, here, wordpiece_like):
    (here / "d" / "tokenizer.json").mkdir(parents=True)
    for command in (("convert", "d", "-o", "o/"), ("encode", "-t", "./d", "x")):
        assert "tokenizer.json" in failure(run(*command))
    (here / "out" / "tokenizer.dat").mkdir(parents=True)
    assert "out/tokenizer.dat: Is a directory" in failure(run("convert", wordpiece_like, "-o", "out/"))
    assert os.listdir(here / "out") == ["tokenizer.dat"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_nobody_waits_for_a_pipe(run, here):
    (here / "b").mkdir()
    (here / "b" / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\n")
    os.mkfifo(here / "b" / "tokenizer_config.json")
    assert "tokenizer_config.json is not a file" in failure(run("convert", "b", "-o", "out/"))


@before_1("class that reads vocab.json and merges.txt")
def test_parity_of_a_source_that_the_reference_does_not_read(run, here, slow):
    text = here / "text.txt"
    text.write_text("Some plain words.\n" * 9)
    out = good(run("parity", slow / "vocab.json", "--strings", "20", "--text", text, "--no-speed"))
    assert out.splitlines()[-1].startswith("all agree with tokenizers")
