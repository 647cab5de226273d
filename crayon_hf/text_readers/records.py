"""Parse JSON lines with Python's ``json``, if the engine does not parse them itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from crayon_hf.errors import CorpusError, InvalidUtf8Error
from crayon_hf.util.validation import kind

_JSON = {list: "list", str: "string", bool: "boolean", type(None): "null"}
"""JSON's names for the types of Python."""


def record_of(line: bytes, columns: Sequence[str], errors: str = "strict") -> dict[str, Any]:
    """Parse the object on a line, which must have all `columns`. A byte order mark is skipped.

    Raise InvalidUtf8Error, or CorpusError for other content. Their messages continue a sentence that names the line.
    """
    try:
        record: Any = json.loads(line.decode("utf-8", errors).removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(f"is not UTF-8: invalid byte at offset {error.start} of the line") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"is not JSON: {error} (a file of plain text is read with format='text')") from None
    names = ", ".join(map(repr, columns))
    if not isinstance(record, dict):
        raise CorpusError(f"is a JSON {_JSON.get(type(record), 'number')}, expected an object with {names}")
    for column in columns:
        if column not in record:
            known = ", ".join(map(repr, list(record)[:20])) or "nothing"
            raise CorpusError(f"has no {column!r}; it has {known}")
    return record


def is_blank(line: bytes) -> bool:
    """Whether a line is empty or only white space, after any byte order mark."""
    return not line or line.isspace() or (line.startswith(b"\xef\xbb\xbf") and is_blank(line[3:]))


def check_text(text: Any, column: str) -> str:
    """Return `text`. Raise CorpusError if it is not a str, or has a lone surrogate."""
    if not isinstance(text, str):
        raise CorpusError(f"{column!r} is {kind(text)}, expected str")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CorpusError(f"{column!r} has a lone surrogate, which is not valid text") from None
    return text
