"""`TokenIndex`: the tokens of any range of a text."""

from __future__ import annotations

from typing import Any

from crayon_hf.budgets.calls import budget
from crayon_hf.budgets.holders import engine_of
from crayon_hf.util import validation


class TokenIndex:
    """The tokens of any range of a text, after one pass over it.

    Ranges are those of ``text[start:end]``, in characters: negative numbers count from the end, and numbers outside the
    text are clipped. Results equal those of encoding the range alone, without special tokens. The index keeps the text.
    Later changes to the tokenizer have no effect on the index.

    >>> import crayon_hf
    >>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
    >>> index = crayon_hf.TokenIndex(tokenizer, "Ask, and it shall be given you.")
    >>> index.count(0, 8) == tokenizer.count_tokens("Ask, and", add_special_tokens=False)
    True
    """

    __slots__ = ("_index", "_text")

    def __init__(self, tokenizer: Any, text: str) -> None:
        """`tokenizer` is a `Tokenizer`, one from `AutoTokenizer`, or an encoding of `crayon_hf.tiktoken`."""
        engine, as_text = engine_of(tokenizer)
        refused = validation.kind_refusal(text, "text")
        if refused is not None:
            raise refused
        self._text = text
        self._index = engine.token_index(text, as_text)

    @property
    def text(self) -> str:
        """The indexed text."""
        return self._text

    def count(self, start: int = 0, end: int | None = None) -> int:
        """The number of tokens of ``text[start:end]``."""
        start, end = self._range(start, end)
        return self._index.count(start, end)

    def ids(self, start: int = 0, end: int | None = None) -> list[int]:
        """The ids of ``text[start:end]``."""
        start, end = self._range(start, end)
        return self._index.ids(start, end)

    def longest(self, start: int, max_tokens: int) -> int:
        """The end of the longest range from `start` that has at most `max_tokens` tokens.

        The result is ``start + len(tokenizer.truncate_text(text[start:], max_tokens, add_special_tokens=False))``: the
        end of the text, or the end of one of the first `max_tokens` tokens of ``text[start:]``, or `start` if not even
        a character fits.
        """
        start, _ = self._range(start, None)
        return self._index.longest(start, budget(max_tokens, "max_tokens"))

    def longest_before(self, end: int, max_tokens: int) -> int:
        """The start of the longest range up to `end` that has at most `max_tokens` tokens: the mirror of `longest`."""
        _, end = self._range(0, end)
        return self._index.longest_before(end, budget(max_tokens, "max_tokens"))

    def _range(self, start: int, end: int | None) -> tuple[int, int]:
        begin, stop, _ = slice(start, end).indices(len(self._text))
        return begin, max(begin, stop)
