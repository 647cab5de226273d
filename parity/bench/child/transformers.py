"""Calls of an AutoTokenizer in this process: a time and a digest of the result for each kind of call."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from .measured import digest, least, timed

SHORT_TEXT = "One short sentence, as a server gets it."
LENGTH = 512


def calls(tokenizer: Any, batch: list[str]) -> dict[str, tuple[int, Callable[[], Any]]]:
    """Return, by name, each timed call and how often one measurement repeats it."""
    sized = {"padding": True, "truncation": True, "max_length": LENGTH}
    ids = tokenizer(batch)["input_ids"]
    size = f"{len(batch):,} texts"
    return {
        "one short sentence": (500, lambda: tokenizer(SHORT_TEXT)),
        f"{size}, lists": (1, lambda: tokenizer(batch)),
        f"{size}, np": (1, lambda: tokenizer(batch, return_tensors="np", **sized)),
        f"{size}, pt": (1, lambda: tokenizer(batch, return_tensors="pt", **sized)),
        f"{size}, batch_decode": (1, lambda: tokenizer.batch_decode(ids)),
    }


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Time each call, and two openings of the directory. The cartridge cache is empty at first."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import_module("transformers").PreTrainedTokenizerFast  # noqa: B018 - imports what the first opening would
    auto = import_module("transformers" if job["engine"] == "transformers" else "crayon_hf").AutoTokenizer
    opened: list[Any] = []

    def open_it() -> None:
        opened.append(auto.from_pretrained(step["directory"], local_files_only=True))

    with TemporaryDirectory() as cache:
        os.environ["CRAYON_CACHE_DIR"] = cache
        first = timed(open_it)
        tokenizer = opened.pop()
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.convert_ids_to_tokens(0)
        cells: dict[str, Any] = {}
        for name, (repeats, call) in calls(tokenizer, step["batch"]).items():
            try:
                answer = call()
            except ImportError:  # PyTorch is not installed
                continue
            plain = answer if isinstance(answer, list) else dict(answer)
            made = json.dumps(plain, sort_keys=True, default=lambda array: array.tolist())
            cells[name] = {**least(call, repeats=repeats), "digest": digest(made.encode())}
        gc.collect()
        return {"cells": {**cells, "from_pretrained, first": first, "from_pretrained, again": timed(open_it)}}
