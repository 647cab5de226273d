"""Helpers for the Python fuzz targets: the parts and texts of an input, and JSON mutations that libFuzzer would hardly
find."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_POWERS = [2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63, 2**64, -(2**31)]
NUMBERS = [0, 1, -1, 2, 3, 7, 127, 128, 255, 256, *_POWERS]
_OTHERS = [None, True, False, "", "a", "\u2581", "\u00e9", "##", 0.5, -1.5, 1e300, 1e-320, [], {}, [1], {"a": 1}]
VALUES = [*NUMBERS, *_OTHERS]
_TEXTS = "a aa ab \u2581 \u2581a ##a <s> <0x41> \u00e9 e\u0301 \u4f60 \x00 \U0001f642"
TEXTS = ["", " ", *_TEXTS.split()]
SEPARATOR = b"\xff"
"""Separates the parts of a fuzz input. This byte does not occur in UTF-8."""


def text_of(data: bytes) -> str:
    """Decode any bytes to a text. A surrogate half that is encoded in three bytes becomes a lone surrogate."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def json_document(data: bytes, rng: Random) -> bytes | None:
    """Return the JSON document `data` with one to three nodes changed; None if the data is not JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    for _ in range(rng.randint(1, 3)):
        document = _changed(document, rng)
    return json.dumps(document, ensure_ascii=rng.random() < 0.1, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _changed(document: Any, rng: Random) -> Any:
    nodes = list(_nodes(document))
    if not nodes:
        return rng.choice(VALUES)
    parent, key = rng.choice(nodes)
    what = rng.randrange(7)
    if what == 0:
        parent[key] = rng.choice(VALUES)
    elif what == 1:
        other, place = rng.choice(nodes)
        parent[key] = json.loads(json.dumps(other[place]))
    elif what == 2:
        del parent[key]
    elif what == 3 and isinstance(parent, list):
        parent.insert(rng.randint(0, len(parent)), json.loads(json.dumps(parent[key])))
    elif what == 3:
        parent[rng.choice(TEXTS)] = json.loads(json.dumps(parent[key]))
    elif what == 4 and isinstance(parent, dict):
        parent[_text(key, rng)] = parent.pop(key)
    elif isinstance(parent[key], str):
        parent[key] = _text(parent[key], rng)
    elif isinstance(parent[key], (int, float)):
        parent[key] = rng.choice((parent[key] + 1, parent[key] - 1, -parent[key], rng.choice(NUMBERS)))
    elif isinstance(parent[key], list):
        rng.shuffle(parent[key])
    return document


def _nodes(value: Any) -> Any:
    places = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for place in places:
        yield value, place
        yield from _nodes(value[place])


def _text(text: str, rng: Random) -> str:
    at = rng.randint(0, len(text))
    what = rng.randrange(4)
    if what == 0:
        return rng.choice(TEXTS)
    if what == 1:
        return text[:at] + rng.choice(TEXTS) + text[at:]
    return text[:at] + text[at + 1 :] if what == 2 else text + text[at:]
