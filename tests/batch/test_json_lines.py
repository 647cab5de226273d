"""Lines of JSON: where the engine is sure, Python's json says the same; where it is not, nothing was touched."""

from __future__ import annotations

import json
import mmap
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.json_line_cases import HALVES, INVALID, NO_NUMBERS, UNSURE_LINES

STRINGS, BLANK, UNSURE = 0, 1, 2

READERS = [level for level in _core.cpu_levels() if level != "avx512"]
"""The instruction sets that have a reader of their own."""


@pytest.fixture(params=READERS, scope="module", autouse=True)
def _cpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test runs on each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CPU", request.param)
        yield


def lines_of(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def read(data: bytes, columns: list[str], threads: int = 1, around: bytes = b"") -> list[list[str] | int]:
    """Of each line its strings, or its status; checked against Python's json."""
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
        spans = zip(found.begins[i].tolist(), found.ends[i].tolist(), strict=True)
        texts = [bytes(block[b:e]).decode("utf-8") for b, e in spans if begin < b <= e < end]
        assert texts == [record[column] for column in columns]
        assert type(record) is dict
        assert block[begin : begin + 1] == line[:1]
        assert block[end - 1 : end] == line[-1:]
        out.append(texts)
    return out


def status_of(line: bytes, column: str = "text") -> int:
    (got,) = read(line, [column])
    return got if isinstance(got, int) else STRINGS


# -- what is usual is not left to Python

RECORDS: dict[str, Any] = {
    "plain": {"text": "The quick brown fox jumps over the lazy dog."},
    "among others": {"id": 7, "text": "abc", "url": "https://example.org/?a=b", "score": -0.25e-7},
    "escapes": {"text": 'He said: "no"\n\tC:\\dir\\x \b\f\r / end\n', "n": None},
    "control characters": {"text": "".join(map(chr, range(0x20))) + "\x7f\x80\u2028"},
    "no text": {"text": ""},
    "other scripts": {
        "text": "\u0411\u044b\u0441\u0442\u0440\u0430\u044f \u7d20\u65e9\u3044 \U0001f642\U0010ffff\u00e9"
    },
    "nested": {"meta": {"a": [1, [2.5, {"text": "inner"}], [], {}], "b": {"c": None}}, "text": "outer", "ok": True},
    "after it": {"text": "x", "meta": {"text": ["y"]}, "no": False, "big": 10**300, "far": 1e300},
    "escapes elsewhere": {"m\n": [], "meta": {"a\n": "\u00e9\n", "half": "\ud800"}, "text": "t\u00e9xt"},
    "long": {"text": "\u00e9 \U0001f642 \n word " * 3000},
}
SHAPES: dict[str, dict[str, Any]] = {
    "usual": {},
    "utf-8": {"ensure_ascii": False},
    "tight": {"separators": (",", ":")},
    "wide": {"separators": (" ,\t", "\r : ")},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", RECORDS)
def test_what_json_writes_is_read(name: str, shape: str) -> None:
    record = dict(RECORDS[name])
    if shape == "utf-8":
        record.get("meta", {}).pop("half", None)  # which UTF-8 cannot have
    line = json.dumps(record, **SHAPES[shape]).encode()
    for end in (b"", b"\n", b"\r\n", b" \t\r\n"):
        for begin in (b"", b" \t\r"):
            assert read(begin + line + end, ["text"]) == [[record["text"]]]
    assert read(line, []) == [[]]


@settings(max_examples=80, deadline=None)
@given(
    records=st.lists(
        st.dictionaries(
            st.sampled_from(["text", "a", "b", "textt", "tex", ""]),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
                max_leaves=6,
            ),
            max_size=5,
        ),
        max_size=5,
    ),
    ensure_ascii=st.booleans(),
    columns=st.sampled_from([["text"], ["a", "text"], ["b", "", "a"]]),
)
def test_any_records(records: list[dict[str, Any]], ensure_ascii: bool, columns: list[str]) -> None:
    data = "\n".join(json.dumps(record, ensure_ascii=ensure_ascii) for record in records)
    want = [
        [record[column] for column in columns]
        if all(isinstance(record.get(column), str) for column in columns)
        else UNSURE
        for record in records
    ]
    assert read(data.encode(), columns) == want


def test_columns_in_any_order() -> None:
    line = rb'{"c": "3\n", "text": "1\u00e9", "d": 4, "b": "\"2"}'
    assert read(line, ["b", "c", "text"]) == [['"2', "3\n", "1\u00e9"]]
    assert read(line, ["b", "d"]) == [UNSURE]
    assert read(line, ["b", "none"]) == [UNSURE]


def test_names_of_columns() -> None:
    line = '{"": "empty", "t\u00e9xt": "x", "te": "y", "\u6587": "z"}'.encode()
    assert read(line, ["", "\u6587", "te", "t\u00e9xt"]) == [["empty", "z", "y", "x"]]
    assert read(line, ["\ud800"]) == [UNSURE]
    assert read(line, ["te\0"]) == [UNSURE]


def test_keys_with_escapes() -> None:
    for key in (r"\u0074ext", r"te\u0078t", r"\u0074\u0065\u0078\u0074"):
        assert read(f'{{"a\\n": 1, "{key}": "\\n", "\\ud800": "x"}}'.encode(), ["text"]) == [["\n"]]
        assert status_of(f'{{"{key}": "a", "text": "b"}}'.encode()) == UNSURE
        assert status_of(f'{{"text": "a", "{key}": 1}}'.encode()) == UNSURE
        assert status_of(f'{{"{key}\\u0000": "a"}}'.encode()) == UNSURE
    columns = ["\u6587\U0001f642", 'a"\n\0', "", "b"]
    for ensure_ascii in (True, False):
        line = json.dumps({column: f"\u00e9\n{i}" for i, column in enumerate(columns)}, ensure_ascii=ensure_ascii)
        assert read(line.encode(), columns[::-1]) == [[f"\u00e9\n{i}" for i in (3, 2, 1, 0)]]
    assert read(rb'{"\ud83d": "a", "\ude42": "b", "\ud83d\ude42": "c"}', ["\U0001f642"]) == [["c"]]


# -- hostile lines


@pytest.mark.parametrize("line", UNSURE_LINES, ids=repr)
def test_lines_that_are_left_to_python(line: bytes) -> None:
    assert status_of(line) == UNSURE
    good = b'{"text": "\\u0061b"}'
    assert read(b"\n".join([good, line, good]), ["text"]) == [["ab"], UNSURE, ["ab"]]
    assert read(b"\n".join([good, line + b"\r", good, line]), ["text"]) == [["ab"], UNSURE, ["ab"], UNSURE]


@pytest.mark.parametrize("escape", HALVES)
def test_half_a_surrogate_pair(escape: str) -> None:
    """It makes a str that is no text; elsewhere in the record it is nobody's business."""
    assert status_of(f'{{"text": "x{escape}y"}}'.encode()) == UNSURE
    assert status_of(f'{{"text": "x{escape}"}}'.encode()) == UNSURE
    assert read(f'{{"b": "{escape}", "text": "\\u0041", "c": ["{escape}"]}}'.encode(), ["text"]) == [["A"]]
    assert status_of(f'{{"b": "{escape}", "text": "A", "c": 1}}'.encode(), "b") == UNSURE


def test_every_escaped_code_unit() -> None:
    for unit in [*range(0, 0x300), *range(0x7F0, 0x810), *range(0xD7F0, 0xE010, 3), *range(0xFFF0, 0x10000)]:
        is_half = 0xD800 <= unit < 0xE000
        for digits in (f"{unit:04x}", f"{unit:04X}"):
            (got,) = read(f'{{"text": "a\\u{digits}b"}}'.encode(), ["text"])
            assert got == (UNSURE if is_half else ["a" + chr(unit) + "b"])
    for char in ("\U00010000", "\U0001f642", "\U000fffff", "\U0010ffff", "\U00010400"):
        assert read(json.dumps({"text": char * 3}).encode(), ["text"]) == [[char * 3]]


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_numbers_that_are_none(number: str) -> None:
    for value in (number, f"[{number}]", f'{{"c": {number}}}'):
        assert status_of(f'{{"text": "a", "b": {value}}}'.encode()) == UNSURE
        assert status_of(f'{{"b": {value}, "text": "a"}}'.encode()) == UNSURE


@pytest.mark.parametrize("number", ["0", "-0", "-0.0e-0", "10", "1E5", "1e+5", "0.5", "9" * 600, "-1e999", "1e-999"])
def test_numbers(number: str) -> None:
    assert read(f'{{"b": {number}, "text": "a", "c": [{number},{number}]}}'.encode(), ["text"]) == [["a"]]


@pytest.mark.parametrize("bad", INVALID)
def test_invalid_utf8(bad: str) -> None:
    data = bytes.fromhex(bad)
    for n in (0, 1, 7, 30, 40, 100):
        for line in (b'{"text": "%s"}', b'{"%s": 1, "text": "a"}', b'{"text": "\\n", "b": ["%s"]}', b'%s{"text": "a"}'):
            assert status_of(line % (b"x" * n + data)) == UNSURE
            assert status_of(line % (b"x" * n + data + b"y" * 40)) == UNSURE
            assert status_of(line % ("\u00e9".encode() * n + data)) == UNSURE


def test_control_characters_in_strings() -> None:
    for n in (0, 5, 31, 32, 33, 70):
        for control in range(0x20):
            if control == 0x0A:
                continue
            text = b"x" * n + bytes([control]) + b"y" * 40
            assert status_of(b'{"text": "%s"}' % text) == UNSURE
            assert status_of(b'{"text": "\\n", "b": "%s"}' % text) == UNSURE
        assert status_of(b'{"text": "%s\x7f"}' % (b"x" * n)) == STRINGS


def test_blank_lines() -> None:
    for blank in (b"\n", b"\r\n", b" \n", b"\x0b\x0c\n", b"\t \r"):
        assert read(blank, ["text"]) == [BLANK]
    for not_blank in (b"\x1c\n", b"\x85\n", b"\xc2\xa0\n", b"\x00", b"\xef\xbb\xbf\n"):
        assert read(not_blank, ["text"]) == [UNSURE]
    assert read(b'\n\n{"text": ""}\n\n', ["text"]) == [BLANK, BLANK, [""], BLANK]
    assert read(b"", ["text"]) == []


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
    """Bytes of good lines changed, taken out, doubled and put in."""
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
    assert sure > 800  # of 4000: both ways are met often


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


def many_lines(rng: random.Random, size: int) -> Iterator[bytes]:
    words = reference_impl.generated_text(rng, 20_000)
    while size > 0:
        begin = rng.randrange(len(words))
        text = words[begin : begin + rng.choice((5, 50, 500, 3000))] + rng.choice(("", "\n", '"', "\n\n"))
        line = json.dumps({"text": text, "n": size}, ensure_ascii=rng.random() < 0.5).encode()
        yield rng.choice((line, line, line, line, line[:-3], b"", line.replace(b'"n"', b'"\\n"')))
        size -= len(line)


@pytest.mark.concurrency
def test_large_blocks_on_threads() -> None:
    """Unescaped line breaks must not be taken for ends of lines, wherever a thread's part begins."""
    rng = random.Random(3)
    for end in (b"", b"\n"):
        data = b"\n".join(many_lines(rng, 1_500_000)) + end
        got = read(data, ["text"], threads=1)
        assert read(data, ["text"], threads=4, around=b'x\n{"text": ""}') == got
        assert {type(one) for one in got} == {int, list}


@pytest.mark.concurrency
@pytest.mark.parametrize("size", [262_142, 262_143, 262_144, 262_145, 600_000])
def test_lines_that_end_where_a_part_does(size: int) -> None:
    line = b'{"text": "\\n%s"}\n'
    data = line % (b"x" * (size - len(line) + 2)) + line % b"y" + b"\n" * 5 + line % b""
    assert read(data, ["text"], threads=4)[1:] == [["\ny"], *[BLANK] * 5, ["\n"]]


@pytest.mark.slow
def test_a_line_of_50_megabytes() -> None:
    text = ("0123456789\n\u00e9\U0001f642" * 3_200_000)[:40_000_000]
    data = json.dumps({"text": text}, ensure_ascii=False).encode() + b'\n{"text": "end"}'
    assert len(data) > 50_000_000
    block = bytearray(data)
    found = _core.read_json_lines(block, len(block), ["text"], threads=4)
    assert found.status.tolist() == [STRINGS, STRINGS]
    (begin, _), (end, _) = found.begins[:, 0].tolist(), found.ends[:, 0].tolist()
    assert block[begin:end].decode() == text


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


def test_whole_lines_refuses() -> None:
    with pytest.raises(ValueError, match="buffer of 2"):
        _core.whole_lines(b"a\n", 0, 3, 1, False)
    assert _core.whole_lines(b"a\n", 9, 2, 1, False) == 0


# -- arguments


def test_blocks_and_sizes(tmp_path: Path) -> None:
    data = b'{"text": "a\\n"}\n{"text": "b"}'
    block = bytearray(data)
    with pytest.raises(BufferError):
        _core.read_json_lines(bytes(block), len(block), ["text"])
    with pytest.raises(ValueError, match="buffer of 29"):
        _core.read_json_lines(block, len(block) + 1, ["text"])
    with pytest.raises(TypeError):
        _core.read_json_lines(block, -1, ["text"])
    with pytest.raises(ValueError, match="the column 'a' is asked for twice"):
        _core.read_json_lines(block, len(block), ["a", "b", "a"])
    for bad in ("text", [b"text"], None):
        with pytest.raises(TypeError):
            _core.read_json_lines(block, len(block), bad)  # type: ignore[arg-type]
    assert block == data
    array = np.frombuffer(bytearray(data), np.uint8)
    assert _core.read_json_lines(array, 17, ["text"]).status.tolist() == [STRINGS, UNSURE]
    path = tmp_path / "lines"
    path.write_bytes(data)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        found = _core.read_json_lines(mapped, len(mapped), ["text"])
        assert mapped[found.begins[0, 0] : found.ends[0, 0]] == b"a\n"
    assert path.read_bytes() == data
