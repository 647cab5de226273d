"""``crayon-hf count``: directory trees, the tokens left of a context window, and models named instead of tokenizers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from crayon_hf import Tokenizer
from crayon_hf.formats import tiktoken as encodings
from tests.cli.shell import failure, good
from tests.support.command import call
from tests.support.random_texts import random_text


@pytest.fixture(scope="module")
def lite() -> Tokenizer:
    return Tokenizer.from_profile("lite")


def plain_counts(tokenizer: Tokenizer, place: Path) -> dict[str, int]:
    """The plain twin of the command: counts the tokens of one file after the other."""
    counts = {}
    for path in sorted(map(str, place.rglob("*"))):
        if os.path.isfile(path):
            data = Path(path).read_bytes()
            try:
                text = data.decode()
            except UnicodeDecodeError:
                continue
            if b"\0" not in data[:8000]:
                counts[path] = len(tokenizer.encode(text).ids)
    return counts


def rows(done: subprocess.CompletedProcess[bytes]) -> list[list[str]]:
    return [line.split(maxsplit=1) for line in done.stdout.decode().splitlines()]


def test_a_tree_of_small_large_and_binary_files(lite: Tokenizer, tmp_path: Path) -> None:
    """The tree has more files than a group of files that are counted together, a file larger than a chunk, and binary
    files of every size."""
    rng = random.Random(1)
    for number in range(600):
        at = tmp_path / f"d{number % 7}" / f"{number}.txt"
        at.parent.mkdir(exist_ok=True)
        text = random_text(rng, rng.randrange(80)).replace("\0", "")
        at.write_text(text, encoding="utf-8", errors="replace", newline="")
    (tmp_path / "d1" / "large.txt").write_text("Ask, and it shall be given you.\n" * 80_000)
    (tmp_path / "empty").write_bytes(b"")
    binary = {"a.png": b"\x89PNG\xff", "b.bin": b"a\0b", "e.bin": b"\xff", "f.bin": b"\xc3", "g.bin": b"\xed\xa0\x80"}
    binary |= {"c.bin": b"a" * (2 << 20) + b"\xff", "d.bin": b"\0" * (2 << 20)}
    for name, data in binary.items():
        (tmp_path / name).write_bytes(data)
    expected = plain_counts(lite, tmp_path)
    done = call("count", f"{tmp_path}/")
    assert rows(done) == [*([str(n), name] for name, n in expected.items()), [str(sum(expected.values())), "total"]]
    lines = zip(done.stdout.decode().splitlines(), rows(done), strict=True)
    assert len({len(line) - len(name) for line, (_, name) in lines}) == 1
    named = ", ".join(f"{tmp_path}/{letter}" for letter in ("a.png", "b.bin", "c.bin", "d.bin", "e.bin"))
    said = done.stderr.decode()
    assert said == f"crayon-hf: note: passed over 7 files that are not UTF-8 text: {named} and 2 more\n"


def test_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    for name in ("a.txt", "b.log", "build/c.txt", "sub/d.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "sub" / ".gitignore").write_text("!d.log\n")

    def names(*arguments: str) -> list[str]:
        return [name for _, name in rows(call("count", *arguments, cwd=tmp_path))]

    assert names("./") == ["./a.txt", "./sub/d.log", "total"]
    assert names("./", "--no-ignore") == ["./a.txt", "./b.log", "./build/c.txt", "./sub/d.log", "total"]
    assert names("build/") == ["build/c.txt"]  # a named directory is counted
    assert names("b.log", "sub/") == ["b.log", "sub/d.log", "total"]
    (tmp_path / "build" / ".gitignore").write_text("*")
    assert "--no-ignore" in failure(call("count", "build/", cwd=tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="names that are not text, and terminals")
def test_hostile_names(tmp_path: Path) -> None:
    """The output has the exact bytes of file names. Notes escape these bytes, so that they cannot control a
    terminal."""
    hostile = os.path.join(os.fsencode(tmp_path), b"\x1b[2J\xff")
    for ending, data in ((b".txt", b"x"), (b".bin", b"\0")):
        with open(hostile + ending, "wb") as file:
            file.write(data)
    done = call("count", f"{tmp_path}/")
    assert done.stdout == b"1 " + hostile + b".txt\n"
    assert done.stderr.decode().endswith("\\x1b[2J\\udcff.bin\n")


def test_an_error_in_a_named_file_stops_the_others(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text("a b " * 400_000)
    (tmp_path / "bad.txt").write_bytes(b"ab\xff")
    (tmp_path / "wide.txt").write_bytes("Hello".encode("utf-16"))
    names = [tmp_path / f"{number}.txt" for number in range(40)]
    message = failure(call("count", tmp_path / "bad.txt", *names))
    assert message == f"{tmp_path}/bad.txt: the text is not UTF-8: invalid byte at offset 2 (--bytes takes any bytes)"
    assert "it is UTF-16: convert it first" in failure(call("count", tmp_path / "wide.txt"))


def test_a_window(lite: Tokenizer, tmp_path: Path) -> None:
    """`--window` prints the tokens left after all texts and the answer. The exit code is 1 if texts and answer exceed
    the window."""
    assert good(call("count", "Hello, world!", "--window", "128k")) == "4\n127996 left of 128000\n"
    assert good(call("count", "Hello, world!", "a", "--window", 105, "--output-tokens", 100)) == "4\n1\n0 left of 105\n"
    done = call("count", "Hello, world!", "--window", "3")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"4\n1 over 3\n", b"")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Hello, world! " * 40)
    n = len(lite.encode("Hello, world! " * 40).ids)
    assert good(call("count", "a.txt", "b.txt", "--window", 9999, cwd=tmp_path)) == (
        f"{n:>4} a.txt\n{n:>4} b.txt\n{2 * n:>4} total\n{9999 - 2 * n} left of 9999\n"
    )
    (tmp_path / "prices.csv").write_text("model,input\nsmall,1\n")
    done = call("count", "-f", "a.txt", "--window", 9999, "--prices", "prices.csv", cwd=tmp_path)
    first, last = done.stdout.decode().splitlines()
    assert first.index("a.txt") == last.index("left of")
    assert "--limit and --window cannot be combined" in failure(call("count", "a", "--limit", 1, "--window", 2), 2)
    assert "--output-tokens needs --prices" in failure(call("count", "a", "--output-tokens", 1), 2)


def test_a_model_names_its_encoding_or_a_row(tmp_path: Path) -> None:
    assert "did you mean 'gpt-4'?" in failure(call("count", "a", "--model", "gpt-4p"), 2)
    assert "cannot be combined" in failure(call("count", "a", "--model", "gpt-4o", "-t", "lite"), 2)
    prices = tmp_path / "prices.csv"
    prices.write_text("model,input\nmine,1\ngpt-4o,2\n")
    assert good(call("count", "Hello, world!", "--model", "mine", "--prices", prices)) == "4 0.000004\n"
    assert good(call("count", "Hello, world!", "--model", "gpt-4o", "--prices", prices, "-t", "lite")) == "4 0.000008\n"


@pytest.mark.slow
@pytest.mark.parametrize(("model", "encoding"), [("gpt-4o", "o200k_base"), ("gpt-3.5-turbo-0125", "cl100k_base")])
def test_a_model_of_openai(model: str, encoding: str, shared: Path, tmp_path: Path) -> None:
    """The rank file is in tiktoken's cache, so the command needs no network."""
    pytest.importorskip("tiktoken")
    rank_file = shared / "vocab" / encoding / f"{encoding}.tiktoken"
    (tmp_path / encodings.KNOWN_FILES[encoding].cache_name).write_bytes(rank_file.read_bytes())
    environment = {"TIKTOKEN_CACHE_DIR": str(tmp_path)}
    text = "Grüße, 世界! It's 2024."
    n = len(Tokenizer.from_tiktoken(rank_file, name=encoding).encode(text).ids)
    assert good(call("count", text, "--model", model, environment=environment)) == f"{n}\n"
    prices = tmp_path / "prices.csv"
    prices.write_text(f"model,input\nother,1\n{model},1000000\n")
    done = call("count", text, "--model", model, "--prices", prices, environment=environment)
    assert good(done) == f"{n} {n}.00\n"


