"""Replaces functions of tiktoken so that its encodings encode with our engine. They keep the library's class."""

from __future__ import annotations

import copyreg
import sys
from functools import lru_cache
from typing import Any

from crayon_hf.util.replacing import Replacement, like


def _stock() -> Any:
    return sys.modules["tiktoken.core"].Encoding


@lru_cache(maxsize=1)
def _class() -> Any:
    """Return our `Encoding` as a subclass of the library's class, with its name. Its pickles need no crayon_hf."""
    from crayon_hf.tiktoken import Encoding

    stock = _stock()

    def reduce(self: Any) -> tuple[Any, ...]:
        return copyreg._reconstructor, (stock, object, None), self.__getstate__()  # type: ignore[attr-defined]

    names = {
        **{name: getattr(stock, name) for name in ("__module__", "__qualname__", "__doc__", "__getstate__")},
        "__reduce__": reduce,
    }
    return type(stock.__name__, (Encoding, stock), names)


def _init(seen: Any, place: Replacement) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not place.is_wanted or type(self) is not _stock():  # or a user's subclass
            seen(self, *args, **kwargs)
            return
        from crayon_hf.errors import CrayonError
        from crayon_hf.fallback.delegated import warn_delegated

        try:
            ours = _class()(*args, **kwargs)
        except CrayonError as error:
            warn_delegated(str(error), "tiktoken")
            ours = None
        if ours is not None and ours._tokenizer.engine == "native":
            self.__class__, self.__dict__ = type(ours), ours.__dict__
        else:
            seen(self, *args, **kwargs)

    return like(seen, __init__)


def _setstate(seen: Any, place: Replacement) -> Any:
    def __setstate__(self: Any, value: object) -> None:
        if place.is_wanted and isinstance(value, str):
            named = sys.modules["tiktoken.registry"].get_encoding(value)
            self.__class__, self.__dict__ = type(named), named.__dict__
        else:
            seen(self, value)

    return like(seen, __setstate__)


def _get_encoding(seen: Any, place: Replacement) -> Any:
    def get_encoding(encoding_name: str) -> Any:
        if not place.is_wanted:
            return seen(encoding_name)
        from crayon_hf.formats.tiktoken import find_published_file

        registry = sys.modules["tiktoken.registry"]
        with registry._lock:
            if (
                isinstance(encoding_name, str)
                and encoding_name not in registry.ENCODINGS
                and find_published_file(encoding_name) is not None
            ):  # the library would read the whole file, and build its own structures
                registry.ENCODINGS[encoding_name] = _class()._published(encoding_name)
        return seen(encoding_name)

    return like(seen, get_encoding)


def _without_those_open(seen: Any, place: Replacement) -> Any:
    return {}


PLACES = {
    "tiktoken.Encoding": Replacement("tiktoken.core", "Encoding", "__init__", _init),
    "tiktoken.Encoding.__setstate__": Replacement("tiktoken.core", "Encoding", "__setstate__", _setstate),
    "tiktoken.registry.ENCODINGS": Replacement("tiktoken.registry", "", "ENCODINGS", _without_those_open),
    "tiktoken.registry.get_encoding": Replacement("tiktoken.registry", "", "get_encoding", _get_encoding),
    "tiktoken.encoding_for_model": Replacement("tiktoken.model", "", "get_encoding", _get_encoding),
    "tiktoken.get_encoding": Replacement("tiktoken", "", "get_encoding", _get_encoding),
}
