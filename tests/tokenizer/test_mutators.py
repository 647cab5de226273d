"""Changes of a tokenizer: their cost, their visibility to other threads, and their failures."""

from __future__ import annotations

import json
import pickle
import shutil

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from crayon_hf import DelegatedWarning, Tokenizer, UnsupportedError
from tests.support.stand_in_cases import TEXTS, fields, plain, trained

pytestmark = pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")


@pytest.fixture
def ours():
    return Tokenizer.from_str(trained("byte_level"))


def test_from_tokenizers_wants_one(ours):
    with pytest.raises(TypeError, match="reference is int"):
        Tokenizer.from_tokenizers(5)
    reference = tokenizers.Tokenizer(models.BPE())
    reference.normalizer = normalizers.Normalizer.custom(object())
    with pytest.raises(UnsupportedError, match="Custom"):
        Tokenizer.from_tokenizers(reference)


def test_a_refused_change_changes_nothing(ours):
    ours.enable_truncation(4)
    ours.enable_padding(length=9)
    before = ours.to_str()
    for call in (
        lambda: ours.add_tokens(["ok", 5]),
        lambda: ours.add_special_tokens("ok"),
        lambda: setattr(ours, "normalizer", 5),
        lambda: setattr(ours, "model", None),
        lambda: ours.enable_truncation(5, stride=7),
        lambda: ours.enable_padding(direction="up"),
        lambda: ours.train_from_iterator(5),
        lambda: ours.train(["/no/such/file"]),
    ):
        with pytest.raises(Exception):  # noqa: B017, PT011 - the library raises Exception itself for a missing file
            call()
    assert ours.to_str() == before


def test_a_component_that_was_replaced_is_not_given_again(ours):
    for component in (None, pre_tokenizers.Whitespace(), None):
        assert ours.pre_tokenizer is not component
        ours.encode("a b")  # keeps the component, which has no other holder now
        ours.pre_tokenizer = component
        assert type(ours.pre_tokenizer) is type(component)


@pytest.mark.concurrency
@pytest.mark.parametrize("value", [1.5, -0.25, float("nan"), float("inf")])
def test_a_dropout_that_no_model_can_have(ours, value):
    """The library's model object accepts an impossible dropout. Our tokenizer then raises at each use until the dropout
    is changed."""
    expected = ours.encode("fox").ids
    held = ours.model
    held.dropout = value
    uses = (lambda: ours.encode("fox"), lambda: ours.decode([1]), ours.to_str, lambda: ours.token_to_id("a")) * 2
    for use in (*uses, lambda: setattr(ours, "model", held)):
        with pytest.raises(ValueError, match=r"model\.dropout is"):
            use()
    held.dropout = None
    assert ours.encode("fox").ids == expected


def test_delegated_and_native_again(refusing):
    reference = tokenizers.Tokenizer.from_str(trained("byte_level"))
    ours = Tokenizer.from_str(trained("byte_level"))
    for tokenizer in (reference, ours):
        tokenizer.add_special_tokens(["[NEW]"])
        tokenizer.add_tokens(["[NEW]"])
    assert ours.engine == "native"
    word_piece = models.WordPiece({"[UNK]": 0, "fox": 1, "[NEW]": 2}, unk_token="[UNK]")
    ours.model = word_piece
    with pytest.warns(DelegatedWarning, match="WordPiece"):
        ours.encode("x")
    reference.model = word_piece
    assert ours.engine == "delegated"
    for tokenizer in (reference, ours):
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.normalizer = normalizers.Lowercase()
    for special_as_text in (False, True):
        for tokenizer in (reference, ours):
            tokenizer.encode_special_tokens = special_as_text
            tokenizer.enable_truncation(3, stride=1)
            tokenizer.enable_padding(length=6)
        expected = reference.encode("fox [new] Fox the")
        assert fields(ours.encode("fox [new] Fox the")) == fields(expected)
        assert ours.decode(expected.ids) == reference.decode(expected.ids)
    vocab = {"<s>": 0, "</s>": 1, "<unk>": 2, "<pad>": 3, "a": 4, "fox": 5}  # [NEW] keeps its id
    word_level = models.WordLevel(vocab, unk_token="<unk>")
    for tokenizer in (reference, ours):
        tokenizer.model = word_level
    assert fields(ours.encode("fox [new] Fox a")) == fields(reference.encode("fox [new] Fox a"))
    assert ours.engine == "native"


def test_rank_file_whose_cache_was_emptied(tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    ranks = tmp_path / "x.tiktoken"
    from crayon_hf.formats import tiktoken

    ranks.write_bytes(tiktoken.write_ranks({bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257}))
    ours = Tokenizer.from_tiktoken(ranks, pattern=tiktoken.CL100K_PATTERN, special_tokens={"<|end|>": 300})
    expected = ours.encode("the <|end|> thing").ids
    shutil.rmtree(tmp_path / "cache")
    assert pickle.loads(pickle.dumps(ours)).encode("the <|end|> thing").ids == expected
    assert json.loads(ours.to_str())["added_tokens"][0]["content"] == "<|end|>"
    ours.add_tokens(["thing"])
    assert pickle.loads(pickle.dumps(ours)).encode("the <|end|> thing").tokens[-1] == "thing"


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("id", [2**31 - 1, 2**31, 2**32 - 1])
def test_what_is_padded_with_has_32_bits(ours, id, side):
    texts, reference = ["a", "fox", ""], tokenizers.Tokenizer.from_str(ours.to_str())
    for tokenizer in (reference, ours):
        tokenizer.enable_padding(length=9, direction=side, pad_id=id, pad_type_id=id)
    expected = plain(reference.encode_batch(texts))
    assert plain(ours.encode_batch(texts)) == plain(Tokenizer.from_str(ours.to_str()).encode_batch(texts)) == expected
    assert [encoding.ids for encoding in ours.encode_batch_fast(texts)] == [encoding["ids"] for encoding in expected]
    for as_arrays in (False, True):
        columns = ours.encode_columns(texts, padding=(9, side, None, id, id), as_arrays=as_arrays)
        assert [list(row) for row in columns["input_ids"]] == [encoding["ids"] for encoding in expected]
        assert [list(row) for row in columns["token_type_ids"]] == [encoding["type_ids"] for encoding in expected]


@pytest.mark.parametrize("has_bytes", [True, False])
@pytest.mark.parametrize("suffix", [None, "</w>"])
def test_byte_fallback_that_the_cartridge_was_compiled_without(has_bytes, suffix):
    document = json.loads(trained("llama"))
    model = document["model"]
    model["byte_fallback"] = False
    if not has_bytes:
        model["vocab"] = {token: id for token, id in model["vocab"].items() if not token.startswith("<0x")}
    both = []
    for kind in (Tokenizer, tokenizers.Tokenizer):
        tokenizer = kind.from_str(json.dumps(document))
        held = tokenizer.model
        held.byte_fallback = True
        held.end_of_word_suffix = suffix
        both.append([*(fields(tokenizer.encode(text)) for text in (*TEXTS, "☃ \x01")), tokenizer.to_str()])
    assert both[0] == both[1]
