"""The tokens of a text for display, and the places where two tokenizations differ."""

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
class Way:
    """A tokenization of the text: "exact" or "greedy"."""

    name: str
    tokens: list[Token]


@dataclass(frozen=True)
class Difference:
    """Characters [start, end) that two ways tokenize differently, each into its tokens [first, last)."""

    start: int
    end: int
    tokens: tuple[tuple[int, int], tuple[int, int]]


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
    encoding = engine.encode(data.decode(), None, False, options.add_special_tokens, options.special_as_text)
    return _encoded(encoding, data.decode(), engine, bytes_of)


SAMPLE = "Hello, world! It's 12,345 naïve words: 日本語 🙂"


def sample_of(engine: AnyEngine) -> list[Token]:
    """The tokens of a short text; none if the engine cannot encode it, as before training."""
    try:
        return tokens_of(engine, SAMPLE.encode(), Options())
    except (CrayonError, ValueError):
        return []


def _encoded(encoding: Any, text: str, engine: AnyEngine, bytes_of: Callable[[int], bytes]) -> list[Token]:
    on_bytes = _is_on_bytes(engine)
    added, unknown = {row["id"] for row in engine.added_tokens()}, _unknown_of(engine)
    inserted = getattr(encoding, "special_tokens_mask", [0] * len(encoding))
    out = []
    done = 0  # characters shown so far
    starts = [start for start, _ in [*encoding.offsets, (len(text), 0)]][1:]
    rows = zip(encoding.ids, encoding.tokens, encoding.offsets, map(bool, inserted), starts, strict=True)
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


# -- differences of two ways


def differences(first: list[Token], second: list[Token]) -> list[Difference]:
    """The ranges between common borders of both ways in which their tokens differ."""
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
    """The number of tokens before each place that no token crosses."""
    out = {}
    reached = 0
    for i, token in enumerate(tokens):
        if token.is_inserted:
            continue
        if token.start >= reached:
            out[reached] = out[token.start] = i
        reached = max(reached, token.end)
    return out | {reached: len(tokens), size: len(tokens)}
