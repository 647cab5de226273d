"""Converting the pieces of SentencePiece models: crafted models give the library's ids, and inexpressible models are
refused."""

from __future__ import annotations

import json
import random

import pytest
import sentencepiece
import tokenizers

from crayon_hf import Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.formats.pieces import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    PieceOptions,
    config_of,
    document_of,
)
from tests.support.sentencepiece_models import model_of

BASE = [Piece("<unk>", 0, UNKNOWN), Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL), Piece("▁", -4, NORMAL)]
KANA = [Piece("あ", -3, NORMAL), Piece("い", -4, NORMAL), Piece("▁あ", -4, NORMAL), Piece("あい", -3.5, NORMAL)]
BYTES = [Piece(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)]
SYMBOLS = [Piece("<m>", 0, USER_DEFINED), Piece("い<m>", 0, USER_DEFINED), Piece("う", 0, USER_DEFINED)]
DEAD = [Piece("あいあい", -1, NORMAL), Piece("いい", -9, UNUSED)]
TEXTS = ["<s>", "</s>", "<unk>", " ", "あ", "い", "う", "<", "s", ">", "▁", "我", "<m>", "/", "a", "<0x41>", "\u2047"]
MODELS = {"unigram": 1, "bpe": 2, "char": 4}

OPTIONS = ({}, {"byte_fallback": True, "add_dummy_prefix": False})


def compare(pieces: list[Piece], model: str, options: dict, alphabet: list[str], count: int = 1500) -> None:
    proto = model_of(pieces, MODELS[model], name="identity", **options)
    reference = sentencepiece.SentencePieceProcessor(model_proto=proto)
    data = json.dumps(document_of(pieces, model, PieceOptions(**options)))
    stock, ours = tokenizers.Tokenizer.from_str(data), Tokenizer.from_str(data)
    assert ours.engine_report()["engine"] == "native"
    rng = random.Random(count)
    texts = ["".join(rng.choice(alphabet) for _ in range(rng.randint(0, 12))) for _ in range(count)]
    expected = reference.encode(texts)
    for text, ids, a, b in zip(texts, expected, ours.encode_batch(texts), stock.encode_batch(texts), strict=True):
        assert (a.ids, b.ids) == (ids, ids), text
    assert ours.decode_batch(expected) == stock.decode_batch(expected) == reference.decode(expected)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "bytes"])
def test_user_defined_and_unused_pieces(options, model):
    pieces = BASE + KANA + SYMBOLS + (BYTES if options else []) + (DEAD if model != "bpe" else [])
    compare(pieces, model, options, [*TEXTS, "いい", "あいあい"])


@pytest.mark.parametrize("options", [{}, {"byte_fallback": True}])
def test_pieces_of_unknown_characters(options):
    """``<s>`` is a run of unknown characters, which also occur in and beside other pieces."""
    # Runs that reach the cut from both sides leave no room for another unknown character.
    texts = ["x<s", "ys>", "あ<", "い</", *([">い"] if options else [])]
    parts = [Piece(text, -3 - at, NORMAL) for at, text in enumerate(texts)]
    pieces = BASE + KANA + parts + (BYTES if options else [])
    compare(pieces, "unigram", options, [*TEXTS, "x", "y"])
    # "</s>" is not a run if a part of it is a piece.
    compare([*pieces, Piece("</", -3, NORMAL), Piece("/s", -4, NORMAL)], "unigram", options, [*TEXTS, "x", "y"])
    with pytest.raises(UnsupportedError, match="<s>"):
        document_of([*pieces, Piece("s>z", -3, NORMAL)], "unigram", PieceOptions(**options))


@pytest.mark.parametrize(
    ("pieces", "options", "message"),
    [
        ([Piece("", 0, NORMAL)], {}, "empty"),
        ([Piece("a\0", 0, NORMAL)], {}, "NUL"),
        ([Piece("<s>", 0, NORMAL)], {}, "pieces 1 and 4"),
        ([Piece("ab", 0, 7)], {}, "unknown kind"),
        ([Piece("ab", float("nan"), NORMAL)], {}, "score nan"),
        ([Piece("<?>", 0, UNKNOWN)], {}, "both the unknown piece"),
        ([Piece("<0x1>", 0, BYTE)], {}, "not of the form"),
        ([], {"byte_fallback": True}, "256 byte pieces"),
        ([], {"add_bos": True, "bos_id": 9}, "only 4 pieces"),
    ],
)
def test_pieces_that_contradict_each_other(pieces, options, message):
    for model in ("bpe", "unigram"):
        with pytest.raises(VocabularyError, match=message):
            document_of(BASE + pieces, model, PieceOptions(**options))


@pytest.mark.parametrize(
    ("pieces", "model", "message"),
    [
        ([*BASE, Piece("Z", 0, CONTROL)], "bpe", "'Z'"),
        ([*BASE, Piece("Z", 0, UNUSED)], "bpe", "'Z'"),
        ([*BASE, *KANA, Piece("ああ", 0, UNUSED)], "bpe", "taken apart again"),
        (BASE[:3] + KANA, "bpe", "'▁', which is not a piece"),
        (BASE, "word", "'word'"),
    ],
)
def test_what_is_not_expressible(pieces, model, message):
    with pytest.raises(UnsupportedError, match=message):
        document_of(pieces, model)


def test_tokens_around_texts_and_control_pieces_in_them():
    options = PieceOptions(bos_id=1, eos_id=2, add_bos=True, add_eos=True, control_in_text=True)
    data = json.dumps(document_of(BASE + KANA, "bpe", options))
    for tokenizer in (tokenizers.Tokenizer.from_str(data), Tokenizer.from_str(data)):
        assert tokenizer.encode("あい").ids == [1, 3, 7, 2]
        assert tokenizer.encode("あ", "い").type_ids == [0, 0, 0, 1, 1, 1, 1]
        assert tokenizer.encode("</s>", add_special_tokens=False).ids == [2]
        assert tokenizer.decode([1, 3, 7, 2]) == "あい"
    assert config_of(BASE + KANA, options) == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": True,
        "add_eos_token": True,
        "clean_up_tokenization_spaces": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }
