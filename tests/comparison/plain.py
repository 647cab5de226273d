"""The plain twin of `crayon_hf.compare`: counts character by character, with encodings of ``tokenizers``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import tokenizers

SCRIPTS = ("Latin", "Greek", "Cyrillic", "Han", "Hiragana", "Katakana", "Hangul", "Thai", "Devanagari", "Arabic")


@cache
def script_of(char: str) -> str | None:
    """The script (such as "Greek") of a character by ``tokenizers``' regular expressions, or None if it is in none of
    SCRIPTS."""
    for name in SCRIPTS:
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(rf"\p{{{name}}}"), "removed")
        if not split.pre_tokenize_str(char):
            return name
    return None


def scripts_of(text: str) -> list[str]:
    """The script of each character of a document. A character without a script takes that of the character before
    it."""
    found, last = [], "Common"
    for char in text:
        last = script_of(char) or last
        found.append(last)
    return found


def amounts(documents: Iterable[str]) -> dict[str, Counter[str]]:
    """Count the bytes, characters and words of each script in the documents."""
    of = {name: Counter[str]() for name in ("bytes", "characters", "words")}
    for text in documents:
        scripts = scripts_of(text)
        for place, (char, script) in enumerate(zip(text, scripts, strict=True)):
            of["bytes"][script] += len(char.encode())
            of["characters"][script] += 1
            of["words"][script] += not char.isspace() and (text[place + 1 :] or " ")[0].isspace()
        assert sum(map(len, text.split())) == sum(not char.isspace() for char in text)
    return of


def tokens(stock: Any, documents: Iterable[str], unknown: int | None) -> tuple[dict[str, Counter[str]], set[int]]:
    """Count the tokens, single-byte tokens and unknown tokens of each script, and collect the ids that occur."""
    of = {name: Counter[str]() for name in ("tokens", "byte_tokens", "unknown_tokens")}
    ids: set[int] = set()
    is_byte_level = "ByteLevel" in type(stock.decoder).__name__
    for text in documents:
        encoding = stock.encode(text, add_special_tokens=False)
        scripts = scripts_of(text)
        ids |= set(encoding.ids)
        for id, token, (_, end) in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True):
            script = scripts[max(end - 1, 0)] if scripts else "Common"
            of["tokens"][script] += 1
            of["unknown_tokens"][script] += id == unknown
            # The reference decodes a byte above 0x7F alone to U+FFFD.
            of["byte_tokens"][script] += is_byte_level and len(token) == 1 and stock.decode([id]) == "\ufffd"
    return of, ids
