"""Runs functions of transformers with other objects for some names of their module, without changing the module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from crayon_hf.tokenizer import Tokenizer, opening
from crayon_hf.util.reference import reference_class

_LIBRARY = "TokenizerFast"


def with_names(method: Any, names: Mapping[str, Any]) -> Any:
    """Return a copy of a function or bound method that sees the objects of `names` under these global names.

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


class _Trainable:
    """Replaces ``tokenizers.Tokenizer`` in `train_new_from_iterator`, which opens untrained and trained documents."""

    @staticmethod
    def from_str(text: str) -> Tokenizer:
        document = json.loads(text)
        if document["model"].get("vocab"):
            return Tokenizer.from_str(text)
        return Tokenizer._of(opening.open_untrained(document))


def natively(method: Any) -> Any:
    """Return the bound `train_new_from_iterator` of transformers with our tokenizer instead of the reference's."""
    names = getattr(getattr(method, "__func__", None), "__globals__", {})
    return with_names(method, {_LIBRARY: _Trainable}) if names.get(_LIBRARY) is reference_class() else method
