"""SentencePiece models: ids and texts of the library, natively and in stock tokenizers."""

from __future__ import annotations

import gc
import importlib.util
import io
import json
import random
import re
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import CrayonError, Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.formats import convert, piece_texts, read, write
from crayon_hf.formats import sentencepiece as sentencepiece_reader
from crayon_hf.formats.piece_types import Piece
from crayon_hf.formats.protobuf import Message
from crayon_hf.formats.recognise import recognise
from crayon_hf.formats.sentencepiece import read_sentencepiece
from crayon_hf.parity.inputs.strings import generate

NEWER = re.compile("[\ua7f1-\ua7f4\U00010500-\U0001e0ff]")
"""Where letters are that came after Unicode 9: rules do not compose those with marks."""
SYMBOLS = ["<sep>", "[MASK]", "<x>", "<xy>", "ing", "\uff21", "▁the", "e\u0301x"]
CONTROL = ["<ctl>", "[INST]", "@@"]

TRAINED = {
    "bpe": {"user_defined_symbols": SYMBOLS, "control_symbols": CONTROL},
    "bpe_cf_bytes": {"normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True, "user_defined_symbols": SYMBOLS},
    "bpe_identity": {"normalization_rule_name": "identity", "byte_fallback": True, "remove_extra_whitespaces": False},
    "bpe_no_prefix": {
        "normalization_rule_name": "identity",
        "add_dummy_prefix": False,
        "split_digits": True,
        "user_defined_symbols": SYMBOLS,
        "control_symbols": CONTROL,
    },
    "bpe_over_spaces": {
        "normalization_rule_name": "identity",
        "allow_whitespace_only_pieces": True,
        "remove_extra_whitespaces": False,
        "split_by_whitespace": False,
    },
    "bpe_suffix": {"treat_whitespace_as_suffix": True, "normalization_rule_name": "identity"},
    "unigram": {},
    "unigram_bytes": {"byte_fallback": True, "user_defined_symbols": SYMBOLS, "control_symbols": CONTROL},
    "unigram_nfkc": {
        "normalization_rule_name": "nfkc",
        "remove_extra_whitespaces": False,
        "unk_id": 2,
        "bos_id": 0,
        "eos_id": 1,
        "pad_id": 3,
    },
    "unigram_over_spaces": {
        "normalization_rule_name": "identity",
        "allow_whitespace_only_pieces": True,
        "remove_extra_whitespaces": False,
        "split_by_whitespace": False,
    },
    "unigram_suffix": {"treat_whitespace_as_suffix": True, "normalization_rule_name": "identity"},
    "char": {"user_defined_symbols": ["<sep>", "ing"], "normalization_rule_name": "identity"},
}
PUBLISHED = ("mistral-v1", "mistral-v3")


def trained(sentences: list[str], name: str, **options) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=written,
        model_type=name.split("_")[0],
        vocab_size=900,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return written.getvalue()


def in_mistral_common() -> list[Path]:
    """The models that the package ships, each once; none without it."""
    spec = importlib.util.find_spec("mistral_common")
    if spec is None or spec.origin is None:
        return []
    files = sorted(Path(spec.origin).parent.joinpath("data").glob("*.model.v*"))
    return list({path.read_bytes(): path for path in reversed(files)}.values())


MISTRAL_COMMON = in_mistral_common()


@pytest.fixture(scope="module")
def sentences(training_text: list[str]) -> list[str]:
    return [line for text in training_text for line in text.split("\n") if line.strip()]


class Model:
    """The library, stock tokenizers and ours on one model."""

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
        """Compare all of them; the number of texts with two ways to cut them that have one score."""
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        # What the components mark spaces with (hypothesis finds it in the source) is lost where it is a text's own.
        texts = [text for text in texts if piece_texts._START not in text and piece_texts._KEPT not in text]
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
        """True if both are one text in normal pieces, and score the same but for single precision."""
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
        """Hostile strings, and strings of pieces."""
        rng = random.Random(seed)
        symbols = [piece for id, piece in enumerate(self.pieces) if not self.library.is_byte(id)]
        special = ["<s>", "</s>", "<unk>", "<0x41>", "\u2581", " ", *SYMBOLS, *CONTROL]
        texts = [text for _, text in generate(count // 2, seed=seed, specials=special[:4] + SYMBOLS)]
        for _ in range(count // 2):
            drawn = (rng.choice(special if rng.random() < 0.3 else symbols) for _ in range(rng.randint(0, 8)))
            texts.append("".join(piece.replace("\u2581", rng.choice((" ", " ", "\u2581"))) for piece in drawn))
        return texts


EVERY_THIRD = [pytest.param(name, marks=[pytest.mark.slow] if i % 3 else []) for i, name in enumerate(TRAINED)]


@pytest.fixture(scope="module", params=EVERY_THIRD)
def model(request, sentences) -> Model:
    return Model(trained(sentences, request.param, **TRAINED[request.param]))


def test_trained_models(model):
    assert model.converted.reference == "sentencepiece"
    assert model.check(model.texts(1500, seed=3)) <= 12
    # Nothing, white space in every place, and the symbol itself.
    spaces = [
        "",
        " ",
        "  ",
        "\u2581",
        " \u2581",
        "\u2581 ",
        "a\u2581 ",
        " a  b ",
        "\n",
        " \n a",
        "a\t\r\n",
        "\u3000",
        "\u200b",
    ]
    if "suffix" in str(model.document["normalizer"]):
        spaces.remove("\u200b")
    assert model.check(spaces + [f"{a}{b}" for a in (*SYMBOLS, *CONTROL, *spaces) for b in (*SYMBOLS, *spaces)]) == 0


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
@pytest.mark.parametrize("path", MISTRAL_COMMON, ids=lambda path: path.name)
def test_models_of_mistral_common(path):
    model = Model(path.read_bytes())
    assert model.check(model.texts(600, seed=5)) == 0
    assert model.check([unit * count for unit in ("a", "-", " ", "\n", "ab", "= ") for count in range(40)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models(shared, name):
    model = Model((shared / "vocab" / name / "tokenizer.model").read_bytes())
    assert model.check(model.texts(1000, seed=6)) == 0
    assert model.converted.config["bos_token"] == "<s>"


@pytest.mark.slow
def test_many_user_defined_pieces_that_the_rules_would_change(sentences):
    """More than there are noncharacters to keep one of them from the rules with one."""
    pieces = [chr(0xFF21 + at) for at in range(26)] + [f"{chr(0x2460 + at)}\ufb01" for at in range(20)]
    model = Model(trained(sentences, "unigram", user_defined_symbols=[*pieces, "\uff21\uff22"]))
    rng = random.Random(9)
    units = [*pieces, *pieces, "\u2460", "\ufb01", "\uff41", " ", "fi", "e\u0301", "the", "\uff76\uff9e"]
    texts = ["".join(rng.choice(units) for _ in range(rng.randint(1, 8))) for _ in range(400)]
    for text, wanted in zip(texts, model.library.encode(texts), strict=True):
        assert model.ours.encode(text).ids == model.stock.encode(text).ids == wanted, ascii(text)


def test_control_pieces_are_text(sentences):
    model = Model(trained(sentences, "bpe", normalization_rule_name="identity", control_symbols=["[INST]"]))
    assert model.document["added_tokens"] == []
    assert model.document["post_processor"] is None
    control = {model.library.piece_to_id(piece) for piece in ("[INST]", "<s>", "</s>")}
    assert model.converted.metadata["control"] == sorted(control | {model.library.unk_id()})
    assert not control & set(model.ours.encode("[INST] <s></s>").ids)
    assert model.converted.config == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_a_converted_directory_is_one_tokenizer(sentences, name, tmp_path):
    """However it is opened: the special tokens that its config names are found in texts, and its cartridge is used."""
    import transformers

    import crayon_hf

    (tmp_path / "x.model").write_bytes(trained(sentences, name, **TRAINED[name]))
    write(convert(tmp_path / "x.model"), tmp_path / "converted")
    folder = tmp_path / "converted"
    ours = crayon_hf.AutoTokenizer.from_pretrained(folder)
    stock = transformers.AutoTokenizer.from_pretrained(folder)
    report = ours.engine_report()
    assert (report["cartridge"], report["refused"]) == (str(folder / "tokenizer.dat"), None)
    plain = [Tokenizer.from_file(folder / end) for end in ("", "tokenizer.json", "tokenizer.dat")]
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in (f"{ours.bos_token}Hi{ours.eos_token}", "Hi <unk> there", " the  end </s>", sentences[0]):
        ids = reference.encode(text).ids
        assert ours(text)["input_ids"] == stock(text)["input_ids"] == ids
        assert all(tokenizer.encode(text).ids == ids for tokenizer in plain)
        for skip in (True, False):
            decoded = reference.decode(ids, skip_special_tokens=skip)
            assert ours.decode(ids, skip_special_tokens=skip) == stock.decode(ids, skip_special_tokens=skip) == decoded
            assert all(tokenizer.decode(ids, skip) == decoded for tokenizer in plain)
    assert reference.encode(f"{ours.bos_token}Hi{ours.eos_token}").ids[0] == ours.bos_token_id


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe", "unigram"])
def test_rules_for_decoded_text(sentences, name, tmp_path):
    table = tmp_path / "rules.tsv"

    def model_of(*rules: tuple[str, str], normalizer: str = "identity") -> Model:
        lines = ("\t".join(" ".join(f"{ord(char):X}" for char in side) for side in rule) for rule in rules)
        table.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options = {"normalization_rule_name": normalizer, "denormalization_rule_tsv": str(table)}
        return Model(trained(sentences, name, **options))

    texts = ["th the htt o\u2019clock", "ththe aé thé", " a  th ", "", "tht\u2047\U0001f600", *sentences[:20]]
    for model in (
        model_of(
            ("th", "Z"), ("\u2019", "'"), ("e", "ÉÈ"), ("thus", "1"), (" ", "_"), ("\u2047", "?"), normalizer="nmt_nfkc"
        ),
        model_of(("t", ""), ("e", "E")),
    ):
        rows = model.library.encode(texts)
        wanted = model.library.decode(rows)
        assert wanted != texts
        assert model.ours.decode_batch(rows) == model.stock.decode_batch(rows) == wanted
    for rules in ([("th", "1"), ("he", "2")], [("a", "b"), ("b", "c")], [("t", ""), ("th", "x")]):
        with pytest.raises(UnsupportedError, match="rules for decoded text"):
            model_of(*rules)


@pytest.mark.slow
def test_what_is_not_expressible(sentences):
    schema = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    with pytest.raises(UnsupportedError, match="a SentencePiece model of type 'word'"):
        read_sentencepiece(trained(sentences, "word"))
    proto = schema.ModelProto()
    proto.ParseFromString(trained(sentences, "char", normalization_rule_name="identity"))
    proto.denormalizer_spec.precompiled_charsmap = b"x"
    with pytest.raises(UnsupportedError, match="denormalizer_spec"):
        read_sentencepiece(proto.SerializeToString())


@pytest.mark.parametrize("data", [b"", b"{}", b"\x08\x96\x01", b"not a model at all"])
def test_what_is_no_model(data):
    with pytest.raises(VocabularyError):
        read_sentencepiece(data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe_identity", "unigram_over_spaces"])
def test_damage(sentences, name):
    whole = trained(sentences, name, **TRAINED[name])
    rng = random.Random(name)
    damaged = [whole[: rng.randrange(len(whole))] for _ in range(60)]
    for _ in range(120):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 3, 30))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        damaged.append(bytes(data))
    refused = 0
    for data in damaged:
        try:
            converted = read_sentencepiece(data)
        except CrayonError:
            refused += 1
        else:
            tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    assert refused > 60


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_control_pieces_are_text_in_greedy_mode_too(sentences, kind, tmp_path):
    path = tmp_path / "a.model"
    settings = {"normalization_rule_name": "identity", "control_symbols": ["[INST]"], "byte_fallback": True}
    path.write_bytes(trained(sentences, kind, **settings))
    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    control = {library.piece_to_id(piece) for piece in ("[INST]", "<s>", "</s>", "<unk>")}
    for text in ("a<s>b", "x[INST]y", "[INST]", "x</s>", "a<unk>", "<0x41>"):
        for mode in ("exact", "greedy"):
            tokenizer = Tokenizer.from_file(path, mode=mode)
            found = tokenizer.encode(text).ids
            assert not control & set(found), (mode, text)
            assert tokenizer.decode(found) == text


def pieces_of(data: bytes, plainly: bool) -> object:
    """The pieces of a model, field by field or as the reader takes them, or the error."""
    pieces: list[Piece] = []
    message = Message(data)
    try:
        for field in message if plainly else sentencepiece_reader._fields_but_usual_pieces(data, pieces):
            if field.number == 1:
                pieces.append(sentencepiece_reader._piece(message.message(field)))
    except VocabularyError as error:
        return str(error)
    return pieces


def field_of(number: int, wire: int, value: bytes) -> bytes:
    return bytes([number << 3 | wire]) + (bytes([len(value)]) + value if wire == 2 else value)


PIECES = st.builds(
    lambda text, score, kind, other: field_of(1, 2, text + score + kind + other),
    st.one_of(st.text(max_size=8).map(str.encode), st.binary(max_size=4)).map(lambda text: field_of(1, 2, text)),
    st.sampled_from([b"", field_of(2, 5, b"\0\0\x80\x3f"), field_of(2, 5, b"\n\x15\x18\n")]),
    st.sampled_from([b"", b"", field_of(3, 0, b"\x02"), field_of(3, 0, b"\x82\1"), field_of(3, 0, b"\x82")]),
    st.sampled_from([b"", b"", b"", field_of(4, 0, b"\1"), field_of(2, 0, b"\1"), b"\x15"]),
)
FIELDS = st.one_of(PIECES, st.sampled_from([field_of(2, 2, b"\x18\2"), field_of(9, 0, b"\1"), b"\n", b"\0"]))


@given(st.lists(FIELDS, max_size=8).map(b"".join), st.data())
def test_pieces_are_taken_as_their_fields_say(data, draw):
    data = data[: draw.draw(st.integers(0, len(data)))] if draw.draw(st.booleans()) else data
    assert pieces_of(data, plainly=False) == pieces_of(data, plainly=True)


def test_usual_pieces_are_not_gone_through_field_by_field(sentences, monkeypatch):
    data = trained(sentences, "unigram", normalization_rule_name="identity")
    made = 0

    class Counted(Message):
        def __init__(self, *arguments) -> None:
            nonlocal made
            made += 1
            super().__init__(*arguments)

    monkeypatch.setattr(sentencepiece_reader, "Message", Counted)
    monkeypatch.setattr("crayon_hf.formats.protobuf.Message", Counted)
    assert b'"vocab"' in read_sentencepiece(data).tokenizer_json
    assert made < 20


def test_the_collector_rests_while_a_vocabulary_is_read(sentences, tmp_path):
    path = tmp_path / "x.model"
    path.write_bytes(trained(sentences, "bpe", normalization_rule_name="identity"))
    collected = []
    threshold = gc.get_threshold()
    gc.callbacks.append(lambda phase, _: collected.append(phase))
    gc.set_threshold(10)
    try:
        read(recognise(path), str(path))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.pop()
    assert len(collected) < 500
