"""Parse lists of ids."""

from __future__ import annotations

import json
from typing import Any

from crayon_hf.errors import CrayonError

_SEPARATORS = str.maketrans(dict.fromkeys("[](),;\t\r", " "))


def parse_ids(text: str) -> list[list[int]]:
    """Parse `text`: one JSON value, or one list on each line (JSON, or ids separated by spaces or commas)."""
    whole = _from_json(text)
    if whole is not None:
        return whole
    if text.count("[") != text.count("]"):
        raise CrayonError("the list of ids is cut off: its brackets do not match")
    lines = text.removesuffix("\n").split("\n")
    lists = []
    for line in lines:
        parsed = _from_json(line)
        lists.extend([_from_words(line)] if parsed is None else parsed)
    return lists


def _from_json(text: str) -> list[list[int]] | None:
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value: Any = json.loads(text)
    except RecursionError:
        raise CrayonError("the JSON is nested too deeply") from None
    except ValueError:
        return None
    if isinstance(value, dict):
        value = value.get("ids")
    if _is_id_list(value):
        return [value]
    if isinstance(value, list):
        items: list[Any] = [item.get("ids") if isinstance(item, dict) else item for item in value]
        if all(_is_id_list(item) for item in items):
            return items
    raise CrayonError('expected a JSON list of ids, or an object with "ids"')


def _is_id_list(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)


def _from_words(line: str) -> list[int]:
    ids = []
    for word in line.translate(_SEPARATORS).split():
        if not word.isascii() or not word.removeprefix("-").isdigit():
            raise CrayonError(f"{word!r} is not an id")
        ids.append(int(word))
    return ids
