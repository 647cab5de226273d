"""Any bytes as SentencePiece's normalization rules, read on both of our ways and by the reference."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from crayon_hf import _core
from crayon_hf.formats.charsmap import rules_as_components
from tests.formats import plain_charsmap
from tests.fuzz.edge.choices import Choices, text_of
from tests.fuzz.edge.judging import Defect, converted, dumped, judge_document


def one_input(data: bytes) -> None:
    choices = Choices(data)
    text = text_of(choices.take(choices.below(32)))
    is_proven = choices.byte() % 16 == 5  # that takes a look at every character
    charsmap = choices.rest()
    rules = converted(lambda data: _core.CharsmapRules(data).as_dict(), charsmap)
    if rules != converted(plain_charsmap.rules_of, charsmap):
        raise Defect("the rules are others than the plain way reads")
    if rules is not None and len(rules) <= 64 and is_proven:
        parts = converted(rules_as_components, charsmap)
        if parts is not None:
            _normalizes(parts, rules)
    part = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    vocab: Any = {"a": 0, "<unk>": 1}
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": part,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
    }
    judge_document(dumped(document), [text, text.upper(), "a\u00a0\ufb01 e\u0301"])


def _normalizes(parts: Any, rules: dict[str, str]) -> None:
    """What the rules replace is replaced."""
    for key, value in rules.items():
        said = key
        for part in parts:
            said = _core.normalize(dumped(part).decode(), said)[0]
        if said != value:
            raise Defect(f"the rule {key!a} to {value!a} gives {said!a}")


def seeds() -> Iterator[bytes]:
    """Rules of a few kinds."""
    from parity.components.parts import CHARSMAP, charsmap

    short = dict(list(CHARSMAP.items())[:6])
    for rules in (CHARSMAP, short, {"e\u0301": "\u00e9"}, {"\u00a0": " ", "\ufb01": "fi"}):
        for flag in (b"\0", b"\x05"):
            yield b"\x05A\xc2\xa0\xe2\x91" + flag + base64.b64decode(charsmap(rules))
