"""During a call that encodes a batch, a signal's handler runs soon, and an exception in the handler ends the call."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from crayon_hf import TokenIndex, Tokenizer
from tests.support.stand_in_cases import trained

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SOON = 0.2
"""The most seconds from a signal to the end of the call."""
IDS = list(range(300))
CALLS = {
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


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CALLS)
def test_a_signal_ends_a_batch(name, threads, texts):
    assert threading.current_thread() is threading.main_thread()
    tokenizer = Tokenizer.from_str(trained("byte_level"))

    def handle(*_):
        raise Interrupted

    def late(after):
        """The seconds from the signal to the end of the call, or None if the call ended before the signal."""
        sent = time.perf_counter() + after
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            CALLS[name](tokenizer, texts, threads)
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
