"""`CrayonVocab`: what it gives, what it says of its vocabulary, and how its profiles come and go."""

from __future__ import annotations

import gc
import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import (
    CartridgeError,
    CrayonVocab,
    ProfileNotFoundError,
    ProfileNotLoadedError,
    TokenIdError,
    Tokenizer,
    VocabularyError,
)
from crayon_hf.compat_crayon.vocab import quick_tokenize
from tests.support.version_2_files import WORDS, complete, longest_match, write_version_2

TEXTS = [
    "",
    "The quick brown foxes' jumping; unbelievable, isn't it? 12345 <|endoftext|>",
    "the thesis: abcab, é日本語🙂\x00",
    "naïve Zoë 日本語 🙂 \x00 مرحبا",
    "    def encode(self, text):\n\t\treturn [selfish]  \r\n",
    "x" * 1000 + "é" * 200,
]


@pytest.fixture
def v2(tmp_path):
    return write_version_2(tmp_path / "words.dat", WORDS)


@pytest.fixture
def vocab(v2):
    vocab = CrayonVocab()
    vocab.load_profile(v2)
    return vocab


# -- ids and text


@pytest.mark.parametrize("mode", ["exact", "greedy"])
def test_ids_are_those_of_the_tokenizer(any_vocabulary, mode):
    vocab = CrayonVocab(mode=mode)
    vocab.load_profile(any_vocabulary)
    tokenizer = Tokenizer.from_file(any_vocabulary, mode=mode)
    expected = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert [vocab.tokenize(text) for text in TEXTS] == expected
    assert vocab.tokenize(TEXTS) == expected
    assert [vocab.decode(ids) for ids in expected] == [tokenizer.decode(i, skip_special_tokens=False) for i in expected]
    assert vocab.vocab_size == len(vocab) == max(tokenizer.get_vocab().values()) + 1
    assert vocab.get_info()["mode"] == mode


@pytest.mark.parametrize("mode", ["exact", "greedy"])
def test_version_2_is_byte_complete(v2, mode):
    ids, vocab = complete(WORDS), CrayonVocab(mode=mode)
    vocab.load_profile(v2)
    for text in TEXTS:
        assert vocab.tokenize(text) == longest_match(ids, text.encode())
        assert vocab.decode(vocab.tokenize(text)) == text


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab é\x00日🙂"), min_size=1, max_size=4), min_size=1, max_size=12),
    st.text(st.sampled_from("ab é\x00日🙂c")),
)
def test_any_list(tokens, text):
    vocab = CrayonVocab(tokens)
    assert vocab.tokenize(text) == longest_match(complete(tokens), text.encode())
    assert vocab.decode(vocab.tokenize(text)) == text


def test_types(vocab):
    one, many = vocab.tokenize("the"), vocab.tokenize(["the", "a"])
    assert type(one) is type(many) is type(many[0]) is list
    assert {type(id) for row in (one, *many) for id in row} == {int}
    assert vocab.tokenize([]) == []
    assert vocab.tokenize("") == []
    assert vocab.tokenize([""]) == [[]]
    assert vocab.tokenize(("the", "a")) == vocab.tokenize(text for text in ("the", "a")) == many


def test_ragged(vocab):
    ids, splits = vocab.encode_ragged(TEXTS)
    assert (ids.dtype, splits.dtype) == (np.int32, np.int64)
    rows = [ids[begin:end].tolist() for begin, end in pairwise(splits)]
    assert rows == vocab.tokenize(TEXTS)


@pytest.mark.parametrize("bad", [b"the", 5, None, 1.5])
def test_what_is_no_text(vocab, bad):
    for call in (vocab.tokenize, vocab.encode_ragged):
        with pytest.raises(TypeError, match=f"texts are {type(bad).__name__}, expected"):
            call(bad)
        with pytest.raises(TypeError, match=f"item 1 of the texts is {type(bad).__name__}, expected str"):
            call(["a", bad])


def test_surrogates_are_no_text(vocab):
    for text in ("\ud800", ["a", "\ud800"]):
        with pytest.raises((ValueError, TypeError)):
            vocab.tokenize(text)
    assert vocab.token_to_id("\ud800") is None
    assert "\ud800" not in vocab


