"""Rank files of tiktoken give tiktoken's ids in our engine, and in stock tokenizers from the converted
tokenizer.json."""

from __future__ import annotations

import base64
import hashlib
import pickle
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public as published
import tokenizers

from crayon_hf import DelegatedWarning, Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.formats import convert
from crayon_hf.formats import tiktoken as conversion
from crayon_hf.formats.export import to_tiktoken
from crayon_hf.formats.tiktoken import read_ranks, write_ranks
from crayon_hf.tiktoken.load import load_tiktoken_bpe
from tests.support.reference_impl import KIMI_PATTERN

SPECIALS = {"<|end|>": 2500, "<|start|>": 2600}
PATTERNS = {
    "r50k": conversion.R50K_PATTERN,
    "cl100k": conversion.CL100K_PATTERN,
    "o200k": conversion.O200K_PATTERN,
    "qwen": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "kimi": KIMI_PATTERN,
}
ODD_PATTERN = r"[aeiou]+|[^aeiou]+"
TEXTS = (
    "",
    "Hello, world! It's 1234567 o'clock, WE'LL SEE; I'LL don'T",
    "a<|end|>b <|start|><|end|> <|en",
    "  leading and trailing   \n\n\r\n  x\t\t\n",
    "naïve Zoë 日本語のテキスト 🙂👩\u200d👩 مرحبا \x00\u200b e\u0301",
    "def f(x):\n    return {'a': [1, 2, 3]}  # camelCase HTTPServer\n" * 3,
    " " * 100 + "x" * 300,
)
SURROGATES = ("a\ud800b", "\udfff", "\ud83d\ude42 pair", "\ude42\ud83d")


@pytest.fixture(scope="module")
def rank_file(ranks, vocabularies) -> Path:
    path = vocabularies / "small.tiktoken"
    path.write_bytes(write_ranks(ranks))
    return path


def reference_of(ranks, pattern: str, specials: dict[str, int]) -> tiktoken.Encoding:
    return tiktoken.Encoding("reference", pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)


def check_against(ours: Tokenizer, reference: tiktoken.Encoding, texts) -> None:
    for text in texts:
        expected = reference.encode(text, allowed_special="all")
        assert ours.encode(text).ids == expected, text
        assert ours.decode(expected, skip_special_tokens=False) == reference.decode(expected)
        assert ours.decode_bytes(expected) == reference.decode_bytes(expected)
    batch = reference.encode_batch(list(texts), allowed_special="all")
    assert [encoding.ids for encoding in ours.encode_batch(list(texts))] == batch
    ids, splits = ours.encode_ragged(list(texts))
    assert [ids[a:b].tolist() for a, b in pairwise(splits)] == batch
    assert ours.count_tokens(list(texts)) == [len(row) for row in batch]
    ours.encode_special_tokens = True
    assert [ours.encode(text).ids for text in texts] == reference.encode_ordinary_batch(list(texts))
    ours.encode_special_tokens = False


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_small_rank_file(rank_file, ranks, pattern, tmp_path):
    """A rank file gives tiktoken's ids when opened, saved and pickled, and as a tokenizer.json in stock tokenizers.
    Exporting it gives its ranks again."""
    ours = Tokenizer.from_tiktoken(rank_file, pattern=pattern, special_tokens=SPECIALS)
    reference = reference_of(ranks, pattern, SPECIALS)
    check_against(ours, reference, [*TEXTS, *SURROGATES])
    ours.save(tmp_path / "x.dat")
    for twin in (ours, Tokenizer.from_file(tmp_path / "x.dat"), pickle.loads(pickle.dumps(ours))):
        assert (twin.engine, twin.engine_report()["reference"]) == ("native", "tiktoken")
        assert twin.encode("a\ud800b").ids == reference.encode("a\ufffdb")
    stock = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    for text in TEXTS:
        expected = reference.encode(text, allowed_special="all")
        assert stock.encode(text).ids == expected
        assert stock.decode(expected, skip_special_tokens=False) == reference.decode(expected)
    assert stock.token_to_id("<|start|>") == SPECIALS["<|start|>"]
    back = to_tiktoken(Tokenizer.from_file(tmp_path / "x.json"))
    assert (read_ranks(back.data), back.special_tokens) == (ranks, SPECIALS)
    encoding = reference_of(ranks, back.pattern, SPECIALS)
    assert encoding.encode_ordinary_batch(list(TEXTS)) == reference.encode_ordinary_batch(list(TEXTS))


# -- delegated


def test_odd_pattern_is_delegated(rank_file, ranks):
    with pytest.warns(DelegatedWarning, match="tiktoken") as caught:
        ours = Tokenizer.from_tiktoken(rank_file, pattern=ODD_PATTERN, special_tokens=SPECIALS)
    assert caught[0].filename == __file__
    check_against(ours, reference_of(ranks, ODD_PATTERN, SPECIALS), [*TEXTS, *SURROGATES])
    assert ours.engine == "delegated"
    assert ours.engine_report()["reference"] == "tiktoken"


