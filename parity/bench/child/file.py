"""Encode a file of any size in this process. Only the calls are timed, not the use of the ids."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Any

from crayon_hf.tokenizer.resolve import open_tokenizer

from .measured import version_of


def encode_ragged(tokenizer: Any, file: str, threads: int) -> Iterator[Any]:
    """Encode the whole file as one text."""
    with open(file, "rb") as stream:
        text = stream.read()
    yield tokenizer.encode_ragged([text], threads=threads)[0]


def crayon(tokenizer: Any, file: str, threads: int) -> Iterator[Any]:
    """Encode the file in windows of a mebibyte, so that memory does not grow with the file."""
    for chunk in tokenizer.encode_file(file):
        yield chunk.ids


ENGINES = {"encode_ragged": encode_ragged, "crayon": crayon}


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Encode the file with the engine that `job` names, and time all its calls together."""
    chunks = ENGINES[job["engine"]](open_tokenizer(step["tokenizer"]), step["file"], job["threads"])
    made = hashlib.blake2b(digest_size=16)
    wall = cpu = 0.0
    while True:
        started, processor = time.perf_counter(), time.process_time()
        ids = next(chunks, None)
        wall, cpu = wall + time.perf_counter() - started, cpu + time.process_time() - processor
        if ids is None:
            break
        made.update(ids.data)
    return {"version": version_of("crayon-hf"), "wall": wall, "cpu": cpu, "digest": made.hexdigest()}
