"""The contestants of the benchmark: each engine's calls that turn many documents, or one short text, into ids."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .references import Vocabulary, byte_level_alphabet

ENGINES = ("crayon", "tokenizers", "tiktoken")

# What each call gives: contiguous arrays, Python lists of ints, or Encodings with everything else.
CALLS = {
    ("crayon", "encode_ragged"): "arrays",
    ("crayon", "encode_batch_fast, ids"): "lists",
    ("crayon", "encode_batch"): "Encodings",
    ("tokenizers", "encode_batch_fast, ids"): "lists",
    ("tokenizers", "encode_batch"): "Encodings",
    ("tiktoken", "encode_ordinary_batch"): "lists",
}

Documents = list[str]


class NotComparable(Exception):
    """An engine that cannot open a vocabulary; the message says why."""


def open_engine(engine: str, vocabulary: Vocabulary, ours: str = "") -> Any:
    """The engine's own object for the vocabulary. ``ours`` is ``module:function`` in place of crayon_hf.Tokenizer."""
    if engine != "crayon" and find_spec(engine) is None:
        raise NotComparable(f"{engine} is not installed")
    if engine == "crayon":
        if ours:
            module, _, function = ours.partition(":")
            return getattr(import_module(module), function)(vocabulary)
        return vocabulary.open_ours()
    if engine == vocabulary.kind:
        return vocabulary.open_reference()
    if engine == "tiktoken":
        return _tiktoken_of_json(vocabulary)
    if engine == "tokenizers":
        # tokenizers reads no rank files: it gets the tokenizer.json that our conversion makes of one.
        import tokenizers

        return tokenizers.Tokenizer.from_str(vocabulary.open_ours().to_str())
    raise ValueError(f"no engine {engine!r}; there are: {', '.join(ENGINES)}")


def bind(engine: str, call: str, opened: Any, threads: int) -> Callable[[Documents], Any]:
    """The call on documents, without special tokens. What it returns is what a user of the call gets."""
    if engine == "crayon":
        if call == "encode_ragged":
            return lambda docs: opened.encode_ragged(docs, add_special_tokens=False, threads=threads)
        if call == "encode_batch":
            return lambda docs: opened.encode_batch(docs, add_special_tokens=False, threads=threads)
        return lambda docs: [e.ids for e in opened.encode_batch_fast(docs, add_special_tokens=False, threads=threads)]
    if engine == "tokenizers":  # its threads come from the environment of the process
        if call == "encode_batch":
            return lambda docs: opened.encode_batch(docs, add_special_tokens=False)
        return lambda docs: [e.ids for e in opened.encode_batch_fast(docs, add_special_tokens=False)]
    return lambda docs: opened.encode_ordinary_batch(docs, num_threads=threads)


def bind_short(engine: str, opened: Any) -> Callable[[str], Any]:
    """The usual call on one text, to a list of ids."""
    if engine == "tiktoken":
        return lambda text: opened.encode_ordinary(text)
    return lambda text: opened.encode(text, add_special_tokens=False).ids


def digest(call: str, result: Any) -> tuple[str, int]:
    """A hash of the ids of every document and of where documents end; and how many tokens there are."""
    if call == "encode_ragged":
        ids, splits = result
        flat, ends = array("i", ids.tolist()), array("q", splits.tolist())
    else:
        rows: Sequence[Any] = result
        flat, ends = array("i"), array("q", [0])
        for row in rows:
            flat.extend(row if isinstance(row, list) else row.ids)
            ends.append(len(flat))
    return hashlib.blake2b(flat.tobytes() + ends.tobytes(), digest_size=16).hexdigest(), len(flat)


def _tiktoken_of_json(vocabulary: Vocabulary) -> Any:
    """A tiktoken.Encoding of a byte-level tokenizer.json: the id of each token taken for its rank.

    This is right where ids are in order of merging and pieces are looked up whole first; the benchmark compares ids
    before it believes it.
    """
    import tiktoken

    document = json.loads(vocabulary.path.read_bytes())
    model = document["model"]
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        raise NotComparable("tiktoken runs BPE only")
    steps = _steps(document.get("pre_tokenizer"), "pretokenizers")
    if not any(step["type"] == "ByteLevel" for step in steps):
        raise NotComparable("tiktoken runs byte-level vocabularies only")
    patterns = [step["pattern"]["Regex"] for step in steps if step["type"] == "Split" and "Regex" in step["pattern"]]
    if not patterns:
        patterns = [tiktoken_gpt2_pattern()]
    bytes_of = {char: bytes([byte]) for byte, char in byte_level_alphabet().items()}
    added = {entry["content"] for entry in document.get("added_tokens") or []}
    ranks = {
        b"".join(bytes_of[char] for char in token): id
        for token, id in model["vocab"].items()
        if token not in added and all(char in bytes_of for char in token)
    }
    return tiktoken.Encoding(vocabulary.name, pat_str="|".join(patterns), mergeable_ranks=ranks, special_tokens={})


def _steps(component: Any, key: str) -> list[dict[str, Any]]:
    if component is None:
        return []
    return (
        [step for part in component[key] for step in _steps(part, key)]
        if component["type"] == "Sequence"
        else [component]
    )


def tiktoken_gpt2_pattern() -> str:
    """tiktoken's spelling of the pattern that ByteLevel uses."""
    pattern: str = import_module("tiktoken_ext.openai_public").r50k_pat_str
    return pattern
