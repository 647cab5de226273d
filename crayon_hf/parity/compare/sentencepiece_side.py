"""SentencePiece's processor, and our tokenizer with the same fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .records import Item, Mode, Outcome, each, outcome_of


class SentencePieceSide:
    """A ``sentencepiece.SentencePieceProcessor`` with its default options: it adds neither bos nor eos.

    For unknown text, the field ``pieces`` has the name of the unknown piece, not the text as in SentencePiece.
    """

    FIELDS = ("ids", "pieces", "decoded")

    def __init__(self, processor: Any) -> None:
        self.processor = processor

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        encode = self.processor.encode
        texts = [item[0] for item in items]
        ids = each(encode, encode, texts)
        pieces = each(partial(encode, out_type=str), partial(encode, out_type=str), texts)
        return [outcome_of(self._fields, *parts) for parts in zip(ids, pieces, strict=True)]

    def _fields(self, ids: list[int], pieces: list[str]) -> dict[str, Any]:
        unknown = self.processor.unk_id()
        named = [
            self.processor.id_to_piece(id) if id == unknown else piece for id, piece in zip(ids, pieces, strict=True)
        ]
        return {"ids": ids, "pieces": named, "decoded": self.processor.decode(ids)}


class OurPiecesSide:
    """Our tokenizer, opened from a SentencePiece model, with the fields of ``SentencePieceSide``."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Encode the items, and return one outcome for each, in order."""
        encodings = each(self.tokenizer.encode_batch, self.tokenizer.encode, [item[0] for item in items])
        return [outcome_of(self._fields, encoding) for encoding in encodings]

    def _fields(self, encoding: Any) -> dict[str, Any]:
        decoded = self.tokenizer.decode(encoding.ids, skip_special_tokens=False)
        pieces = [self.tokenizer.id_to_token(id) for id in encoding.ids]
        return {"ids": encoding.ids, "pieces": pieces, "decoded": decoded}
