"""Lines of JSON that `_core.read_json_lines` does not read itself but leaves to Python's json, and parts of such
lines."""

from __future__ import annotations

HALVES = (r"\ud800", r"\udfff", r"\ud83d\ud83d\ude42", r"\ude42\ud83d", r"\ud83dx", r"\ud83d\n", r"\ud83d\u0041")
"""JSON escapes that contain half a surrogate pair."""

_NO_NUMBERS = (
    *("01", "-", "+1", "1.", ".5", "1e", "1e+", "1.e5", "0x1", "1_0", "--1", "-01", "1e5.5", "1a", "\u0661", "'a'"),
    *("NaN", "Infinity", "-Infinity", "-nan", "nul", "True", "nulll", "truefalse", "9" * 5000, "1." + "0" * 700),
)
_INVALID = ("80", "c0af", "c3", "e08080", "eda080", "f4908080", "f09f99", "ff", "fe", "c3c3a9", "f8888080", "e28082e2")

_PRINTABLE = rb"""
{}
[]
"text"
null
1
{
}
{"text"
{"text":
{"text":}
{"text": "a"
{"text": "a
{"text": "a\"}
{"text": "a" "b"}
{"text": "a",}
{,"text": "a"}
{"text" "a"}
{"text": null}
{"text": 1}
{"text": ["a"]}
{"text": {"text": "a"}}
{"a": {"text": "a"}}
{"text": "a"}}
{"text": "a"} x
{"text": "a"}{"text": "a"}
[{"text": "a"}]
{"text": "a"}]
{"text": "a", "text": "b"}
{"text": 1, "text": "b"}
{"text": "a", "text": 1}
{text: "a"}
{"text": "a", "\u0074ext": "b"}
{'text': 'a'}
{"text": "\x"}
{"text": "\u12"}
{"text": "\u12g4"}
{"text": "\U00e9"}
{"text": "\'"}
{"text": "a", "b": "\x"}
{"text": "a", "b": "\u12"}
{"text": "a", "b": {"\q": 1}}
{"text": "\u 123"}
{"text": "\u+123"}
{"text": "\u0x12"}
{"text": "\u1_23"}
{"text": "\ud83d\u+e42"}
{"text": "\""
{"text": "a", "b": [1,]}
{"text": "a", "b": [,]}
{"text": "a", "b": [1 2]}
{"text": "a", "b": {"c"}}
{"text": "a", "b": {1: 2}}
{"text": "a", "b": [1}}
{"text": "a", "b": {"c": 1]}
{"text": "a", "b":}
// {"text": "a"}
{"text": "a" /* */}
{"text": "a"} # x
"""
UNSURE_LINES = (
    *_PRINTABLE.strip().split(b"\n"),
    b'\xef\xbb\xbf{"text": "a"}',
    b'\x0c{"text": "a"}',
    b'{"text": "a"}\x0b',
    b'{"text": "a"}\x00',
    b'{"text"\xc2\xa0: "a"}',
    b'{"text": "a"}\x1f',
    b'\x85{"text": "a"}',
    b'{"text": "a"}\xe2\x80\xa8',
    b"\x00",
    b'{"te\x01xt": 1, "text": "a"}',
    b'{"text": "a\tb"}',
    b'{"text": "a", "b": "\x1f"}',
    *(f'{{"text": "x{half}y"}}'.encode() for half in HALVES),
    *(
        line.replace("?", number).encode()
        for number in _NO_NUMBERS
        for line in ('{"text": "a", "b": ?}', '{"b": [?], "text": "a"}')
    ),
    *(
        line % (b"x" * n + bytes.fromhex(bad))
        for bad in _INVALID
        for n in (0, 1, 30, 40)
        for line in (b'{"text": "%s"}', b'{"%s": 1, "text": "a"}', b'{"text": "\\n", "b": ["%s"]}', b'%s{"text": "a"}')
    ),
    *(b'{"text": "\\n", "b": "%s"}' % (b"x" * n + bytes([c]) + b"y" * 40) for n in (0, 31, 33) for c in range(9)),
)
