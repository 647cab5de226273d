"""Detects whether a program has replaced code of transformers that opens a tokenizer.

A tokenizer opened by replaced code must not be kept for processes with the original code, and the reverse. Replaced
plain values, such as `padding_side`, cannot be detected. The digest `plain_values` differs for different values.
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import sys
from hashlib import sha256
from importlib import import_module
from types import FunctionType, MethodType, ModuleType
from typing import Any

import transformers.models.auto.tokenization_auto as tokenization_auto
from transformers import PreTrainedTokenizerFast

_MODULES = (
    "json",
    "transformers.convert_slow_tokenizer",
    "transformers.dynamic_module_utils",
    "transformers.models.auto.tokenization_auto",
    "transformers.tokenization_utils_base",
    PreTrainedTokenizerFast.__module__,
    "transformers.utils.hub",
)
_PACKAGES = (
    *("transformers", "crayon_hf", "tokenizers", "huggingface_hub", "numpy", "packaging", "regex", "safetensors"),
    *("requests", "httpx", "httpx2", "tqdm", "yaml", "filelock", "typing_extensions", "torch"),
)
"""Packages that transformers imports, and ours."""

_PLAIN = frozenset((bool, int, float, str, type(None), tuple, list, dict))
_NO_REFERENCES = 0
"""The version of `marshal` that writes equal values identically, whatever their reference counts."""

_known: dict[int, tuple[Any, list[int], list[Any]]] = {}
"""The classes and modules that were found original, by id: the object, and the ids and values of its attributes."""


def is_pristine(stock: type = PreTrainedTokenizerFast) -> bool:
    """Whether all code that opens a tokenizer of the class `stock` is original."""
    return all(map(_holds_its_own, _places(stock)))


@functools.cache
def _places(stock: type) -> tuple[Any, ...]:
    """Return the classes and modules that contain the code which opens a tokenizer of the class `stock`."""
    classes = [cls for cls in (*stock.__mro__, tokenization_auto.AutoTokenizer) if cls is not object]
    names = dict.fromkeys((*_MODULES, *(cls.__module__ for cls in stock.__mro__[:-1])))
    return *classes, *map(import_module, names)


def plain_values(stock: type) -> str:
    """Return a digest of all numbers, texts, and lists of numbers or texts in the class `stock` and its bases."""
    digest = sha256()
    for cls in (place for place in _places(stock) if isinstance(place, type)):
        for name, value in vars(cls).items():
            if type(value) in _PLAIN and not name.startswith("__"):
                with contextlib.suppress(ValueError):  # a container of other objects
                    digest.update(name.encode() + marshal.dumps(value, _NO_REFERENCES))
    return digest.hexdigest()


def _holds_its_own(place: Any) -> bool:
    values = _values(place)
    known = _known.get(id(place))
    if known is not None and known[1] == list(map(id, values)):
        return True
    if not all(map(is_own, values)):
        return False
    _known[id(place)] = place, list(map(id, values)), values
    return True


def _values(place: Any) -> list[Any]:
    while True:
        try:
            return list(vars(place).values())
        except RuntimeError:  # without the GIL another thread may add an attribute
            continue


def is_own(value: Any) -> bool:
    """Whether an attribute of a class or module calls only functions of known packages."""
    if isinstance(value, property):
        return all(is_own(function) for function in (value.fget, value.fset, value.fdel) if function is not None)
    if isinstance(value, (staticmethod, classmethod, MethodType)):
        return is_own(value.__func__)
    if isinstance(value, (functools.partial, functools.cached_property)):
        return is_own(value.func)
    if isinstance(value, FunctionType):  # a wrapper may copy `__module__`, but not the globals
        return _is_theirs(value.__globals__.get("__name__", "")) and is_own(vars(value).get("__wrapped__"))
    if isinstance(value, ModuleType):
        return _is_theirs(value.__name__)
    return _is_theirs((value if isinstance(value, type) else type(value)).__module__)  # as of a mock


def _is_theirs(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _PACKAGES or (root in sys.stdlib_module_names and root not in ("__main__", "unittest"))
