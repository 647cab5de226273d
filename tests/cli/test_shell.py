"""All commands in a shell: exit codes, pipes, signals, locales; and the tokenizers that they open."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest
import tokenizers

from crayon_hf import Tokenizer
from tests.cli.shell import COMMAND, failure, good
from tests.support.command import call
from tests.support.versions import before_1

TEXT = "Hello, wörld! It's 2024."


def test_tokenizer_by_path(gpt2_like: Path, llama3_like: Path, tmp_path: Path) -> None:
    home = {"CRAYON_PROFILE_DIR": str(tmp_path)}
    (tmp_path / "other.json").write_bytes(llama3_like.read_bytes())
    Tokenizer.from_file(llama3_like).save(tmp_path / "x.dat")
    expected = " ".join(map(str, tokenizers.Tokenizer.from_file(str(llama3_like)).encode(TEXT).ids))
    for name in (llama3_like, tmp_path / "x.dat", "other"):
        assert good(call("encode", TEXT, "--tokenizer", name, environment=home)) == f"{expected}\n"
    message = failure(call("encode", "x", "-t", "nobody", environment=home))
    assert "profiles: lite, other, science, standard, x; " in message
    for name in (tmp_path / "none.json", f"{tmp_path / 'empty'}/"):
        assert str(name).rstrip("/") in failure(call("encode", "x", "-t", name))
    assert "no-such-file" in failure(call("encode", "-f", "no-such-file"))


@before_1("class for what is not native")
def test_delegated_tokenizer(tmp_path: Path) -> None:
    """Commands say that the reference encodes, and refuse options that need the engine."""
    model = tokenizers.models.BPE(
        {"<unk>": 0, "a": 1, "a</w>": 2}, [], unk_token="<unk>", byte_fallback=True, end_of_word_suffix="</w>"
    )
    stock = tokenizers.Tokenizer(model)
    stock.save(str(tmp_path / "x.json"))
    done = call("encode", "aa", "-t", tmp_path / "x.json")
    assert (done.returncode, done.stdout.split()) == (0, [b"%d" % id for id in stock.encode("aa").ids])
    assert re.fullmatch(r"crayon-hf: warning: .*byte_fallback.*\n", done.stderr.decode())
    assert "a│a" in call("inspect", "aa", "-t", tmp_path / "x.json").stdout.decode()
    for option in (["--trace"], ["--mode", "greedy"]):
        done = call("inspect", "aa", *option, "-t", tmp_path / "x.json")
        assert (done.returncode, b"byte_fallback" in done.stderr.splitlines()[-1]) == (1, True)


@pytest.mark.parametrize("standard", ["input", "output"])
def test_closed_streams(standard: str) -> None:
    closed = "<&-" if standard == "input" else ">&-"
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, "encode", "x"], stderr=subprocess.PIPE)
    assert f"standard {standard} is closed" in failure(done)


def test_output_is_utf8_in_any_locale() -> None:
    ids = good(call("encode", TEXT))
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    given = {**os.environ, **environment}
    done = subprocess.run([*COMMAND, "decode"], input=ids.encode(), capture_output=True, env=given)
    assert good(done) == f"{TEXT}\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("arguments", [["encode", "--lines"], ["--help"]])
def test_broken_pipe_is_quiet(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    text = b"some words in a line\n" * 50_000
    done = subprocess.run([*COMMAND, *arguments], input=text, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def unread(pipe: IO[bytes]) -> int:
    """Return the unread bytes in a pipe."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt() -> None:
    process: Any = subprocess.Popen([*COMMAND, "encode"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"some words")
    process.stdin.flush()
    deadline = time.monotonic() + 600
    while unread(process.stdin):  # once it is read, the imports are done and it waits for more
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) == 130
    assert process.stderr.read() == b""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("module", ["numpy._core.multiarray", "click"])
def test_interrupt_while_modules_are_imported(module: str) -> None:
    """An interrupt at any moment ends the process without a traceback, even though numpy's import turns it into an
    ImportError."""
    program = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from crayon_hf.cli import main\n"
        "sys.exit(main(['tokenize', 'in', '-o', 'out', '-t', 'lite']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
