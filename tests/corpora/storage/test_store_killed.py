"""Jobs that write to S3 and are killed before or after each of their changes to the store.

Repeating the call then gives the files of a local run as objects, without other objects or unfinished uploads.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpora.job.job_cases import documents_of, tree, write_jsonl
from tests.corpora.storage.conftest import Bucket
from tests.corpora.storage.proxy import LOST, RESET, Fault, Proxy, Request

ROOT = Path(__file__).parents[3]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("CRAYON_STORES"), reason="takes minutes: make stores"),
]

# Jobs are forked from a process with all imports but without a client of the store, whose threads a fork would lose.
FORKING = f"""
import sys; sys.path.append({str(ROOT)!r})
import json, os
import s3fs, numpy, crayon_hf
from crayon_hf.corpora.job import best_fit, corpus, documents, encoder, packing, prefetch, shards, pool
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
    """Forks a process for each job in milliseconds."""

    def __init__(self, tokenizer: Path, part: int = 512) -> None:
        """`part` is the size in bytes of a part of a multipart upload."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKING, tokenizer, str(part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, **arguments: Any) -> int:
        """Fork a process that waits for `end` before it runs a job. Returns its process id."""
        self._say(json.dumps(arguments))
        return int(self._hear())

    def end(self) -> int:
        """Let the forked process run its job. Returns the exit status."""
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


CASES: dict[str, dict[str, Any]] = {
    "megatron": {"format": "megatron", "max_tokens_per_shard": 400, "bad_records": "replace"},
    "shuffled": {"format": "npy", "shuffle": True, "seed": 3},
    "mds": {"format": "mds"},
    "packed": {
        "format": "npy", "sequence_length": 16, "packing": "best-fit", "remainder": "pad", "pad_token": "!",
        "deduplicate": True, "held_out": 0.3, "max_tokens_per_shard": 128,
    },
}  # fmt: skip


def options_of(home: Path, case: str) -> dict[str, Any]:
    common = {"inputs": str(home / "in"), "group_bytes": 1, "batch_bytes": 900, "bad_records": "skip"}
    return {**common, **CASES[case]}


def small_corpus(home: Path) -> None:
    """Write the inputs of two tasks, with duplicates in both and a bad record."""
    texts = documents_of(12, 7)
    write_jsonl(home / "in" / "0.jsonl", texts)
    write_jsonl(home / "in" / "1.jsonl", [*documents_of(8, 8), *texts[:4]])
    with open(home / "in" / "1.jsonl", "ab") as file:
        file.write(b"{oops\n")


class KilledOnceEach:
    """A fault for the proxy that kills the job's process once at each change to the store, before or after it.

    `half` (0 or 1) chooses one half of the changes.
    """

    def __init__(self, half: int) -> None:
        self.process = 0
        """The process to kill, or 0."""
        self._half = half
        self._seen: dict[str, list[bytes]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Fault:
        with self._lock:
            if not request.changes or not self.process:
                return None
            what = f"{request.method} {re.sub('[0-9a-f]{16}|uploadId=[^&]+', 'NUMBER', request.target)}"
            seen = self._seen.setdefault(what, [])
            if request.body in seen:  # each write of a task's state is a different change
                return None
            seen.append(request.body)
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


def until_done(zygote: Zygote, proxy: Proxy, half: int, **options: Any) -> list[int]:
    """Repeat the job until it is not killed. Returns the exit codes of all its processes."""
    killing, codes = KilledOnceEach(half), [-signal.SIGKILL]
    proxy.fault, proxy.done = killing, killing.done
    while codes[-1] == -signal.SIGKILL:
        killing.process = zygote.begin(output="s3://bkt/out", **options)
        codes.append(zygote.end())
    return codes[1:]


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_killed_at_every_change(
    tmp_path: Path, proxy: Proxy, bucket: Bucket, zygote: Zygote, case: str, half: int
) -> None:
    """Each call of the job continues the work and is killed at another change, until no such change is left."""
    small_corpus(tmp_path)
    options = options_of(tmp_path, case)
    assert zygote.run(output=str(tmp_path / "whole"), **options) == 0
    codes = until_done(zygote, proxy, half, **options)
    assert codes[-1] == 0
    assert len(codes) > 5
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
    assert list((tmp_path / "temporary" / f"crayon-hf-{os.getuid()}").iterdir()) == []


@pytest.mark.parametrize("old", ["done", "begun"])
def test_killed_while_another_job_is_overwritten(
    tmp_path: Path, proxy: Proxy, bucket: Bucket, zygote: Zygote, old: str
) -> None:
    """The overwritten job had other names. None of its objects are left."""
    small_corpus(tmp_path)
    options = options_of(tmp_path, "megatron")
    assert zygote.run(output=str(tmp_path / "whole"), **options) == 0
    process = zygote.begin(output="s3://bkt/out", **{**options_of(tmp_path, "mds"), "max_tokens_per_shard": 200})
    if old == "begun":
        proxy.fault = lambda request: os.kill(process, signal.SIGKILL) if len(proxy.requests) > 60 else None
    assert zygote.end() == (0 if old == "done" else -signal.SIGKILL)
    assert len(bucket.tree("out")) > 6
    codes = until_done(zygote, proxy, 0, overwrite=True, **options)
    assert codes[-1] == 0
    assert len(codes) > 5
    assert bucket.tree("out") == tree(tmp_path / "whole")
    assert bucket.unfinished() == []
