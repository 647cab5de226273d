"""The BPE trainer against its plain twin, and against tokenizers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from crayon_hf import _core
from tests.training.bpe_trainer_reference import train

ROOT = Path(__file__).parents[2]
CHARACTERS = "abc #é語"


def engine_of(pre_tokenizer: dict[str, Any] | None) -> _core.Engine:
    is_byte_level = pre_tokenizer is not None and pre_tokenizer["type"] == "ByteLevel"
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet()) if is_byte_level else ["a"]
    document = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": []},
    }
    return _core.Engine.from_bytes(_core.compile_tokenizer_json(json.dumps(document).encode(), "{}"))


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PLAIN = engine_of(None)
BYTES = engine_of(BYTE_LEVEL)


def counted(words: dict[str, int]) -> _core.WordCounter:
    counter = _core.WordCounter(PLAIN)
    counter.add_words(words)
    return counter


def texts_of_repository() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md"))]


short_words = st.text(alphabet="ab", min_size=1, max_size=12)
runs = st.builds(lambda c, n: c * n, st.sampled_from(CHARACTERS), st.integers(1, 90))
repeated = st.builds(lambda w, n: w * n, st.text(alphabet=CHARACTERS, min_size=1, max_size=4), st.integers(1, 40))
words_of = st.dictionaries(
    st.one_of(short_words, st.text(alphabet=CHARACTERS, min_size=1, max_size=14), runs, repeated),
    st.one_of(st.integers(1, 8), st.sampled_from([1000, 2**29 - 1, 2**29, 2**33])),
    max_size=40,
)
options_of = st.fixed_dictionaries(
    {"vocab_size": st.sampled_from([0, 1, 4, 9, 20, 60, 3000])},
    optional={
        "min_frequency": st.integers(0, 5),
        "special_tokens": st.lists(st.text(alphabet=CHARACTERS, max_size=4), max_size=4),
        "limit_alphabet": st.integers(0, 8),
        "initial_alphabet": st.lists(st.sampled_from("axyz#"), max_size=3),
        "continuing_subword_prefix": st.sampled_from(["", "##", "a", "ab"]),
        "end_of_word_suffix": st.sampled_from(["", "</w>", "a", "#"]),
        "max_token_length": st.integers(0, 9),
    },
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(words=words_of, options=options_of)
def test_tokens_and_merges_are_the_twins(words: dict[str, int], options: dict[str, Any]) -> None:
    assert _core.train_bpe(counted(words), **options) == train(words, **options)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.text(max_size=60), max_size=8), size=st.integers(0, 60))
def test_raw_words_are_spelled_in_the_byte_level_alphabet(texts: list[str], size: int) -> None:
    counter = _core.WordCounter(BYTES)
    counter.add(texts)
    stock = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words: dict[str, int] = {}
    for text in texts:
        for word, _ in stock.pre_tokenize_str(text):
            words[word] = words.get(word, 0) + 1
    assert _core.train_bpe(counter, vocab_size=size) == train(words, vocab_size=size)


@pytest.mark.parametrize("threads", [1, 3])
def test_merges_are_those_of_tokenizers(threads: int) -> None:
    texts = texts_of_repository()
    counter = _core.WordCounter(BYTES, threads)
    counter.add(texts)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokens, merges = _core.train_bpe(
        counter, vocab_size=3000, special_tokens=["<s>", "the"], initial_alphabet=alphabet, min_frequency=2
    )
    stock = tokenizers.Tokenizer(models.BPE())
    stock.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=3000,
        special_tokens=["<s>", "the"],
        initial_alphabet=alphabet,
        min_frequency=2,
        show_progress=False,
    )
    stock.train_from_iterator(texts, trainer)
    model = json.loads(stock.to_str())["model"]
    assert {token: i for i, token in enumerate(tokens)} == model["vocab"]
    assert [[tokens[a], tokens[b]] for a, b in merges] == model["merges"]


def test_counts_of_more_than_32_bits_do_not_overflow() -> None:
    tokens, merges = _core.train_bpe(counted({"ab": 2**31 + 1, "cd": 2**31 - 1, "ef": 2**62}), vocab_size=9)
    assert [tokens[a] + tokens[b] for a, b in merges] == ["ef", "ab", "cd"]


@pytest.mark.slow
def test_a_long_word_is_like_any_other() -> None:
    text = "".join(texts_of_repository())[:60_000]
    assert _core.train_bpe(counted({text: 2, "e": 1, "the": 70}), vocab_size=400) == train(
        {text: 2, "e": 1, "the": 70}, vocab_size=400
    )


def test_a_word_without_an_end_takes_no_quadratic_time() -> None:
    """A million characters: with time for each merge that grows with the word this would take hours."""
    word = "".join(texts_of_repository()) * 4
    tokens, merges = _core.train_bpe(counted({word: 1, "a" * 1_000_000: 1}), vocab_size=20_000)
    assert len(tokens) == 20_000
    assert len(set(merges)) == len(merges)


def test_words_are_left_as_they_were() -> None:
    counter = counted({"abab": 3, "ba": 1})
    first = _core.train_bpe(counter, vocab_size=5)
    assert _core.train_bpe(counter, vocab_size=5) == first
    counter.add_words({"bb": 90})
    assert _core.train_bpe(counter, vocab_size=3)[1] == [(1, 1)]


def test_nothing_to_train_on() -> None:
    assert _core.train_bpe(counted({})) == ([], [])
    assert _core.train_bpe(counted({"a": 5}), special_tokens=["<s>", "<s>"]) == (["<s>", "a"], [])


def test_progress_has_its_stages_and_may_end_the_work() -> None:
    calls: list[tuple[str, int, int]] = []
    _core.train_bpe(counted({"abab": 3}), vocab_size=5, progress=lambda *call: calls.append(call))
    stages = list(dict.fromkeys(stage for stage, _, _ in calls))
    assert stages == ["Compute alphabet", "Tokenize words", "Count pairs", "Compute merges"]
    assert all(0 <= done <= total for _, done, total in calls)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "Compute merges":
            raise LookupError("enough")

    counter = counted({"abab": 3})
    with pytest.raises(LookupError, match="enough"):
        _core.train_bpe(counter, progress=stop)
    assert len(_core.train_bpe(counter)[1]) == 2  # it is free again


def test_a_counter_is_used_by_one_call_at_a_time() -> None:
    counter = counted({"abab": 3})

    def again(*_: object) -> None:
        _core.train_bpe(counter)

    with pytest.raises(RuntimeError, match="busy"):
        _core.train_bpe(counter, progress=again)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"initial_alphabet": ["ab"]}, ValueError, "initial_alphabet"),
        ({"initial_alphabet": [""]}, ValueError, "initial_alphabet"),
        ({"vocab_size": -1}, TypeError, "vocab_size"),
        ({"min_frequency": 1.5}, TypeError, "min_frequency"),
        ({"special_tokens": [1]}, TypeError, "special_tokens"),
        ({"progress": 7}, TypeError, "progress"),
    ],
)
def test_what_cannot_be_meant_is_an_error(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        _core.train_bpe(counted({"ab": 1}), **options)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send")
def test_an_interrupt_does_not_wait() -> None:
    """A child that would train for minutes is interrupted; it has to be gone long before."""
    code = """
import random
from crayon_hf import _core
from tests.training.test_engine_train import counted
rng = random.Random(1)
counter = counted({"".join(rng.choices("abcdefgh", k=20)): 1 for _ in range(200_000)})
print("ready", flush=True)
while True:
    _core.train_bpe(counter, vocab_size=1_000_000)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(ROOT)])}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert b"KeyboardInterrupt" in errors


@pytest.mark.concurrency
def test_other_threads_run_meanwhile() -> None:
    counter = counted({"".join(sorted({*text.split()})): 1 for text in texts_of_repository()})
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        while ticks < 20:
            _core.train_bpe(counter, vocab_size=5000)
    finally:
        done.set()
        thread.join()
