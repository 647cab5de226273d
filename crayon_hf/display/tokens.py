"""The tokens of a text with the fields to display, and the differences between segmentations of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf import _core
from crayon_hf.errors import CrayonError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crayon_hf.cartridges.opened_source import AnyEngine

_BYTE_TOKEN = re.compile(b"<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Options:
    """How an input is encoded."""

    is_bytes: bool = False
    """Whether the input is arbitrary bytes instead of UTF-8 text."""
    add_special_tokens: bool = True
    special_as_text: bool = False


@dataclass(frozen=True)
class Token:
    """A token of a text, with the fields to display."""

    id: int
    token: str
    """The token as the vocabulary spells it."""
    data: bytes
    """The bytes that the token decodes to."""
    start: int
    end: int
    """The characters [start, end) of the text that the token covers; for an input of bytes, its bytes [start, end)."""
    is_added: bool
    """Whether the token is an added token."""
    is_inserted: bool
    """Whether the post-processor inserted the token. Such a token covers no text."""
    shown: str | bytes
    """The text to display, or bytes where the token is not whole characters."""
    gap: str = ""
    """The text before this token that no token covers."""
    is_unknown: bool = False
    """Whether the token is the unknown token, which replaces text outside the vocabulary."""

    @property
    def note(self) -> str:
        """The suffix that names an unknown token, such as ⟨[UNK]⟩; empty for other tokens."""
        return f"\u27e8{self.token}\u27e9" if self.is_unknown else ""


@dataclass(frozen=True)
class Segmentation:
    """The tokens of a text as parallel sequences, one item per token."""

    ids: Sequence[int]
    ranges: Sequence[tuple[int, int]]
    """The (start, end) of each token in characters, or in bytes if the input is bytes."""
    inserted: Sequence[Any]
    """Whether the post-processor inserted the token."""


@dataclass(frozen=True)
class Tokenization:
    """The tokens of a text in one mode."""

    name: str
    """The mode: "exact" or "greedy"."""
    tokens: list[Token]

    @property
    def segmentation(self) -> Segmentation:
        """The tokens as `differences` takes them."""
        ranges = [(token.start, token.end) for token in self.tokens]
        return Segmentation([token.id for token in self.tokens], ranges, [token.is_inserted for token in self.tokens])


@dataclass(frozen=True)
class Difference:
    """Characters [start, end) whose tokens differ between segmentations."""

    start: int
    end: int
    tokens: tuple[tuple[int, int], ...]
    """The tokens [first, last) of each segmentation in this range."""


# -- tokens


def tokens_of(engine: AnyEngine, data: bytes, options: Options) -> list[Token]:
    """Return the tokens of `data`."""
    bytes_of = _bytes_of(engine)
    if options.is_bytes:
        out, at = [], 0
        for id in engine.encode_bytes(data):
            piece = bytes_of(id)
            out.append(Token(id, engine.id_to_token(id) or "", piece, at, at + len(piece), False, False, piece))
            at += len(piece)
        return out
    text = data.decode()
    encoding = encode(engine, text, options)
    return tokens_in(engine, encoding, segmentation_of(encoding), text)


SAMPLE = "Hello, world! It's 12,345 naïve words: 日本語 🙂"


def sample_of(engine: AnyEngine) -> list[Token]:
    """Return the tokens of `SAMPLE`, or no tokens if the engine cannot encode it, for example before training."""
    try:
        return tokens_of(engine, SAMPLE.encode(), Options())
    except (CrayonError, ValueError):
        return []


def encode(engine: AnyEngine, text: str, options: Options) -> Any:
    """Return the `Encoding` of a text, without truncation and padding."""
    return engine.encode(text, None, False, options.add_special_tokens, options.special_as_text)


def segmentation_of(encoding: Any) -> Segmentation:
    """Return the segmentation of an `Encoding`."""
    return Segmentation(encoding.ids, encoding.offsets, getattr(encoding, "special_tokens_mask", [0] * len(encoding)))


def tokens_in(
    engine: AnyEngine, encoding: Any, segmentation: Segmentation, text: str, first: int = 0, last: int | None = None
) -> list[Token]:
    """Return tokens [first, last) of an `Encoding` of `text`; `segmentation` is that of the `Encoding`."""
    bytes_of, on_bytes = _bytes_of(engine), _is_on_bytes(engine)
    added, unknown = {row["id"] for row in engine.added_tokens()}, _unknown_of(engine)
    before = zip(segmentation.ranges[:first], segmentation.inserted[:first], strict=True)
    done = max((end for (_, end), is_inserted in before if not is_inserted), default=0)  # characters before `first`
    window = slice(first, last)
    ranges = segmentation.ranges[window]
    starts = [start for start, _ in [*ranges[1:], *segmentation.ranges[first + len(ranges) :][:1], (len(text), 0)]][
        : len(ranges)
    ]
    rows = zip(
        segmentation.ids[window], encoding.tokens[window], ranges, segmentation.inserted[window], starts, strict=True
    )
    out = []
    for id, own, (start, end), is_inserted, next_start in rows:
        token, data = engine.id_to_token(id) or own, bytes_of(id)
        shown: str | bytes = own
        gap = ""
        if not is_inserted:
            gap = text[done:start]
            if own == token and (on_bytes or _is_byte(token, data, text[start:end])):
                shown = data  # may end within a character
            elif done <= start < end and not start <= next_start < end:  # text shared by two tokens belongs to neither
                shown = text[start:end]
            done = max(done, end)
        is_unknown = id == unknown and not is_inserted and shown not in (token, data)
        out.append(Token(id, token, data, start, end, id in added, bool(is_inserted), shown, gap, is_unknown))
    return out


def _unknown_of(engine: AnyEngine) -> int | None:
    """Return the id of the unknown token, or None if the vocabulary has none."""
    try:
        model = json.loads(engine.components).get("model") or {}
    except UnsupportedError:  # tiktoken's encodings have none
        return None
    token, id = model.get("unk_token"), model.get("unk_id")
    return id if token is None else engine.token_to_id(token)


def _is_byte(token: str, data: bytes, text: str) -> bool:
    """Whether a token is a byte such as <0xE2> that the text does not contain literally."""
    return data != token.encode() and token != text


def _is_on_bytes(engine: AnyEngine) -> bool:
    return isinstance(engine, _core.Engine) and engine.info()["tokens"] == "bytes"


def _bytes_of(engine: AnyEngine) -> Callable[[int], bytes]:
    """Return a function from a token's id to its bytes."""
    if not isinstance(engine, _core.Engine):
        return lambda id: _decoded(engine, id)
    if _is_on_bytes(engine) or '"byte_fallback":true' not in engine.components:
        return lambda id: engine.id_to_bytes(id) or b""
    return lambda id: _byte_of(engine.id_to_bytes(id) or b"")


