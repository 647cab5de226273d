"""A cartridge is mapped into memory, or with CRAYON_MAP=copy read into it. The engine installs no signal handlers."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from crayon_hf import Tokenizer, _core
from crayon_hf.errors import CartridgeError
from tests.support.cartridge_cases import child, compiled

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are not mapped there")

TEXT = "The quick brown fox; it's what they've said, isn't it? Größe, 敏捷的棕色狐狸 crayon [L] x"


@pytest.fixture
def path(small: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "used.dat"
    path.write_bytes(small)
    return path


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_MAP", "copy")


def answers(engine: _core.Engine) -> tuple[object, ...]:
    ids = engine.encode_ids(TEXT)
    return ids, engine.encode_lists([TEXT] * 40, threads=2), engine.decode(ids), engine.get_vocab(True)


@pytest.mark.parametrize("way", ["", "copy"])
def test_replaced_by_rename(way: str, path: Path, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_MAP", way)
    engine = _core.Engine.open(path, verify=True)
    before = answers(engine)
    other = compiled(gpt2_like.read_bytes())
    new = path.with_suffix(".new")
    for data in (b"", other):
        new.write_bytes(data)
        os.replace(new, path)
        assert answers(engine) == before
    assert _core.Engine.open(path, verify=True).encode_ids(TEXT) == _core.Engine.from_bytes(other).encode_ids(TEXT)
    path.unlink()
    assert answers(engine) == before


def cut_to(size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, size)


def overwrite(path: Path) -> None:
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.write(random.Random(size).randbytes(size))


@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize("change", [cut_to(0), cut_to(5000), overwrite], ids=["emptied", "cut", "overwritten"])
def test_copy_of_a_file_that_is_changed_in_place(change: Callable[[Path], None], path: Path) -> None:
    engine, tokenizer = _core.Engine.open(path, verify=True), Tokenizer.from_file(path)
    before, encoded = answers(engine), tokenizer.encode(TEXT)
    change(path)
    assert answers(engine) == before
    assert tokenizer.encode(TEXT).ids == encoded.ids
    with pytest.raises(CartridgeError, match=re.escape(str(path))):
        _core.Engine.open(path, verify=True)


@pytest.mark.parametrize("value", ["map", "Copy", "1", "copy "])
def test_bad_value(value: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_MAP", value)
    for open_it in (_core.Engine.open, Tokenizer.from_file):
        with pytest.raises(ValueError, match=f'^CRAYON_MAP is "{value}", expected "copy", or nothing'):
            open_it(path)


SIGNALS = """
import signal, sys
from pathlib import Path

def handled():
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return [line for line in lines if line.startswith(("SigCgt", "SigIgn", "SigBlk"))]

def dispositions():
    return {s: signal.getsignal(s) for s in signal.valid_signals()}, handled()

before = dispositions()
from crayon_hf import Tokenizer, _core
engine = _core.Engine.open(sys.argv[1], verify=True)
tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.encode_batch(["a b c"] * 1000)
engine.encode_lists(["a b c"] * 1000, threads=2)
assert dispositions() == before, (before, dispositions())
print("the same")
"""


@pytest.mark.parametrize("way", ["", "copy"])
def test_no_signal_is_taken(way: str, path: Path) -> None:
    done = child(SIGNALS, str(path), lines=b"", CRAYON_MAP=way)
    assert (done.returncode, done.stdout) == (0, b"the same\n"), done.stderr


CUT = """
import os, resource, sys
from crayon_hf import _core
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
engine = _core.Engine.open(sys.argv[1], verify=True)
os.truncate(sys.argv[1], 0)
print("alive", flush=True)
engine.encode_ids("The quick brown fox")
"""


def test_a_map_that_is_cut_is_any_map(path: Path) -> None:
    """Reading a truncated map raises SIGBUS, as documented: the program's handler gets it, or it ends the process."""
    done = child(CUT, str(path), lines=b"")
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, b"alive\n"), done.stderr
