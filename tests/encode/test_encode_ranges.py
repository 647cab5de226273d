"""`encode_ranges` encodes texts that are ranges of one buffer, and gives the ids of `encode_ragged` for these texts."""

from __future__ import annotations

import functools
import random
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error
from tests.support import encode_shapes, reference_impl
from tests.support.cartridge_text import NAMES, text_source

SHAPES = [*encode_shapes.SHAPES, *NAMES]
Ranges = tuple[bytes, list[int], list[int]]


@functools.cache
def opened(shape: str) -> _core.Engine:
    source = encode_shapes.vocabulary(shape) if shape in encode_shapes.SHAPES else text_source(shape).decode()
    return reference_impl.open_engine(source)


def ranges_of(texts: list[bytes], between: bytes = b"") -> Ranges:
    ends = list(accumulate(len(text) + len(between) for text in texts))
    begins = [end - len(text) - len(between) for text, end in zip(texts, ends, strict=True)]
    return between.join(texts), begins, [begin + len(text) for text, begin in zip(texts, begins, strict=True)]


@functools.cache
def many_texts() -> list[bytes]:
    """Empty texts, texts with special tokens, and more texts than a task of a thread has."""
    rng = random.Random(4)
    small = ["".join(rng.choices(encode_shapes.PIECES, k=rng.randint(0, 12))) for _ in range(150)]
    small += [" ", "<|end|>", "x<|begin|><|end|>\n", "a\u0301\u0000", *[""] * 3]
    large = [reference_impl.generated_text(rng, 4000) for _ in range(15)]
    texts = [*small, *large]
    rng.shuffle(texts)
    return [b"", *(text.encode() for text in texts), b""]


def rows(ids: Any, splits: Any) -> list[list[int]]:
    return [ids[begin:end].tolist() for begin, end in pairwise(splits.tolist())]


def check(engine: _core.Engine, ranges: Ranges, **arguments: Any) -> None:
    """Compare encode_ranges with encode_ragged of the same texts, with every dtype and a suffix, on one thread and on
    four."""
    data, begins, ends = ranges
    texts = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
    want = rows(*engine.encode_ragged(texts, threads=1, **arguments))
    flat = [id for row in want for id in row]
    for threads in (1, 4):
        for dtype in ("int32", "uint32", "uint16"):
            ids, splits = engine.encode_ranges(data, begins, ends, threads=threads, dtype=dtype, **arguments)
            assert ids.dtype == dtype
            assert splits.dtype == np.int64
            assert ids.tolist() == flat
            assert rows(ids, splits) == want
        for dtype in ("int32", "uint16"):
            for suffix in ([7], (1, 2, 3)):
                after = {"threads": threads, "dtype": dtype, "suffix": suffix, **arguments}
                got = rows(*engine.encode_ranges(data, begins, ends, **after))
                assert got == [[*row, *suffix] for row in want]
                got = rows(*engine.encode_ranges(data, begins, ends, suffix_empty=False, **after))
                assert got == [[*row, *suffix] if row else [] for row in want]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_tokenizer(shape: str) -> None:
    check(opened(shape), ranges_of(many_texts()))
    check(opened(shape), ranges_of(many_texts()[:40], b"\xff"), add_special_tokens=False, special_as_text=True)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60), data=st.data())
def test_any_ranges(text: str, data: st.DataObject) -> None:
    """Ranges may overlap, come in any order, be empty, and touch both ends of the buffer."""
    at = [0, *accumulate(len(char.encode()) for char in text)]
    some = data.draw(st.lists(st.tuples(st.sampled_from(at), st.sampled_from(at)).map(sorted), max_size=8))
    check(opened("llama3"), (text.encode(), [begin for begin, _ in some], [end for _, end in some]))


# -- what the arguments may be


def test_every_kind_of_buffer_and_array() -> None:
    engine = opened("gpt2")
    texts = [text for text in many_texts() if len(text) < 100]
    data, begins, ends = ranges_of(texts)
    want = rows(*engine.encode_ragged(texts))
    for buffer in (bytearray(data), memoryview(b"ab" + data + b"c")[2:-1], np.frombuffer(data, np.uint8)):
        assert rows(*engine.encode_ranges(buffer, begins, ends)) == want
    both = np.stack([begins, ends], axis=1)
    frozen = np.array(begins)
    frozen.flags.writeable = False
    for ranges in (
        (both[:, 0], both[:, 1]),
        (frozen, np.array(ends, np.int32)),
        (tuple(begins), np.array(ends, ">i8")),
    ):
        assert rows(*engine.encode_ranges(data, *ranges)) == want
    for bad in (np.array(begins, np.float64), np.array(begins, np.uint64), ["a"] * len(texts), None, ends[:3], both):
        with pytest.raises((TypeError, ValueError)):
            engine.encode_ranges(data, bad, ends)
    for buffer in (memoryview(data)[::2], data.decode()):
        with pytest.raises((BufferError, TypeError)):
            engine.encode_ranges(buffer, [0], [1])
    with pytest.raises(ValueError, match="dtype"):
        engine.encode_ranges(data, begins, ends, dtype="int64")


