"""Readers of two formats that only evaluation texts have: data of the R language, and a dump of wiki pages."""

from __future__ import annotations

import bz2
import html
import re
import struct
import zlib


def r_data(data: bytes) -> str:
    """Return the character vectors of an R data base (.rdb), one string a line. Joins the lines of a printed
    paragraph."""
    novels = []
    start = 0
    while start < len(data):
        record = zlib.decompressobj()  # each record is its unpacked size and a zlib stream
        novels.append(_strings(record.decompress(data[start + 4 :])))
        start = len(data) - len(record.unused_data)
    # Lines end where the printed page ended; a paragraph ends at an empty line.
    return re.sub(r"(?<=[^\n])\n(?=[^\n])", " ", "\n\n".join(novels))


def _strings(data: bytes) -> str:
    """The strings of a serialized vector in XDR form: a type word 0x?0009, a length (-1: missing), the bytes."""
    lines = []
    for match in re.finditer(rb"\x00[\x00-\xff]{2}\x09(?=([\x00-\xff]{4}))", data):
        size = struct.unpack(">i", match[1])[0]
        if 0 <= size < 1000:
            lines.append(data[match.end() + 4 : match.end() + 4 + size].decode("utf-8", "replace"))
    return "\n".join(lines)


_INNERMOST = re.compile(r"\{\{[^{}]*\}\}|\{\|(?:(?!\{\|).)*?\|\}", re.S)


def wiki(data: bytes) -> str:
    """The running text of the articles in a bz2 dump, without templates, tables, references or redirects."""
    pages = re.findall(r"<text[^>]*>(.*?)</text>", bz2.decompress(data).decode("utf-8"), re.S)
    return "\n\n".join(_article(html.unescape(page)) for page in pages if not page.lower().startswith("#redirect"))


def _article(text: str) -> str:
    text = re.sub(r"<!--.*?-->|<ref[^<>]*/>|<ref[^<>]*>.*?</ref>|<(math|gallery)\b.*?</\1>", "", text, flags=re.S)
    text = re.split(r"(?m)^==\s*(?:See also|References|Notes|Further reading|External links)\s*==", text, maxsplit=1)[0]
    for _ in range(8):  # templates nest; innermost first
        text = _INNERMOST.sub("", text)
    text = re.sub(r"\[\[(?:File|Image|Category|[a-z]{2,3}(?:-[a-z]+)?):(?:\[\[[^\]]*\]\]|[^\[\]])*\]\]", "", text)
    text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]", r"\1", text)
    text = re.sub(r"\[https?:\S+ ?([^\[\]]*)\]", r"\1", text)
    text = re.sub(r"</?\w[^<>]*>|'{2,}|^[*#:;]+ ?|^=+ ?| ?=+$", "", text, flags=re.M)
    return html.unescape(text)


READERS = {"r-data": r_data, "wiki": wiki}
