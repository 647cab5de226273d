"""Text in budgets: counted, cut and indexed by tokens, with the tokens of encoding it whole."""

from crayon_hf.budgets.appender import Appender
from crayon_hf.budgets.calls import count_tokens, fits, truncate_text
from crayon_hf.budgets.chat import Chat
from crayon_hf.budgets.chunks import Chunk, split_batch, split_text
from crayon_hf.budgets.files import split_file
from crayon_hf.budgets.token_index import TokenIndex

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
