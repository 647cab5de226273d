"""Exporting to a SentencePiece model: the library gives the tokenizer's ids with it. If no model can express a
component, an error names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

from crayon_hf import Tokenizer, UnsupportedError
from crayon_hf.formats import convert
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.export import to_sentencepiece
from crayon_hf.formats.sentencepiece import read_sentencepiece
from crayon_hf.tokenizer_json.parts import BPE, added_token, byte_level, whole_document
from tests.formats.export_samples import PREFIXED, converted_of, count_exported, hostile, random_sources
from tests.support.random_tokenizers import ESCAPED, SPACE
from tests.support.reference_impl import component
from tests.support.sampling import sampled
from tests.support.sentencepiece_models import trained

WORDS = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "never", "split": True}


def library_of(data: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=data)


def check(source: Converted, texts: list[str], **options: Any) -> sentencepiece.SentencePieceProcessor:
    """Export `source` to a SentencePiece model, and check that its library and `Tokenizer` give the ids of
    `tokenizers`."""
    made = to_sentencepiece(source, **options)
    library = library_of(made.data)
    text = source.tokenizer_json.decode()
    ours, stock = Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)
    special = [token.content for token in ours.get_added_tokens_decoder().values() if token.special]
    texts = [text for text in texts if not any(token in text for token in special)]
    wanted = [encoding.ids for encoding in ours.encode_batch(texts, add_special_tokens=False)]
    assert [encoding.ids for encoding in stock.encode_batch(texts, add_special_tokens=False)] == wanted
    assert library.encode(texts) == wanted
    again = Tokenizer.from_str(read_sentencepiece(made.data).tokenizer_json.decode())
    assert [encoding.ids for encoding in again.encode_batch(texts, add_special_tokens=False)] == wanted
    assert made.pieces == library.get_piece_size() == ours.get_vocab_size()
    return library


# -- models that the library trained, converted by transformers


@pytest.fixture(scope="module")
def llama_like(sentences: list[str]) -> Converted:
    """A trained BPE model with special tokens. Its template puts one of them before each text."""
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    data = trained(sentences, vocab_size=700, model_type="bpe", byte_fallback=True, **options)
    document = json.loads(read_sentencepiece(data).tokenizer_json)
    document["added_tokens"] = [added_token(id, text) for id, text in enumerate(("<unk>", "<s>", "</s>"))]
    template = tokenizers.processors.TemplateProcessing("<s> $A", "<s> $A $B:1", [("<s>", 1)])
    document["post_processor"] = component(template)
    return converted_of(document)


def test_llama_like(llama_like: Converted) -> None:
    library = check(llama_like, hostile(400, 1))
    assert (library.unk_id(), library.bos_id(), library.eos_id(), library.pad_id()) == (0, 1, 2, -1)
    assert library.is_byte(3)
    assert library.is_control(1)
    assert library.encode("low lowest", add_bos=True)[0] == 1
    assert library.decode(library.encode("  low lowest é 日")) == "  low lowest é 日"
    named = to_sentencepiece(llama_like._replace(config={"bos_token": "</s>", "pad_token": {"content": "<s>"}}))
    again = library_of(named.data)
    assert (again.bos_id(), again.eos_id(), again.pad_id()) == (2, 2, 1)


MODELS = {
    "bpe": {"model_type": "bpe"},
    "bpe_symbols": {
        **{"model_type": "bpe", "normalization_rule_name": "identity", "user_defined_symbols": ["<sep>", "ing"]}
    },
    "unigram": {"model_type": "unigram", "user_defined_symbols": ["<sep>"], "byte_fallback": True},
    "unigram_suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True},
    "char": {"model_type": "char", "normalization_rule_name": "identity"},
}


@pytest.mark.parametrize("name", MODELS)
def test_models_come_back(name: str, sentences: list[str], tmp_path: Path) -> None:
    """A tokenizer that was read from a SentencePiece model is written as a model that gives the same ids."""
    data = trained(sentences, vocab_size=700, **MODELS[name])
    (tmp_path / "x.model").write_bytes(data)
    library = library_of(data)
    texts = [*hostile(300, 2), "a <sep>ing  ing<sep>", "running <sep> "]
    wanted = library.encode(texts)
    for source in (convert(tmp_path / "x.model"), Tokenizer.from_file(tmp_path / "x.model")):
        made = to_sentencepiece(source)
        again = library_of(made.data)
        assert again.encode(texts) == wanted
        assert made.differences == ()
        for number in range(library.get_piece_size()):
            assert again.id_to_piece(number) == library.id_to_piece(number)
            assert again.is_control(number) == library.is_control(number)


def test_changed_since_it_was_opened(sentences: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.model").write_bytes(trained(sentences, vocab_size=700, model_type="unigram"))
    tokenizer = Tokenizer.from_file(tmp_path / "x.model")
    to_sentencepiece(tokenizer)
    tokenizer.add_tokens(["<more>"])
    with pytest.raises(UnsupportedError):
        to_sentencepiece(tokenizer)
    tokenizer = Tokenizer.from_file(tmp_path / "x.model")
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    with pytest.raises(UnsupportedError, match="normalizer"):
        to_sentencepiece(tokenizer)


# -- components


def bpe(
    merges: list[tuple[str, str]], letters: str = "abcd▁", more: dict[str, Any] | None = None, **parts: Any
) -> Converted:
    tokens = ["<unk>", *letters, *("".join(pair) for pair in merges)]
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    model = {**BPE, "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab, "merges": merges, **(more or {})}
    return converted_of(whole_document(model, **{"normalizer": ESCAPED, **parts}))


SHORT = ["", " ", "a", "ab", "abc", "aabb", " ab  c ", "abcabcab", "xyz", f"{SPACE}a", "zab", "bcbcb", "aaaaaaa"]
SHORT += ["日 a 日日"]


def test_merges_are_scores() -> None:
    check(bpe([("a", "b"), ("ab", "c"), ("b", "c")]), SHORT)
    check(bpe([("a", "bc"), ("b", "c")]), SHORT)  # a part whose id follows that of the whole
    check(bpe([("a", "a"), ("a", "aa"), ("aa", "a")]), SHORT)
    more = {"vocab": {token: id for id, token in enumerate(["<unk>", *"abcd▁", "bcd", "bcda", "ab"])}}
    check(bpe([("bcd", "a"), ("a", "b")], more=more), [*SHORT, "bcda"])  # a part that no merge makes
    check(bpe([("b", "c"), ("a", "b"), ("a", "bc"), ("ab", "c")], normalizer=PREFIXED), SHORT)
    check(bpe([(SPACE, "a"), ("a", "b")], normalizer=None, pre_tokenizer=WORDS), SHORT)
    check(bpe([("a", "b")], normalizer=None, letters="abcd "), SHORT)


REFUSED = {
    "order": (bpe([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc"), ("b", "b"), ("bb", "c"), ("b", "bc")]), None),
    "apart": (bpe([("a", "bc"), ("b", "c"), ("a", "b"), ("ab", "c")]), "the order of the merges"),
    "unmade": (
        bpe([("a", "b")], more={"vocab": {t: i for i, t in enumerate(["<unk>", *"abcd▁", "ab", "abc"])}}),
        "'abc'",
    ),
    "fuse_unk": (bpe([], more={"fuse_unk": False}), "fuse_unk"),
    "dropout": (bpe([], more={"dropout": 0.5}), "dropout"),
    "prefix": (bpe([], more={"continuing_subword_prefix": "##"}), "continuing_subword_prefix"),
    "byte_fallback": (bpe([], more={"byte_fallback": True}), "byte_fallback without the token <0x00>"),
    "no unknown": (bpe([], more={"unk_token": None}), "unknown token"),
    "ignore_merges": (
        bpe([], more={"ignore_merges": True, "vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3}}),
        "ignore_merges: no merges make 'ab'",
    ),
    "merge of unk": (bpe([("<unk>", "a")], more={"vocab": {"<unk>": 0, "a": 1, "<unk>a": 2}}), "a merge of '<unk>'"),
    "NFKC": (bpe([], normalizer={"type": "NFKC"}), "the normalizer NFKC"),
    "Whitespace": (bpe([], normalizer=None, pre_tokenizer={"type": "Whitespace"}), "the pre-tokenizer Whitespace"),
    "ByteLevel": (bpe([], normalizer=None, pre_tokenizer=byte_level()), "the pre-tokenizer ByteLevel"),
    "Metaspace": (
        bpe([], normalizer=None, pre_tokenizer={**WORDS, "prepend_scheme": "always"}),
        "the pre-tokenizer Metaspace",
    ),
    "over words": (bpe([("a", SPACE)], normalizer=None, pre_tokenizer=WORDS), f"'a{SPACE}' crosses the end of a word"),
    "prefixed": (bpe([], normalizer=PREFIXED, added_tokens=[added_token(6, "<x>", special=False)]), "not special"),
    "lstrip": (bpe([], added_tokens=[added_token(6, "<x>", special=False, lstrip=True)]), "has lstrip"),
    "space": (bpe([], added_tokens=[added_token(6, "x y", special=False)]), "has a space"),
    "hole": (bpe([], more={"vocab": {"<unk>": 0, "a": 2}}), "no token has the id 1"),
    "NUL": (bpe([], more={"vocab": {"<unk>": 0, "\0": 1}}), "NUL"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_model_says(name: str) -> None:
    source, message = REFUSED[name]
    if message is None:
        check(source, SHORT)
        return
    with pytest.raises(UnsupportedError, match=message):
        to_sentencepiece(source)


def test_user_defined_tokens() -> None:
    """User-defined tokens are found in every text if the normalizer adds no prefix to texts."""
    tokens = [added_token(6 + id, text, special=False) for id, text in enumerate(("<x>", "<x>y", "dd"))]
    library = check(bpe([("a", "b"), ("b", "c")], added_tokens=tokens), [*SHORT, "a<x>yb<x>", "dddd<x", "ab <x>ab"])
    assert library.encode("a<x>b") == [1, 8 if library.id_to_piece(8) == "<x>" else library.piece_to_id("<x>"), 2]


def test_other_models(wordpiece_like: Path, gpt2_like: Path) -> None:
    for path, message in ((wordpiece_like, "a WordPiece vocabulary"), (gpt2_like, "ByteLevel")):
        for inexact in (False, True):
            with pytest.raises(UnsupportedError, match=message):
                to_sentencepiece(convert(path), inexact=inexact)


# -- inexact


def unigram(scores: dict[str, float], **parts: Any) -> Converted:
    rows = [["<unk>", 0.0], *([text, score] for text, score in scores.items())]
    model = {"type": "Unigram", "unk_id": 0, "vocab": rows, "byte_fallback": False}
    tokens = [added_token(0, "<unk>")]
    return converted_of(whole_document(model, **{"added_tokens": tokens, "pre_tokenizer": WORDS, **parts}))


def test_inexact_unigram() -> None:
    source = unigram({SPACE: -3.0, "a": -2.0, "b": -2.5, f"{SPACE}a": -2.75, "ab": -3.25})
    with pytest.raises(UnsupportedError, match=r"single precision.*--inexact"):
        to_sentencepiece(source)
    made = to_sentencepiece(source, inexact=True)
    assert len(made.differences) == 1
    check(source, [text for text in SHORT if "aaa" not in text], inexact=True)
    source = unigram({SPACE: -3.0, "a": -0.1})
    assert "scores" in to_sentencepiece(source, inexact=True).differences[1]
    with pytest.raises(UnsupportedError, match="worst score"):
        to_sentencepiece(unigram({SPACE: 3.0, "a": 1.0}), inexact=True)


def test_as_transformers_converts() -> None:
    """The components that transformers makes of a SentencePiece model only approximate it."""
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {**WORDS, "prepend_scheme": "always"}]}
    source = unigram({SPACE: -3.0, "a": -2.0, "b": -2.5, f"{SPACE}a": -2.75}, pre_tokenizer=words)
    made = to_sentencepiece(source, inexact=True)
    assert "Metaspace" in made.differences[1]
    assert library_of(made.data).encode("  a b  a ", out_type=str) == [f"{SPACE}a", SPACE, "b", f"{SPACE}a"]


# -- any


@pytest.mark.parametrize("first", sampled([0, 100, 200], 3))
def test_random(first: int) -> None:
    assert count_exported(random_sources(range(first, first + 100), 60), check) > 8


PUBLISHED = ("llama2", "mistral-v1/tokenizer.model", "mistral-v3/tokenizer.model", "gguf/ggml-vocab-llama-spm.gguf")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published(shared: Path, name: str) -> None:
    source = convert(shared / "vocab" / name)
    texts = hostile(3000, 3)
    if source.reference == "sentencepiece":
        library = library_of((shared / "vocab" / name).read_bytes())
        assert library_of(to_sentencepiece(source).data).encode(texts) == library.encode(texts)
    else:
        check(source, texts)
