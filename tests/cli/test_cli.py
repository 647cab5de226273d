"""The command line, as a shell sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
import tokenizers

from crayon_hf import Tokenizer
from tests.support.command import call
from tests.support.versions import IS_BESIDE_1, before_1

COMMAND = [sys.executable, "-c", "import sys; from crayon_hf.cli import main; sys.exit(main())"]
TEXT = "Hello, wörld! It's 2024."


@pytest.fixture(scope="module")
def home(tmp_path_factory, gpt2_like, llama3_like) -> Path:
    """A directory of profiles: lite and another."""
    directory = tmp_path_factory.mktemp("profiles")
    (directory / "lite.json").write_bytes(gpt2_like.read_bytes())
    (directory / "other.json").write_bytes(llama3_like.read_bytes())
    return directory


@pytest.fixture
def run(home):
    def run(*arguments: str | Path, stdin: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        return call(*arguments, stdin=stdin, environment={"CRAYON_PROFILE_DIR": str(home), **environment})

    return run


@pytest.fixture(scope="module")
def lite(gpt2_like) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(gpt2_like))


def line(ids: list[int]) -> bytes:
    return " ".join(map(str, ids)).encode() + b"\n"


def good(done: subprocess.CompletedProcess[bytes]) -> bytes:
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout


def failure(done: subprocess.CompletedProcess[bytes], code: int = 1) -> str:
    assert done.returncode == code, done
    (message,) = done.stderr.decode().splitlines()
    assert message.startswith("crayon-hf: error: ")
    return message


# -- encode


def test_encode_argument(run, lite):
    assert good(run("encode", TEXT)) == line(lite.encode(TEXT).ids)
    assert good(run("encode", TEXT, "b", "")) == line(lite.encode(TEXT).ids) + line(lite.encode("b").ids) + b"\n"


@pytest.mark.parametrize("dash", [[], ["-"]])
def test_encode_stdin(run, lite, dash):
    assert good(run("encode", *dash, stdin=f"{TEXT}\nx\n")) == line(lite.encode(f"{TEXT}\nx\n").ids)


def test_encode_file_and_lines(run, lite, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(f"{TEXT}\n\nx\r\ny".encode())
    assert good(run("encode", "-f", path)) == line(lite.encode(f"{TEXT}\n\nx\r\ny").ids)
    expected = b"".join(line(lite.encode(text).ids) for text in (TEXT, "", "x\r", "y"))
    assert good(run("encode", "--file", path, "--lines")) == expected
    assert good(run("encode", "--lines", stdin=path.read_bytes())) == expected


def test_encode_many_lines(run, lite):
    lines = [f"line {i}" for i in range(3000)]
    expected = b"".join(line(encoding.ids) for encoding in lite.encode_batch(lines))
    assert good(run("encode", "--lines", stdin="\n".join(lines))) == expected


def test_encode_json(run, lite):
    encoding = lite.encode(TEXT)
    (first, second) = good(run("encode", TEXT, "x", "--json")).splitlines()
    assert json.loads(first) == {
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": [list(pair) for pair in encoding.offsets],
    }
    assert json.loads(second)["ids"] == lite.encode("x").ids


def test_special_tokens(run, llama3_like):
    other = tokenizers.Tokenizer.from_file(str(llama3_like))
    text = "a<|eot_id|>b"
    assert good(run("encode", text, "-t", "other")) == line(other.encode(text).ids)
    bare = other.encode(text, add_special_tokens=False).ids
    assert good(run("encode", text, "-t", "other", "--no-special")) == line(bare)
    other.encode_special_tokens = True
    plain = other.encode(text).ids
    assert good(run("encode", text, "-t", "other", "--special-as-text")) == line(plain)
    assert good(run("count", text, "-t", "other", "--special-as-text", "--no-special")) == b"%d\n" % (len(plain) - 1)
    spaced = line(bare).decode()
    assert good(run("decode", spaced, "-t", "other")) == b"ab\n"
    assert good(run("decode", spaced, "-t", "other", "--special")) == text.encode() + b"\n"


def test_any_bytes(run):
    data = bytes(range(256)) + b"\n\xff\n"
    ids = good(run("encode", "--bytes", stdin=data))
    assert good(run("decode", "--bytes", stdin=ids)) == data
    assert json.loads(good(run("encode", "--bytes", "--json", stdin=data)))["ids"] == list(map(int, ids.split()))
    assert int(good(run("count", "--bytes", stdin=data))) == len(ids.split())


def test_text_that_is_not_utf8(run, tmp_path):
    message = failure(run("encode", stdin=b"ab\xffcd"))
    assert "0xFF" in message
    assert "offset 2" in message
    (tmp_path / "x").write_bytes(b"\xc3")
    assert "offset 0" in failure(run("count", "-f", tmp_path / "x"))
    assert "UTF-8" in failure(run("decode", stdin=b"\xff"))


@pytest.mark.skipif(os.name == "nt", reason="arguments are bytes elsewhere only")
def test_argument_that_is_not_utf8(home):
    done = subprocess.run(
        [*map(os.fsencode, COMMAND), b"encode", b"a\xff"],
        capture_output=True,
        env={**os.environ, "CRAYON_PROFILE_DIR": str(home)},
    )
    assert "offset 1" in failure(done)


@pytest.mark.skipif(os.name == "nt", reason="names are bytes elsewhere only")
def test_a_file_whose_name_is_not_utf8(tmp_path, gpt2_like):
    path = os.path.join(os.fsencode(tmp_path), b"\xff\xf0.json")
    with open(path, "wb") as file:
        file.write(gpt2_like.read_bytes())
    for options in ([], [b"--json"]):
        done = subprocess.run([*COMMAND, "info", *options, "--tokenizer", path], capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert path in done.stdout


# -- decode and count


@pytest.mark.parametrize(
    "spelling",
    ["{0} {1} {2}", "{0},{1},{2}", "[{0}, {1}, {2}]", "[{0} {1} {2}]", '{{"ids": [{0},{1},{2}]}}', " {0}\t{1}  {2} "],
)
def test_decode(run, lite, spelling):
    ids = lite.encode("Hello").ids[:3]
    assert len(ids) == 3
    expected = lite.decode(ids).encode() + b"\n"
    assert good(run("decode", spelling.format(*ids))) == expected
    assert good(run("decode", stdin=spelling.format(*ids))) == expected
    assert good(run("decode", "-", stdin=spelling.format(*ids) + "\n")) == expected


def test_decode_arguments(run, lite):
    ids = lite.encode(TEXT).ids
    assert good(run("decode", *map(str, ids))) == TEXT.encode() + b"\n"


def test_decode_lines(run):
    texts = ["Hello, world", "", "naïve 日本"]
    ids = good(run("encode", *texts))
    assert good(run("decode", stdin=ids)) == "\n".join([*texts, ""]).encode()
    objects = good(run("encode", "--json", *texts))
    assert good(run("decode", stdin=objects)) == "\n".join([*texts, ""]).encode()
    nested = json.dumps([json.loads(each)["ids"] for each in objects.splitlines()], indent=1)
    assert good(run("decode", stdin=nested)) == "\n".join([*texts, ""]).encode()


@pytest.mark.parametrize("ids", ["x", "1 2 x3", "1.5", '{"tokens": [1]}', '["a"]', "[1, true]", "²"])
def test_what_is_no_id(run, ids):
    failure(run("decode", ids))


@pytest.mark.parametrize("bad", ["999999", "99999999999999999999999"])
def test_unknown_id(run, bad):
    assert bad in failure(run("decode", "1", bad))
    assert "-1" in failure(run("decode", stdin="5 -1"))


def test_files_are_counted_as_by_wc(run, lite, tmp_path):
    texts = {"a.txt": TEXT * 50, "b c.txt": "x", "empty.txt": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    paths = [tmp_path / name for name in texts]
    counts = [len(lite.encode(text).ids) for text in texts.values()]
    width = len(str(sum(counts)))
    rows = [*zip(counts, paths, strict=True), (sum(counts), "total")]
    expected = "".join(f"{number:>{width}} {name}\n" for number, name in rows)
    assert good(run("count", "-f", *paths)).decode() == expected
    assert good(run("count", "-f", paths[0], "-f", paths[1], paths[2])).decode() == expected
    assert good(run("count", "-f", paths[1])).decode() == f"1 {paths[1]}\n"
    assert good(run("count", "--lines", "-f", *paths)).count(b"\n") == 2
    assert str(tmp_path / "none") in failure(run("count", "-f", paths[0], tmp_path / "none"))
    (tmp_path / "bad").write_bytes(b"ab\xff")
    assert f"{tmp_path / 'bad'}: " in failure(run("count", "-f", tmp_path / "bad"))
    assert good(run("count", "-f", tmp_path / "bad", "--bytes")).decode() == f"2 {tmp_path / 'bad'}\n"


def test_a_text_beside_a_file_is_refused(run, tmp_path):
    (tmp_path / "x.txt").write_text("x")
    for command in ("encode", "count", "inspect"):
        assert "cannot be combined" in failure(run(command, "text", "-f", tmp_path / "x.txt"), 2)


def test_the_name_of_a_file_given_as_a_text_is_noted(run, lite, tmp_path):
    (tmp_path / "x.txt").write_text("y")
    for command in ("encode", "count", "inspect"):
        done = run(command, tmp_path / "x.txt")
        assert done.returncode == 0
        assert f"-f {tmp_path / 'x.txt'} reads the file" in done.stderr.decode()


def test_count(run, lite):
    assert good(run("count", TEXT, "")) == b"%d\n0\n" % len(lite.encode(TEXT).ids)
    assert good(run("count", stdin=TEXT)) == b"%d\n" % len(lite.encode(TEXT).ids)
    assert good(run("count", "--lines", stdin="a\nb b b b\n")).count(b"\n") == 2


# -- tokenizers


def test_tokenizer_by_path(run, llama3_like, tmp_path):
    expected = line(tokenizers.Tokenizer.from_file(str(llama3_like)).encode(TEXT).ids)
    Tokenizer.from_file(llama3_like).save(tmp_path / "x.dat")
    for tokenizer in (llama3_like, tmp_path / "x.dat", "other"):
        assert good(run("encode", TEXT, "--tokenizer", tokenizer)) == expected


def test_missing_tokenizer(run, tmp_path):
    message = failure(run("encode", "x", "-t", "nobody"))
    assert "'nobody'" in message
    assert "lite, other" in message
    assert str(tmp_path / "x.json") in failure(run("encode", "x", "-t", tmp_path / "x.json"))
    assert str(tmp_path) in failure(run("encode", "x", "-t", f"{tmp_path}/"))
    assert "no-such-file" in failure(run("encode", "-f", "no-such-file"))


def test_damaged_tokenizer(run, gpt2_like, tmp_path):
    Tokenizer.from_file(gpt2_like).save(tmp_path / "x.dat")
    (tmp_path / "x.dat").write_bytes((tmp_path / "x.dat").read_bytes()[:-100])
    failure(run("encode", "x", "-t", tmp_path / "x.dat"))
    (tmp_path / "y.json").write_text("{")
    assert "y.json" in failure(run("encode", "x", "-t", tmp_path / "y.json"))


@pytest.fixture
def not_native(tmp_path_factory):
    """A tokenizer.json that is delegated: bytes in place of unknown characters, and a suffix."""
    model = tokenizers.models.BPE(
        {"<unk>": 0, "a": 1, "a</w>": 2, "b": 3, "b</w>": 4},
        [],
        unk_token="<unk>",
        byte_fallback=True,
        end_of_word_suffix="</w>",
    )
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    path = tmp_path_factory.mktemp("not-native") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@before_1("class for what is not native")
def test_delegated_tokenizer(run, not_native):
    expected = line(tokenizers.Tokenizer.from_file(str(not_native)).encode(TEXT).ids)
    done = run("encode", TEXT, "-t", not_native)
    assert (done.returncode, done.stdout) == (0, expected)
    (warning,) = done.stderr.decode().splitlines()
    assert warning.startswith("crayon-hf: warning: ")
    assert "byte_fallback" in warning


# -- convert and info


def test_convert(run, gpt2_like, tmp_path):
    output = good(run("convert", gpt2_like, "-o", tmp_path / "x.dat")).decode()
    assert str(tmp_path / "x.dat") in output
    assert "2000 tokens" in output
    assert (tmp_path / "x.json").read_bytes() == gpt2_like.read_bytes()
    assert good(run("decode", stdin=good(run("encode", TEXT, "-t", tmp_path / "x.dat")))) == TEXT.encode() + b"\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.dat", "x.json"]


def test_convert_rank_file(run, tmp_path):
    import base64

    path = tmp_path / "small.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256)))
    options = ["--special", "<|a=b|>=300", "--special", "<|end|>=301"]
    assert "pattern" in failure(run("convert", path, "-o", tmp_path / "x.dat"))
    good(run("convert", path, "-o", tmp_path / "x.dat", "--name", "cl100k_base", *options))
    assert good(run("encode", "a<|a=b|><|end|>", "-t", tmp_path / "x.dat")) == b"97 300 301\n"
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    good(run("convert", path, "-o", tmp_path / "y.json", "--pattern", pattern))
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "y.json")).encode("ab").ids == [97, 98]
    assert not (tmp_path / "y.dat").exists()
    assert "TOKEN=ID" in failure(run("convert", path, "-o", tmp_path / "x.dat", "--special", "x"), 2)


def test_convert_what_is_not_native(run, not_native, tmp_path):
    done = run("convert", not_native, "-o", tmp_path / "x.dat")
    assert done.returncode == 1
    assert "byte_fallback" in done.stderr.decode().splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_convert_output_name(run, gpt2_like, tmp_path):
    assert ".dat" in failure(run("convert", gpt2_like, "-o", tmp_path / "x.bin"))
    assert str(tmp_path / "no") in failure(run("convert", gpt2_like, "-o", tmp_path / "no" / "x.dat"))
    assert "must end in .dat" in failure(run("convert", gpt2_like, "--to", "v2", "-o", tmp_path / "x.json"))
    assert "invalid choice" in failure(run("convert", gpt2_like, "--to", "gguf"), 2)


def test_info(run, gpt2_like, tmp_path):
    good(run("convert", gpt2_like, "-o", tmp_path / "x.dat"))
    text = good(run("info", "-t", tmp_path / "x.dat")).decode()
    for word in ("native", "gpt2", "2,000 tokens", str(tmp_path / "x.dat")):
        assert word in text
    assert len([line for line in text.splitlines() if not line.startswith(("cuda ", "rocm "))]) == 8
    assert text == good(run("info", tmp_path / "x.dat")).decode()
    sections = good(run("info", tmp_path / "x.dat", "--sections")).decode().removeprefix(text)
    assert {"trie", "metadata"} <= {line.split()[0] for line in sections.splitlines() if line}
    assert "give one" in failure(run("info", "lite", "-t", "lite"), 2)
    facts = json.loads(good(run("info", "-t", tmp_path / "x.dat", "--json")))
    assert facts["engine"] == "native"
    assert facts["vocab_size"] == 2000
    assert facts["source_digest"] == __import__("hashlib").sha256(gpt2_like.read_bytes()).hexdigest()
    assert {"trie", "metadata"} <= {section["name"] for section in facts["sections"]}
    assert json.loads(good(run("info", "--json", CRAYON_CPU="scalar")))["cpu"] == "scalar"


def test_an_empty_text_is_said(run, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_bytes(b"")
    assert f"{empty} is empty" in failure(run("parity", "--greedy", "--text", empty))


# -- behaviour in a shell


def test_usage(run):
    for arguments in (["nonsense"], ["encode", "--nonsense"], ["convert"], ["encode", "-t"]):
        failure(run(*arguments), 2)


def test_help(run):
    text = good(run("--help")).decode()
    for word in ("encode", "decode", "count", "convert", "info", "parity", "examples:", "lite", "tokenizer.json"):
        assert word in text
    for command in ("encode", "decode", "count", "convert", "info", "parity"):
        assert "usage: crayon-hf" in good(run(command, "--help")).decode()
    assert good(run("--version")).startswith(b"crayon-hf 0.")


def test_output_is_utf8_in_any_locale(run, lite):
    ids = line(lite.encode(TEXT).ids)
    assert good(run("decode", stdin=ids, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")).decode() == TEXT + "\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_broken_pipe_is_quiet(home):
    process = subprocess.Popen(
        [*COMMAND, "encode", "--lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "CRAYON_PROFILE_DIR": str(home)},
    )
    process.stdout.close()
    process.stdin.write(b"some words in a line\n" * 50_000)
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


def unread(pipe) -> int:
    """Bytes in a pipe that nobody has read yet."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt(home):
    process = subprocess.Popen(
        [*COMMAND, "encode"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "CRAYON_PROFILE_DIR": str(home)},
    )
    process.stdin.write(b"some words")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while unread(process.stdin):  # then it has imported itself, and waits for more
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert process.stderr.read() == b""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_while_modules_are_imported() -> None:
    """It ends the process without a traceback, wherever it comes: numpy's import makes an ImportError of it."""
    program = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'numpy._core.multiarray': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from crayon_hf.cli import main\n"
        "sys.exit(main(['tokenize', 'in', '-o', 'out', '-t', 'lite']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


