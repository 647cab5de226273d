"""The collector rests while a vocabulary is made, and never longer."""

from __future__ import annotations

import gc
import os
import threading

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


def test_an_error_ends_it():
    with pytest.raises(ValueError, match="ours"), CollectorPause():
        raise ValueError("ours")
    assert gc.isenabled()


def test_it_stays_off_if_it_was_off():
    gc.disable()
    with CollectorPause():
        pass
    assert not gc.isenabled()


def test_the_last_of_several_threads_ends_it():
    began, go_on = threading.Event(), threading.Event()

    def hold():
        with CollectorPause():
            began.set()
            go_on.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    began.wait()
    with CollectorPause():
        pass
    assert not gc.isenabled()
    go_on.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_has_it_on():
    began, go_on = threading.Event(), threading.Event()

    def hold():
        with CollectorPause():
            began.set()
            go_on.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    began.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    go_on.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
