"""Files that change while they are used, and files without read permission."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile import good
from tests.hostile.good import TEXT
from tests.support.child import child

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files are not mapped there")


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that any user can read, unlike pytest's temporary directories."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for folder in path.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o700)
    shutil.rmtree(path)


# Import everything before changing the user: the other user may lack permission to read this Python.
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
    """Opening a file without read permission, or in a directory without it, gives a clear error. A cache without write
    permission does no harm."""
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
    environment = {"CRAYON_CACHE_DIR": str(open_to_all / "cache")}
    done = child(AS_NOBODY, names["good.dat"], *paths, lines=TEXT.encode(), cwd=open_to_all, **environment)
    assert done.returncode == 0, done.stderr.decode()
    *refused, still_right = json.loads(done.stdout)
    assert still_right
    wanted = [f"PermissionError: [Errno 13] Permission denied: '{path}'" for path in paths for _ in range(3)]
    assert refused == wanted
