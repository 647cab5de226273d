"""tiktoken's encodings as sources: rank files, encodings by their names, and ``tiktoken.Encoding`` objects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from crayon_hf.errors import VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.tiktoken import (
    KNOWN_ENCODINGS,
    RankFile,
    fetch_published_file,
    find_published_file,
    identify,
    read_ranks,
    tokenizer_json,
)
from crayon_hf.util.extras import needed
from crayon_hf.util.files import read_source

_END = "<|endoftext|>"


def read_rank_file(
    data: bytes,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Converted:
    """Read the contents of a rank file. Only a published file needs no `pattern` or `special_tokens`."""
    digest = sha256(data).hexdigest()
    facts = identify(digest, pattern=pattern, special_tokens=special_tokens, name=name)
    return _converted(read_ranks(data), facts)


def read_encoding(encoding: Any, **options: Any) -> Converted:
    """Read a ``tiktoken.Encoding``, or an encoding that tiktoken knows by name."""
    if isinstance(encoding, (str, os.PathLike)):
        return _by_name(os.fspath(encoding), options)
    try:
        ranks, pattern = encoding._mergeable_ranks, encoding._pat_str
        facts = RankFile(encoding.name, pattern, dict(encoding._special_tokens))
    except AttributeError:
        kind = type(encoding).__name__
        raise TypeError(f"source is {kind}, expected a path, the name of an encoding or a tiktoken.Encoding") from None
    if options:
        raise VocabularyError(f"{', '.join(options)} cannot be given with a tiktoken.Encoding, which has its own")
    return _converted(ranks, facts)


def is_encoding_name(name: str | os.PathLike[str]) -> bool:
    """Whether tiktoken publishes an encoding of this name, or one of its installed plugins has it."""
    if not isinstance(name, str) or not name or os.sep in name or "." in name:
        return False
    return name in KNOWN_ENCODINGS or name in _registered()


def _by_name(name: str, options: dict[str, Any]) -> Converted:
    if name not in KNOWN_ENCODINGS:
        with needed(f"the encoding {name}", "tiktoken"):
            import tiktoken

        return read_encoding(tiktoken.get_encoding(name), **options)
    path = find_published_file(name)
    data = fetch_published_file(name) if path is None else read_source(path)
    return read_rank_file(data, **{"name": name} | options)


def _registered() -> list[str]:
    try:
        import tiktoken

        return tiktoken.list_encoding_names()
    except (ImportError, ValueError):  # a broken plugin raises ValueError
        return []


def _converted(ranks: Mapping[bytes, int], facts: RankFile) -> Converted:
    config = {"eos_token": _END} if _END in facts.special_tokens else {}
    return Converted(tokenizer_json(ranks, facts), config, "tiktoken", facts.name)