def _byte_of(token: bytes) -> bytes:
    """Return the bytes of a token of a vocabulary with byte_fallback, in which <0xE2> is the byte E2."""
    return bytes([int(token[3:5], 16)]) if _BYTE_TOKEN.fullmatch(token) else token


def _decoded(engine: Any, id: int) -> bytes:
    try:
        return bytes(engine.decode_bytes([id], False))
    except UnsupportedError:
        return (engine.id_to_token(id) or "").encode()


# -- differences between segmentations


class _Arrays(NamedTuple):
    """A `Segmentation` as arrays."""

    keys: npt.NDArray[np.int64]
    """The number by which tokens are compared: the id, or the end of the token."""
    ranges: npt.NDArray[np.int64]
    inserted: npt.NDArray[np.bool_]


def differences(segmentations: Sequence[Segmentation]) -> list[Difference]:
    """Split a text at the borders that all segmentations share, and return the parts whose ids differ."""
    starts, ends, ranges = _differing_parts(list(map(_arrays, segmentations)))
    pairs = [zip(*each.tolist(), strict=True) for each in ranges]
    return [Difference(*each) for each in zip(starts.tolist(), ends.tolist(), zip(*pairs, strict=True), strict=True)]


def marks(segmentations: Sequence[Segmentation]) -> list[npt.NDArray[np.bool_]]:
    """Return for each segmentation whether each token is in one of the `differences`."""
    return _marks(list(map(_arrays, segmentations)))


