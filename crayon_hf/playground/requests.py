"""Parse and validate the JSON requests that the playground's page sends to its server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from crayon_hf.display.tokens import Options
from crayon_hf.errors import InvalidUtf8Error

MOST_NAMES = 4
"""The most tokenizers side by side."""
MOST_BYTES = 1 << 20
"""The maximum size of a request."""
MOST_ROWS = 2000
"""The most tokens in one answer. The page requests the following tokens when the user scrolls."""


class BadRequestError(ValueError):
    """An invalid request to the playground."""


@dataclass(frozen=True)
class Query:
    """A text, the tokenizers to encode it with, and the options."""

    text: str
    names: tuple[str, ...]
    add_special_tokens: bool
    special_as_text: bool

    @property
    def options(self) -> Options:
        """The options of the encoding."""
        return Options(False, self.add_special_tokens, self.special_as_text)

    def utf8(self) -> bytes:
        """Return the text as UTF-8. Raise InvalidUtf8Error if the text has half of a surrogate pair."""
        try:
            return self.text.encode()
        except UnicodeEncodeError as error:
            raise InvalidUtf8Error(
                f"character {error.start + 1:,} of the text is half of a surrogate pair (U+"
                f"{ord(self.text[error.start]):04X}), which UTF-8 does not have: remove it"
            ) from None


class Request:
    """The JSON fields of one request."""

    def __init__(self, data: bytes) -> None:
        """Parse a request. Raise BadRequestError unless it is a JSON object."""
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BadRequestError(f"the request is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise BadRequestError(f"the request is {type(fields).__name__}, expected an object")
        self._fields: dict[str, Any] = fields

    def name(self) -> str:
        """Return the field ``name``, a tokenizer."""
        found: str = self._get("name", str)
        if not found:
            raise BadRequestError("name is empty")
        return found

    def query(self) -> Query:
        """Return the text, the tokenizers and the options."""
        names = self._get("names", list)
        if not 0 < len(names) <= MOST_NAMES or not all(isinstance(name, str) and name for name in names):
            raise BadRequestError(f"names: expected 1 to {MOST_NAMES} names of tokenizers")
        special, as_text = self._get("add_special_tokens", bool), self._get("special_as_text", bool)
        return Query(self._get("text", str), tuple(names), special, as_text)

    def number(self, name: str, below: int) -> int:
        """Return an integer field, from 0 to `below` - 1."""
        found: int = self._get(name, int)
        if not 0 <= found < below:
            raise BadRequestError(f"{name}: expected a number from 0 to {below - 1:,}")
        return found

    def _get(self, name: str, wanted: type) -> Any:
        found = self._fields.get(name)
        if type(found) is not wanted:
            raise BadRequestError(f"{name} is {type(found).__name__}, expected {wanted.__name__}")
        return found
