"""Any bytes as a tekken.json: VocabularyError, or a vocabulary that encodes as mistral_common's way of it does."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from crayon_hf.formats.tekken import BUILT_IN_TOKENS
from crayon_hf.formats.tekken import read_tekken as read
from crayon_hf.formats.tiktoken import CL100K_PATTERN, O200K_PATTERN
from tests.fuzz.edge import mutators
from tests.fuzz.edge.judging import converted, dumped, judge_document

mutate = mutators.json_document


def one_input(data: bytes) -> None:
    result = converted(read, data)
    if result is not None:
        judge_document(result.tokenizer_json)


def seeds() -> Iterator[bytes]:
    """Both ways of special tokens."""
    for version, pattern in (("v3", O200K_PATTERN), ("v11", CL100K_PATTERN)):
        tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"llo", b"hello", b" w"]
        specials = len(BUILT_IN_TOKENS) + 3
        document: dict[str, Any] = {
            "config": {
                "pattern": pattern,
                "num_vocab_tokens": len(tokens),
                "default_vocab_size": len(tokens) + specials,
                "default_num_special_tokens": specials,
                "version": version,
            },
            "vocab": [
                {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
                for rank, token in enumerate(tokens)
            ],
        }
        if version == "v11":
            listed = enumerate(BUILT_IN_TOKENS)
            document["special_tokens"] = [{"rank": i, "token_str": text, "is_control": True} for i, text in listed]
        yield dumped(document)
