"""Copies, and other processes: forked, spawned, killed."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

from crayon_hf import Tokenizer
from tests.soak.material import ROOT
from tests.soak.table import Difference
from tests.soak.world import Run

PATIENCE = 120
"""Seconds after which a child is said to hang."""
EQUAL, DIFFERENT, RAISED = 0, 3, 4


def copy_it(run: Run) -> None:
    """Copies of every kind."""
    twin_of = run.rng.choice([copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    run.check(twin_of(run.subject.tokenizer))
    if run.rng.random() < 0.3:
        subject = run.rng.choice(run.world.encodings)
        twin = pickle.loads(pickle.dumps(subject.encoding))
        i = run.rng.randrange(len(subject.material.texts))
        run.same(twin.encode_ordinary(subject.material.texts[i]), subject.material.ids[i], "a pickled Encoding")


def fork(run: Run) -> None:
    """A child of fork() encodes, decodes and opens, whatever other threads were doing in the parent."""
    of, numbers = run.material, run.some(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are the point
        child = os.fork()
    if child == 0:
        code = RAISED
        try:
            texts = [of.texts[i] for i in numbers]
            batch = run.subject.tokenizer.encode_batch(texts, add_special_tokens=False, threads=2)
            code = EQUAL if [one.ids for one in batch] == [of.ids[i] for i in numbers] else DIFFERENT
            opened = Tokenizer.from_file(run.subject.cartridge)
            for i in numbers[:3]:
                if opened.encode(of.texts[i]).ids != of.whole[i] or opened.decode(of.whole[i]) != of.decoded[i]:
                    code = DIFFERENT
        finally:
            os._exit(code)
    run.same(_wait(child), EQUAL, "what a forked child says (3: different ids, 4: it raised)")


def _wait(child: int) -> int:
    stop = time.monotonic() + PATIENCE
    while time.monotonic() < stop:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Difference(f"a forked child hangs: nothing for {PATIENCE} seconds")


def _child(work: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.soak.child", work]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def spawn(run: Run) -> None:
    """A new process gets a pickled tokenizer, encodes, and gives its own back."""
    of, numbers = run.material, run.some(60)
    given = pickle.dumps((run.subject.tokenizer, [of.texts[i] for i in numbers]))
    with _child("encode") as process:
        said, _ = process.communicate(given, timeout=PATIENCE)
    run.same(process.returncode, 0, "the exit status of a spawned child")
    ids, tokenizer = pickle.loads(said)
    run.same(ids, [of.ids[i] for i in numbers], "a spawned child")
    run.check(tokenizer, what="a tokenizer from a child")


def kill(run: Run) -> None:
    """A process is killed while it encodes from the same cartridge."""
    given = pickle.dumps((run.subject.tokenizer, run.material.texts))
    with _child("go on") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.close()
        run.same(process.stdout.read(1), b"!", "a child that encodes")
        time.sleep(run.rng.random() / 50)
        process.kill()
    run.same(process.returncode, -signal.SIGKILL, "the exit status of a killed child")
    run.expected_errors += 1
    run.check(Tokenizer.from_file(run.subject.json))


def serve(work: str, given: Any, out: Any) -> None:
    """What the children of `spawn` and `kill` do."""
    tokenizer, texts = given
    ids = [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=False, threads=2)]
    if work == "encode":
        out.write(pickle.dumps((ids, tokenizer)))
        return
    out.write(b"!")
    out.flush()
    while True:
        tokenizer.encode_batch(texts)
