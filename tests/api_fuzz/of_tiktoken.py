"""Compares `crayon_hf.tiktoken.Encoding` with `tiktoken.Encoding`: any sequence of calls gives the same results."""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache
from typing import Any

import numpy as np
import tiktoken as theirs
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from crayon_hf import tiktoken as ours
from crayon_hf.formats import tiktoken as conversion
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.support.stand_in_cases import TEXTS, trained

PATTERNS = (conversion.R50K_PATTERN, conversion.CL100K_PATTERN, conversion.O200K_PATTERN)
SPECIALS: tuple[dict[str, int], ...] = (
    {"<|endoftext|>": 5000, "<|fim|>": 5002, "<|end|>": 5003},
    {"<|endoftext|>": 5000, "end": 5001, "[é]": 5002, "  ": 5003, "<a<": 5004, "<b>": 5005},
    {"<|endoftext|>": 5000, "<|a|>": 5001, "<|a|><|b|>": 5002, "<|b|>": 5003},
    {},
)
NAMES = sorted({name for specials in SPECIALS for name in specials})

texts = (
    st.sampled_from(TEXTS)
    | st.text(max_size=20)
    | st.text(st.characters(codec="utf-16", categories=["L", "Cs", "Zs"]), max_size=6)
    | st.lists(st.sampled_from([*NAMES, "<", "|", ">", " ", "a", "é"]), max_size=12).map("".join)
)
names = st.sets(st.sampled_from(NAMES), max_size=3)
rules = st.fixed_dictionaries(
    {},
    optional={
        "allowed_special": st.just("all") | names | names.map(frozenset) | names.map(sorted) | names.map(tuple),
        "disallowed_special": st.sampled_from(["all", ()]) | names | names.map(sorted),
    },
)
ids = st.lists(st.integers(0, 450) | st.integers(4999, 5006), max_size=10)


@cache
def ranks() -> dict[bytes, int]:
    """Map the tokens of a small vocabulary to ranks, single bytes first, as tiktoken's rank files do."""
    back = {chr(char): byte for byte, char in BYTE_LEVEL.items()}
    merges = json.loads(trained("byte_level"))["model"]["merges"]
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [bytes(back[char] for char in "".join(pair)) for pair in merges]
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}


def outcome(call: Any) -> Any:
    """The result of a call in a comparable form, or the built-in class of its error."""
    try:
        value = call()
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.flags.writeable, value.tolist()
    return sorted(value) if isinstance(value, set) else value


class BothEncodings(RuleBasedStateMachine):
    """A pair of encodings, ours and tiktoken's. Each rule makes the same call on both and compares the results."""

    @initialize(pattern=st.sampled_from(PATTERNS), specials=st.sampled_from(SPECIALS), empty=st.booleans())
    def begin(self, pattern: str, specials: dict[str, int], empty: bool) -> None:
        tokens = {**ranks(), b"": 450} if empty else ranks()
        parts: dict[str, Any] = {"pat_str": pattern, "mergeable_ranks": tokens, "special_tokens": specials}
        self.both: list[Any] = [ours.Encoding("small", **parts), theirs.Encoding("small", **parts)]

    def agree(self, name: str, *arguments: Any, **named: Any) -> None:
        said, expected = (outcome(lambda: getattr(one, name)(*arguments, **named)) for one in self.both)  # noqa: B023
        assert said == expected, (name, arguments, named)

    @rule(text=texts, rules=rules)
    def encode(self, text: str, rules: dict[str, Any]) -> None:
        self.agree("encode", text, **rules)

    @rule(text=texts, rules=rules)
    def encode_to_numpy(self, text: str, rules: dict[str, Any]) -> None:
        self.agree("encode_to_numpy", text, **rules)

    @rule(texts=st.lists(texts, max_size=4), rules=rules, threads=st.integers(1, 4))
    def encode_batch(self, texts: list[str], rules: dict[str, Any], threads: int) -> None:
        self.agree("encode_batch", texts, num_threads=threads, **rules)

    @rule(texts=st.lists(texts, max_size=4), threads=st.integers(1, 4))
    def encode_ordinary(self, texts: list[str], threads: int) -> None:
        self.agree("encode_ordinary_batch", texts, num_threads=threads)
        for text in texts:
            self.agree("encode_ordinary", text)

    @rule(text=texts.filter(lambda text: len(text) < 30), rules=rules)
    def encode_with_unstable(self, text: str, rules: dict[str, Any]) -> None:
        said: list[Any] = [outcome(lambda: one.encode_with_unstable(text, **rules)) for one in self.both]  # noqa: B023
        assert [one if isinstance(one, type) else (one[0], sorted(one[1])) for one in said[:1]] == [
            one if isinstance(one, type) else (one[0], sorted(one[1])) for one in said[1:]
        ]

    @rule(token=texts | st.binary(max_size=4) | st.sampled_from([*NAMES, *list(ranks())[-40:]]))
    def encode_single_token(self, token: Any) -> None:
        self.agree("encode_single_token", token)

    @rule(piece=st.binary(max_size=12) | st.text(max_size=6))
    def encode_single_piece(self, piece: Any) -> None:
        if piece or b"" in self.both[0].token_byte_values():  # else the library panics
            self.agree("_encode_single_piece", piece)

    @rule(data=st.binary(max_size=12) | texts.map(lambda text: text.encode("utf-8", "replace")))
    def encode_bytes(self, data: bytes) -> None:
        self.agree("_encode_bytes", data)

    @rule(ids=ids, errors=st.sampled_from(["replace", "strict", "ignore"]))
    def decode(self, ids: list[int], errors: str) -> None:
        self.agree("decode", ids, errors)
        for name in ("decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
            self.agree(name, ids)

    @rule(rows=st.lists(ids, max_size=3), errors=st.sampled_from(["replace", "strict"]), threads=st.integers(1, 3))
    def decode_batch(self, rows: list[list[int]], errors: str, threads: int) -> None:
        self.agree("decode_batch", rows, errors=errors, num_threads=threads)
        self.agree("decode_bytes_batch", rows, num_threads=threads)

    @rule(id=st.integers(-1, 5010))
    def look_up(self, id: int) -> None:
        self.agree("decode_single_token_bytes", id)
        self.agree("is_special_token", id)
        self.agree("token_byte_values")

    @rule(way=st.sampled_from([copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]))
    def copied(self, way: Any) -> None:
        self.both = list(map(way, self.both))
        parts = ("name", "_pat_str", "_special_tokens", "special_tokens_set")
        for name in (*parts, "n_vocab", "max_token_value", "eot_token"):
            said, expected = (outcome(lambda: getattr(one, name)) for one in self.both)  # noqa: B023
            assert said == expected
