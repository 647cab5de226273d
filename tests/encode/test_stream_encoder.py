"""`StreamEncoder` encodes a text through moving windows. For any windows, ids and offsets are those of the whole
text."""

from __future__ import annotations

import functools
import itertools
import random
import threading
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import InvalidUtf8Error, Tokenizer, VocabularyError, _core
from parity.components.cases import assemble, random_case, single_cases
from parity.components.charsmap import precompiled
from tests.support import encode_shapes, reference_impl
from tests.support.streams import PIECES, assert_streams_alike, streamed, whole
from tests.support.version_2_files import WORDS, write_version_2

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
LLAMA = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    ],
}
ALBERT = [
    {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
    {"type": "NFKD"},
    {"type": "StripAccents"},
    {"type": "Lowercase"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
]
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
SPLIT_WORDS = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]}
GEMMA = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
CHARSMAP = precompiled({"\u33c2": "h."})
OWN_PATTERN = {"type": "Split", "pattern": {"Regex": "[aeiou]+"}, "behavior": "Isolated", "invert": False}

FAMILIES = ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken")


def _first(metaspace: dict[str, Any]) -> dict[str, Any]:
    return {**metaspace, "prepend_scheme": "first"}


TEXT_SHAPES: dict[str, dict[str, Any]] = {
    "llama2": assemble("bpe-spaces, byte_fallback", normalizer=LLAMA),
    "gemma": assemble("bpe-spaces, byte_fallback", normalizer=SPACES, pre_tokenizer=GEMMA),
    "mistral": assemble("bpe-spaces, byte_fallback", pre_tokenizer={**_first(METASPACE), "split": False}),
    "t5": assemble("unigram", pre_tokenizer=SPLIT_WORDS),
    "albert": assemble(
        "unigram, byte_fallback", normalizer={"type": "Sequence", "normalizers": ALBERT}, pre_tokenizer=METASPACE
    ),
    "bert": assemble(
        "wordpiece", normalizer={**BERT, "strip_accents": None}, pre_tokenizer={"type": "BertPreTokenizer"}
    ),
    "first": assemble("unigram, byte_fallback", pre_tokenizer=_first(METASPACE)),
    "charsmap": assemble("unigram", normalizer=CHARSMAP, pre_tokenizer={"type": "BertPreTokenizer"}),
}
"""Small vocabularies with text tables, each like a published type."""


@functools.cache
def engine_of(shape: str) -> _core.Engine:
    """The engine of the small vocabulary `shape`: one of TEXT_SHAPES, or one of encode_shapes with byte tables."""
    if shape in TEXT_SHAPES:
        return reference_impl.open_engine(TEXT_SHAPES[shape])
    return reference_impl.open_engine(encode_shapes.vocabulary(shape))


def text_of(rng: random.Random, pieces: int) -> str:
    pool = PIECES if rng.random() < 0.6 else rng.sample(PIECES, 4)
    return "".join(rng.choice(pool) for _ in range(pieces))


A, B = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
TWICE = {"type": "TemplateProcessing", "single": [A, A], "pair": [A, B], "special_tokens": {}}


# -- every kind of tokenizer


@pytest.mark.parametrize("shape", [*encode_shapes.SHAPES, *TEXT_SHAPES])
def test_windows_do_not_show(shape: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=25),
        st.sampled_from([1, 2, 3, 5, 8, 17, 64]),
        st.booleans(),
        st.booleans(),
    )
    def check(pieces: list[str], window: int, special: bool, offsets: bool) -> None:
        assert_streams_alike(engine_of(shape), "".join(pieces), window, special, offsets)

    check()


COMPONENTS = [case for case in single_cases() if not case.name.startswith("decoder/")]
COMPONENTS = [case for case in COMPONENTS if zlib.crc32(case.name.encode()) % 4 == 0]
COMPONENTS += [random_case(seed) for seed in range(50)]


@pytest.mark.parametrize("part", range(4))
def test_every_component(part: int) -> None:
    rng = random.Random(part)
    tried = 0
    for case in COMPONENTS[part::4]:
        if not case.document["model"].get("dropout") and not case.delegated:
            tried += _check_case(case.json, rng, texts=4)
    assert tried > 60


def _check_case(document: str, rng: random.Random, texts: int) -> int:
    try:
        engine = reference_impl.open_engine(document)
    except VocabularyError:
        return 0  # the reference refuses it, too
    tried = 0
    for _ in range(texts):
        text, offsets = text_of(rng, rng.choice([3, 10, 30])), rng.random() < 0.6
        try:
            whole(engine, text, True, offsets)
        except ValueError:
            continue  # no tokenizer can encode it
        assert_streams_alike(engine, text, rng.choice([1, 2, 3, 5, 8, 16, 40]), True, offsets)
        tried += 1
    return tried