def test_decode(vocab):
    assert vocab.decode([9, 10]) == "the "
    assert vocab.decode(np.array([9, 10])) == "the "
    assert vocab.decode((9,)) == "the"
    assert vocab.decode([]) == ""
    for id in (-1, vocab.vocab_size, 2**31):
        with pytest.raises(TokenIdError):
            vocab.decode([9, id])
    for bad in ("9", 9, None, [1.5]):
        with pytest.raises(TypeError):
            vocab.decode(bad)


def test_quick_tokenize(monkeypatch, v2):
    assert quick_tokenize("Hello, world!") == Tokenizer.from_profile("lite").encode("Hello, world!").ids
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(v2.parent))
    assert quick_tokenize(["the", "a"], "words", device="cpu") == [[9], [2]]


# -- the vocabulary


def test_tokens_by_id(vocab):
    tokens = vocab.id_to_token
    assert len(tokens) == len(vocab) == vocab.vocab_size == len(complete(WORDS)) == max(complete(WORDS).values()) + 1
    assert list(tokens)[: len(WORDS)] == tokens[: len(WORDS)] == list(WORDS)
    assert [tokens(id) for id in range(len(WORDS))] == list(WORDS)
    assert (tokens[-1], tokens(vocab.vocab_size), tokens(-1)) == ("\ufffd", None, None)
    assert "the" in tokens
    assert "thx" not in tokens
    with pytest.raises(IndexError):
        tokens[vocab.vocab_size]
    for id, token in enumerate(WORDS):
        assert vocab.token_to_id(token) == id
        assert token in vocab
    assert vocab.token_to_id("d") == complete(WORDS)[b"d"]
    for token in ("", "thx", "Ġthe", "\ufffd", "ÿ"):
        assert vocab.token_to_id(token) is None
        assert token not in vocab
    with pytest.raises(TypeError):
        vocab.token_to_id(5)
    assert 5 not in vocab


def test_tokens_are_text_in_every_vocabulary(any_vocabulary):
    vocab = CrayonVocab()
    vocab.load_profile(any_vocabulary)
    for token, id in Tokenizer.from_file(any_vocabulary).get_vocab().items():
        text = vocab.id_to_token[id]
        assert text == vocab.decode([id]), token
        if "\ufffd" not in text:
            found = vocab.token_to_id(text)
            assert found == id or (found is not None and vocab.id_to_token[found] == text)  # an added token, too


def test_holes():
    vocab = CrayonVocab(["a", "", "b", "a"])
    assert vocab.tokenize("ab") == [3, 2]
    assert vocab.id_to_token[:4] == ["", "", "b", "a"]
    assert vocab.id_to_token(0) is None
    assert len(vocab) == 4 + 254
    with pytest.raises(TokenIdError):
        vocab.decode([0])


def test_unknown_token(vocab, wordpiece_like):
    assert (vocab.unk_token, vocab.unk_token_id) == ("<UNK>", WORDS.index("<UNK>"))
    assert CrayonVocab(["a"]).unk_token_id is None
    pieces = CrayonVocab(unk_token="[UNK]")
    assert pieces.unk_token_id is None
    pieces.load_profile(wordpiece_like)
    assert pieces.unk_token_id == pieces.tokenize("\u2603")[0] == 0


def match_twin(text: str, pos: int) -> tuple[int, int]:
    ids, data = complete(WORDS), text[pos:].encode()
    size = next(size for size in range(len(data), 0, -1) if data[:size] in ids)
    return ids[data[:size]], len(data[:size].decode("utf-8", "ignore"))


def test_longest_match(vocab):
    text = "the thesis: abcab, é日本語日本🙂\x00ü" + "x" * 301 + "é" * 71
    assert [vocab.longest_match(text, pos) for pos in range(len(text))] == [
        match_twin(text, pos) for pos in range(len(text))
    ]
    assert vocab.longest_match("x" * 300) == (WORDS.index("x" * 300), 300)
    assert vocab.longest_match("é" * 70) == (WORDS.index("é" * 70), 70)
    assert vocab.longest_match("ü") == (complete(WORDS)[b"\xc3"], 0)
    for pos in (3, 4, 2**40):
        assert vocab.longest_match("the", pos) == (vocab.unk_token_id, 0)
    with pytest.raises(ValueError, match="pos is -1"):
        vocab.longest_match("the", -1)
    with pytest.raises(TypeError):
        vocab.longest_match(b"the")


def test_longest_match_of_pieces(wordpiece_like):
    vocab = CrayonVocab(unk_token="[UNK]")
    vocab.load_profile(wordpiece_like)
    assert vocab.longest_match("the\u2603", 3) == (vocab.unk_token_id, 1)
    id, size = vocab.longest_match("the\u2603")
    assert "the".startswith(vocab.id_to_token[id])
    assert size == len(vocab.id_to_token[id])


# -- profiles


def test_nothing_is_loaded(vocab):
    vocab.close()
    for empty, why in ((CrayonVocab(), "no profile is loaded"), (vocab, "it is closed")):
        calls = [
            lambda v=empty: v.tokenize("a"),
            lambda v=empty: v.tokenize([]),
            lambda v=empty: v.encode_ragged(["a"]),
            lambda v=empty: v.decode([1]),
            lambda v=empty: v.id_to_token,
            lambda v=empty: v.token_to_id("a"),
            lambda v=empty: v.longest_match("a"),
        ]
        for call in calls:
            with pytest.raises(ProfileNotLoadedError, match=f"{why}: call load_profile first"):
                call()
        assert (empty.vocab_size, len(empty)) == (0, 0)
        assert (empty.is_profile_loaded, empty.current_profile_path) == (False, None)
        assert empty.unk_token_id is None
        assert "a" not in empty
        info = empty.get_info()
        assert (info["profile_loaded"], info["vocab_size"], info["active_profile"]) == (False, None, None)
    assert issubclass(ProfileNotLoadedError, RuntimeError)  # which is what CRAYON raises


def test_close(v2):
    with CrayonVocab() as vocab:
        vocab.load_profile(v2)
        assert vocab.is_profile_loaded
    assert not vocab.is_profile_loaded
    vocab.close()
    vocab.close()
    vocab.load_profile(v2)
    assert vocab.tokenize("the") == [9]


def test_kinds_of_files(v2, gpt2_like, tmp_path):
    Tokenizer.from_file(gpt2_like).save(tmp_path / "three.dat")
    vocab, expected = CrayonVocab(), Tokenizer.from_file(gpt2_like).encode(TEXTS[1]).ids
    for path in (tmp_path / "three.dat", str(tmp_path / "three.dat"), gpt2_like):
        vocab.load_profile(path)
        assert vocab.tokenize(TEXTS[1]) == expected
        assert vocab.current_profile_path == str(path)
        assert vocab.get_info()["active_profile"] == Path(path).name
    vocab.load_profile(v2)
    assert vocab.tokenize("the") == [9]


def test_paths(v2, monkeypatch):
    monkeypatch.setenv("HOME", str(v2.parent))
    monkeypatch.setenv("USERPROFILE", str(v2.parent))
    monkeypatch.chdir(v2.parent)
    for path in ("words.dat", "./words.dat", "~/words.dat"):
        vocab = CrayonVocab()
        vocab.load_profile(path)
        assert vocab.current_profile_path == str(v2)
    shutil.copy(v2, v2.with_suffix(""))
    vocab.load_profile("words")  # no profile has the name, and a file has
    assert vocab.current_profile_path == str(v2.with_suffix(""))


