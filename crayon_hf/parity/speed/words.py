"""Makes texts of random words in which no word occurs twice, so that no cache of an engine helps."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["new_words", "write_new_words"]

_PAIRS = [consonant + vowel for consonant in "bcdfghjklmnprstvwxyz" for vowel in "aeiou"]
_SYLLABLES = [first + second for first in _PAIRS for second in _PAIRS]
_LETTERS = [a + b + c for a in "etaoinshrdlu" for b in "etaoinshrdlucmfwypvb" for c in "etaoinshrdlucmfwypvbgkqjxz"]
_COUNT = len(_SYLLABLES)


def new_words(seed: int = 0) -> Iterator[str]:
    """Yield words forever: half can be pronounced, half cannot. Each word spells a number of its own, so none repeats.

    The numbers are multiplied by a constant that is coprime to their count. So the words stay distinct, and successive
    words look different.
    """
    number = seed * 7_919 + 1
    while True:
        mixed = number * 61_803_401 % (_COUNT * _COUNT)
        yield _SYLLABLES[mixed // _COUNT] + _SYLLABLES[mixed % _COUNT] + ("" if number % 3 else _PAIRS[number % 97])
        high, low = divmod(number * 2_654_435_761 % len(_LETTERS) ** 2, len(_LETTERS))
        # These words have an odd number of letters, the pronounceable ones an even number.
        yield _LETTERS[high] + _LETTERS[low] + _LETTERS[(high * 31 + low) % len(_LETTERS)][: 1 + 2 * (number // 2 % 2)]
        number += 1


def write_new_words(path: str, size: int, seed: int = 0) -> None:
    """Write a file of about ``size`` bytes of new words, separated by spaces."""
    words = new_words(seed)
    left = size
    with open(path, "w", encoding="ascii") as out:
        while left > 0:
            text = " ".join(next(words) for _ in range(min(100_000, left // 8 + 1))) + " "
            out.write(text if len(text) <= left else text[: text.rfind(" ", 0, left) + 1])
            left -= len(text)
