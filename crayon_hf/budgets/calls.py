"""Budgets of whole texts: count tokens up to a limit, check whether a text fits, truncate it.

The functions take any tokenizer that `holders.engine_of` accepts. They are methods of `Tokenizer`, too.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from crayon_hf.budgets import places
from crayon_hf.budgets.holders import engine_of
from crayon_hf.util import validation

if TYPE_CHECKING:
    from crayon_hf.cartridges.opened_source import AnyEngine

Side = Literal["right", "left"]
Boundary = Literal["paragraph", "sentence", "word"]

_MOST = 2**62
"""The largest limit that the engine takes, which is more than the tokens of any text."""


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
    """The number of tokens of a text, or a list of numbers for many texts.

    Args:
        texts: A text, or many.
        add_special_tokens: Count the special tokens around a text.
        threads: Threads for many texts; 0 uses all cores.
        limit: Stop counting a text with more tokens, and return ``limit + 1`` for it. The uncounted part is not checked
            for errors.

    >>> import crayon_hf
    >>> crayon_hf.budgets.count_tokens(crayon_hf.Tokenizer.from_profile("lite"), "Ask, and it shall " * 1000, limit=10)
    11
    """
    engine, as_text = engine_of(tokenizer)
    one = isinstance(texts, (str, bytes))
    batch: Any = [texts] if one else texts
    counts = None
    if not one and limit is None and (placement := getattr(tokenizer, "_placement", None)) is not None:
        counts = placement.try_counts(engine, batch, add_special_tokens, as_text, threads)
    if counts is None:
        counts = _counts(engine, batch, add_special_tokens, as_text, threads, limit)
    return counts[0] if one else counts


def fits(tokenizer: Any, text: str | bytes, max_tokens: int, add_special_tokens: bool = True) -> bool:
    """Whether a text has at most `max_tokens` tokens. Encoding stops once the answer is known.

    docs/budgets.md has examples.
    """
    engine, as_text = engine_of(tokenizer)
    return _fits(engine, text, budget(max_tokens, "max_tokens"), add_special_tokens, as_text)


def truncate_text(
    tokenizer: Any,
    text: str,
    max_tokens: int,
    side: Side = "right",
    boundary: Boundary | None = None,
    add_special_tokens: bool = True,
) -> str:
    """Truncate a text to at most `max_tokens` tokens.

    Args:
        text: The text to truncate.
        max_tokens: The most tokens of the result.
        side: The side to cut off: "right" keeps the beginning, "left" the end.
        boundary: Cut at the last boundary of this kind that fits, as `split_text` finds it. A paragraph that is too
            long is cut between sentences, a sentence between words, a word between tokens.
        add_special_tokens: Count the special tokens around the text.

    Returns:
        The text of the first `max_tokens` tokens of the whole text's encoding, or with "left" of the last ones. If this
        part would have more tokens when encoded alone, it is shortened further. Characters are never cut.

    Raises:
        ValueError: The special tokens alone exceed `max_tokens`.
        MissingExtraError: The extra ``chunks``, which finds sentences and words, is not installed.

    >>> import crayon_hf
    >>> crayon_hf.Tokenizer.from_profile("lite").truncate_text("Ask, and it shall be given you.", 3)
    'Ask, and'
    """
    engine, as_text = engine_of(tokenizer)
    most = budget(max_tokens, "max_tokens")
    if side not in ("right", "left"):
        raise ValueError(f"side is {side!r}, expected 'right' or 'left'")
    refused = validation.kind_refusal(text, "text")
    if refused is not None:
        raise refused
    if boundary is not None and boundary not in places.KINDS:
        raise ValueError(f"boundary is {boundary!r}, expected None or one of {', '.join(map(repr, places.KINDS))}")
    place = engine.truncation_place(text, most, side, add_special_tokens, as_text)
    if boundary is not None and 0 < place < len(text):

        def fits(part: str) -> bool:
            return _fits(engine, part, most, add_special_tokens, as_text)

        find = places.end_at_boundary if side == "right" else places.begin_at_boundary
        try:
            place = find(text, place, boundary, fits)
        except UnicodeEncodeError as error:  # from ICU, which reads the whole line around the cut
            raise (validation.refusal(text, False, "text") or error) from None
    return text[:place] if side == "right" else text[place:]


def _counts(
    engine: AnyEngine, texts: Any, add_special_tokens: bool, as_text: bool, threads: int, limit: int | None
) -> list[int]:
    if limit is None:
        counts: list[int] = engine.count_tokens(texts, add_special_tokens, as_text, threads)
        return counts
    limited: list[int] = engine.count_up_to(texts, budget(limit, "limit"), add_special_tokens, as_text, threads)
    return limited


def _fits(engine: AnyEngine, text: str | bytes, most: int, add_special_tokens: bool, as_text: bool) -> bool:
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text is {validation.kind(text)}, expected str")
    return _counts(engine, [text], add_special_tokens, as_text, 1, most)[0] <= most


def budget(value: Any, name: str) -> int:
    """Check a number of tokens. Raises TypeError unless it is an integer, ValueError if it is negative."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {validation.kind(value)}, expected int") from None
    if number < 0:
        raise ValueError(f"{name} is {number}, expected 0 or more")
    return min(number, _MOST)
