"""The way back: what is written reads as the same again, and the reference libraries agree with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import Tokenizer, UnsupportedError, VocabularyError, _core
from crayon_hf.formats import convert
from crayon_hf.formats.converted import Converted, written
from crayon_hf.formats.crayon_v2 import read_companion, read_crayon_v2
from crayon_hf.formats.export import Ranks, to_crayon_v2, to_tiktoken, to_tokenizer_json
from crayon_hf.formats.tiktoken import R50K_PATTERN, RankFile, read_ranks, tokenizer_json
from crayon_hf.util.byte_level import spell

TEXTS = [
    "",
    "Hello, world! It's 1234567 o'clock, WE'LL SEE",
    "  leading and trailing   \n\n\r\n  x\t\t\n",
    "naïve Zoë 日本語のテキスト 🙂 \x00\u200b e\u0301",
    " " * 100 + "x" * 300,
]


def document_of(path: Path) -> dict:
    return json.loads(path.read_bytes())


def converted_of(document: dict) -> Converted:
    return Converted(written(document), {}, "tokenizers")


def reference(ranks: Ranks) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "back", pat_str=ranks.pattern, mergeable_ranks=read_ranks(ranks.data), special_tokens=ranks.special_tokens
    )


def keys_of(cartridge: bytes) -> dict[bytes, int]:
    return dict(_core.list_double_array(*_core.read_cartridge_v2(cartridge)))


# -- tokenizer.json


def test_tokenizer_json(any_vocabulary):
    expected = tokenizers.Tokenizer.from_file(str(any_vocabulary)).to_str(pretty=True).encode()
    assert to_tokenizer_json(convert(any_vocabulary)) == expected
    assert to_tokenizer_json(Tokenizer.from_file(any_vocabulary)) == expected


# -- ranks


def test_ranks_of_trained_vocabularies(gpt2_like, llama3_like):
    """Their ids are in the order of their merges, and tiktoken gives the same ones."""
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "qwen"])
def test_published_rank_files(shared, name):
    """What was converted from a published file gives that file again, though a list of merges was between."""
    (path,) = (shared / "vocab" / name).glob("*.tiktoken")
    source = shared / "vocab" / name / ("tokenizer.json" if name == "qwen" else path.name)
    assert to_tiktoken(convert(source)).data == path.read_bytes()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(min_size=2, max_size=5).map(lambda token: bytes(b"abc "[i % 4] for i in token)), max_size=12),
    st.lists(st.text("abc \n", max_size=40), max_size=5),
)
def test_all_ways_to_split_a_token_are_the_same_as_one(tokens, texts):
    """Some lists of merges have every split of a token into two: the ranks do the same."""
    ranks = {token: i for i, token in enumerate(dict.fromkeys([*(bytes([i]) for i in range(256)), *tokens]))}
    one = json.loads(tokenizer_json(ranks, RankFile(None, R50K_PATTERN, {})))
    splits = [
        (spell(token[:at]), spell(token[at:]))
        for token in sorted(ranks, key=ranks.__getitem__)
        for at in range(1, len(token))
        if token[:at] in ranks and token[at:] in ranks
    ]
    every = {**one, "model": {**one["model"], "merges": splits}}
    made = [to_tiktoken(converted_of(document)) for document in (one, every)]
    assert made[0] == made[1]
    assert read_ranks(made[0].data) == ranks
    stock = tokenizers.Tokenizer.from_str(json.dumps(every))
    for text in texts:
        assert stock.encode(text).ids == reference(made[1]).encode(text)


def changed(path: Path, **model: object) -> Converted:
    document = document_of(path)
    return converted_of(document | {"model": document["model"] | model})


def test_merges_that_ranks_do_not_give(gpt2_like, wordpiece_like):
    document = document_of(gpt2_like)
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    products = ["".join(pair) for pair in merges]
    swapped = vocab | {products[0]: vocab[products[1]], products[1]: vocab[products[0]]}
    with pytest.raises(UnsupportedError, match="not in the order of the ids"):
        to_tiktoken(changed(gpt2_like, vocab=swapped))
    with pytest.raises(UnsupportedError, match=r"tiktoken would join b'.*' and b'.*' to b'.*', but no merge does"):
        to_tiktoken(changed(gpt2_like, merges=merges[1:]))
    with pytest.raises(UnsupportedError, match="no merge makes the token b'Zzzz'"):
        to_tiktoken(changed(gpt2_like, vocab=vocab | {"Zzzz": 5000}))
    whole = to_tiktoken(changed(gpt2_like, vocab=vocab | {"Zzzz": 5000}, ignore_merges=True))
    assert reference(whole).encode("Zzzz ZzzzZ")[0] == 5000
    missing = {token: id for token, id in vocab.items() if token != "ÿ"}
    with pytest.raises(UnsupportedError, match="a token for each byte"):
        to_tiktoken(changed(gpt2_like, vocab=missing))
    with pytest.raises(UnsupportedError, match="'→' stands for no byte"):
        to_tiktoken(changed(gpt2_like, vocab=vocab | {"→": 5000}))
    with pytest.raises(UnsupportedError, match="the same id"):
        to_tiktoken(changed(gpt2_like, vocab=vocab | {"zzzz": 300}))
    for option in ({"dropout": 0.1}, {"byte_fallback": True}, {"end_of_word_suffix": "</w>"}):
        with pytest.raises(UnsupportedError, match=next(iter(option))):
            to_tiktoken(changed(gpt2_like, **option))
    with pytest.raises(UnsupportedError, match="byte-level BPE"):
        to_tiktoken(convert(wordpiece_like))
    with pytest.raises(UnsupportedError, match="byte-level BPE"):
        to_tiktoken(converted_of(document | {"pre_tokenizer": None}))


# -- version 2


def test_version_2(any_vocabulary):
    """Every token of the model with its bytes, and nothing else; the strings say what is not UTF-8."""
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


def test_version_2_of_text_tables():
    model = tokenizers.models.Unigram([("<unk>", 0.0), ("▁a", -1.0), ("a", -2.0), ("日", -3.0)], 0)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made = to_crayon_v2(Converted(tokenizer.to_str().encode(), {}, "tokenizers"))
    assert keys_of(made.cartridge) == {b"<unk>": 0, "▁a".encode(): 1, b"a": 2, "日".encode(): 3}
    assert json.loads(made.companion) == ["<unk>", "▁a", "a", "日"]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.binary(min_size=1, max_size=4), st.integers(0, 300), min_size=1, max_size=30))
def test_version_2_there_and_back(vocabulary):
    keys = {key: id for id, key in {id: key for key, id in vocabulary.items()}.items()}
    data = _core.write_cartridge_v2(*_core.build_double_array(sorted(keys.items())))
    made = to_crayon_v2(read_crayon_v2(data, None))
    assert made.cartridge == data
    assert keys_of(made.cartridge) == keys
    assert read_crayon_v2(made.cartridge, read_companion(made.companion)) == read_crayon_v2(data, None)


def test_crayon_reads_it(gpt2_like, tmp_path):
    """CRAYON's own engine, on a text of which it knows every byte."""
    engine = pytest.importorskip("crayon.c_ext.crayon_cpu")
    made = to_crayon_v2(convert(gpt2_like))
    engine.load_dat(made.cartridge)
    back = tokenizers.Tokenizer.from_str(read_crayon_v2(made.cartridge, None).tokenizer_json.decode())
    for text in TEXTS[1:4]:
        plain = text.replace("\0", "")
        assert list(engine.tokenize(plain)) == back.encode(plain).ids


def test_no_longest_match(wordpiece_like, gpt2_like):
    with pytest.raises(UnsupportedError, match="continuing_subword_prefix '##'"):
        to_crayon_v2(convert(wordpiece_like))
    with pytest.raises(UnsupportedError, match="WordLevel"):
        to_crayon_v2(converted_of({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}))
    with pytest.raises(UnsupportedError, match="the same id"):
        to_crayon_v2(changed(gpt2_like, vocab={"a": 0, "b": 0}, merges=[]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"model": 5}',
        b'{"model": {"type": "BPE"}}',
        b'{"model": {"type": "BPE", "vocab": 5}}',
        b'{"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": []}}',
        b'{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}',
        b'{"model": {"type": "Unigram", "vocab": [5]}}',
        b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [5]}',
        b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [{"id": 5}]}',
        b"[" * 100_000,
    ],
)
def test_damaged_tokenizer_json(data):
    for export in (to_tiktoken, to_crayon_v2):
        with pytest.raises(VocabularyError):
            export(Converted(data, {}, "tokenizers"))
