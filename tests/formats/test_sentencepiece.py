"""Converted SentencePiece models give the library's ids and texts, in our engine and in stock tokenizers."""

from __future__ import annotations

import json
import pickle
import random
import re
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import (
    SourceMissingError,
    Tokenizer,
    UnsupportedError,
)
from crayon_hf.formats import convert, piece_texts
from crayon_hf.formats import sentencepiece as sentencepiece_reader
from crayon_hf.formats.piece_types import NORMAL, UNKNOWN, UNUSED, Piece
from crayon_hf.formats.protobuf import Message
from crayon_hf.formats.sentencepiece import read_sentencepiece
from crayon_hf.parity.inputs.strings import generate
from tests.support.sentencepiece_models import model_of, trained

NEWER = re.compile("[\ua7f1-\ua7f4\U00010500-\U0001e0ff]")
"""Ranges with letters newer than Unicode 9, which rules do not compose with marks."""
SYMBOLS = ["<sep>", "[MASK]", "<x>", "<xy>", "ing", "\uff21", "▁the", "e\u0301x"]
CONTROLS = ["<ctl>", "[INST]", "@@"]

IDENTITY = {"normalization_rule_name": "identity"}
OVER_SPACES = {
    **{"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False, "split_by_whitespace": False},
    **IDENTITY,
}
TRAINED = {
    "bpe": {"user_defined_symbols": SYMBOLS, "control_symbols": CONTROLS},
    "bpe_cf_bytes": {"normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True, "user_defined_symbols": SYMBOLS},
    "bpe_no_prefix": {"add_dummy_prefix": False, "split_digits": True, "user_defined_symbols": SYMBOLS} | IDENTITY,
    "bpe_over_spaces": OVER_SPACES,
    "unigram": {},
    "unigram_bytes": {"byte_fallback": True, "user_defined_symbols": SYMBOLS, "control_symbols": CONTROLS},
    "unigram_ids": {"remove_extra_whitespaces": False, "unk_id": 2, "bos_id": 0, "eos_id": 1, "pad_id": 3},
    "unigram_over_spaces": OVER_SPACES,
    "unigram_suffix": {"treat_whitespace_as_suffix": True} | IDENTITY,
    "char": {"user_defined_symbols": ["<sep>", "ing"]} | IDENTITY,
}


def trained_model(sentences: list[str], name: str, **options) -> bytes:
    return trained(sentences, vocab_size=900, model_type=name.split("_")[0], **options)


class Model:
    """One model in SentencePiece's library, in stock tokenizers and in our engine."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.converted = read_sentencepiece(data)
        self.document = json.loads(self.converted.tokenizer_json)
        self.library = sentencepiece.SentencePieceProcessor(model_proto=data)
        self.stock = tokenizers.Tokenizer.from_str(self.converted.tokenizer_json.decode())
        self.ours = Tokenizer.from_str(self.converted.tokenizer_json.decode())
        assert self.ours.engine_report()["engine"] == "native"
        self.pieces = [self.library.id_to_piece(id) for id in range(self.library.get_piece_size())]
        self.has_rules = "Precompiled" in json.dumps(self.document["normalizer"])

    def check(self, texts: list[str]) -> int:
        """Compare the ids of all three. Returns the number of texts that have two segmentations of equal score."""
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        # The components' mark for spaces (hypothesis finds it in the source) is lost if a text contains it.
        marks = (piece_texts._START, piece_texts._KEPT, piece_texts._HELD, piece_texts._HELD_FROM, piece_texts._END)
        texts = [text for text in texts if not any(mark in text for mark in marks)]
        if self.has_rules:
            texts = [text for text in texts if not NEWER.search(text)]
        wanted = self.library.encode(texts)
        ours = [encoding.ids for encoding in self.ours.encode_batch(texts, add_special_tokens=False)]
        stock = [encoding.ids for encoding in self.stock.encode_batch(texts, add_special_tokens=False)]
        ties = 0
        for text, ids, found, other in zip(texts, wanted, ours, stock, strict=True):
            assert found == other, ascii(text)
            if found != ids:
                assert self.is_tie(ids, found), (ascii(text), [self.pieces[id] for id in ids])
                ties += 1
        texts = self.library.decode(wanted)
        assert self.ours.decode_batch(wanted, skip_special_tokens=False) == texts
        assert self.stock.decode_batch(wanted, skip_special_tokens=False) == texts
        return ties

    def is_tie(self, a: list[int], b: list[int]) -> bool:
        """Whether two lists of ids spell the same text in normal pieces with scores that are equal in single
        precision."""
        if self.document["model"]["type"] != "Unigram" or [id for id in a if self.is_odd(id)] != [
            id for id in b if self.is_odd(id)
        ]:
            return False
        scores = [[self.library.get_score(id) for id in ids if not self.is_odd(id)] for ids in (a, b)]
        same = "".join(self.pieces[id] for id in a) == "".join(self.pieces[id] for id in b)
        return same and abs(sum(scores[0]) - sum(scores[1])) <= 1e-5 * abs(sum(scores[0]))

    def is_odd(self, id: int) -> bool:
        return (
            self.library.is_unknown(id) or self.library.is_byte(id) or self.document["model"]["vocab"][id][0] in SYMBOLS
        )

    def texts(self, count: int, seed: int) -> list[str]:
        """`count` random texts: hostile strings, and strings of the model's pieces."""
        rng = random.Random(seed)
        symbols = [piece for id, piece in enumerate(self.pieces) if not self.library.is_byte(id)]
        special = ["<s>", "</s>", "<unk>", "<0x41>", "\u2581", " ", *SYMBOLS, *CONTROLS]
        texts = [text for _, text in generate(count // 2, seed=seed, specials=special[:4] + SYMBOLS)]
        for _ in range(count // 2):
            drawn = (rng.choice(special if rng.random() < 0.3 else symbols) for _ in range(rng.randint(0, 8)))
            texts.append("".join(piece.replace("\u2581", rng.choice((" ", " ", "\u2581"))) for piece in drawn))
        return texts


EVERY_THIRD = [pytest.param(name, marks=[pytest.mark.slow] if i % 3 else []) for i, name in enumerate(TRAINED)]


@pytest.fixture(scope="module", params=EVERY_THIRD)
def model(request, sentences) -> Model:
    return Model(trained_model(sentences, request.param, **TRAINED[request.param]))


def test_trained_models(model):
    assert model.converted.reference == "sentencepiece"
    assert model.check(model.texts(1500, seed=3)) <= 12
    # Empty, white space in every position, and the symbol itself.
    spaces = ["", " ", "  ", "\u2581", " \u2581", "a\u2581 ", " a  b ", " \n a", "a\t\r\n", "\u3000", "\u200b"]
    if "suffix" in str(model.document["normalizer"]):
        spaces.remove("\u200b")
    assert model.check(spaces + [f"{a}{b}" for a in (*SYMBOLS, *CONTROLS, *spaces) for b in (*SYMBOLS, *spaces)]) == 0


def test_texts_of_any_characters(model):
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.text(max_size=30), min_size=20, max_size=60))
    def check(texts):
        model.check(texts)

    check()


def test_vocabulary_and_any_ids(model):
    assert [model.ours.id_to_token(id) for id in range(len(model.pieces))] == model.pieces
    assert [model.stock.token_to_id(piece) for piece in model.pieces] == list(range(len(model.pieces)))
    rng = random.Random(4)
    ids = [id for id in range(len(model.pieces)) if not model.library.is_byte(id)]
    rows = [[rng.choice(ids[: rng.choice((4, len(ids)))]) for _ in range(rng.randint(0, 6))] for _ in range(1500)]
    texts = model.library.decode(rows)
    assert model.ours.decode_batch(rows, skip_special_tokens=False) == texts
    assert model.stock.decode_batch(rows, skip_special_tokens=False) == texts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_rules_for_decoded_text(sentences, name, tmp_path):
    table = tmp_path / "rules.tsv"

    def with_rules(*rules: tuple[str, str], normalizer: str = "identity") -> Model:
        lines = ("\t".join(" ".join(f"{ord(char):X}" for char in side) for side in rule) for rule in rules)
        table.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options = {"normalization_rule_name": normalizer, "denormalization_rule_tsv": str(table)}
        return Model(trained_model(sentences, name, **options))

    texts = ["th the htt o\u2019clock", "ththe aé thé", " a  th ", "", "tht\u2047\U0001f600", *sentences[:20]]
    many = (("th", "Z"), ("\u2019", "'"), ("e", "ÉÈ"), ("thus", "1"), (" ", "_"), ("\u2047", "?"))
    for model in (with_rules(*many, normalizer="nmt_nfkc"), with_rules(("t", ""), ("e", "E"))):
        rows = model.library.encode(texts)
        wanted = model.library.decode(rows)
        assert wanted != texts
        assert model.ours.decode_batch(rows) == model.stock.decode_batch(rows) == wanted
    for rules in ([("th", "1"), ("he", "2")], [("a", "b"), ("b", "c")], [("t", ""), ("th", "x")]):
        with pytest.raises(UnsupportedError, match="decoded"):
            with_rules(*rules)


def opened(data: bytes, path: Path) -> tuple[sentencepiece.SentencePieceProcessor, Tokenizer]:
    """Write a model to a file, and open it with SentencePiece's library and with `Tokenizer`."""
    path.write_bytes(data)
    ours = Tokenizer.from_file(path)
    assert ours.engine_report()["engine"] == "native"
    assert ours.engine_report()["origin"] == "cache"
    return sentencepiece.SentencePieceProcessor(model_proto=data), ours


BPE = 2


ONE_SCORE = [("ab", -1.0, NORMAL), ("ba", -1.0, NORMAL), ("aba", -1.0, NORMAL), ("bab", -0.5, NORMAL)]


def test_a_model_that_no_json_says(tmp_path):
    pieces = [("<unk>", 0.0, UNKNOWN), *((char, -9.0, NORMAL) for char in "ab"), *ONE_SCORE]
    data = model_of(pieces, BPE)
    _, ours = opened(data, tmp_path / "x.model")
    with pytest.raises(UnsupportedError, match="pieces of one score"):
        convert(tmp_path / "x.model")
    twin = pickle.loads(pickle.dumps(ours))
    assert twin.encode("abba").ids == ours.encode("abba").ids
    for tokenizer in (ours, twin):
        with pytest.raises(SourceMissingError, match="SentencePiece"):
            tokenizer.to_str()
    ours.add_special_tokens(["<x>"])
    assert ours.encode("ab<x>").ids[-1] == ours.token_to_id("<x>") == 7


def test_offsets_of_the_librarys_normalizer(sentences, tmp_path):
    _, ours = opened(trained_model(sentences, "unigram", user_defined_symbols=["  "]), tmp_path / "x.model")
    encoding = ours.encode(" e\u0301  \ufb01 the\tx ")
    assert ["".join(encoding.tokens), encoding.offsets[0][0], encoding.offsets[-1][1]] == [
        "\u2581é\u2581\u2581fi\u2581the\u2581x",
        1,
        12,
    ]
    starts = [start for start, _ in encoding.offsets]
    assert starts == sorted(starts)


@given(
    st.lists(
        st.tuples(
            st.text(max_size=4) | st.text(min_size=60, max_size=140),
            st.none() | st.floats(width=32, allow_nan=False),
            st.sampled_from([None, NORMAL, UNUSED]),
        )
    )
)
def test_pieces_are_those_of_the_library(drawn):
    """Our reader of a model's pieces gives the library's, also for long pieces, and pieces without a score or kind."""
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2").ModelProto()
    for text, score, kind in drawn:
        facts = {"piece": text, "score": score, "type": kind}
        proto.pieces.add(**{name: value for name, value in facts.items() if value is not None})
    proto.trainer_spec.vocab_size = 5
    data, pieces = proto.SerializeToString(), []
    for field in sentencepiece_reader._fields_but_usual_pieces(data, pieces):
        if field.number == 1:
            pieces.append(sentencepiece_reader._piece(Message(data).message(field)))
    assert pieces == [Piece(piece.piece, piece.score, piece.type) for piece in proto.pieces]