def test_names(v2, tmp_path, monkeypatch, gpt2_like):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("a file of that name is not the profile")
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    monkeypatch.setenv("CRAYON_PROFILE_DIR", os.pathsep.join([str(home), str(other)]))
    write_version_2(other / "vocab_mine.dat", ["x", "y"])
    vocab = CrayonVocab()
    vocab.load_profile("mine")
    assert vocab.current_profile_path == str(other / "vocab_mine.dat")
    assert vocab.tokenize("yx") == [1, 0]
    vocab.load_profile("vocab_mine")
    assert vocab.tokenize("yx") == [1, 0]
    assert Tokenizer.from_profile("mine").encode("yx").ids == [1, 0]
    write_version_2(home / "vocab_mine.dat", ["y", "x"], companion=False)
    vocab.load_profile("mine")
    assert vocab.tokenize("yx") == [0, 1]
    (home / "mine.json").write_bytes(gpt2_like.read_bytes())
    vocab.load_profile("mine")
    assert vocab.current_profile_path == str(home / "mine.json")
    vocab.load_profile("lite")
    assert vocab.vocab_size == 50_000


def test_stale_cartridge_of_a_profile(tmp_path, monkeypatch, gpt2_like, llama3_like):
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path))
    Tokenizer.from_file(gpt2_like).save(tmp_path / "mine.dat")
    vocab = CrayonVocab()
    vocab.load_profile("mine")
    assert vocab.current_profile_path == str(tmp_path / "mine.dat")
    (tmp_path / "mine.json").write_bytes(llama3_like.read_bytes())
    vocab.load_profile("mine")
    assert vocab.current_profile_path == str(tmp_path / "mine.json")
    assert vocab.token_to_id("<|eot_id|>") is not None


def test_failed_load_keeps_what_is_there(vocab, v2, tmp_path, gpt2_like):
    (tmp_path / "cut.dat").write_bytes(v2.read_bytes()[:-5])
    (tmp_path / "noise.dat").write_bytes(os.urandom(100))
    (tmp_path / "bad.json").write_text("{")
    write_version_2(tmp_path / "odd.dat", WORDS)
    (tmp_path / "odd.json").write_text(json.dumps([*WORDS[1:], "?"]))
    for what, kind in {
        "nowhere": ProfileNotFoundError,
        "nowhere.dat": FileNotFoundError,
        "no/where": FileNotFoundError,
        str(tmp_path): (OSError, VocabularyError),
        "a..b": ValueError,
        "": ValueError,
        str(tmp_path / "cut.dat"): CartridgeError,
        str(tmp_path / "noise.dat"): VocabularyError,
        str(tmp_path / "bad.json"): VocabularyError,
        str(tmp_path / "odd.dat"): VocabularyError,
    }.items():
        with pytest.raises(kind):
            vocab.load_profile(what)
        with pytest.raises(kind), vocab.using_profile(what):
            pytest.fail("nothing to use")
        assert vocab.tokenize("the") == [9]
        assert vocab.current_profile_path == str(v2)
    for bad in (None, 5, ["lite"], b"lite"):
        with pytest.raises(TypeError):
            vocab.load_profile(bad)
    for tokens, kind in (([], VocabularyError), ([""], VocabularyError), (["a", 5], TypeError), ("ab", TypeError)):
        with pytest.raises(kind):
            vocab.load_from_list(tokens)
    assert vocab.tokenize("the") == [9]


def test_lists(vocab):
    vocab.load_from_list(["a", "b", "ab"])
    assert vocab.tokenize("abba") == [2, 1, 0]
    assert vocab.current_profile_path is None
    assert vocab.is_profile_loaded
    assert CrayonVocab(("a", "b", "ab")).tokenize("abba") == [2, 1, 0]
    assert CrayonVocab(["a\x00b"]).tokenize("a\x00b") == [0]
    with pytest.raises(VocabularyError, match="token 1 is"):
        CrayonVocab(["a", "\ud800"])


def test_using_profile(vocab, v2, tmp_path):
    first, second = (write_version_2(tmp_path / f"{name}.dat", [name, "!"]) for name in "pq")
    with vocab.using_profile(first) as same:
        assert same is vocab
        assert vocab.tokenize("p") == [0]
        with pytest.raises(ZeroDivisionError), vocab.using_profile(second):
            1 / vocab.tokenize("q")[0]
        assert vocab.current_profile_path == str(first)
        vocab.load_profile(second)
        for path in (v2, v2.with_suffix(".json")):
            path.unlink()  # it is not opened again
    assert vocab.tokenize("the") == [9]
    assert vocab.current_profile_path == str(v2)


