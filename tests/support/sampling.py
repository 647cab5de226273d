"""Selects some of a test's many cases for README's test command; the other cases are marked slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """The cases for ``parametrize``: every `every`-th unchanged, beginning with the first, and the others marked slow.

    >>> [getattr(case, "values", case) for case in sampled("abcd", 2)]
    ['a', ('b',), 'c', ('d',)]
    """
    return [case if at % every == 0 else pytest.param(case, marks=pytest.mark.slow) for at, case in enumerate(cases)]
