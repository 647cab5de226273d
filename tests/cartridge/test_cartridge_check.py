"""A cartridge that is to stand for a tokenizer.json: it is compared once, and again when a file changes."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import Tokenizer, _core
from crayon_hf.cartridges import cache, cartridge_check
from crayon_hf.cartridges.cartridge_check import open_beside
from tests.hub.hub_tokenizers import repository, resigned, unsound, with_token
from tests.support.versions import before_1


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str | None]:
    """What each comparison said, in a fresh cache that takes every file for one that has not changed for long."""
    seen: list[str | None] = []
    disagreement = cartridge_check.disagreement

    def spy(*arguments: Any) -> str | None:
        seen.append(disagreement(*arguments))
        return seen[-1]

    monkeypatch.setattr(cartridge_check, "disagreement", spy)
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    return seen


@pytest.fixture
def files(tmp_path: Path, gpt2_like: Path) -> tuple[str, str]:
    """The paths of a cartridge and of its tokenizer.json."""
    for name, data in repository(gpt2_like).items():
        (tmp_path / name).write_bytes(data)
    return str(tmp_path / "tokenizer.dat"), str(tmp_path / "tokenizer.json")


def replace(path: str, data: bytes) -> None:
    Path(path + ".new").write_bytes(data)
    os.replace(path + ".new", path)


def test_compared_once(files: tuple[str, str], compared: list[str | None]) -> None:
    for _ in range(3):
        engine, reason = open_beside(*files)
        assert engine is not None
        assert reason is None
    assert compared == [None]
    os.utime(files[0], ns=(1, 1))
    open_beside(*files)
    assert compared == [None, None]


def test_what_it_is_compared_with(
    files: tuple[str, str], compared: list[str | None], gpt2_like: Path, llama3_like: Path
) -> None:
    """That it agrees with one document says nothing of another one."""
    assert open_beside(*files)[0] is not None
    document = gpt2_like.read_bytes()
    assert open_beside(*files, document + b"\n")[0] is not None
    engine, reason = open_beside(*files, llama3_like.read_bytes())
    assert engine is None
    assert reason is not None
    replace(files[1], with_token(gpt2_like, "<new>"))
    engine, reason = open_beside(*files)
    assert engine is None
    assert "another tokenizer.json" in str(reason)
    replace(files[0], resigned(Path(files[0]).read_bytes(), Path(files[1]).read_bytes()))
    engine, reason = open_beside(*files)
    assert engine is None
    assert "<new>" in str(reason) or "added token" in str(reason)
    assert compared[:2] == [None, None]
    assert None not in compared[2:]


@before_1("defaults that it writes out: a file stays as it is")
def test_defaults_that_the_file_leaves_out(
    files: tuple[str, str], compared: list[str | None], gpt2_like: Path, unigram: bytes
) -> None:
    """A published file need not be as the library writes it: what the library made of it is written otherwise."""
    document = json.loads(gpt2_like.read_bytes())
    assert document["pre_tokenizer"].pop("use_regex") is True
    for source in (json.dumps(document).encode(), unigram):
        replace(files[1], source)
        replace(files[0], repository(source)["tokenizer.dat"])
        written = _core.with_exact_scores(tokenizers.Tokenizer.from_str(source.decode()).to_str().encode())
        engine, reason = open_beside(*files, written)
        assert engine is not None, reason
        assert compared[-2] is not None  # word for word it is another document
        other = json.loads(written)
        other["added_tokens"] = []
        assert open_beside(*files, json.dumps(other).encode())[0] is None


@pytest.fixture
def unigram() -> bytes:
    """A Unigram model as T5's is published: Metaspace with a field that the library does not write."""
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.Unigram([("<unk>", 0.0), ("▁a", -2.3), ("a", -3.1754), ("b", -4.7)], unk_id=0)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens(["<pad>"])
    document = json.loads(tokenizer.to_str())
    document["pre_tokenizer"]["add_prefix_space"] = True
    return json.dumps(document, ensure_ascii=False).encode()


def test_what_is_fresh_is_compared_again(
    files: tuple[str, str], compared: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SETTLED_NS", 10**18)
    for _ in range(2):
        assert open_beside(*files)[0] is not None
    assert compared == [None, None]


def test_an_index_that_somebody_else_may_write(files: tuple[str, str], compared: list[str | None]) -> None:
    open_beside(*files)
    os.chmod(Path(cache.cache_directory()) / "index", 0o777)
    open_beside(*files)
    assert compared == [None, None]


def test_what_is_not_there(files: tuple[str, str]) -> None:
    os.unlink(files[1])
    engine, reason = open_beside(*files)
    assert engine is None
    assert "there is no tokenizer.json beside it" in str(reason)
    os.unlink(files[0])
    Path(files[1]).write_bytes(b"{}")
    assert open_beside(*files) == (None, None)


def test_unsound_ones(files: tuple[str, str], gpt2_like: Path, llama3_like: Path) -> None:
    for case, (data, said) in unsound(gpt2_like.read_bytes(), llama3_like.read_bytes()).items():
        replace(files[0], data)
        engine, reason = open_beside(*files)
        assert engine is None, case
        assert reason, case
        assert said in reason


def test_a_tokenizer_json_that_is_not_compiled(files: tuple[str, str]) -> None:
    cartridge = Path(files[0]).read_bytes()
    for document in (b"{}", b"[1, 2", b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}'):
        replace(files[1], document)
        replace(files[0], resigned(cartridge, document))
        engine, reason = open_beside(*files)
        assert engine is None
        assert reason


def test_origin(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a cartridge is from, and that copies, pickles and changes say it, too."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    by_path, by_cache = Tokenizer.from_file(files[0]), Tokenizer.from_file(files[1])
    in_memory = Tokenizer.from_buffer(Path(files[1]).read_bytes())
    for tokenizer, origin in ((by_path, "repository"), (by_cache, "cache"), (in_memory, "memory")):
        for twin in (tokenizer, tokenizer.__copy__(), pickle.loads(pickle.dumps(tokenizer))):
            report = twin.engine_report()
            expected = "cache" if twin is not tokenizer and origin == "memory" and report["cartridge"] else origin
            assert (report["origin"], report["refused"]) == (expected, None)
    assert Tokenizer.from_profile("lite").engine_report()["origin"] == "repository"
    by_path.add_tokens(["<new>"])
    assert by_path.engine_report()["origin"] == "repository"  # another view of the same cartridge