def test_using_profile_when_there_was_none(v2):
    vocab = CrayonVocab()
    with vocab.using_profile(v2):
        assert vocab.tokenize("the") == [9]
    assert not vocab.is_profile_loaded
    with vocab.using_profile(v2):
        vocab.close()
    assert not vocab.is_profile_loaded
    vocab.load_profile(v2)
    with vocab.using_profile(v2):
        vocab.close()
    with pytest.raises(ProfileNotLoadedError, match="it is closed"):
        vocab.tokenize("a")


def test_instances_share_nothing(v2, tmp_path):
    other = write_version_2(tmp_path / "other.dat", ["z", "the"])
    one, two = CrayonVocab(), CrayonVocab()
    one.load_profile(v2)
    two.load_profile(other)
    assert (one.tokenize("the"), two.tokenize("the")) == ([9], [1])
    two.close()
    del two
    gc.collect()
    assert one.tokenize("the") == [9]


# -- version 2 cartridges are converted once


def test_cached(v2, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))

    def made() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("*.dat")}

    vocab = CrayonVocab()
    vocab.load_profile(v2)
    before = made()
    assert len(before) == 1
    vocab.load_profile(v2)
    assert made() == before
    tokenizer = Tokenizer.from_file(v2)
    assert made() == before
    assert tokenizer.engine_report()["reference"] == "xerv-crayon"
    assert tokenizer.encode("the ü").ids == vocab.tokenize("the ü")
    # the strings beside it say how many ids there are, so they are a part of the key
    v2.with_suffix(".json").write_text(json.dumps([*WORDS, "a", "b"]))
    vocab.load_profile(v2)
    assert len(made()) == 2
    assert vocab.vocab_size == len(complete(WORDS)) + 2
    v2.with_suffix(".json").unlink()
    vocab.load_profile(v2)
    assert len(made()) == 3
    assert vocab.vocab_size == len(complete(WORDS))


def test_strings_as_an_object(v2, vocab):
    v2.with_suffix(".json").write_text(json.dumps({"vocab": {token: id for id, token in enumerate(WORDS)}}))
    other = CrayonVocab()
    other.load_profile(v2)
    assert other.tokenize(TEXTS) == vocab.tokenize(TEXTS)


def test_saved_again(v2, tmp_path):
    Tokenizer.from_file(v2).save(tmp_path / "three.dat")
    old, new = CrayonVocab(), CrayonVocab()
    old.load_profile(v2)
    new.load_profile(tmp_path / "three.dat")
    assert new.tokenize(TEXTS) == old.tokenize(TEXTS)
    assert new.vocab_size == old.vocab_size


def test_profile_of_version_2_beside_its_strings(v2, monkeypatch):
    """The .json beside it is no tokenizer.json, and not compared with one."""
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(v2.parent))
    assert Tokenizer.from_profile("words").encode("the").ids == [9]


# -- threads and processes


@pytest.mark.slow
@pytest.mark.concurrency
def test_a_batch_is_of_one_profile(tmp_path):
    paths = [write_version_2(tmp_path / f"{name}.dat", tokens) for name, tokens in (("p", ["ab"]), ("q", ["!", "ab"]))]
    texts = ["ab"] * 500
    vocab = CrayonVocab()
    vocab.load_profile(paths[0])
    done = threading.Event()

    def swap() -> None:
        for i in range(200):
            vocab.load_profile(paths[i % 2])
            with vocab.using_profile(paths[1 - i % 2]):
                pass
        done.set()

    def work() -> list[list[list[int]]]:
        rows = [vocab.tokenize(texts)]
        while not done.is_set():
            rows.append(vocab.tokenize(texts))
        return rows

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work) for _ in range(3)]
        pool.submit(swap).result()
        results = [rows for task in working for rows in task.result()]
    assert all(rows in ([[0]] * 500, [[1]] * 500) for rows in results)


@pytest.mark.concurrency
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_fork(vocab, v2):
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            vocab.load_profile(v2)
            vocab.tokenize(["the"] * 100)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                vocab.load_profile(v2)
                os._exit(0 if vocab.tokenize(["the"] * 3) == [[9]] * 3 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
