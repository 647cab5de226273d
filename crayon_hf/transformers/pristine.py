"""Whether the code of transformers that opens a tokenizer is its own: others replace methods and functions of it.

What was opened by replaced code must not be kept for a process that has the original, nor the other way round. Of
plain values, such as `padding_side`, nobody can tell which were there first: `plain_values` tells them apart.
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
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
"""What transformers itself imports, and ours, which stands in for it."""

_PLAIN = frozenset((bool, int, float, str, type(None), tuple, list, dict))
_NO_REFERENCES = 0
"""The version of `marshal` that writes equal values alike, whoever else holds them."""

_known: dict[int, tuple[Any, list[int], list[Any]]] = {}
"""By the id of a class or module: it, and what was in it when all of that was found to be theirs, with their ids."""


def is_pristine(stock: type = PreTrainedTokenizerFast) -> bool:
    """True when no code on the way to a tokenizer of the class `stock` is from elsewhere."""
    return all(map(_holds_its_own, _places(stock)))


@functools.cache
def _places(stock: type) -> tuple[Any, ...]:
    """The classes and modules where that code is."""
    classes = [cls for cls in (*stock.__mro__, tokenization_auto.AutoTokenizer) if cls is not object]
    names = dict.fromkeys((*_MODULES, *(cls.__module__ for cls in stock.__mro__[:-1])))
    return *classes, *map(import_module, names)


def plain_values(stock: type) -> str:
    """A digest of the numbers, texts and lists of them in the classes on the way to the class `stock`."""
    digest = sha256()
    for cls in (place for place in _places(stock) if isinstance(place, type)):
        for name, value in vars(cls).items():
            if type(value) in _PLAIN and not name.startswith("__"):
                with contextlib.suppress(ValueError):  # there is something else in it
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
        except RuntimeError:  # without the GIL: another thread adds to it
            continue


def is_own(value: Any) -> bool:
    """True for a value of a class or module when it calls no function from elsewhere."""
    return all(map(_is_theirs, _functions(value)))


def _functions(value: Any) -> Iterator[Any]:
    """The functions, classes and modules that a value of a class or module calls."""
    parts: Iterable[Any] = ()
    if isinstance(value, FunctionType):
        yield value
        parts = [vars(value).get("__wrapped__")]
    elif isinstance(value, (staticmethod, classmethod, MethodType)):
        parts = [value.__func__]
    elif isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, (functools.partial, functools.cached_property)):
        parts = [value.func]
    else:  # of an object its class decides, as a mock's
        yield value if isinstance(value, (type, ModuleType)) else type(value)
    for part in parts:
        if part is not None:
            yield from _functions(part)


def _is_theirs(found: Any) -> bool:
    if isinstance(found, FunctionType):
        return found.__code__.co_filename.startswith(_directories())
    name = found.__name__ if isinstance(found, ModuleType) else found.__module__
    root = name.partition(".")[0]
    return root in _PACKAGES or (root in sys.stdlib_module_names and root != "unittest")


@functools.cache
def _directories() -> tuple[str, ...]:
    """Where the code of the packages is, and that of Python's library: site-packages are inside that, too."""
    found = ["<frozen"]
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            directory = os.path.dirname(spec.origin)
            is_module = os.path.basename(spec.origin) != "__init__.py"
            found.append(spec.origin if is_module else directory + os.sep)
    library = os.path.dirname(os.__file__)
    for entry in os.scandir(library):
        if entry.name not in ("site-packages", "dist-packages", "unittest"):
            found.append(entry.path + os.sep if entry.is_dir() else entry.path)
    return tuple(found)
