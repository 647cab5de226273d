"""Counting words for training: those that ``tokenizers`` counts, however texts come and threads share them."""

from __future__ import annotations

import _thread
import functools
import json
import mmap
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, trainers

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error
from tests.components.test_pre_tokenizers import GPT2, byte_level, metaspace, sequence, split
from tests.conftest import LLAMA3_PATTERN, QWEN_PATTERN, SENTENCES
from tests.support import reference_impl

O200K_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
DIGITS = {"type": "Digits", "individual_digits": True}


def isolated(pattern: str) -> dict[str, Any]:
    return sequence(split("Regex", pattern, "Isolated", False), byte_level(False, False))


# (normalizer, pre-tokenizer), over byte tables and over text tables
BYTES: dict[str, tuple[Any, Any]] = {
    "gpt2": (None, byte_level(False, True)),
    "prefix space": (None, byte_level(True, True)),
    "llama3": (None, isolated(LLAMA3_PATTERN)),
    "qwen": ({"type": "NFC"}, isolated(QWEN_PATTERN)),
    "o200k": (None, isolated(O200K_PATTERN)),
    "whole": (None, byte_level(False, False)),
    "whole with prefix space": (None, byte_level(True, False)),
    "digits": (None, sequence(split("Regex", GPT2, "Isolated", False), DIGITS, byte_level(True, False))),
    "another pattern": ({"type": "NFKC"}, isolated(r"[a-z]+|\s|[^a-z\s]{1,2}")),
    "what is removed": (None, sequence(split("Regex", r"\d", "Removed", False), byte_level(False, True))),
}
TEXTS: dict[str, tuple[Any, Any]] = {
    "metaspace": (None, metaspace("\u2581", "always", True)),
    "metaspace first": (None, metaspace("\u2581", "first", True)),
    "llama": (
        {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "\u2581"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            ],
        },
        None,
    ),
    "t5": ({"type": "NFKC"}, sequence({"type": "WhitespaceSplit"}, metaspace("\u2581", "always", True))),
    "whitespace": ({"type": "NFD"}, {"type": "Whitespace"}),
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
    """An engine, and the plain twin: the reference's added tokens, normalizer and pre-tokenizer, and a Counter."""

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
    """The words as the reference spells them."""
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
    """Each with its ending, as the reference reads files."""
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
    # Bytes are texts, too; and what was counted adds up.
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
    """The words of a text as a trainer of the reference counts them: one that keeps each that comes often enough."""
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


def test_added_tokens_are_no_bytes() -> None:
    counter = with_added("gpt2").counter()
    counter.add(["ab<s>ab  <m> crayon crayons<s>"])
    assert counter.words() == [
        (b" ", 1, True),
        (b"  <m>", 1, False),
        (b" crayons", 1, True),
        (b"<s>", 2, False),
        (b"ab", 2, True),
        (b"crayon", 1, False),
    ]


# -- texts and threads


@functools.cache
def large() -> str:
    """A text that is cut for threads, with characters of one, two and four bytes in its str."""
    rng = random.Random(11)
    parts = [reference_impl.generated_text(rng, 400_000), *SENTENCES * 200, "x" * 40_000, " " * 20_000, "1" * 20_001]
    parts += [reference_impl.generated_text(rng, 200_000), "é\n" * 10_000, "crayon <s>  <m> " * 3_000]
    return "".join(parts)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("added", [False, True])
def test_large_texts_are_cut_where_words_end(name: str, added: bool) -> None:
    case_ = with_added(name) if added else case(name)
    text = large()
    whole = case_.counter()
    whole.add([text])
    if not added:
        assert spelled(whole) == case_.counted([text])
    for threads in (2, 5):
        for item in (text, text.encode()):
            counter = case_.counter(threads)
            counter.add([item])
            assert counter.words() == whole.words()
            assert counter.bytes == whole.bytes == len(text.encode())


@pytest.mark.parametrize("unit", ["ab ", "é ", "漢 ", "😀 "])
def test_every_width_of_str(unit: str) -> None:
    first, other, last = unit[:-1], " " + unit[:-1], " "
    for threads in (1, 2):
        counter = case("gpt2").counter(threads)
        counter.add([unit * 400_000])
        assert spelled(counter) == {
            reference_impl.spell(w.encode()): n for w, n in ((first, 1), (other, 399_999), (last, 1))
        }


@pytest.mark.slow
@EVERY
def test_lines_are_texts(name: str) -> None:
    case_ = case(name)
    # Long lines, too, are cut where words end.
    text = large() + "\n\nlast\r\n" + large().replace("\n", " ") + "\nline without end"
    whole = case_.counter()
    whole.add(lines_of(text))
    for threads in (1, 3):
        counter = case_.counter(threads)
        counter.add_lines(text.encode())
        assert counter.words() == whole.words()
        assert counter.bytes == len(text.encode())


