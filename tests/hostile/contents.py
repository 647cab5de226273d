"""Cartridges with every checksum right, and contents that lie."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, Case, file_of
from tests.support import cartridge_reader as plain
from tests.support import cartridge_text_lies
from tests.support.cartridge_cases import compiled, rewritten, sections_of
from tests.support.cartridge_lies import components, content_cases, program

LIE = "section NAME ..."
LARGE = "section NAME has N bytes, more than the N allowed"
COMPONENTS = "section NAME: ..."


def cases() -> Iterator[Case]:
    yield from _json(good.text_tables())
    yield from _certificates(good.text_tables())
    yield from _counts(good.text_tables())
    yield from _added(good.text_tables())
    yield from _growing(good.text_tables())
    yield from _charsmaps(good.text_tables())
    yield from _models(good.text_tables("t5_like"))


def known_lies() -> Iterator[Case]:
    """Those that the engine's own tests have."""
    small = good.byte_tables()
    for name, (data, says) in content_cases(small, _ignoring()).items():
        yield _case(f"byte tables: {name}", "see tests/support/cartridge_lies.py", data, "", says=says)
    for kind in ("llama_like", "t5_like"):
        for name, (data, says) in cartridge_text_lies.content_cases(kind).items():
            yield _case(f"{kind}: {name}", "see tests/support/cartridge_text_lies.py", data, "", says=says)


def _case(name: str, wrong: str, data: bytes, promise: str, error: str = CARTRIDGE, says: str = "") -> Case:
    return Case(name, wrong, file_of(data), error, promise, says)


def _ignoring() -> bytes:
    """Byte tables with `ignore_merges`, and a token that only that gives."""
    document = json.loads(good.byte_source())
    document["model"]["ignore_merges"] = True
    return compiled(json.dumps(document).encode())


def _json(data: bytes) -> Iterator[Case]:
    deep = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for section in ("metadata", "components"):
        for name, text in {
            "nothing": b"",
            "a list": b"[]",
            "a number": b"7",
            "cut": b'{"a": [1, 2',
            "not UTF-8": b'{"a": "\xff"}',
            "UTF-16": '{"a": 1}'.encode("utf-16"),
            "zeros": bytes(100),
            "deep": deep,
            "a number of 100 000 digits": b'{"a": ' + b"9" * 100_000 + b"e999999999}",
        }.items():
            yield _case(
                f"{section} is {name}",
                f"{section} is {name}, which is no JSON object that is read",
                rewritten(data, {section: text}),
                LIE,
                says=section,
            )
    for section, size in {"metadata": 2**20 + 1, "components": 2**24 + 1}.items():
        text = b"{" + b" " * (size - 2) + b"}"
        yield _case(
            f"{section} huge", f"{section} of {size} bytes", rewritten(data, {section: text}), LARGE, says=section
        )
    most = b'{"reference":"tokenizers"}'.ljust(2**20)
    yield _case("metadata of a MiB", "the most that it may have", rewritten(data, {"metadata": most}), "", ACCEPTED)


def _certificates(data: bytes) -> Iterator[Case]:
    for name, text in {
        "nothing": b"",
        "a list": b"[]",
        "cut": b"{",
        "not UTF-8": b'{"\xff": 1}',
        "larger than a MiB": b"{" + b" " * 2**20 + b"}",
        "deep": b'{"a":' * 100_000,
    }.items():
        changed = rewritten(data, {"certificate": text})
        yield _case(f"certificate is {name}", f"the certificate is {name}", changed, LIE, says="certificate")
    for name, lie in {
        "nothing said": {},
        "of another schema": {"schema": 10**9},
        "of numbers": dict.fromkeys(("schema", "cartridge", "reference", "corpus", "result"), 7),
    }.items():
        changed = rewritten(data, {"certificate": json.dumps(lie).encode()})
        # What it says is looked at by who reads it (crayon-hf info); the ids are none of its business.
        yield _case(f"certificate with {name}", "a certificate that lies", changed, "", ACCEPTED)


def _counts(data: bytes) -> Iterator[Case]:
    for field, value in {"n_ids": 0, "model_size": 2**32 - 1, "vocab_size": 2**32 - 1, "n_merges": 2**22 - 1}.items():
        changed = rewritten(data, {"program": program(data, **{field: value})})
        yield _case(f"{field} {value}", f"{field} is {value}", changed, LIE)
    for field, value in {"n_ids": 2**21, "n_merges": 2**32 - 1}.items():
        changed = rewritten(data, {"program": program(data, **{field: value})})
        yield _case(
            f"{field} {value}", f"{field} is {value}", changed, "the vocabulary is larger than a cartridge can hold"
        )
    for size in (63, 65, 128):
        changed = rewritten(data, {"program": sections_of(data)[2].ljust(128, b"\0")[:size]})
        yield _case(
            f"program of {size}", f"program has {size} bytes", changed, "section program is missing or has a wrong size"
        )


