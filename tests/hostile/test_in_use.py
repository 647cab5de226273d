"""Files that change while they are used, and files that may not be read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from crayon_hf import CrayonVocab, Tokenizer, _core
from crayon_hf.errors import CartridgeError
from tests.hostile import good
from tests.hostile.good import TEXT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files are not mapped there")


def replace(path: Path, data: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(data)
    os.replace(new, path)


def test_replaced_by_rename(tmp_path: Path) -> None:
    """Whoever has the old file open goes on with it; whoever opens it then gets the new one."""
    path = tmp_path / "used.dat"
    path.write_bytes(good.text_tables())
    tokenizer, vocab = Tokenizer.from_file(path), CrayonVocab()
    vocab.load_profile(path)
    old = tokenizer.encode(TEXT)
    swapped = [vocab.tokenize(TEXT)]
    for data in (good.byte_tables(), b"", good.text_tables()[:-64], os.urandom(1000)):
        replace(path, data)
        assert tokenizer.encode(TEXT).ids == old.ids
        assert tokenizer.encode(TEXT).offsets == old.offsets
        assert tokenizer.decode(old.ids) == tokenizer.decode(tokenizer.encode(TEXT).ids)
        assert vocab.tokenize(TEXT) == swapped[0]
    replace(path, good.byte_tables())
    assert Tokenizer.from_file(path).encode(TEXT).ids != old.ids
    path.unlink()
    assert tokenizer.encode(TEXT).ids == old.ids


def test_replaced_by_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "used.dat"
    path.write_bytes(good.text_tables())
    tokenizer = Tokenizer.from_file(path)
    old = tokenizer.encode(TEXT).ids
    path.unlink()
    os.mkfifo(path)
    assert tokenizer.encode(TEXT).ids == old
    with pytest.raises(CartridgeError, match="not a regular file"):
        _core.Engine.open(path, verify=True)


IN_USE = """
import json, os, sys
from crayon_hf import CrayonVocab, Tokenizer, _core
good, *paths = sys.argv[1:]
text = sys.stdin.read()
expected = Tokenizer.from_file(good).encode(text).ids
out = []
for path in paths:
    tokenizer, vocab, engine = Tokenizer.from_file(path), CrayonVocab(), _core.Engine.open(path, verify=True)
    vocab.load_profile(path)
    calls = [
        lambda: tokenizer.encode(text).ids,
        lambda: [encoding.ids for encoding in tokenizer.encode_batch([text] * 100)],
        lambda: tokenizer.decode(expected),
        lambda: tokenizer.get_vocab(),
        lambda: vocab.tokenize(text),
        lambda: engine.encode_ids(text),
    ]
    before = [call() for call in calls]
    if path.endswith("cut.dat"):
        os.truncate(path, 0)
    else:
        with open(path, "r+b") as file:
            file.write(os.urandom(os.path.getsize(path)))
    out += [call() == then for call, then in zip(calls, before)]
    try:
        _core.Engine.open(path, verify=True)
        out.append(["accepted", ""])
    except Exception as error:
        out.append([type(error).__name__, str(error)])
    out.append(Tokenizer.from_file(good).encode(text).ids == expected)
print(json.dumps(out))
"""


def test_cut_and_overwritten(tmp_path: Path) -> None:
    """Not renamed: with CRAYON_MAP=copy no call notices, and the file is refused when it is opened again."""
    names = ("good.dat", "cut.dat", "overwritten.dat")
    for name in names:
        (tmp_path / name).write_bytes(good.text_tables())
    paths = [str(tmp_path / name) for name in names]
    done = subprocess.run(
        [sys.executable, "-c", IN_USE, *paths],
        input=TEXT.encode(),
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)} | {"CRAYON_MAP": "copy"},
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    said = json.loads(done.stdout)
    for path, (*same, again, still_right) in zip(paths[1:], (said[:8], said[8:]), strict=True):
        assert same == [True] * 6
        assert again[0] == "CartridgeError"
        assert again[1].startswith(f"{path}: ")
        assert still_right is True


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that any user can look into, as those of pytest are not."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for folder in path.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o700)
    shutil.rmtree(path)


# Everything is imported before the user changes: nobody need not be able to read this Python.
AS_NOBODY = """
import json, os, sys
from crayon_hf import CrayonVocab, Tokenizer, _core
good, *paths = sys.argv[1:]
text = sys.stdin.read()
ways = (
    lambda path: _core.Engine.open(path, verify=True).encode_ids(text),
    lambda path: Tokenizer.from_file(path).encode(text).ids,
    lambda path: CrayonVocab().load_profile(path),
)
for way in ways:
    way(good)
expected = ways[1](good)
try:
    Tokenizer.from_file(good + ".nothing")  # what only looks for other sources is imported now
except OSError:
    pass
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
out = []
for path in paths:
    for way in ways:
        try:
            way(path)
            out.append("accepted")
        except Exception as error:
            out.append(f"{type(error).__name__}: {error}")
out.append(ways[1](good) == expected)
print(json.dumps(out))
"""


def test_no_permission(open_to_all: Path) -> None:
    """Neither the file nor what is in a closed directory can be read; a cache that cannot be written does no harm."""
    names = {name: open_to_all / name for name in ("good.dat", "closed.dat", "closed.json", "closed")}
    for name in ("good.dat", "closed.dat"):
        names[name].write_bytes(good.text_tables())
    names["good.dat"].chmod(0o644)
    names["closed.json"].write_bytes(good.byte_source())
    names["closed"].mkdir()
    inside = names["closed"] / "inside.dat"
    inside.write_bytes(good.text_tables())
    for name in ("closed.dat", "closed.json", "closed"):
        names[name].chmod(0)
    paths = [str(names["closed.dat"]), str(inside), str(names["closed.json"])]
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(names["good.dat"]), *paths],
        input=TEXT.encode(),
        capture_output=True,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        | {"CRAYON_CACHE_DIR": str(open_to_all / "cache")},
        cwd=open_to_all,
        timeout=60,
        check=True,
    )
    *refused, still_right = json.loads(done.stdout)
    assert still_right
    wanted = [f"PermissionError: [Errno 13] Permission denied: '{path}'" for path in paths for _ in range(3)]
    assert refused == wanted
