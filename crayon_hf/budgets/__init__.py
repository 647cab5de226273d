"""Text in budgets: counted, cut and indexed by tokens, with the tokens of encoding it whole."""

from crayon_hf.budgets.appender import Appender
from crayon_hf.budgets.calls import count_tokens, fits, truncate_text
from crayon_hf.budgets.token_index import TokenIndex

__all__ = ["Appender", "TokenIndex", "count_tokens", "fits", "truncate_text"]
