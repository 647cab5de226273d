"""The reference of a tokenizer, and its ids beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crayon_hf.errors import UnsupportedError
from crayon_hf.parity.compare.records import Outcome, attempt
from crayon_hf.parity.compare.targets import find_target

from .requests import Asked

_AROUND = 8
"""The number of ids that are shown on each side of the first difference."""


class Reference:
    """The library whose ids are right for a tokenizer, opened on the same files. For one thread at a time."""

    def __init__(self, local: str, directory: str) -> None:
        """`directory` takes files that have to be made for it. Raises what `find_target` does."""
        vocabulary = find_target(local, "", directory).vocabulary
        self.name = vocabulary.reference_version
        self._kind = vocabulary.kind
        opened = attempt(vocabulary.open_reference)
        if isinstance(opened, Outcome):
            raise UnsupportedError(f"{self.name} does not open it: {opened.error[0]}: {opened.message}")
        self._opened = opened
        if self._kind == "tokenizers":  # the page shows whole texts
            opened.no_truncation()
            opened.no_padding()

    def ids(self, asked: Asked) -> list[int]:
        """The ids of a text. UnsupportedError where the library has no such call, or fails."""
        found = attempt(self._ids, asked)
        if isinstance(found, Outcome):
            raise UnsupportedError(f"{self.name} does not take this text: {found.error[0]}: {found.message}")
        return [*found]

    def _ids(self, asked: Asked) -> Sequence[int]:
        opened: Any = self._opened
        if self._kind == "tokenizers":
            opened.encode_special_tokens = asked.special_as_text
            ids: Sequence[int] = opened.encode(asked.text, add_special_tokens=asked.add_special_tokens).ids
        elif self._kind == "tiktoken":
            ids = (
                opened.encode_ordinary(asked.text)
                if asked.special_as_text
                else opened.encode(asked.text, allowed_special="all")
            )
        else:
            ids = opened.encode(asked.text)
        return ids


def compared(ours: Sequence[int], theirs: Sequence[int]) -> dict[str, Any]:
    """Whether the ids are the same, the place of the first difference, and the ids of both around it.

    >>> compared([1, 2, 3], [1, 5])
    {'same': False, 'count': 2, 'at': 1, 'first': 0, 'ours': [1, 2, 3], 'theirs': [1, 5]}
    """
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (our, their) in enumerate(pairs) if our != their), min(len(ours), len(theirs)))
    same = len(ours) == len(theirs) == at
    first = 0 if same else max(0, at - _AROUND)
    here = slice(first, first + 2 * _AROUND + 1)
    return {"same": same, "count": len(theirs), "at": at, "first": first, "ours": ours[here], "theirs": theirs[here]}
