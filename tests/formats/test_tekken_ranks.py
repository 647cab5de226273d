"""tekken.json without mistral_common: its ids are tiktoken's of the same ranks, behind the special tokens."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import tiktoken

from crayon_hf import Tokenizer, _core
from crayon_hf.formats.tekken import read_tekken
from crayon_hf.util.byte_level import BYTE_LEVEL

SPECIAL = 30
TEXTS = (
    "",
    "Hello, world! It's 1234567 o'clock, WE'LL SEE; I'LL don'T",
    "  leading and trailing   \n\n\r\n  x\t\t\n",
    "na\u00efve Zo\u00eb \u01c5ungla \u65e5\u672c\u8a9e \U0001f642\U0001f469\u200d\U0001f469 \x00\u200b e\u0301",
    "def f(x):\n    return {'a': [1, 2, 3]}  # camelCase HTTPServer //\n" * 3,
    " " * 100 + "x" * 300,
)


@pytest.fixture(scope="module")
def ranks(gpt2_like: Path) -> list[bytes]:
    """Single bytes first, then what merges made of them, in their order."""
    byte_of = {char: byte for byte, char in BYTE_LEVEL.items()}
    vocab = Tokenizer.from_file(str(gpt2_like)).get_vocab(with_added_tokens=False)
    merged = sorted((id, token.translate(byte_of).encode("latin-1")) for token, id in vocab.items())
    return [bytes([byte]) for byte in range(256)] + [token for _, token in merged if 1 < len(token) < 20]


def test_ids_and_texts_are_those_of_tiktoken(ranks: list[bytes]) -> None:
    pattern = _core.canonical_pattern("tekken")
    config = {
        "pattern": pattern,
        "num_vocab_tokens": len(ranks),
        "default_vocab_size": len(ranks) + SPECIAL,
        "default_num_special_tokens": SPECIAL,
        "version": "v3",
    }
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(ranks)
    ]
    converted = read_tekken(json.dumps({"config": config, "vocab": vocab}).encode())
    ours = Tokenizer.from_str(converted.tokenizer_json.decode())
    assert ours.engine == "native"
    theirs = tiktoken.Encoding(
        "tekken", pat_str=pattern, mergeable_ranks={token: rank for rank, token in enumerate(ranks)}, special_tokens={}
    )
    for text in TEXTS:
        ids = [rank + SPECIAL for rank in theirs.encode_ordinary(text)]
        assert ours.encode(text, add_special_tokens=False).ids == ids
        assert ours.decode(ids) == text
    assert [ours.id_to_token(id) for id in (0, 1, 2)] == ["<unk>", "<s>", "</s>"]
    assert ours.encode("<s>", add_special_tokens=False).ids == [1]
