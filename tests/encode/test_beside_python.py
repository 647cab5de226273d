"""Effects on other Python threads: who holds the GIL, and when the garbage collector runs."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crayon_hf import Tokenizer
from tests.support.stand_in_cases import trained

pytestmark = pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")

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


@pytest.mark.parametrize("name", CALLS)
def test_small_texts_keep_the_gil(tokenizer: Tokenizer, name: str) -> None:
    assert not gives_the_gil_away(lambda: CALLS[name](tokenizer, SMALL), 20)


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
