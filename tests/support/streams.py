"""Encodes a text through moving windows, as streams do, and compares the result with that of the whole text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crayon_hf import _core

Ranges = npt.NDArray[np.int64]

_PIECES = """the The tion 's 're ' ''l \u2019s '\u017f ABC aBcD ABCd \u01c5 1 12 123 1234 \u00bd \u0663 ! ... -- / \\ _
{} ` `` :) \u200b \u0600 e\u0301 \u0301 \u0323 \u0323\u0307 \u212b \u1100\u1161\u11a8 \uac00
\u0915\u094d\u0937 \u4e2d\u6587 \u3002 \uff0c \u3042 \U0001f469\u200d\U0001f4bb \u0130 \ufb01 \u2163
<|endoftext|> <s> </s> <unk> <mask> [X] <0x41> \u2581 \u2581b wor aa aaa <a a< th E a"""
_SPACES = (*" \n\r\t\u3000\xa0", " ", "  ", "   ", "\r\n", "\n\n", " \n ", " a", " 'VE", "/\n", " <mask> ", "a b")
_SPACES += ("of the",)
PIECES = (*_PIECES.split(), *_SPACES)
"""Texts that are hard to encode if a window ends inside or next to them."""


def whole(engine: _core.Engine, text: str, special: bool, offsets: bool) -> tuple[list[int], list[Any] | None]:
    """Encode a whole text. Returns its ids and, if `offsets`, their offsets in bytes."""
    if not offsets:
        return engine.encode_ids(text, special), None
    encoding = engine.encode(text, add_special_tokens=special)
    starts = np.cumsum([0, *(len(character.encode()) for character in text)])
    return encoding.ids, [(int(starts[start]), int(starts[end])) for start, end in encoding.offsets]


def streamed(
    engine: _core.Engine, data: bytes, window: int, special: bool, offsets: bool, grow: int = 2
) -> tuple[list[int], list[Any] | None]:
    """Encode UTF-8 through windows of `window` bytes. If a call consumes no byte, the window grows. Returns ids and, if
    `offsets`, their offsets in bytes."""
    encoder = _core.StreamEncoder(engine, special, False, offsets)
    ids: list[int] = []
    ranges: list[Any] = []
    start, size = 0, window
    while True:
        end = min(len(data), start + size)
        consumed, part, part_ranges = encoder.encode(data, start, end, end == len(data))
        assert (part_ranges is not None) == offsets
        assert consumed <= end - start
        assert encoder.position == start + consumed
        ids += part.tolist()
        ranges += [] if part_ranges is None else map(tuple, part_ranges.tolist())
        start += consumed
        size = window if consumed else size * grow
        if end == len(data):
            assert start == end
            return ids, ranges if offsets else None


def assert_streams_alike(
    engine: _core.Engine, text: str, window: int, special: bool = True, offsets: bool = False
) -> None:
    """Check that windows of `window` bytes give the ids and offsets of the whole text."""
    expected = whole(engine, text, special, offsets)
    got = streamed(engine, text.encode(), window, special, offsets)
    assert got == expected, f"windows of {window} bytes over {text!r}"