@pytest.mark.parametrize(
    ("begin", "end"),
    [(-1, 2), (0, 9), (8, 9), (3, 2), (9, 9), (-(2**63), 0), (0, 2**63 - 1), (2**63 - 1, -(2**63)), (2, -1)],
)
def test_invalid_ranges(begin: int, end: int) -> None:
    data = b"12345678"
    calls = (
        lambda *ranges: opened("gpt2").encode_ranges(data, *ranges),
        lambda *ranges: _core.utf8_errors(data, *ranges),
    )
    for call in calls:
        with pytest.raises(ValueError, match=rf"^text 2 is bytes {begin} to {end} of a buffer of 8$"):
            call([0, 8, begin, 5], [8, 8, end, 4])


# -- what does not fit


@pytest.mark.parametrize(("dtype", "largest"), [("int32", 2**31 - 1), ("uint32", 2**32 - 1), ("uint16", 2**16 - 1)])
def test_ids_at_the_limits_of_a_dtype(dtype: str, largest: int) -> None:
    """An id that is too large for the dtype is an error. For an id of a text, the error names the text."""
    engine = opened("gpt2")
    data, begins, ends = ranges_of([b"a", b"", b"some more", b"\xf0\x9f\x99\x82 x", b"b"] * 3000)
    for id in (65_535, 70_000):
        added = [{**engine.added_tokens()[0], "id": id, "content": "\U0001f642"}]
        changed = engine.with_components(engine.components, added)
        for threads, suffix in ((1, ()), (4, ()), (4, (1,))):
            arguments = {"dtype": dtype, "threads": threads, "suffix": suffix}
            if id <= largest:
                assert id in changed.encode_ranges(data, begins, ends, **arguments)[0]
                continue
            with pytest.raises(ValueError, match=rf"^id {id} of text 3 does not fit"):
                changed.encode_ranges(data, begins, ends, **arguments)
    ids, _ = engine.encode_ranges(b"a", [0], [1], dtype=dtype, suffix=[largest, 0])
    assert ids[-2:].tolist() == [largest, 0]
    for bad in (largest + 1, -1, 2**40):
        with pytest.raises(ValueError, match=rf"^id {bad} of the suffix does not fit"):
            engine.encode_ranges(b"a", [0], [1], dtype=dtype, suffix=[1, bad])


# -- UTF-8

INVALID = [b"\x80", b"\xc0\xaf", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x99"]


@pytest.mark.parametrize("bad", INVALID, ids=bytes.hex)
def test_invalid_utf8(bad: bytes) -> None:
    texts = [b"fine", "\u00e9t\u00e9 ".encode() * 5 + bad + b" x" + bad, b"", bad]
    data, begins, ends = ranges_of(texts * 2000, b"\xc3")  # bytes between texts need not be UTF-8
    engine = opened("gpt2")
    for threads in (1, 4):
        with pytest.raises(InvalidUtf8Error, match=r"^text 1 is not UTF-8: invalid byte at offset 30$"):
            engine.encode_ranges(data, begins, ends, threads=threads)
        found = _core.utf8_errors(data, begins, ends, threads=threads)
        assert found.dtype == np.int64
        assert found.tolist() == [-1, 30, -1, 0] * 2000


# -- cutting at a separator


def split(data: bytes, separator: bytes) -> list[bytes]:
    parts = data.split(separator)
    return parts if parts[-1] else parts[:-1]


def check_split(data: bytes, separator: bytes) -> None:
    for threads in (1, 4):
        begins, ends = _core.split_ranges(data, separator, threads=threads)
        assert (begins.dtype, ends.dtype) == (np.int64, np.int64)
        got = [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        assert got == split(data, separator)


@settings(max_examples=300, deadline=None)
@given(data=st.lists(st.sampled_from([b"a", b"b", b"\n", b"ab", b"aa"])).map(b"".join), separator=st.data())
def test_split_as_python_does(data: bytes, separator: st.DataObject) -> None:
    check_split(data, separator.draw(st.sampled_from([b"a", b"aa", b"aba", b"\n\n", b"\n", b"aab"])))


@pytest.mark.slow
@pytest.mark.parametrize("separator", [b"\n", b"\n\n\n\n\n", b"<|endoftext|>"])
def test_split_of_more_than_a_task(separator: bytes) -> None:
    """The data has overlapping separators, and separators across the border between two threads' tasks."""
    check_split(separator[:1] * 2_200_001, separator)
    for shift in range(len(separator) + 1):
        check_split(b"y" * ((1 << 20) - shift) + separator + b"y" * 10, separator)
    check_split(b"", separator)
    with pytest.raises(ValueError, match="empty"):
        _core.split_ranges(b"abc", b"")
