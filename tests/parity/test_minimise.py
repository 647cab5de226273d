"""The minimiser of differing inputs: its result still differs, and no part of the result can be removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crayon_hf.parity.compare.minimise import minimise
from crayon_hf.parity.compare.records import Item
from crayon_hf.parity.inputs.strings import generate


@pytest.mark.parametrize(
    ("text", "differs", "expected"),
    [
        ("some words, \u00e9 and 42, and more", lambda text: "\u00e9" in text, "\u00e9"),
        ("abcdef" * 50, lambda text: len(text) >= 33, "a" * 33),
        ("x'\u017f y", lambda text: "'\u017f" in text, "'\u017f"),
        ("one (two) three", lambda text: "(" in text and ")" in text[text.index("(") :], "()"),
        ("qq\U0001f600zz", lambda text: any(ord(ch) > 0xFFFF for ch in text), "\U0001f600"),
        ("The end.", lambda text: len(text.split()) == 2, "a a"),
        ("", lambda text: True, ""),
    ],
)
def test_the_smallest_is_found(text: str, differs: Callable[[str], bool], expected: str) -> None:
    assert minimise((text,), lambda item: differs(item[0])) == (expected,)


def test_nothing_can_be_taken_out() -> None:
    def differs(item: Item) -> bool:
        return sum(map(ord, item[0])) % 7 == 3 and len(item[0]) > 2

    tried = 0
    for _, text in generate(120, 2, ["mixture", "prose", "emoji"]):
        if differs((text,)):
            tried += 1
            (smallest,) = minimise((text,), differs)
            assert differs((smallest,))
            assert not any(differs((smallest[:i] + smallest[i + 1 :],)) for i in range(len(smallest)))
    assert tried > 5
