"""Read dataclasses from JSON: every value is checked against its type, and unknown keys are refused.

The JSON may come from anyone's repository, and its values go into pages and certificates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

_MOST = 1 << 53
"""Greater numbers are not exact in every reader of JSON."""


class UnreadableError(ValueError):
    """A value of another type or range than expected. The message begins with the value's path."""


def read(kind: Any, plain: Any, where: str) -> Any:
    """Return the value of type `kind` (a dataclass, or the type of a field) that parsed JSON (`plain`) represents.

    Raises UnreadableError. `where` is the value's path for the message.
    """
    if is_dataclass(kind):
        return _dataclass(kind, plain, where)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(read(arguments[0], each, f"{where}[{i}]") for i, each in enumerate(_of(list, plain, where)))
    if origin is Mapping:
        items = _of(dict, plain, where).items()
        return {read(str, key, where): read(arguments[1], each, f"{where}[{key!r}]") for key, each in items}
    if arguments and NoneType in arguments:
        return None if plain is None else read(arguments[0], plain, where)
    return (
        _number(kind, plain, where)
        if kind in (int, float)
        else _text(plain, where)
        if kind is str
        else _of(kind, plain, where)
    )


def _dataclass(kind: Any, plain: Any, where: str) -> Any:
    _of(dict, plain, where)
    known = {each.name: each for each in fields(kind)}
    if unknown := sorted(set(plain) - set(known)):
        raise UnreadableError(f"{where} has {unknown[0]!r}, which is not known")
    values = {}
    for name, each in known.items():
        if name in plain:
            values[name] = read(_hints(kind)[name], plain[name], f"{where}.{name}" if where else name)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise UnreadableError(f"{where or 'it'} has no {name!r}")
    return kind(**values)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _of(kind: type, plain: Any, where: str) -> Any:
    if type(plain) is not kind:
        raise UnreadableError(f"{where or 'it'} is {type(plain).__name__}, expected {kind.__name__}")
    return plain


def _number(kind: type, plain: Any, where: str) -> Any:
    if type(plain) is not int and not (kind is float and type(plain) is float):
        raise UnreadableError(f"{where} is {type(plain).__name__}, expected {kind.__name__}")
    if not math.isfinite(plain) or not 0 <= plain <= _MOST:
        raise UnreadableError(f"{where} is {plain:.6g}, which no report has")
    return kind(plain)


def _text(plain: Any, where: str) -> str:
    text: str = _of(str, plain, where)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableError(f"{where} has a lone surrogate at {error.start}") from error
    return text
