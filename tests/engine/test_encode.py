"""Whole encodings against the reference, for every shape of published vocabulary; and what cannot be encoded."""

from __future__ import annotations

import functools
import json
import lzma
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error
from tests.engine import twins

cpu = twins.cpu

Bytes = bytes | bytearray


# -- vocabularies, trained once


@functools.cache
def training_text() -> list[str]:
    return twins.generated_text(random.Random(1), 200_000).split("\n")


def trained(pre_tokenizer: Any, change: Callable[[Tokenizer], None]) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer = Tokenizer.from_str(json.dumps(twins.train(tokenizer, training_text(), 3000)))
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    change(tokenizer)
    return str(tokenizer.to_str())


def split(family: str) -> Any:
    first = pre_tokenizers.Split(Regex(_core.canonical_pattern(family)), "isolated")
    return pre_tokenizers.Sequence([first, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(tokenizer: Tokenizer) -> None:
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)


def llama3(tokenizer: Tokenizer) -> None:
    begin = ("<|begin|>", tokenizer.token_to_id("<|begin|>"))
    template = processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1", special_tokens=[begin]
    )
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    tokenizer.model.ignore_merges = True


def qwen(tokenizer: Tokenizer) -> None:
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)


def roberta(tokenizer: Tokenizer) -> None:
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    end, begin = (tokenizer.token_to_id(token) for token in ("<|end|>", "<|begin|>"))
    tokenizer.post_processor = processors.RobertaProcessing(
        ("<|end|>", end), ("<|begin|>", begin), add_prefix_space=False
    )


def phi(tokenizer: Tokenizer) -> None:
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 9)] + ["\t\t"])


def prefixed(tokenizer: Tokenizer) -> None:
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)


SHAPES: dict[str, Callable[[], str]] = {
    "gpt2": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False), gpt2),
    "llama3": lambda: trained(split("llama3"), llama3),
    "cl100k": lambda: trained(split("cl100k"), gpt2),
    "qwen": lambda: trained(split("qwen2"), qwen),
    "o200k": lambda: trained(split("o200k"), gpt2),
    "roberta": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False), roberta),
    "phi": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False), phi),
    "prefixed": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=True), prefixed),
    "whole": lambda: trained(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), gpt2),
}


@functools.cache
def vocabulary(shape: str) -> str:
    return SHAPES[shape]()


@functools.cache
def opened(shape: str, cpu: str) -> twins.Both:
    both = twins.Both(vocabulary(shape))
    assert both.engine.cpu == cpu
    return both


@pytest.fixture(params=SHAPES, scope="module")
def both(request: pytest.FixtureRequest, cpu: str) -> twins.Both:
    return opened(request.param, cpu)


@pytest.fixture(scope="module")
def gpt2_both(cpu: str) -> twins.Both:
    return opened("gpt2", cpu)


# -- texts


PIECES = [
    *(
        "the",
        "The",
        " THE",
        "tion",
        " a",
        "I",
        "e",
        "nation's",
        "it's",
        "IT'S",
        "we'LL",
        "\u2019s",
        "'\u017f",
        "'",
        "don't",
        "x'd've",
    ),
    *("1", "12", "123", "1234", "3.14", "0x1F", "\u0663\u0664", "\u00bd", "\u00b2", "\u2167", "\U0001d7d8"),
    *(
        " ",
        "  ",
        "   ",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        " \n ",
        "\t",
        "\x0b",
        "\x0c",
        "\x85",
        "\xa0",
        "\u2003",
        "\u2028",
        "\u3000",
        "\u200b",
        "\ufeff",
    ),
    *("!", "...", "--", "://", "/", "\\", "_", "#include <a.h>", "{}", "()", "=>", "\u00bf", "\u3002", "\uff0c"),
    *(
        "\u00e9",
        "e\u0301",
        "\u0301",
        "\u0323\u0307",
        "\u212b",
        "\u1100\u1161\u11a8",
        "\uac00",
        "\u0915\u094d\u0937",
        "\u09c7\u09be",
    ),
    *(
        "\u4e2d",
        "\u4e2d\u6587",
        "\u3042",
        "\u30ab\u30bf",
        "\ud55c\uae00",
        "\u0430\u0431",
        "\u0410\u0431\u0412",
        "\u01c5",
        "\u02b0",
        "\ufb01",
    ),
    *(
        "\U0001f642",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "\u2764\ufe0f",
        "\U0001f44d\U0001f3fd",
    ),
    *(
        "\x00",
        "\x01",
        "\x7f",
        "\x1b",
        "\ufffd",
        "\ufffe",
        "\ue000",
        "\U0010fffd",
        "\u0378",
        "\U000e0001",
        "\u202e",
        "\u0627\u0644",
    ),
    *("<|begin|>", "<|end|>", "<|begin", "|>", "<mask>", " <mask> ", "\u0120", "\u010a"),
]


