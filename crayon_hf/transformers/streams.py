"""Replaces ``tokenizers.decoders.DecodeStream``, which does not take tokenizers of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, SupportsIndex, cast

import tokenizers

from crayon_hf.decode_stream import DecodeStream as OurStream
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.reference import is_reference

_home: Any = tokenizers.decoders
_stock: Any = _home.DecodeStream


class DecodeStream(OurStream):
    """A stream that decodes with our engine for our tokenizers, and with the library's stream for other tokenizers."""

    __slots__ = ("_stock", "_stock_begun")

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        self._stock: Any = _stock(ids, skip_special_tokens)  # also checks the arguments
        self._stock_begun = False
        super().__init__(ids, skip_special_tokens)

    def _step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
        is_ours = isinstance(tokenizer, Tokenizer)
        if self._stock_begun if is_ours else self.begun:
            raise TypeError(
                f"this stream was begun with another kind of tokenizer than {type(tokenizer).__qualname__}: "
                "use a new stream for each tokenizer"
            )
        if is_ours:
            return super()._step(tokenizer, id)
        self._stock_begun = self._stock_begun or is_reference(tokenizer)
        text: str | None = self._stock.step(tokenizer, id)
        return text

    def __copy__(self) -> DecodeStream:
        twin = cast(DecodeStream, super().__copy__())
        twin._stock, twin._stock_begun = self._stock.__copy__(), self._stock_begun
        return twin

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("cannot pickle 'tokenizers.decoders.DecodeStream' object")


DecodeStream.__module__ = _home.__name__
DecodeStream.__doc__ = _stock.__doc__
