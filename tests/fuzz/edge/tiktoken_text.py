"""Any text against tiktoken, for its patterns and on every instruction set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import crayon_hf
from crayon_hf import _core
from crayon_hf.formats.tiktoken import CL100K_PATTERN, O200K_PATTERN, R50K_PATTERN, write_ranks
from crayon_hf.parity.compare.records import DEFAULT, OurTiktokenSide, TiktokenSide
from parity.components.models import make_model
from tests.fuzz.edge.choices import Choices, parts_of, text_of
from tests.fuzz.edge.judging import check, directory

PATTERNS = (R50K_PATTERN, CL100K_PATTERN, O200K_PATTERN)
SPECIAL = {"<|endoftext|>": 1000, "<|fim_prefix|>": 1001}


def one_input(data: bytes) -> None:
    choices = Choices(data)
    pattern, cpu = choices.below(3), choices.pick(_core.cpu_levels())
    before, times = choices.below(80), choices.pick((1, 1, 1, 1, 2, 3, 5, 9, 33, 130))
    items = [
        (text_of(b"a" * before + part * max(1, min(times, 2048 // max(len(part), 1)))),)
        for part in parts_of(choices.rest(), 4)
    ]
    check(_ours(pattern, cpu), _reference(pattern), items, DEFAULT)


@cache
def _ranks() -> dict[bytes, int]:
    """Ranks as the merges of a small model are: the bytes in an order of their own, as published files have them."""
    byte_of = {char: byte for byte, char in _characters().items()}
    made: dict[bytes, int] = {bytes([byte]): (byte * 7 + 33) % 256 for byte in range(256)}
    for left, right in make_model("bpe-bytes")["merges"]:
        token = bytes(byte_of[char] for char in left + right)
        made.setdefault(token, len(made))
    return made


def _characters() -> dict[int, str]:
    from crayon_hf.parity.compare.references import byte_level_alphabet

    return byte_level_alphabet()


@cache
def _ours(pattern: int, cpu: str) -> OurTiktokenSide:
    path = directory() / "any.tiktoken"
    path.write_bytes(write_ranks(_ranks()))
    before = os.environ.get("CRAYON_CPU")
    os.environ["CRAYON_CPU"] = cpu
    try:
        one, other = (
            crayon_hf.Tokenizer.from_tiktoken(path, pattern=PATTERNS[pattern], special_tokens=SPECIAL) for _ in range(2)
        )
    finally:
        if before is None:
            del os.environ["CRAYON_CPU"]
        else:
            os.environ["CRAYON_CPU"] = before
    assert one.engine_report()["cpu"] == cpu
    return OurTiktokenSide(one, other)


@cache
def _reference(pattern: int) -> Any:
    import tiktoken

    encoding = tiktoken.Encoding("any", pat_str=PATTERNS[pattern], mergeable_ranks=_ranks(), special_tokens=SPECIAL)
    return TiktokenSide(encoding, 1)


def seeds() -> Iterator[bytes]:
    """Each pattern on each instruction set."""
    from parity.components.texts import HOSTILE

    for at in range(9):
        texts = [HOSTILE[(at * 2 + i) % len(HOSTILE)].encode("utf-8", "surrogatepass")[:60] for i in range(2)]
        yield bytes([at, at // 3, at * 17 % 80, at * 5 % 16]) + b"\xff".join(texts) + b"<|endoftext|>"
