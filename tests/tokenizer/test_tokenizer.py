"""The interface of tokenizers.Tokenizer, held against tokenizers.Tokenizer itself."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tokenizers

import crayon_hf
from crayon_hf import Tokenizer
from tests.support.versions import before_1

TEXTS = (
    "",
    " ",
    "Hello, world!",
    "It's 12345 o'clock\r\n\n  and   we'LL see\t\tcrayon crayons [L] [R]  x",
    "naïve Zoë e\u0301 \u1e9b\u0323 가 \u1100\u1161 Å",
    "日本語のテキスト 🙂👩\u200d👩\u200d👧\u200d👦 مرحبا \x00\x7f\u200b\ufeff",
    "a <mask> b<|endoftext|>c <|begin_of_text|> <|im_start|>user\n<s></s>",
    "x" * 500 + " " * 300 + "1" * 50,
)
FIELDS = (
    "ids",
    "tokens",
    "offsets",
    "type_ids",
    "attention_mask",
    "special_tokens_mask",
    "word_ids",
    "sequence_ids",
    "n_sequences",
)


@pytest.fixture(scope="module")
def reference(any_vocabulary: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(any_vocabulary))


@pytest.fixture(scope="module")
def ours(any_vocabulary: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(any_vocabulary)
    assert tokenizer.engine == "native"
    return tokenizer


def fields(encoding: object) -> dict[str, object]:
    return {name: getattr(encoding, name) for name in FIELDS}


@pytest.mark.parametrize("add_special_tokens", [True, False])
@pytest.mark.parametrize("special_as_text", [True, False])
def test_encode(ours, reference, add_special_tokens, special_as_text):
    ours.encode_special_tokens = reference.encode_special_tokens = special_as_text
    try:
        assert ours.encode_special_tokens is special_as_text
        for text in TEXTS:
            expected = reference.encode(text, add_special_tokens=add_special_tokens)
            assert fields(ours.encode(text, add_special_tokens=add_special_tokens)) == fields(expected), text
    finally:
        ours.encode_special_tokens = reference.encode_special_tokens = False


def test_encode_pair(ours, reference):
    for first, second in zip(TEXTS, reversed(TEXTS), strict=True):
        assert fields(ours.encode(first, second)) == fields(reference.encode(first, second))
        assert fields(ours.encode(first, pair=second)) == fields(reference.encode(first, pair=second))


def test_encode_words(ours, reference):
    words, more = ["Hello", "wörld!", "", "it's"], ("12345", " <mask>", "日本")
    assert fields(ours.encode(words, is_pretokenized=True)) == fields(reference.encode(words, is_pretokenized=True))
    expected = reference.encode(words, more, is_pretokenized=True, add_special_tokens=False)
    assert fields(ours.encode(words, more, True, False)) == fields(expected)


@pytest.mark.concurrency
def test_encode_batch(ours, reference):
    batch = [*TEXTS, ("a pair", "of texts"), ["another", "pair"]]
    expected = [fields(encoding) for encoding in reference.encode_batch(batch)]
    assert [fields(encoding) for encoding in ours.encode_batch(batch)] == expected
    assert [fields(encoding) for encoding in ours.encode_batch(batch, threads=3)] == expected
    assert ours.encode_batch([]) == []


def test_encode_batch_of_words(ours, reference):
    batch = [["a", "b"], (["c", "d"], ["e"]), []]
    expected = [fields(encoding) for encoding in reference.encode_batch(batch, is_pretokenized=True)]
    assert [fields(encoding) for encoding in ours.encode_batch(batch, is_pretokenized=True)] == expected


def test_encode_batch_fast(ours, reference):
    expected = [fields(encoding) for encoding in reference.encode_batch_fast(list(TEXTS))]
    full = ours.encode_batch(list(TEXTS))
    for encoding, wanted, whole in zip(ours.encode_batch_fast(list(TEXTS)), expected, full, strict=True):
        # The reference leaves these two empty, too; ours come at no cost.
        wanted |= {"tokens": whole.tokens, "word_ids": whole.word_ids}
        assert fields(encoding) == wanted


@pytest.mark.concurrency
def test_ragged_and_counts(ours, reference):
    for add_special_tokens in (True, False):
        expected = [reference.encode(text, add_special_tokens=add_special_tokens).ids for text in TEXTS]
        ids, splits = ours.encode_ragged(list(TEXTS), add_special_tokens, threads=2)
        assert ids.dtype == np.int32
        assert splits.dtype == np.int64
        assert [ids[a:b].tolist() for a, b in pairwise(splits)] == expected
        assert ours.count_tokens(list(TEXTS), add_special_tokens) == [len(row) for row in expected]
        assert [ours.count_tokens(text, add_special_tokens) for text in TEXTS] == [len(row) for row in expected]
    assert ours.count_tokens([text.encode() for text in TEXTS]) == ours.count_tokens(list(TEXTS))
    ids, splits = ours.encode_ragged([])
    assert (ids.tolist(), splits.tolist()) == ([], [0])


@pytest.mark.concurrency
def test_decode(ours, reference):
    rows = [reference.encode(text).ids for text in TEXTS]
    for skip in (True, False):
        expected = [reference.decode(row, skip_special_tokens=skip) for row in rows]
        assert [ours.decode(row, skip_special_tokens=skip) for row in rows] == expected
        assert ours.decode_batch(rows, skip_special_tokens=skip) == expected
        assert ours.decode_batch(iter(rows), skip, threads=2) == expected
    assert ours.decode(np.array(rows[2])) == ours.decode(tuple(rows[2])) == reference.decode(rows[2])
    assert ours.decode([]) == ""


def test_bytes_survive(ours):
    data = bytes(range(256)) * 3 + b"\xed\xa0\x80 plain <mask> text \xf0\x9f"
    ids = ours.encode_bytes(data)
    assert ours.decode_bytes(ids) == data
    assert all(type(id) is int for id in ids)


def test_vocabulary(ours, reference):
    for with_added_tokens in (True, False):
        assert ours.get_vocab(with_added_tokens) == reference.get_vocab(with_added_tokens)
        assert ours.get_vocab_size(with_added_tokens) == reference.get_vocab_size(with_added_tokens)
    size = reference.get_vocab_size()
    for id in (0, 5, size - 1, size, 10**6):
        assert ours.id_to_token(id) == reference.id_to_token(id)
    for token in ("a", "Ġthe", "<mask>", "[CLS]", "<|endoftext|>", "not a token", ""):
        assert ours.token_to_id(token) == reference.token_to_id(token)
    for is_pair in (False, True):
        assert ours.num_special_tokens_to_add(is_pair) == reference.num_special_tokens_to_add(is_pair)


def test_added_tokens(ours, reference):
    def plain(tokens):
        return {id: (str(token), repr(token)) for id, token in tokens.items()}

    assert plain(ours.get_added_tokens_decoder()) == plain(reference.get_added_tokens_decoder())


def test_to_str(ours, reference):
    assert ours.to_str() == reference.to_str()
    assert ours.to_str(pretty=True) == reference.to_str(pretty=True)


def test_save_json(ours, reference, tmp_path):
    ours.save(tmp_path / "ours.json")
    reference.save(str(tmp_path / "reference.json"))
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "reference.json").read_bytes()
    ours.save(str(tmp_path / "ours.json"), pretty=False)
    assert json.loads((tmp_path / "ours.json").read_bytes()) == json.loads(reference.to_str())
    assert {path.name for path in tmp_path.iterdir()} == {"ours.json", "reference.json"}


def test_save_cartridge(ours, any_vocabulary, tmp_path):
    ours.save(tmp_path / "copy.dat")
    assert (tmp_path / "copy.json").read_bytes() == any_vocabulary.read_bytes()
    copy = Tokenizer.from_file(tmp_path / "copy.dat")
    assert copy.engine_report()["cartridge"] == str(tmp_path / "copy.dat")
    assert [copy.encode(text).ids for text in TEXTS] == [ours.encode(text).ids for text in TEXTS]
    assert copy.to_str() == ours.to_str()


def test_from_str_is_from_file(ours, any_vocabulary, tmp_path):
    data = any_vocabulary.read_bytes()
    for tokenizer in (Tokenizer.from_str(data.decode()), Tokenizer.from_buffer(data)):
        assert [fields(tokenizer.encode(text)) for text in TEXTS] == [fields(ours.encode(text)) for text in TEXTS]
        assert tokenizer.to_str() == ours.to_str()
        assert tokenizer.engine_report()["cartridge"] is None
        tokenizer.save(tmp_path / "x.dat")
        assert Tokenizer.from_file(tmp_path / "x.dat").encode(TEXTS[3]).ids == ours.encode(TEXTS[3]).ids


def test_cartridge_without_its_json(ours, tmp_path):
    ours.save(tmp_path / "lone.dat")
    (tmp_path / "lone.json").unlink()
    lone = Tokenizer.from_file(tmp_path / "lone.dat")
    assert lone.encode(TEXTS[3]).ids == ours.encode(TEXTS[3]).ids
    with pytest.raises(crayon_hf.SourceMissingError, match=r"lone\.json"):
        lone.to_str()
    (tmp_path / "lone.json").write_text("{}")
    with pytest.raises(crayon_hf.SourceMissingError, match="not the file"):
        lone.to_str()


def test_report(ours):
    report = ours.engine_report()
    assert report["engine"] == "native"
    assert report["reason"] is None
    assert report["reference"] == "tokenizers"
    assert report["cpu"] in crayon_hf._core.cpu_levels()
    assert Path(report["cartridge"]).read_bytes()[:4] == b"CRAY"


@before_1("form of its own in which a tokenizer is shown")
def test_how_it_is_shown(any_vocabulary):
    for change in (
        lambda tokenizer: None,
        lambda tokenizer: tokenizer.add_tokens([f"[{i}]" for i in range(120)]),
        lambda tokenizer: tokenizer.add_special_tokens(['a "quoted" one, normalizer=None, pre_tokenizer=None']),
        lambda tokenizer: (tokenizer.enable_truncation(8), tokenizer.enable_padding(length=9)),
        lambda tokenizer: setattr(tokenizer, "normalizer", tokenizers.normalizers.Lowercase()),
    ):
        ours, stock = Tokenizer.from_file(any_vocabulary), tokenizers.Tokenizer.from_file(str(any_vocabulary))
        for tokenizer in (ours, stock):
            change(tokenizer)
        assert repr(ours) == repr(stock)
        assert str(ours) == str(stock)
    empty = tokenizers.models.BPE()
    assert repr(Tokenizer(empty)) == repr(tokenizers.Tokenizer(empty))


def test_relative_paths_outlive_the_working_directory(ours, any_vocabulary, tmp_path, monkeypatch):
    ours.save(tmp_path / "x.dat")
    monkeypatch.chdir(tmp_path)
    from_dat, from_json = Tokenizer.from_file("x.dat"), Tokenizer.from_file("x.json")
    monkeypatch.chdir("/")
    for tokenizer in (from_dat, from_json):
        assert tokenizer.to_str() == ours.to_str()
        tokenizer.save(tmp_path / "y.dat")
    assert (tmp_path / "y.dat").read_bytes() == (tmp_path / "x.dat").read_bytes()
