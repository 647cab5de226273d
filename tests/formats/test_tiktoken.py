"""Rank files: the ids of tiktoken, natively, and from the converted tokenizer.json in stock tokenizers."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
import tiktoken
import tiktoken_ext.openai_public as published
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from crayon_hf import DelegatedWarning, Tokenizer, UnsupportedError, VocabularyError, _core
from crayon_hf.formats import tiktoken as conversion
from crayon_hf.formats.converted import written
from crayon_hf.formats.export import to_tiktoken
from crayon_hf.formats.tiktoken import read_ranks
from crayon_hf.tiktoken import Encoding
from crayon_hf.util.byte_level import BYTE_LEVEL, spell
from tests.support.reference_impl import KIMI_PATTERN
from tests.support.steps import steps_of

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


@pytest.fixture(scope="module")
def ranks(gpt2_like: Path) -> dict[bytes, int]:
    """The tokens of a small vocabulary, single bytes first, as rank files have them."""
    back = {char: byte for byte, char in BYTE_LEVEL.items()}
    model = json.loads(gpt2_like.read_bytes())["model"]
    merged = ["".join(pair) for pair in model["merges"]]
    tokens = [bytes([byte]) for byte in range(256)] + [bytes(back[ord(char)] for char in token) for token in merged]
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}


@pytest.fixture(scope="module")
def rank_file(ranks, vocabularies) -> Path:
    path = vocabularies / "small.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))
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
def test_small_rank_file(rank_file, ranks, pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = Tokenizer.from_tiktoken(rank_file, pattern=pattern, special_tokens=SPECIALS)
    assert ours.engine == "native"
    assert ours.engine_report()["reference"] == "tiktoken"
    check_against(ours, reference_of(ranks, pattern, SPECIALS), TEXTS)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_converted_json_in_stock_tokenizers(rank_file, ranks, pattern, tmp_path):
    Tokenizer.from_tiktoken(rank_file, pattern=pattern, special_tokens=SPECIALS).save(tmp_path / "x.dat")
    reference = reference_of(ranks, pattern, SPECIALS)
    stock = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    for text in TEXTS:
        expected = reference.encode(text, allowed_special="all")
        assert stock.encode(text).ids == expected
        assert stock.decode(expected, skip_special_tokens=False) == reference.decode(expected)
    assert stock.token_to_id("<|start|>") == SPECIALS["<|start|>"]
    again = Tokenizer.from_file(tmp_path / "x.json")
    assert [again.encode(text).ids for text in TEXTS] == [stock.encode(text).ids for text in TEXTS]
    back = to_tiktoken(again)
    assert (read_ranks(back.data), back.special_tokens) == (ranks, SPECIALS)
    encoding = reference_of(ranks, back.pattern, SPECIALS)
    assert encoding.encode_ordinary_batch(list(TEXTS)) == reference.encode_ordinary_batch(list(TEXTS))


def test_saved_cartridge_is_still_tiktokens(rank_file, tmp_path):
    ours = Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["cl100k"], special_tokens=SPECIALS, name="mine")
    ours.save(tmp_path / "x.dat")
    for twin in (Tokenizer.from_file(tmp_path / "x.dat"), pickle.loads(pickle.dumps(ours))):
        assert twin.engine_report()["reference"] == "tiktoken"
        assert twin.encode("a\ud800b").ids == ours.encode("a\ufffdb").ids
        assert json.loads(twin._engine.metadata)["name"] == "mine"


def test_compiled_once(rank_file, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path))

    def made():
        return {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.*")}

    Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["cl100k"])
    first = made()
    assert {Path(name).suffix for name in first} == {".dat", ".json"}
    Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["cl100k"])
    assert made() == first
    other = Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["cl100k"], special_tokens=SPECIALS)
    assert len(made()) == 4
    assert other.encode("<|end|>").ids == [2500]
    next(tmp_path.glob("*.json")).unlink()
    assert Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["cl100k"]).to_str()
    assert Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["cl100k"], special_tokens=SPECIALS).to_str()
    assert len(made()) == 4


def test_surrogates_as_tiktoken(rank_file, ranks):
    pattern = PATTERNS["cl100k"]
    native = Tokenizer.from_tiktoken(rank_file, pattern=pattern)
    with pytest.warns(DelegatedWarning):
        delegated = Tokenizer.from_tiktoken(rank_file, pattern=pattern + "|x(?=y)")
    reference = reference_of(ranks, pattern, {})
    for text in ("a\ud800b", "\udfff", "\ud83d\ude42 pair", "\ude42\ud83d"):
        for ours in (native, delegated):
            assert ours.encode(text).ids == reference.encode(text)
            assert ours.encode_batch([text])[0].ids == reference.encode(text)
            assert ours.encode_ragged([text])[0].tolist() == reference.encode(text)


# -- delegated


def test_odd_pattern_is_delegated(rank_file, ranks):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = Tokenizer.from_tiktoken(rank_file, pattern=ODD_PATTERN, special_tokens=SPECIALS)
        check_against(ours, reference_of(ranks, ODD_PATTERN, SPECIALS), TEXTS)
    (warning,) = caught
    assert warning.category is DelegatedWarning
    assert warning.filename == __file__
    assert ODD_PATTERN in str(warning.message)
    assert "tiktoken" in str(warning.message)
    assert ours.engine == "delegated"
    assert ours.engine_report()["reference"] == "tiktoken"


def test_delegated_interface(rank_file, ranks):
    native = Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["r50k"], special_tokens=SPECIALS)
    with pytest.warns(DelegatedWarning):
        # The same language, spelled as nobody does.
        ours = Tokenizer.from_tiktoken(rank_file, pattern=f"(?:{PATTERNS['r50k']})", special_tokens=SPECIALS)
    assert ours.engine == "delegated"
    for text in TEXTS:
        mine, wanted = ours.encode(text), native.encode(text)
        for field in ("ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "sequence_ids"):
            assert getattr(mine, field) == getattr(wanted, field), (field, text)
        assert len(mine) == len(wanted)
    assert ours.get_vocab() == native.get_vocab()
    assert ours.get_vocab_size() == native.get_vocab_size() == len(ranks) + 2
    assert ours.token_to_id("<|end|>") == native.token_to_id("<|end|>") == 2500
    assert ours.id_to_token(300) == native.id_to_token(300)
    assert ours.id_to_token(2501) is native.id_to_token(2501) is None
    assert ours.encode_bytes(b"\xff\x00abc") == native.encode_bytes(b"\xff\x00abc")
    assert list(map(repr, ours.get_added_tokens_decoder().values())) == list(
        map(repr, native.get_added_tokens_decoder().values())
    )
    assert pickle.loads(pickle.dumps(ours)).encode(TEXTS[1]).ids == native.encode(TEXTS[1]).ids
    with pytest.raises(UnsupportedError):
        ours.to_str()
    with pytest.raises(TypeError, match="item 1 of the batch is int"):
        ours.encode_batch(["a", 5])
    with pytest.raises(TypeError, match="encode_bytes"):
        ours.encode(b"a")


def test_delegation_without_tiktoken(rank_file):
    program = (
        "import sys; sys.modules['tiktoken'] = None\n"
        "import crayon_hf\n"
        "try:\n"
        f"    crayon_hf.Tokenizer.from_tiktoken({str(rank_file)!r}, pattern={ODD_PATTERN!r})\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "python -m pip install '.[tiktoken]'" in done.stdout
    assert ODD_PATTERN in done.stdout


@pytest.mark.parametrize("special", ["pad", "|||", "Ġthe", "   "])
def test_special_token_that_text_could_give_is_delegated(rank_file, ranks, special):
    specials = {special: 2500}
    with pytest.warns(DelegatedWarning, match="special token"):
        ours = Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["r50k"], special_tokens=specials)
    check_against(ours, reference_of(ranks, PATTERNS["r50k"], specials), [f"a{special}b {special}", "the pad ||| x"])


# -- what is wrong


def test_unknown_file_needs_a_pattern(rank_file):
    with pytest.raises(VocabularyError, match=r"pattern=.*name="):
        Tokenizer.from_tiktoken(rank_file)
    with pytest.raises(VocabularyError, match="'nobody' is not a known encoding"):
        Tokenizer.from_tiktoken(rank_file, name="nobody")


def test_name_gives_the_pattern(rank_file, ranks):
    ours = Tokenizer.from_tiktoken(rank_file, name="r50k_base", special_tokens=SPECIALS)
    check_against(ours, reference_of(ranks, PATTERNS["r50k"], SPECIALS), TEXTS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"IQ== 0\nIg==\n", "line 2"),
        (b"IQ== zero\n", "line 1"),
        (b"I 0\n", "line 1"),
        (b"IQ== -1\n", "negative"),
        (b"= 0\n", "line 1"),
        (b"IQ== 0\nIQ== 1\n", "line 2.*repeats"),
        (b"IQ== 0\nIg== 0\n", "the same rank to two tokens"),
        (b"IQ== 0\nIg== 1\n", "byte"),  # most single bytes are missing
        (b"\x00\xff\n", "line 1"),
    ],
)
def test_malformed_rank_file(content, message, tmp_path):
    path = tmp_path / "x.tiktoken"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=message):
        Tokenizer.from_tiktoken(path, pattern=PATTERNS["r50k"])


@pytest.mark.parametrize(
    "specials", [{"<|a|>": 5}, {"<|a|>": -1}, {"<|a|>": "7"}, {"": 5000}, {"<|a|>": 9, "<|b|>": 9}]
)
def test_impossible_special_tokens(rank_file, specials):
    with pytest.raises(VocabularyError, match="special token"):
        Tokenizer.from_tiktoken(rank_file, pattern=PATTERNS["r50k"], special_tokens=specials)


TOKENS = st.binary(max_size=5)
ODD_LINES = st.sampled_from(
    b"|YQ== 1\r|YQ==  1|YQ== +1|YQ== 01|YQ== 1_0|YQ== -1|YQ==\t1|YQ 1|Y!Q== 1|YR== 1|YQ== 9223372036854775808|YQ== "
    b"| 1|YQ==|YWJj=A== 3|= 1|YQ== 1 2|YWI= 0".split(b"|")
)
LINES = st.builds(lambda token, rank: base64.b64encode(token) + b" %d" % rank, TOKENS, st.integers(0, 1 << 63))


def plainly(call: Callable[[], object]) -> object:
    """The result, or what the error says, of the way without the engine's module."""
    with mock.patch.multiple(_core, read_rank_file=lambda _: None, rank_file=lambda *_: None):
        return outcome(call)


