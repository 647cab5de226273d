"""Readers of message catalogues and other files whose values are text. Each returns the values as lines, one value per
line."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any


def _message(text: str) -> str:
    """Return a message without accelerator marks and tags."""
    text = re.sub(r"\([_&]\w\)", "", text.replace("\0", "\n"))
    return re.sub(r"[_&](?=\w)", "", re.sub(r"</?\w+[^<>]*>", "", text))


def _pairs(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield each original of a gettext .mo file with its translation."""
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(data[:4])
    if order is None:
        return
    count, originals, translations = struct.unpack_from(order + "3I", data, 8)
    for i in range(count):
        texts = []
        for table in (originals, translations):
            length, start = struct.unpack_from(order + "2I", data, table + 8 * i)
            texts.append(data[start : start + length].decode("utf-8", "ignore"))
        yield texts[0], texts[1]


def mo(data: bytes) -> str:
    """Translations of a .mo file."""
    return "\n".join(_message(b) for a, b in _pairs(data) if a and a != b)


def mo_source(data: bytes) -> str:
    """Originals of a .mo file, without their contexts."""
    return "\n".join(_message(a.rpartition("\4")[2]) for a, _ in _pairs(data) if a)


def po(data: bytes) -> str:
    """Translations of a gettext .po file."""
    out = []
    for block in re.split(r"\n\s*\n", data.decode("utf-8", "ignore").replace("\r", "")):
        for found in re.finditer(r'(?m)^msgstr(?:\[\d\])?[ \t]+((?:"(?:[^"\\]|\\.)*"\s*)+)', block):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1]))
            if 'msgid ""\nmsgstr' not in block:
                out.append(_message(_unescape(text)))
    return "\n".join(out)


def qm(data: bytes) -> str:
    """Translations of a Qt .qm file: section 0x69 holds tagged records, tag 3 a translation in UTF-16."""
    out = []
    at = 16
    while at + 5 <= len(data):
        section, length = struct.unpack_from(">BI", data, at)
        at += 5
        if section == 0x69:
            end = at + length
            i = at
            while i < end:
                tag = data[i]
                i += 1
                if tag in (3, 6, 7, 8):
                    (size,) = struct.unpack_from(">i", data, i)
                    i += 4
                    if tag == 3 and size > 0:
                        out.append(_message(data[i : i + size].decode("utf-16-be", "ignore")))
                    i += max(size, 0)
                elif tag == 5:
                    i += 4
                elif tag != 1:
                    break
        at += length
    return "\n".join(out)


def pak(data: bytes) -> str:
    """Strings of a Chromium resource pack, version 5 in UTF-8."""
    version, encoding, count, _ = struct.unpack_from("<IB3xHH", data)
    if (version, encoding) != (5, 1):
        return ""
    places = [struct.unpack_from("<HI", data, 12 + 6 * i)[1] for i in range(count + 1)]
    texts = []
    for a, b in itertools.pairwise(places):
        try:
            texts.append(_message(data[a:b].decode()))
        except UnicodeDecodeError:
            continue
    return "\n".join(texts)


def _unescape(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": ""}.get(m[1], m[1]), text)


def keyed(data: bytes) -> str:
    """Values of `key = value` and `key: value` files: properties, Fluent, YAML, OpenTTD's and FreeOrion's tables."""
    out = []
    for line in data.decode("utf-8", "ignore").splitlines():
        if line.lstrip().startswith(("#", "!", "//")):
            continue
        text = re.sub(r"^\s*[-.\w\"'@/ ]{1,80}\s*(?:=|:(?!//))\s*[|>]?", "", line).strip()
        text = re.sub(r"^- ", "", text)
        if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
            text = text[1:-1]
        out.append(_message(_unescape(text)))
    return "\n".join(out)


def strings(data: bytes) -> str:
    """The last quoted string of every line: PHP's, Lua's and JavaScript's tables of messages."""
    found = re.findall(
        r"""(?m)("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')[\s,;)}\]]*$""",
        data.decode("utf-8", "ignore").replace("\r", ""),
    )
    return "\n".join(_message(_unescape(s[1:-1])) for s in found if len(s) > 2)


_JSON_SKIPPED = {"@metadata", "id", "type", "copy-from", "color", "sym", "looks_like", "flags", "symbol", "material"}


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _JSON_SKIPPED:
                yield from _leaves(item)


def json_values(data: bytes) -> str:
    """Every string value of a JSON file that has more than one word, or letters beyond ASCII."""
    try:
        found = _leaves(json.loads(data.decode("utf-8", "ignore")))
    except ValueError:
        return ""
    return "\n".join(_message(s) for s in found if " " in s or not s.isascii())


def notebook(data: bytes) -> str:
    """The cells of a Jupyter notebook."""
    try:
        cells = json.loads(data)["cells"]
    except (ValueError, KeyError, TypeError):
        return ""
    return "\n\n".join("".join(cell.get("source", [])) for cell in cells)


def sword(data: bytes) -> str:
    """A SWORD module's text: concatenated zlib streams with OSIS or ThML markup."""
    out = []
    while data[:1] == b"\x78":
        stream = zlib.decompressobj()
        try:
            out.append(stream.decompress(data))
        except zlib.error:
            break
        data = stream.unused_data
    text = b"".join(out).decode("utf-8", "ignore") if out else data.decode("utf-8", "ignore")
    text = re.sub(r"<(?:note|title)\b[^>]*>.*?</(?:note|title)>", "", text.replace("\r", "\n"), flags=re.S)
    text = re.sub(
        r"[\0-\x09\x0b-\x1f]+", "\n", re.sub(r"<[^<>]*>", "", re.sub(r"<(?:br|p|l|verse)\b[^>]*>", "\n", text))
    )
    return text.replace("&quot;", '"').replace("&amp;", "&")


READERS: dict[str, Callable[[bytes], str]] = {
    "mo": mo,
    "mo source": mo_source,
    "po": po,
    "qm": qm,
    "pak": pak,
    "keyed": keyed,
    "strings": strings,
    "json": json_values,
    "notebook": notebook,
    "sword": sword,
}


def unpacked(data: bytes) -> bytes:
    """Return a file without its gzip or bzip2 compression, which many documents in packages have."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:3] == b"BZh":
        return bz2.decompress(data)
    return data
