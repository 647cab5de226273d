"""The requests of the page, and their checks: each field has one type, and text that is not UTF-8 is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from crayon_hf.display.tokens import Options
from crayon_hf.errors import InvalidUtf8Error

MOST_NAMES = 4
"""Tokenizers side by side."""
MOST_BYTES = 1 << 20
"""The size of a request."""
MOST_ROWS = 2000
"""Tokens in one answer; the page asks for more of them when it shows more."""


class BadRequestError(ValueError):
    """A request of the playground that its page does not make."""


@dataclass(frozen=True)
class Asked:
    """A text, and the tokenizers and options that it is encoded with."""

    text: str
    names: tuple[str, ...]
    add_special_tokens: bool
    special_as_text: bool

    @property
    def options(self) -> Options:
        """The same for the engine."""
        return Options(False, self.add_special_tokens, self.special_as_text)

    def utf8(self) -> bytes:
        """The text as the engine reads it. InvalidUtf8Error for one with half of a surrogate pair."""
        try:
            return self.text.encode()
        except UnicodeEncodeError as error:
            raise InvalidUtf8Error(
                f"character {error.start + 1:,} of the text is half of a surrogate pair (U+"
                f"{ord(self.text[error.start]):04X}), which UTF-8 does not have: remove it"
            ) from None


class Request:
    """One request, as JSON."""

    def __init__(self, data: bytes) -> None:
        """BadRequestError for anything but an object."""
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BadRequestError(f"the request is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise BadRequestError(f"the request is {type(fields).__name__}, expected an object")
        self._fields: dict[str, Any] = fields

    def name(self) -> str:
        """The name of one tokenizer."""
        found: str = self._get("name", str)
        if not found:
            raise BadRequestError("name is empty")
        return found

    def asked(self) -> Asked:
        """The text and how it is encoded."""
        names = self._get("names", list)
        if not 0 < len(names) <= MOST_NAMES or not all(isinstance(name, str) and name for name in names):
            raise BadRequestError(f"names: expected 1 to {MOST_NAMES} names of tokenizers")
        special, as_text = self._get("add_special_tokens", bool), self._get("special_as_text", bool)
        return Asked(self._get("text", str), tuple(names), special, as_text)

    def number(self, name: str, below: int) -> int:
        """A number from 0 on."""
        found: int = self._get(name, int)
        if not 0 <= found < below:
            raise BadRequestError(f"{name}: expected a number from 0 to {below - 1:,}")
        return found

    def _get(self, name: str, wanted: type) -> Any:
        found = self._fields.get(name)
        if type(found) is not wanted:
            raise BadRequestError(f"{name} is {type(found).__name__}, expected {wanted.__name__}")
        return found
