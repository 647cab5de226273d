"""A file of any size in this process: run by its path, with the job as JSON on the standard input.

The time is that of the calls, without what is done with the ids.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import crayon_hf
from crayon_hf.tokenizer.resolve import open_tokenizer


def encode_ragged(tokenizer: Any, file: str, threads: int) -> Iterator[Any]:
    """All of it as one text."""
    with open(file, "rb") as stream:
        text = stream.read()
    yield tokenizer.encode_ragged([text], threads=threads)[0]


def crayon(tokenizer: Any, file: str, threads: int) -> Iterator[Any]:
    """In windows of a mebibyte."""
    for chunk in tokenizer.encode_file(file):
        yield chunk.ids


ENGINES = {"encode_ragged": encode_ragged, "crayon": crayon}


if __name__ == "__main__":
    job = json.loads(sys.stdin.readline())
    os.sched_setaffinity(0, job["cores"])
    chunks = ENGINES[job["engine"]](open_tokenizer(job["tokenizer"]), job["file"], len(job["cores"]))
    digest = hashlib.blake2b(digest_size=16)
    wall = cpu = 0.0
    while True:
        started, processor = time.perf_counter(), time.process_time()
        ids = next(chunks, None)
        wall, cpu = wall + time.perf_counter() - started, cpu + time.process_time() - processor
        if ids is None:
            break
        digest.update(ids.data)
    result = {"version": crayon_hf.__version__, "seconds": wall, "cpu": cpu, "digest": digest.hexdigest()}
    print(json.dumps(result), flush=True)
