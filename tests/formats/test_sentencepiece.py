"""Converted SentencePiece models give the library's ids and texts, in our engine and in stock tokenizers."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from crayon_hf import SourceMissingError, Tokenizer, UnsupportedError
from crayon_hf.formats import convert, piece_texts
from crayon_hf.formats import sentencepiece as sentencepiece_reader
from crayon_hf.formats.piece_types import NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Piece
from crayon_hf.formats.protobuf import Message
from crayon_hf.formats.sentencepiece import read_sentencepiece
from parity.sentencepiece.random_models import RandomModel
from tests.formats.export_samples import hostile
from tests.support.sampling import sampled
from tests.support.sentencepiece_models import model_of, trained

NEWER = re.compile("[\ua7f1-\ua7f4\U00010500-\U0001e0ff]")
"""Ranges with letters newer than Unicode 9, which rules do not compose with marks."""
MARKS = (piece_texts._START, piece_texts._KEPT, piece_texts._HELD, piece_texts._HELD_FROM, piece_texts._END)
"""The components' marks, which are lost if a text contains them."""


def trained_model(sentences: list[str], name: str, **options) -> bytes:
    return trained(sentences, vocab_size=900, model_type=name, **options)


class Model:
    """One model in SentencePiece's library, in stock tokenizers and in our engine."""

    def __init__(self, data: bytes) -> None:
        text = read_sentencepiece(data).tokenizer_json.decode()
        self.library = sentencepiece.SentencePieceProcessor(model_proto=data)
        self.stock, self.ours = tokenizers.Tokenizer.from_str(text), Tokenizer.from_str(text)
        assert self.ours.engine_report()["engine"] == "native"
        self.pieces = [self.library.id_to_piece(id) for id in range(self.library.get_piece_size())]
        self.is_unigram = json.loads(text)["model"]["type"] == "Unigram"

    def check(self, texts: list[str], rows: list[list[int]] = [], symbols: tuple[str, ...] = ()) -> int:  # noqa: B006
        """Compare the ids of the texts, and the decoded rows. `symbols` are the user-defined pieces. Returns the number
        of texts to which the library gives other ids."""
        texts = [text for text in texts if not NEWER.search(text) and not any(mark in text for mark in MARKS)]
        wanted = self.library.encode(texts)
        ours = [encoding.ids for encoding in self.ours.encode_batch(texts, add_special_tokens=False)]
        stock = [encoding.ids for encoding in self.stock.encode_batch(texts, add_special_tokens=False)]
        assert ours == stock
        decoded = self.library.decode(rows + wanted)
        assert self.ours.decode_batch(rows + wanted, skip_special_tokens=False) == decoded
        assert self.stock.decode_batch(rows + wanted, skip_special_tokens=False) == decoded
        assert [self.ours.id_to_token(id) for id in range(len(self.pieces))] == self.pieces
        assert [self.stock.token_to_id(piece) for piece in self.pieces] == list(range(len(self.pieces)))
        return sum(a != b and not self.is_tie(a, b, symbols) for a, b in zip(wanted, ours, strict=True))

    def is_tie(self, a: list[int], b: list[int], symbols: tuple[str, ...]) -> bool:
        """Whether two lists of ids spell the same text in normal pieces with scores that are equal in single
        precision."""

        def is_odd(id: int) -> bool:
            return self.library.is_unknown(id) or self.library.is_byte(id) or self.pieces[id] in symbols

        odd = [[id for id in ids if is_odd(id)] for ids in (a, b)]
        texts = ["".join(self.pieces[id] for id in ids) for ids in (a, b)]
        scores = [sum(self.library.get_score(id) for id in ids if not is_odd(id)) for ids in (a, b)]
        if any(map(self.library.is_unknown, a)):  # an unknown character costs more than the worst piece
            scores = [score + min(map(self.library.get_score, range(len(self.pieces)))) for score in scores]
        is_same = odd[0] == odd[1] and texts[0] == texts[1]
        return self.is_unigram and is_same and abs(scores[0] - scores[1]) <= 1e-5 * abs(scores[0])


@pytest.mark.parametrize("seed", sampled(range(6), 6))
def test_random_models(seed):
    """Random models that a tokenizer.json can express give the library's ids and texts. Where user-defined pieces
    overlap spaces or the texts of rules, few texts differ: components do not always find them from left to right."""
    converted = 0
    for number in range(120):
        try:
            made = RandomModel(seed, number)
            model = Model(made.data)
        except (RuntimeError, OSError, UnsupportedError):  # the first two are the library's
            continue
        symbols = tuple(piece.piece for piece in made.proto.pieces if piece.type == USER_DEFINED)
        differing = model.check([*made.texts(60), *hostile(40, number)], made.rows(30), symbols)
        assert differing < (20 if symbols else 1), number
        converted += 1
    assert converted > 60


IDS = {"remove_extra_whitespaces": False, "unk_id": 2, "bos_id": 0, "eos_id": 1, "pad_id": 3}


@pytest.mark.parametrize(
    ("name", "options"), [("unigram", IDS), ("bpe", {"normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True})]
)
def test_trained_models(sentences, name, options):
    odd = ["", " ", "  ", "\u2581", " \u2581", "a\u2581 ", " a  b ", " \n a", "a\t\r\n", "\u3000", "\u200b", "\b"]
    assert Model(trained_model(sentences, name, **options)).check([*hostile(1500, 3), *odd]) == 0


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
    assert "".join(encoding.tokens) == "\u2581é\u2581\u2581fi\u2581the\u2581x"
    assert (encoding.offsets[0][0], encoding.offsets[-1][1]) == (1, 12)
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
