"""Building blocks of a ``tokenizer.json`` for readers of other formats, and their JSON parser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crayon_hf.errors import VocabularyError
from crayon_hf.util.damage import json_fault

Part = dict[str, Any]

BPE: Mapping[str, Any] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
"""A BPE model without vocabulary."""


def whole_document(model: Mapping[str, Any], **parts: Any) -> Part:
    """Return a ``tokenizer.json`` with this model; missing components are null."""
    settings = ("truncation", "padding")
    components = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    empty: Part = {"version": "1.0", **dict.fromkeys(settings), "added_tokens": [], **dict.fromkeys(components)}
    return {**empty, **parts, "model": model}


def added_token(id: int, content: str, **flags: bool) -> Part:
    """Return a special token that is matched literally; `flags` override its flags."""
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **usual, **flags}


def split(pattern: str) -> Part:
    """Return a pre-tokenizer that isolates the matches of a regular expression."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def byte_level(add_prefix_space: bool = False, trim_offsets: bool = True, use_regex: bool = False) -> Part:
    """Return a byte-level pre-tokenizer, post-processor or decoder."""
    settings = {"add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}
    return {"type": "ByteLevel", **settings}


def parsed(data: bytes | str, name: str) -> Any:
    """Parse a file as JSON. If it is not JSON, raise VocabularyError with a message that begins with `name`."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{name} {json_fault(error)}") from error
