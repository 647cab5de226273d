"""A tokenizer.json is opened by the cartridge in its directory, if the cartridge has its digest and passes the
verification."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import Tokenizer, _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.cartridge_check import disagreement, open_beside
from tests.hub.hub_tokenizers import LIES, repository, unsound, with_token
from tests.support.cartridge_cases import until_times_differ

TEXT = "The quick brown <pad> fox déjà vu; it's what they've said 12345"


@pytest.fixture
def files(tmp_path: Path, gpt2_like: Path) -> tuple[str, str]:
    """The paths of a cartridge and of its tokenizer.json."""
    for name, data in repository(gpt2_like).items():
        (tmp_path / name).write_bytes(data)
    return str(tmp_path / "tokenizer.dat"), str(tmp_path / "tokenizer.json")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A fresh cache, in which compiling a tokenizer.json, or reading one as JSON, fails the test."""

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("the tokenizer.json was parsed")

    monkeypatch.setattr(_core, "compile_tokenizer_json", refuse)
    monkeypatch.setattr(_core.Engine, "mismatch", refuse)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def replace(path: str, data: bytes) -> None:
    Path(path + ".new").write_bytes(data)
    os.replace(path + ".new", path)


@pytest.mark.parametrize("way", ["from_file", "directory", "open_beside"])
def test_it_opens_the_tokenizer_json(files: tuple[str, str], unread: Path, gpt2_like: Path, way: str) -> None:
    if way == "open_beside":
        engine, reason = open_beside(*files)
        assert reason is None
        assert engine is not None
    else:
        tokenizer = Tokenizer.from_file(files[1] if way == "from_file" else os.path.dirname(files[1]))
        report = tokenizer.engine_report()
        assert (report["origin"], report["cartridge"], report["refused"]) == ("repository", files[0], None)
        reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
        assert tokenizer.encode(TEXT).ids == reference.encode(TEXT).ids
        assert tokenizer.to_str() == reference.to_str()
    assert not list(unread.glob("*.dat")), "a second copy"


def test_it_is_checked_once(files: tuple[str, str], unread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    for _ in range(2):
        assert open_beside(*files)[0] is not None
    data = bytearray(Path(files[0]).read_bytes())
    until_times_differ(Path(files[0]))
    data[len(data) // 2] ^= 1  # in place, with the same time of modification
    before = os.stat(files[0])
    Path(files[0]).write_bytes(data)
    os.utime(files[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    engine, reason = open_beside(*files)
    assert engine is None
    assert "checksum" in str(reason)


def test_of_another_file(files: tuple[str, str], gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest in a cartridge shows that it belongs to another tokenizer.json, before the cartridge is read whole."""
    replace(files[1], with_token(gpt2_like, "<new>"))
    monkeypatch.setattr(cache, "open_cartridge", None)
    engine, reason = open_beside(*files)
    assert engine is None
    assert "another tokenizer.json" in str(reason)
    monkeypatch.undo()
    assert Tokenizer.from_file(files[1]).token_to_id("<new>") is not None
    assert "another tokenizer.json" in Tokenizer.from_file(files[1]).engine_report()["refused"]


def test_lies(files: tuple[str, str], gpt2_like: Path, llama3_like: Path) -> None:
    """A cartridge that verifies but differs from its tokenizer.json is opened, because one publisher made both. The
    commands that compare the two files find the difference."""
    source = gpt2_like.read_bytes()
    for case in LIES:
        lie = unsound(source, llama3_like.read_bytes())[case][0]
        replace(files[0], lie)
        assert open_beside(*files)[0] is not None
        assert disagreement(_core.Engine.from_bytes(lie), sha256(source).hexdigest(), source), case
