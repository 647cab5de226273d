"""Readers: the bytes of one file in, plain text out. Each undoes one kind of markup; none keeps state."""

from __future__ import annotations

import gzip
import html
import lzma
import re
import struct
from collections.abc import Callable
from html.parser import HTMLParser

_SKIPPED = {"script", "style", "nav", "svg", "math", "noscript", "template", "button", "select"}
_BLOCK = {
    "p", "div", "br", "li", "ul", "ol", "dl", "dt", "dd", "tr", "table", "section", "article", "header", "footer",
    "blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "title", "body", "caption", "form",
}  # fmt: skip


class _HtmlText(HTMLParser):
    """Text of a page as a reader sees it: white space collapsed except in <pre>, one line for each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.skipping = 0
        self.pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self.skipping += 1
        elif tag in _BLOCK:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")
        if tag == "pre":
            self.pre += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self.skipping = max(0, self.skipping - 1)
        elif tag == "pre":
            self.pre = max(0, self.pre - 1)
        if tag in _BLOCK and tag != "br":
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.skipping:
            # Outside <pre> a line break is a space; \x01 marks it, so that only breaks between blocks stay.
            self.parts.append(data if self.pre else re.sub(r"\s+", "\x01", data))


def _html(text: str) -> str:
    page = _HtmlText()
    page.feed(text)
    page.close()
    out = re.sub(r"[ \x01]*\x01[ \x01]*", " ", "".join(page.parts))
    return re.sub(r"(?m)^ (?=\S)", "", out).replace("¶", "")


def _xml(text: str) -> str:
    text = re.sub(r"<!--.*?-->|<\?.*?\?>|<info>.*?</info>|<!\[CDATA\[|\]\]>", "", text, flags=re.S)
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return re.sub(r"(?m)^[ \t]+", "", text)


_ROFF_CHARS = {
    "em": "—", "en": "\u2013", "hy": "-", "aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "\u2018", "cq": "\u2019",
    "bu": "•",
    "co": "©", "rg": "®", "tm": "™", "ha": "^", "ti": "~", "rs": "\\", "sh": "#", "at": "@", "mu": "\u00d7", "->": "→",
    "<-": "←", "<=": "≤", ">=": "≥", "+-": "±", "Fo": "«", "Fc": "»", "de": "°", "ga": "`", "bv": "|", "ba": "|",
}  # fmt: skip
_ROFF_ESCAPE = re.compile(
    r"\\(?:[fFmMnkgYV*](?:\[[^\]\n]*\]|\(..|.)|s[+-]?\d+|[hvwblLoZDX]'[^'\n]*'|\[(?P<long>[^\]\n]*)\]|\((?P<two>..)"
    r"|(?P<one>.))"
)
_ROFF_ARG = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_ROFF_WORDS = {"SH", "SS", "B", "I", "SM", "SB", "IP", "TQ", "HP", "UR", "MT", "Sh", "Ss"}
_ROFF_JOINED = {"BR", "IR", "RB", "BI", "IB", "RI"}
_MDOC_WORDS = {
    "Nm", "Nd", "Fl", "Ar", "Op", "Pa", "Xr", "Em", "Sy", "Li", "Dv", "Va", "Fn", "Ft", "Fa", "It", "Cm", "Ql", "Dq",
    "Sq", "Pq", "Ev", "Tn", "Vt", "Ic", "Oo", "Oc", "Ns", "Bq", "Aq", "Qq", "Xo", "Xc", "Er",
}  # fmt: skip


def _roff_escape(match: re.Match[str]) -> str:
    if (long := match["long"]) is not None:
        if re.fullmatch(r"u[0-9A-F]{4,5}", long):
            return chr(int(long[1:], 16))
        return _ROFF_CHARS.get(long, "")
    if (two := match["two"]) is not None:
        return _ROFF_CHARS.get(two, "")
    one = match["one"]
    if one is None:
        return ""
    return {"-": "-", "e": "\\", "~": " ", " ": " ", "0": " ", "'": "'", "`": "`", ".": ".", "\\": "\\"}.get(one, "")


def _roff(text: str) -> str:
    out: list[str] = []
    skipping_definition = False
    for line in text.split("\n"):
        if skipping_definition:
            skipping_definition = not line.startswith("..")
            continue
        if not line.startswith((".", "'")):
            out.append(_ROFF_ESCAPE.sub(_roff_escape, line.split('\\"', 1)[0]))
            continue
        name, _, rest = line[1:].lstrip().partition(" ")
        rest = rest.split('\\"', 1)[0]
        args = [quoted.replace('""', '"') or bare for quoted, bare in _ROFF_ARG.findall(rest)]
        if name in ("de", "de1", "ig", "am"):
            skipping_definition = True
        elif name in ("PP", "P", "LP", "TP", "sp", "Pp", "nf", "fi", "EX", "EE"):
            out.append("")
        elif name in _ROFF_JOINED:
            out.append(_ROFF_ESCAPE.sub(_roff_escape, "".join(args)))
        elif name in _ROFF_WORDS or name in _MDOC_WORDS:
            out.append(_ROFF_ESCAPE.sub(_roff_escape, " ".join(a for a in args if a not in _MDOC_WORDS)))
    return "\n".join(out)


def _pod(text: str) -> str:
    text = re.sub(r"(?m)^=(?:head\d|item|begin|end|for)\s*|^=(?:over|back|cut|pod|encoding)\b.*$", "", text)
    text = text.replace("E<lt>", "\x01").replace("E<gt>", "\x02")
    for _ in range(4):  # codes nest; innermost first
        text = re.sub(r"\b[BCFILSXZ](?:<< (.*?) >>|<([^<>]*)>)", lambda m: m[1] or m[2] or "", text)
    return text.replace("\x01", "<").replace("\x02", ">")


def _fortune(text: str) -> str:
    return re.sub(r"(?m)^%+$", "", re.sub(r"\x1b\[[\d;]*m|.\x08", "", text))


def _plain(text: str) -> str:
    return text


def _mo(data: bytes) -> str:
    """Translations of a message catalogue, without the marks of keyboard accelerators."""
    order = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}.get(data[:4])
    if order is None:
        return ""
    count, originals, translations = struct.unpack_from(order + "3I", data, 8)
    out = []
    for i in range(count):
        texts = []
        for table in (originals, translations):
            length, start = struct.unpack_from(order + "2I", data, table + 8 * i)
            texts.append(data[start : start + length].decode("utf-8", "ignore"))
        source, translation = texts
        if source and translation != source:
            translation = re.sub(r"\([_&]\w\)", "", translation.replace("\0", "\n"))
            out.append(re.sub(r"[_&](?=\w)", "", re.sub(r"</?\w+[^<>]*>", "", translation)))
    return "\n".join(out)


READERS: dict[str, Callable[[str], str]] = {
    "text": _plain,
    "code": _plain,
    "dict": _plain,
    "fortune": _fortune,
    "html": _html,
    "xml": _xml,
    "roff": _roff,
    "pod": _pod,
}


def read(data: bytes, form: str, encoding: str) -> str:
    """The clean text of a file; empty when it is not text in the encoding given."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:6] == b"\xfd7zXZ\0":
        data = lzma.decompress(data)
    if form == "mo":
        return _tidy(_mo(data))
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return ""
    if "\0" in text:
        return ""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _tidy(READERS[form](text))


def _tidy(text: str) -> str:
    """No control characters, no space at line ends, no more than one empty line at once."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
