"""Greedy mode: every way into the engine gives what a plain longest match gives (greedy_reference.py)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.support import greedy_reference as twin
from tests.support import reference_impl
from tests.support.greedy_reference import (
    ON_BYTES,
    PLAIN,
    assert_ids,
    byte_offsets,
    some_tokens,
    text_document,
    word_piece,
)

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


# -- offsets


@on_every_cpu
@settings(max_examples=60, deadline=None)
@given(reference_impl.texts_of(["ab", " a", "é", "<s>", "  "]), st.booleans())
def test_offsets_over_bytes(text: str, prefix: bool) -> None:
    document = word_piece([b"ab", b" ab", b"a\xc3", b"\xa9 ", b"  a", b"bab"])
    document["pre_tokenizer"]["add_prefix_space"] = prefix
    space = " " if prefix and text and not text.startswith(" ") else ""
    tokens = twin.byte_tokens(document["model"]["vocab"]).cut((space + text).encode())
    encoding = reference_impl.open_engine(document).greedy().encode(text)
    assert encoding.ids == [i for i, _, _ in tokens]
    assert encoding.offsets == byte_offsets(text, tokens, len(space))
    assert encoding.word_ids == [0] * len(tokens)


@on_every_cpu
@settings(max_examples=60, deadline=None)
@given(reference_impl.texts_of(["ab", " a", "é", "z", "  ", "\u2581"]), st.booleans(), st.booleans())
def test_offsets_over_text(text: str, byte_fallback: bool, fuses: bool) -> None:
    """As Llama 2 has it: a character in front, which goes with the first, and another in place of each space."""
    vocab = {
        token: i for i, token in enumerate(["<unk>", "\u2581", "a", "\u2581a", "ab", "b\u2581", "<0xC3>", "<0xA9>"])
    }
    model = models.BPE(vocab, [], unk_token="<unk>", fuse_unk=fuses, byte_fallback=byte_fallback)
    normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    engine = reference_impl.open_engine(text_document(model, normalizer, None)).greedy()
    rules = twin.TextRules(vocab, 0, fuses, byte_fallback)
    tokens = list(rules.cut("\u2581" + text.replace(" ", "\u2581"))) if text else []
    encoding = engine.encode(text)
    assert encoding.ids == [i for i, _, _ in tokens]
    assert encoding.offsets == [(max(start - 1, 0), max(end - 1, 1)) for _, start, end in tokens]


def test_words_end_where_something_was_removed() -> None:
    pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), PLAIN])
    engine = reference_impl.open_engine(word_piece([b"a,b", b"ab"], pre_tokenizer)).greedy()
    encoding = engine.encode("a,b a,b\tab")
    assert encoding.tokens == ["a,b", "a,b", "ab"]
    assert encoding.offsets == [(0, 3), (4, 7), (8, 10)]
    assert encoding.word_ids == [0, 1, 2]


# -- what belongs to added tokens, and the names of bytes


def test_special_tokens_come_from_added_tokens_alone() -> None:
    """What is plain text stays it: special tokens of the model are no match, unless they are a byte."""
    document = reference_impl.byte_level_document([(b"<", b"s"), (b"<s", b">"), (b"<s>", b"!")])
    bare = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    vocab = document["model"]["vocab"]
    for token in ("<s>", "x"):
        document["added_tokens"].append({"id": vocab[token], "content": token} | bare)
    engine = reference_impl.open_engine(document).greedy()
    assert engine.encode("<s><s>!x").tokens == ["<s>", "<s>", "!", "x"]
    as_text = engine.encode("<s><s>!x", special_as_text=True)
    assert as_text.tokens == ["<s", ">", "<s>!", "x"]
    assert engine.encode_ids("<s><s>!x", special_as_text=True) == as_text.ids == engine.encode_bytes(b"<s><s>!x")
    assert engine.longest_match(b"<s>") == (vocab["<s"], 2)
    assert engine.longest_match(b"xy") == (vocab["x"], 1)
    # With other added tokens it is plain text no more, or again.
    freed = engine.with_components(engine.components, [])
    assert freed.encode("<s>x").tokens == ["<s>", "x"]
    assert freed.with_components(freed.components, engine.added_tokens()).encode_ids("<s>", special_as_text=True) == [
        vocab["<s"],
        vocab[">"],
    ]


def test_the_name_of_a_byte_is_text() -> None:
    vocab = {"<0x41>": 0, "<0x42>": 1, "<": 2, "0x": 3, "4": 4, "1>": 5, "<unk>": 6}
    for byte_fallback, tokens in ((True, ["<", "0x", "4", "1>"]), (False, ["<0x41>"])):
        model = models.BPE(vocab, [], unk_token="<unk>", byte_fallback=byte_fallback)
        engine = reference_impl.open_engine(text_document(model, None, None)).greedy()
        assert engine.encode("<0x41>").tokens == tokens
        assert engine.encode("A").tokens == (["<0x41>"] if byte_fallback else ["<unk>"])
        assert engine.longest_match(b"<0x41>")[1] == len(tokens[0])


# -- models on text


def test_bpe_without_an_unknown_token_leaves_characters_out() -> None:
    engine = reference_impl.open_engine(text_document(models.BPE({"a": 0, "b": 1}, []), None, None)).greedy()
    encoding = engine.encode("xaxxbx")
    assert (encoding.ids, encoding.offsets) == ([0, 1], [(1, 2), (4, 5)])


@pytest.mark.parametrize(
    "model",
    [
        models.BPE({"a": 0}, [], unk_token="<unk>"),
        models.Unigram([("a", -1.0)], None, False),
        models.WordLevel({"a": 0}, unk_token="<unk>"),
    ],
)
def test_no_unknown_token_to_give(model: Any) -> None:
    engine = reference_impl.open_engine(text_document(model, None, None)).greedy()
    assert engine.encode_ids("aa") == [0, 0]
    for call in (engine.encode, engine.encode_ids):
        with pytest.raises(VocabularyError):
            call("ab")


def test_what_unigram_does_not_know_shows_itself() -> None:
    engine = reference_impl.open_engine(
        text_document(models.Unigram([("a", -1.0), ("?", 0.0)], 1, False), None, None)
    ).greedy()
    assert engine.encode("axya").tokens == ["a", "xy", "a"]
    assert engine.encode("axya").ids == [0, 1, 0]


def test_word_level_unknown_characters_stand_alone() -> None:
    document = text_document(models.WordLevel({"ab": 0, "?": 1}, unk_token="?"), None, None)
    assert reference_impl.open_engine(document).greedy().encode("xyab").tokens == ["?", "?", "ab"]


@settings(max_examples=100, deadline=None)
@given(st.text("ab ", max_size=12), st.sampled_from(["##", ""]), st.sampled_from(["</w>", ""]), st.integers(0, 99))
def test_affixes_are_spelled(text: str, prefix: str, suffix: str, seed: int) -> None:
    rng = random.Random(seed)
    tokens = [
        rng.choice(("", prefix)) + token + rng.choice(("", suffix))
        for token in some_tokens(rng, 12, "ab")
        for _ in "12"
    ]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(["?", *tokens]))}
    model = models.BPE(
        vocab, [], unk_token="?", continuing_subword_prefix=prefix, end_of_word_suffix=suffix, fuse_unk=True
    )
    engine = reference_impl.open_engine(text_document(model, None, pre_tokenizers.Whitespace())).greedy()
    rules = twin.TextRules(vocab, 0, True, prefix=prefix, suffix=suffix)
    assert_ids(engine, text, [i for word in text.split() for i, _, _ in rules.cut(word)])


def test_word_piece_stays_as_it_is() -> None:
    model = models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2, "b": 3, "a,": 4, ",": 5}, unk_token="[UNK]")
    engine = reference_impl.open_engine(text_document(model, None, pre_tokenizers.BertPreTokenizer()))
    for text in ("ab a,b", "b,a x", "[UNK]"):
        reference_impl.assert_same(engine.greedy().encode(text), engine.encode(text), text)
    assert engine.greedy().encode("a,b").tokens == ["a", ",", "b"]


# -- the engine


def test_modes() -> None:
    document = reference_impl.byte_level_document([(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")])
    exact = reference_impl.open_engine(document)
    greedy = exact.greedy()
    assert (exact.mode, greedy.mode, greedy.greedy().mode) == ("exact", "greedy", "greedy")
    assert exact.encode("abc").tokens == ["a", "bc"]
    assert greedy.encode("abc").tokens == greedy.greedy((999, 0)).encode("abc").tokens == ["abc"]
    assert greedy.components == exact.components
    rows = [
        {"id": 300, "content": "bc"}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    ]
    for engine in (
        greedy.with_components(exact.components, rows),
        exact.with_components(exact.components, rows).greedy(),
    ):
        assert engine.mode == "greedy"
        assert engine.encode("abcabca").tokens == ["a", "bc", "a", "bc", "a"]
        assert engine.added_tokens() == rows
    upper = json.loads(greedy.components) | {"normalizer": {"type": "Lowercase"}}
    assert greedy.with_components(json.dumps(upper)).encode("ABC").tokens == ["abc"]
    with pytest.raises(UnsupportedError, match="pipeline without ByteLevel"):
        greedy.with_components(json.dumps(upper | {"pre_tokenizer": None}))


def test_unknown_ids() -> None:
    """Ids from the first on come out as one, whatever way is taken, and offsets stay those of the tokens."""
    document = word_piece([b"abc"], ON_BYTES[1])
    plain, named = (reference_impl.open_engine(document).greedy(unknown) for unknown in (None, (98, 7)))
    text = "abc éa<m>"
    for engine in (named, named.with_components(named.components), named.greedy((98, 7))):
        ids = [i if i < 98 else 7 for i in plain.encode(text).ids]
        assert 7 in ids
        assert_ids(engine, text, ids)
        assert engine.encode_bytes(text.encode()) == ids
        assert engine.encode(text).offsets == plain.encode(text).offsets
        assert engine.encode(text).tokens == [plain.id_to_token(i) for i in ids]
        assert engine.longest_match(b"abc") == (7, 3)
    rows = [
        {"id": 300, "content": "<m>"}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    ]
    assert named.with_components(named.components, rows).encode_ids("<m>") == [300]
    model = models.BPE({"ab": 0, "b": 1, "a": 2}, [])
    on_text = reference_impl.open_engine(text_document(model, None, pre_tokenizers.Metaspace())).greedy((1, 0))
    assert_ids(on_text, "abba", [0, 0, 0])
    for bad in ((0, 257), (0, 2**31)):
        with pytest.raises(ValueError, match="the id for unknown tokens"):
            plain.greedy(bad)
    for wrong in ((-1, 0), (0,), (0, 1, 2), 5):
        with pytest.raises(TypeError):
            plain.greedy(wrong)


@on_every_cpu
@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=5), max_size=20), st.binary(max_size=300), st.data())
def test_bytes_round_trip(tokens: list[bytes], data: bytes, draw: st.DataObject) -> None:
    engine = reference_impl.open_engine(word_piece(tokens, draw.draw(st.sampled_from(ON_BYTES)))).greedy()
    mixed = data + b"".join(tokens) + data[:20]
    assert engine.decode_bytes(engine.encode_bytes(mixed)) == mixed
    text = mixed.decode(errors="ignore")
    if json.loads(engine.components)["pre_tokenizer"]["type"] == "ByteLevel":
        assert engine.decode(engine.encode_ids(text)).removeprefix(" ") == text.removeprefix(" ")


@pytest.mark.concurrency
def test_threads(gpt2_like: Path) -> None:
    engine = reference_impl.open_engine(gpt2_like.read_text(encoding="utf-8")).greedy()
    rng = random.Random(3)
    texts = [reference_impl.generated_text(rng, 300) for _ in range(40)]
    flat, splits = engine.encode_ragged(texts, threads=1)
    for threads in (2, 5):
        again, same = engine.encode_ragged(texts, threads=threads)
        assert np.array_equal(flat, again)
        assert np.array_equal(splits, same)
        assert engine.count_tokens(texts, threads=threads) == np.diff(splits).tolist()
        encodings = engine.encode_batch(texts, threads=threads)
        assert [i for encoding in encodings for i in encoding.ids] == flat.tolist()
        columns = engine.encode_columns(texts, threads=threads)
        assert columns is not None
        assert [i for row in columns["input_ids"] for i in row] == flat.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", " ", "\x00"])
def test_a_megabyte_of_one_character(unit: str, gpt2_like: Path) -> None:
    document = json.loads(gpt2_like.read_text(encoding="utf-8"))
    engine = reference_impl.open_engine(document).greedy()
    tokens = twin.byte_tokens(document["model"]["vocab"])
    size = 1 << 20
    best, run = tokens.match(unit.encode() * 1000, 0)
    ids = [best] * (size // run) + [i for i, _, _ in tokens.cut(unit.encode() * (size % run))]
    text = unit * size
    assert engine.encode_ids(text) == engine.encode(text).ids == engine.encode_bytes(text.encode()) == ids
    model = models.BPE({unit: 0, unit * 3: 1}, [], unk_token=None)
    on_text = reference_impl.open_engine(text_document(model, None, None)).greedy()
    assert on_text.encode_ids(text) == on_text.encode(text).ids == [1] * (size // 3) + [0]
