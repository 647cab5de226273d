"""Our `Tokenizer` with trained vocabularies gives the results of `tokenizers.Tokenizer`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tokenizers

import crayon_hf
from crayon_hf import Tokenizer
from tests.support.stand_in_cases import check, fields, plain
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


@pytest.fixture(scope="module")
def reference(any_vocabulary: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(any_vocabulary))


@pytest.fixture(scope="module")
def ours(any_vocabulary: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(any_vocabulary)
    assert tokenizer.engine == "native"
    return tokenizer


@pytest.mark.concurrency
@pytest.mark.parametrize("special_as_text", [True, False])
def test_every_call(ours, reference, special_as_text):
    ours.encode_special_tokens = reference.encode_special_tokens = special_as_text
    try:
        check(reference, ours, TEXTS)
    finally:
        ours.encode_special_tokens = reference.encode_special_tokens = False
    for id in (0, 5, reference.get_vocab_size(), 10**6):
        assert ours.id_to_token(id) == reference.id_to_token(id)
    for token in ("a", "Ġthe", "<mask>", "[CLS]", "<|endoftext|>", "not a token", ""):
        assert ours.token_to_id(token) == reference.token_to_id(token)


@pytest.mark.concurrency
def test_inputs_of_other_kinds(ours, reference):
    words, more = ["Hello", "wörld!", "", "it's"], ("12345", " <mask>", "日本")
    for call in (
        lambda one: [one.encode(first, pair=second) for first, second in zip(TEXTS, reversed(TEXTS), strict=True)],
        lambda one: one.encode(words, is_pretokenized=True),
        lambda one: one.encode(words, more, True, False),
        lambda one: one.encode_batch([*TEXTS, ("a pair", "of texts"), ["another", "pair"]]),
        lambda one: one.encode_batch([["a", "b"], (["c", "d"], ["e"]), []], is_pretokenized=True),
        lambda one: one.encode_batch([]),
        lambda one: one.decode(np.array([5, 6])),
        lambda one: one.decode((5, 6)),
        lambda one: one.decode([]),
    ):
        assert plain(call(ours)) == plain(call(reference))
    assert plain(ours.encode_batch(list(TEXTS), threads=3)) == plain(reference.encode_batch(list(TEXTS)))
    assert ours.decode_batch(iter([[5, 6], [7]]), True, threads=2) == reference.decode_batch([[5, 6], [7]])
    fast, whole = ours.encode_batch_fast(list(TEXTS)), ours.encode_batch(list(TEXTS))
    for encoding, wanted, full in zip(fast, reference.encode_batch_fast(list(TEXTS)), whole, strict=True):
        # The reference leaves these two empty; ours cost nothing.
        assert fields(encoding) == fields(wanted) | {"tokens": full.tokens, "word_ids": full.word_ids}


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
    assert from_dat.engine_report()["origin"] == "repository"
    monkeypatch.chdir("/")
    for tokenizer in (from_dat, from_json):
        assert tokenizer.to_str() == ours.to_str()
        tokenizer.save(tmp_path / "y.dat")
    assert (tmp_path / "y.dat").read_bytes() == (tmp_path / "x.dat").read_bytes()
