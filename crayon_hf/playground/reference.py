"""The reference library of a tokenizer, and the comparison of its ids with ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crayon_hf.errors import UnsupportedError
from crayon_hf.parity.compare.records import Outcome, attempt
from crayon_hf.parity.compare.targets import find_target

from .requests import Query

_AROUND = 8
"""The number of ids shown on each side of the first difference."""


class Reference:
    """The reference library of a tokenizer, opened on the same files. Not thread-safe."""

    def __init__(self, local: str, directory: str) -> None:
        """Open the reference of the tokenizer at `local`.

        Args:
            local: The tokenizer's path or profile.
            directory: A directory for converted files that the library needs.

        Raises:
            UnsupportedError: The library cannot open the tokenizer.
        """
        vocabulary = find_target(local, "", directory).vocabulary
        self.name = vocabulary.reference_version
        self._kind = vocabulary.kind
        opened = attempt(vocabulary.open_reference)
        if isinstance(opened, Outcome):
            raise UnsupportedError(f"{self.name} cannot open this tokenizer: {opened.error[0]}: {opened.message}")
        self._opened = opened
        if self._kind == "tokenizers":  # the page shows all tokens
            opened.no_truncation()
            opened.no_padding()

    def ids(self, query: Query) -> list[int]:
        """Return the ids of a text. Raise UnsupportedError if the library fails or lacks an option."""
        found = attempt(self._ids, query)
        if isinstance(found, Outcome):
            raise UnsupportedError(f"{self.name} cannot encode this text: {found.error[0]}: {found.message}")
        return [*found]

    def _ids(self, query: Query) -> Sequence[int]:
        opened: Any = self._opened
        if self._kind == "tokenizers":
            opened.encode_special_tokens = query.special_as_text
            ids: Sequence[int] = opened.encode(query.text, add_special_tokens=query.add_special_tokens).ids
        elif self._kind == "tiktoken":
            ids = (
                opened.encode_ordinary(query.text)
                if query.special_as_text
                else opened.encode(query.text, allowed_special="all")
            )
        else:
            ids = opened.encode(query.text)
        return ids


def compare_ids(ours: Sequence[int], theirs: Sequence[int]) -> dict[str, Any]:
    """Find the first difference between two lists of ids.

    Returns:
        A dict with ``same``, the length ``count`` of `theirs` and the index ``at`` of the first difference. ``ours``
        and ``theirs`` are the ids around it, from index ``first`` on.

    >>> compare_ids([1, 2, 3], [1, 5])
    {'same': False, 'count': 2, 'at': 1, 'first': 0, 'ours': [1, 2, 3], 'theirs': [1, 5]}
    """
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (our, their) in enumerate(pairs) if our != their), min(len(ours), len(theirs)))
    same = len(ours) == len(theirs) == at
    first = 0 if same else max(0, at - _AROUND)
    window = slice(first, first + 2 * _AROUND + 1)
    return {
        "same": same,
        "count": len(theirs),
        "at": at,
        "first": first,
        "ours": ours[window],
        "theirs": theirs[window],
    }
