"""Cartridges with valid checksums and false contents, or with contents that would take all time or memory."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, Case, file_of
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import rewritten, sections_of
from tests.support.cartridge_lies import components, program

LIE = "section NAME ..."
LARGE = "section NAME has N bytes, more than the N allowed"
COMPONENTS = "section NAME: ..."
TOO_MANY = "the vocabulary is larger than a cartridge can hold"
DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def cases() -> Iterator[Case]:
    data, unigram = good.text_tables(), good.text_tables("t5_like")
    for name, content in _documents(data).items():
        yield Case(name, file_of(content), CARTRIDGE, COMPONENTS if "deep" not in name else LIE)
    for section, most in {"metadata": 2**20, "components": 2**24}.items():
        for text in (b"", DEEP, b'{"a": ' + b"9" * 100_000 + b"e999999999}", '{"a": 1}'.encode("utf-16")):
            yield _case(f"{section} is {len(text)} bytes", data, {section: text}, LIE)
        yield _case(f"{section} huge", data, {section: b"{" + b" " * most + b"}"}, LARGE)
    yield _case("metadata of a MiB", data, {"metadata": b'{"reference":"tokenizers"}'.ljust(2**20)}, "", ACCEPTED)
    yield _case("certificate deep", data, {"certificate": b'{"a":' * 100_000}, LIE)
    # Only readers of the certificate (crayon-hf info) check it; ids do not depend on it.
    numbers = json.dumps(dict.fromkeys(("schema", "cartridge", "reference", "corpus", "result"), 7)).encode()
    yield _case("certificate of numbers", data, {"certificate": numbers}, "", ACCEPTED)
    for field, value, promise in (("n_merges", 2**22 - 1, LIE), ("n_ids", 0, LIE), ("n_ids", 2**21, TOO_MANY)):
        yield _case(f"{field} {value}", data, {"program": program(data, **{field: value})}, promise)
    wrong = components(unigram, "model", "unk_id", value=2**32)
    yield _case("unk_id", unigram, {"components": wrong}, "the model's unk_id is not a token")
    # The regex engine counts repetitions, it does not unroll them.
    counts = _with(data, pre_tokenizer=_split("(((((a{1000}){1000}){1000}){1000}){1000})"))
    yield Case("a pattern of nested counts", file_of(counts), ACCEPTED, "")


def _case(name: str, data: bytes, changes: dict[str, bytes | None], promise: str, error: str = CARTRIDGE) -> Case:
    return Case(name, file_of(rewritten(data, changes)), error, promise)


def _with(data: bytes, **members: Any) -> bytes:
    document = json.loads(sections_of(data)[plain.TYPES["components"]])
    return rewritten(data, {"components": json.dumps(document | members).encode()})


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _documents(data: bytes) -> dict[str, bytes]:
    """Components that would exhaust time or memory, and SentencePiece's compiled normalizer.

    That is a double array with strings, the one program in a cartridge.
    """
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    nested: dict[str, Any] = {"type": "NFC"}
    for _ in range(200):
        nested = {"type": "Sequence", "normalizers": [nested]}
    normalizers = {"doubles 60 times": {"type": "Sequence", "normalizers": [double] * 60}, "200 deep": nested}
    for name, blob in {
        "empty": b"",
        "a long trie": struct.pack("<I", 2**32 - 4),
        "an odd trie": struct.pack("<I", 7),
    }.items():
        text = base64.b64encode(blob + bytes(64 * bool(blob))).decode()
        normalizers[f"charsmap: {name}"] = {"type": "Precompiled", "precompiled_charsmap": text}
    normalizers["charsmap: not base64"] = {"type": "Precompiled", "precompiled_charsmap": "?!"}
    patterns = {"100 000 groups": "(" * 100_000 + "a" + ")" * 100_000, "an open group": "(a"}
    return {f"normalizer: {name}": _with(data, normalizer=part) for name, part in normalizers.items()} | {
        f"a pattern of {name}": _with(data, pre_tokenizer=_split(pattern)) for name, pattern in patterns.items()
    }