@settings(max_examples=60, deadline=None)
@given(
    text=twins.texts_of(PIECES, size=20),
    pair=st.none() | twins.texts_of(PIECES, size=6),
    special=st.booleans(),
    as_text=st.booleans(),
)
def test_texts_of_pieces(both: twins.Both, text: str, pair: str | None, special: bool, as_text: bool) -> None:
    both.check(text, pair, add_special_tokens=special, special_as_text=as_text)


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(both: twins.Both, text: str) -> None:
    both.check(text)
    both.check([text, text[::2]], is_pretokenized=True)


def test_pieces_side_by_side(both: twins.Both) -> None:
    rng = random.Random(3)
    for piece in PIECES:
        both.check(piece)
        for other in rng.sample(PIECES, 3):
            both.check(piece + other)
    shuffled = PIECES * 3
    rng.shuffle(shuffled)
    both.check("".join(shuffled), "".join(shuffled[::-1]))


def test_documents(both: twins.Both) -> None:
    """Text like that of the training, text of new words, and both a second time, when the thread's cache has them."""
    for seed in (1, 2):
        text = twins.generated_text(random.Random(seed), 12_000)
        for _ in range(2):
            both.check(text)
    both.reference.encode_special_tokens = False
    documents = twins.generated_text(random.Random(4), 30_000).split("\n\n")
    want = [encoding.ids for encoding in both.reference.encode_batch(documents)]
    for threads in (1, 2):
        flat, splits = both.engine.encode_ragged(documents, threads=threads)
        assert [flat[a:b].tolist() for a, b in pairwise(splits)] == want


def test_all_code_points(both: twins.Both) -> None:
    """Each between letters, a few at a time, so that a difference is found near."""
    points = [
        chr(c)
        for c in [*range(0x3400), *range(0xA000, 0x11000), *range(0x11000, 0x110000, 131)]
        if not 0xD800 <= c < 0xE000
    ]
    texts = ["".join(f"a{c}b {c}" for c in points[i : i + 50]) for i in range(0, len(points), 50)]
    both.reference.encode_special_tokens = False
    for text, want in zip(texts, both.reference.encode_batch(texts), strict=True):
        assert both.engine.encode_ids(text) == want.ids, ascii(text)


