"""Exporting to rank files and version 2 cartridges: read again, a file gives the same vocabulary, and its own library
gives equal ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiktoken
import tokenizers

from crayon_hf import Tokenizer, UnsupportedError, VocabularyError, _core
from crayon_hf.formats import convert
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.crayon_v2 import read_companion, read_crayon_v2
from crayon_hf.formats.export import Ranks, to_crayon_v2, to_gguf, to_sentencepiece, to_tiktoken
from crayon_hf.formats.tiktoken import RankFile, read_ranks, tokenizer_json
from tests.formats.export_samples import converted_of

TEXTS = [
    "",
    "Hello, world! It's 1234567 o'clock, WE'LL SEE",
    "  leading and trailing   \n\n\r\n  x\t\t\n",
    "naïve Zoë 日本語のテキスト 🙂 \x00\u200b e\u0301",
    " " * 100 + "x" * 300,
]


def document_of(path: Path) -> dict:
    return json.loads(path.read_bytes())


def reference(ranks: Ranks) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "back", pat_str=ranks.pattern, mergeable_ranks=read_ranks(ranks.data), special_tokens=ranks.special_tokens
    )


def keys_of(cartridge: bytes) -> dict[bytes, int]:
    return dict(_core.list_double_array(*_core.read_cartridge_v2(cartridge)))


# -- ranks


def test_ranks_of_trained_vocabularies(gpt2_like, llama3_like):
    """Exported ranks are in the order of the merges, and tiktoken gives the tokenizer's ids with them."""
    for path in (gpt2_like, llama3_like):
        ranks = to_tiktoken(convert(path))
        assert to_tiktoken(Tokenizer.from_file(path)) == ranks
        stock = tokenizers.Tokenizer.from_file(str(path))
        encoding = reference(ranks)
        for text in TEXTS:
            expected = stock.encode(text, add_special_tokens=False).ids
            assert encoding.encode(text) == expected
        assert ranks.special_tokens == {token.content: id for id, token in stock.get_added_tokens_decoder().items()}
        back = convert_ranks(ranks)
        again = tokenizers.Tokenizer.from_str(back.tokenizer_json.decode())
        assert [again.encode(text).ids for text in TEXTS] == [encoding.encode(text) for text in TEXTS]
        assert to_tiktoken(back) == ranks


def convert_ranks(ranks: Ranks) -> Converted:
    facts = RankFile(None, ranks.pattern, ranks.special_tokens)
    return Converted(tokenizer_json(read_ranks(ranks.data), facts), {}, "tiktoken")


def test_what_comes_before_the_model_is_no_pattern(qwen_like, gpt2_like):
    assert to_tiktoken(convert(qwen_like)).pattern is None  # NFC
    document = document_of(gpt2_like)
    for key, value in (("add_prefix_space", True), ("use_regex", False)):
        changed = document | {"pre_tokenizer": document["pre_tokenizer"] | {key: value}}
        assert to_tiktoken(converted_of(changed)).pattern is None
    assert to_tiktoken(converted_of(document)).pattern is not None


def changed(path: Path, **model: object) -> Converted:
    document = document_of(path)
    return converted_of(document | {"model": document["model"] | model})


def test_merges_that_ranks_do_not_give(gpt2_like, wordpiece_like):
    document = document_of(gpt2_like)
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    products = ["".join(pair) for pair in merges]
    swapped = vocab | {products[0]: vocab[products[1]], products[1]: vocab[products[0]]}
    for source, message in (
        (changed(gpt2_like, vocab=swapped), "order of the ids"),
        (changed(gpt2_like, merges=merges[1:]), "no merge does"),
        (changed(gpt2_like, vocab=vocab | {"Zzzz": 5000}), "Zzzz"),
        (changed(gpt2_like, vocab={token: id for token, id in vocab.items() if token != "ÿ"}), "each byte"),
        (changed(gpt2_like, vocab=vocab | {"→": 5000}), "no byte"),
        (changed(gpt2_like, vocab=vocab | {"zzzz": 300}), "same id"),
        (changed(gpt2_like, dropout=0.1), "dropout"),
        (changed(gpt2_like, end_of_word_suffix="</w>"), "suffix"),
        (convert(wordpiece_like), "byte-level BPE"),
        (converted_of(document | {"pre_tokenizer": None}), "byte-level BPE"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            to_tiktoken(source)
    with pytest.raises(VocabularyError, match="two tokens"):
        to_tiktoken(changed(gpt2_like, merges=["a b c"]))
    whole = to_tiktoken(changed(gpt2_like, vocab=vocab | {"Zzzz": 5000}, ignore_merges=True))
    assert reference(whole).encode("Zzzz ZzzzZ")[0] == 5000


# -- version 2


def test_version_2(any_vocabulary):
    """A file of CRAYON (version 2) has the bytes of the model's tokens, without added tokens. The JSON list beside the
    file spells all tokens, also tokens that are not UTF-8."""
    made = to_crayon_v2(convert(any_vocabulary))
    assert to_crayon_v2(Tokenizer.from_file(any_vocabulary)) == made
    tokenizer = Tokenizer.from_file(any_vocabulary)
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    vocab = {token: id for token, id in tokenizer.get_vocab(with_added_tokens=False).items() if token not in added}
    keys = keys_of(made.cartridge)
    assert keys == {tokenizer.decode_bytes([id]): id for id in vocab.values()}
    assert made.keys == len(keys)
    strings = json.loads(made.companion)
    assert len(strings) == max(tokenizer.get_vocab().values()) + 1
    for key, id in keys.items():
        assert strings[id].encode("utf-8", "surrogateescape") == key
    for id, token in tokenizer.get_added_tokens_decoder().items():
        assert strings[id] == token.content
    back = read_crayon_v2(made.cartridge, read_companion(made.companion))
    assert back.metadata["tokens"] == len(strings)
    assert to_crayon_v2(back).cartridge == made.cartridge
    again = json.loads(to_crayon_v2(back).companion)
    assert [again[id] for id in keys.values()] == [strings[id] for id in keys.values()]


def test_no_longest_match(wordpiece_like, gpt2_like):
    with pytest.raises(UnsupportedError, match="prefix '##'"):
        to_crayon_v2(convert(wordpiece_like))
    with pytest.raises(UnsupportedError, match="WordLevel"):
        to_crayon_v2(converted_of({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}))
    with pytest.raises(UnsupportedError, match="the same id"):
        to_crayon_v2(changed(gpt2_like, vocab={"a": 0, "b": 0}, merges=[]))


EXPORTS = (to_tiktoken, to_gguf, to_sentencepiece, to_crayon_v2)
DAMAGED = (
    b"[]",
    b'{"model": 5}',
    b'{"model": {"type": "BPE", "vocab": 5}}',
    b'{"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}}',
    b'{"model": {"type": "Unigram", "vocab": [5]}}',
    b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [{"id": 5}]}',
    b"[" * 100_000,
)
DAMAGED_MERGES = b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [5]}}'


@pytest.mark.parametrize(
    ("export", "data"),
    [
        *((export, data) for export in EXPORTS for data in DAMAGED),
        *((export, DAMAGED_MERGES) for export in EXPORTS[:-1]),  # a version 2 cartridge has no merges
    ],
)
def test_damaged_tokenizer_json(export, data):
    with pytest.raises(VocabularyError):
        export(Converted(data, {}, "tokenizers"))
