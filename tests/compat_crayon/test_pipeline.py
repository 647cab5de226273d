"""`Pipeline`: nothing is lost, mixed up or stuck, whatever fails, stops or is slow."""

from __future__ import annotations

import gc
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from crayon_hf import CrayonVocab, Pipeline, PipelineClosedError, Tokenizer
from crayon_hf.compat_crayon.pipeline import Failed, PipelineTimeoutError

pytestmark = pytest.mark.concurrency

LONG = 30.0
"""Seconds after which a test is broken; nothing waits for them to pass."""


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("crayon_hf pipeline")}


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    wait_for_no_threads()
    yield
    gc.collect()
    wait_for_no_threads()


def wait_for_no_threads() -> None:
    """Those of a pipeline that was only forgotten end by themselves."""
    deadline = time.monotonic() + LONG
    for thread in threading.enumerate():
        if thread.name.startswith("crayon_hf pipeline"):
            thread.join(deadline - time.monotonic())
    assert threads() == set()


class Gate:
    """A stage that waits until it is opened, and says when something came."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.seen: list[str] = []

    def __call__(self, text: str) -> list[int]:
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


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("ordered", [True, False])
def test_stages(workers, depth, ordered):
    def shout(key: int, encoded: list[int]) -> tuple[int, list[int]]:
        return key, [*encoded, -1]

    with Pipeline(lengths, str.upper, shout, depth=depth, workers=workers, ordered=ordered) as pipeline:
        results = list(pipeline.map(TEXTS))
    expected = [(i, [len(text), -1]) for i, text in enumerate(TEXTS)]
    assert (results if ordered else sorted(results)) == expected


def test_format_sees_what_the_tokenizer_gave(gpt2_like):
    tokenizer = Tokenizer.from_file(gpt2_like)
    with Pipeline(tokenizer, str.lower, lambda key, encoding: encoding.offsets) as pipeline:
        assert list(pipeline.map(["THE Thesis"])) == [tokenizer.encode("the thesis").offsets]


def test_order_in_spite_of_slow_items():
    """The first item is finished last, and all the same it is the first result."""
    gate = Gate()

    def work(text: str) -> list[int]:
        return gate(text) if text == "slow" else lengths(text)

    with Pipeline(work, workers=2, depth=2) as pipeline:
        pipeline.submit("slow", "slow")
        assert gate.entered.wait(LONG)
        for i in range(2):
            pipeline.submit(i, "fast")
        gate.opened.set()
        assert [pipeline.get_result()["id"] for _ in range(3)] == ["slow", 0, 1]


def test_completion_order_when_asked():
    gate = Gate()

    def work(text: str) -> list[int]:
        return gate(text) if text == "slow" else lengths(text)

    with Pipeline(work, workers=2, ordered=False) as pipeline:
        pipeline.submit("slow", "slow")
        assert gate.entered.wait(LONG)
        pipeline.submit("fast", "fast")
        assert pipeline.get_result(LONG)["id"] == "fast"
        gate.opened.set()
        assert pipeline.get_result(LONG)["id"] == "slow"


@pytest.mark.slow
def test_many_items_through_slow_stages():
    """Stages that yield at random places, several submitters, several takers: every item comes out once."""

    def dawdle(text: str) -> str:
        time.sleep(random.random() / 5000)
        return text

    count, takers, submitters = 3000, 3, 4
    pipeline, taken = Pipeline(lengths, dawdle, record, depth=2, workers=3), []

    def submit(first: int) -> None:
        for i in range(first, count, submitters):
            pipeline.submit(i, "x" * (i % 50))

    def take() -> None:
        taken.extend(pipeline.results())

    producing = [threading.Thread(target=submit, args=(i,)) for i in range(submitters)]
    consuming = [threading.Thread(target=take) for _ in range(takers)]
    for thread in (*producing, *consuming):
        thread.start()
    for thread in producing:
        thread.join(LONG)
    pipeline.close()
    for thread in consuming:
        thread.join(LONG)
    assert sorted(result["id"] for result in taken) == list(range(count))
    assert {name: figures[:2] for name, figures in pipeline.stats().items()} == {
        "normalize": (count, 0),
        "encode": (count, 0),
        "format": (count, 0),
    }


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
    # a stage does not see what failed before it
    assert {name: figures[:2] for name, figures in stats.items()} == {
        "normalize": (7, 1),
        "encode": (6, 1),
        "format": (5, 1),
    }
    assert all(figures.seconds >= 0 for figures in stats.values())


def test_even_an_exit_hurts_only_its_item():
    def work(text: str) -> list[int]:
        if text == "out":
            raise SystemExit(3)
        return [1]

    with Pipeline(work) as pipeline:
        first, second = pipeline.map(["out", "in"])
    assert type(first.error) is SystemExit
    assert second["input_ids"] == [1]


def test_what_is_no_text_fails_alone(gpt2_like):
    with Pipeline(Tokenizer.from_file(gpt2_like)) as pipeline:
        bad, good = pipeline.map([5, "a"])
    assert (bad.stage, type(bad.error)) == ("encode", TypeError)
    assert good["length"] == 1


# -- room


def fill(pipeline: Pipeline, count: int) -> None:
    """Submit as many items as there is room for, and see that there is no more."""
    for i in range(count):
        pipeline.submit(i, "x", timeout=LONG)
    for timeout in (0, 0.01):
        with pytest.raises(PipelineTimeoutError, match="no room"):
            pipeline.submit("late", "x", timeout)


def test_submit_waits_for_room():
    gate = Gate()
    with Pipeline(gate, depth=2) as pipeline:
        fill(pipeline, 3)  # one in the stage, two before it
        waiting = threading.Thread(target=pipeline.submit, args=("last", "x"))
        waiting.start()
        gate.opened.set()
        waiting.join(LONG)
        assert [pipeline.get_result()["id"] for _ in range(4)] == [0, 1, 2, "last"]


def test_nobody_fetches():
    """Without a reader all queues fill up and submit waits; closing keeps every result."""
    pipeline = Pipeline(lengths, str.upper, record, depth=2)
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


def test_timeouts():
    gate = Gate()
    with Pipeline(gate) as pipeline:
        pipeline.submit(1, "x")
        for kind in (PipelineTimeoutError, TimeoutError, queue.Empty):
            with pytest.raises(kind, match="no result within"):
                pipeline.get_result(timeout=0.01)
        gate.opened.set()
        assert pipeline.get_result(LONG)["id"] == 1


# -- the end


def test_close_finishes_what_was_submitted():
    gate = Gate()
    pipeline = Pipeline(gate, depth=4)
    for i in range(4):
        pipeline.submit(i, "x")
    closing = threading.Thread(target=pipeline.close)
    closing.start()
    gate.opened.set()
    closing.join(LONG)
    assert pipeline.is_closed
    assert threads() == set()
    assert [result["id"] for result in pipeline.results()] == [0, 1, 2, 3]
    assert list(pipeline.results()) == []
    pipeline.close()
    assert pipeline.cancel() == []


def test_results_after_the_with():
    with Pipeline(lengths) as pipeline:
        for i in range(4):
            pipeline.submit(i, "x")
    assert [pipeline.get_result()["id"] for _ in range(4)] == [0, 1, 2, 3]


def test_use_after_close():
    for used in (True, False):
        pipeline = Pipeline(lengths)
        if used:
            assert len(list(pipeline.map("ab"))) == 2
        pipeline.close()
        for call in (
            lambda p=pipeline: p.submit(1, "x"),
            lambda p=pipeline: list(p.map(["x"])),
            lambda p=pipeline: p.start_pipeline(),
            lambda p=pipeline: p.__enter__(),
            lambda p=pipeline: p.get_result(),
        ):
            with pytest.raises(PipelineClosedError, match="closed"):
                call()
        assert list(pipeline) == []
    assert issubclass(PipelineClosedError, RuntimeError)


@pytest.mark.parametrize("workers", [1, 3])
def test_cancel(workers):
    """What each thread has in hand is finished or given up; what was done before is still there."""
    gate = Gate()

    def work(text: str) -> list[int]:
        return gate(text) if text == "slow" else lengths(text)

    pipeline = Pipeline(work, depth=9, workers=workers)
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
    assert outcomes.get(timeout=LONG) is PipelineClosedError  # of the submitter: a thread has an item in hand yet
    gate.opened.set()
    cancelling.join(LONG)
    for thread in waiters:
        thread.join(LONG)
    assert outcomes.get(timeout=LONG) is PipelineClosedError
    assert undone == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_error_of_the_consumer(kind):
    pipeline = Pipeline(lengths)

    def consume() -> None:
        with pipeline:
            for _ in pipeline.map(TEXTS):
                raise kind

    with pytest.raises(kind):
        consume()
    assert pipeline.is_closed
    assert threads() == set()


def test_error_of_the_producer():
    def texts() -> Iterator[str]:
        yield from "abc"
        raise ValueError("no more")

    with Pipeline(lengths) as pipeline:
        with pytest.raises(ValueError, match="no more"):
            list(pipeline.map(texts()))
        assert [result["id"] for result in pipeline.map("xy")] == [0, 1]


def test_map_that_was_given_up():
    """Its results are forgotten, those that are still made as well."""
    gate = Gate()
    with Pipeline(gate, depth=2) as pipeline:
        results = pipeline.map("abcdef")
        taker = threading.Thread(target=lambda: next(results))
        taker.start()
        assert gate.entered.wait(LONG)
        gate.opened.set()
        taker.join(LONG)
        gate.opened.clear()
        results.close()  # type: ignore[attr-defined]
        again = pipeline.map(["x", "y"])
        gate.opened.set()
        assert [result["input_ids"] for result in again] == [[1], [1]]
        assert [result["id"] for result in pipeline.map("pq")] == [0, 1]


def test_map_needs_the_pipeline_for_itself():
    with Pipeline(lengths) as pipeline:
        pipeline.submit("mine", "x")
        with pytest.raises(RuntimeError, match="map needs a pipeline for itself"):
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


def test_threads_start_when_they_are_needed():
    pipeline = Pipeline(lengths, str.upper, workers=3)
    assert threads() == set()
    pipeline.submit(1, "x")
    assert len(threads()) == 3
    assert sum(thread.name in threads() for thread in threading.enumerate()) == 5
    pipeline.cancel()


# -- other processes, and the end of this one


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_fork():
    with Pipeline(lengths) as pipeline:
        pipeline.submit(1, "x")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                pipeline.submit(2, "x")
            except PipelineClosedError:
                pipeline.close()
                code = 0 if pipeline.cancel() == [] else 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert pipeline.get_result()["id"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_fork_before_the_first_item():
    pipeline = Pipeline(lengths)
    child = os.fork()
    if child == 0:
        with pipeline:
            os._exit(0 if [result["id"] for result in pipeline.map("ab")] == [0, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
    with pipeline:
        assert [result["id"] for result in pipeline.map("ab")] == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "del pipeline"])
def test_interpreter_goes(end):
    program = (
        "import crayon_hf, threading\n"
        "vocab = crayon_hf.CrayonVocab(); vocab.load_profile('lite')\n"
        "pipeline = crayon_hf.Pipeline(vocab, depth=50, workers=4)\n"
        "for i in range(40): pipeline.submit(i, 'some text ' * 5000)\n"
    )
    done = subprocess.run([sys.executable, "-c", program + end], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_interpreter_waits_for_what_is_in_hand():
    """A thread that is in the engine must not be torn out of it."""
    program = (
        "import crayon_hf, threading\n"
        "entered, go = threading.Event(), threading.Event()\n"
        "def work(text):\n"
        "    entered.set(); go.wait(0.3); print(text, flush=True)\n"
        "    return [1]\n"
        "pipeline = crayon_hf.Pipeline(work)\n"
        "pipeline.submit(0, 'first'); entered.wait(); pipeline.submit(1, 'second')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "first\n", "")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt():
    """Ctrl-C while the main thread waits in a submit: the threads end, and nothing is stuck."""
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
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['MainThread']\n", "")


# -- what it is given


def test_crayons_names():
    pipeline = Pipeline(lengths)
    pipeline.start_pipeline()
    pipeline.start_pipeline()
    pipeline.submit_text("one", "abc")
    assert pipeline.get_result(timeout=10.0) == {"id": "one", "input_ids": [3], "length": 1}
    pipeline.stop_pipeline()
    assert pipeline.is_closed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "kind", "why"),
    [
        ({"tokenizer": 5}, TypeError, "tokenizer is int"),
        ({"tokenizer": None}, TypeError, "tokenizer is NoneType"),
        ({"normalize": "nfc"}, TypeError, "normalize is str"),
        ({"format": {}}, TypeError, "format is dict"),
        ({"depth": 0}, ValueError, "depth is 0, expected 1 or more"),
        ({"depth": 2.0}, TypeError, "depth is float"),
        ({"workers": -1}, ValueError, "workers is -1"),
        ({"workers": True}, TypeError, "workers is bool"),
    ],
)
def test_bad_arguments(arguments, kind, why):
    with pytest.raises(kind, match=why):
        Pipeline(**{"tokenizer": lengths} | arguments)
