"""The JSON reader against Python's, and its strictness against what serde_json accepts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import VocabularyError

SHARED = os.environ.get("CRAYON_SHARED")

# An integer beyond 64 bits, signed or not, becomes a double, as in serde_json, so it is drawn apart.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
)


def same(a: object, b: object) -> bool:
    """Equality that tells 1 from 1.0 and from true, 0.0 from -0.0, and one order of members from another."""
    return json.dumps(a) == json.dumps(b)


def parse(data: bytes) -> object:
    return json.loads(_core.json_normalize(data))


def serde_double(text: str) -> float:
    """serde_json's reading of a number that is no integer of 64 bits: the first digits that fit 64 bits, scaled by one
    power of ten, which need not give the nearest double."""
    digits, _, power = text.lower().partition("e")
    whole, _, fraction = digits.lstrip("-").partition(".")
    significand, exponent = 0, int(power or 0)
    for part, is_fraction in ((whole, False), (fraction, True)):
        full = False
        for digit in part:
            full = full or significand * 10 + int(digit) >= 2**64
            if not full:
                significand = significand * 10 + int(digit)
            exponent += (not is_fraction) if full else -is_fraction
    value = float(significand)
    while exponent < -308 and value:
        value /= 1e308
        exponent += 308
    if value:
        value = value * float(f"1e{exponent}") if exponent >= 0 else value / float(f"1e{-exponent}")
    return -value if text.startswith("-") else value


def reference(data: bytes) -> object:
    """Python's reader, with serde_json's numbers."""

    def integer(text: str) -> int | float:
        value = int(text)
        return value if -(2**63) <= value < 2**64 and text != "-0" else serde_double(text)

    return json.loads(data.decode(), parse_int=integer, parse_float=serde_double)


TOKENIZER = (
    b'{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"Lowercase","x":%s},'
    b'"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","vocab":{},"merges":[]}}'
)


def serde_accepts(text: bytes) -> bool:
    """Whether `tokenizers`, and so serde_json, reads a tokenizer.json."""
    try:
        Tokenizer.from_buffer(text)
    except ValueError:
        return False
    return True


def assert_as_reference(data: bytes) -> None:
    """Accepted just when serde_json accepts it, in a member that it reads and ignores; then with Python's value."""
    text = TOKENIZER % data
    if serde_accepts(text):
        assert same(parse(text), reference(text))
    else:
        with pytest.raises(VocabularyError):
            _core.json_normalize(text)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 0, 1, "\t"]))
def test_reads_what_python_writes(document: object, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    assert same(parse(text.encode()), reference(text.encode()))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_output_is_compact(document: object) -> None:
    once = _core.json_normalize(json.dumps(document).encode())
    assert same(json.loads(once), reference(json.dumps(document).encode()))
    if not any(c in once for c in ".eE"):  # doubles have more than one shortest spelling
        assert once == json.dumps(document, ensure_ascii=False, separators=(",", ":"))


# Pieces that make texts which are nearly right.
PIECES = st.sampled_from(
    [
        *'[]{},:"\\ 0123456789-+.eEu\n\t/',
        '"a":',
        '""',
        "true",
        "null",
        "\\u0041",
        "\\ud83d",
        "\\ude00",
        "1e400",
        "é",
        "\0",
        "NaN",
    ]
)


@settings(max_examples=1000, deadline=None)
@given(st.binary(max_size=12) | st.lists(PIECES, max_size=10).map(lambda pieces: "".join(pieces).encode()))
def test_any_bytes(data: bytes) -> None:
    assert_as_reference(data)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from([*"0019-+.eE"]), max_size=9).map(lambda pieces: "".join(pieces).encode()))
def test_numbers(data: bytes) -> None:
    assert_as_reference(data)
    assert_as_reference(b"[" + data + b"]" + 8 * b" ")  # so much is after it that its digits are read together


