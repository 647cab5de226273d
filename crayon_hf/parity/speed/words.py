"""Makes texts of random words in which no word occurs twice, so that no cache of an engine helps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

__all__ = ["new_words", "text_of_new_words"]

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


def text_of_new_words(size: int, seed: int = 0) -> bytes:
    """Return about ``size`` bytes of new words, separated by spaces."""
    words, text = new_words(seed), bytearray()
    while len(text) < size:
        text += f"{' '.join(islice(words, 100_000))} ".encode()
    return bytes(text[: text.rfind(b" ", 0, size) + 1])
