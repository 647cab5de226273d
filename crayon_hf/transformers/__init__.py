"""The tokenizer classes of ``transformers``, over the engine of this package.

Importing this package imports nothing; a name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crayon_hf.util.extras import needed

if TYPE_CHECKING:
    from crayon_hf.transformers.auto import AutoTokenizer
    from crayon_hf.transformers.fast import CrayonTokenizerFast

__all__ = ["AutoTokenizer", "CrayonTokenizerFast"]

_HOMES = {"AutoTokenizer": "auto", "CrayonTokenizerFast": "fast"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed(name, "transformers"):
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
