"""The tokens of one text as they are shown, and where several ways to cut it differ."""

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

    from crayon_hf.tokenizer_state.state import AnyEngine

_BYTE_TOKEN = re.compile(b"<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Options:
    """The options of the encoding."""

    is_bytes: bool = False
    """Whether the input is arbitrary bytes instead of UTF-8 text."""
    add_special_tokens: bool = True
    special_as_text: bool = False


@dataclass(frozen=True)
class Token:
    """A token of the text."""

    id: int
    token: str
    """The spelling of the vocabulary."""
    data: bytes
    """The bytes of its text."""
    start: int
    end: int
    """Its range in characters (in bytes, if the input is bytes)."""
    is_added: bool
    """Whether it is an added token, not the model's."""
    is_inserted: bool
    """Whether the post-processor inserted it: it has no text."""
    shown: str | bytes
    """Its text to display."""
    gap: str = ""
    """The text before it that no token covers."""
    is_unknown: bool = False
    """Whether the vocabulary lacks a token for its text."""

    @property
    def note(self) -> str:
        """The text to show after an unknown token, whose own text does not name it."""
        return f"\u27e8{self.token}\u27e9" if self.is_unknown else ""


@dataclass(frozen=True)
class Cut:
    """One way to cut a text, in parallel sequences with an item for each token."""

    what: Sequence[int]
    """The numbers that are compared: ids."""
    spans: Sequence[tuple[int, int]]
    """The characters that it comes from (bytes, of an input of any bytes)."""
    inserted: Sequence[Any]
    """Whether the post-processor put it there."""


@dataclass(frozen=True)
class Way:
    """A tokenization of the text: "exact" or "greedy"."""

    name: str
    tokens: list[Token]

    @property
    def cut(self) -> Cut:
        """The same for `differences`, which then compares ids."""
        spans = [(token.start, token.end) for token in self.tokens]
        return Cut([token.id for token in self.tokens], spans, [token.is_inserted for token in self.tokens])


@dataclass(frozen=True)
class Difference:
    """Characters [start, end) that some ways cut differently, and each way's tokens [first, last) of them."""

    start: int
    end: int
    tokens: tuple[tuple[int, int], ...]


# -- tokens


def tokens_of(engine: AnyEngine, data: bytes, options: Options) -> list[Token]:
    """The tokens of the input."""
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
    return tokens_in(engine, encoding, cut_of(encoding), text)


SAMPLE = "Hello, world! It's 12,345 naïve words: 日本語 🙂"


def sample_of(engine: AnyEngine) -> list[Token]:
    """The tokens of a short text; none if the engine cannot encode it, as before training."""
    try:
        return tokens_of(engine, SAMPLE.encode(), Options())
    except (CrayonError, ValueError):
        return []


def encode(engine: AnyEngine, text: str, options: Options) -> Any:
    """The `Encoding` of a text, whole: neither truncated nor padded."""
    return engine.encode(text, None, False, options.add_special_tokens, options.special_as_text)


def cut_of(encoding: Any) -> Cut:
    """The ids of an `Encoding`, as a way to cut its text."""
    return Cut(encoding.ids, encoding.offsets, getattr(encoding, "special_tokens_mask", [0] * len(encoding)))


def tokens_in(
    engine: AnyEngine, encoding: Any, cut: Cut, text: str, first: int = 0, last: int | None = None
) -> list[Token]:
    """Tokens [first, last) of what an engine made of a text; `cut` is that of the `Encoding`."""
    bytes_of, on_bytes = _bytes_of(engine), _is_on_bytes(engine)
    added, unknown = {row["id"] for row in engine.added_tokens()}, _unknown_of(engine)
    before = zip(cut.spans[:first], cut.inserted[:first], strict=True)
    done = max((end for (_, end), is_inserted in before if not is_inserted), default=0)  # so many characters were shown
    here = slice(first, last)
    spans = cut.spans[here]
    starts = [start for start, _ in [*spans[1:], *cut.spans[first + len(spans) :][:1], (len(text), 0)]][: len(spans)]
    rows = zip(cut.what[here], encoding.tokens[here], spans, cut.inserted[here], starts, strict=True)
    out = []
    for id, own, (start, end), is_inserted, next_start in rows:
        token, data = engine.id_to_token(id) or own, bytes_of(id)
        shown: str | bytes = own
        gap = ""
        if not is_inserted:
            gap = text[done:start]
            if own == token and (on_bytes or _is_byte(token, data, text[start:end])):
                shown = data  # which may be parts of characters
            elif done <= start < end and not start <= next_start < end:  # text shared by two tokens belongs to neither
                shown = text[start:end]
            done = max(done, end)
        is_unknown = id == unknown and not is_inserted and shown not in (token, data)
        out.append(Token(id, token, data, start, end, id in added, bool(is_inserted), shown, gap, is_unknown))
    return out


def _unknown_of(engine: AnyEngine) -> int | None:
    """The id of the token for text that the vocabulary lacks."""
    try:
        model = json.loads(engine.components).get("model") or {}
    except UnsupportedError:  # tiktoken's encodings have none
        return None
    token, id = model.get("unk_token"), model.get("unk_id")
    return id if token is None else engine.token_to_id(token)


def _is_byte(token: str, data: bytes, text: str) -> bool:
    """Whether a token is a byte such as <0xE2>, and the text does not spell it literally."""
    return data != token.encode() and token != text


def _is_on_bytes(engine: AnyEngine) -> bool:
    return isinstance(engine, _core.Engine) and engine.info()["tokens"] == "bytes"


def _bytes_of(engine: AnyEngine) -> Callable[[int], bytes]:
    """A function that returns the bytes of a token."""
    if not isinstance(engine, _core.Engine):
        return lambda id: _decoded(engine, id)
    if _is_on_bytes(engine) or '"byte_fallback":true' not in engine.components:
        return lambda id: engine.id_to_bytes(id) or b""
    return lambda id: _byte_of(engine.id_to_bytes(id) or b"")


def _byte_of(token: bytes) -> bytes:
    """The bytes of a token in a vocabulary with byte_fallback, where <0xE2> is that byte."""
    return bytes([int(token[3:5], 16)]) if _BYTE_TOKEN.fullmatch(token) else token


def _decoded(engine: Any, id: int) -> bytes:
    try:
        return bytes(engine.decode_bytes([id], False))
    except UnsupportedError:
        return (engine.id_to_token(id) or "").encode()


# -- where several ways differ


class _Arrays(NamedTuple):
    """A `Cut` in arrays."""

    what: npt.NDArray[np.int64]
    spans: npt.NDArray[np.int64]
    inserted: npt.NDArray[np.bool_]


def differences(cuts: Sequence[Cut]) -> list[Difference]:
    """The stretches between places where all ways have a border, if their tokens are not the same."""
    starts, ends, ranges = _stretches(list(map(_arrays, cuts)))
    pairs = [zip(*each.tolist(), strict=True) for each in ranges]
    return [Difference(*each) for each in zip(starts.tolist(), ends.tolist(), zip(*pairs, strict=True), strict=True)]


def marks(cuts: Sequence[Cut]) -> list[npt.NDArray[np.bool_]]:
    """For each way, whether each of its tokens is in one of the `differences`."""
    return _marks(list(map(_arrays, cuts)))


def marks_by_ends(cuts: Sequence[Cut]) -> list[npt.NDArray[np.bool_]]:
    """The same for ways of several vocabularies: compares where tokens end, and leaves out what was put in.

    White space before a word is in a token of one vocabulary, and in none of another: that is no difference.
    """
    import numpy as np

    ways = list(map(_arrays, cuts))
    kept = [np.flatnonzero(~way.inserted) for way in ways]
    spans = [way.spans[tokens] for way, tokens in zip(ways, kept, strict=True)]
    out = []
    found = _marks([_Arrays(each[:, 1], each, np.zeros(len(each), bool)) for each in spans])
    for way, tokens, marked in zip(ways, kept, found, strict=True):
        out.append(np.zeros(len(way.spans), bool))
        out[-1][tokens] = marked
    return out


def _arrays(cut: Cut) -> _Arrays:
    import numpy as np

    # asarray takes twice as long for a list of pairs.
    spans = np.fromiter(chain.from_iterable(cut.spans), np.int64, 2 * len(cut.spans)).reshape(-1, 2)
    return _Arrays(np.asarray(cut.what, np.int64), spans, np.asarray(cut.inserted, bool))


def _marks(ways: Sequence[_Arrays]) -> list[npt.NDArray[np.bool_]]:
    import numpy as np

    out = []
    for way, (first, last) in zip(ways, _stretches(ways)[2], strict=True):
        steps = np.zeros(len(way.spans) + 1, np.int64)
        np.add.at(steps, first, 1)
        np.add.at(steps, last, -1)
        out.append(np.cumsum(steps)[:-1] > 0)
    return out


def _stretches(
    ways: Sequence[_Arrays],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """Where the differences start and end, and for each way the first token of each and the one behind its last."""
    import numpy as np

    size = max(int(way.spans.max(initial=0)) for way in ways)
    borders = [_borders(way.spans, way.inserted, size) for way in ways]
    places = np.flatnonzero(np.all([each >= 0 for each in borders], axis=0))
    # Stretch k is between places k - 1 and k; way w has tokens [bounds[w][k], bounds[w][k + 1]) there.
    bounds = [np.concatenate([[0], each[places]]) for each in borders]
    counts = [np.diff(each) for each in bounds]
    is_same = np.all([each == counts[0] for each in counts], axis=0)
    for way, first, count in zip(ways[1:], bounds[1:], counts[1:], strict=True):
        stretch = np.repeat(np.arange(len(places)), count)
        token = np.flatnonzero(is_same[stretch])
        stretch = stretch[token]
        other = token - first[stretch] + bounds[0][stretch]
        is_same[stretch[way.what[token] != ways[0].what[other]]] = False
    found = np.flatnonzero(~is_same)
    starts = np.concatenate([[0], places])
    return starts[found], places[found], [np.stack([each[found], each[found + 1]]) for each in bounds]


def _borders(spans: npt.NDArray[np.int64], inserted: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.int64]:
    """For each place of the text how many tokens lie before it, -1 for one that a token reaches over."""
    import numpy as np

    tokens = np.flatnonzero(~inserted)
    start, end = spans[tokens].T
    reached = np.maximum.accumulate(np.concatenate([[0], end]))
    is_border = start >= reached[:-1]
    before: npt.NDArray[np.int64] = np.full(size + 1, -1)
    # White space that is in no token has a border at both ends. Of several tokens at one place the last one counts.
    places = np.stack([reached[:-1], start], axis=1)[is_border]
    np.maximum.at(before, places.ravel(), np.repeat(tokens[is_border], 2))
    before[[reached[-1], size]] = len(spans)
    return before


def places_of(places: Sequence[Difference], side: int) -> set[int]:
    """The tokens of one way, by their places, that the others have not."""
    return {at for place in places for at in range(*place.tokens[side])}
