"""Lines of JSON that `_core.read_json_lines` does not read itself but leaves to Python's json, and parts of such
lines."""

from __future__ import annotations

HALVES = (r"\ud800", r"\udfff", r"\ud83d\ud83d\ude42", r"\ude42\ud83d", r"\ud83dx", r"\ud83d\n", r"\ud83d\u0041")
"""JSON escapes that contain half a surrogate pair."""

_NO_VALUES = (
    *("01", "-", "+1", "1.", ".5", "1e", "1e+", "1.e5", "0x1", "1_0", "--1", "-01", "1e5.5", "1a", "\u0661", "'a'"),
    *("NaN", "Infinity", "-Infinity", "-nan", "nul", "True", "nulll", "truefalse", "9" * 5000, "1." + "0" * 700),
    *("[1,]", "[,]", "[1 2]", '{"c"}', "{1: 2}", "[1}", '{"c": 1]', r'"\x"', r'"\u12"', r'{"\q": 1}'),
)
_NO_ESCAPES = (
    *(r"\x", r"\u12", r"\u12g4", r"\U00e9", r"\'", r"\u 123", r"\u+123", r"\u0x12", r"\u1_23", r"\ud83d\u+e42"),
)
_NO_ENDS = (
    *("", "\\", ' "b"}', ",}", "}}", "} x", '}{"text": "a"}', "}]", ', "text": "b"}', ', "text": 1}'),
    *(r', "\u0074ext": "b"}', ', "b":}', " /* */}", "} # x"),
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
{"text": "a
{"text": "a\"}
{"text": "\""
{,"text": "a"}
{"text" "a"}
{"text": null}
{"text": 1}
{"text": ["a"]}
{"text": {"text": "a"}}
{"a": {"text": "a"}}
[{"text": "a"}]
{"text": 1, "text": "b"}
{text: "a"}
{'text': 'a'}
// {"text": "a"}
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
    *(f'{{"text": "{escape}"}}'.encode() for escape in _NO_ESCAPES),
    *(f'{{"text": "a"{end}'.encode() for end in _NO_ENDS),
    *(
        line.replace("?", value).encode()
        for value in _NO_VALUES
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
