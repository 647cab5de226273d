"""`Pipeline`, which passes items through stages in threads: no item is lost, mixed up or stuck when a stage fails or is
slow, or when the pipeline is closed."""

from __future__ import annotations

import gc
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from crayon_hf import CrayonVocab, Pipeline, PipelineClosedError, Tokenizer
from crayon_hf.compat_crayon.pipeline import Failed, PipelineTimeoutError

pytestmark = pytest.mark.concurrency

LONG = 600.0
"""Seconds after which a test that waits for a thread fails."""


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("crayon_hf pipeline")}


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    wait_for_no_threads()
    yield
    gc.collect()
    wait_for_no_threads()


def wait_for_no_threads() -> None:
    """Wait until the threads of pipelines that were not closed have ended, as they do by themselves."""
    deadline = time.monotonic() + LONG
    for thread in threading.enumerate():
        if thread.name.startswith("crayon_hf pipeline"):
            thread.join(deadline - time.monotonic())
    assert threads() == set()


class Gate:
    """A stage that reports each item that it gets, and holds the item until the gate is opened, unless it is "fast"."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.seen: list[str] = []

    def __call__(self, text: str) -> list[int]:
        if text == "fast":
            return lengths(text)
        self.seen.append(text)
        self.entered.set()
        assert self.opened.wait(LONG)
        return [len(text)]


def lengths(text: str) -> list[int]:
    return [len(text)]


def record(key: object, text: str) -> dict[str, object]:
    return {"id": key, "input_ids": [len(text)], "length": 1}


TEXTS = [f"text {i}" * (i % 7) for i in range(300)]


# -- results


def test_tokenizer_and_vocab(gpt2_like):
    tokenizer, vocab = Tokenizer.from_file(gpt2_like), CrayonVocab()
    vocab.load_profile(gpt2_like)
    expected = [
        {"id": i, "input_ids": ids, "length": len(ids)} for i, ids in enumerate(tokenizer.encode(t).ids for t in TEXTS)
    ]
    for source in (tokenizer, vocab, vocab.tokenize):
        with Pipeline(source) as pipeline:
            assert list(pipeline.map(TEXTS)) == expected


@pytest.mark.parametrize("ordered", [True, False])
def test_order_in_spite_of_slow_items(ordered):
    """The first item finishes last, but is the first result of an ordered pipeline."""
    gate = Gate()

    with Pipeline(gate, workers=2, depth=2, ordered=ordered) as pipeline:
        pipeline.submit("slow", "slow")
        assert gate.entered.wait(LONG)
        pipeline.submit("fast", "fast")
        if not ordered:
            assert pipeline.get_result(LONG)["id"] == "fast"
        gate.opened.set()
        assert [result["id"] for result in (pipeline.get_result(LONG) for _ in range(1 + ordered))] == (
            ["slow", "fast"] if ordered else ["slow"]
        )


# -- errors


def test_errors_come_with_their_items():
    def fail_on(bad: str):
        def work(*arguments: object) -> object:
            if arguments[-1] == bad or arguments[0] == bad:
                raise KeyError(bad)
            return arguments[-1]

        return work

    with Pipeline(fail_on("b"), fail_on("a"), fail_on("c"), workers=2) as pipeline:
        results = list(pipeline.map(["x", "a", "b", "y"]))
        for key in "cxq":
            pipeline.submit(key, "z")
        results += [pipeline.get_result() for _ in range(3)]
        stats = pipeline.stats()
    assert [results[i] for i in (0, 3, 5, 6)] == ["x", "y", "z", "z"]
    for i, key, stage, text in ((1, 1, "normalize", "a"), (2, 2, "encode", "b"), (4, "c", "format", "c")):
        assert type(results[i]) is Failed
        assert results[i][:2] == (key, stage)
        assert type(results[i].error) is KeyError
        assert results[i].error.args == (text,)
    # a stage does not see items that failed in an earlier one
    assert {name: figures[:2] for name, figures in stats.items()} == {
        "normalize": (7, 1),
        "encode": (6, 1),
        "format": (5, 1),
    }
    assert all(figures.seconds >= 0 for figures in stats.values())


# -- room


def fill(pipeline: Pipeline, count: int) -> None:
    """Submit `count` items, which fill the pipeline's queues, and check that one more is refused."""
    for i in range(count):
        pipeline.submit(i, "x", timeout=LONG)
    for timeout in (0, 0.01):
        with pytest.raises(PipelineTimeoutError, match="the queues were full"):
            pipeline.submit("late", "x", timeout)


def test_nobody_fetches():
    """Without a reader all queues fill up and submit waits. Closing keeps every result."""
    pipeline = Pipeline(lengths, str.upper, record, depth=2)
    with pytest.raises(queue.Empty, match="no result"):
        pipeline.get_result(timeout=0.01)
    fill(pipeline, 11)  # two in each queue, and one in each stage
    pipeline.close()
    assert threads() == set()
    assert [result["id"] for result in pipeline] == list(range(11))


