"""Budgets of whole texts: count up to a limit, ask whether a text fits, cut it.

The functions take whatever `holders.engine_of` knows; they are methods of `Tokenizer`, too.
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
    """How many tokens a whole text has, or a list of that for each of many texts.

    With a `limit`, a text that has more is not encoded to its end, and its count is ``limit + 1``. Errors in the
    rest of the text are not found.

    >>> import crayon_hf
    >>> crayon_hf.budgets.count_tokens(crayon_hf.Tokenizer.from_profile("lite"), "so much to say " * 1000, limit=10)
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
    """Whether a text has at most `max_tokens` tokens. A longer text is not encoded to its end.

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
    """The text, cut to at most `max_tokens` tokens.

    `side` is what is cut off: the end, or with "left" the beginning. The rest has whole characters and whole tokens
    of the text's encoding: the first `max_tokens` (with "left" the last), or fewer if these encode to more by
    themselves. Special tokens around the text count unless ``add_special_tokens=False``; ValueError if they alone
    are more than `max_tokens`.

    With a `boundary` the cut is the last one of that kind that fits, as `split_text` finds it. A single paragraph
    that is too long is cut between sentences, a sentence between words, and a word between tokens. Sentences and
    words need the extra ``chunks``; without it, MissingExtraError.

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
        except UnicodeEncodeError as error:  # of ICU, which looks at the whole line
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
    """A number of tokens: TypeError for what is no integer, ValueError for a negative one."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {validation.kind(value)}, expected int") from None
    if number < 0:
        raise ValueError(f"{name} is {number}, expected 0 or more")
    return min(number, _MOST)
