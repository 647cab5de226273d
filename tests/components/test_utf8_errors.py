"""`utf8_errors` finds what Python's decoder finds first, in spans wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core

CHECKERS = [level for level in _core.cpu_levels() if level != "avx512"]
"""The instruction sets that have a check of their own."""

# Each kind of lead and what bounds the byte behind it, each kind of continuation, ASCII.
LEADS = [0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF]
LEADS += [0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFC, 0xFE, 0xFF]
SECONDS = [0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE1, 0xF1, 0xFF]


@pytest.fixture(params=CHECKERS, scope="module", autouse=True)
def _cpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test runs on each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CPU", request.param)
        yield


def first_error(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1


def check(texts: list[bytes]) -> None:
    ends = np.array([0, *accumulate(map(len, texts))], np.int64)
    found = _core.utf8_errors(b"".join(texts), ends[:-1], ends[1:], threads=1)
    for text, place in zip(texts, found.tolist(), strict=True):
        assert place == first_error(text), text


def test_every_pair_of_bytes() -> None:
    for before, after in ((b"", b""), (b"x" * 31, b"\x80\x80" + b"x" * 40), ("\u00e9".encode() * 16, b"x" * 30)):
        check([before + bytes(pair) + after for pair in product(range(256), repeat=2)])


@pytest.mark.parametrize("before", [0, 28, 29, 30, 31, 32, 61])
def test_sequences_across_blocks(before: int) -> None:
    sequences = list(product(LEADS, SECONDS, (0x41, 0x80, 0xBF, 0xC2, 0xF0), (0x41, 0x80, 0xBF, 0xE0)))
    for fill in (b"a", b"\xc3\xa9", b"\xe6\x96\x87", b"\xf0\x9f\x99\x82"):
        front = b"a" * (before % len(fill)) + fill * (before // len(fill))
        check([front + bytes(sequence) + fill * 20 for sequence in sequences])


def test_text_that_ends_inside_a_character() -> None:
    for char in ("\u00e9", "\u6587", "\U0001f642"):
        for n in range(70):
            text = b"a" * n + char.encode() * 20
            check([text[:end] for end in range(n, len(text) + 1)])


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.text(max_size=40).map(str.encode) | st.binary(max_size=4), max_size=6), data=st.data())
def test_any_spans_of_any_bytes(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    spans = data.draw(st.lists(st.tuples(*[st.integers(0, len(text))] * 2).map(sorted), max_size=5))
    got = _core.utf8_errors(text, [begin for begin, _ in spans], [end for _, end in spans]).tolist()
    assert got == [first_error(text[begin:end]) for begin, end in spans]


def test_every_character() -> None:
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    check(["".join(chars[i : i + 1000]).encode() for i in range(0, len(chars), 1000)])
    check(["".join(chars).encode()])