def marks_by_ends(segmentations: Sequence[Segmentation]) -> list[npt.NDArray[np.bool_]]:
    """Like `marks`, for segmentations by different vocabularies. Only ends of tokens count; inserted ones are skipped.

    Starts are not compared: some vocabularies join the space before a word to its token, and others drop it.
    """
    import numpy as np

    arrays = list(map(_arrays, segmentations))
    kept = [np.flatnonzero(~array.inserted) for array in arrays]
    ranges = [array.ranges[tokens] for array, tokens in zip(arrays, kept, strict=True)]
    out = []
    found = _marks([_Arrays(each[:, 1], each, np.zeros(len(each), bool)) for each in ranges])
    for array, tokens, marked in zip(arrays, kept, found, strict=True):
        out.append(np.zeros(len(array.ranges), bool))
        out[-1][tokens] = marked
    return out


def _arrays(segmentation: Segmentation) -> _Arrays:
    import numpy as np

    # asarray takes twice as long for a list of pairs.
    ranges = np.fromiter(chain.from_iterable(segmentation.ranges), np.int64, 2 * len(segmentation.ranges)).reshape(
        -1, 2
    )
    return _Arrays(np.asarray(segmentation.ids, np.int64), ranges, np.asarray(segmentation.inserted, bool))


def _marks(arrays: Sequence[_Arrays]) -> list[npt.NDArray[np.bool_]]:
    import numpy as np

    out = []
    for array, (first, last) in zip(arrays, _differing_parts(arrays)[2], strict=True):
        steps = np.zeros(len(array.ranges) + 1, np.int64)
        np.add.at(steps, first, 1)
        np.add.at(steps, last, -1)
        out.append(np.cumsum(steps)[:-1] > 0)
    return out


def _differing_parts(
    arrays: Sequence[_Arrays],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """Return starts and ends of the differences, and for each segmentation their ranges [first, last) of tokens."""
    import numpy as np

    size = max(int(array.ranges.max(initial=0)) for array in arrays)
    borders = [_borders(array.ranges, array.inserted, size) for array in arrays]
    places = np.flatnonzero(np.all([each >= 0 for each in borders], axis=0))
    # Part k is between places k - 1 and k. Segmentation s has tokens [bounds[s][k], bounds[s][k + 1]) there.
    bounds = [np.concatenate([[0], each[places]]) for each in borders]
    counts = [np.diff(each) for each in bounds]
    is_same = np.all([each == counts[0] for each in counts], axis=0)
    for array, first, count in zip(arrays[1:], bounds[1:], counts[1:], strict=True):
        part = np.repeat(np.arange(len(places)), count)
        token = np.flatnonzero(is_same[part])
        part = part[token]
        other = token - first[part] + bounds[0][part]
        is_same[part[array.keys[token] != arrays[0].keys[other]]] = False
    found = np.flatnonzero(~is_same)
    starts = np.concatenate([[0], places])
    return starts[found], places[found], [np.stack([each[found], each[found + 1]]) for each in bounds]


def _borders(ranges: npt.NDArray[np.int64], inserted: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.int64]:
    """Return for each place of the text the number of tokens before that place, or -1 if it is inside a token."""
    import numpy as np

    tokens = np.flatnonzero(~inserted)
    start, end = ranges[tokens].T
    reached = np.maximum.accumulate(np.concatenate([[0], end]))
    is_border = start >= reached[:-1]
    before: npt.NDArray[np.int64] = np.full(size + 1, -1)
    # White space outside all tokens has a border at both ends. Of several empty tokens at a place, the last one counts.
    places = np.stack([reached[:-1], start], axis=1)[is_border]
    np.maximum.at(before, places.ravel(), np.repeat(tokens[is_border], 2))
    before[[reached[-1], size]] = len(ranges)
    return before


def places_of(places: Sequence[Difference], side: int) -> set[int]:
    """Return the indices of the tokens of one segmentation that are in a difference."""
    return {at for place in places for at in range(*place.tokens[side])}
