"""What the adapters have in common: tokenizers by their names, and splitters that can be pickled."""

from __future__ import annotations

from typing import Any

from crayon_hf.budgets.boundaries import Boundaries
from crayon_hf.budgets.chunks import Splitter


def tokenizer_of(tokenizer: Any) -> Any:
    """A tokenizer by its name (a profile, a path, an encoding of tiktoken, a repository of the Hub), or as it is."""
    if not isinstance(tokenizer, str):
        return tokenizer
    from crayon_hf.formats.names import is_repository
    from crayon_hf.tokenizer import Tokenizer
    from crayon_hf.tokenizer.resolve import open_tokenizer

    return Tokenizer.from_pretrained(tokenizer) if is_repository(tokenizer) else open_tokenizer(tokenizer)


class Settings:
    """The arguments of a `Splitter`, checked. They are what is copied and pickled; the splitter is made again."""

    def __init__(
        self, tokenizer: Any, max_tokens: int, overlap: int, boundaries: Boundaries, special: bool, strip: bool
    ) -> None:
        self._arguments = tokenizer, max_tokens, overlap, boundaries, special, strip
        self.splitter = self.with_room(max_tokens)

    def with_room(self, max_tokens: int) -> Splitter:
        """A splitter into chunks of other sizes. The overlap is as much of the one that was asked for as can be."""
        tokenizer, whole, overlap, boundaries, special, strip = self._arguments
        fitting = overlap if max_tokens == whole else min(overlap, max_tokens - 1)
        return Splitter(tokenizer, max_tokens, fitting, boundaries, special, strip)

    def __reduce__(self) -> tuple[type[Settings], tuple[Any, ...]]:
        return Settings, self._arguments
