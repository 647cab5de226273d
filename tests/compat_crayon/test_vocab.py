"""`CrayonVocab`: ids and text, the attributes of its vocabulary, and loading and closing of profiles."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import CrayonVocab, Tokenizer
from crayon_hf.errors import CartridgeError, ProfileNotFoundError, ProfileNotLoadedError, TokenIdError, VocabularyError
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


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab é\x00日🙂"), min_size=1, max_size=4), min_size=1, max_size=12),
    st.text(st.sampled_from("ab é\x00日🙂c")),
)
def test_any_list(tokens, text):
    vocab = CrayonVocab(tokens)
    assert vocab.tokenize(text) == longest_match(complete(tokens), text.encode())
    assert vocab.decode(vocab.tokenize(text)) == text


@pytest.mark.parametrize("bad", [b"the", 5, None, 1.5])
def test_what_is_no_text(vocab, bad):
    for call in (vocab.tokenize, vocab.encode_ragged):
        with pytest.raises(TypeError, match=f"texts are {type(bad).__name__}, expected"):
            call(bad)
        with pytest.raises(TypeError, match=f"item 1 of the texts is {type(bad).__name__}, expected str"):
            call(["a", bad])


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


# -- profiles


@pytest.mark.parametrize("why", ["no profile is loaded", "it is closed"])
def test_nothing_is_loaded(vocab, why):
    empty = vocab if "closed" in why else CrayonVocab()
    if empty is vocab:
        empty.close()
    for call in (
        lambda: empty.tokenize("a"),
        lambda: empty.tokenize([]),
        lambda: empty.encode_ragged(["a"]),
        lambda: empty.decode([1]),
        lambda: empty.id_to_token,
        lambda: empty.token_to_id("a"),
        lambda: empty.longest_match("a"),
    ):
        with pytest.raises(ProfileNotLoadedError, match=why):
            call()
    info = empty.get_info()
    assert (empty.vocab_size, len(empty), empty.is_profile_loaded, empty.current_profile_path) == (0, 0, False, None)
    assert (info["profile_loaded"], info["vocab_size"], info["active_profile"]) == (False, None, None)
    assert empty.unk_token_id is None
    assert "a" not in empty


def test_names(v2, tmp_path, monkeypatch, gpt2_like):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("a file of that name is not the profile")
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    monkeypatch.setenv("CRAYON_PROFILE_DIR", os.pathsep.join([str(home), str(other)]))
    write_version_2(other / "vocab_mine.dat", ["x", "y"])
    vocab = CrayonVocab()
    for name in ("mine", "vocab_mine"):
        vocab.load_profile(name)
        assert vocab.current_profile_path == str(other / "vocab_mine.dat")
        assert vocab.tokenize("yx") == [1, 0]
    assert Tokenizer.from_profile("mine").encode("yx").ids == [1, 0]
    write_version_2(home / "vocab_mine.dat", ["y", "x"], companion=False)
    vocab.load_profile("mine")
    assert vocab.tokenize("yx") == [0, 1]
    (home / "mine.json").write_bytes(gpt2_like.read_bytes())
    vocab.load_profile("mine")
    assert vocab.current_profile_path == str(home / "mine.json")


def test_failed_load_keeps_what_is_there(vocab, v2, tmp_path):
    (tmp_path / "cut.dat").write_bytes(v2.read_bytes()[:-5])
    (tmp_path / "bad.json").write_text("{")
    write_version_2(tmp_path / "odd.dat", WORDS)
    (tmp_path / "odd.json").write_text(json.dumps([*WORDS[1:], "?"]))
    for what, kind in (
        ("nowhere", ProfileNotFoundError),
        ("no/where", FileNotFoundError),
        (str(tmp_path), (OSError, VocabularyError)),
        ("a..b", ValueError),
        (str(tmp_path / "cut.dat"), CartridgeError),
        (str(tmp_path / "bad.json"), VocabularyError),
        (str(tmp_path / "odd.dat"), VocabularyError),
        (None, TypeError),
        (["lite"], TypeError),
    ):
        with pytest.raises(kind):
            vocab.load_profile(what)
        with pytest.raises(kind), vocab.using_profile(what):
            pytest.fail("nothing to use")
        assert vocab.tokenize("the") == [9]
        assert vocab.current_profile_path == str(v2)
    for tokens, kind in (([], VocabularyError), ([""], VocabularyError), (["a", 5], TypeError), ("ab", TypeError)):
        with pytest.raises(kind):
            vocab.load_from_list(tokens)


def test_lists(vocab):
    vocab.load_from_list(["a", "b", "ab"])
    assert vocab.tokenize("abba") == [2, 1, 0]
    assert vocab.current_profile_path is None
    assert vocab.is_profile_loaded
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
            path.unlink()  # it must not be opened again
    assert vocab.tokenize("the") == [9]
    assert vocab.current_profile_path == str(v2)


# -- version 2 cartridges are converted once


def test_cached(v2, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))

    def made() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("*.dat")}

    vocab = CrayonVocab()
    vocab.load_profile(v2)
    before = made()
    vocab.load_profile(v2)
    tokenizer = Tokenizer.from_file(v2)
    assert made() == before
    assert len(before) == 1
    assert tokenizer.encode("the ü").ids == vocab.tokenize("the ü")
    # the strings beside it determine the number of ids, so they are part of the key
    v2.with_suffix(".json").write_text(json.dumps([*WORDS, "a", "b"]))
    vocab.load_profile(v2)
    assert (len(made()), vocab.vocab_size) == (2, len(complete(WORDS)) + 2)


# -- `compat="xerv"` gives the ids of CRAYON's own compiled engine


@pytest.fixture(scope="module")
def crayon():
    module = pytest.importorskip("crayon.c_ext.crayon_cpu")
    if not str(module.__file__).endswith((".so", ".pyd")):
        pytest.skip("xerv-crayon has no compiled engine here")
    return module


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab é日🙂"), min_size=1, max_size=4), min_size=2, max_size=12),
    st.text(st.sampled_from("ab é\x00日🙂c"), max_size=80),
)
def test_any_vocabulary(crayon, tmp_path_factory, tokens, text):
    path = write_version_2(tmp_path_factory.getbasetemp() / "any.dat", tokens)
    crayon.load_dat(path.read_bytes())
    expected = crayon.tokenize(text)
    ids = {token.encode(): id for id, token in enumerate(tokens)}
    assert expected == longest_match(ids, text.encode(), unknown=1)
    if 1 not in ids.values():  # CRAYON returns this id nevertheless, though it cannot be decoded
        with pytest.raises(ValueError, match="needs a token with id 1"):
            CrayonVocab(tokens, compat="xerv")
        return
    vocab = CrayonVocab(tokens, compat="xerv")
    assert vocab.tokenize(text) == expected
    vocab.load_profile(path)
    assert vocab.tokenize(text) == expected
    assert vocab.encode_ragged([text])[0].tolist() == expected


@pytest.mark.parametrize("mode", ["exact", "greedy"])
def test_only_for_version_2(tmp_path, mode, gpt2_like, monkeypatch):
    path = write_version_2(tmp_path / "vocab_words.dat", WORDS)
    vocab = CrayonVocab(mode=mode, compat="xerv")
    vocab.load_profile(path)
    assert (vocab.get_info()["compat"], vocab.get_info()["mode"]) == ("xerv", "greedy")
    Tokenizer.from_file(gpt2_like).save(tmp_path / "words.dat")
    for other in (gpt2_like, tmp_path / "words.dat", "lite"):
        with pytest.raises(ValueError, match="version 2 cartridge"):
            vocab.load_profile(other)
    assert vocab.current_profile_path == str(path)
    # of several profiles with this name, CRAYON's is used
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path))
    vocab.load_profile("words")
    assert vocab.current_profile_path == str(path)
    # also a profile converted from one of CRAYON's
    Tokenizer.from_file(path).save(tmp_path / "three.dat")
    vocab.load_profile(path)
    assert vocab.tokenize("ü the") == [1, 1, 11]