def outcome(call: Callable[[], object]) -> object:
    try:
        result = call()
    except (VocabularyError, TypeError) as error:
        return type(error), str(error)
    return list(result.items()) if isinstance(result, dict) else result


@given(st.lists(LINES | ODD_LINES, max_size=6), st.sampled_from([b"\n", b"\n\n", b"\r\n"]), st.booleans())
def test_rank_files_are_read_as_the_plain_way_reads_them(lines, between, is_ended):
    data = between.join(lines) + (b"\n" if is_ended else b"")
    assert outcome(lambda: read_ranks(data)) == plainly(lambda: read_ranks(data))


@given(st.dictionaries(TOKENS | st.text(max_size=2), st.integers(-(1 << 70), 1 << 70) | st.booleans(), max_size=5))
def test_rank_files_are_written_as_the_plain_way_writes_them(ranks):
    assert outcome(lambda: conversion.write_ranks(ranks)) == plainly(lambda: conversion.write_ranks(ranks))


@given(st.dictionaries(st.binary(min_size=2, max_size=4), st.none(), max_size=30), st.randoms(use_true_random=False))
def test_a_vocabulary_is_written_as_the_plain_way_writes_it(tokens, random):
    order = [*(bytes([byte]) for byte in range(256)), *tokens]
    random.shuffle(order)
    ids = sorted(random.sample(range(600), len(order)))
    free = sorted(set(range(700)) - set(ids))
    specials = {f'<|"{id}|>': random.choice(free) for id in range(random.randrange(5))}
    facts = conversion.RankFile("x", conversion.R50K_PATTERN, specials)
    text = conversion.tokenizer_json(dict(zip(order, ids, strict=True)), facts)
    spelled = [spell(token) for token in order]
    vocab = dict(zip(spelled, ids, strict=True)) | dict(sorted(specials.items(), key=lambda item: item[1]))
    document = json.loads(text)
    document["model"] |= {
        "vocab": dict(sorted(vocab.items(), key=lambda item: item[1])),
        "merges": [(spelled[left], spelled[right]) for left, right, _ in _core.merges_from_ranks(order)],
    }
    assert text == written(document)


