"""End a truncated text at the last paragraph, sentence or word that fits."""

from __future__ import annotations

from collections.abc import Callable

KINDS = ("paragraph", "sentence", "word")


def end_at_boundary(text: str, place: int, boundary: str, fits: Callable[[str], bool]) -> int:
    """Return the last boundary up to `place` such that the text before it `fits`.

    Finer kinds are tried only if no boundary of the kind `boundary` fits. If none fits, the result is `place`.
    """
    from crayon_hf.budgets.boundaries import finders

    near = text[: _behind(text, place)]
    for kind in KINDS[KINDS.index(boundary) :]:
        (finder,) = finders(near, [kind])
        at = finder.last(0, place)
        while at is not None and not fits(text[:at]):
            at = finder.last(0, at - 1)
        if at is not None:
            return at
    return place


def begin_at_boundary(text: str, place: int, boundary: str, fits: Callable[[str], bool]) -> int:
    """Return the first boundary from `place` on such that the text after it `fits`.

    Finer kinds are tried only if no boundary of the kind `boundary` fits. If none fits, the result is `place`.
    """
    from crayon_hf.budgets.boundaries import finders

    base = text.rfind("\n", 0, len(text[:place].rstrip())) + 1
    near = text[base:]
    for kind in KINDS[KINDS.index(boundary) :]:
        (finder,) = finders(near, [kind])
        at = finder.first(place - base, len(near))
        while at is not None and not fits(near[at:]):
            at = finder.first(at + 1, len(near))
        if at is not None:
            return base + at
    return place


def _behind(text: str, place: int) -> int:
    """The end of the text that can influence boundaries at `place`: its line, and the empty lines after that line."""
    end = text.find("\n", place)
    if end < 0:
        return len(text)
    rest = text[end : end + 1000]  # limits the work for long runs of empty lines
    while rest.isspace() and end < len(text):
        end += len(rest)
        rest = text[end : end + 1000]
    return min(len(text), end + len(rest) - len(rest.lstrip()) + 1)
