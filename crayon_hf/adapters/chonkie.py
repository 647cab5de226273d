"""`CrayonChunker`: a chunker for Chonkie."""

from __future__ import annotations

from typing import Any

from crayon_hf.adapters.common import Settings, tokenizer_of
from crayon_hf.budgets.boundaries import Boundaries
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.extras import needed

with needed("crayon_hf.adapters.chonkie", "chonkie"):
    from chonkie.chunker.base import BaseChunker
    from chonkie.pipeline import chunker
    from chonkie.tokenizer import TokenizersAutoTokenizer
    from chonkie.types import Chunk


@chunker("crayon")
class CrayonChunker(BaseChunker):
    """Splits texts into chunks of at most `chunk_size` tokens: see `Tokenizer.split_text`.

    `tokenizer` is a `crayon_hf.Tokenizer`, one from `crayon_hf.AutoTokenizer`, an encoding of `crayon_hf.tiktoken`, or
    a name or path. A `chunk_overlap` between 0 and 1 is a share of `chunk_size`. After this module is imported, a
    pipeline of Chonkie can use ``chunk_with("crayon", tokenizer=...)``.
    """

    def __init__(
        self,
        tokenizer: Any,
        chunk_size: int = 2048,
        chunk_overlap: int | float = 0,
        boundaries: Boundaries = "paragraph",
        add_special_tokens: bool = False,
        strip: bool = False,
    ) -> None:
        opened = tokenizer_of(tokenizer)
        super().__init__(TokenizersAutoTokenizer(opened) if isinstance(opened, Tokenizer) else opened)
        overlap = int(chunk_overlap * chunk_size) if isinstance(chunk_overlap, float) else chunk_overlap
        self.chunk_size = chunk_size
        self.chunk_overlap = overlap
        self._settings = Settings(opened, chunk_size, overlap, boundaries, add_special_tokens, strip)

    def __repr__(self) -> str:
        return f"CrayonChunker(chunk_size={self.chunk_size}, chunk_overlap={self.chunk_overlap})"

    def chunk(self, text: str) -> list[Chunk]:
        """All chunks of a text, with their offsets and numbers of tokens."""
        return [
            Chunk(text=each.text, start_index=each.start, end_index=each.end, token_count=len(each.ids))
            for each in self._settings.splitter.split(text)
        ]
