"""Tokenizers that are copied, pickled, and shared between processes and threads."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
import warnings

import pytest
import tokenizers

from crayon_hf import CartridgeError, SourceMissingError, Tokenizer
from tests.support.versions import before_1

TEXT = "Hello, world! <|endoftext|> It's 2024 and naïve."


PICKLED = pytest.param(
    lambda t: pickle.loads(pickle.dumps(t)), marks=before_1("name for what 0.23 pickles: the reference is beside it")
)


@pytest.fixture
def ours(gpt2_like):
    return Tokenizer.from_file(gpt2_like)


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, PICKLED])
@pytest.mark.parametrize("native", [True, False])
def test_twin_forgets_what_was_special_once(request, gpt2_like, wordpiece_like, native, twin_of):
    """A copy forgets tokens that were special once, as in ``tokenizers``, which copies by writing and reading."""
    if not native:
        request.getfixturevalue("refusing")
    path = gpt2_like if native else wordpiece_like
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in (Tokenizer, tokenizers.Tokenizer):
            one = kind.from_file(str(path))
            one.add_special_tokens(["<x>", "<y>"])
            one.add_tokens([tokenizers.AddedToken("<x>", special=False, lstrip=True)])
            one.enable_truncation(9)
            ids = one.encode("a <x> <y> a").ids
            one.encode_special_tokens = True
            twins = [one, twin_of(one), twin_of(twin_of(one)), one]
            said.append([twin.decode(ids, skip_special_tokens=skip) for twin in twins for skip in (True, False)])
            said[-1].append(twins[1].encode("a <x> <y> a").ids)
            said[-1] += [twins[1].to_str(), *(twin.encode_special_tokens for twin in twins)]
    assert said[0] == said[1]
    assert said[0][0] != said[0][2]


@before_1("components written in Python")
def test_a_change_of_a_copy_is_its_own(ours):
    before = ours.get_added_tokens_decoder().keys(), type(ours.pre_tokenizer)
    twin = copy.copy(ours)
    twin.add_tokens(["<own>"])
    twin.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(object())
    assert (ours.get_added_tokens_decoder().keys(), type(ours.pre_tokenizer)) == before


def test_unpickled_where_the_files_are_not(gpt2_like, tmp_path, monkeypatch):
    """A pickle has the vocabulary, so it can be loaded on another machine, which lacks the files."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
    ours = Tokenizer.from_file(gpt2_like)
    data = pickle.dumps(ours)
    (tmp_path / "here").rename(tmp_path / "gone")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "there"))
    twin = pickle.loads(data)
    assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
    assert twin.to_str() == ours.to_str()
    assert twin.engine_report()["cartridge"].startswith(str(tmp_path / "there"))


holds_files = pytest.mark.skipif(not hasattr(os, "pread"), reason="no file can be held open here")


@holds_files
def test_lives_on_when_its_files_are_gone(gpt2_like, llama3_like, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    path = shutil.copy(gpt2_like, tmp_path / "x.json")
    expected = Tokenizer.from_file(path).to_str()
    for vanish in (os.remove, lambda path: os.replace(shutil.copy(llama3_like, tmp_path / "y.json"), path)):
        shutil.copy(gpt2_like, path)
        ours = Tokenizer.from_file(path)
        shutil.rmtree(tmp_path / "cache")
        vanish(path)
        assert ours.to_str() == expected
        assert ours.model is not None
        for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
            assert twin.to_str() == expected
        ours.save(tmp_path / "saved.json", pretty=False)
        assert (tmp_path / "saved.json").read_text(encoding="utf-8") == expected
        ours.save(tmp_path / "saved.dat")
        assert Tokenizer.from_file(tmp_path / "saved.dat").to_str() == expected


def test_file_that_was_overwritten_in_place(gpt2_like, llama3_like, tmp_path):
    path = tmp_path / "x.json"
    shutil.copy(gpt2_like, path)
    ours = Tokenizer.from_file(path)
    path.write_bytes(llama3_like.read_bytes())
    with pytest.raises(SourceMissingError, match="is not the file"):
        ours.to_str()
    path.write_bytes(gpt2_like.read_bytes())
    assert ours.to_str() == Tokenizer.from_file(gpt2_like).to_str()


counts_descriptors = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors cannot be counted here")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@holds_files
@counts_descriptors
def test_held_files_are_few_and_given_back(gpt2_like, tmp_path):
    before = descriptors()
    tokenizers = [Tokenizer.from_file(gpt2_like) for _ in range(100)]
    assert before < descriptors() <= before + 64
    assert len({tokenizer.to_str() for tokenizer in tokenizers}) == 1
    tokenizers.clear()
    assert descriptors() <= before


def test_lone_cartridge_is_pickled_by_its_path(ours, llama3_like, tmp_path):
    ours.save(tmp_path / "x.dat")
    (tmp_path / "x.json").unlink()
    lone = Tokenizer.from_file(tmp_path / "x.dat")
    data = pickle.dumps(lone)
    assert len(data) < 1000
    assert pickle.loads(data).encode(TEXT).ids == ours.encode(TEXT).ids
    Tokenizer.from_file(llama3_like).save(tmp_path / "x.dat")
    with pytest.raises(CartridgeError, match=r"x\.dat has changed since"):
        pickle.loads(data)
    (tmp_path / "x.dat").unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_delegated_is_pickled_without_another_warning(refusing, wordpiece_like):
    with pytest.warns(UserWarning, match="not supported by"):
        ours = Tokenizer.from_file(wordpiece_like)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for twin in (copy.copy(ours), pickle.loads(pickle.dumps(ours))):
            assert twin.engine == "delegated"
            assert twin.encode(TEXT).ids == ours.encode(TEXT).ids
            assert twin.to_str() == ours.to_str()


@pytest.mark.skipif(os.name == "nt", reason="fork")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(ours, method):
    """A tokenizer works in child processes, whether a fork inherits it or a new process gets its pickle."""
    expected = ours.count_tokens(TEXT)
    ours.encode_batch([TEXT] * 100, threads=2)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(Tokenizer.count_tokens, [(ours, TEXT)] * 4) == [expected] * 4
