"""Text in budgets: counted, cut, split and indexed by tokens, with the tokens of encoding it whole."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crayon_hf.budgets.appender import Appender
from crayon_hf.budgets.calls import count_tokens, fits, truncate_text
from crayon_hf.budgets.token_index import TokenIndex

if TYPE_CHECKING:
    from crayon_hf.budgets.chunks import Chunk, split_batch, split_text
    from crayon_hf.budgets.files import split_file

__all__ = [
    "Appender",
    "Chunk",
    "TokenIndex",
    "count_tokens",
    "fits",
    "split_batch",
    "split_file",
    "split_text",
    "truncate_text",
]

_LAZY = dict.fromkeys(("Chunk", "split_batch", "split_text"), "crayon_hf.budgets.chunks") | {
    "split_file": "crayon_hf.budgets.files"
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value