# -- mode and parity


def test_greedy_mode(run, gpt2_like):
    tokenizer = Tokenizer.from_file(gpt2_like, mode="greedy")
    for text in (TEXT, "an unlikely concatenation of letters"):
        expected = tokenizer.encode(text).ids
        assert good(run("encode", text, "-t", gpt2_like, "--mode", "greedy")).split() == [b"%d" % id for id in expected]
        assert int(good(run("count", text, "-t", gpt2_like, "--mode", "greedy"))) == len(expected)
    assert "--mode" in failure(run("encode", "x", "--mode", "fast"), 2)


def test_parity(run, gpt2_like, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Some plain words, cafés and 42 more.\n" * 20, encoding="utf-8")
    out = good(run("parity", gpt2_like, "--text", text, "--strings", "50", "--no-speed")).decode()
    assert out.splitlines()[-1].startswith(f"all agree with tokenizers {version('tokenizers')}: ")
    assert "no text" in failure(run("parity", gpt2_like, "--text", tmp_path / "none.txt"), 2)


@pytest.mark.skipif(not IS_BESIDE_1, reason="what tokenizers 1.0 cannot do: python tools/versions.py tokenizers-1.0")
def test_parity_without_a_reference(run, gpt2_like, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Some plain words, cafés and 42 more.\n" * 20, encoding="utf-8")
    alone = {"CRAYON_REFERENCE": ""}
    said = failure(run("parity", gpt2_like, "--text", text, **alone), 2)
    assert "needs tokenizers before 1.0 as its reference, but 1." in said
    assert "pip install 'tokenizers<1'" in said
    table = good(run("parity", "--greedy", gpt2_like, "--text", text, "--rounds", "1", **alone)).decode()
    assert "tokenizers, MB/s" in table


def test_parity_greedy(run, gpt2_like, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Some plain words, cafés and 42 more.\n" * 20, encoding="utf-8")
    (found,) = json.loads(good(run("parity", "--greedy", gpt2_like, "--text", text, "--rounds", "2", "--json", "-")))[
        "texts"
    ]
    assert (found["text"], found["lines"], found["bytes"]) == ("text", 20, text.stat().st_size)
    assert {name: len(rates) for name, rates in found["speeds"].items()} == {"greedy": 2, "exact": 2, "tokenizers": 2}
    table = good(run("parity", "--greedy", gpt2_like, "--text", text, "--rounds", "0")).decode()
    assert "| text | lines equal | tokens equal | tokens, greedy / exact |" in table
    refused = run("parity", "--greedy", "--text", text, "--beside", "x")
    assert "expected one of tokenizers, llama.cpp" in failure(refused)
