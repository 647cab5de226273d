"""How a corpus job grows: time, memory and requests at 1, 10 and 50 GB of text, and with very many tasks.

    python tools/corpus_scale.py [--gigabytes 1,10,50] [--tasks 1000,10000] [--tokenizer lite]

The text is made as it is read, and the store counts what it gets and forgets the tokens, so no disk has to hold either.
Each job is a process of its own, with the threads that it takes by itself.
"""

from __future__ import annotations

import argparse
import bisect
import functools
import io
import itertools
import json
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from typing import Any, ClassVar

import fsspec
from fsspec.spec import AbstractFileSystem

from crayon_hf.corpora.job.corpus import tokenize_corpus

_POOL = 32_000_000
_WORDS = 200_000
_FILE = 256_000_000


def made_lines(size: int) -> tuple[bytes, list[int]]:
    """JSON lines of some 2 KB of made words, as frequent as words are (Zipf), and where each begins."""
    chosen = random.Random(1)
    parts = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    words = ["".join(chosen.choices(parts, k=chosen.randint(1, 5))) for _ in range(_WORDS)]
    shares = list(itertools.accumulate(1 / (rank + 3) for rank in range(_WORDS)))
    lines, begins, at = [], [], 0
    while at < size:
        text = " ".join(chosen.choices(words, cum_weights=shares, k=340))
        lines.append(json.dumps({"text": f"{text.capitalize()}.\n"}).encode() + b"\n")
        begins.append(at)
        at += len(lines[-1])
    return b"".join(lines), begins


class MadeText(AbstractFileSystem):  # type: ignore[misc]
    """``made://count-bytes/00000.jsonl``: files of about so many bytes, each beginning elsewhere in the pool."""

    protocol = "made"

    @staticmethod
    @functools.cache
    def _pool() -> tuple[bytes, list[int]]:
        return made_lines(_POOL)

    def _place(self, path: str) -> tuple[int, int]:
        """Where a file begins in the pool, and its size."""
        directory, name = self._strip_protocol(path).split("/")
        pool, begins = self._pool()
        first = begins[int(name.partition(".")[0]) * 7919 % len(begins)]
        rounds, rest = divmod(first + int(directory.partition("-")[2]), len(pool))
        return first, rounds * len(pool) + begins[bisect.bisect_left(begins, rest) - 1] - first

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """As fsspec has it."""
        path = self._strip_protocol(path)
        if "/" not in path:
            return {"name": path, "size": 0, "type": "directory"}
        return {"name": path, "size": self._place(path)[1], "type": "file"}

    def find(self, path: str, detail: bool = False, **_: Any) -> Any:
        """All files."""
        path = self._strip_protocol(path)
        names = [f"{path}/{number:07}.jsonl" for number in range(int(path.partition("-")[0]))]
        return {name: self.info(name) for name in names} if detail else names

    def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        """To be read."""
        return _MadeFile(self._pool()[0], *self._place(path))


class _MadeFile(io.RawIOBase):
    def __init__(self, pool: bytes, first: int, size: int) -> None:
        self._pool, self._first, self._size, self._at = memoryview(pool), first, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, place: int, whence: int = 0) -> int:
        self._at = place + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        begin = (self._first + self._at) % len(self._pool)
        part = self._pool[begin : begin + min(len(view), self._size - self._at)]
        view[: len(part)] = part
        self._at += len(part)
        return len(part)