CHILD = """
import os, sys
from crayon_hf.cli import main

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # it holds a few chunks for each core
code = main(sys.argv[1:])
with open("/proc/self/status") as file:
    print(code, next(line for line in file if line.startswith("VmHWM:")).split()[1], file=sys.stderr)
"""


@pytest.mark.measures_memory
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_large_tree_takes_little_memory(tmp_path: Path) -> None:
    """Counting 3,000 files of 180 MB in total and one of 60 MB takes a fraction of these sizes in memory."""
    text = ("Ask, and it shall be given you; seek, and ye shall find. \u4e16\u754c\n" * 1000).encode()
    (tmp_path / "tree").mkdir()
    for number in range(3000):
        (tmp_path / "tree" / f"{number}.txt").write_bytes(text)
    (tmp_path / "tree" / "large.txt").write_bytes(text * 1000)
    held = []
    for place in ("tree/1.txt", "tree"):
        command = [sys.executable, "-c", CHILD, "count", f"{tmp_path}/{place}"]
        done = subprocess.run(command, capture_output=True, check=True)
        code, kilobytes = done.stderr.split()
        assert code == b"0"
        held.append(int(kilobytes) / 1024)
    assert len(done.stdout.splitlines()) == 3002
    assert held[1] - held[0] < 32
