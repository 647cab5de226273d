"""Hostile strings with a fixed seed, by category.

The categories are in ``categories_text`` and ``categories_unicode``; a new one is a function under ``@category``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import categories_text, categories_unicode
from .categories import CATEGORIES
from .randomness import source_for

__all__ = ["CATEGORIES", "categories_text", "categories_unicode", "generate"]


def generate(
    n: int, seed: int = 1, categories: Sequence[str] | None = None, specials: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield ``n`` strings as (category, string), taking the categories in turn.

    The k-th string of a category depends on the seed, the category, k and ``specials`` only. It is the same in every
    process and Python version. Adding a category changes only the strings of ``mixture``, which draws from all
    categories.
    """
    names = list(CATEGORIES) if categories is None else list(categories)
    for name in names:
        if name not in CATEGORIES:
            raise ValueError(f"no category named {name!r}; expected one of: {', '.join(CATEGORIES)}")
    specials = tuple(specials)
    for i in range(n):
        name = names[i % len(names)]
        yield name, CATEGORIES[name](source_for(seed, name, i // len(names)), specials)
