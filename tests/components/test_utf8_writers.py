"""The UTF-8 of a str is what Python's encoder makes of it, by every instruction set and whatever lies in a vector."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

# Of each number of bytes the first and the last one, and what is beside the surrogates.
EDGES = ["\0", "a", "\x7f", "\x80", "\xff", "\u0100", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff"]
EDGES += ["\U00010000", "\U0010ffff"]
WIDTHS = ["\xe9", "\u0416", "\U0001f642"]
"""With one of these a str has 1, 2 or 4 bytes for each code point."""

written = _core._testing.utf8_of


def check(text: str) -> None:
    expected = text.encode()  # which the str keeps, and is then read instead of its code points
    assert written("".join(list(text))) == expected, text


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_code_point(width: str) -> None:
    most = {"\xe9": 0x100, "\u0416": 0x10000}.get(width, 0x110000)
    chars = [chr(c) for c in range(most) if not 0xD800 <= c < 0xE000]
    check("".join(chars) + width)
    for i in range(0, len(chars), 997):
        check("x" * (i % 64) + "".join(chars[i : i + 997]) + width)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_neighbourhood(width: str) -> None:
    most = {"\xe9": 0xFF, "\u0416": 0xFFFF}.get(width, 0x10FFFF)
    edges = [char for char in EDGES if ord(char) <= most]
    check("".join("".join(four) for four in product(edges, repeat=4)) + width)
    for edge in edges:
        for at in range(130):
            check("a" * at + edge + width * (130 - at))
            check(width * at + edge + "a" * (130 - at) + width)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_length(width: str) -> None:
    for n in range(300):
        check(width * n)
        check(("ab" + width) * n)
        check("a" * n + width)


def test_a_surrogate_anywhere() -> None:
    for width, surrogate in product(WIDTHS[1:], ("\ud800", "\udbff", "\udc00", "\udfff")):
        for n, at in ((1, 0), (40, 39), *((200, at) for at in range(200))):
            text = width * at + surrogate + width * (n - at)
            with pytest.raises(ValueError, match="surrogates"):
                written(text)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=30) | st.sampled_from(EDGES).map(lambda char: char * 70), max_size=9).map("".join))
def test_any_text(text: str) -> None:
    check(text)