@pytest.mark.parametrize("digits", range(1, 21))
def test_whole_numbers(digits: int) -> None:
    for number in (b"9" * digits, b"1" + b"0" * (digits - 1), b"12345678901234567890"[:digits], b"0" * digits):
        for rest in (b"]", b",1]", b".5]", b"e2]", b"E2]", b"a]", b"/]", b":]", b"\xff]", b'"]'):
            for room in range(9):
                assert_as_reference(b"[" + number + rest + room * b" ")


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(DOCUMENTS, st.booleans(), st.data())
def test_damaged_documents(document: object, ascii_only: bool, data: st.DataObject) -> None:
    text = bytearray(json.dumps(document, ensure_ascii=ascii_only).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 2))] = data.draw(PIECES | st.just("")).encode()
    assert_as_reference(bytes(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\u00e9\ud83d\ude00\u0000\/"', "é😀\0/"),
        (rb'"\b\f\n\r\t\"\\"', '\b\f\n\r\t"\\'),
        (b'"\x7f\xc2\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"', "\x7f\x80\ud7ff\ue000\U0010ffff"),
        (b" \t\r\n[ ] \n", []),
        (b"{ }", {}),
        (b"-0", -0.0),
        (b"-0.0e-0", -0.0),
        (b"0e999999999999999999999", 0.0),
        (b"1e-999999999999999999999", 0.0),
        (b"-0." + b"0" * 400 + b"1", -0.0),
        (b"0." + b"0" * 400 + b"1e401", 1.0),
        (b"1" + b"0" * 400 + b"e-400", 1.0),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"5e-324", 5e-324),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"9223372036854775808", 2**63),
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", float(2**64)),
        (b"-9223372036854775809", float(-(2**63))),
        (b'{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
    ],
)
def test_accepted(text: bytes, value: object) -> None:
    assert same(parse(text), value)
    assert serde_accepts(TOKENIZER % text)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"  ",
        b"\xef\xbb\xbf{}",  # byte order mark
        b"[] []",
        b"[]\0",
        b"[1,]",
        b'{"a":1,}',
        b"[,1]",
        b"{,}",
        b"[1 2]",
        b'{"a" 1}',
        b'{"a":}',
        b"{1:2}",
        b"{'a':1}",
        b"[",
        b"{",
        b'{"a"',
        b'"abc',
        b'"abcdefghijkl',
        b'"\\',
        b'"\\"',
        b'"\\u12',
        rb'"\x41"',
        rb'"\u12g4"',
        rb'"\u+123"',
        rb'"\ud800"',
        rb'"\udc00"',
        rb'"\ud800\u0041"',
        rb'"\ud800\ud800"',
        rb'"\ud800x"',
        b'"\t"',
        b'"a\nb"',
        b'"\x00"',
        b'"aaaaaaaa\x1f"',
        b'"\x80"',
        b'"\xc0\x80"',
        b'"\xc1\xbf"',
        b'"\xe0\x9f\xbf"',
        b'"\xed\xa0\x80"',
        b'"\xed\xbf\xbf"',
        b'"\xf0\x8f\xbf\xbf"',
        b'"\xf4\x90\x80\x80"',
        b'"\xf5\x80\x80\x80"',
        b'"\xe2\x82"',
        b'"\xf0\x9f\x98',
        b"\xc3\xa9",
        b"01",
        b"-01",
        b"-",
        b"+1",
        b".5",
        b"1.",
        b"1.e1",
        b"1e",
        b"1e+",
        b"0x10",
        b"1e309",
        b"-1e400",
        b"1" + b"0" * 309,
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"nul",
        b"nulll",
        b"True",
        b"tru",
        b"// x\n1",
        b"/* */1",
        b"\xc2\xa01",
        b"\x0c1",
    ],
)
def test_refused(text: bytes) -> None:
    with pytest.raises(VocabularyError, match=r"^invalid JSON at byte \d+ \(line \d+, column \d+\): "):
        _core.json_normalize(text)
    assert not serde_accepts(TOKENIZER % text)


@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth(pair: tuple[bytes, bytes]) -> None:
    def nested(depth: int) -> bytes:
        return pair[0] * depth + b"1" + pair[1] * depth

    assert _core.json_normalize(nested(127)).encode() == nested(127)
    with pytest.raises(VocabularyError, match="nested too deeply"):
        _core.json_normalize(nested(128))
    # Two levels stand around the document there.
    assert serde_accepts(TOKENIZER % nested(125))
    assert not serde_accepts(TOKENIZER % nested(126))
    with pytest.raises(VocabularyError, match="nested too deeply"):
        _core.json_normalize(pair[0] * 1_000_000)


def test_error_says_where() -> None:
    with pytest.raises(VocabularyError, match=r"at byte 13 \(line 3, column 6\)"):
        _core.json_normalize('[1,\n2,\n"é"  x]'.encode())


def test_strings_at_every_alignment() -> None:
    """The scan looks at eight bytes at a time; a special byte must be seen at each place in them."""
    for before in range(20):
        for special in ('"', "\\", "é", "😀", "\n", "\x1f", "\x7f"):
            for after in range(20):
                text = "a" * before + special + "b" * after
                assert parse(json.dumps(text, ensure_ascii=False).encode()) == text
            if ord(special) < 0x20:
                with pytest.raises(VocabularyError, match="control character"):
                    _core.json_normalize(b'"' + b"a" * before + special.encode() + b'aaaaaaaa"')


def test_argument_must_be_bytes() -> None:
    with pytest.raises(TypeError):
        _core.json_normalize("{}")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="CRAYON_SHARED is not set")
def test_real_files() -> None:
    paths = sorted(Path(str(SHARED), "vocab").glob("*/*.json"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        assert same(parse(data), reference(data)), path
