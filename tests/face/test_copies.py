"""Tokenizers that are copied, pickled, and shared between processes and threads."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from crayon_hf import CartridgeError, Tokenizer

TEXT = "Hello, world! <|endoftext|> It's 2024 and naïve."


@pytest.fixture
def ours(gpt2_like):
    return Tokenizer.from_file(gpt2_like)


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_twins(ours, twin_of):
    ours.encode_special_tokens = True
    twin = twin_of(ours)
    assert twin.encode_special_tokens is True
    assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
    twin.encode_special_tokens = False
    assert ours.encode_special_tokens is True
    assert twin.encode(TEXT).ids != ours.encode(TEXT).ids
    assert twin.to_str() == ours.to_str()


def test_unpickled_where_the_files_are_not(gpt2_like, tmp_path, monkeypatch):
    """As in another machine: the pickle holds the vocabulary."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
    ours = Tokenizer.from_file(gpt2_like)
    data = pickle.dumps(ours)
    (tmp_path / "here").rename(tmp_path / "gone")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "there"))
    twin = pickle.loads(data)
    assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
    assert twin.to_str() == ours.to_str()
    assert twin.engine_report()["cartridge"].startswith(str(tmp_path / "there"))


def test_pickled_from_memory(gpt2_like):
    ours = Tokenizer.from_str(gpt2_like.read_text(encoding="utf-8"))
    assert pickle.loads(pickle.dumps(ours)).encode(TEXT).ids == ours.encode(TEXT).ids


def test_lone_cartridge_is_pickled_by_its_path(ours, llama3_like, tmp_path):
    ours.save(tmp_path / "x.dat")
    (tmp_path / "x.json").unlink()
    lone = Tokenizer.from_file(tmp_path / "x.dat")
    data = pickle.dumps(lone)
    assert len(data) < 1000
    assert pickle.loads(data).encode(TEXT).ids == ours.encode(TEXT).ids
    Tokenizer.from_file(llama3_like).save(tmp_path / "x.dat")
    with pytest.raises(CartridgeError, match=r"x\.dat is not the cartridge"):
        pickle.loads(data)
    (tmp_path / "x.dat").unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_delegated_is_pickled_without_another_warning(refusing, wordpiece_like):
    with pytest.warns(UserWarning, match="not native"):
        ours = Tokenizer.from_file(wordpiece_like)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for twin in (copy.copy(ours), pickle.loads(pickle.dumps(ours))):
            assert twin.engine == "delegated"
            assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
            assert twin.to_str() == ours.to_str()


def count(tokenizer: Tokenizer) -> int:
    return tokenizer.count_tokens(TEXT)


@pytest.mark.skipif(os.name == "nt", reason="fork")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(ours, method):
    # Both ways into a child: as it is in a fork, pickled to a new process.
    expected = ours.count_tokens(TEXT)
    ours.encode_batch([TEXT] * 100, threads=2)
    child = "import pickle, sys; print(pickle.load(sys.stdin.buffer).count_tokens(sys.argv[1]))"
    if method == "fork":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(count, [ours] * 4) == [expected] * 4
    else:
        import subprocess
        import sys

        done = subprocess.run([sys.executable, "-c", child, TEXT], input=pickle.dumps(ours), capture_output=True)
        assert (done.stdout.strip(), done.stderr) == (str(expected).encode(), b"")


def test_threads(ours):
    texts = [f"{TEXT} {i}" * (i % 7) for i in range(200)]
    expected = [ours.encode(text).ids for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda text: ours.encode(text).ids, texts)) == expected
