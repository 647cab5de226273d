"""The inputs that the fuzz target of the kernels has kept, as batches: the hardest known texts.

A source tree has the inputs and the target, tests/fuzz/engine/kernels.cpp, which defines the meaning of their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_TARGET = "tests/fuzz/engine/kernels.cpp"
_FOLDERS = ("tests/fuzz/corpus/engine/kernels", "tests/fuzz/crashes/engine/kernels")
_MOST_BUILT = 12_000
_ESCAPE = re.compile(rb'\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[tnr"\\])')
_SIMPLE = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b'"': b'"', b"\\": b"\\"}


@dataclass(frozen=True)
class KeptInput:
    """The batch that one kept input of the fuzz target describes, with the options of its encoder."""

    name: str
    texts: tuple[bytes, ...]
    special: bool
    as_text: bool
    on_device: bool
    elements: int
    margin: int
    lanes: int


def kept_inputs(source: Path) -> Iterator[KeptInput]:
    """Yield all fuzz inputs kept in a source tree. Raise ValueError if the fuzz target's source lacks its pieces."""
    paths = [path for folder in _FOLDERS for path in sorted((source / folder).glob("*")) if path.is_file()]
    if not paths:
        return
    pieces = pieces_of((source / _TARGET).read_bytes())
    for path in paths:
        yield _read(path.name, path.read_bytes(), pieces)


def pieces_of(target: bytes) -> list[bytes]:
    """Return the pieces from which the fuzz target builds longer texts, read from `target`, its source code."""
    found = re.search(rb"kPieces\[\] = \{(.*?)\n\};", target, re.DOTALL)
    if found is None:
        raise ValueError(f"{_TARGET} has no kPieces, so the meaning of its inputs is unknown")
    pieces = re.findall(rb'"((?:[^"\\]|\\.)*)"', found[1])
    return [_ESCAPE.sub(_unescape, piece) for piece in pieces]


def _unescape(found: re.Match[bytes]) -> bytes:
    what = found[1]
    if what[:1] == b"x":
        return bytes([int(what[1:], 16)])
    return chr(int(what[1:], 16)).encode() if what[:1] == b"u" else _SIMPLE[what]


def _read(name: str, data: bytes, pieces: list[bytes]) -> KeptInput:
    head, rest = data[:4].ljust(4, b"\0"), data[4:]
    ways, room, n_cuts = head[1], head[2], head[3] % 24
    cuts, rest = rest[:n_cuts], rest[n_cuts:]
    is_text = ways & 12 != 0
    if ways & 16:
        text = _built(rest, [piece for piece in pieces if _is_text(piece)] if is_text else pieces)
    else:
        text = rest.decode("utf-8", "replace").encode() if is_text else rest
    ends = _ends(cuts, text, is_text)
    return KeptInput(
        name=name,
        texts=tuple(text[begin:end] for begin, end in pairwise(ends)),
        special=bool(ways & 1),
        as_text=bool(ways & 2),
        on_device=bool(ways & 32),
        elements=1 << 29 if room < 8 else 1 << (room & 15),
        margin=64 if room & 16 else 0,
        lanes=1 + (room >> 5) % 3,
    )


def _is_text(piece: bytes) -> bool:
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


def _built(data: bytes, pieces: list[bytes]) -> bytes:
    out = bytearray()
    last = pieces[0]
    for byte in data:
        if byte >= 0xF0:
            for _ in range((1 << (byte & 15)) >> 1):
                if len(out) >= _MOST_BUILT:
                    break
                out += last
        else:
            last = pieces[byte % len(pieces)]
            out += last
    return bytes(out)


def _ends(cuts: bytes, text: bytes, is_text: bool) -> list[int]:
    ends = [0]
    scale = len(text) // 64 + 1
    for cut in cuts:
        at = min(ends[-1] + cut % 16 * scale, len(text))
        while is_text and at < len(text) and text[at] & 0xC0 == 0x80:
            at += 1
        ends.append(at)
    return [*ends, len(text)]
