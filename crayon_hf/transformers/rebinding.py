"""Runs functions of transformers with other objects for some names of their module, without changing the module."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any


def with_names(method: Any, names: Mapping[str, Any]) -> Any:
    """Return the function or bound method with other objects for these global names.

    Callables that are not written in Python are returned unchanged.
    """
    function = getattr(method, "__func__", method)
    if not isinstance(function, FunctionType):
        return method
    known = {name: value for name, value in names.items() if name in function.__globals__}
    ours = FunctionType(
        function.__code__,
        {**function.__globals__, **known},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    ours.__kwdefaults__ = function.__kwdefaults__
    return ours if method is function else ours.__get__(method.__self__)
