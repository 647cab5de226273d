"""Effects on Python: who holds the GIL, when the garbage collector runs, and how signals end a call."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crayon_hf import TokenIndex, Tokenizer
from tests.support.stand_in_cases import trained

with_gil = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")

SMALL = "some words of a small text, and 1234 more of them. " * 80
"""A text of 4 KB."""


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_str(trained("byte_level"))


@contextmanager
def others_never_asked() -> Iterator[None]:
    """Keep Python from switching threads by itself, so that other threads run only if our calls release the GIL."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def gives_the_gil_away(call: Callable[[], Any], calls: int) -> bool:
    """Whether a thread that waits only for the GIL gets it during `calls` calls."""
    gate, ran = threading.Lock(), []
    gate.acquire()

    def wait() -> None:
        with gate:
            ran.append(1)

    call()
    worker = threading.Thread(target=wait)
    with others_never_asked():
        worker.start()
        gate.release()
        for _ in range(calls):
            call()
            found = bool(ran)
            if found:
                break
    worker.join()
    return found


CALLS: dict[str, Callable[[Tokenizer, str], Any]] = {
    "encode": lambda t, text: t.encode(text),
    "encode_ids": lambda t, text: t._engine.encode_ids(text),
    "offsets": lambda t, text: t.encode(text).offsets,
    "tokens": lambda t, text: t.encode(text).tokens,
    "pair": lambda t, text: t.encode(text, text),
    "encode_batch": lambda t, text: t.encode_batch([text] * 5),
    "encode_batch_fast": lambda t, text: t.encode_batch_fast([text] * 5),
    "encode_ragged": lambda t, text: t.encode_ragged([text] * 5),
    "count_tokens": lambda t, text: t.count_tokens([text] * 5),
    "encode_columns": lambda t, text: t._engine.encode_columns([text] * 5),
    "decode": lambda t, text: t.decode(list(range(300)) * 20),
    "decode_batch": lambda t, text: t.decode_batch([list(range(300))] * 20),
}


@with_gil
@pytest.mark.parametrize("name", CALLS)
def test_small_texts_keep_the_gil(tokenizer: Tokenizer, name: str) -> None:
    assert not gives_the_gil_away(lambda: CALLS[name](tokenizer, SMALL), 20)


@with_gil
@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("decode")])
def test_large_texts_give_it_away(tokenizer: Tokenizer, name: str) -> None:
    assert gives_the_gil_away(lambda: CALLS[name](tokenizer, SMALL * 60), 1000)


@contextmanager
def collections() -> Iterator[list[int]]:
    """A list to which each run of the garbage collector appends its generation."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


MANY = [f"a short text {i}" for i in range(30_000)]


@with_gil
@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._engine.encode_columns(MANY, columns=("input_ids", "attention_mask", "token_type_ids")),
        lambda t: t._engine.encode_lists(MANY),
        lambda t: t.encode("a short text " * 20_000).offsets,
    ],
    ids=["columns", "lists", "offsets"],
)
def test_the_collector_waits(tokenizer: Tokenizer, call: Callable[[Tokenizer], Any]) -> None:
    call(tokenizer)
    gc.collect()
    with collections() as found:
        kept = call(tokenizer)
    assert kept
    assert gc.isenabled()
    # At most once before each part of the call, not hundreds of times over thousands of new lists.
    assert len(found) <= 20


# -- signals: a handler runs soon during a call that encodes a batch, and an exception in it ends the call

SOON = 0.2
"""The most seconds from a signal to the end of the call."""
IDS = list(range(300))
BATCHES = {
    "encode_batch": lambda tokenizer, texts, threads: tokenizer.encode_batch(texts, threads=threads),
    "pairs": lambda tokenizer, texts, threads: tokenizer.encode_batch([(text, text) for text in texts]),
    "encode_batch_fast": lambda tokenizer, texts, threads: tokenizer.encode_batch_fast(texts * 3, threads=threads),
    "encode_ragged": lambda tokenizer, texts, threads: tokenizer.encode_ragged(texts * 8, threads=threads),
    "count_tokens": lambda tokenizer, texts, threads: tokenizer.count_tokens(texts * 8, threads=threads),
    "count_tokens with a limit": lambda tokenizer, texts, threads: tokenizer.count_tokens(
        [" ".join(texts[:500])] * 200, threads=threads, limit=10**9
    ),
    "TokenIndex": lambda tokenizer, texts, threads: TokenIndex(tokenizer, "".join(texts) * 2),
    "encode_columns": lambda tokenizer, texts, threads: tokenizer.encode_columns(texts * 8, threads=threads),
    "decode_batch": lambda tokenizer, texts, threads: tokenizer.decode_batch([IDS] * 300_000, threads=threads),
}


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def texts():
    return ["A text of some words, one of many: naïve 東京, and 1234 more of it. " * 20] * 20_000


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", BATCHES)
def test_a_signal_ends_a_batch(tokenizer, name, threads, texts):
    assert threading.current_thread() is threading.main_thread()

    def handle(*_):
        raise Interrupted

    def late(after):
        """The seconds from the signal to the end of the call, or None if the call ended before the signal."""
        sent = time.perf_counter() + after
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            BATCHES[name](tokenizer, texts, threads)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            return time.perf_counter() - sent
        return None

    before = signal.signal(signal.SIGALRM, handle)
    after = 0.1
    try:
        for _ in range(100):  # once will do: others use the machine
            seconds = late(after)
            if seconds is None:  # on a fast machine
                after /= 2
            elif seconds < SOON:
                break
        else:
            pytest.fail(f"each time the call went on for more than {SOON} seconds")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert tokenizer.encode_batch(["some words"])[0].ids == tokenizer.encode("some words").ids