PUBLISHED = ("gpt2", "roberta-base", "phi-2", "whisper-tiny", "llama3", "qwen")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(shared: Path, name: str, cpu: str) -> None:
    """A little of each real text; the parity harness reads all of them."""
    both = twins.Both((shared / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8"))
    texts = [piece + other for piece, other in pairwise(PIECES)]
    for corpus in ("english", "code", "multi"):
        with lzma.open(shared / "corpus" / f"{corpus}.txt.xz", "rt", encoding="utf-8") as file:
            texts += [file.read(2000) for _ in range(12)]
    for text in texts:
        both.check(text)
    both.check(texts[-1], texts[-2], add_special_tokens=False)


# -- shapes of input that the engine treats apart


def test_words_around_the_size_of_keys(gpt2_both: twins.Both) -> None:
    """Words of up to 15 bytes are looked up by keys of 16, which may not read past the end of the text."""
    rng = random.Random(7)
    for size in range(1, 40):
        for letters in ("etaoin", "\u0430\u0431\u0432", "\u4e2d\u6587", "q"):
            word = "".join(rng.choices(letters, k=size))
            for text in (word, " " + word, word + " a", f"{word} {word}", f"{word}1"):
                gpt2_both.check(text)
                gpt2_both.check(text)


@pytest.mark.parametrize("word", ["a", " the", "qzx", "\u4e2d", "1 "])
def test_around_the_size_of_blocks(gpt2_both: twins.Both, word: str) -> None:
    """Pretokens are cut and looked up in blocks of 256."""
    for count in (*range(254, 259), 511, 512, 513, 1024):
        gpt2_both.check(f"{word}!" * (count // 2) + word * (count % 2))
        gpt2_both.check(f" {word}" * count)


def test_more_words_than_the_cache_holds(gpt2_both: twins.Both) -> None:
    """Words of more than one token fall out of the cache, and come back."""
    rng = random.Random(8)
    words = [" " + "".join(rng.choices("qzxjkvw", k=rng.randint(4, 11))) for _ in range(25_000)]
    text = "".join(words) + "".join(reversed(words)) + "".join(words[:100]) * 3
    want = gpt2_both.reference.encode(text).ids
    for _ in range(2):
        assert gpt2_both.engine.encode_ids(text) == want


def test_nothing(both: twins.Both) -> None:
    for special in (True, False):
        both.check("", add_special_tokens=special)
        both.check("", "", add_special_tokens=special)
        both.check([], is_pretokenized=True, add_special_tokens=special)
        both.check([""], ["", ""], is_pretokenized=True, add_special_tokens=special)
    assert both.engine.encode_bytes(b"") == []
    flat, splits = both.engine.encode_ragged([])
    assert (flat.tolist(), splits.tolist()) == ([], [0])
    assert both.engine.count_tokens([]) == []
    flat, splits = both.engine.encode_ragged([""] * 3, add_special_tokens=False)
    assert (flat.tolist(), splits.tolist()) == ([], [0, 0, 0, 0])


def test_ragged_arrays_outlive_the_engine() -> None:
    engine = twins.open_engine(vocabulary("gpt2"))
    flat, splits = engine.encode_ragged(["the nation", "a"])
    want = flat.tolist()
    del engine
    assert flat.tolist() == want
    assert flat.flags.writeable
    assert splits.dtype == np.int64
    assert splits[-1] == len(flat)


# -- offsets


def character_offsets(text: str, tokens: list[bytes]) -> list[tuple[int, int]]:
    """The characters that each token has a byte of."""
    owner = [i for i, c in enumerate(text) for _ in c.encode()]
    out, at = [], 0
    for token in tokens:
        out.append((owner[at], owner[at + len(token) - 1] + 1))
        at += len(token)
    return out


@pytest.mark.parametrize("shape", ["gpt2", "cl100k", "o200k"])
def test_offsets_of_split_characters(shape: str, cpu: str) -> None:
    """Rare characters become several tokens, each of which covers the whole character."""
    both = opened(shape, cpu)
    for text in (
        "\u4e2d\u9f98\U0001f680x",
        "a\U0001f469\u200d\U0001f4bb\u00e9",
        "\U00020000" * 5,
        " \u20ac\u20ac 1\u20ac",
        "\U0001f642\u0301\u0301 \x00",
    ):
        encoding = both.engine.encode(text)
        tokens = [both.engine.id_to_bytes(id) for id in encoding.ids]
        assert b"".join(tokens) == text.encode()
        assert encoding.offsets == character_offsets(text, tokens)
        assert len(set(encoding.offsets)) < len(encoding.offsets)
        both.check(text, text, also_lookups=True)


def test_offsets_of_decomposed_text(cpu: str) -> None:
    """After NFC one character stands for several of the original."""
    both = opened("qwen", cpu)
    for text in (
        "e\u0301te\u0301",
        "a\u0323\u0307\u0301x",
        "\u1100\u1161\u11a8 \u1100\u1161",
        "\u212b\u212b",
        "q\u0301\u0323 e\u0301 <|end|>e\u0301",
        "\u0301a",
    ):
        both.check(text, "e\u0301 " + text, also_lookups=True)
        both.check([text, "x", text], is_pretokenized=True, also_lookups=True)


# -- bytes


@settings(max_examples=100, deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text().map(str.encode),
        st.lists(
            st.sampled_from([b" ", b"\xff", b"\xe4\xb8", b"\xad", b"a", b"'s", b"\xf0\x9f", b"\x80", b"\n", b"1"])
        ).map(b"".join),
    )
)
def test_any_bytes_come_back(both: twins.Both, data: bytes) -> None:
    ids = both.engine.encode_bytes(data)
    assert both.engine.decode_bytes(ids) == data
    assert b"".join(both.engine.id_to_bytes(id) for id in ids) == data


def test_many_bytes_come_back(both: twins.Both) -> None:
    rng = random.Random(9)
    for data in (rng.randbytes(100_000), bytes(range(256)) * 20, bytes(rng.choices(b"\xc3\xa9 \xff'a1\n", k=50_000))):
        assert both.engine.decode_bytes(both.engine.encode_bytes(data)) == data


def test_bytes_of_text_are_text(cpu: str) -> None:
    """Without added tokens and normalizer, text and its bytes are the same to the engine."""
    both = opened("gpt2", cpu)
    text = twins.generated_text(random.Random(10), 5000)
    assert (
        both.engine.encode_bytes(text.encode()) == both.engine.encode_ids(text) == both.engine.encode_ids(text.encode())
    )
    assert len(both.engine.encode_bytes(b"<|end|>")) > len(both.engine.encode_ids("<|end|>")) == 1


def test_levels_agree_on_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(12)
    for shape in SHAPES:
        cartridge = twins.compiled(vocabulary(shape))
        engines = []
        for level in _core.cpu_levels():
            monkeypatch.setenv("CRAYON_CPU", level)
            engines.append(_core.Engine.from_bytes(cartridge))
        assert [engine.cpu for engine in engines] == _core.cpu_levels()
        for _ in range(200):
            letters = rng.choice(
                [b"a 1\n'", b"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x99\x82 ", bytes(range(256)), b"ab'sS\xc5\xbf"]
            )
            data = bytes(rng.choices(letters, k=rng.randint(1, 300)))
            assert len({tuple(engine.encode_bytes(data)) for engine in engines}) == 1


# -- what is no text


ILL_FORMED = [
    *(
        b"\x80",
        b"\xbf",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xc3",
        b"\xc3(",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xe4\xb8",
        b"\xe4\xb8a",
        b"\xed\xa0\x80",
    ),
    *(
        b"\xed\xbf\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf0\x9f\x99",
        b"\xf0\x9f",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xfe",
        b"\xff",
    ),
]


@pytest.mark.parametrize("bad", ILL_FORMED, ids=lambda bad: bad.hex())
def test_ill_formed_utf8_is_named(gpt2_both: twins.Both, bad: bytes) -> None:
    engine = gpt2_both.engine
    for before in (b"", b"a", b"a" * 15, b"a" * 16, b"a" * 31, b"\xc3\xa9" * 9, b"a" * 100 + "\U0001f642".encode()):
        for after in (b"", b"a", b"a" * 40):
            data = before + bad + after
            with pytest.raises(UnicodeDecodeError) as python:
                data.decode()
            offset = rf"offset {python.value.start}\b"
            with pytest.raises(InvalidUtf8Error, match=f"^text is not UTF-8.*{offset}"):
                engine.encode_ids(data)
            for call in (engine.encode_ragged, engine.count_tokens):
                with pytest.raises(InvalidUtf8Error, match=f"item 2 of the batch is not UTF-8.*{offset}"):
                    call(["a", b"a", data, b"\xff"])
            assert engine.decode_bytes(engine.encode_bytes(data)) == data


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=50) | st.text(max_size=20).map(str.encode).map(lambda data: data[:-1]))
def test_utf8_as_python_reads_it(gpt2_both: twins.Both, data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(InvalidUtf8Error, match=rf"offset {error.start}\b"):
            gpt2_both.engine.encode_ids(data)
    else:
        assert gpt2_both.engine.encode_ids(data) == gpt2_both.engine.encode_ids(data.decode())


@pytest.mark.parametrize("bad", [None, 1, 1.5, b"a", ["a"], object(), bytearray(b"a"), np.str_])
def test_types_that_are_no_text(gpt2_both: twins.Both, bad: Any) -> None:
    engine = gpt2_both.engine
    name = type(bad).__name__
    with pytest.raises(TypeError, match=f"^sequence is {name}, expected str"):
        engine.encode(bad)
    with pytest.raises(TypeError, match=r"^word 1 of sequence is "):
        engine.encode(["a", bad], is_pretokenized=True)
    with pytest.raises(TypeError, match=r"^word 0 of pair is "):
        engine.encode(["a"], [bad], is_pretokenized=True)
    if bad is not None:
        with pytest.raises(TypeError, match=f"^pair is {name}"):
            engine.encode("a", bad)
    if not isinstance(bad, (bytes, list)):
        with pytest.raises(TypeError, match=f"^text is {name}, expected str or bytes"):
            engine.encode_ids(bad)
        for call in (engine.encode_ragged, engine.count_tokens):
            with pytest.raises(TypeError, match=f"^item 3 of the batch is {name}"):
                call(["a", "\u00e9", b"a", bad])
    if not isinstance(bad, list):
        with pytest.raises(TypeError, match=f"item 1 of the batch is {name}"):
            engine.encode_batch(["a", bad])
    with pytest.raises(TypeError, match="second sequence of item 2 of the batch"):
        engine.encode_batch(["a", "b", ("c", bad)])


def test_sequences_of_other_forms(gpt2_both: twins.Both) -> None:
    engine = gpt2_both.engine
    for call in (engine.encode_ragged, engine.count_tokens):
        for bad in ("abc", b"abc", 1, None, {"a"}, iter(["a"])):
            with pytest.raises(TypeError, match=f"^texts is {type(bad).__name__}, expected a list"):
                call(bad)
        call(("a", "b"))
    for bad in ("abc", None, 7):
        with pytest.raises(TypeError, match=r"^input is "):
            engine.encode_batch(bad)
    with pytest.raises(TypeError, match=r"^item 0 of the batch has 3 sequences"):
        engine.encode_batch([("a", "b", "c")])
    with pytest.raises(TypeError, match=r"^sequence is str, expected a list"):
        engine.encode("a b", is_pretokenized=True)
    with pytest.raises(TypeError, match="bytes"):
        engine.encode(b"a")
    with pytest.raises(TypeError, match="encode_bytes"):
        engine.encode(b"a")
    with pytest.raises(TypeError):
        engine.encode_bytes("a")


class Text(str):
    """A str of another class is a str."""


def test_subclasses_of_str(gpt2_both: twins.Both) -> None:
    engine = gpt2_both.engine
    want = engine.encode_ids("the nation\u00e9")
    for text in (Text("the nation\u00e9"), np.str_("the nation\u00e9")):
        assert engine.encode_ids(text) == want
        assert engine.encode(text).ids == want
        assert engine.encode_ragged([text])[0].tolist() == want


# -- lone surrogates


SURROGATES = ["\ud800", "a\udfffb", "\udc00\ud800", "\ud83d", "x\ud83d y", "\ud83d\ud83d\ude42", "\u00e9\udc80"]


@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
def test_lone_surrogates_are_no_text(gpt2_both: twins.Both, text: str) -> None:
    """As to the reference, which refuses them with a TypeError or a UnicodeEncodeError; the item is named."""
    engine = gpt2_both.engine
    assert twins.try_reference(lambda: gpt2_both.reference.encode(text)) is None
    with pytest.raises(TypeError, match=r"^text has a lone surrogate"):
        engine.encode_ids(text)
    with pytest.raises(TypeError, match=r"^sequence has a lone surrogate"):
        engine.encode(text)
    with pytest.raises(TypeError, match=r"^item 1 of the batch has a lone surrogate"):
        engine.encode_ragged(["a", text])
    with pytest.raises(TypeError, match="item 1 of the batch has a lone surrogate"):
        engine.encode_batch(["a", text])
    with pytest.raises(TypeError, match="word 1 of the first sequence of item 0 of the batch has a lone surrogate"):
        engine.encode_batch([(["a", text], ["b"])], is_pretokenized=True)


# -- tiktoken's flavor


@functools.cache
def rank_file() -> tuple[tiktoken.Encoding, str]:
    """The trained cl100k vocabulary as a rank file: tiktoken's encoding of it, and the tokenizer.json."""
    tokens = sorted(json.loads(vocabulary("cl100k"))["model"]["vocab"].items(), key=lambda item: item[1])
    ranks = sorted({twins.token_bytes(token) for token, _ in tokens} - {b"<|begin|>", b"<|end|>"}, key=len)
    family = "cl100k"
    pattern = _core.canonical_pattern(family)
    reference = tiktoken.Encoding(
        "test",
        pat_str=pattern,
        mergeable_ranks={token: i for i, token in enumerate(ranks)},
        special_tokens={"<|end|>": len(ranks)},
    )
    merges = [(ranks[left], ranks[right]) for left, right, _ in _core.merges_from_ranks(ranks)]
    document = twins.byte_level_document()
    document["model"] |= {
        "vocab": {twins.spell(token): i for i, token in enumerate(ranks)},
        "merges": [[twins.spell(a), twins.spell(b)] for a, b in merges],
        "ignore_merges": True,
    }
    document["pre_tokenizer"] = json.loads(vocabulary("cl100k"))["pre_tokenizer"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    document["added_tokens"] = [{"id": len(ranks), "content": "<|end|>", **flags}]
    return reference, json.dumps(document)


@pytest.fixture(scope="module")
def ranked(cpu: str) -> tuple[tiktoken.Encoding, _core.Engine]:
    reference, text = rank_file()
    return reference, twins.open_engine(text, "rust_regex")


@settings(max_examples=100, deadline=None)
@given(text=twins.texts_of([*PIECES, *SURROGATES], size=15))
def test_tiktoken(ranked: tuple[tiktoken.Encoding, _core.Engine], text: str) -> None:
    """Lone surrogates become U+FFFD, as tiktoken makes them."""
    reference, engine = ranked
    want = reference.encode(text, allowed_special="all")
    assert engine.encode_ids(text) == want
    assert engine.encode(text).ids == want
    assert engine.encode_ids(text, special_as_text=True) == reference.encode_ordinary(text)
    assert engine.decode_bytes(want) == reference.decode_bytes(want)
    assert engine.decode(want, skip_special_tokens=False) == reference.decode(want)


def test_tiktoken_documents(ranked: tuple[tiktoken.Encoding, _core.Engine]) -> None:
    reference, engine = ranked
    text = twins.generated_text(random.Random(14), 50_000)
    assert engine.encode_ids(text) == reference.encode_ordinary(text)
    for text in SURROGATES:
        assert engine.encode_ids(text) == reference.encode_ordinary(text)
        assert engine.encode_ragged([text, "a"])[0].tolist() == reference.encode_ordinary(
            text
        ) + reference.encode_ordinary("a")