def test_many_calls_add_up() -> None:
    lines = large()[:400_000].splitlines(keepends=True)
    whole, parts = case("llama3").counter(2), case("llama3").counter(2)
    whole.add(lines)
    for i in range(0, len(lines), 50):
        parts.add(lines[i : i + 50])
    assert parts.words() == whole.words()


def test_a_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(large().encode())
    counter, other = case("gpt2").counter(2), case("gpt2").counter()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        counter.add_lines(mapped)
        counter.add_lines(memoryview(mapped)[100:200])
    other.add_lines(bytearray(large().encode()))
    other.add_lines(large().encode()[100:200])
    assert counter.words() == other.words()


def test_nothing() -> None:
    counter = case("gpt2").counter()
    counter.add([])
    counter.add([""])
    counter.add_lines(b"")
    counter.add_words({})
    assert (counter.words(), counter.unique, counter.total, counter.bytes) == ([], 0, 0, 0)


# -- words


def test_words_that_were_cut_before() -> None:
    counter = case("gpt2").counter()
    counter.add(["ab"])
    counter.add_words({"ab": 3, "é" * 20: 2**40, "": 7, "none": 0})
    counter.add_words({"ab": 1})
    assert counter.words() == [(b"ab", 1, True), (b"ab", 4, False), ("é".encode() * 20, 2**40, False)]
    assert (counter.unique, counter.total) == (3, 2**40 + 5)
    assert counter.bytes == 2 + 4 * 2 + 40 * 2**40


def test_counts_have_64_bits() -> None:
    counter = case("gpt2").counter()
    counter.add_words({"a": 2**64 - 2})
    counter.add(["a"])
    for call in (lambda: counter.add(["b"]), lambda: counter.add_words({"b": 1}), lambda: counter.add_lines(b"c")):
        with pytest.raises(ValueError, match=r"2\^64"):
            call()
    with pytest.raises(ValueError, match=r"2\^64"):
        case("gpt2").counter().add_words({"a": 2**64 - 1, "b": 1})
    assert counter.words() == [(b"a", 1, True), (b"a", 2**64 - 2, False)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.text("abé", min_size=1, max_size=20), st.integers(1, 2**40)), max_size=4))