class CountedStore(AbstractFileSystem):  # type: ignore[misc]
    """A store that counts requests and bytes. It keeps what a job reads again, and of tokens their number alone."""

    protocol = "counted"
    requests: ClassVar[Counter[str]] = Counter()
    sent = 0
    objects: ClassVar[dict[str, tuple[int, bytes | None]]] = {}

    def _put(self, path: str, size: int, data: bytes | None) -> None:
        CountedStore.requests["PUT"] += 1
        CountedStore.sent += size
        self.objects[self._strip_protocol(path)] = size, data

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """One request."""
        if mode == "create" and self._strip_protocol(path) in self.objects:
            CountedStore.requests["PUT"] += 1
            raise FileExistsError(path)
        self._put(path, len(value), bytes(value))

    def put_file(self, lpath: str, rpath: str, **_: Any) -> None:
        """A file of this machine."""
        with open(lpath, "rb") as file:
            data = file.read() if "." in rpath and rpath.rpartition(".")[2] in ("json", "jsonl") else None
            self._put(rpath, file.seek(0, 2), data)

    def cat_file(self, path: str, *_: Any, **__: Any) -> bytes:
        """The whole object."""
        CountedStore.requests["GET"] += 1
        found = self.objects.get(self._strip_protocol(path))
        if found is None or found[1] is None:
            raise FileNotFoundError(path)
        return found[1]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Size and type."""
        CountedStore.requests["HEAD"] += 1
        path = self._strip_protocol(path)
        if path not in self.objects:
            raise FileNotFoundError(path)
        return {"name": path, "size": self.objects[path][0], "type": "file"}

    def find(self, path: str, **_: Any) -> list[str]:
        """Names that begin alike."""
        CountedStore.requests["LIST"] += 1
        return sorted(name for name in self.objects if name.startswith(self._strip_protocol(path) + "/"))

    def rm_file(self, path: str) -> None:
        """Delete one."""
        CountedStore.requests["DELETE"] += 1
        if self.objects.pop(self._strip_protocol(path), None) is None:
            raise FileNotFoundError(path)


def job(files: int, size: int, tokenizer: str) -> dict[str, Any]:
    """Run a job in this process."""
    fsspec.register_implementation("made", MadeText)
    fsspec.register_implementation("counted", CountedStore)
    made_first = fsspec.filesystem("made").info(f"{files}-{size}/0000000.jsonl")["size"]
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    done = tokenize_corpus(
        f"made://{files}-{size}", "counted://out", tokenizer=tokenizer, workers=1, group_bytes=max(1, made_first)
    )
    seconds, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
    manifest = CountedStore.objects["out/manifest.json"][0]
    return {
        "GB": done.counts.input_bytes / 1e9,
        "tasks": done.tasks,
        "seconds": seconds,
        "cpu": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
        "MB": used.ru_maxrss / 1024,
        "tokens": done.counts.tokens,
        "sent": CountedStore.sent,
        "manifest": manifest,
        "requests": dict(CountedStore.requests),
    }


def main() -> None:
    """Print a line for each job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", default="1,10,50", help="sizes of jobs with files of 256 MB")
    parser.add_argument("--tasks", default="1000,10000", help="numbers of tasks of jobs with files of 4 KB")
    parser.add_argument("--tokenizer", default="lite")
    parser.add_argument("--job", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        files, size = arguments.job
        print(json.dumps(job(files, size, arguments.tokenizer)))
        return
    jobs = [(max(1, round(float(size) * 1e9 / _FILE)), _FILE) for size in arguments.gigabytes.split(",") if size]
    jobs += [(int(tasks), 4096) for tasks in arguments.tasks.split(",") if tasks]
    for files, size in jobs:
        command = [sys.executable, __file__, "--tokenizer", arguments.tokenizer, "--job", str(files), str(size)]
        made = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        requests = ", ".join(f"{count} {kind}" for kind, count in sorted(made["requests"].items()))
        print(
            f"{made['GB']:8.3f} GB {made['tasks']:6} tasks {made['seconds']:8.2f} s {made['cpu']:8.2f} s of processors "
            f"{made['MB']:6.0f} MB of memory; {made['tokens'] / 1e6:.1f} M tokens, {made['sent'] / 1e6:.1f} MB sent, "
            f"{made['manifest'] / 1e3:.0f} kB manifest; {requests}",
            flush=True,
        )


if __name__ == "__main__":
    main()
