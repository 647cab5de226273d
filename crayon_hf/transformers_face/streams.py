"""What `install` puts in the place of ``tokenizers.decoders.DecodeStream``, which takes no tokenizer of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, SupportsIndex

import tokenizers

from crayon_hf.decode_stream import DecodeStream as OurStream
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.reference import reference_class

_home: Any = tokenizers.decoders
_stock: Any = _home.DecodeStream


class DecodeStream:
    """Ours for a tokenizer of ours, that of the reference for one of the reference's."""

    __slots__ = ("_started", "_stream", "_wanted")

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        self._stream: Any = _stock(ids, skip_special_tokens)  # which also says what is wrong with the arguments
        self._wanted = None if ids is None else list(ids), skip_special_tokens
        self._started = False

    def step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
        """Add one id, or several; the new text, or None while a character is not whole."""
        is_ours = isinstance(tokenizer, Tokenizer)
        if not self._started and is_ours:
            self._stream = OurStream(*self._wanted)
        elif self._started and is_ours != isinstance(self._stream, OurStream):
            raise TypeError(
                f"this stream was begun with another kind of tokenizer than {type(tokenizer).__qualname__}, "
                "and cannot go on with it"
            )
        self._started = self._started or is_ours or isinstance(tokenizer, reference_class())
        text: str | None = self._stream.step(tokenizer, id)
        return text

    def __copy__(self) -> DecodeStream:
        twin = DecodeStream.__new__(DecodeStream)
        twin._stream, twin._wanted, twin._started = self._stream.__copy__(), self._wanted, self._started
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        return self.__copy__()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("cannot pickle 'tokenizers.decoders.DecodeStream' object")


DecodeStream.__module__ = _home.__name__
DecodeStream.__doc__ = _stock.__doc__
