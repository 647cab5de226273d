"""`decode_utf8` makes the str that Python's decoder makes, of text of every width and whatever lies in a vector."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

EDGES = ["\0", "a", "\x7f", "\x80", "\xbf", "\xc0", "\xff", "\u0100", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff"]
EDGES += ["\U00010000", "\U0010ffff"]
PAST = {1: 0x100, 2: 0x10000, 4: 0x110000}
"""By how many bytes a character of a str has, the first code point that is too large."""
FILL = "a" * 300
"""Short text is left to Python's decoder."""


def check(text: str) -> None:
    made = _core.decode_utf8(text.encode())
    assert made == text
    assert made.__sizeof__() == "".join(list(text)).__sizeof__()  # as wide as it has to be, and no wider


@pytest.mark.parametrize("width", [1, 2, 4])
def test_every_character(width: int) -> None:
    chars = [chr(c) for c in range(PAST[width]) if not 0xD800 <= c < 0xE000]
    check(FILL + "".join(chars))
    for i in range(0, len(chars), 997):
        check("x" * (i % 64) + "".join(chars[i : i + 997]) + FILL)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_every_neighbourhood(width: int) -> None:
    edges = [char for char in EDGES if ord(char) < PAST[width]]
    check("".join("".join(four) for four in product(edges, repeat=4)))
    for edge, before in product(edges, range(130)):
        check("a" * before + edge + FILL)
        check(FILL + "a" * before + edge)
        check(edges[-1] * before + edge + "a" * 9 + (edge + "a" * 7) * 40)


def test_every_length() -> None:
    for edge, n in product(EDGES, range(250, 400)):
        check(edge * (n // len(edge.encode())) + "b" * (n % 7))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=20), st.text(min_size=1, max_size=9), st.integers(1, 400))
def test_texts(texts: list[str], unit: str, times: int) -> None:
    check("".join(texts) + unit * times)


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xe2\x96", b"\xed\xa0\x80", b"\x80", b"\xf4\x90\x80\x80"])
def test_what_is_no_text(bad: bytes) -> None:
    for data in (bad, b"a" * 300 + bad, bad + "\u00e9".encode() * 300, "\u4e2d".encode() * 100 + bad + b"a" * 100):
        with pytest.raises(UnicodeDecodeError) as raised:
            _core.decode_utf8(data)
        with pytest.raises(UnicodeDecodeError) as expected:
            data.decode()
        assert str(raised.value) == str(expected.value)