# -- where seams are


@functools.cache
def _pairs_engine(family: str) -> tuple[_core.Engine, str]:
    """An engine that merges any two neighbouring bytes of some characters, so that ids show every border of a
    pretoken."""
    characters = "aZ\u4e2d\u01c51'sr \n\r\t/.\u0301"
    known = sorted(set(characters.encode()))
    merges = [(bytes([a]), bytes([b])) for a, b in itertools.product(known, known)]
    random.Random(1).shuffle(merges)
    split = {"type": "Split", "pattern": {"Regex": _core.canonical_pattern(family)}, "behavior": "Isolated"}
    steps = {"type": "Sequence", "pretokenizers": [{**split, "invert": False}, BYTE_LEVEL]}
    return reference_impl.open_engine(reference_impl.byte_level_document(merges, pre_tokenizer=steps)), characters


@pytest.mark.parametrize("family", FAMILIES)
def test_all_neighbours(family: str) -> None:
    engine, characters = _pairs_engine(family)
    cuts = 0
    for text in map("".join, itertools.product(characters, repeat=4)):
        data = text.encode()
        consumed, ids, _ = _core.StreamEncoder(engine).encode(data, 0, len(data), False)
        if consumed:
            cuts += 1
            rest = data[consumed:].decode()
            assert ids.tolist() + engine.encode_ids(rest) == engine.encode_ids(text), (text, consumed)
            assert ids.tolist() == engine.encode_ids(data[:consumed].decode())
    assert cuts > len(characters) ** 4 / 3


USUAL = [
    ("llama2", "one two three four five six "),
    ("llama2", "\u4e2d\u6587\u3002"),
    ("mistral", "one two three four five six "),
    ("gemma", "one\ntwo\tthree "),
    ("t5", "one\ntwo three\u3000four\t"),
    ("albert", "One Two  Three. "),
    ("bert", "one, two. \u4e2d\u6587\u4e2d"),
    ("bert", "\u4e2d\u6587\u3002"),
    ("first", "one two three "),
    ("charsmap", "t\u33c2, a t\u33c2."),
    ("qwen", "one two\u3002\u4e2d\u6587"),
    ("roberta", "one two three "),
    ("prefixed", "one two three "),
]
ENDLESS = ("\u4e2d" * 9 + "\u3002", "\u4e2d\n", "\u4e2d\u3002\n", "aZ.", "a\r\n", "'r1", "x\n\n\n\ty", "1")
"""Texts that make long pretokens if repeated. A pattern cuts these by counting, or at punctuation and line breaks."""


@pytest.mark.parametrize(("shape", "text"), [*USUAL, *itertools.product(FAMILIES, ENDLESS)])
def test_small_windows_are_enough(shape: str, text: str) -> None:
    if (shape, text) == ("gpt2", "1"):
        return  # its pattern does not count digits
    engine, window = (_pairs_engine(shape)[0], 128) if text in ENDLESS else (engine_of(shape), 60)
    data = (text * 100).encode()
    assert _core.StreamEncoder(engine).streams
    for offsets in (False, True):
        encoder = _core.StreamEncoder(engine, offsets=offsets)
        start = 0
        while start + window < len(data):
            consumed, _, _ = encoder.encode(data, start, start + window, False)
            assert consumed > 0
            start += consumed
        assert_streams_alike(engine, data.decode(), window, True, offsets)


@pytest.mark.parametrize(
    "document",
    [
        assemble("bpe-bytes", pre_tokenizer={"type": "Sequence", "pretokenizers": [OWN_PATTERN, BYTE_LEVEL]}),
        assemble("bpe-bytes", pre_tokenizer=BYTE_LEVEL),
        assemble("unigram", pre_tokenizer={**METASPACE, "split": False}),
        assemble("wordpiece", pre_tokenizer={"type": "FixedLength", "length": 3}),
        assemble("wordpiece", pre_tokenizer={"type": "WhitespaceSplit"}, post_processor=TWICE),
        assemble("bpe-words, suffix", pre_tokenizer=None),
        assemble(
            "wordpiece",
            pre_tokenizer={"type": "WhitespaceSplit"},
            normalizer={"type": "Replace", "pattern": {"Regex": "a b"}, "content": "c"},
        ),
    ],
)
def test_without_proof_there_are_no_seams(document: dict[str, Any]) -> None:
    engine = reference_impl.open_engine(document)
    encoder = _core.StreamEncoder(engine)
    data = b"one two. three\nfour " * 50
    assert not encoder.streams
    assert encoder.encode(data, 0, len(data) - 10, False)[0] == 0
    assert_streams_alike(engine, data.decode(), 100, True, True)


