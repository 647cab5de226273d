"""Any text by every way of encoding it, for every family, kind of model and instruction set, against the reference.

The first bytes choose the vocabulary, the instruction set, how the texts are encoded, and how they are placed: behind
some letters and several times, so that short inputs meet the edges of vectors and blocks.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import crayon_hf
from crayon_hf import _core
from crayon_hf.parity.compare.records import DEFAULT, attempt
from parity.components.command import VARIANTS
from tests.fuzz.edge import vocabularies
from tests.fuzz.edge.choices import SEPARATOR, Choices, parts_of, text_of
from tests.fuzz.edge.judging import Defect, compare
from tests.support.streams import streamed, whole

_MODES = ((DEFAULT, 1), (DEFAULT, 1), (DEFAULT, 1), *VARIANTS)
_TIMES = (1, 1, 1, 1, 2, 3, 5, 9, 33, 130)
_MOST_TEXT, _MOST_WINDOWED = 1024, 48
"""Bytes. Windows have windows: what the reference says of them grows with the square."""


def one_input(data: bytes) -> None:
    choices = Choices(data)
    name, cpu = vocabularies.chosen(choices), choices.pick(_core.cpu_levels())
    (mode, width), before, times = choices.pick(_MODES), choices.below(80), choices.pick(_TIMES)
    most = _MOST_WINDOWED if mode.windows else _MOST_TEXT
    raw = [_placed(part, before, times)[:most] for part in parts_of(choices.rest(), 4)]
    texts = [text_of(part) for part in raw]
    ours = vocabularies.ours(name, cpu)
    items = [(text,) if width == 1 else (text, texts[0]) for text in texts]
    compare(ours, vocabularies.reference(name), items, mode, fast=width == 1)
    _bytes_of(ours, raw)
    whole_texts = [text for text in texts if text.isascii() or not _lone(text)]
    ours.encode_special_tokens = False
    engine = ours._engine
    assert isinstance(engine, _core.Engine)
    for special in (False, True):
        _spans(engine, whole_texts, special)
    for text in whole_texts[:1]:
        if isinstance(attempt(engine.encode_ids, text), list):  # not where the reference panics
            _streams(ours, engine, text, 1 + times % 40, bool(before & 1), bool(before & 2))


def _placed(part: bytes, before: int, times: int) -> bytes:
    return b"a" * (before % 80) + part * max(1, min(times, _MOST_TEXT // max(len(part), 1)))


def _lone(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _bytes_of(ours: crayon_hf.Tokenizer, raw: Sequence[bytes]) -> None:
    """Bytes that are not UTF-8 are refused by place; of any bytes the ids give them back, where tokens are bytes."""
    for part in raw:
        said = attempt(ours.encode_ragged, [part])
        place = _core._testing.utf8_error(part)
        try:
            part.decode()
            right = len(part)
        except UnicodeDecodeError as error:
            right = error.start
        if place != right:
            raise Defect(f"utf8_error of {part!r} is {place}, not {right}")
        if right != len(part) and getattr(said, "error", ("nothing",))[0] != "InvalidUtf8Error":
            raise Defect(f"encode_ragged of {part!r}: {said}")
        ids = attempt(ours.encode_bytes, part)
        if isinstance(ids, list):
            if ours.decode_bytes(ids) != part:
                raise Defect(f"encode_bytes of {part!r} gives {ours.decode_bytes(ids)!r} back")
        elif ids.error[0] != "UnsupportedError":
            raise Defect(f"encode_bytes of {part!r}: {ids.error[0]}: {ids.message}")


def _spans(engine: _core.Engine, texts: Sequence[str], special: bool) -> None:
    parts = [text.encode() for text in texts]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    begins = ends - np.array([len(part) for part in parts], np.int64)
    ragged = attempt(lambda: [array.tolist() for array in engine.encode_ragged(texts, special)])
    spans = attempt(lambda: [array.tolist() for array in engine.encode_spans(b"".join(parts), begins, ends, special)])
    if _plain(ragged) != _plain(spans):
        raise Defect(f"encode_spans of {texts!a}: {_plain(spans)}, encode_ragged {_plain(ragged)}")


def _plain(said: Any) -> Any:
    return getattr(said, "error", said)


def _streams(
    ours: crayon_hf.Tokenizer, engine: _core.Engine, text: str, window: int, special: bool, offsets: bool
) -> None:
    expected = whole(engine, text, special, offsets)
    said = streamed(engine, text.encode(), window, special, offsets)
    if said != expected:
        raise Defect(f"windows of {window} over {text!a}, {special=}: {said}, the whole {expected}")
    chunks = list(
        ours.encode_file(io.BytesIO(text.encode()), chunk_bytes=window, offsets=offsets, add_special_tokens=special)
    )
    if [id for chunk in chunks for id in chunk.ids.tolist()] != expected[0]:
        raise Defect(f"encode_file with chunks of {window} over {text!a}, {special=}")


def seeds() -> Iterator[bytes]:
    """Each vocabulary, and each instruction set, on texts of many kinds."""
    from parity.components.texts import HOSTILE

    for at in range(len(tuple(vocabularies.small()))):
        texts = [HOSTILE[(at * 3 + i) % len(HOSTILE)].encode("utf-8", "surrogatepass")[:60] for i in range(3)]
        yield bytes([at, at, at % 13, at * 17 % 80, at]) + SEPARATOR.join(texts)
