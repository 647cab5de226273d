"""Threads that share objects of ours, which our own locks protect in a Python without the GIL.

These tests need neither ``tokenizers`` nor ``conftest.py``, so that they run where ``tokenizers`` has no wheel:
`tools/free_threaded.sh`. Expected results come from a single thread.
"""

from __future__ import annotations

import copy
import pickle
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crayon_hf import DecodeStream, Encoding, Tokenizer

pytestmark = pytest.mark.concurrency

ROUNDS = 40
TEXT = "The quick brown fox's 1234 jumps, über den faulen Hund — 敏捷的棕色狐狸 🙂🙂 isn't it? \n\n  def f(x):\n"
WORDS = re.split(" ", TEXT)


@pytest.fixture(params=[2, 8])
def together(request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
    """A function ``together(work, ...)`` that calls each function with its number, in threads that start at once, and
    returns the results."""
    return lambda *work: run_together(request.param, *work)


def run_together(threads: int, *work: Callable[[int], Any]) -> list[Any]:
    begin = threading.Barrier(threads)

    def run(number: int) -> Any:
        begin.wait()
        return work[number % len(work)](number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # makes threads interleave often, even with the GIL
    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(run, range(threads)))
    finally:
        sys.setswitchinterval(interval)


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_profile("lite")


def texts(seed: int = 0, count: int = 60) -> list[str]:
    """New str objects of all sizes and kinds of characters. (Old objects may have cached their UTF-8.)"""
    size = len(WORDS)
    return [" ".join(WORDS[(i * 7 + j * (seed + 3)) % size] for j in range(i * i % 131)) for i in range(count)]


def test_ids_that_nobody_listed_before(tokenizer, together):
    """The engine makes the int objects for lists of ids once, here for all threads at the same time."""
    size = tokenizer.get_vocab_size()
    words = [tokenizer.id_to_token(id) for id in range(size)]
    engine = tokenizer._current_engine()
    for made in together(lambda number: engine.tokens_to_ids(words)):
        assert made == list(range(size))
    everything = "".join(tokenizer.decode([id]) for id in range(0, size, 3))
    lists = together(lambda number: engine.encode_ids(everything))
    assert all(made == lists[0] for made in lists)
    assert all(type(id) is int for id in lists[0])
    assert tokenizer.decode(lists[0]) == everything


def test_text_that_gets_its_utf8(tokenizer, together):
    """A str caches its UTF-8 at the first request, while other threads read the str."""
    engine = tokenizer._current_engine()
    rounds = range(ROUNDS * 10)
    rows = [engine.encode_ids(f"{round} Größe 敏捷的 " * 20) for round in rounds]
    shared = [f"{round} Größe 敏捷的 " * 20 for round in rounds]

    def ask(number: int) -> None:
        for text in shared:
            engine.tokens_to_ids([text, "a"])

    def read(number: int) -> None:
        assert [engine.encode_ids(text) for text in shared] == rows

    together(read, ask)


def test_one_encoding_that_changes(tokenizer, together):
    """While one thread changes an encoding, every read shows a state that the encoding had at some time; copies are
    consistent."""
    text = texts(2)[40]
    whole = tokenizer.encode(text)
    ids, tokens = whole.ids, whole.tokens
    shared = [tokenizer.encode(text) for _ in range(ROUNDS // 2)]

    def change(number: int) -> None:
        for one in shared:
            for size in range(len(ids), 8, -1):
                one.truncate(size)
                one.pad(size + 2, pad_id=1)

    def look(number: int) -> None:
        for one in shared * 2:
            for twin in (copy.copy(one), pickle.loads(pickle.dumps(one)), Encoding.merge([one])):
                assert len(twin) == len(twin.ids) == len(twin.tokens) == len(twin.offsets) == len(twin.word_ids)
                assert all(one in (id, 1) for one, id in zip(twin.ids, ids, strict=False))
                assert all(one in (token, "[PAD]") for one, token in zip(twin.tokens, tokens, strict=False))
            assert len(one.ids) <= len(ids) + 2
            assert all(len(part.ids) == len(part.tokens) for part in one.overflowing)
            assert repr(one).startswith("Encoding(num_tokens=")

    together(change, look)


def test_one_stream(tokenizer, together):
    """Each step of a shared DecodeStream gives the text of its own id, while other threads step as well."""
    steps = 300
    (id,) = tokenizer.encode("a").ids
    stream = DecodeStream()
    results = together(lambda number: [stream.step(tokenizer, id) for _ in range(steps)])
    assert [text for made in results for text in made] == ["a"] * (steps * len(results))


def test_lists_that_change(tokenizer, together):
    """If a list changes during a call, the call reads the list's old or new items, and never other memory."""
    engine = tokenizer._current_engine()
    (id,) = tokenizer.encode("a").ids
    ids, tokens, sequences = [id] * 50, ["a"] * 50, ["a b"] * 20
    stop = threading.Event()

    def change(number: int) -> None:
        for i in range(ROUNDS * 50):
            ids.append(id) if i % 3 else ids.clear()
            tokens.append("a") if i % 3 else tokens.clear()
            sequences.append("a b") if i % 5 else sequences.clear()
            if i % 10 == 0:
                ids[:], tokens[:] = [int(str(id))] * 50, ["".join("a")] * 50
        stop.set()

    row = tokenizer.encode("a b").ids

    def look(number: int) -> None:
        while not stop.is_set():
            assert set(engine.decode(ids)) <= {"a"}
            assert set(engine.decode_batch([ids, ids])[1]) <= {"a"}
            assert set(engine.ids_to_tokens(ids) or "a") <= {"a"}
            assert set(engine.tokens_to_ids(tokens) or [id]) <= {id}
            assert set(engine.tokens_bytes(ids) or [b"a"]) <= {b"a"}
            assert all(made == row for made in engine.encode_lists(sequences))

    together(change, look)


def test_a_tokenizer_that_changes(tokenizer, together):
    """A call uses the tokenizer's state at the start of the call, never half of another thread's change."""
    text = "one <new> two <newer> three " * 3
    states = [tokenizer.encode(text).ids]
    twin = copy.copy(tokenizer)
    for token in ("<new>", "<newer>"):
        twin.add_tokens([token])
        states.append(twin.encode(text).ids)
    allowed = states + [row[:5] for row in states]

    def change(number: int) -> None:
        for i in range(ROUNDS):
            tokenizer.enable_truncation(5) if i % 2 else tokenizer.no_truncation()
            tokenizer.enable_padding(length=4) if i % 3 else tokenizer.no_padding()
            if i in (ROUNDS // 3, 2 * ROUNDS // 3):
                tokenizer.add_tokens(["<new>"] if i == ROUNDS // 3 else ["<newer>"])
        tokenizer.no_truncation()

    def look(number: int) -> None:
        for _ in range(ROUNDS):
            assert tokenizer.encode(text).ids in allowed
            assert [made.ids for made in tokenizer.encode_batch([text] * 2)][1] in allowed
            assert copy.copy(tokenizer).encode(text).ids in allowed
            assert tokenizer.token_to_id("<new>") in (None, twin.token_to_id("<new>"))
            truncation = tokenizer.truncation  # read once: another thread may change it
            assert truncation is None or truncation["max_length"] == 5

    together(change, look)
    assert tokenizer.encode(text).ids == states[-1]
