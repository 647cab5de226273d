"""Many threads on one engine, several engines at once, and forks during calls."""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from crayon_hf import _core
from crayon_hf._core import _testing
from crayon_hf.errors import InvalidUtf8Error, VocabularyError
from tests.support import families, reference_impl
from tests.support.sampling import sampled

pytestmark = pytest.mark.concurrency

cpu = reference_impl.cpu


@functools.cache
def vocabulary(seed: int) -> str:
    """The JSON of a trained tokenizer, another one for each seed."""
    text = reference_impl.generated_text(random.Random(seed), 60_000).split("\n")
    tokenizer = families.byte_level(text, 1200 + 100 * seed, [])
    tokenizer.add_special_tokens(["<|end|>"])
    return str(tokenizer.to_str())


@functools.cache
def documents() -> list[str]:
    """Many small texts, some empty, and one that is larger than all others together."""
    rng = random.Random(5)
    text = reference_impl.generated_text(rng, 400_000)
    out = []
    while text:
        size = int(rng.expovariate(1 / 600))
        out.append(text[:size])
        text = text[size:]
    out.insert(len(out) // 2, reference_impl.generated_text(rng, 300_000) + "<|end|>")
    return [*out, ""]


@pytest.fixture(scope="module")
def engine(cpu: str) -> _core.Engine:
    return reference_impl.open_engine(vocabulary(1))


@functools.cache
def expected(seed: int = 1) -> list[list[int]]:
    return [e.ids for e in Tokenizer.from_str(vocabulary(seed)).encode_batch(documents())]


def ragged(engine: _core.Engine, texts: list[Any], threads: int = 0) -> list[list[int]]:
    flat, splits = engine.encode_ragged(texts, threads=threads)
    return [flat[a:b].tolist() for a, b in pairwise(splits)]


# -- threads of the engine


@pytest.mark.parametrize("threads", sampled([0, 1, 2, 3, 8, 100], 2))
def test_every_number_of_threads(engine: _core.Engine, threads: int) -> None:
    texts, want = documents(), expected()
    assert ragged(engine, texts, threads) == want
    assert ragged(engine, [text.encode() for text in texts], threads) == want
    assert engine.count_tokens(texts, threads=threads) == [len(ids) for ids in want]
    assert [e.ids for e in engine.encode_batch(texts, threads=threads)] == want
    assert engine.decode_batch(want, False, threads) == texts


@pytest.mark.parametrize("value", ["1", "", "0", " ", "-1", "1.5", "3x"])
def test_the_number_of_threads_from_outside(engine: _core.Engine, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CRAYON_NUM_THREADS", value)
    if value in ("1", ""):
        assert ragged(engine, documents()) == expected()
        return
    for call in (engine.encode_ragged, engine.count_tokens, engine.encode_batch):
        with pytest.raises(ValueError, match="CRAYON_NUM_THREADS"):
            call(documents())


# -- threads of Python


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run work(0) to work(count - 1) in threads that start together. Raises an exception of one of them."""
    with ThreadPoolExecutor(count) as pool:
        barrier = threading.Barrier(count)

        def run(i: int) -> None:
            barrier.wait()
            work(i)

        for future in [pool.submit(run, i) for i in range(count)]:
            future.result()


def test_eight_threads_on_one_engine(engine: _core.Engine) -> None:
    texts, want = documents(), expected()

    def work(i: int) -> None:
        order = random.Random(i).sample(range(len(texts)), len(texts))
        shuffled = [texts[k] for k in order]
        if i % 2:
            assert ragged(engine, shuffled, threads=1 + i % 3) == [want[k] for k in order]
        else:
            for k in order:
                assert engine.encode_ids(texts[k]) == want[k]
                assert engine.decode(want[k], skip_special_tokens=False) == texts[k]

    in_threads(8, work)


# -- errors in the middle


@pytest.mark.parametrize("threads", [1, 8])
def test_an_error_in_the_middle(cpu: str, threads: int) -> None:
    """An item of a wrong type, or an error found while encoding an item, ends the call. The engine stays usable."""
    tokenizer = Tokenizer.from_str(vocabulary(1))
    tokenizer.add_tokens([AddedToken("<r>", rstrip=True), AddedToken(" ", lstrip=True, single_word=True)])
    engine = reference_impl.open_engine(tokenizer.to_str())
    texts = [text.replace("  ", " ") for text in documents()]
    want = ragged(engine, texts, threads=1)
    cases: list[tuple[Any, type[Exception], str]] = [("<r>  -", VocabularyError, "white space")]
    cases += [(bad, error, "item 300 ") for bad, error in ((b"\xff", InvalidUtf8Error), (3, TypeError))]
    for bad, error, says in cases:
        broken = [*texts[:300], bad, *texts[300:]]
        for call in (engine.encode_ragged, engine.count_tokens):
            with pytest.raises(error, match=says):
                call(broken, threads=threads)
        assert ragged(engine, texts, threads=threads) == want


def test_a_list_that_changes_meanwhile(engine: _core.Engine) -> None:
    """Another thread empties and fills the list of texts during the call, which encodes the texts that the list had
    when the call began."""
    first = [bytes(text, "utf-8") for text in documents()]
    stop = threading.Event()
    texts: list[Any] = []
    lengths = {0, len(first)}

    def change() -> None:
        while not stop.is_set():
            texts[:] = [bytes(bytearray(text)) for text in first]
            del texts[:]

    worker = threading.Thread(target=change)
    worker.start()
    try:
        for _ in range(15):
            got = ragged(engine, texts, threads=2)
            assert len(got) in lengths
            assert not got or got == expected()
            assert len(engine.count_tokens(texts)) in lengths
            assert len(engine.encode_batch([*documents()[:50]], threads=2)) == 50
    finally:
        stop.set()
        worker.join()


# -- forks

FORKS = """
import json, os, signal, sys, threading, time
from crayon_hf import _core

path, texts, forks = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
engine = _core.Engine.open(path)
want = [ids.tolist() for ids in engine.encode_ragged(texts, threads=1)]
stop = threading.Event()
sys.setswitchinterval(0.0005)


def work(i):
    while not stop.is_set():
        engine.encode_ragged(texts, threads=3) if i % 2 else [engine.encode_ids(text) for text in texts]


workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for worker in workers:
    worker.start()
failed = []
for i in range(forks):
    time.sleep(0.01 * (i % 3))
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # ends a child that hangs
        status = 1
        try:
            same = [ids.tolist() for ids in engine.encode_ragged(texts, threads=1 + i % 4)] == want
            other = _core.Engine.open(path)
            ids = other.encode_ids(texts[0])
            same = same and ids == engine.encode_ids(texts[0]) == want[0][: len(ids)]
            status = 0 if same and engine.count_tokens(texts, threads=2) == other.count_tokens(texts) else 2
        finally:
            os._exit(status)
    if (status := os.waitpid(child, 0)[1]) != 0:
        failed.append((i, status))
stop.set()
for worker in workers:
    worker.join()
again = [ids.tolist() for ids in engine.encode_ragged(texts, threads=2)] == want
print(json.dumps({"failed": failed, "again": again}))
"""


@pytest.mark.slow
@pytest.mark.forks_from_threads
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_while_threads_encode(tmp_path: Path, cpu: str) -> None:
    """A forked child has only the thread that forked; other threads of the parent may have held locks. The child can
    encode nevertheless, without a long wait."""
    cartridge = tmp_path / "vocabulary.dat"
    cartridge.write_bytes(reference_impl.compiled(vocabulary(1)))
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(documents()[:120]))
    command = [sys.executable, "-W", "ignore", "-c", FORKS, str(cartridge), str(texts), "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"failed": [], "again": True}


# -- how many threads a call uses

MIB = 1 << 20


def tree(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 {root} /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
)


def v2(name: str, limits: dict[str, str]) -> dict[str, str]:
    files = {f"sys/fs/cgroup{group}/cpu.max": text for group, text in limits.items()}
    return {"proc/self/cgroup": f"0::{name}\n", "proc/self/mountinfo": V2_MOUNT} | files


def v1(name: str, root: str, place: str, quota: str) -> dict[str, str]:
    return {
        "proc/self/cgroup": f"5:cpuset:/\n4:cpu,cpuacct:{name}\n0::/\n",
        "proc/self/mountinfo": V1_MOUNT.format(root=root),
        f"sys/fs/cgroup/cpu,cpuacct{place}/cpu.cfs_quota_us": quota,
        f"sys/fs/cgroup/cpu,cpuacct{place}/cpu.cfs_period_us": "100000",
    }


DEEP = "/a.slice/b.scope"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        (v2("/", {"": "150000 100000\n"}), 1.5),
        (v2("/", {"": "max 100000\n"}), None),
        (v2("/", {"": ""}), None),
        (v2("/", {"": "-1"}), None),
        # The smallest quota of all parent groups counts.
        (v2(DEEP, {"/a.slice": "200000 100000\n", DEEP: "400000 100000\n"}), 2),
        (v2(DEEP, {"/a.slice": "200000 100000\n", DEEP: "50000 100000\n"}), 0.5),
        (v1("/box", "/", "/box", "300000"), 3),
        (v1("/box", "/", "/box", "-1"), None),
        # A container sees its own part.
        (v1("/docker/123", "/docker/123", "", "250000"), 2.5),
        ({}, None),
        ({"proc/self/cgroup": "nonsense\n\n::"}, None),
        ({"proc/self/mountinfo": "1 2\n- cgroup2"}, None),
    ],
)
def test_quotas(tmp_path, files, quota) -> None:
    assert _testing.core_quota(tree(tmp_path, files)) == quota


def test_small_batches_start_no_threads(monkeypatch) -> None:
    monkeypatch.setenv("CRAYON_NUM_THREADS", "4")
    assert [_testing.thread_count(0, size) for size in (0, 200_000, MIB // 2, MIB, 100 * MIB)] == [1, 1, 2, 4, 4]


def test_as_many_as_asked_for_up_to_what_has_a_use() -> None:
    cores = os.cpu_count() or 1
    assert _testing.thread_count(3, 0) == 3
    assert min(8, 2 * cores) <= _testing.thread_count(1000, 100 * MIB) <= max(8, 2 * cores)
