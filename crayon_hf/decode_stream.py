"""`DecodeStream`: ids in, one by one, and text out as soon as its characters are complete."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from crayon_hf import _core
from crayon_hf.errors import DelegatedWarning
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util import validation
from crayon_hf.util.import_hooks import when_imported
from crayon_hf.util.reference import is_reference, reference_class
from crayon_hf.util.replacing import like
from crayon_hf.util.warned import warn_caller

_ID_BITS = 32

_references: WeakKeyDictionary[Tokenizer, tuple[Any, Any]] = WeakKeyDictionary()
"""For each of our tokenizers: the engine it had, and a tokenizer of ``tokenizers`` with the output of that engine."""


class DecodeStream(_core.DecodeStream):
    """Decode ids one by one, as ``tokenizers.decoders.DecodeStream`` does.

    ``stream.step(tokenizer, id)`` adds one id, or a list of ids. It returns the new text, or None while a character is
    incomplete. Unknown ids are left out. The tokenizer is ours or one of ``tokenizers``.

    Args:
        ids: The ids of a prompt. They are context for the next ids: their text is not returned.
        skip_special_tokens: Whether special tokens are left out.

    Raises:
        ValueError: New ids change earlier text.

    >>> stream = DecodeStream(skip_special_tokens=True)
    >>> "".join(stream.step(tokenizer, id) or "" for id in ids)  # doctest: +SKIP
    """

    __slots__ = ()

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        """`ids` are those of a prompt. They are context for the next ids: their text is not returned."""
        prompt = [] if ids is None else _ids_of(ids)
        super().__init__(
            prompt,
            False if skip_special_tokens is None else validation.flag(skip_special_tokens, "skip_special_tokens"),
        )

    def _step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:
        """`step` for arguments that the compiled `step` does not handle itself."""
        engine: Any
        if isinstance(tokenizer, Tokenizer):
            engine = tokenizer._current_engine()
        elif "tokenizers" in sys.modules and is_reference(tokenizer):
            engine = _OfTheReference(tokenizer)
        else:
            raise TypeError(
                f"tokenizer is {type(tokenizer).__name__}, expected crayon_hf.Tokenizer or tokenizers.Tokenizer"
            )
        try:
            new = _ids_of(id) if _is_list(id) else [validation.unsigned(id, "id", _ID_BITS)]
        except OverflowError as error:
            raise TypeError(str(error)) from None
        return self.advance(engine, new)

    def __copy__(self) -> DecodeStream:
        twin = type(self).__new__(type(self))
        _core.DecodeStream.__init__(twin, self)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        return self.__copy__()


class _OfTheReference:
    """Gives a tokenizer of ``tokenizers`` the `decode` of our engines, which `advance` calls."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def decode(self, ids: list[int], skip_special_tokens: bool, unknown: str) -> Any:
        """Decode ids. `unknown` is ignored: the library itself leaves out unknown ids."""
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)


def watch() -> None:
    """Make the `DecodeStream` of ``tokenizers`` take our tokenizers, now or when that library is imported.

    Otherwise it raises TypeError. Servers take the TypeError for a bad id, log it, and continue without text.
    """
    when_imported("tokenizers.decoders", "DecodeStream", _extend)


def _extend() -> None:
    home: Any = sys.modules["tokenizers"]
    kind = home.tokenizers.decoders.DecodeStream  # the compiled class: install() rebinds the public name
    stock = kind.step

    def step(self: Any, tokenizer: Any, id: Any) -> Any:
        try:
            return stock(self, tokenizer, id)
        except TypeError:
            if not isinstance(tokenizer, Tokenizer):
                raise
        return stock(self, _reference_of(tokenizer), id)

    kind.step = like(stock, step)


def _reference_of(tokenizer: Tokenizer) -> Any:
    """Return a tokenizer of ``tokenizers`` with the current output of `tokenizer`."""
    engine, known = tokenizer._current_engine(), _references.get(tokenizer)
    if known is None or known[0] is not engine:
        warn_caller(
            "tokenizers.decoders.DecodeStream takes only tokenizers of its own library, so one is made from this"
            " tokenizer, which takes time and memory: call crayon_hf.install() before the class is imported, or use"
            " crayon_hf.DecodeStream",
            DelegatedWarning,
        )
        known = _references[tokenizer] = engine, reference_class().from_str(tokenizer.to_str())
    return known[1]


def _ids_of(ids: Any) -> list[int]:
    if not _is_list(ids):
        raise TypeError(f"ids is {type(ids).__name__}, expected a list of int")
    return [validation.unsigned(id, "id", _ID_BITS) for id in ids]


def _is_list(ids: Any) -> bool:
    listed = isinstance(ids, Sequence) or type(ids).__name__ == "ndarray"
    return listed and not isinstance(ids, (str, bytes))
