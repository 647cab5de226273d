"""Shared parts of the adapters: tokenizers by name, and picklable splitters."""

from __future__ import annotations

from typing import Any

from crayon_hf.budgets.boundaries import Boundaries
from crayon_hf.budgets.chunks import Splitter


def tokenizer_of(tokenizer: Any) -> Any:
    """Open a tokenizer by name (profile, path, tiktoken encoding, Hub repository). Return other objects unchanged."""
    if not isinstance(tokenizer, str):
        return tokenizer
    from crayon_hf.formats.names import is_repository
    from crayon_hf.tokenizer import Tokenizer
    from crayon_hf.tokenizer.resolve import open_tokenizer

    return Tokenizer.from_pretrained(tokenizer) if is_repository(tokenizer) else open_tokenizer(tokenizer)


class Settings:
    """A `Splitter` that can be copied and pickled: copies make a new splitter from the same arguments."""

    def __init__(
        self, tokenizer: Any, max_tokens: int, overlap: int, boundaries: Boundaries, special: bool, strip: bool
    ) -> None:
        self._arguments = tokenizer, max_tokens, overlap, boundaries, special, strip
        self.splitter = self.with_room(max_tokens)

    def with_room(self, max_tokens: int) -> Splitter:
        """Return a splitter for chunks of at most `max_tokens` tokens, with as much of the overlap as fits."""
        tokenizer, whole, overlap, boundaries, special, strip = self._arguments
        fitting = overlap if max_tokens == whole else min(overlap, max_tokens - 1)
        return Splitter(tokenizer, max_tokens, fitting, boundaries, special, strip)

    def __reduce__(self) -> tuple[type[Settings], tuple[Any, ...]]:
        return Settings, self._arguments
