"""`Appender`: the tokens of a text that grows and shrinks."""

from __future__ import annotations

import operator
from typing import Any

from crayon_hf.budgets.holders import engine_of
from crayon_hf.util import validation


class Appender:
    """The tokens of a text that grows and shrinks at its ends, as in chats, streams and editors.

    The tokens equal those of encoding the whole text, without special tokens, but only changed parts are encoded again.
    Later changes to the tokenizer have no effect on the appender. Not thread-safe.

    >>> import crayon_hf
    >>> tokenizer = crayon_hf.Tokenizer.from_profile("lite")
    >>> appender = crayon_hf.Appender(tokenizer)
    >>> kept = appender.append("Ask, and it shall")
    >>> kept = appender.append(" be given you.")
    >>> appender.ids == tokenizer.encode("Ask, and it shall be given you.", add_special_tokens=False).ids
    True
    """

    __slots__ = ("_appender",)

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer` is a `Tokenizer`, one from `AutoTokenizer`, or an encoding of `crayon_hf.tiktoken`."""
        engine, as_text = engine_of(tokenizer)
        self._appender = engine.appender(as_text)

    def append(self, text: str) -> int:
        """Append text. Returns the number of unchanged ids at the beginning; `ids_from` gives the others."""
        return self._appender.append(_text(text))

    def prepend(self, text: str) -> int:
        """Prepend text. Returns the number of unchanged ids at the end."""
        return self._appender.prepend(_text(text))

    def pop(self, characters: int) -> int:
        """Remove characters from the end. Returns the number of unchanged ids at the beginning.

        Raises ValueError if the text has fewer characters.
        """
        try:
            number = operator.index(characters)
        except TypeError:
            raise TypeError(f"characters is {validation.kind(characters)}, expected int") from None
        if not 0 <= number <= len(self):
            raise ValueError(f"characters is {number}, expected 0 to {len(self)}: the length of the text")
        return self._appender.pop(number)

    @property
    def count(self) -> int:
        """The number of tokens of the text."""
        return self._appender.count

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""
        return self._appender.ids_from(0)

    def ids_from(self, start: int) -> list[int]:
        """The ids from index `start` on; after ``kept = append(text)``, ``ids_from(kept)`` are the new ones."""
        return self._appender.ids_from(max(0, min(operator.index(start), self.count)))

    @property
    def text(self) -> str:
        """The current text."""
        return self._appender.text

    def __len__(self) -> int:
        """The number of characters of the text."""
        return self._appender.characters


def _text(value: Any) -> str:
    refused = validation.kind_refusal(value, "text")
    if refused is not None:
        raise refused
    text: str = value
    return text
