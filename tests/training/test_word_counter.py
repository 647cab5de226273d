"""Word counts for training equal those of ``tokenizers``, for any batches and numbers of threads."""

from __future__ import annotations

import functools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, trainers

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error
from tests.components.test_pre_tokenizers import GPT2, byte_level, metaspace, sequence, split
from tests.conftest import SENTENCES
from tests.encode.test_stream_encoder import LLAMA
from tests.support import reference_impl

BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
DIGITS = {"type": "Digits", "individual_digits": True}


def isolated(pattern: str) -> dict[str, Any]:
    return sequence(split("Regex", pattern, "Isolated", False), byte_level(False, False))


def family(name: str) -> dict[str, Any]:
    return isolated(_core.canonical_pattern(name))


# (normalizer, pre-tokenizer), over byte tables and over text tables
BYTES: dict[str, tuple[Any, Any]] = {
    "gpt2": (None, byte_level(False, True)),
    "prefix space": (None, byte_level(True, True)),
    "llama3": (None, family("llama3")),
    "qwen": ({"type": "NFC"}, family("qwen2")),
    "o200k": (None, family("o200k")),
    "whole": (None, byte_level(False, False)),
    "digits": (None, sequence(split("Regex", GPT2, "Isolated", False), DIGITS, byte_level(True, False))),
    "another pattern": ({"type": "NFKC"}, isolated(r"[a-z]+|\s|[^a-z\s]{1,2}")),
    "what is removed": (None, sequence(split("Regex", r"\d", "Removed", False), byte_level(False, True))),
}
TEXTS: dict[str, tuple[Any, Any]] = {
    "metaspace first": (None, metaspace("\u2581", "first", True)),
    "llama": (LLAMA, None),
    "t5": ({"type": "NFKC"}, sequence({"type": "WhitespaceSplit"}, metaspace("\u2581", "always", True))),
    "bert": (BERT | {"lowercase": True}, {"type": "BertPreTokenizer"}),
    "nothing": (None, None),
    "spelled": ({"type": "Lowercase"}, sequence(byte_level(False, True), {"type": "Punctuation"})),
}
ADDED = [("<s>", {"special": True}), ("<m>", {"lstrip": True}), ("crayon", {"single_word": True, "normalized": True})]


def document(normalizer: Any, pre_tokenizer: Any, *, on_bytes: bool, added: bool) -> reference_impl.Document:
    out = reference_impl.byte_level_document(normalizer=normalizer, pre_tokenizer=pre_tokenizer)
    if not on_bytes:
        out["model"] |= {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    if added:
        first = len(out["model"]["vocab"])
        out["added_tokens"] = [
            {"id": first + i, "content": content} | flags | more for i, (content, more) in enumerate(ADDED)
        ]
    return out


class Case:
    """A normalizer and a pre-tokenizer, with which words are counted by the engine, and by ``tokenizers`` and a
    Counter."""

    def __init__(self, parts: tuple[Any, Any], *, on_bytes: bool, added: bool = False) -> None:
        text = json.dumps(document(*parts, on_bytes=on_bytes, added=added))
        self.engine = reference_impl.open_engine(text)
        self.reference = Tokenizer.from_str(text)
        self.on_bytes = on_bytes

    def words(self, text: str) -> list[str]:
        normalizer, pre_tokenizer = self.reference.normalizer, self.reference.pre_tokenizer
        if normalizer is not None:
            text = normalizer.normalize_str(text)
        if pre_tokenizer is None:
            return [text] if text else []
        return [piece for piece, _ in pre_tokenizer.pre_tokenize_str(text) if piece]

    def counted(self, texts: Iterable[str]) -> Counter[str]:
        return Counter(word for text in texts for word in self.words(text))

    def counter(self, threads: int = 1) -> _core.WordCounter:
        return _core.WordCounter(self.engine, threads)


@functools.cache
def case(name: str) -> Case:
    return Case(BYTES[name], on_bytes=True) if name in BYTES else Case(TEXTS[name], on_bytes=False)


def spelled(counter: _core.WordCounter) -> Counter[str]:
    """Return the counter's words as ``tokenizers`` spells them, with their counts."""
    out: Counter[str] = Counter()
    words = counter.words()
    assert words == sorted(words)
    for text, count, is_raw in words:
        out[reference_impl.spell(text) if is_raw else text.decode()] += count
    assert counter.total == out.total()
    assert counter.unique == len(words)
    return out


NAMES = [*BYTES, *TEXTS]
EVERY = pytest.mark.parametrize("name", NAMES)
PIECES = [*"ab  ..'1\n\r\t", "é", "e\u0301", "漢字", "\u2581", "😀", "'ll", "ﬁ", "İ", "\x00", "x" * 20]
PIECES += [content for content, _ in ADDED]
HOSTILE = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=30).map(
    "".join
)


