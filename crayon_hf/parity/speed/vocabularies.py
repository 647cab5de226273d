"""Finds vocabularies to measure, and prepares the files from which each engine opens them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from crayon_hf.formats.recognise import Kind, recognise

from ..compare.references import TIKTOKEN, Vocabulary
from ..compare.targets import TargetError, exported_ranks, find_target
from ..inputs.texts import shared_directory

__all__ = ["NINE", "find_any", "prepare"]

NINE = ("gpt2", "llama3", "qwen", "cl100k_base", "o200k_base", "llama2", "mistral", "bert-cased", "t5-small")
"""The vocabularies measured by default."""

# Published as a SentencePiece model, which only our conversion and gigatoken read.
_MODELS = {"mistral": "mistral-v3/tokenizer.model"}


def find_any(spec: str, directory: str) -> Vocabulary:
    """Find a vocabulary by name or path. A rank file is compared with tiktoken, any other source with tokenizers.

    A source that tokenizers does not open is converted to a tokenizer.json in `directory`.
    """
    shared = shared_directory()
    if spec in _MODELS and not os.path.exists(spec) and shared is not None:
        return replace(find_any(str(shared / "vocab" / _MODELS[spec]), directory), name=spec)
    if os.path.isfile(spec) and recognise(spec) is Kind.CRAYON_V2:
        return Vocabulary(Path(spec).stem, "xerv", Path(spec))
    against = "tiktoken" if spec in TIKTOKEN or spec.endswith(".tiktoken") else "tokenizers"
    return find_target(spec, against, mkdtemp(dir=directory), timed_only=True).vocabulary


def prepare(vocabulary: Vocabulary, directory: str, engines: Sequence[str]) -> dict[str, Any]:
    """Return the files of a vocabulary for the engines' processes. Files made for them go into `directory`.

    The ``ranks`` are a rank file and the other arguments of a `tiktoken.Encoding`, or else ``why_not``. Our engine
    opens the file ``ours``, with ``options`` if it is a rank file.
    """
    if vocabulary.kind == "xerv":
        return {"dat": str(vocabulary.path)}
    json, ours = vocabulary.json or str(vocabulary.path), vocabulary.ours or str(vocabulary.path)
    options, ranks = dict[str, Any](), dict[str, Any]()
    if vocabulary.kind == "tiktoken":
        # Libraries such as tokenizers read no rank files: they get the tokenizer.json that our conversion makes.
        json, ranks = os.path.join(directory, f"{vocabulary.name}.json"), _ranks_of(vocabulary)
        vocabulary.open_ours().save(json)
        if not vocabulary.ours:
            named = {"name": vocabulary.encoding}
            options = named if vocabulary.encoding else {key: ranks[key] for key in ("pattern", "special_tokens")}
    elif "tiktoken" in engines:
        try:
            ranks = {**_ranks_of(exported_ranks(vocabulary.name, json, directory)), "encoding": ""}
        except TargetError as error:
            ranks = {"why_not": str(error)}
    model = ours if recognise(ours) is Kind.SENTENCEPIECE else ""
    stock = ours if vocabulary.kind == "transformers" else ""
    return {"json": json, "ours": ours, "options": options, "model": model, "directory": stock, "ranks": ranks}


def _ranks_of(vocabulary: Vocabulary) -> dict[str, Any]:
    made, path = vocabulary.tiktoken_arguments(), str(vocabulary.path)
    options = {"pattern": made["pat_str"], "special_tokens": made["special_tokens"]}
    return {"path": path, "encoding": vocabulary.encoding, **options}
