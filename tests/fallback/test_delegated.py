"""A tokenizer that is not native goes to its reference, with one warning."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from crayon_hf import DelegatedWarning, Tokenizer, UnsupportedError, VocabularyError
from tests.support.versions import before_1, since

TEXTS = ("Hello, world!", "", "naïve 日本 [CLS] x", "  spaces  ")


@pytest.fixture(scope="module")
def ours(refusing, wordpiece_like):
    with pytest.warns(DelegatedWarning):
        return Tokenizer.from_file(wordpiece_like)


@pytest.fixture(scope="module")
def reference(wordpiece_like):
    return tokenizers.Tokenizer.from_file(str(wordpiece_like))


@pytest.fixture(scope="module")
def odd_pattern(refusing, gpt2_like, vocabularies) -> Path:
    """Byte-level BPE whose pattern is nobody's: only that part is not native."""
    document = json.loads(gpt2_like.read_bytes())
    document["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "[aeiou]+|[^aeiou]+"}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }
    path = vocabularies / "odd_pattern.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_one_warning_names_the_component_and_the_caller(refusing, wordpiece_like):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tokenizer = Tokenizer.from_file(wordpiece_like)
        tokenizer.encode("a")
        tokenizer.encode_batch(["a", "b"])
        tokenizer.decode([1])
    (warning,) = caught
    assert warning.category is DelegatedWarning
    assert warning.filename == __file__
    assert "WordPiece" in str(warning.message)
    assert "slower" in str(warning.message)
    assert "tokenizers" in str(warning.message)


def test_report(ours):
    assert ours.engine == "delegated"
    report = ours.engine_report()
    assert report["engine"] == "delegated"
    assert "WordPiece" in report["reason"]
    assert report["cartridge"] is None


def test_encoding(ours, reference):
    for text in TEXTS:
        assert ours.encode(text).ids == reference.encode(text).ids
        assert ours.encode(text, "pair").type_ids == reference.encode(text, "pair").type_ids
        assert ours.encode(text).offsets == reference.encode(text).offsets
    batch = list(TEXTS)
    expected = [encoding.ids for encoding in reference.encode_batch(batch)]
    assert [encoding.ids for encoding in ours.encode_batch(batch)] == expected
    assert [encoding.ids for encoding in ours.encode_batch_fast(batch, threads=2)] == expected
    ids, splits = ours.encode_ragged(batch)
    assert (ids.dtype, splits.dtype) == (np.int32, np.int64)
    assert [ids[a:b].tolist() for a, b in pairwise(splits)] == expected
    assert ours.count_tokens(batch) == [len(row) for row in expected]
    assert ours.count_tokens(TEXTS[0]) == len(expected[0])
    assert ours.count_tokens(TEXTS[0].encode()) == len(expected[0])
    assert ours.encode(["a", "b"], is_pretokenized=True).ids == reference.encode(["a", "b"], is_pretokenized=True).ids


def test_special_tokens_as_text(ours, reference):
    text = "x [CLS] y"
    with_special = reference.encode(text).ids
    ours.encode_special_tokens = True
    try:
        reference.encode_special_tokens = True
        assert ours.encode(text).ids == reference.encode(text).ids != with_special
        reference.encode_special_tokens = False
        ours.encode_special_tokens = False
        assert ours.encode(text).ids == with_special
    finally:
        ours.encode_special_tokens = reference.encode_special_tokens = False


def test_decoding_and_vocabulary(ours, reference):
    ids = reference.encode("Hello, world!").ids
    assert ours.decode(ids) == reference.decode(ids)
    assert ours.decode_batch([ids, []]) == reference.decode_batch([ids, []])
    assert ours.decode_bytes(ids) == reference.decode(ids, skip_special_tokens=False).encode()
    assert ours.get_vocab() == reference.get_vocab()
    assert ours.get_vocab_size(False) == reference.get_vocab_size(False)
    assert ours.token_to_id("[CLS]") == reference.token_to_id("[CLS]")
    assert ours.id_to_token(5) == reference.id_to_token(5)
    assert ours.num_special_tokens_to_add(True) == 0
    assert list(map(repr, ours.get_added_tokens_decoder().values())) == list(
        map(repr, reference.get_added_tokens_decoder().values())
    )


def test_saving(ours, reference, tmp_path):
    ours.save(tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == reference.to_str(pretty=True)
    with pytest.raises(UnsupportedError, match=r"no cartridge.*WordPiece"):
        ours.save(tmp_path / "x.dat")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(UnsupportedError, match="WordPiece"):
        ours.encode_bytes(b"x")


def test_odd_pattern(odd_pattern):
    with pytest.warns(DelegatedWarning, match="aeiou"):
        ours = Tokenizer.from_file(odd_pattern)
    reference = tokenizers.Tokenizer.from_file(str(odd_pattern))
    ids = ours.encode("Hello, wörld <|endoftext|>").ids
    assert ids == reference.encode("Hello, wörld <|endoftext|>").ids
    assert ours.decode_bytes(ids) == "Hello, wörld <|endoftext|>".encode()
    assert ours.decode_bytes(ids, skip_special_tokens=True) == "Hello, wörld ".encode()
    (split,) = [ours.token_to_id("Ã")]
    assert ours.decode_bytes([split]) == b"\xc3"


def test_what_the_reference_refuses_too(refusing, wordpiece_like, tmp_path):
    document = json.loads(wordpiece_like.read_bytes())
    document["model"]["vocab"] = 5
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(VocabularyError, match=r"x\.json"):
            Tokenizer.from_file(path)


@before_1("class that would encode before the training")
@pytest.mark.parametrize("model", ["BPE", "WordPiece", "WordLevel"])
def test_empty_vocabulary(model, tmp_path):
    """There is nothing to compile; the reference opens it, and trains it."""
    stock = tokenizers.Tokenizer(getattr(tokenizers.models, model)())
    stock.save(str(tmp_path / "empty.json"))
    for open_it in (
        lambda: Tokenizer.from_str(stock.to_str()),
        lambda: Tokenizer.from_file(tmp_path / "empty.json"),
        lambda: Tokenizer.from_tokenizers(stock),
    ):
        with pytest.warns(DelegatedWarning, match="an empty vocabulary"):
            ours = open_it()
        assert ours.engine == "delegated"
        assert ours.get_vocab() == {}
        assert ours.to_str() == stock.to_str()
        assert ours.add_tokens(["abc"]) == 1
        assert ours.encode("abc").ids == [0]
    trainer = getattr(tokenizers.trainers, f"{model.replace('BPE', 'Bpe')}Trainer")(show_progress=False)
    stock.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    with pytest.warns(DelegatedWarning):
        fresh = Tokenizer.from_str(stock.to_str())
    fresh.train_from_iterator(["ab abc ab"], trainer)
    stock.train_from_iterator(["ab abc ab"], trainer)
    assert fresh.get_vocab() == stock.get_vocab() != {}
    assert fresh.encode("ab abc").ids == stock.encode("ab abc").ids


@since((0, 23), "refuses the file, and does not panic")
def test_a_panic_of_the_reference_is_an_error():
    """`tokenizers` panics at a merge without a product; two tokens with one id are what it is asked for."""
    document = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 1}, "merges": [["a", "b"]]}}
    with pytest.raises(BaseException, match="range end index"):
        tokenizers.Tokenizer.from_str(json.dumps(document))
    with pytest.raises(VocabularyError, match="its reader panicked"):
        Tokenizer.from_str(json.dumps(document))