def lines_of(text: str) -> list[str]:
    """Split text into lines with their line endings, as the reference reads files."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


@EVERY
def test_prose(name: str) -> None:
    case_ = case(name)
    texts = [*SENTENCES, "", "\n", "a" * 15, "a" * 16, "a" * 17, "b" * 1000, "  ", *SENTENCES[:3]]
    expected = case_.counted(texts)
    counter = case_.counter()
    counter.add(texts)
    assert spelled(counter) == expected
    assert counter.bytes == sum(len(text.encode()) for text in texts)
    assert all(is_raw is case_.on_bytes for _, _, is_raw in counter.words())
    # Texts may be bytes, and counts of several calls add up.
    counter.add([text.encode() for text in texts])
    assert spelled(counter) == expected + expected


@pytest.mark.slow
@EVERY
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(HOSTILE, max_size=5))
def test_hostile_text(name: str, texts: list[str]) -> None:
    case_ = case(name)
    counter = case_.counter(2)
    counter.add(texts)
    assert spelled(counter) == case_.counted(texts)
    lines = case_.counter(2)
    data = "".join(texts)
    lines.add_lines(data.encode())
    assert spelled(lines) == case_.counted(lines_of(data))
    assert lines.bytes == len(data.encode())


# -- added tokens


def fed_to_trainers(tokenizer: Tokenizer, text: str) -> Counter[str]:
    """Return the words that a trainer of the reference counts in a text. The trainer keeps all frequent words."""
    counts: Counter[str] = Counter()
    learner = Tokenizer.from_str(tokenizer.to_str())
    for least in range(1, len(text) + 1):
        learner.model = models.WordLevel({}, "")
        trainer = trainers.WordLevelTrainer(show_progress=False, min_frequency=least, vocab_size=10**6)
        learner.train_from_iterator([text], trainer)
        words = learner.get_vocab(with_added_tokens=False)
        if not words:
            break
        counts.update(words.keys())
    return counts


@EVERY
@settings(max_examples=30, deadline=None)
@given(text=HOSTILE)
def test_added_tokens_are_words(name: str, text: str) -> None:
    case_ = with_added(name)
    counter = case_.counter()
    counter.add([text])
    assert spelled(counter) == fed_to_trainers(case_.reference, text)


@functools.cache
def with_added(name: str) -> Case:
    parts, on_bytes = (BYTES[name], True) if name in BYTES else (TEXTS[name], False)
    return Case(parts, on_bytes=on_bytes, added=True)


# -- texts and threads


@functools.cache
def large() -> str:
    """A text long enough to be cut for threads. Its parts have characters of one, two and four bytes in a str."""
    rng = random.Random(11)
    parts = [reference_impl.generated_text(rng, 400_000), *SENTENCES * 60, "x" * 40_000, " " * 20_000, "1" * 20_001]
    parts += [reference_impl.generated_text(rng, 100_000), "é\n" * 10_000, "crayon <s>  <m> " * 3_000]
    return "".join(parts)


@pytest.mark.slow
@EVERY
def test_large_texts_are_cut_where_words_end(name: str) -> None:
    case_ = case(name)
    text = large()
    whole = case_.counter()
    whole.add([text])
    assert spelled(whole) == case_.counted([text])
    for item in (text, text.encode()):
        counter = case_.counter(3)
        counter.add([item])
        assert counter.words() == whole.words()
        assert counter.bytes == whole.bytes == len(text.encode())
    of_lines = case_.counter(3)
    of_lines.add_lines(text.encode())
    assert spelled(of_lines) == case_.counted(lines_of(text))


# -- words


def test_words_that_were_cut_before() -> None:
    counter = case("gpt2").counter()
    counter.add(["ab"])
    counter.add_words({"ab": 3, "é" * 20: 2**40, "": 7, "none": 0})
    counter.add_words({"ab": 1})
    assert counter.words() == [(b"ab", 1, True), (b"ab", 4, False), ("é".encode() * 20, 2**40, False)]
    assert (counter.unique, counter.total) == (3, 2**40 + 5)
    assert counter.bytes == 2 + 4 * 2 + 40 * 2**40


# -- errors


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ([("a", 1)], TypeError, "expected a dict"),
        ({"a": -1}, ValueError, "'a'.*-1"),
        ({"a": 2**64}, ValueError, "'a'"),
        ({"a": 1.0}, TypeError, "'a'.*float"),
        ({b"a": 1}, TypeError, "bytes"),
        ({"\ud800": 1}, TypeError, "surrogate"),
    ],
)
def test_what_is_no_count(words: Any, error: type[Exception], match: str) -> None:
    counter = case("gpt2").counter()
    with pytest.raises(error, match=match):
        counter.add_words({"before": 1} | words if isinstance(words, dict) else words)
    assert counter.words() == []


BAD = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xfd\xbf\xbf\xbf\xbf\xbf", b"a\x80"]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", ["o200k", "qwen", "bert"])
def test_what_is_not_utf8_is_not_counted(name: str, bad: bytes, threads: int) -> None:
    counter = case(name).counter(threads)
    counter.add(["before"])
    before = counter.words(), counter.unique, counter.total, counter.bytes
    at = bad.rfind(b"\x80") if bad == b"a\x80" else 0
    for filler in (b"", b"text ", b"text\n", b"\n", b"t"):  # short texts, and one that is cut for threads
        text = filler * (800_000 // max(len(filler), 1))
        with pytest.raises(InvalidUtf8Error, match=rf"offset {len(text) + at}$"):
            counter.add_lines(text + bad + b"x" * 300_000)
        with pytest.raises(InvalidUtf8Error, match=rf"item 1 .* offset {len(text) + at}$"):
            counter.add(["fine", text + bad + b"x" * 300_000])
    for texts in (["fine", "x" * 600_000 + "\ud800"], ["fine", 5], "text"):
        with pytest.raises(TypeError):
            counter.add(texts)  # type: ignore[arg-type]
    assert (counter.words(), counter.unique, counter.total, counter.bytes) == before


# -- progress and interrupts


LETTERS = bytes.maketrans(b"0123456789", b"ghijklmnop")


@functools.cache
def huge() -> bytes:
    """Return text whose words are almost all unique, so that merging the counts takes a while, too."""
    rng = random.Random(3)
    return b" ".join(rng.randbytes(6).hex().encode() for _ in range(300_000)).translate(LETTERS)


def until(counter: _core.WordCounter, data: bytes, stage: str, what: Callable[[], None]) -> None:
    """Add `data` to the counter repeatedly until `what`, which is called at each progress of `stage`, raises."""

    def progress(found: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        if found == stage:
            what()

    for _ in range(200):
        counter.add([data], progress)


class Enough(Exception):
    pass


def enough() -> None:
    raise Enough


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("stage", ["counting words", "merging counts"])
def test_progress_ends_the_work(stage: str, threads: int) -> None:
    data = huge()
    counter, once = case("gpt2").counter(threads), case("gpt2").counter()
    once.add([data])
    with pytest.raises(Enough):
        until(counter, data, stage, enough)
    # Words of earlier calls are counted, and none of this call.
    calls, rest = divmod(counter.total, once.total)
    assert rest == 0
    assert counter.bytes == calls * once.bytes
    assert counter.words() == ([(word, count * calls, raw) for word, count, raw in once.words()] if calls else [])
    counter.add([data])
    assert counter.total == (calls + 1) * once.total
    assert counter.unique == once.unique