def test_any_words(mappings: list[dict[str, int]]) -> None:
    counter, expected = case("gpt2").counter(), Counter[str]()
    for words in mappings:
        counter.add_words(words)
        expected.update(words)
    assert spelled(counter) == expected


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
@pytest.mark.parametrize("name", ["gpt2", "o200k", "qwen", "bert", "digits"])
def test_what_is_not_utf8_is_not_counted(name: str, bad: bytes, threads: int) -> None:
    counter = case(name).counter(threads)
    counter.add(["before"])
    before = counter.words(), counter.unique, counter.total, counter.bytes
    at = bad.rfind(b"\x80") if bad == b"a\x80" else 0
    with pytest.raises(InvalidUtf8Error, match=rf"item 1 .* offset {2 + at}$"):
        counter.add(["fine", b"ab" + bad, "fine"])
    with pytest.raises(InvalidUtf8Error, match=rf"offset {5 + at}$"):
        counter.add_lines(b"one\nt" + bad)
    for filler in (b"text ", b"text\n", b"\n", b"t", bad):
        text = (filler * (1_200_000 // len(filler)))[: 800_000 if filler != bad else 1_200_000]
        where = len(text) + at if filler != bad else at
        with pytest.raises(InvalidUtf8Error, match=rf"offset {where}$"):
            counter.add_lines(text + bad + b"x" * 300_000)
        with pytest.raises(InvalidUtf8Error, match=rf"item 0 .* offset {where}$"):
            counter.add([text + bad + b"x" * 300_000])
    assert (counter.words(), counter.unique, counter.total, counter.bytes) == before


def test_what_is_no_text() -> None:
    counter = case("gpt2").counter(2)
    for texts in (["fine", "\ud800"], ["fine", "x" * 600_000 + "\ud800" + "x" * 600_000], ["fine", 5], "text", 5):
        with pytest.raises(TypeError):
            counter.add(texts)  # type: ignore[arg-type]
    for data in ("text", 5, memoryview(b"abcd")[::2]):
        with pytest.raises((TypeError, BufferError)):
            counter.add_lines(data)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="progress"):
        counter.add(["a"], progress=5)  # type: ignore[arg-type]
    assert counter.words() == []


def test_greedy_mode_has_no_words() -> None:
    with pytest.raises(ValueError, match="greedy"):
        _core.WordCounter(case("gpt2").engine.greedy())


# -- progress and interrupts


LETTERS = bytes.maketrans(b"0123456789", b"ghijklmnop")


@functools.cache
def huge() -> bytes:
    """Words that are almost all unique: putting the counts together takes a while, too."""
    rng = random.Random(3)
    return b" ".join(rng.randbytes(6).hex().encode() for _ in range(300_000)).translate(LETTERS)


def until(counter: _core.WordCounter, data: bytes, stage: str, what: Callable[[], None]) -> None:
    """Adds `data` again and again until something happens at some stage."""

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
    # Whole calls were counted before, and nothing of this one.
    calls, rest = divmod(counter.total, once.total)
    assert rest == 0
    assert counter.bytes == calls * once.bytes
    assert counter.words() == ([(word, count * calls, raw) for word, count, raw in once.words()] if calls else [])
    counter.add([data])
    assert counter.total == (calls + 1) * once.total
    assert counter.unique == once.unique


@pytest.mark.slow
@pytest.mark.concurrency
def test_progress_is_called_some_times_a_second() -> None:
    calls: list[tuple[float, str, int, int]] = []
    counter = case("another pattern").counter(2)
    begin = time.monotonic()
    while time.monotonic() < begin + 1 or (len(calls) < 2 and time.monotonic() < begin + 60):
        counter.add(["many words " * 1000], lambda *what: calls.append((time.monotonic(), *what)))
    assert 2 <= len(calls) <= 12 * (time.monotonic() - begin)
    assert all(stage in ("counting words", "merging counts") for _, stage, _, _ in calls)
    threads = {threading.get_ident()}
    counter.add([large()] * 5, lambda *_: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def for_ever(call: Callable[[], None]) -> None:
    while True:
        call()


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["gpt2", "whitespace"])
def test_an_interrupt_does_not_wait(name: str, threads: int) -> None:
    counter = case(name).counter(threads)
    data = huge() * 30
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.process_time())
        _thread.interrupt_main()

    for call in (lambda: counter.add([data]), lambda: counter.add_lines(data)):
        timer = threading.Timer(0.2, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            for_ever(call)
        assert time.process_time() - sent[-1] < 2  # of all threads: others may have the processor meanwhile
        timer.join()
    # Whole calls alone were counted.
    assert counter.bytes % len(data) == 0


CHILD = """
import sys
from pathlib import Path
from crayon_hf import _core
engine = _core.Engine.from_bytes(Path(sys.argv[1]).read_bytes())
counter = _core.WordCounter(engine, 2)
data = b"some words of a text\\n" * 5_000_000
print("ready", flush=True)
try:
    for _ in range(1000):
        counter.add_lines(data)
except KeyboardInterrupt:
    print("interrupted", counter.total % 5, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "engine.dat"
    path.write_bytes(reference_impl.compiled(document(*BYTES["gpt2"], on_bytes=True, added=False)))
    with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted 0\n"
        assert time.monotonic() - sent < 30  # all its calls take minutes
        assert child.wait() == 0


# -- one counter, many users


def test_one_call_at_a_time() -> None:
    counter = case("gpt2").counter(2)
    refused: list[str] = []

    def again(*_: object) -> None:
        for call in (lambda: counter.add(["a"]), lambda: counter.add_words({"a": 1}), counter.words):
            with pytest.raises(RuntimeError, match="busy"):
                call()
            refused.append("busy")
        assert counter.total == 0  # of the call that ended last

    texts = [large()] * 10
    while not refused and len(texts) < 10_000:  # twice as many until it takes long enough to report progress
        counter = case("gpt2").counter(2)
        counter.add(texts, again)
        texts *= 2
    assert refused
    counter.add(["a"])


@pytest.mark.concurrency
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_counts_on() -> None:
    counter = case("gpt2").counter(2)
    counter.add([large()])
    total = counter.total
    child = os.fork()
    if child == 0:
        counter.add([large()])
        os._exit(0 if counter.total == 2 * total else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert counter.total == total


MEMORY = """
import random, resource, sys
from pathlib import Path
from crayon_hf import _core
engine = _core.Engine.from_bytes(Path(sys.argv[1]).read_bytes())
counter = _core.WordCounter(engine, 2)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
rng = random.Random(1)
letters = bytes.maketrans(b"0123456789", b"ghijklmnop")
words = lambda: b" ".join(rng.randbytes(5).hex().encode() for _ in range(60_000)).translate(letters) + b"\\n"
text = words() * 5
counter.add_lines(text)
first = peak()
for _ in range(10):
    counter.add_lines(text)
again = peak()
for _ in range(10):
    counter.add_lines(words())
print(again - first, (peak() - again) / (counter.unique - 60_000))
"""


@pytest.mark.slow
@pytest.mark.measures_memory
@pytest.mark.skipif(os.name == "nt", reason="no resource module")
def test_memory_is_that_of_unique_words(tmp_path: Path) -> None:
    path = tmp_path / "engine.dat"
    path.write_bytes(reference_impl.compiled(document(*BYTES["gpt2"], on_bytes=True, added=False)))
    run = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True)
    more, per_word = map(float, run.stdout.split())
    assert more < 4 << 20
    assert per_word < 60