def test_no_step_for_each_rank(ranks):
    parts = {"pat_str": conversion.R50K_PATTERN, "mergeable_ranks": ranks, "special_tokens": {"<|end|>": len(ranks)}}
    Encoding("first", **parts)  # imports what it needs
    # Two thousand for the cache and its files; it was ten for each rank.
    assert steps_of(lambda: Encoding("second", **parts)) < 2 * len(ranks)


def test_what_is_delegated_is_not_merged_first(ranks):
    parts = {"pat_str": ODD_PATTERN, "mergeable_ranks": ranks, "special_tokens": {"<|end|>": len(ranks)}}
    with warnings.catch_warnings(), mock.patch.object(_core, "vocabulary_of_ranks", side_effect=AssertionError):
        warnings.simplefilter("ignore", DelegatedWarning)
        made = Encoding("first", **parts)
        assert steps_of(lambda: Encoding("second", **parts)) < 2 * len(ranks)
    reference = reference_of(ranks, ODD_PATTERN, parts["special_tokens"])
    assert made.encode(TEXTS[1]) == reference.encode(TEXTS[1])
    missing = {token: rank for token, rank in ranks.items() if token != b"a"}
    facts = conversion.RankFile("x", ODD_PATTERN, {})
    with pytest.raises(VocabularyError, match="no token is the single byte 97"):
        conversion.tokenizer_json(missing, facts)


