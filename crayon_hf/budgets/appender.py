"""`Appender`: a text that grows and shrinks, and its tokens at any moment."""

from __future__ import annotations

import operator
from typing import Any

from crayon_hf.budgets.holders import engine_of
from crayon_hf.util import validation


class Appender:
    """A text that grows and shrinks at its ends, as in chats, streams and editors, and its tokens at any moment.

    They are those of encoding the whole text anew, without special tokens around it, at the cost of what changed. The
    tokenizer is that of the moment when the appender is made. One thread at a time may use an appender.

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
        """`tokenizer` is a `Tokenizer`, what `AutoTokenizer` opened, or an encoding of `crayon_hf.tiktoken`."""
        engine, as_text = engine_of(tokenizer)
        self._appender = engine.appender(as_text)

    def append(self, text: str) -> int:
        """Add to the end. The number of ids at the beginning that are still the same: `ids_from` it are the others."""
        return self._appender.append(_text(text))

    def prepend(self, text: str) -> int:
        """Add to the beginning. The number of ids at the end that are still the same."""
        return self._appender.prepend(_text(text))

    def pop(self, characters: int) -> int:
        """Remove so many characters from the end. The number of ids at the beginning that are still the same.

        ValueError when the text has fewer.
        """
        try:
            number = operator.index(characters)
        except TypeError:
            raise TypeError(f"characters is {validation.kind(characters)}, expected int") from None
        if not 0 <= number <= len(self):
            raise ValueError(f"characters is {number}, expected 0 to {len(self)}: the text has no more")
        return self._appender.pop(number)

    @property
    def count(self) -> int:
        """How many tokens the text has."""
        return self._appender.count

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""
        return self._appender.ids_from(0)

    def ids_from(self, start: int) -> list[int]:
        """The ids from number `start` on: after ``kept = append(text)``, what `kept` ids are followed by."""
        return self._appender.ids_from(max(0, min(operator.index(start), self.count)))

    @property
    def text(self) -> str:
        """The text."""
        return self._appender.text

    def __len__(self) -> int:
        """How many characters the text has."""
        return self._appender.characters


def _text(value: Any) -> str:
    refused = validation.kind_refusal(value, "text")
    if refused is not None:
        raise refused
    text: str = value
    return text
