"""`crayon-hf info`, `list` and `cache`, and names of Hub repositories as the argument of -t."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import failure, good
from tests.hub.local_hub import LocalHub
from tests.support.command import call


def run(*arguments: object, **environment: str) -> str:
    return good(call(*arguments, environment=environment))


def test_info(gpt2_like: Path, tmp_path: Path) -> None:
    run("convert", gpt2_like, "-o", tmp_path / "x.dat")
    text = run("info", "-t", tmp_path / "x.dat")
    for word in ("native", "gpt2", "2,000 tokens", str(tmp_path / "x.dat")):
        assert word in text
    assert len([line for line in text.splitlines() if not line.startswith(("cuda ", "rocm "))]) == 8
    assert text == run("info", tmp_path / "x.dat")
    sections = run("info", tmp_path / "x.dat", "--sections").removeprefix(text)
    assert {"trie", "metadata"} <= {line.split()[0] for line in sections.splitlines() if line}
    assert "give one" in failure(call("info", "lite", "-t", "lite"), 2)
    facts = json.loads(run("info", "-t", tmp_path / "x.dat", "--json"))
    assert (facts["engine"], facts["vocab_size"]) == ("native", 2000)
    assert facts["source_digest"] == hashlib.sha256(gpt2_like.read_bytes()).hexdigest()
    assert {"trie", "metadata"} <= {section["name"] for section in facts["sections"]}
    assert json.loads(run("info", "--json", CRAYON_CPU="scalar"))["cpu"] == "scalar"


def test_list(gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes(gpt2_like.read_bytes())
    (tmp_path / "a b.json").write_bytes(b"{}")
    (tmp_path / "lite.json").write_bytes(gpt2_like.read_bytes())  # it precedes the package's profile
    out = run("list", CRAYON_PROFILE_DIR=str(tmp_path))
    assert out.splitlines()[0].split() == ["name", "tokens", "size", "origin", "path"]
    listed = run("list", "--json", CRAYON_PROFILE_DIR=str(tmp_path))
    rows = {row["name"]: row for row in map(json.loads, listed.splitlines())}
    assert rows["mine"]["origin"] == rows["lite"]["origin"] == "your own file"
    assert rows["mine"]["bytes"] == gpt2_like.stat().st_size
    assert (rows["standard"]["origin"], rows["standard"]["tokens"]) == ("part of the package", 206373)
    assert {"a b", "science"} <= set(rows)
    assert len(out.splitlines()) == 1 + len(rows)
    assert rows["standard"]["bytes"] == Path(rows["standard"]["path"]).stat().st_size


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


@pytest.mark.slow
def test_a_repository_after_t(gpt2_like: Path, tmp_path: Path) -> None:
    from tests.hub.hub_client import run_client

    with LocalHub() as hub:
        hub.commit("user/name", {"tokenizer.json": gpt2_like.read_bytes()})

        def client(*arguments: str) -> Any:
            return run_client(hub, ["-m", "crayon_hf", *arguments], tmp_path / "home")

        ids = run("encode", "Hello there", "-t", str(gpt2_like))
        for name in ("user/name", "user/name@main"):
            done = client("encode", "Hello there", "-t", name)
            assert (done.returncode, done.stdout) == (0, ids), done
        assert "2,000 tokens" in client("info", "user/name").stdout
        (tmp_path / "home" / "x.txt").write_text("Hello there")
        assert client("tokenize", "x.txt", "-o", "out", "-t", "user/name").returncode == 0
        done = client("count", "x", "-t", "user/nothing")
        assert done.returncode == 1
        assert "the repository does not exist" in done.stderr
        assert "nor is 'user/nothing' a local file" in done.stderr
