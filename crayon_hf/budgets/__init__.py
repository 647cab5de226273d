"""Token budgets: count, truncate, split and index texts by the tokens that encoding a whole text gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crayon_hf.budgets.appender import Appender
from crayon_hf.budgets.calls import count_tokens, fits, truncate_text
from crayon_hf.budgets.splitting import split_batch, split_file, split_text
from crayon_hf.budgets.token_index import TokenIndex
from crayon_hf.util.lazy import lazy

if TYPE_CHECKING:
    from crayon_hf.budgets.chat import Chat
    from crayon_hf.budgets.chunks import Chunk

__all__ = [
    "Appender",
    "Chat",
    "Chunk",
    "TokenIndex",
    "count_tokens",
    "fits",
    "split_batch",
    "split_file",
    "split_text",
    "truncate_text",
]

__getattr__ = lazy(__name__, {"Chat": "crayon_hf.budgets.chat", "Chunk": "crayon_hf.budgets.chunks"})
