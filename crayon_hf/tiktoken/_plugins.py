"""Finds the arguments of `Encoding` by an encoding's name, for OpenAI's encodings and those of plugins.

Plugins are the modules in the namespace package ``tiktoken_ext``.
"""

from __future__ import annotations

import pkgutil
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS, fetch_published_file, find_published_file, read_ranks
from crayon_hf.util.files import read_source

_OPENAI = "tiktoken_ext.openai_public"
_lock = threading.RLock()
_plugins_are_in = False


def _published(name: str) -> dict[str, Any]:
    known, path = KNOWN_ENCODINGS[name], find_published_file(name)
    data = fetch_published_file(name) if path is None else read_source(path)
    return {
        "name": name,
        "pat_str": known.pattern,
        "mergeable_ranks": read_ranks(data),
        "special_tokens": dict(known.special_tokens),
    }


ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {
    name: partial(_published, name) for name in KNOWN_ENCODINGS
}
"""Functions, by an encoding's name, that return the arguments of `Encoding`. Plugins are added on the first miss."""

_OURS = dict(ENCODING_CONSTRUCTORS)


def is_published(name: str) -> bool:
    """Whether OpenAI publishes an encoding of this name, and no plugin has replaced it."""
    return name in _OURS and ENCODING_CONSTRUCTORS.get(name) is _OURS[name]


def constructor_of(name: str) -> Callable[[], dict[str, Any]] | None:
    """Return the function that returns the arguments of an encoding, or None for an unknown name."""
    if name not in ENCODING_CONSTRUCTORS:
        _find_constructors()
    return ENCODING_CONSTRUCTORS.get(name)


def list_encoding_names() -> list[str]:
    """Return the names that `get_encoding` knows.

    docs/from-tiktoken.md has examples.
    """
    _find_constructors()
    return list(ENCODING_CONSTRUCTORS)


@lru_cache(maxsize=1)
def _available_plugin_modules() -> list[str]:
    try:
        package = import_module("tiktoken_ext")
    except ImportError:
        return []
    return [f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]


def _find_constructors() -> None:
    """Add the encodings of plugins. Raise ValueError for a plugin without encodings, or with a name that is taken."""
    global _plugins_are_in
    with _lock:
        if _plugins_are_in:
            return
        found: dict[str, Callable[[], dict[str, Any]]] = {}
        for module in _available_plugin_modules():
            if module == _OPENAI:
                continue
            constructors = getattr(import_module(module), "ENCODING_CONSTRUCTORS", None)
            if constructors is None:
                raise ValueError(f"tiktoken plugin {module} does not define ENCODING_CONSTRUCTORS")
            for name, constructor in constructors.items():
                if name in found or name in _OURS:
                    raise ValueError(f"Duplicate encoding name {name} in tiktoken plugin {module}")
                found[name] = constructor
        for name, constructor in found.items():
            ENCODING_CONSTRUCTORS.setdefault(name, constructor)
        _plugins_are_in = True
