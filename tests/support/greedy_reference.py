"""A second, slow implementation of greedy mode (the longest token at each position), with plain dictionaries.

The pre-tokenizers of ``tokenizers`` cut the pieces.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Regex, pre_tokenizers

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.compile_rule import QWEN_SPLIT
from tests.support.reference_impl import component as component


class Tokens:
    """Tokens (all str, or all bytes) and their ids, for longest match."""

    def __init__(self, ids: Mapping[Any, int]) -> None:
        self.ids = ids
        self.longest = max(map(len, ids), default=0)

    def match(self, text: Any, at: int) -> tuple[int, int]:
        """Return (id, size) of the longest token at position `at` of `text`, or (-1, 0)."""
        for size in range(min(len(text) - at, self.longest), 0, -1):
            if (found := self.ids.get(text[at : at + size])) is not None:
                return found, size
        return -1, 0

    def cut(self, text: Any) -> list[tuple[int, int, int]]:
        """Return (id, start, end) of the tokens of a text. At every position at least one token must match."""
        out, at = [], 0
        while at < len(text):
            found, size = self.match(text, at)
            assert size > 0, f"no token at {at} of {text!r}"
            out.append((found, at, at + size))
            at += size
        return out


def byte_tokens(vocab: Mapping[str, int], specials: Sequence[str] = ()) -> Tokens:
    """The tokens that greedy mode can match in bytes: all but `specials` of several bytes."""
    chars = reference_impl.CHAR_BYTES
    spelled = {token: bytes(chars[c] for c in token) for token in vocab if token and all(c in chars for c in token)}
    return Tokens({data: vocab[token] for token, data in spelled.items() if token not in specials or len(data) == 1})


@dataclass
class TextRules:
    """The rules of greedy mode for a model on characters: unknown tokens, byte fallback, a prefix and a suffix."""

    vocab: Mapping[str, int]
    unk_id: int | None = None
    fuses: bool = False
    byte_fallback: bool = False
    specials: Sequence[str] = ()
    prefix: str = ""
    suffix: str = ""

    def __post_init__(self) -> None:
        names = {f"<0x{b:02X}>": b for b in range(256)}
        self.of_bytes = {names[t]: i for t, i in self.vocab.items() if self.byte_fallback and t in names}
        hidden = {*self.specials, *(names if self.byte_fallback else ())}
        self.tokens = Tokens({token: i for token, i in self.vocab.items() if token and token not in hidden})

    def _longest(self, text: str, at: int) -> tuple[int, int]:
        if not self.prefix and not self.suffix:
            return self.tokens.match(text, at)
        for end in range(len(text), at, -1):
            spelled = (self.prefix if at else "") + text[at:end] + (self.suffix if end == len(text) else "")
            if spelled in self.tokens.ids:
                return self.tokens.ids[spelled], end - at
        return -1, 0

    def cut(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield (id, start, end) of the tokens of one piece. Positions count characters."""
        at, unknown = 0, None
        while at < len(text):
            found, size = self._longest(text, at)
            data = text[at].encode()
            if found < 0 and not all(byte in self.of_bytes for byte in data):
                if unknown is not None and not self.fuses:
                    yield self._unknown(unknown, at)
                    unknown = None
                unknown = at if unknown is None and self.unk_id is not None else unknown
                at += 1
                continue
            if unknown is not None:
                yield self._unknown(unknown, at)
                unknown = None
            if found >= 0:
                yield found, at, at + size
                at += size
            else:
                yield from ((self.of_bytes[byte], at, at + 1) for byte in data)
                at += 1
        if unknown is not None:
            yield self._unknown(unknown, at)

    def _unknown(self, start: int, end: int) -> tuple[int, int, int]:
        assert self.unk_id is not None
        return self.unk_id, start, end


def joined(pieces: Sequence[tuple[str, tuple[int, int]]]) -> list[str]:
    """Join adjacent pieces. `pieces` is a pre-tokenizer's result: (text, (start, end))."""
    out: list[str] = []
    last = -1
    for text, (start, end) in pieces:
        if start == last:
            out[-1] += text
        else:
            out.append(text)
        last = end
    return out


def pieces_of(text: str, normalizer: Any, pre_tokenizer: Any) -> list[str]:
    """The joined pieces of a text without added tokens, cut by components of ``tokenizers``, each of which may be
    None."""
    if normalizer is not None:
        text = normalizer.normalize_str(text)
    if pre_tokenizer is None:
        return [text] if text else []
    return joined(pre_tokenizer.pre_tokenize_str(text))


# -- documents

QWEN = pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated")
PLAIN = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
ON_BYTES = (
    PLAIN,
    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True),
    pre_tokenizers.Sequence([QWEN, PLAIN]),
    pre_tokenizers.Sequence([pre_tokenizers.Split(Regex("a|[^a]+"), "isolated"), PLAIN]),
    # Removed text ends a piece, even if the pre-tokenizer respells the text.
    pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), PLAIN]),
    pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(add_prefix_space=True)]),
)


def word_piece(tokens: Sequence[bytes], pre_tokenizer: Any = PLAIN, **parts: Any) -> reference_impl.Document:
    """A tokenizer.json with which ``tokenizers`` itself matches longest tokens: WordPiece over the single bytes and
    `tokens`, without a limit on a word's length."""
    spelled = dict.fromkeys([*reference_impl.BYTE_CHARS, *map(reference_impl.spell, tokens)])
    model = {
        "type": "WordPiece",
        "unk_token": "a",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 2**53 - 1,
        "vocab": {token: i for i, token in enumerate(spelled)},
    }
    document = reference_impl.byte_level_document()
    return document | {"model": model, "pre_tokenizer": component(pre_tokenizer)} | parts


def text_document(model: Any, normalizer: Any, pre_tokenizer: Any) -> reference_impl.Document:
    parts = {"normalizer": component(normalizer), "pre_tokenizer": component(pre_tokenizer), "decoder": None}
    return reference_impl.byte_level_document() | {"model": component(model)} | parts


LETTERS = "aab ae. 1é\u2581"


def some_tokens(rng: random.Random, count: int, alphabet: str = LETTERS) -> list[str]:
    return sorted({"".join(rng.choices(alphabet, k=rng.choice((1, 1, 2, 2, 3, 4, 6)))) for _ in range(count)})


# -- comparison


def assert_ids(engine: _core.Engine, text: str, ids: list[int], **options: Any) -> None:
    """Check that every call which encodes `text` returns these ids."""
    assert engine.encode(text, **options).ids == ids, f"{text!r}"
    assert engine.encode_ids(text, **options) == ids
    flat, splits = engine.encode_ragged([text, text.encode()], **options)
    assert flat.tolist() == ids * 2
    assert splits.tolist() == [0, len(ids), 2 * len(ids)]


def byte_offsets(text: str, tokens: Sequence[tuple[int, int, int]], prefix: int) -> list[tuple[int, int]]:
    """Turn the byte offsets of `tokens` into offsets in characters of `text`. `prefix` is the number of bytes that were
    put before the text; they count as its first character."""
    starts = [i for i, char in enumerate(text) for _ in char.encode()]
    out = []
    for _, start, end in tokens:
        first, last = max(start - prefix, 0), max(end - prefix, 1) - 1
        out.append((starts[first], starts[last] + 1))
    return out
