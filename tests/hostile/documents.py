"""Malformed ``tokenizer.json`` files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hostile import good
from tests.hostile.case import VOCABULARY, Case, file_of
from tests.support.compile_rule import changed, replace_by

INVALID = "invalid JSON at byte N (line N, column N): ..."
UNKNOWN = "PATH is not a vocabulary of a known format; supported: ..."
BLANK = "PATH is blank: the download failed, so download it again"


def cases() -> Iterator[Case]:
    whole = json.loads(good.byte_source())
    text = good.byte_source()

    def case(name: str, data: bytes, promise: str = "...", says: str = "") -> Case:
        return Case(f"json: {name}", file_of(data, "hostile.json"), VOCABULARY, promise, says)

    def other(name: str, value: Any, *path: str, says: str = "") -> Case:
        return case(name, changed(whole, path, replace_by(value)).encode(), says=says)

    yield case("cut", text[: len(text) // 2], INVALID)
    yield case("deep lists", b'{"model":' + b"[" * 100_000, INVALID, "nested too deeply")
    yield case("deep objects", b'{"model":' * 100_000, INVALID, "nested too deeply")
    yield case("not UTF-8", text.replace(b"crayon", b"cray\xffn", 1), INVALID)
    yield case("a lone surrogate", text.replace(b"crayon", rb"cray\ud800n", 1), INVALID)
    for id in (-1, 0.5, 2**64, "x"):
        yield other(f"an id that is {id}", id, "model", "vocab", "theq", says="model.vocab")
    yield other("no vocabulary", [], "model", "vocab")
    yield other("a merge of nothing", [["no", "such"]], "model", "merges", says="merge")
    yield other("an unknown model", "Unheard", "model", "type", says="Unheard|type|model")
    yield other("added tokens that are numbers", [1, 2], "added_tokens", says="added token")
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        yield other(f"an unknown {part}", {"type": "Unheard"}, part, says="Unheard")
        yield other(f"a {part} that is a number", 7, part, says=part)
    yield case("nothing but zeros", bytes(1000), BLANK)
    yield case("UTF-16", text.decode().encode("utf-16"), "PATH is UTF-16 text: ...")
    yield case("an empty object", b"{}", UNKNOWN)
