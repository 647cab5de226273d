"""`crayon-hf list` and `crayon-hf cache`, and names of the Hub after -t."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.cartridges import cache
from tests.hub.local_hub import LocalHub
from tests.support.command import call

COMMAND = [sys.executable, "-c", "import sys; from crayon_hf.cli import main; sys.exit(main())"]


def run(*arguments: str, **environment: str) -> str:
    done = call(*arguments, environment=environment)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


def test_list(gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(gpt2_like.read_bytes())
    (tmp_path / "a b.json").write_bytes(b"{}")
    (tmp_path / "lite.json").write_bytes(gpt2_like.read_bytes())  # which comes before that of the package
    out = run("list", CRAYON_PROFILE_DIR=str(tmp_path))
    assert out.splitlines()[0].split() == ["name", "tokens", "size", "origin", "path"]
    rows = {
        row["name"]: row
        for row in map(json.loads, run("list", "--json", CRAYON_PROFILE_DIR=str(tmp_path)).splitlines())
    }
    assert rows["mine"]["origin"] == rows["lite"]["origin"] == "your own file"
    assert rows["mine"]["bytes"] == gpt2_like.stat().st_size
    assert (rows["standard"]["origin"], rows["standard"]["tokens"]) == ("part of the package", 206373)
    assert {"a b", "science"} <= set(rows)
    assert len(out.splitlines()) == 1 + len(rows)


def test_cache(gpt2_like: Path, tmp_path: Path) -> None:
    where = {"CRAYON_CACHE_DIR": str(tmp_path / "cache")}
    assert run("cache", **where) == f"{tmp_path / 'cache'}: 0 files, 0 bytes of 2.0 GiB at most\n"
    run("encode", "x", "-t", str(gpt2_like), **where)
    facts = json.loads(run("cache", "--json", CRAYON_CACHE_BYTES="500M", **where))
    assert facts["files"] >= 1
    assert facts["bytes"] == sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert facts["most_bytes"] == 500 << 20
    assert run("cache", "clear", **where).startswith(f"removed {facts['files']} files, ")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    run("encode", "x", "-t", str(gpt2_like), **where)


@pytest.mark.skipif(os.name == "nt", reason="owners of Unix")
def test_a_cache_of_somebody_else_s_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o777)
    (tmp_path / "cache").chmod(0o777)
    (tmp_path / "cache" / "x.dat").write_bytes(b"x")
    with pytest.raises(PermissionError, match="is not cleared"):
        cache.clear()
    assert (tmp_path / "cache" / "x.dat").exists()


def test_a_size_of_the_cache_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_CACHE_BYTES", "much")
    with pytest.raises(ValueError, match="CRAYON_CACHE_BYTES: 'much' is not a number of bytes"):
        cache.most_bytes()


@pytest.mark.slow
def test_a_repository_after_t(gpt2_like: Path, tmp_path: Path) -> None:
    from tests.hub.hub_client import run_client

    with LocalHub(tmp_path / "hub") as hub:
        hub.commit("user/name", {"tokenizer.json": gpt2_like.read_bytes()})

        def client(*arguments: str) -> Any:
            return run_client(hub, ["-m", "crayon_hf", *arguments], tmp_path / "home")

        ids = run("encode", "Hello there", "-t", str(gpt2_like))
        for arguments in (
            ["encode", "Hello there", "-t", "user/name"],
            ["encode", "Hello there", "-t", "user/name@main"],
        ):
            done = client(*arguments)
            assert (done.returncode, done.stdout) == (0, ids), done
        assert "2,000 tokens" in client("info", "user/name").stdout
        (tmp_path / "home" / "x.txt").write_text("Hello there")
        assert client("tokenize", "x.txt", "-o", "out", "-t", "user/name").returncode == 0
        done = client("count", "x", "-t", "user/nothing")
        assert done.returncode == 1
        assert "no such repository" in done.stderr
        assert "there is no file 'user/nothing' here either" in done.stderr
