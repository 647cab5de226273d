"""Converts results of any library to plain values, and finds the first difference between two."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["digest", "first_difference", "plain"]


def plain(value: Any) -> Any:
    """Convert a value to JSON types without rounding. TypeError for other types: a script has to convert them."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, "detach"):  # a tensor
        value = value.detach().cpu().numpy() if "bfloat16" not in str(value.dtype) else value.float().numpy()
    if hasattr(value, "dtype"):  # NumPy's
        return {"dtype": str(value.dtype), "values": plain(value.tolist())}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(each) for each in value), key=str)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):  # pydantic's
        return plain(value.model_dump())
    raise TypeError(f"a result of {type(value).__module__}.{type(value).__qualname__} has no plain form")


def failure(error: BaseException) -> dict[str, str]:
    """Return an exception as a plain value, without objects' addresses, which differ between runs."""
    text = re.sub(r"0x[0-9a-f]+", "0x", f"{type(error).__qualname__}: {error}")
    return {"raised": text[:2000]}


def digest(value: Any) -> str:
    """Return a digest of a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def first_difference(stock: Any, ours: Any, place: str = "") -> str | None:
    """Return the first difference between two plain values as text; None if they are equal."""
    if type(stock) is not type(ours):
        return f"{place or 'it'}: {_short(stock)} with stock, {_short(ours)} with ours"
    if isinstance(stock, dict):
        if list(stock) != list(ours):
            return f"{place or 'it'}: the keys {_short(list(stock))} with stock, {_short(list(ours))} with ours"
        pairs: Any = ((f"{place}.{key}", stock[key], ours[key]) for key in stock)
    elif isinstance(stock, list):
        if len(stock) != len(ours):
            return f"{place or 'it'}: {len(stock)} items with stock, {len(ours)} with ours"
        pairs = ((f"{place}[{index}]", *both) for index, both in enumerate(zip(stock, ours, strict=True)))
    else:
        return None if stock == ours else f"{place or 'it'}: {_short(stock)} with stock, {_short(ours)} with ours"
    return next((said for at, *both in pairs if (said := first_difference(both[0], both[1], at))), None)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
