"""A ``tokenizer.json`` that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hostile import good
from tests.hostile.case import VOCABULARY, Case, file_of

INVALID = "invalid JSON at byte N (line N, column N): ..."
UNKNOWN = "PATH is not a vocabulary of a known format; supported: ..."
BLANK = "PATH is blank: the download failed, so download it again"


def cases() -> Iterator[Case]:
    whole = json.loads(good.byte_source())
    text = good.byte_source()

    def case(name: str, wrong: str, data: bytes, promise: str = "...", says: str = "") -> Case:
        return Case(f"json: {name}", wrong, file_of(data, "hostile.json"), VOCABULARY, promise, says)

    def other(name: str, value: Any, *path: str, says: str = "") -> Case:
        document = json.loads(json.dumps(whole))
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return case(name, f"{'.'.join(path)} is {str(value)[:40]}", json.dumps(document).encode(), says=says)

    yield case("cut", "the second half is missing", text[: len(text) // 2], INVALID)
    yield case("cut in a character", "the end is a part of a character", text[: text.rindex("é".encode()) + 1], INVALID)
    yield case("more", "words after the object", text + b" x", INVALID)
    yield case("deep lists", "100 000 lists in each other", b'{"model":' + b"[" * 100_000, INVALID, "nested too deeply")
    yield case("deep objects", "100 000 objects in each other", b'{"model":' * 100_000, INVALID, "nested too deeply")
    yield case("not UTF-8", "a byte FF in a string", text.replace(b"crayon", b"cray\xffn", 1), INVALID)
    yield case("a lone surrogate", "half of a pair", text.replace(b"crayon", rb"cray\ud800n", 1), INVALID)
    yield case("a control character", "a line end in a string", text.replace(b"crayon", b"cray\non", 1), INVALID)
    yield case(
        "a huge exponent", "a number that no double is", text.replace(b'"theq":', b'"x": 1e400, "theq":', 1), INVALID
    )
    yield case("NaN", "a word that is no JSON", text.replace(b'"theq":', b'"x": NaN, "theq":', 1), INVALID)
    for name, id in {
        "negative": -1,
        "a fraction": 0.5,
        "2^64": 2**64,
        "10^40": 10**40,
        "a word": "x",
        "null": None,
    }.items():
        yield other(f"an id that is {name}", id, "model", "vocab", "theq", says="model.vocab")
    yield other("no vocabulary", [], "model", "vocab")
    yield other("a merge of nothing", [["no", "such"]], "model", "merges", says="merge")
    yield other("a merge of three", [["a", "b", "c"]], "model", "merges", says="merge")
    yield other("merges that are a number", 5, "model", "merges", says="merges")
    yield other("an unknown model", "Unheard", "model", "type", says="Unheard|type|model")
    yield other("added tokens that are numbers", [1, 2], "added_tokens", says="added token")
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        yield other(f"an unknown {part}", {"type": "Unheard"}, part, says="Unheard")
        yield other(f"a {part} that is a number", 7, part, says=part)
    yield case("nothing but zeros", "no JSON at all", bytes(1000), BLANK)
    yield case("UTF-16", "no JSON at all", text.decode().encode("utf-16"), UNKNOWN)
    yield case("empty", "an empty file", b"", "")
    yield case("one byte", "a brace alone", b"{", UNKNOWN)
    yield case("an empty object", "nothing in it", b"{}", UNKNOWN)