def test_delegated_interface(rank_file, ranks):
    native = Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["r50k"], special_tokens=SPECIALS)
    with pytest.warns(DelegatedWarning):
        # An equivalent pattern in an unusual spelling.
        ours = Tokenizer.from_tiktoken(rank_file, pattern=f"(?:{PATTERNS['r50k']})", special_tokens=SPECIALS)
    assert ours.engine == "delegated"
    for text in TEXTS:
        mine, wanted = ours.encode(text), native.encode(text)
        for field in ("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "sequence_ids"):
            assert getattr(mine, field) == getattr(wanted, field), (field, text)
    for ask in (
        lambda tokenizer: (tokenizer.get_vocab(), tokenizer.get_vocab_size(), tokenizer.encode_bytes(b"\xff\x00abc")),
        lambda tokenizer: [tokenizer.token_to_id("<|end|>"), *map(tokenizer.id_to_token, (300, 2500, 2501))],
        lambda tokenizer: list(map(repr, tokenizer.get_added_tokens_decoder().values())),
        lambda tokenizer: pickle.loads(pickle.dumps(tokenizer)).encode(TEXTS[1]).ids,
    ):
        assert ask(ours) == ask(native)
    with pytest.raises(UnsupportedError):
        ours.to_str()
    with pytest.raises(TypeError, match="item 1"):
        ours.encode_batch(["a", 5])


@pytest.mark.parametrize("special", ["pad", "|||", "Ġthe", "   "])
def test_special_token_that_text_could_give_is_delegated(rank_file, ranks, special):
    specials = {special: 2500}
    with pytest.warns(DelegatedWarning, match="special token"):
        ours = Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["r50k"], special_tokens=specials)
    check_against(ours, reference_of(ranks, PATTERNS["r50k"], specials), [f"a{special}b {special}", "the pad ||| x"])


# -- errors


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"IQ== 0\nIg==\n", "line 2"),
        (b"IQ== zero\n", "line 1"),
        (b"I 0\n", "line 1"),
        (b"IQ== -1\n", "negative"),
        (b"= 0\n", "byte"),  # an empty token
        (b"= 0\n= 1\n", "line 2.*repeats"),
        (b"IQ== 0\nIQ== 1\n", "line 2.*repeats"),
        (b"IQ== 0\nIg== 0\n", "the same rank to two tokens"),
        (b"IQ== 0\nIg== 1\n", "byte"),  # most single bytes are missing
        (b"".join(base64.b64encode(bytes([i])) + b" %d\n" % (i or 1 << 63) for i in range(256)), "too large"),
        (b"\x00\xff\n", "line 1"),
    ],
)
def test_malformed_rank_file(content, message, tmp_path):
    path = tmp_path / "x.tiktoken"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message):
        Tokenizer.from_tiktoken(path, pattern=PATTERNS["r50k"])


def test_a_file_with_an_empty_token(rank_file, ranks, tmp_path):
    """Whisper's multilingual.tiktoken has an empty token: a line with "=" and a rank."""
    empty = len(ranks)
    specials = {"<|end|>": empty + 1}
    path = tmp_path / "multilingual.tiktoken"
    path.write_bytes(rank_file.read_bytes() + b"= %d\n" % empty)
    facts = {"pattern": PATTERNS["r50k"], "special_tokens": specials}
    ours = Tokenizer.from_tiktoken(path, **facts)
    assert ours.engine_report()["engine"] == "native"
    assert load_tiktoken_bpe(str(path)) == read_ranks(path.read_bytes()) == {**ranks, b"": empty}
    check_against(ours, reference_of({**ranks, b"": empty}, PATTERNS["r50k"], specials), TEXTS)
    assert (ours.decode([empty]), ours.token_to_id("")) == ("", empty)
    converted = convert(path, **facts)
    assert to_tiktoken(converted).data == path.read_bytes()
    stock = tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    assert [stock.encode(text).ids for text in TEXTS] == [ours.encode(text).ids for text in TEXTS]


@pytest.mark.parametrize(
    "specials", [{"<|a|>": 5}, {"<|a|>": -1}, {"<|a|>": "7"}, {"": 5000}, {"<|a|>": 9, "<|b|>": 9}, {"<|x|>": 1 << 64}]
)
def test_impossible_special_tokens(rank_file, specials):
    with pytest.raises(VocabularyError, match=r"special token|too large"):
        Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["r50k"], special_tokens=specials)


# -- the published encodings


def test_facts_are_those_of_tiktoken(monkeypatch):
    asked = []

    def load(address, expected_hash):
        asked.append((address, expected_hash))
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", load)
    names = [name for name in published.ENCODING_CONSTRUCTORS if name != "gpt2"]  # gpt2 is r50k_base in an older form
    assert sorted(names) == sorted(name for name in conversion.KNOWN_ENCODINGS if name != "gpt2")
    for name in names:
        facts = published.ENCODING_CONSTRUCTORS[name]()
        ours = conversion.KNOWN_ENCODINGS[name]
        assert ours.pattern == facts["pat_str"]
        assert ours.special_tokens == facts["special_tokens"]
        address, digest = asked.pop()
        assert conversion.KNOWN_FILES[ours.file].sha256 == digest
        assert conversion.KNOWN_FILES[ours.file].cache_name == hashlib.sha1(address.encode()).hexdigest()
    assert conversion.KNOWN_ENCODINGS["gpt2"] == conversion.KNOWN_ENCODINGS["r50k_base"]


def test_name_without_a_file_or_tiktoken(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tiktoken_ext.openai_public", None)
    with pytest.raises(ImportError, match=r"cl100k_base.*tiktoken"):
        Tokenizer.from_tiktoken("cl100k_base")


@pytest.mark.parametrize("name", ["r50k_base", "gpt2", "cl100k_base", "o200k_base"])
def test_published_encoding(name, shared):
    facts = conversion.KNOWN_ENCODINGS[name]
    path = shared / "vocab" / facts.file / f"{facts.file}.tiktoken"
    ranks = read_ranks(path.read_bytes())
    assert len(ranks) == conversion.KNOWN_FILES[facts.file].tokens
    ours = Tokenizer.from_tiktoken(path) if name == facts.file else Tokenizer.from_tiktoken(path, name=name)
    assert ours.engine == "native"
    texts = [*TEXTS, "".join(facts.special_tokens), "a<|endoftext|>b<|fim_prefix|>c<|start|>user<|message|>x<|end|>"]
    check_against(ours, reference_of(ranks, facts.pattern, facts.special_tokens), texts)