# -- invalid text


@pytest.mark.parametrize("window", [1, 3, 100])
@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe4\xb8", b"\xf0\x9f\x92", b"\xf4\x90\x80\x80", b"\x80"]
)
def test_invalid_bytes(bad: bytes, window: int) -> None:
    engine = engine_of("gpt2")
    good = "caf\u00e9 \U0001f600 one ".encode()
    for after in (b"", b"x", b" two three"):
        with pytest.raises(InvalidUtf8Error, match=f"offset {len(good)}$"):
            streamed(engine, good + bad + after, window, False, False)


# -- the interface


@pytest.mark.concurrency
def test_one_thread_at_a_time() -> None:
    engine = engine_of("gpt2")
    encoder = _core.StreamEncoder(engine, offsets=True)
    data = b"one two three " * 1_000_000
    refused = False
    for _ in range(100):  # a busy machine may run this thread again only after the worker's end
        worker = threading.Thread(target=encoder.encode, args=(data, 0, len(data), False))
        worker.start()
        while worker.is_alive() and not refused:
            try:
                encoder.encode(b"", 0, 0, False)
            except RuntimeError as error:
                refused = "another thread" in str(error)
        worker.join()
        if refused:
            break
    assert refused


# -- the memory of results


def test_living_arrays_share_no_memory() -> None:
    encoder = _core.StreamEncoder(engine_of("gpt2"), offsets=True)
    rng = random.Random(3)
    data = "".join(rng.choice(PIECES) + " " for _ in range(20_000)).encode()
    kept: list[tuple[Any, Any]] = []
    start, reused, seen = 0, 0, set()
    while start < len(data):
        end = min(len(data), start + rng.randrange(200, 3000))
        consumed, ids, ranges = encoder.encode(data, start, end, end == len(data))
        start += consumed
        if not consumed:
            continue
        assert ranges is not None
        arrays = (ids, ids[3:], ranges, ranges[:, 1])
        for array in arrays:
            assert not any(np.shares_memory(array, other) for other, _ in kept)
        reused += ids.ctypes.data in seen
        seen.add(ids.ctypes.data)
        # Sometimes the whole array, sometimes only a view of it.
        kept += [(array, array.copy()) for array in arrays if rng.random() < 0.3]
        del ids, ranges, arrays
        while len(kept) > 40:
            array, copy = kept.pop(rng.randrange(len(kept)))
            assert (array == copy).all()
    for array, copy in kept:
        assert (array == copy).all()
    assert reused > 10


# -- greedy engines, and tables of longest match

SHORT = [word for word in WORDS if len(word) < 20]
"""Short tokens, so that windows of about ten bytes contain places where a text can be cut without changing ids."""

BYTE_SHAPES = ("gpt2", "llama3", "qwen", "roberta", "prefixed", "whole")


def engine(tokenizer: Tokenizer) -> _core.Engine:
    made = tokenizer._current_engine()
    assert isinstance(made, _core.Engine)
    return made


@pytest.fixture(scope="module")
def version_2(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer.from_file(write_version_2(tmp_path_factory.mktemp("version-2") / "words.dat", SHORT))


@pytest.mark.parametrize("shape", [*BYTE_SHAPES, *TEXT_SHAPES])
def test_greedy_windows_do_not_show(shape: str) -> None:
    rng = random.Random(shape)
    greedy = engine_of(shape).greedy()
    for number in range(120):
        text = text_of(rng, rng.randrange(40))
        assert_streams_alike(greedy, text, rng.choice([1, 2, 3, 5, 8, 16, 40]), number % 2 == 0, number % 3 == 0)


ADDED = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["<s>", "<s>the", " a", "aa", "\u4e2d", "'s", "x"]),
        **{flag: st.booleans() for flag in ("single_word", "lstrip", "rstrip", "normalized", "special")},
    }
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(ADDED, max_size=3, unique_by=lambda token: token["content"]),
    st.lists(st.sampled_from([*PIECES, *SHORT]), max_size=30).map("".join),
    st.integers(1, 24),
    st.booleans(),
)
def test_among_added_tokens(
    version_2: Tokenizer, tokens: list[dict[str, Any]], text: str, window: int, offsets: bool
) -> None:
    whole = engine(version_2)
    first = whole.get_vocab_size() + 600
    free = [token for token in tokens if whole.token_to_id(token["content"]) is None]
    added = [token | {"id": first + number} for number, token in enumerate(free)]
    for matching in (whole, whole.greedy(), whole.greedy((len(SHORT), 1))):
        assert_streams_alike(matching.with_components(whole.components, added), text, window, False, offsets)
