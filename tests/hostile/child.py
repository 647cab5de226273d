"""Opens hostile files in its own process, with little memory and time: ``python -m tests.hostile.child GOOD...``.

Reads lines of JSON, ``[number, way, path]``. Answers each with ``[number, way, error, message, fault]``: the class of
the error or ``accepted``, its message, and damage found in this process afterwards. If a case kills the process, the
missing line identifies it.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from crayon_hf import CrayonVocab, Tokenizer, _core
from crayon_hf.cli import main as command_line
from crayon_hf.formats import convert, write
from tests.hostile.good import TEXT

SECONDS, BYTES = 10, 3 << 30
WAITING = 100  # seconds until a blocked call fails the test, even on a busy machine

vocab = CrayonVocab()  # one for all cases: it must keep its profile


def engine(path: str) -> list[int]:
    return _core.Engine.open(path, verify=True).encode_ids(TEXT)


def tokenizer(path: str) -> list[int]:
    return Tokenizer.from_file(path).encode(TEXT).ids


def load_profile(path: str) -> Any:
    fresh = CrayonVocab()
    fresh.load_profile(path)
    return fresh.tokenize(TEXT)


def using_profile(path: str) -> Any:
    with vocab.using_profile(path):
        return vocab.tokenize(TEXT)


def profile(path: str) -> list[int]:
    folder, name = os.path.split(path)
    os.environ["CRAYON_PROFILE_DIR"] = folder
    return Tokenizer.from_profile(os.path.splitext(name)[0]).encode(TEXT).ids


def converted(path: str) -> list[int]:
    """Convert a file with `crayon_hf.formats` into a directory; if the file is refused, the directory must not
    exist."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "made")
        try:
            write(convert(path), output)
        except Exception:
            assert not os.path.exists(output), "something was written"
            raise
        return Tokenizer.from_file(os.path.join(output, "tokenizer.json")).encode(TEXT).ids


class Failed(Exception):
    """A command failed. The message is its exit code and its output on stderr."""


def run(*words: str) -> str:
    """Run a ``crayon-hf`` command. Returns ``ok`` if it wrote anything to stdout."""
    out, error = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = command_line(words)
    if code:
        raise Failed(f"{code}: {error.getvalue()}")
    out.flush()
    written: bytes = out.buffer.getvalue()  # type: ignore[attr-defined]
    return "ok" if written else "nothing was written"


def command(*words: str) -> Callable[[str], str]:
    return lambda path: run(*words, "--tokenizer", path)


def convert_command(path: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "made")
        try:
            return run("convert", path, "-o", output)
        except Failed:
            assert not os.path.exists(output), "something was written"
            raise


WAYS: dict[str, Callable[[str], Any]] = {
    "engine": engine,
    "tokenizer": tokenizer,
    "load_profile": load_profile,
    "using_profile": using_profile,
    "profile": profile,
    "encode": command("encode", TEXT),
    "inspect": command("inspect", TEXT),
    "info": command("info"),
    "converted": converted,
    "convert": convert_command,
}


def judge(way: str, path: str, good: list[str], known: dict[str, list[Any]]) -> tuple[str, str, str]:
    """Open a file in one way. Returns the class of the error, its message, and any damage that opening did to this
    process."""
    open_before = len(os.listdir("/proc/self/fd"))
    error, message, fault = "accepted", "", ""
    try:
        if WAYS[way](path) not in known[way]:
            fault = "it was opened, and gives other ids"
    except Exception as raised:
        error, message = type(raised).__name__, str(raised)
    if vocab.tokenize(TEXT) != known["using_profile"][0]:
        fault = "the vocabulary that was loaded before is another one"
    usual = way if way not in ("profile", "using_profile") else "tokenizer"
    if WAYS[usual](good[0]) != known[usual][0]:
        fault = "the good file gives other ids"
    if error != "accepted" and len(os.listdir("/proc/self/fd")) > open_before:
        fault = "a file stays open"
    return error, message, fault


def main() -> None:
    good = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    vocab.load_profile(good[0])
    known: dict[str, list[Any]] = {
        way: [open_by(path) for path in good if way != "engine" or "version_2" not in path]
        for way, open_by in WAYS.items()
        if way != "profile"
    }
    known["profile"] = known["tokenizer"]
    requests = [json.loads(line) for line in sys.stdin]
    if not hasattr(ctypes.CDLL(None), "__asan_init"):  # AddressSanitizer needs terabytes of address space
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for number, way, path in requests:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, WAITING)
        print(json.dumps([number, way, *judge(way, path, good, known)]), flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