def test_ids_that_are_too_large_are_refused(ranks):
    facts = conversion.RankFile("x", conversion.R50K_PATTERN, {})
    with pytest.raises(VocabularyError, match=f"an id of the rank file, {1 << 63}, is too large"):
        conversion.tokenizer_json({**ranks, b"\xff\xff\xff": 1 << 63}, facts)
    with pytest.raises(VocabularyError, match=f"an id of the rank file, {1 << 64}, is too large"):
        conversion.tokenizer_json(ranks, facts._replace(special_tokens={"<|x|>": 1 << 64}))


def test_ranks_there_and_back(rank_file):
    data = rank_file.read_bytes()
    assert conversion.write_ranks(conversion.read_ranks(data)) == data


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


def test_name_without_a_file_or_tiktoken(tmp_path):
    program = (
        "import sys; sys.modules['tiktoken'] = None\n"
        "import crayon_hf\n"
        "try:\n"
        "    crayon_hf.Tokenizer.from_tiktoken('cl100k_base')\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    environment = os.environ | {"TIKTOKEN_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert "cl100k_base" in done.stdout
    assert "fetching it needs tiktoken, which" in done.stdout


@pytest.fixture(scope="module")
def p50k_file(shared, tmp_path_factory) -> Path:
    """p50k_base is r50k_base and 24 runs of spaces."""
    data = (shared / "vocab" / "r50k_base" / "r50k_base.tiktoken").read_bytes()
    spaces = (base64.b64encode(b" " * n) + b" %d\n" % (50255 + n) for n in range(2, 26))
    path = tmp_path_factory.mktemp("p50k") / "p50k"
    path.write_bytes(data + b"".join(spaces))
    assert hashlib.sha256(path.read_bytes()).hexdigest() == conversion.KNOWN_FILES["p50k_base"].sha256
    return path


@pytest.fixture(params=["r50k_base", "gpt2", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base"], scope="module")
def published_file(request, shared, p50k_file) -> tuple[str, Path]:
    file = conversion.KNOWN_ENCODINGS[request.param].file
    path = p50k_file if file == "p50k_base" else shared / "vocab" / file / f"{file}.tiktoken"
    return request.param, path


def test_published_encoding(published_file):
    name, path = published_file
    facts = conversion.KNOWN_ENCODINGS[name]
    ranks = conversion.read_ranks(path.read_bytes())
    assert len(ranks) == conversion.KNOWN_FILES[facts.file].tokens
    ours = Tokenizer.from_tiktoken(path) if name == facts.file else Tokenizer.from_tiktoken(path, name=name)
    assert ours.engine == "native"
    texts = [*TEXTS, "".join(facts.special_tokens), "a<|endoftext|>b<|fim_prefix|>c<|start|>user<|message|>x<|end|>"]
    check_against(ours, reference_of(ranks, facts.pattern, facts.special_tokens), texts)
    stock = tokenizers.Tokenizer.from_str(ours.to_str())
    for text in texts:
        assert stock.encode(text).ids == ours.encode(text).ids


def test_harmony_has_an_id_with_two_names(shared):
    """A tokenizer.json cannot say that, so that tiktoken does it."""
    with pytest.warns(DelegatedWarning, match="200018"):
        ours = Tokenizer.from_tiktoken(shared / "vocab" / "o200k_base" / "o200k_base.tiktoken", name="o200k_harmony")
    assert ours.encode("<|start|>user<|message|><|endofprompt|><|reserved_200018|>").ids == [
        *(200006, 1428, 200008),
        *(200018, 200018),
    ]


def test_published_encoding_by_name(shared, tmp_path, monkeypatch):
    data = (shared / "vocab" / "r50k_base" / "r50k_base.tiktoken").read_bytes()
    (tmp_path / conversion.KNOWN_FILES["r50k_base"].cache_name).write_bytes(data)
    expected = Tokenizer.from_tiktoken(shared / "vocab" / "r50k_base" / "r50k_base.tiktoken").encode(TEXTS[1]).ids
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
        monkeypatch.setenv(variable, str(tmp_path))
        for name in ("r50k_base", "gpt2"):
            assert Tokenizer.from_tiktoken(name).encode(TEXTS[1]).ids == expected
    # What is there under that name and is not that file is not used.
    (tmp_path / conversion.KNOWN_FILES["r50k_base"].cache_name).write_bytes(data[:-10])
    assert conversion.find_published_file("r50k_base") is None


def test_published_file_under_a_wrong_name(shared):
    with pytest.raises(VocabularyError, match="rank file of r50k_base, not that of cl100k_base"):
        Tokenizer.from_tiktoken(shared / "vocab" / "r50k_base" / "r50k_base.tiktoken", name="cl100k_base")
