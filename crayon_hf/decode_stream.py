"""`DecodeStream`: ids in, one by one, and text out as soon as it is whole characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util import validation

_ID_BITS = 32
_BROKEN = "\ufffd"


class DecodeStream:
    """What ``tokenizers.decoders.DecodeStream`` is, for `crayon_hf.Tokenizer`.

    >>> stream = DecodeStream(skip_special_tokens=True)
    >>> "".join(stream.step(tokenizer, id) or "" for id in ids)  # doctest: +SKIP
    """

    __slots__ = ("_context", "_ids", "_shown", "_skip_special_tokens")

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        """`ids` are those of a prompt: they count as context, and their text is not given again."""
        self._ids = [] if ids is None else _ids_of(ids)
        self._skip_special_tokens = (
            False if skip_special_tokens is None else validation.flag(skip_special_tokens, "skip_special_tokens")
        )
        self._context = ""
        """The text of the first ids, which has been given already."""
        self._shown = 0
        """How many ids that is."""

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:
        """Add one id, or several; the new text, or None while a character is not whole.

        Ids that the vocabulary does not have are left out.
        """
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(f"tokenizer is {type(tokenizer).__name__}, expected crayon_hf.Tokenizer")
        try:
            new = _ids_of(id) if _is_list(id) else [validation.unsigned(id, "id", _ID_BITS)]
        except OverflowError as error:
            raise TypeError(str(error)) from None
        if not self._context and self._ids:
            prompt = self._decode(tokenizer, self._ids)
            if not prompt.endswith(_BROKEN):
                self._context, self._shown = prompt, len(self._ids)
        self._ids.extend(new)
        text = self._decode(tokenizer, self._ids)
        if text.endswith(_BROKEN) or len(text.encode()) <= len(self._context.encode()):
            return None
        if not text.startswith(self._context):
            raise ValueError(
                "the text of the ids so far has changed with the new ones: these ids cannot be decoded in a stream"
            )
        chunk = text[len(self._context) :]
        self._ids, self._shown = self._ids[self._shown :], len(self._ids) - self._shown
        self._context = self._decode(tokenizer, self._ids)
        return chunk

    def __copy__(self) -> DecodeStream:
        twin = DecodeStream(self._ids, self._skip_special_tokens)
        twin._context, twin._shown = self._context, self._shown
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        return self.__copy__()

    def _decode(self, tokenizer: Tokenizer, ids: list[int]) -> str:
        return tokenizer.decode(ids, self._skip_special_tokens, unknown_ids="skip")


def _ids_of(ids: Any) -> list[int]:
    if not _is_list(ids):
        raise TypeError(f"ids is {type(ids).__name__}, expected a list of int")
    return [validation.unsigned(id, "id", _ID_BITS) for id in ids]


def _is_list(ids: Any) -> bool:
    listed = isinstance(ids, Sequence) or type(ids).__name__ == "ndarray"
    return listed and not isinstance(ids, (str, bytes))
