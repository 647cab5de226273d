"""Changes that know the structure of a format: what libFuzzer's own would hardly find. All from the one `rng`."""

from __future__ import annotations

import json
import struct
from random import Random
from typing import Any

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    127,
    128,
    255,
    256,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53,
    2**63,
    2**64,
    -(2**31),
)
VALUES = (
    *NUMBERS,
    None,
    True,
    False,
    "",
    "a",
    "\u2581",
    "\u00e9",
    "##",
    0.5,
    -1.5,
    1e300,
    1e-320,
    [],
    {},
    [1],
    {"a": 1},
)
TEXTS = (
    "",
    " ",
    "a",
    "aa",
    "ab",
    "\u2581",
    "\u2581a",
    "##a",
    "<s>",
    "<0x41>",
    "\u00e9",
    "e\u0301",
    "\u4f60",
    "\x00",
    "\U0001f642",
)


# -- JSON


def json_document(data: bytes, rng: Random) -> bytes | None:
    """A JSON document with one to three nodes changed; None for what is no JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    for _ in range(rng.randint(1, 3)):
        document = _changed(document, rng)
    return json.dumps(document, ensure_ascii=rng.random() < 0.1, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _changed(document: Any, rng: Random) -> Any:
    nodes = list(_nodes(document))
    if not nodes:
        return rng.choice(VALUES)
    parent, key = rng.choice(nodes)
    what = rng.randrange(7)
    if what == 0:
        parent[key] = rng.choice(VALUES)
    elif what == 1:
        other, place = rng.choice(nodes)
        parent[key] = json.loads(json.dumps(other[place]))
    elif what == 2:
        del parent[key]
    elif what == 3 and isinstance(parent, list):
        parent.insert(rng.randint(0, len(parent)), json.loads(json.dumps(parent[key])))
    elif what == 3:
        parent[rng.choice(TEXTS)] = json.loads(json.dumps(parent[key]))
    elif what == 4 and isinstance(parent, dict):
        parent[_text(key, rng)] = parent.pop(key)
    elif isinstance(parent[key], str):
        parent[key] = _text(parent[key], rng)
    elif isinstance(parent[key], (int, float)):
        parent[key] = rng.choice((parent[key] + 1, parent[key] - 1, -parent[key], rng.choice(NUMBERS)))
    elif isinstance(parent[key], list):
        rng.shuffle(parent[key])
    return document


def _nodes(value: Any) -> Any:
    places = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for place in places:
        yield value, place
        yield from _nodes(value[place])


def _text(text: str, rng: Random) -> str:
    at = rng.randint(0, len(text))
    what = rng.randrange(4)
    if what == 0:
        return rng.choice(TEXTS)
    if what == 1:
        return text[:at] + rng.choice(TEXTS) + text[at:]
    return text[:at] + text[at + 1 :] if what == 2 else text + text[at:]


# -- protocol buffers


def protobuf(data: bytes, rng: Random) -> bytes | None:
    """A message with a field changed, dropped, doubled or moved, here or in a message within; None for what is none."""
    fields = _fields(data)
    if not fields:
        return None
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(fields))
        number, wire, value = fields[at]
        what = rng.randrange(8)
        if what == 0 and len(fields) > 1:
            del fields[at]
        elif what == 1:
            fields.insert(rng.randint(0, len(fields)), fields[at])
        elif what == 2:
            other = rng.randrange(len(fields))
            fields[at], fields[other] = fields[other], fields[at]
        elif what == 3:
            fields[at] = (rng.choice((1, 2, 3, 4, 5, 24, 35, 41, 42, 43, 44, number)), wire, value)
        elif wire == 2:
            inner = protobuf(value, rng) if rng.random() < 0.7 else None
            fields[at] = (number, 2, _bytes(value, rng) if inner is None else inner)
        elif wire == 0:
            fields[at] = (number, 0, rng.choice(NUMBERS) & 0xFFFF_FFFF_FFFF_FFFF)
        else:
            scores = (0.0, -0.0, -1.0, 1.0, float("nan"), float("inf"), 1e38, -1e-45)
            fields[at] = (number, 5, struct.pack("<f", rng.choice(scores)))
    return b"".join(_field(*field) for field in fields)


def _fields(data: bytes) -> list[tuple[int, int, Any]] | None:
    found: list[tuple[int, int, Any]] = []
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value: Any
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        elif key & 7 in (1, 5):
            size = 8 if key & 7 == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            return None
        if at > len(data) or key >> 3 == 0:
            return None
        found.append((key >> 3, key & 7, value))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    return 0, len(data) + 1


def _written(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _field(number: int, wire: int, value: Any) -> bytes:
    key = _written(number << 3 | wire)
    if wire == 0:
        return key + _written(value)
    return key + (_written(len(value)) if wire == 2 else b"") + bytes(value)


def _bytes(value: bytes, rng: Random) -> bytes:
    at = rng.randint(0, len(value))
    what = rng.randrange(4)
    if what == 0:
        return rng.choice(TEXTS).encode()
    if what == 1:
        return value[:at] + rng.choice(TEXTS).encode() + value[at:]
    return value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :] if what == 2 else value[:at]


# -- lines


def lines(data: bytes, rng: Random) -> bytes | None:
    """Lines dropped, doubled, moved, or with a part of another."""
    parts = data.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        at, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        what = rng.randrange(5)
        if what == 0 and len(parts) > 1:
            del parts[at]
        elif what == 1:
            parts.insert(at, parts[other])
        elif what == 2:
            parts[at], parts[other] = parts[other], parts[at]
        elif what == 3:
            parts[at] = parts[at].partition(b" ")[0] + b" " + parts[other].rpartition(b" ")[2]
        else:
            parts[at] = _bytes(parts[at], rng)
    return b"\n".join(parts)


def separated(data: bytes, rng: Random) -> bytes | None:
    """One of the files that an input holds, as JSON or as lines."""
    from tests.fuzz.edge.choices import SEPARATOR

    parts = data.split(SEPARATOR)
    at = rng.randrange(len(parts))
    changed = json_document(parts[at], rng) if parts[at][:1] in b"{[" else lines(parts[at], rng)
    if changed is None:
        return None
    parts[at] = changed
    return SEPARATOR.join(parts)


# -- GGUF


def gguf(data: bytes, rng: Random) -> bytes | None:
    """Metadata with an entry changed, dropped, doubled or moved; None for what cannot be taken apart."""
    if data[:4] != b"GGUF" or len(data) < 24:
        return None
    version, tensors, count = struct.unpack_from("<IQQ", data, 4)
    entries: list[tuple[bytes, int, Any]] = []
    at = 24
    try:
        for _ in range(min(count, 200)):
            (size,) = struct.unpack_from("<Q", data, at)
            key, at = data[at + 8 : at + 8 + size], at + 8 + size
            (kind,) = struct.unpack_from("<I", data, at)
            value, at = _gguf_value(data, at + 4, kind)
            entries.append((key, kind, value))
    except (struct.error, ValueError, OverflowError):
        return None
    if not entries:
        return None
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(entries))
        key, kind, value = entries[place]
        what = rng.randrange(8)
        if what == 0 and len(entries) > 1:
            del entries[place]
        elif what == 1:
            entries.insert(rng.randint(0, len(entries)), (key + rng.choice((b"", b"x")), kind, value))
        elif what == 2:
            entries[place] = (_bytes(key, rng), kind, value)
        elif what == 3:
            other = rng.choice(entries)
            entries[place] = (key, *other[1:])
        elif kind == 8:
            names = (
                b"gpt2",
                b"llama",
                b"bert",
                b"t5",
                b"gemma4",
                b"llama-bpe",
                b"qwen2",
                b"kimi-k2",
                b"default",
                b"tekken",
            )
            entries[place] = (key, 8, rng.choice(names) if what < 6 else _bytes(value, rng))
        elif kind == 9 and isinstance(value, tuple):
            entries[place] = (key, 9, _gguf_array(value, rng))
        elif isinstance(value, bytes):
            entries[place] = (key, kind, _bytes(value, rng)[: len(value)].ljust(len(value), b"\0"))
    said = count if rng.random() < 0.05 else len(entries)
    return struct.pack("<4sIQQ", b"GGUF", version, tensors, said) + b"".join(_gguf_entry(*entry) for entry in entries)


_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def _gguf_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == 8:
        (size,) = struct.unpack_from("<Q", data, at)
        return data[at + 8 : at + 8 + size], at + 8 + size
    if kind != 9:
        if kind not in _SIZES:
            raise ValueError(kind)
        return data[at : at + _SIZES[kind]], at + _SIZES[kind]
    inner, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if inner == 9 or count > 10_000:
        raise ValueError(inner)
    items = []
    for _ in range(count):
        item, at = _gguf_value(data, at, inner)
        items.append(item)
    return (inner, items), at


def _gguf_array(value: tuple[int, list[bytes]], rng: Random) -> tuple[int, list[bytes]]:
    inner, items = value[0], list(value[1])
    if not items:
        return inner, items
    at, other = rng.randrange(len(items)), rng.randrange(len(items))
    what = rng.randrange(5)
    if what == 0:
        del items[at]
    elif what == 1:
        items.insert(at, items[other])
    elif what == 2:
        items[at], items[other] = items[other], items[at]
    elif inner == 8:
        items[at] = _bytes(items[at], rng)
    else:
        items[at] = _bytes(items[at], rng)[: len(items[at])].ljust(len(items[at]), b"\0")
    return inner, items


def _gguf_entry(key: bytes, kind: int, value: Any) -> bytes:
    return struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + _gguf_written(kind, value)


def _gguf_written(kind: int, value: Any) -> bytes:
    if kind == 8:
        return struct.pack("<Q", len(value)) + bytes(value)
    if kind == 9:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_gguf_written(inner, item) for item in items)
    return bytes(value)