def _models(data: bytes) -> Iterator[Case]:
    for id in (plain.Cartridge(data).n_ids, 2**32):
        changed = rewritten(data, {"components": components(data, "model", "unk_id", value=id)})
        yield _case(f"unk_id {id}", f"Unigram's unk_id is {id}", changed, "the model's unk_id is not a token")


def _added(data: bytes) -> Iterator[Case]:
    """Added tokens without a string, and one that is all of the file."""
    cartridge = plain.Cartridge(data)
    (first, flags), *rest = cartridge.added_tokens
    offsets = list(cartridge.token_offsets)
    contents = {plain.NAMES[number]: section for number, section in sections_of(data).items()}
    long = b"x" * (1 << 20)
    size = offsets[first + 1] - offsets[first]
    token_bytes = contents["token_bytes"]
    for name, string in {"empty": b"", "of a MiB": long}.items():
        moved = [at + (len(string) - size if i > first else 0) for i, at in enumerate(offsets)]
        changes: dict[str, bytes | None] = {
            "token_offsets": struct.pack(f"<{len(moved)}I", *moved),
            "token_bytes": token_bytes[: offsets[first]] + string + token_bytes[offsets[first + 1] :],
        }
        yield _case(f"an added token {name}", f"the string of an added token is {name}", rewritten(data, changes), LIE)
    for name, id in {"2^31": 2**31, "2^32 - 1": 2**32 - 1, "n_ids": cartridge.n_ids}.items():
        new = [(id, flags), *rest]
        packed = struct.pack(f"<{2 * len(new)}I", *(number for pair in new for number in pair))
        changed = rewritten(data, {"added_tokens": packed})
        yield _case(
            f"an added token with the id {name}", f"id {id} of an added token", changed, LIE, says="added_tokens"
        )


def _with(data: bytes, **members: Any) -> bytes:
    document = json.loads(sections_of(data)[plain.TYPES["components"]])
    return rewritten(data, {"components": json.dumps(document | members).encode()})


def _growing(data: bytes) -> Iterator[Case]:
    """Components that would take more time or memory than there is."""
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    many = {"type": "Sequence", "normalizers": [double] * 60}
    yield _case(
        "a normalizer that doubles 60 times", "one letter becomes 2^60", _with(data, normalizer=many), COMPONENTS
    )
    for name, pattern in {
        "nested counts": "(((((a{1000}){1000}){1000}){1000}){1000})",
        "a count of 2^31": "a{2147483647}",
        "1 000 groups": "(" * 1000 + "a" + ")" * 1000,
        "100 000 groups": "(" * 100_000 + "a" + ")" * 100_000,
        "an open group": "(a",
    }.items():
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        may_do = name == "nested counts"  # the machine counts, it does not unroll
        yield _case(
            f"a pattern of {name}",
            f"the pre-tokenizer's pattern has {name}",
            _with(data, pre_tokenizer=split),
            "" if may_do else COMPONENTS,
            ACCEPTED if may_do else CARTRIDGE,
        )
    nested: dict[str, Any] = {"type": "NFC"}
    for _ in range(200):
        nested = {"type": "Sequence", "normalizers": [nested]}
    yield _case("200 normalizers in each other", "a normalizer nested 200 deep", _with(data, normalizer=nested), LIE)


def _charsmaps(data: bytes) -> Iterator[Case]:
    """SentencePiece's compiled normalizer, a double array and strings: the one program that a cartridge has."""

    def charsmap(name: str, wrong: str, content: bytes) -> Case:
        normalizer = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(content).decode()}
        return _case(f"charsmap: {name}", wrong, _with(data, normalizer=normalizer), COMPONENTS)

    yield charsmap("empty", "nothing in it", b"")
    yield charsmap("cut", "the size of the trie is cut", b"\1\0")
    yield charsmap("too long a trie", "a trie of 2^32 - 4 bytes", struct.pack("<I", 2**32 - 4) + bytes(64))
    yield charsmap("an odd trie", "a trie of 7 bytes", struct.pack("<I", 7) + bytes(64))
    not_base64 = {"type": "Precompiled", "precompiled_charsmap": "?!"}
    yield _case("charsmap: not base64", "what is no base64", _with(data, normalizer=not_base64), COMPONENTS)
