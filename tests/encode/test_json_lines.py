"""`read_json_lines` finds strings in lines of JSON. If it is sure of a line, Python's json agrees; other lines stay
unchanged for Python's json."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support.json_line_cases import HALVES, UNSURE_LINES

STRINGS, BLANK, UNSURE = 0, 1, 2


@pytest.fixture(params=_core.cpu_levels(), scope="module", autouse=True)
def _cpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test on each instruction set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CPU", request.param)
        yield


def lines_of(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def read(data: bytes, columns: list[str], threads: int = 1, around: bytes = b"") -> list[list[str] | int]:
    """Read lines with the engine, check the strings against Python's json, and return each line's strings or status.

    `around` are bytes after the lines that the engine must not read.
    """
    block = bytearray(data + around)
    found = _core.read_json_lines(block, len(data), columns, threads=threads)
    lines = lines_of(data)
    n, width = len(lines), len(columns)
    assert (found.begins.shape, found.ends.shape) == ((n, width), (n, width))
    assert (found.begins.dtype, found.ends.dtype, found.line_begins.dtype) == (np.int64,) * 3
    assert (found.status.shape, found.status.dtype) == ((n,), np.uint8)
    assert found.line_begins.tolist() == [0, *np.cumsum([len(line) for line in lines], dtype=np.int64).tolist()]
    assert block[len(data) :] == around
    out: list[list[str] | int] = []
    for i, line in enumerate(lines):
        status = found.status[i]
        assert (status == BLANK) == line.isspace()
        begin, end = found.line_begins[i : i + 2].tolist()
        if status != STRINGS:
            assert status in (BLANK, UNSURE)
            assert block[begin:end] == line
            assert found.begins[i].tolist() == found.ends[i].tolist() == [-1] * width
            out.append(int(status))
            continue
        record = json.loads(line.decode("utf-8"))
        ranges = zip(found.begins[i].tolist(), found.ends[i].tolist(), strict=True)
        texts = [bytes(block[b:e]).decode("utf-8") for b, e in ranges if begin < b <= e < end]
        assert texts == [record[column] for column in columns]
        assert type(record) is dict
        assert block[begin : begin + 1] == line[:1]
        assert block[end - 1 : end] == line[-1:]
        out.append(texts)
    return out


def status_of(line: bytes, column: str = "text") -> int:
    (got,) = read(line, [column])
    return got if isinstance(got, int) else STRINGS


# -- usual lines, which the engine reads itself

KEYS = st.sampled_from(["text", "a", "b", "textt", "tex", "", "\u6587\U0001f642", 'a"\n\0'])
STRINGS_OF_ALL = st.text() | st.sampled_from(
    ["".join(map(chr, range(0x20))) + "\x7f\u2028", "\u00e9 \U0001f642 \n word " * 300]
)


@settings(max_examples=80, deadline=None)
@given(
    records=st.lists(
        st.dictionaries(
            KEYS,
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | STRINGS_OF_ALL,
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
                max_leaves=6,
            ),
            max_size=5,
        ),
        max_size=5,
    ),
    how=st.sampled_from([{}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"separators": (" ,\t", "\r : ")}]),
    columns=st.sampled_from([["text"], ["a", "text"], ["b", "", "\u6587\U0001f642", 'a"\n\0'], []]),
    end=st.sampled_from(["\n", "\r\n", " \t\r\n \t"]),
)
def test_any_records(records: list[dict[str, Any]], how: dict[str, Any], columns: list[str], end: str) -> None:
    data = end.join(json.dumps(record, **how) for record in records)
    want = [
        [record[column] for column in columns]
        if all(isinstance(record.get(column), str) for column in columns)
        else UNSURE
        for record in records
    ]
    assert read(data.encode(), columns) == want
    assert read(data.encode(), columns, threads=4, around=b'x\n{"text": ""}') == want


def test_every_escaped_code_unit() -> None:
    for unit in [*range(0, 0x300), *range(0x7F0, 0x810), *range(0xD7F0, 0xE010, 3), *range(0xFFF0, 0x10000)]:
        for digits in (f"{unit:04x}", f"{unit:04X}"):
            (got,) = read(f'{{"te\\u0078t": "a\\u{digits}b"}}'.encode(), ["text"])
            assert got == (UNSURE if 0xD800 <= unit < 0xE000 else ["a" + chr(unit) + "b"])
    assert read(rb'{"\ud83d": "a", "\ude42": "b", "\ud83d\ude42": "c"}', ["\U0001f642"]) == [["c"]]


# -- hostile lines


@pytest.mark.parametrize("at", range(0, len(UNSURE_LINES), 40))
def test_lines_that_are_left_to_python(at: int) -> None:
    good = b'{"text": "\\u0061b"}'
    for line in UNSURE_LINES[at : at + 40]:
        assert read(line, ["text"]) == [UNSURE], line
        assert read(b"\n".join([good, line, good]), ["text"]) == [["ab"], UNSURE, ["ab"]], line
        assert read(b"\n".join([good, line + b"\r", good, line]), ["text"]) == [["ab"], UNSURE, ["ab"], UNSURE], line


@pytest.mark.parametrize("escape", HALVES)
def test_half_a_surrogate_pair(escape: str) -> None:
    """Half a surrogate pair in a column would make a str that is not valid text. In other fields it does not matter."""
    assert read(f'{{"b": "{escape}", "text": "\\u0041", "c": ["{escape}"]}}'.encode(), ["text"]) == [["A"]]


def test_blank_lines() -> None:
    for blank in (b"\n", b"\r\n", b" \n", b"\x0b\x0c\n", b"\t \r"):
        assert read(blank, ["text"]) == [BLANK]
    for not_blank in (b"\x1c\n", b"\x85\n", b"\xc2\xa0\n", b"\x00", b"\xef\xbb\xbf\n"):
        assert read(not_blank, ["text"]) == [UNSURE]


def test_depth() -> None:
    for open_, close in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth in (1, 20, 62):
            inner = b"1" if open_ != b"[" else b""
            assert status_of(b'{"b": %s, "text": "a"}' % (open_ * depth + inner + close * depth)) == STRINGS
        for depth in (100, 100_000):
            assert status_of(b'{"b": %s, "text": "a"}' % (open_ * depth + b"1" + close * depth)) == UNSURE
    assert status_of(b"[" * 1_000_000) == UNSURE
    assert status_of(b'{"text":' * 1_000_000) == UNSURE


# -- anything at all


SEEDS = [
    json.dumps({"id": 12, "text": 'a "b" \\ \u00e9\n\U0001f642', "meta": {"a": [1.5, None, True, "x"]}}).encode(),
    json.dumps({"text": "\u00e9\u6587\U0001f642 abc" * 4, "b": -1e5}, ensure_ascii=False).encode(),
    rb'{"b": "\ud83d\ude42\u0000\"", "text": "\ud83d\ude42\/\b\f\r\t"}',
    rb'{"text": "0123456789012345678901234567890123456789\n0123456789012345678901234567890123456789", "text2": ""}',
]
MARKS = list(b'{}[]":,\\ \t\r\nu0dDeE+-.tfn\x00\x1f\x7f\x80\xbf\xc3\xed\xf0\xff')


def test_mutated_lines() -> None:
    """Good lines in which bytes are changed, removed, repeated and inserted."""
    rng = random.Random(1)
    sure = 0
    for _ in range(200):
        lines = []
        for _ in range(20):
            line = bytearray(rng.choice(SEEDS))
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                at = rng.randrange(len(line))
                with_ = bytes([rng.choice(MARKS)]) if rng.random() < 0.8 else rng.randbytes(1)
                size = rng.choice((0, 1, 1, 2))
                line[at : at + size] = rng.choice((with_, b"", with_ + line[at : at + 1]))
            lines.append(bytes(line))
        sure += sum(isinstance(got, list) for got in read(b"\n".join(lines), ["text"], around=rng.randbytes(5)))
    assert sure > 800  # of 4000: both outcomes occur often


_TOKENS = """
{"text":" " \\" \\u00 \\ud83d \\ude42 61 \\n { } [ ] , : "text" "a": 1 -0.5e5 true null NaN \u00e9 \U0001f642 "}
{"text":" " " " " "} "}
"""
TOKENS = st.sampled_from([*_TOKENS.encode().split(), b" ", b"\n", b'"}\n', b"\r\n", b"x" * 33, b"\xff", b"\xc3", b"\t"])


@settings(max_examples=200, deadline=None)
@given(data=st.lists(TOKENS | st.binary(max_size=3), max_size=25).map(b"".join), columns=st.sampled_from([1, 2, 0]))
def test_any_bytes(data: bytes, columns: int) -> None:
    names = ["text", "a"][:columns]
    assert read(data, names) == read(data, names, threads=4)


# -- large blocks


@pytest.mark.concurrency
@pytest.mark.parametrize("size", [262_142, 262_143, 262_144, 262_145, 600_000])
def test_lines_that_end_where_a_part_does(size: int) -> None:
    line = b'{"text": "\\n%s"}\n'
    data = line % (b"x" * (size - len(line) + 2)) + line % b"y" + b"\n" * 5 + line % b""
    assert read(data, ["text"], threads=4)[1:] == [["\ny"], *[BLANK] * 5, ["\n"]]


# -- whole lines


@given(st.lists(st.sampled_from([b"", b"a", b"bc\r", b"\0"]), max_size=8), st.data())
def test_whole_lines(parts: list[bytes], data: st.DataObject) -> None:
    block = b"\n".join(parts)
    first = block.find(b"\n")
    begin = data.draw(st.integers(0, len(block) if first < 0 else first))
    most, at_end = data.draw(st.integers(1, 9)), data.draw(st.booleans())
    size = data.draw(st.integers(begin, len(block)))
    lines = lines_of(block[:size]) if size else []
    if not at_end and lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    expected = sum(map(len, lines[:most]))
    assert _core.whole_lines(bytearray(block), begin, size, most, at_end) == expected


def test_wrong_arguments() -> None:
    block = bytearray(b'{"text": "a\\n"}\n{"text": "b"}')
    for error, arguments in (
        (BufferError, (bytes(block), 29, ["text"])),
        (ValueError, (block, 30, ["text"])),
        (TypeError, (block, -1, ["text"])),
        (ValueError, (block, 29, ["a", "b", "a"])),
        *((TypeError, (block, 29, bad)) for bad in ("text", [b"text"], None)),
    ):
        with pytest.raises(error):
            _core.read_json_lines(*arguments)  # type: ignore[arg-type]
    assert _core.read_json_lines(block, 17, ["text"]).status.tolist() == [STRINGS, UNSURE]
