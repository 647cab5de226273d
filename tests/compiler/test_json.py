"""The engine's JSON reader: values equal those of Python's json, and it accepts the same texts as serde_json, the
reader of ``tokenizers``."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import VocabularyError

# Integers beyond 64 bits, signed or not, become doubles, as in serde_json, so another strategy draws them.
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5)
)


def same(a: object, b: object) -> bool:
    """Equality that distinguishes 1, 1.0 and true, 0.0 and -0.0, and the order of members."""
    return json.dumps(a) == json.dumps(b)


def parse(data: bytes) -> object:
    return json.loads(_core.json_normalize(data))


def serde_double(text: str) -> float:
    """The value that serde_json reads for a number that is not a 64-bit integer.

    serde_json scales the first digits, as many as fit 64 bits, by one power of ten. That is not always the nearest
    double.
    """
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
    """Read JSON with Python's json, but numbers as serde_json reads them."""

    def integer(text: str) -> int | float:
        value = int(text)
        return value if -(2**63) <= value < 2**64 and text != "-0" else serde_double(text)

    return json.loads(data.decode(), parse_int=integer, parse_float=serde_double)


TOKENIZER = (
    b'{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"Lowercase","x":%s},'
    b'"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","vocab":{},"merges":[]}}'
)


def serde_accepts(text: bytes) -> bool:
    """Whether `tokenizers`, whose JSON reader is serde_json, opens a tokenizer.json."""
    try:
        Tokenizer.from_buffer(text)
    except ValueError:
        return False
    return True


def assert_as_reference(data: bytes) -> None:
    """Check that the engine accepts `data`, in an ignored field of a tokenizer.json, exactly if serde_json does, and
    reads the value that Python reads."""
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


# Pieces of nearly valid JSON.
_PIECES = r"""[ ] { } , : " \ 0 1 2 3 4 5 6 7 8 9 - + . e E u / "a": "" true null \u0041 \ud83d \ude00 1e400 é NaN"""
PIECES = st.sampled_from([*_PIECES.split(), " ", "\n", "\t", "\0"])


@settings(max_examples=1000, deadline=None)
@given(st.binary(max_size=12) | st.lists(PIECES, max_size=10).map(lambda pieces: "".join(pieces).encode()))
def test_any_bytes(data: bytes) -> None:
    assert_as_reference(data)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from([*"0019-+.eE"]), max_size=9).map(lambda pieces: "".join(pieces).encode()))
def test_numbers(data: bytes) -> None:
    assert_as_reference(data)
    assert_as_reference(b"[" + data + b"]" + 8 * b" ")  # with enough bytes after it, digits are read eight at a time


ODD = rb"""
"\u00e9\ud83d\ude00\u0000\/" | "\b\f\n\r\t\"\\" | [ ] | { } | -0 | -0.0e-0 | 0e999999999999999999999
1e-999999999999999999999 | 1.7976931348623157e308 | 5e-324 | 9223372036854775807 | -9223372036854775808
9223372036854775808 | 18446744073709551615 | 18446744073709551616 | -9223372036854775809 | {"a": 1, "b": 2, "a": 3}
[] [] | [1,] | {"a":1,} | [,1] | {,} | [1 2] | {"a" 1} | {"a":} | {1:2} | {'a':1} | [ | { | {"a" | "abc | "abcdefghijkl
"\ | "\" | "\u12 | "\x41" | "\u12g4" | "\u+123" | "\ud800" | "\udc00" | "\ud800\u0041" | "\ud800\ud800" | "\ud800x"
01 | -01 | - | +1 | .5 | 1. | 1.e1 | 1e | 1e+ | 0x10 | 1e309 | -1e400 | NaN | Infinity | -Infinity | nul | nulll | tru
/* */1
"""
_ILL_FORMED = "80 c080 c1bf e09fbf eda080 edbfbf f08fbfbf f4908080 f5808080 e282"
TEXTS = [text.strip(b" ") for line in ODD.strip().split(b"\n") for text in line.split(b" | ")]
TEXTS += [b"", b"\xef\xbb\xbf{}", b"[]\0", b"// x\n1", b"\xc2\xa01", b"\x0c1", b" \t\r\n[ ] \n", b"\xc3\xa9"]
TEXTS += [
    b'"%s"' % part for part in (b"\t", b"a\nb", b"\x00", b"aaaaaaaa\x1f", b"\x7f\xc2\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf")
]
TEXTS += [b'"%s"' % bad for bad in map(bytes.fromhex, _ILL_FORMED.split())]
TEXTS += [b"-0." + b"0" * 400 + b"1", b"0." + b"0" * 400 + b"1e401", b"1" + b"0" * 400 + b"e-400", b"1" + b"0" * 309]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_odd_texts(text: bytes) -> None:
    assert_as_reference(text)
    if not serde_accepts(TOKENIZER % text):
        with pytest.raises(VocabularyError, match=r"^invalid JSON at byte \d+ \(line \d+, column \d+\): "):
            _core.json_normalize(text)


@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth(pair: tuple[bytes, bytes]) -> None:
    def nested(depth: int) -> bytes:
        return pair[0] * depth + b"1" + pair[1] * depth

    assert _core.json_normalize(nested(127)).encode() == nested(127)
    with pytest.raises(VocabularyError, match="nested too deeply"):
        _core.json_normalize(nested(128))
    # In TOKENIZER the document is inside two more levels.
    assert serde_accepts(TOKENIZER % nested(125))
    assert not serde_accepts(TOKENIZER % nested(126))
    with pytest.raises(VocabularyError, match="nested too deeply"):
        _core.json_normalize(pair[0] * 1_000_000)


def test_strings_at_every_alignment() -> None:
    """The reader scans strings eight bytes at a time; it must find a special byte at each of the eight positions."""
    for before in range(20):
        for special in ('"', "\\", "é", "😀", "\n", "\x1f", "\x7f"):
            for after in range(20):
                text = "a" * before + special + "b" * after
                assert parse(json.dumps(text, ensure_ascii=False).encode()) == text
            if ord(special) < 0x20:
                with pytest.raises(VocabularyError, match="control character"):
                    _core.json_normalize(b'"' + b"a" * before + special.encode() + b'aaaaaaaa"')
