"""Derives truncation and padding from the arguments of a tokenizer call, by the rules of transformers."""

from __future__ import annotations

from typing import Any, NamedTuple

import transformers
from transformers.tokenization_utils_base import LARGE_INTEGER, TruncationStrategy
from transformers.utils.generic import PaddingStrategy

from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer_json.truncation_padding import Padding, Truncation, padding_of, truncation_of

_PADDING: dict[Any, PaddingStrategy] = {
    False: PaddingStrategy.DO_NOT_PAD,
    True: PaddingStrategy.LONGEST,
    **{key: strategy for strategy in PaddingStrategy for key in (strategy, strategy.value)},
}
_TRUNCATION: dict[Any, TruncationStrategy] = {
    None: TruncationStrategy.DO_NOT_TRUNCATE,
    False: TruncationStrategy.DO_NOT_TRUNCATE,
    True: TruncationStrategy.LONGEST_FIRST,
    **{key: strategy for strategy in TruncationStrategy for key in (strategy, strategy.value)},
}
_PLAIN = frozenset((bool, str, type(None), PaddingStrategy, TruncationStrategy))
_SAYS_ONCE = transformers.__version__.startswith("4.")
"""Whether transformers logs, once per tokenizer, that arguments are incomplete."""


class Sizes(NamedTuple):
    """The truncation and padding of a call, and the maximum length that its arguments state or imply."""

    max_length: int | None
    truncation: Truncation | None
    padding: Padding | None


NONE = Sizes(None, None, None)


def sizes_of(tokenizer: Any, backend: Tokenizer, options: dict[str, Any], verbose: bool) -> Sizes | None:
    """Return the sizes for the arguments of a call, or None if transformers would warn or raise.

    The function is equivalent to `_get_padding_truncation_strategies` and `set_truncation_and_padding`.
    """
    padding, truncation = options.get("padding", False), options.get("truncation")
    max_length, multiple = options.get("max_length"), options.get("pad_to_multiple_of")
    if type(padding) not in _PLAIN or type(truncation) not in _PLAIN or type(max_length) not in (int, type(None)):
        return None
    speaks = _SAYS_ONCE and verbose
    if max_length is not None and padding is False and truncation is None:
        if speaks and not tokenizer.deprecation_warnings.get("Truncation-not-explicitly-activated"):
            return None
        truncation = "longest_first"
    pad, cut = _PADDING.get(padding), _TRUNCATION.get(truncation)
    if pad is None or cut is None:
        return None
    cuts = cut is not TruncationStrategy.DO_NOT_TRUNCATE
    if padding is True and max_length is not None and not cuts and verbose:
        return None
    limit = max_length
    if max_length is None and (cuts or pad is PaddingStrategy.MAX_LENGTH):
        limit = tokenizer.model_max_length
        if limit > LARGE_INTEGER:
            if speaks:
                return None
            limit, cuts = None, False
            pad = PaddingStrategy.DO_NOT_PAD if pad is PaddingStrategy.MAX_LENGTH else pad
    try:
        return Sizes(
            limit,
            _truncation(tokenizer, backend, cut.value, limit, options.get("stride", 0)) if cuts else None,
            None
            if pad is PaddingStrategy.DO_NOT_PAD
            else _padding(tokenizer, backend, pad, limit, multiple, options.get("padding_side"), cuts),
        )
    except (TypeError, ValueError, ArithmeticError):
        return None


def _truncation(tokenizer: Any, backend: Tokenizer, strategy: str, limit: Any, stride: Any) -> Truncation:
    special_tokens = backend._current_engine().num_special_tokens_to_add(False)
    return truncation_of(limit, stride, strategy, tokenizer.truncation_side, special_tokens, {})


def _padding(
    tokenizer: Any, backend: Tokenizer, strategy: PaddingStrategy, limit: Any, multiple: Any, side: Any, cuts: bool
) -> Padding:
    if cuts and multiple is not None and limit % multiple:
        raise ValueError("transformers refuses it")
    length = limit if strategy is PaddingStrategy.MAX_LENGTH else None
    direction = tokenizer.padding_side if side is None else side
    token = tokenizer._special_tokens_map.get("pad_token")
    question = direction, length, type(multiple), multiple, str(token), tokenizer.pad_token_type_id
    # Cached: looking up the token and its id in transformers takes longer than encoding a short text.
    known = backend.__dict__.get("_crayon_padding")
    if known is not None and known[0] == question and known[1] is backend._current_engine():
        found: Padding = known[2]
        return found
    if tokenizer.pad_token is None:
        raise ValueError("transformers refuses it")
    names = tokenizer.pad_token_id, tokenizer.pad_token_type_id, tokenizer.pad_token
    found = padding_of(direction, *names, length, multiple, {})
    backend.__dict__["_crayon_padding"] = question, backend._current_engine(), found
    return found
