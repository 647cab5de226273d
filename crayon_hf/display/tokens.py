"""The tokens of one text as they are shown, and where two ways to cut it differ."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import CrayonError, UnsupportedError

if TYPE_CHECKING:
    from crayon_hf.tokenizer_state.state import AnyEngine

_BYTE_TOKEN = re.compile(b"<0x[0-9A-F]{2}>")


@dataclass(frozen=True)
class Options:
    """How the text is encoded."""

    is_bytes: bool = False
    """The input is any bytes, not UTF-8 text."""
    add_special_tokens: bool = True
    special_as_text: bool = False


@dataclass(frozen=True)
class Token:
    """One token of the text."""

    id: int
    token: str
    """As the vocabulary spells it."""
    data: bytes
    """The bytes that it stands for."""
    start: int
    end: int
    """The characters that it comes from (bytes, of an input of any bytes)."""
    is_added: bool
    """An added token, not the model's."""
    is_inserted: bool
    """The post-processor put it there: no text stands for it."""
    shown: str | bytes
    """What to show of it in the text."""
    gap: str = ""
    """The text before it that is in no token."""
    is_unknown: bool = False
    """The vocabulary has no token for this text."""

    @property
    def note(self) -> str:
        """What to write behind the text of a token that does not say what it is."""
        return f"\u27e8{self.token}\u27e9" if self.is_unknown else ""


@dataclass(frozen=True)
class Way:
    """One way to cut the text: "exact" or "greedy"."""

    name: str
    tokens: list[Token]


@dataclass(frozen=True)
class Difference:
    """Characters [start, end) that two ways cut differently, each into its tokens [first, last)."""

    start: int
    end: int
    tokens: tuple[tuple[int, int], tuple[int, int]]


# -- tokens


def tokens_of(engine: AnyEngine, data: bytes, options: Options) -> list[Token]:
    """The tokens that an engine makes of the input."""
    bytes_of = _bytes_of(engine)
    if options.is_bytes:
        out, at = [], 0
        for id in engine.encode_bytes(data):
            piece = bytes_of(id)
            out.append(Token(id, engine.id_to_token(id) or "", piece, at, at + len(piece), False, False, piece))
            at += len(piece)
        return out
    encoding = engine.encode(data.decode(), None, False, options.add_special_tokens, options.special_as_text)
    return _encoded(encoding, data.decode(), engine, bytes_of)


SAMPLE = "Hello, world! It's 12,345 naïve words: 日本語 🙂"


def sample_of(engine: AnyEngine) -> list[Token]:
    """A short text in the tokens of an engine; none where it cannot encode one, as before a training."""
    try:
        return tokens_of(engine, SAMPLE.encode(), Options())
    except (CrayonError, ValueError):
        return []


def _encoded(encoding: Any, text: str, engine: AnyEngine, bytes_of: Callable[[int], bytes]) -> list[Token]:
    on_bytes = _is_on_bytes(engine)
    added, unknown = {row["id"] for row in engine.added_tokens()}, _unknown_of(engine)
    inserted = getattr(encoding, "special_tokens_mask", [0] * len(encoding))
    out = []
    done = 0  # so many characters were shown
    starts = [start for start, _ in [*encoding.offsets, (len(text), 0)]][1:]
    rows = zip(encoding.ids, encoding.tokens, encoding.offsets, map(bool, inserted), starts, strict=True)
    for id, own, (start, end), is_inserted, next_start in rows:
        token, data = engine.id_to_token(id) or own, bytes_of(id)
        shown: str | bytes = own
        gap = ""
        if not is_inserted:
            gap = text[done:start]
            if own == token and (on_bytes or _is_byte(token, data, text[start:end])):
                shown = data  # which need not be whole characters
            elif done <= start < end and not start <= next_start < end:  # a text that two tokens share is of neither
                shown = text[start:end]
            done = max(done, end)
        is_unknown = id == unknown and not is_inserted and shown not in (token, data)
        out.append(Token(id, token, data, start, end, id in added, is_inserted, shown, gap, is_unknown))
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
    """Whether a token is one of those such as <0xE2>, and the text does not happen to say just that."""
    return data != token.encode() and token != text


def _is_on_bytes(engine: AnyEngine) -> bool:
    return isinstance(engine, _core.Engine) and engine.info()["tokens"] == "bytes"


def _bytes_of(engine: AnyEngine) -> Callable[[int], bytes]:
    """What the bytes of a token are."""
    if not isinstance(engine, _core.Engine):
        return lambda id: _decoded(engine, id)
    if _is_on_bytes(engine) or '"byte_fallback":true' not in engine.components:
        return lambda id: engine.id_to_bytes(id) or b""
    return lambda id: _byte_of(engine.id_to_bytes(id) or b"")


def _byte_of(token: bytes) -> bytes:
    """In a vocabulary of text with byte_fallback a token such as <0xE2> stands for that byte."""
    return bytes([int(token[3:5], 16)]) if _BYTE_TOKEN.fullmatch(token) else token


def _decoded(engine: Any, id: int) -> bytes:
    try:
        return bytes(engine.decode_bytes([id], False))
    except UnsupportedError:
        return (engine.id_to_token(id) or "").encode()


# -- where two ways differ


def differences(first: list[Token], second: list[Token]) -> list[Difference]:
    """The stretches between places where both ways have a border, if their tokens are not the same."""
    size = max((token.end for token in first + second), default=0)
    ours, theirs = _borders(first, size), _borders(second, size)
    out = []
    start, i, j = 0, 0, 0
    for end in sorted(ours.keys() & theirs.keys()):
        if [token.id for token in first[i : ours[end]]] != [token.id for token in second[j : theirs[end]]]:
            out.append(Difference(start, end, ((i, ours[end]), (j, theirs[end]))))
        start, i, j = end, ours[end], theirs[end]
    return out


def _borders(tokens: list[Token], size: int) -> dict[int, int]:
    """For each place that no token reaches over, how many tokens lie before it."""
    out = {}
    reached = 0
    for i, token in enumerate(tokens):
        if token.is_inserted:
            continue
        if token.start >= reached:
            out[reached] = out[token.start] = i
        reached = max(reached, token.end)
    return out | {reached: len(tokens), size: len(tokens)}