def test_map_takes_no_more_than_the_queues_hold():
    gate, taken = Gate(), []

    def texts() -> Iterator[str]:
        for i in range(1000):
            taken.append(i)
            yield "x"

    with Pipeline(gate, depth=3) as pipeline:
        results = pipeline.map(texts())
        assert taken == []
        gate.opened.set()
        next(results)
        assert len(taken) < 30
        assert len(list(results)) == 999


# -- the end


def test_use_after_close():
    pipeline = Pipeline(lengths)
    assert len(list(pipeline.map("ab"))) == 2
    pipeline.close()
    pipeline.close()
    for call in (
        lambda: pipeline.submit(1, "x"),
        lambda: list(pipeline.map(["x"])),
        pipeline.start_pipeline,
        pipeline.__enter__,
        pipeline.get_result,
    ):
        with pytest.raises(PipelineClosedError, match="closed"):
            call()
    assert (list(pipeline), pipeline.cancel()) == ([], [])


@pytest.mark.parametrize("workers", [1, 3])
def test_cancel(workers):
    """Items in a stage are finished or dropped. Earlier results stay available."""
    gate = Gate()

    pipeline = Pipeline(gate, depth=9, workers=workers)
    pipeline.submit("done", "fast")
    while not pipeline.stats()["format"].items:
        time.sleep(0.001)
    for i in range(7):
        pipeline.submit(i, "slow")
    assert gate.entered.wait(LONG)
    undone: list[object] = []
    cancelling = threading.Thread(target=lambda: undone.extend(pipeline.cancel()))
    cancelling.start()
    while not pipeline.is_closed:
        time.sleep(0.001)
    gate.opened.set()
    cancelling.join(LONG)
    assert threads() == set()
    results = [result["id"] for result in pipeline]
    assert results[0] == "done"
    assert sorted(results[1:] + undone) == list(range(7))
    assert undone == sorted(undone)
    assert set(range(workers, 7)) <= set(undone)
    assert len(gate.seen) <= workers
    assert pipeline.cancel() == []


def test_cancel_wakes_those_who_wait():
    gate, outcomes = Gate(), queue.Queue()
    pipeline = Pipeline(gate, depth=1)
    fill(pipeline, 2)

    def waiting(call) -> None:
        try:
            call()
        except BaseException as error:
            outcomes.put(type(error))

    waiters = [
        threading.Thread(target=waiting, args=(lambda: pipeline.submit("x", "x"),)),
        threading.Thread(target=waiting, args=(lambda: pipeline.get_result(None),)),
    ]
    for thread in waiters:
        thread.start()
    undone: list[object] = []
    cancelling = threading.Thread(target=lambda: undone.extend(pipeline.cancel()))
    cancelling.start()
    assert outcomes.get(timeout=LONG) is PipelineClosedError  # the submitter's: a thread still works on an item
    gate.opened.set()
    cancelling.join(LONG)
    for thread in waiters:
        thread.join(LONG)
    assert outcomes.get(timeout=LONG) is PipelineClosedError
    assert undone == [0, 1]


def test_map_needs_the_pipeline_for_itself():
    with Pipeline(lengths) as pipeline:
        pipeline.submit("mine", "x")
        with pytest.raises(RuntimeError, match="map needs an idle pipeline"):
            pipeline.map("ab")
        assert pipeline.get_result()["id"] == "mine"
        results = pipeline.map("ab")
        next(results)
        for call in (lambda: pipeline.submit(1, "x"), pipeline.get_result, lambda: pipeline.map("c")):
            with pytest.raises(RuntimeError, match="a map is using this pipeline"):
                call()
        assert len(list(results)) == 1
        pipeline.submit("mine", "x")
        assert pipeline.get_result()["id"] == "mine"


def test_forgotten_pipeline_leaves_no_thread():
    pipeline = Pipeline(lengths)
    pipeline.submit(1, "x")
    assert threads()
    del pipeline  # and the fixture looks


# -- other processes, and the end of this one


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt():
    """Ctrl-C while the main thread waits in submit: the threads end, and nothing hangs."""
    program = (
        "import crayon_hf, signal, threading\n"
        "go = threading.Event()\n"
        "def work(text):\n"
        "    if text == 'first':\n"
        "        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)\n"
        "        go.wait(0.3)\n"
        "    return [1]\n"
        "try:\n"
        "    with crayon_hf.Pipeline(work, depth=1) as pipeline:\n"
        "        pipeline.submit(0, 'first')\n"
        "        for i in range(100): pipeline.submit(i, 'x')\n"
        "except KeyboardInterrupt:\n"
        "    print([t.name for t in threading.enumerate()])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['MainThread']\n", "")
