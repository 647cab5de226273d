"""Python's garbage collector is paused while a vocabulary is made, and runs again afterwards."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import contextmanager

import pytest

from crayon_hf.util.collector import CollectorPause


@pytest.fixture(autouse=True)
def collector():
    assert gc.isenabled()
    yield
    gc.enable()


def test_nothing_is_collected_in_a_block():
    runs = []
    gc.callbacks.append(lambda phase, info: runs.append(phase))
    try:
        with CollectorPause():
            kept = [(str(i), [i]) for i in range(100_000)]
        assert not runs
        kept += [(str(i), [i]) for i in range(100_000)]
        assert runs
    finally:
        gc.callbacks.pop()


@contextmanager
def another_thread_pauses():
    began, go_on = threading.Event(), threading.Event()

    def hold():
        with CollectorPause():
            began.set()
            go_on.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    began.wait()
    yield
    go_on.set()
    thread.join()


def test_the_last_of_several_threads_ends_it():
    with another_thread_pauses():
        with CollectorPause():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_has_it_on():
    with another_thread_pauses():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0
