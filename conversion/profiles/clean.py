"""Readers from the bytes of one file to plain text. Each undoes one kind of markup, and keeps no state."""

from __future__ import annotations

import html
import lzma
import re
from collections.abc import Callable

from conversion.profiles import catalogues

_SKIPPED = re.compile(
    r"<!--.*?-->|<(script|style|nav|svg|math|noscript|template|button|select|head(?!er))\b.*?</\1\s*>", re.S | re.I
)
_PRE = re.compile(r"(<pre\b.*?</pre\s*>)", re.S | re.I)
_BLOCK = re.compile(
    r"</?(?:p|div|br|li|[uod]l|d[td]|tr|table|section|article|header|footer|blockquote|hr|h[1-6]|pre|title|body"
    r"|caption|form)\b[^>]*>",
    re.I,
)
_TAG = re.compile(r"</?[A-Za-z!?][^>]*>")


def _html(text: str) -> str:
    """Return the text of an HTML page as shown: white space collapsed except in <pre>, one line for each block."""
    out = []
    for i, part in enumerate(_PRE.split(_SKIPPED.sub(" ", text))):
        if i % 2 == 0:
            part = re.sub(r"\s+", " ", part)
        out.append(html.unescape(_TAG.sub("", re.sub(r"<t[dh]\b", " <td", _BLOCK.sub("\n", part)))))
    return re.sub(r"(?m)^ (?=\S)", "", "".join(out)).replace("¶", "").replace("\u00ad", "")


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
    """Return the clean text of a file, or an empty text if the file is not in the given encoding. `form` names the
    reader."""
    data = lzma.decompress(data) if data[:6] == b"\xfd7zXZ\0" else catalogues.unpacked(data)
    if form in catalogues.READERS:
        return _tidy(catalogues.READERS[form](data))
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return ""
    if "\0" in text:
        return ""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _tidy(READERS[form](text))


def _tidy(text: str) -> str:
    """Remove control characters, spaces at line ends, and repeated empty lines."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
