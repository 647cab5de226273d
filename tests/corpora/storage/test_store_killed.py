"""Jobs that write to S3 and are killed: at each of their changes there, before it and after it, and at random moments.

Whatever was left, the same call ends with the bytes of a local run, and nothing else is there: no object, no upload
that was not ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import tokenize_corpus
from tests.corpora.job.job_cases import corpus, documents_of, tree, write_jsonl
from tests.corpora.job.test_killed import ENDINGS, end, start
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import LOST, RESET, Fault, Proxy, Request

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("CRAYON_STORES"), reason="takes minutes: make stores"),
]

# Jobs are forked from a process that has all imports, but no client of the store: its threads would not be forked.
FORKING = f"""
import sys; sys.path.append({str(ROOT)!r})
import json, os
import s3fs, numpy, crayon_hf
from crayon_hf.corpora.job import best_fit, corpus, encoder, packing, prefetch, shuffled, shards, workers
from crayon_hf.corpora.storage import store
from crayon_hf.text_readers import files, json_lines
store._PART, packing.WINDOW = int(sys.argv[2]), 256
tokenizer = crayon_hf.Tokenizer.from_file(sys.argv[1])
tokenizer.encode("warm")
for line in sys.stdin:
    begin, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(begin, 1)
        code = 1
        try:
            crayon_hf.tokenize_corpus(tokenizer=tokenizer, workers=1, threads=1, **json.loads(line))
            code = 0
        except BaseException as error:
            sys.stderr.write(f"{{type(error).__name__}}: {{error}}\\n")
            sys.stderr.flush()
        os._exit(code)
    print(child, flush=True)
    sys.stdin.readline()
    os.close(go)
    os.close(begin)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Zygote:
    """What makes a process for each job, in milliseconds."""

    def __init__(self, tokenizer: Path, part: int = 512) -> None:
        """`part`: bytes of a part of an upload."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKING, tokenizer, str(part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, **arguments: Any) -> int:
        """The number of a process that waits for `end`."""
        self._say(json.dumps(arguments))
        return int(self._hear())

    def end(self) -> int:
        """Let it go; the code that it exits with."""
        self._say("")
        return int(self._hear())

    def run(self, **arguments: Any) -> int:
        self.begin(**arguments)
        return self.end()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def zygote(proxy: Proxy, gpt2_like: Path) -> Iterator[Zygote]:
    made = Zygote(gpt2_like)
    yield made
    made.close()


def killing(process: int, nth: int, after: bool) -> Any:
    """At the nth change: before it, or when it is done and nobody has heard of that."""
    seen = 0

    def fault(request: Request) -> Fault:
        nonlocal seen
        seen += request.changes
        if not request.changes or seen != nth:
            return None
        if after:
            return LOST  # `Proxy.done` kills
        os.kill(process, signal.SIGKILL)
        return RESET

    return fault


CASES: dict[str, dict[str, Any]] = {
    "megatron": {"format": "megatron", "max_tokens_per_shard": 400, "bad_records": "replace"},
    "shuffled": {"format": "npy", "shuffle": True, "seed": 3},
    "mds": {"format": "mds"},
}


def small_corpus(home: Path, files: int) -> None:
    corpus(home / "in", files, 9)
    with open(home / "in" / "0.jsonl", "ab") as file:
        file.write(b"{oops\n")


def options_of(home: Path, case: str) -> dict[str, Any]:
    common = {"inputs": str(home / "in"), "group_bytes": 3000, "batch_bytes": 900, "bad_records": "skip"}
    return {**common, **CASES[case]}


@pytest.mark.parametrize("case", CASES)
def test_killed_at_every_change(tmp_path: Path, proxy: Proxy, bucket: Bucket, zygote: Zygote, case: str) -> None:
    """Before the first, after the second, and so on."""
    small_corpus(tmp_path, 1)
    options = options_of(tmp_path, case)
    assert zygote.run(output=str(tmp_path / "whole"), **options) == 0
    expected = tree(tmp_path / "whole")
    nth, had_unfinished, rows = 0, False, []
    while True:
        nth += 1
        after = nth % 2 == 0
        bucket.clear()
        process = zygote.begin(output="s3://bkt/out", **options)
        proxy.fault = killing(process, nth, after)
        proxy.done = (lambda request, process=process: os.kill(process, signal.SIGKILL)) if after else None
        code = zygote.end()
        proxy.fault, proxy.done = (lambda request: None), None
        if code == 0:
            break
        had_unfinished |= bucket.unfinished() != []
        again = zygote.run(output="s3://bkt/out", **options)
        found = bucket.tree("out")
        rows.append((nth, code, again, found == expected, bucket.unfinished()))
    assert len(rows) > 15
    assert had_unfinished
    assert [row for row in rows if row[1:] != (-signal.SIGKILL, 0, True, [])] == []
    assert bucket.tree("out") == expected
    place = tmp_path / "temporary" / f"crayon-hf-{os.getuid()}"
    assert list(place.iterdir()) == []


PACKED: dict[str, Any] = {
    "format": "npy", "sequence_length": 16, "packing": "best-fit", "remainder": "pad", "pad_token": "!",
    "deduplicate": True, "held_out": 0.3, "max_tokens_per_shard": 128, "bad_records": "skip", "group_bytes": 1,
    "batch_bytes": 900,
}  # fmt: skip
"""Two passes over the inputs, two directories: so many changes that a job for each of them would take minutes."""


def packed_corpus(home: Path) -> None:
    """Two tasks, with duplicates in both and a bad record."""
    texts = documents_of(12, 7)
    write_jsonl(home / "in" / "0.jsonl", texts)
    write_jsonl(home / "in" / "1.jsonl", [*documents_of(8, 8), *texts[:4]])
    with open(home / "in" / "1.jsonl", "ab") as file:
        file.write(b"{oops\n")


class KilledOnceEach:
    """At each change of one half of them that nobody was killed at: before some, after others."""

    def __init__(self, half: int) -> None:
        self.process = 0
        """Whom to kill; 0: nobody."""
        self._half = half
        self._seen: dict[str, list[bytes]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Fault:
        with self._lock:
            if not request.changes or not self.process:
                return None
            what = f"{request.method} {re.sub('[0-9a-f]{16}', 'NUMBER', request.target)}"
            seen = self._seen.setdefault(what, [])
            body = b"" if "lock" in what else request.body  # a state of a task is another change each time
            if body in seen:
                return None
            seen.append(body)
            chance = zlib.crc32(f"{what} {len(seen)}".encode())
            if chance % 2 != self._half:
                return None
            process, self.process = self.process, 0
            if chance & 2:
                self._dying = process
                return LOST  # `Proxy.done` kills
            os.kill(process, signal.SIGKILL)
            return RESET

    def done(self, request: Request) -> None:
        os.kill(self._dying, signal.SIGKILL)


@pytest.mark.parametrize("half", [0, 1])
def test_one_job_killed_at_every_change(
    tmp_path: Path, proxy: Proxy, bucket: Bucket, gpt2_like: Path, half: int
) -> None:
    """Each time it goes on from what is left, until nothing that it changes is new."""
    packed_corpus(tmp_path)
    options = {**PACKED, "inputs": str(tmp_path / "in")}
    killing, codes = KilledOnceEach(half), []
    with contextlib.closing(Zygote(gpt2_like, 1 << 20)) as zygote:
        assert zygote.run(output=str(tmp_path / "whole"), **options) == 0
        proxy.fault, proxy.done = killing, killing.done
        while not codes or codes[-1] == -signal.SIGKILL:
            killing.process = zygote.begin(output="s3://bkt/out", **options)
            codes.append(zygote.end())
    assert codes[-1] == 0
    assert len(codes) > 30
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert list((tmp_path / "temporary" / f"crayon-hf-{os.getuid()}").iterdir()) == []


@pytest.mark.parametrize("old", ["done", "begun"])
def test_killed_while_another_job_is_overwritten(
    tmp_path: Path, proxy: Proxy, bucket: Bucket, zygote: Zygote, old: str
) -> None:
    """The old job had other names; nothing of it is left."""
    small_corpus(tmp_path, 2)
    options = options_of(tmp_path, "megatron")
    before = {**options_of(tmp_path, "mds"), "max_tokens_per_shard": 200}
    assert zygote.run(output=str(tmp_path / "whole"), **options) == 0
    expected = tree(tmp_path / "whole")
    nth, rows = 0, []
    while True:
        nth += 3
        bucket.clear()
        process = zygote.begin(output="s3://bkt/out", **before)
        proxy.fault = killing(process, 25 if old == "begun" else 0, False)
        assert zygote.end() == (0 if old == "done" else -signal.SIGKILL)
        assert len(bucket.tree("out")) > 6
        process = zygote.begin(output="s3://bkt/out", overwrite=True, **options)
        proxy.fault = killing(process, nth, False)
        code = zygote.end()
        proxy.fault = lambda request: None
        if code == 0:
            break
        again = zygote.run(output="s3://bkt/out", overwrite=True, **options)
        rows.append((nth, code, again, bucket.tree("out") == expected, bucket.unfinished()))
    assert len(rows) > 10
    assert [row for row in rows if row[1:] != (-signal.SIGKILL, 0, True, [])] == []


def test_ended_at_twelve_random_moments(tmp_path: Path, gpt2_like: Path, proxy: Proxy, bucket: Bucket) -> None:
    """By SIGKILL and by signals that end it in order."""
    corpus(tmp_path / "in", 4, 250)
    tokenize_corpus(
        tmp_path / "in", tmp_path / "whole", tokenizer=str(gpt2_like), append_eos=True, group_bytes=100 << 10,
        max_tokens_per_shard=5000, bad_records="replace",
    )  # fmt: skip
    expected = tree(tmp_path / "whole")
    began = time.monotonic()
    whole = start(tmp_path, "s3://bkt/whole", gpt2_like, 2)
    assert whole.communicate()[1] == ""
    seconds = time.monotonic() - began
    assert bucket.tree("whole") == expected
    kills = 0
    for seed in range(1000):
        output = f"out{kills % 4}"  # three of each kind, before it is let end
        job = start(tmp_path, f"s3://bkt/{output}", gpt2_like, 2)
        try:
            job.communicate(timeout=random.Random(seed).uniform(0.2, 1.0) * seconds)
            assert job.returncode == 0, seed
            assert bucket.tree(output) == expected, seed
            for key in bucket.tree(output):
                bucket.delete(f"{output}/{key}")
        except subprocess.TimeoutExpired:
            end(job, *ENDINGS[(kills + kills // 4) % 4])
            kills += 1
        if kills == 12:
            break
    for output in ("out0", "out1", "out2", "out3"):
        job = start(tmp_path, f"s3://bkt/{output}", gpt2_like, 2)
        assert job.communicate()[1] == ""
        assert job.returncode == 0
        assert bucket.tree(output) == expected
    assert bucket.unfinished() == []
