"""Detects replaced code of transformers.

Our fast paths skip methods of transformers, and snapshots skip the code that opens a tokenizer. Both are allowed only
while that code is the original one. Programs replace methods on a class or on an instance, and functions in a module.
Subclasses override methods. In these cases the code of transformers runs on the same engine.
"""

from __future__ import annotations

import contextlib
import functools
import marshal
import sys
from hashlib import sha256
from importlib import import_module
from operator import is_
from types import FunctionType, MethodType, ModuleType
from typing import Any

import transformers.models.auto.tokenization_auto as tokenization_auto
from transformers import PreTrainedTokenizerFast

from crayon_hf._core import type_version
from crayon_hf.tokenizer import Tokenizer

_PACKAGES = (
    *("transformers", "crayon_hf", "tokenizers", "huggingface_hub", "numpy", "packaging", "regex", "safetensors"),
    *("requests", "httpx", "httpx2", "tqdm", "yaml", "filelock", "typing_extensions", "torch"),
)
"""Packages that transformers imports, and crayon_hf. Their code counts as original."""


def is_own(value: Any) -> bool:
    """Whether an attribute of a class or module belongs to a known package, so that no program has replaced it."""
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


# -- methods that our fast paths skip

_ENCODING = (
    *("_encode_plus", "_batch_encode_plus", "_call_one", "encode_plus", "batch_encode_plus", "_convert_encoding"),
    *("set_truncation_and_padding", "_get_padding_truncation_strategies", "_eventual_warn_about_too_long_sequence"),
    "_switch_to_input_mode",
)
_DECODING = ("decode", "_decode")
_CONVERTING = (
    *("convert_ids_to_tokens", "convert_tokens_to_ids", "_convert_token_to_id_with_added_voc"),
    "_encode_without_added_tokens",
)
_SKIPPED = {
    "encode_batch": _ENCODING,
    "decode": _DECODING,
    "id_to_token": _CONVERTING,
    "token_to_id": _CONVERTING,
}
"""The methods of transformers that a fast path skips, by the method of the backend that the fast path calls."""

_OURS = ("__call__", "encode", "batch_decode", *_DECODING, *_CONVERTING)
"""Methods that `CrayonTokenizerFast` itself defines, so that those of its base class are skipped."""

REPLACED = "_crayon_replaced"
NAMES = frozenset((*_ENCODING, *_DECODING, *_CONVERTING))
"""Names of methods. An instance with an attribute of such a name gets no fast paths."""

_HARMLESS = frozenset(
    f"{name}TokenizerFast"
    for name in (
        *("Bart", "Blenderbot", "Bloom", "CodeGen", "Cohere", "Deberta", "GPT2", "LED", "Longformer", "Mvp"),
        *("Roberta", "Whisper"),
    )
)
"""Classes of transformers 4 that override two methods only to refuse `is_split_into_words` without a prefix space."""

_allowed: dict[int, dict[str, bool]] = {}
"""Whether a class allows each fast path of `_SKIPPED`, by the version of the class. Versions are unique and change when
a class or its base does."""


def plain_backend(tokenizer: Any, name: str) -> Tokenizer | None:
    """Return the backend whose method `name` a fast path may use directly, or None if replaced code has to run."""
    state, cls = tokenizer.__dict__, type(tokenizer)
    backend: Tokenizer | None = state.get("_tokenizer")
    if (
        (type(backend) is Tokenizer or "only_renames" in vars(type(backend)))
        and name not in backend.__dict__
        and REPLACED not in state
        and (_allowed.get(type_version(cls)) or _look(cls))[name]
    ):
        return backend
    return None


def note_replaced(tokenizer: Any) -> None:
    """Note whether an instance has attributes that replace methods."""
    state = tokenizer.__dict__
    if NAMES.isdisjoint(state):
        state.pop(REPLACED, None)
    else:
        state[REPLACED] = True


def _look(cls: type) -> dict[str, bool]:
    version, base = type_version(cls), _are_own(PreTrainedTokenizerFast, _OURS)
    found = {name: base and _are_own(cls, skipped) for name, skipped in _SKIPPED.items()}
    if version >= 0:
        _allowed[version] = found
    return found


def _are_own(cls: type, names: tuple[str, ...]) -> bool:
    return all(_is_own_method(cls, name) for name in names if hasattr(cls, name))


def _is_own_method(cls: type, name: str) -> bool:
    owner = next(base for base in cls.__mro__ if name in base.__dict__)
    if owner.__module__.startswith("transformers.models.") and owner.__name__ in _HARMLESS:
        return True
    return owner.__module__.startswith(("transformers.tokenization_", "crayon_hf.")) and is_own(owner.__dict__[name])


# -- code that opens tokenizers, which snapshots skip

_MODULES = (
    "json",
    "transformers.convert_slow_tokenizer",
    "transformers.dynamic_module_utils",
    "transformers.models.auto.tokenization_auto",
    "transformers.tokenization_utils_base",
    PreTrainedTokenizerFast.__module__,
    "transformers.utils.hub",
)
_PLAIN = frozenset((bool, int, float, str, type(None), tuple, list, dict))
_NO_REFERENCES = 0
"""The version of `marshal` that writes equal values identically, whatever their reference counts."""

_attributes: dict[Any, list[Any]] = {}
"""The values of the attributes of each class and module that was found original."""


def opening_values(stock: type) -> str | None:
    """Return a digest of all numbers, texts, and lists of numbers or texts in the class `stock` and its bases.

    Return None if a program has replaced code that opens a tokenizer of this class. Its snapshots must not be mixed
    with those of the original code. Replaced plain values, such as `padding_side`, change the digest.
    """
    classes = stock.__mro__[:-1]
    if not all(map(_is_original, (*classes, *_places(stock)))):
        return None
    digest = sha256()
    for cls in classes:
        for name, value in vars(cls).items():
            if type(value) in _PLAIN and not name.startswith("__"):
                with contextlib.suppress(ValueError):  # a container of other objects
                    digest.update(name.encode() + marshal.dumps(value, _NO_REFERENCES))
    return digest.hexdigest()


@functools.cache
def _places(stock: type) -> tuple[Any, ...]:
    """Return `AutoTokenizer` and the modules with the code that opens a tokenizer of the class `stock`."""
    names = dict.fromkeys((*_MODULES, *(cls.__module__ for cls in stock.__mro__[:-1])))
    return tokenization_auto.AutoTokenizer, *map(import_module, names)


def _is_original(place: Any) -> bool:
    while True:
        with contextlib.suppress(RuntimeError):  # without the GIL another thread may add an attribute
            values = list(vars(place).values())
            break
    known = _attributes.get(place, ())
    if len(known) == len(values) and all(map(is_, known, values)):
        return True
    if not all(map(is_own, values)):
        return False
    _attributes[place] = values
    return True
