"""Any bytes as a GGUF file: VocabularyError, or a vocabulary that both engines read alike."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from crayon_hf.formats.gguf import read_gguf as read
from tests.fuzz.edge import mutators
from tests.fuzz.edge.judging import converted, directory, judge_document
from tests.fuzz.edge.small_documents import byte_level_alphabet

mutate = mutators.gguf

_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY, _INT32 = 4, 6, 7, 8, 9, 5


def one_input(data: bytes) -> None:
    path = directory() / "v.gguf"
    path.write_bytes(data)
    result = converted(read, path)
    if result is not None:
        judge_document(result.tokenizer_json)


def seeds() -> Iterator[bytes]:
    """A small vocabulary of each model."""
    letters = byte_level_alphabet()
    merged = ["he", "ll", "llo", "hello", "\u0120w", "or", "\u0120wor"]
    merges = ["h e", "l l", "ll o", "he llo", "\u0120 w", "o r", "\u0120w or"]
    for pre in ("llama-bpe", "gpt-2", "qwen2", "tekken", "deepseek-llm"):
        tokens = [*letters, *merged, "<|end|>"]
        kinds = [1] * (len(tokens) - 1) + [3]
        yield _file("gpt2", tokens, kinds, merges=merges, pre=pre, eos_token_id=len(tokens) - 1)
    bytes_of = [f"<0x{byte:02X}>" for byte in range(256)]
    pieces = [
        "<unk>",
        "<s>",
        "</s>",
        *bytes_of,
        "\u2581",
        "h",
        "e",
        "l",
        "o",
        "he",
        "ll",
        "llo",
        "hello",
        "\u2581h",
        "<x>",
    ]
    kinds = [2, 3, 3, *[6] * 256, *[1] * 10, 4]
    scores = [-float(at) for at in range(len(pieces))]
    yield _file("llama", pieces, kinds, scores=scores, bos_token_id=1, eos_token_id=2, add_bos_token=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581h", "\u2581he", "l", "lo", "\u2581w", "o", "\u2581a"]
    ids = {"bos_token_id": 2, "eos_token_id": 3, "unknown_token_id": 1, "seperator_token_id": 3, "padding_token_id": 0}
    yield _file("bert", words, [3, 2, 3, 3, 3, *[1] * 7], mask_token_id=4, **ids)
    yield _file("t5", ["<pad>", "</s>", *pieces[:1], *pieces[259:]], [3, 3, 2, *[1] * 10, 4], scores=scores[:14])


def _file(model: str, tokens: list[str], kinds: list[int], **keys: Any) -> bytes:
    ggml = "tokenizer.ggml."
    values: dict[str, Any] = {"general.architecture": "llama", f"{ggml}model": model, f"{ggml}tokens": tokens}
    values |= {f"{ggml}token_type": kinds} | {ggml + key: value for key, value in keys.items()}
    written = b"".join(_string(key) + _value(value) for key, value in values.items())
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(values)) + written


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<IB", _BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _string(value)
    first = value[0]
    kind = _STRING if isinstance(first, str) else _FLOAT32 if isinstance(first, float) else _INT32
    forms = {_STRING: _string, _FLOAT32: lambda one: struct.pack("<f", one), _INT32: lambda one: struct.pack("<i", one)}
    return struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(forms[kind](one) for one in value)