def test_an_added_token_at_which_the_normalizer_panics():
    """The reference normalizes it when it opens the file; the native compiler says so, with the error of a file."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": True}
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": ""}, {"type": "Nmt"}]}
    document = {
        "added_tokens": [{"id": 1, "content": "\u4e00", **flags}],
        "normalizer": normalizer,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 2}, "unk_token": "<unk>"},
    }
    with pytest.raises(BaseException, match=r"start|index|range|None"):
        tokenizers.Tokenizer.from_str(json.dumps(document))
    with pytest.raises(VocabularyError, match="panicked"):
        Tokenizer.from_str(json.dumps(document))


def test_ids_that_an_array_cannot_hold():
    """A template may name any id of 32 bits; lists hold it, int32 does not."""
    document = {
        "added_tokens": [],
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[S]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"[S]": {"id": "[S]", "ids": [(1 << 32) - 1], "tokens": ["[S]"]}},
        },
    }
    with pytest.warns(DelegatedWarning):
        tokenizer = Tokenizer.from_str(json.dumps(document))
    assert tokenizer.encode("a").ids == [(1 << 32) - 1, 0]
    with pytest.raises(ValueError, match=r"id 4294967295 of text 0 does not fit.*encode_batch"):
        tokenizer.encode_ragged(["a", "a"])
    ids, row_splits = tokenizer.encode_ragged(["a"], add_special_tokens=False)
    assert (ids.tolist(), row_splits.tolist()) == ([0], [0, 1])
