"""tiktoken's special tokens: whether the engine can find them in texts, and the error for disallowed ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import NoReturn


def are_plain(specials: Mapping[str, int], ranks: Mapping[bytes, int]) -> bool:
    """Whether the engine can find these special tokens: ASCII marks around letters or digits, with ids of their own."""
    taken = set(ranks.values())
    spelled = {content.encode() for content in specials}
    return (
        all(re.fullmatch(r"[^\w\s].*[A-Za-z0-9].*[^\w\s]", content, re.DOTALL) for content in specials)
        and all(content.isascii() for content in specials)
        and not any(id in taken or id < 0 for id in specials.values())
        and not spelled & ranks.keys()
        and not is_ambiguous(frozenset(specials))
    )


@lru_cache(maxsize=64)
def is_ambiguous(specials: frozenset[str]) -> bool:
    """Whether one special token begins with another. A hash map's order decides which of the two tiktoken finds."""
    ordered = sorted(specials)
    return any(after.startswith(before) for before, after in pairwise(ordered))


@lru_cache(maxsize=128)
def pattern_of(tokens: frozenset[str]) -> re.Pattern[str]:
    """Return a regular expression that matches any of these tokens."""
    return re.compile("|".join(map(re.escape, sorted(tokens))))


def common_beginning(texts: Collection[str]) -> str:
    """Return the longest common prefix of the texts."""
    if not texts:
        return ""
    first, last = min(texts), max(texts)  # a prefix that these share is common to all texts between them
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same]


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise tiktoken's error, in its words."""
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        f"If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )
