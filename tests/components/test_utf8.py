"""UTF-8 is checked, read and written as Python does, by every instruction set, with every character at every position
of a vector."""

from __future__ import annotations

from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

# The first and the last code point of each length, and the neighbours of the surrogates.
EDGES = ["\0", "a", "\x7f", "\x80", "\xbf", "\xff", "\u0100", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff"]
EDGES += ["\U00010000", "\U0010ffff"]
WIDTHS = {"\xe9": 0x100, "\u0416": 0x10000, "\U0001f642": 0x110000}
"""A character that makes a str store 1, 2 or 4 bytes per code point, and the first code point too large for it."""
FILL = "a" * 300
"""Appended to make texts long, because Python's own decoder reads short ones."""

# Each kind of lead byte, the limits of its second byte, each kind of continuation, ASCII.
LEADS = [0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF]
LEADS += [0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFC, 0xFE, 0xFF]
SECONDS = [0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE1, 0xF1, 0xFF]


def check(text: str) -> None:
    """Check writing a str as UTF-8 and reading it again. The new str must have the least width."""
    data = text.encode()  # the str caches it, and it is then read instead of the code points
    fresh = "".join(list(text))
    assert _core._testing.utf8_of(fresh) == data, text
    made = _core.decode_utf8(data)
    assert made == text
    assert made.__sizeof__() == "".join(list(text)).__sizeof__()


def first_error(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1


def check_bytes(texts: list[bytes]) -> None:
    ends = np.array([0, *accumulate(map(len, texts))], np.int64)
    found = _core.utf8_errors(b"".join(texts), ends[:-1], ends[1:], threads=1)
    for text, place in zip(texts, found.tolist(), strict=True):
        assert place == first_error(text), text


# -- text


@pytest.mark.parametrize("width", WIDTHS)
def test_every_character(width: str) -> None:
    chars = [chr(c) for c in range(WIDTHS[width]) if not 0xD800 <= c < 0xE000]
    check(FILL + "".join(chars) + width)
    for i in range(0, len(chars), 997):
        check("x" * (i % 64) + "".join(chars[i : i + 997]) + FILL + width)
    check_bytes(["".join(chars[i : i + 1000]).encode() for i in range(0, len(chars), 1000)])


@pytest.mark.parametrize("width", WIDTHS)
def test_every_neighbourhood(width: str) -> None:
    edges = [char for char in EDGES if ord(char) < WIDTHS[width]]
    check("".join("".join(four) for four in product(edges, repeat=4)) + width)
    for edge, before in product(edges, range(130)):
        check("a" * before + edge + width * (130 - before) + FILL)
        check(FILL + width * before + edge + "a" * (130 - before))
    for n in range(300):
        check(width * n)
        check(("ab" + width) * n)
        check("a" * n + width)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=20), st.text(min_size=1, max_size=9), st.integers(1, 400))
def test_any_text(texts: list[str], unit: str, times: int) -> None:
    check("".join(texts) + unit * times)


def test_a_surrogate_anywhere() -> None:
    for width, surrogate in product(list(WIDTHS)[1:], ("\ud800", "\udfff")):
        for n, at in ((1, 0), (40, 39), *((200, at) for at in range(200))):
            with pytest.raises(ValueError, match="surrogates"):
                _core._testing.utf8_of(width * at + surrogate + width * (n - at))


# -- bytes


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xe2\x96", b"\xed\xa0\x80", b"\x80", b"\xf4\x90\x80\x80"])
def test_what_is_no_text(bad: bytes) -> None:
    for data in (bad, b"a" * 300 + bad, bad + "\u00e9".encode() * 300, "\u4e2d".encode() * 100 + bad + b"a" * 100):
        with pytest.raises(UnicodeDecodeError) as raised:
            _core.decode_utf8(data)
        with pytest.raises(UnicodeDecodeError) as expected:
            data.decode()
        assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("before", [0, 28, 29, 30, 31, 32, 61])
def test_sequences_across_blocks(before: int) -> None:
    sequences = list(product(LEADS, SECONDS, (0x41, 0x80, 0xBF, 0xC2, 0xF0), (0x41, 0x80, 0xBF, 0xE0)))
    for fill in (b"a", b"\xc3\xa9", b"\xe6\x96\x87", b"\xf0\x9f\x99\x82"):
        front = b"a" * (before % len(fill)) + fill * (before // len(fill))
        check_bytes([front + bytes(sequence) + fill * 20 for sequence in sequences])
    check_bytes([bytes(pair) + b"x" * before for pair in product(range(256), repeat=2)])


def test_text_that_ends_inside_a_character() -> None:
    for char in ("\u00e9", "\u6587", "\U0001f642"):
        for n in range(70):
            text = b"a" * n + char.encode() * 20
            check_bytes([text[:end] for end in range(n, len(text) + 1)])


PIECES = st.one_of(
    st.tuples(*[st.sampled_from(LEADS)] * 3).map(bytes), st.binary(max_size=4), st.text().map(str.encode)
)


@settings(max_examples=200, deadline=None)
@given(n=st.integers(0, 40), parts=st.lists(PIECES, max_size=8), data=st.data())
def test_any_bytes(n: int, parts: list[bytes], data: st.DataObject) -> None:
    text = b"a" * n + b"".join(parts)
    ranges = data.draw(st.lists(st.tuples(*[st.integers(0, len(text))] * 2).map(sorted), max_size=5))
    got = _core.utf8_errors(text, [begin for begin, _ in ranges], [end for _, end in ranges]).tolist()
    assert got == [first_error(text[begin:end]) for begin, end in ranges]
    assert _core._testing.utf8_error(text) == first_error(text) % (len(text) + 1)
    assert _core._testing.utf8_lossy(text) == text.decode(errors="replace")
    # Each byte that Python escapes counts as one invalid character.
    chars = text.decode("utf-8", "surrogateescape")
    expected = [(1, False) if "\udc80" <= char <= "\udcff" else (len(char.encode()), True) for char in chars]
    assert [(size, valid) for _, size, valid in _core._testing.utf8_chars(text)] == expected
    assert _core._testing.utf8_chars(text, True)[::-1] == _core._testing.utf8_chars(text)
