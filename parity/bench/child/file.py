"""Encode a file of any size in this process. Only the calls are timed, not the use of the ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crayon_hf.tokenizer.resolve import open_tokenizer

from .measured import timing


def chunks(engine: str, tokenizer: Any, path: str, threads: int) -> Iterator[Any]:
    """Yield ids: of the whole file as one text, or of windows of a mebibyte, so that memory does not grow with it."""
    if engine == "encode_ragged":
        yield tokenizer.encode_ragged([Path(path).read_bytes()], threads=threads)[0]
    else:
        for chunk in tokenizer.encode_file(path):
            yield chunk.ids


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Encode the file with the engine that `job` names, and time all its calls together."""
    found = chunks(job["engine"], open_tokenizer(step["tokenizer"]), step["path"], job["threads"])
    made, seconds = hashlib.blake2b(digest_size=16), dict[str, float]()
    while True:
        with timing(seconds):
            ids = next(found, None)
        if ids is None:
            return {**seconds, "digest": made.hexdigest()}
        made.update(ids.data)
