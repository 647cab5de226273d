"""Calls of an AutoTokenizer in this process: a time and a digest of the result for each kind of call."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from .measured import digest, least, timed, version_of

SHORT_TEXT = "One short sentence, as a server gets it."
LENGTH = 512
DISTRIBUTIONS = {"crayon": "crayon-hf", "transformers": "transformers"}


def plain(answer: Any) -> Any:
    """Return a result of a tokenizer as plain lists, which can be compared and hashed."""
    if isinstance(answer, (list, str)):
        return answer
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in answer.items()}


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


def measured(step: dict[str, Any], auto: Any) -> dict[str, dict[str, Any]]:
    """Time each call, and two openings of the directory with the class `auto`. Return figures and digests by name.

    The cartridge cache must be empty at first, as after an installation.
    """
    opened: list[Any] = []

    def open_it() -> None:
        opened.append(auto.from_pretrained(step["directory"], local_files_only=True))

    first_seconds, first_cpu = timed(open_it, is_collected=False)  # as in a program, without a collection before
    tokenizer = opened.pop()
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.convert_ids_to_tokens(0)
    with open(step["batch"], encoding="utf-8") as stream:
        batch = json.load(stream)
    cells = {}
    for name, (repeats, call) in calls(tokenizer, batch).items():
        try:
            answer = plain(call())
        except ImportError:  # PyTorch is not installed
            continue
        cells[name] = {**least(call, repeats), "digest": digest(json.dumps(answer, sort_keys=True).encode())}
    cells["from_pretrained, first"] = {"wall": first_seconds, "cpu": first_cpu, "digest": ""}
    seconds, cpu = timed(open_it)
    cells["from_pretrained, again"] = {"wall": seconds, "cpu": cpu, "digest": ""}
    return cells


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Measure all calls, starting with an empty cartridge cache."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import_module("transformers").PreTrainedTokenizerFast  # noqa: B018 - imports what the first opening would
    distribution = DISTRIBUTIONS[job["engine"]]
    auto = import_module(distribution.replace("-", "_")).AutoTokenizer
    with TemporaryDirectory() as cache:
        os.environ["CRAYON_CACHE_DIR"] = cache
        return {"version": version_of(distribution), "cells": measured(step, auto)}
