"""Budgets of whole texts: count up to a limit, ask whether a text fits, cut it.

The functions take whatever `holders.engine_of` knows; `Tokenizer` has methods of the same names.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from crayon_hf.budgets import places
from crayon_hf.budgets.holders import engine_of
from crayon_hf.util import validation

if TYPE_CHECKING:
    from crayon_hf.tokenizer_state.state import AnyEngine

Side = Literal["right", "left"]
Boundary = Literal["paragraph", "sentence", "word"]

_MOST = 2**62
"""No text has more tokens, and the engine takes no greater number."""


@overload
def count_tokens(
    tokenizer: Any,
    texts: str | bytes,
    add_special_tokens: bool = True,
    threads: int = 0,
    limit: int | None = None,
) -> int: ...
@overload
def count_tokens(
    tokenizer: Any,
    texts: Sequence[str | bytes],
    add_special_tokens: bool = True,
    threads: int = 0,
    limit: int | None = None,
) -> list[int]: ...
def count_tokens(
    tokenizer: Any,
    texts: str | bytes | Sequence[str | bytes],
    add_special_tokens: bool = True,
    threads: int = 0,
    limit: int | None = None,
) -> int | list[int]:
    """How many tokens a text has, or each of many texts; with a `limit`, at most ``limit + 1``.

    >>> import crayon_hf
    >>> crayon_hf.budgets.count_tokens(crayon_hf.Tokenizer.from_profile("lite"), "so much to say " * 1000, limit=10)
    11
    """
    engine, as_text = engine_of(tokenizer)
    one = isinstance(texts, (str, bytes))
    batch: Any = [texts] if one else texts
    counts = count_of(engine, batch, add_special_tokens, as_text, threads, limit)
    return counts[0] if one else counts


def fits(tokenizer: Any, text: str | bytes, max_tokens: int, add_special_tokens: bool = True) -> bool:
    """Whether a text has at most `max_tokens` tokens. A longer text is not encoded to its end.

    docs/budgets.md has examples.
    """
    engine, as_text = engine_of(tokenizer)
    return fits_in(engine, text, max_tokens, add_special_tokens, as_text)


def truncate_text(
    tokenizer: Any,
    text: str,
    max_tokens: int,
    side: Side = "right",
    boundary: Boundary | None = None,
    add_special_tokens: bool = True,
) -> str:
    """The longest beginning of a text (end, if `side` is "left") that has at most `max_tokens` tokens.

    See `Tokenizer.truncate_text`.

    docs/budgets.md has examples.
    """
    engine, as_text = engine_of(tokenizer)
    return truncated(engine, text, max_tokens, side, boundary, add_special_tokens, as_text)


def count_of(
    engine: AnyEngine, texts: Any, add_special_tokens: bool, special_as_text: bool, threads: int, limit: int | None
) -> list[int]:
    if limit is None:
        counts: list[int] = engine.count_tokens(texts, add_special_tokens, special_as_text, threads)
        return counts
    limited: list[int] = engine.count_up_to(texts, budget(limit, "limit"), add_special_tokens, special_as_text, threads)
    return limited


def fits_in(
    engine: AnyEngine, text: str | bytes, max_tokens: int, add_special_tokens: bool, special_as_text: bool
) -> bool:
    most = budget(max_tokens, "max_tokens")
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text is {validation.kind(text)}, expected str")
    return count_of(engine, [text], add_special_tokens, special_as_text, 1, most)[0] <= most


def truncated(
    engine: AnyEngine,
    text: str,
    max_tokens: int,
    side: str,
    boundary: str | None,
    add_special_tokens: bool,
    special_as_text: bool,
) -> str:
    most = budget(max_tokens, "max_tokens")
    if side not in ("right", "left"):
        raise ValueError(f"side is {side!r}, expected 'right' or 'left'")
    refused = validation.kind_refusal(text, "text")
    if refused is not None:
        raise refused
    if boundary is not None and boundary not in places.KINDS:
        raise ValueError(f"boundary is {boundary!r}, expected None or one of {', '.join(map(repr, places.KINDS))}")
    place = engine.truncation_place(text, most, side, add_special_tokens, special_as_text)
    if boundary is not None and 0 < place < len(text):

        def fits(part: str) -> bool:
            return fits_in(engine, part, most, add_special_tokens, special_as_text)

        find = places.end_at_boundary if side == "right" else places.begin_at_boundary
        try:
            place = find(text, place, boundary, fits)
        except UnicodeEncodeError as error:  # of ICU, which looks at the whole line
            raise (validation.refusal(text, False, "text") or error) from None
    return text[:place] if side == "right" else text[place:]


def budget(value: Any, name: str) -> int:
    """A number of tokens: TypeError for what is no integer, ValueError for a negative one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {validation.kind(value)}, expected int") from None
    if number < 0:
        raise ValueError(f"{name} is {number}, expected 0 or more")
    return min(number, _MOST)
