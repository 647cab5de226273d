"""Finds vocabularies to measure, and prepares the files from which each engine opens them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from crayon_hf.formats.export_parts import added_tokens, pre_tokenizers
from crayon_hf.formats.names import NameKind, resolve
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.formats.tiktoken import write_ranks
from crayon_hf.tokenizer.resolve import open_tokenizer
from crayon_hf.util.byte_level import unspell

from ..compare.references import Vocabulary, find, tiktoken_gpt2_pattern, tiktoken_pieces
from ..inputs.texts import shared_directory

__all__ = ["NINE", "find_any", "prepare"]

NINE = ("gpt2", "llama3", "qwen", "cl100k_base", "o200k_base", "llama2", "mistral", "bert-cased", "t5-small")
"""The vocabularies measured by default."""

# Published as a SentencePiece model, which only our conversion and gigatoken read.
_MODELS = {"mistral": "mistral-v3/tokenizer.model"}


def find_any(spec: str, directory: str) -> Vocabulary:
    """Find a vocabulary by name or path.

    A source that the reference libraries do not open is converted to a tokenizer.json in `directory`.
    """
    shared = shared_directory()
    name = Path(spec).stem
    if spec in _MODELS and not os.path.exists(spec) and shared is not None:
        name, spec = spec, str(shared / "vocab" / _MODELS[spec])
    meaning = resolve(spec)
    if meaning.path is None:
        return find(spec)
    given = meaning.path if meaning.kind is NameKind.PATH else spec
    kind = recognise(given) if os.path.isfile(given) else None
    if kind in (Kind.TOKENIZER_JSON, Kind.TIKTOKEN):
        return find(given)
    if kind is Kind.CRAYON_V2:
        return Vocabulary(name, "xerv", Path(given))
    converted = Path(directory) / f"{name}.json"
    open_tokenizer(given).save(str(converted))
    if kind is Kind.SENTENCEPIECE:
        return Vocabulary(name, "tokenizers", converted, model=given)
    return find(str(converted))


def prepare(vocabulary: Vocabulary, directory: str) -> dict[str, Any]:
    """Return the files of a vocabulary for the measuring processes. Files made for them go into ``directory``."""
    if vocabulary.kind == "xerv":
        return {"dat": str(vocabulary.path), "vocabulary": _plain(vocabulary)}
    files: dict[str, Any] = {
        "json": vocabulary.json or str(vocabulary.path),
        "model": str(vocabulary.path) if vocabulary.kind == "sentencepiece" else vocabulary.model,
        "directory": str(vocabulary.path) if vocabulary.kind == "transformers" else "",
        "ours": vocabulary.ours,
        "rank_file": None,
        "vocabulary": _plain(vocabulary),
    }
    if vocabulary.kind == "tokenizers":
        files["tiktoken"] = _tiktoken_of_json(vocabulary, directory)
    if vocabulary.kind != "tiktoken":
        return files
    # Libraries such as tokenizers read no rank files: they get the tokenizer.json that our conversion makes.
    path = os.path.join(directory, f"{vocabulary.name}.json")
    vocabulary.open_ours().save(path)
    files["json"] = path
    special_tokens, pattern = dict(vocabulary.special_tokens), vocabulary.pattern
    if pattern is None:
        pieces = tiktoken_pieces(vocabulary.encoding, vocabulary.path)
        special_tokens, pattern = pieces["special_tokens"], pieces["pat_str"]
    files["tiktoken"] = {
        "name": vocabulary.name,
        "pat_str": pattern,
        "ranks": str(vocabulary.path),
        "special_tokens": special_tokens,
    }
    files["rank_file"] = {
        "path": str(vocabulary.path),
        "encoding": vocabulary.encoding,
        "pattern": vocabulary.pattern,
        "special_tokens": dict(vocabulary.special_tokens),
    }
    return files


def _plain(vocabulary: Vocabulary) -> dict[str, Any]:
    return {**asdict(vocabulary), "path": str(vocabulary.path)}


def _tiktoken_of_json(vocabulary: Vocabulary, directory: str) -> dict[str, Any] | str:
    """Return the arguments of a tiktoken.Encoding whose ranks are the ids of a byte-level tokenizer.json.

    Return the reason as a text if tiktoken cannot encode with the vocabulary.

    The encoding is right if ids are in the order of merging, and pieces are first looked up whole. The benchmark
    therefore compares ids before it times the encoding.
    """
    if find_spec("tiktoken") is None:
        return "tiktoken is not installed"
    document = json.loads(vocabulary.path.read_bytes())
    model = document["model"]
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        return "tiktoken runs BPE only"
    steps = pre_tokenizers(document)
    if not any(step["type"] == "ByteLevel" for step in steps):
        return "tiktoken runs byte-level vocabularies only"
    patterns = [step["pattern"]["Regex"] for step in steps if step["type"] == "Split" and "Regex" in step["pattern"]]
    ordinary = model["vocab"].items() - added_tokens(document).items()
    path = Path(directory, f"{vocabulary.name}.tiktoken")
    path.write_bytes(write_ranks({data: id for token, id in ordinary if (data := unspell(token)) is not None}))
    return {
        "name": vocabulary.name,
        "pat_str": "|".join(patterns or [tiktoken_gpt2_pattern()]),
        "ranks": str(path),
        "special_tokens": {},
    }
