"""The calls that are timed beside stock's: each gives the same on both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
import tokenizers
import transformers

import crayon_hf
from crayon_hf.formats.tiktoken import R50K_PATTERN
from parity.call_times import calls
from parity.call_times.__main__ import LONG, SHORT, table
from parity.call_times.timing import Timed, beside
from tests.api_fuzz.of_tiktoken import ranks

SIDES: tuple[Any, ...] = (tokenizers.Tokenizer, crayon_hf.Tokenizer)


def said(call: Callable[[], Any]) -> Any:
    """What a call gives, if it is a plain value."""
    value = call()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, (int, str, bytes, list, tuple, dict, set, type(None))) else type(value).__name__


def agree(both: list[calls.Calls], but: tuple[str, ...] = ()) -> None:
    stock, ours = both
    assert list(stock) == list(ours)
    for call in stock:
        results = [said(side[call]) for side in both]
        if call[0] not in but:
            assert str(results[1]) == str(results[0]), call


def test_tokenizers(gpt2_like: Path, tmp_path: Path) -> None:
    path = str(gpt2_like)
    batches = ("encode_batch", "encode_batch_fast", "copy.deepcopy", "get_vocab", "to_str")
    agree([calls.of_tokenizer(kind, path, SHORT, LONG, str(tmp_path)) for kind in SIDES], batches)
    agree([calls.of_encoding(kind, path, SHORT, LONG) for kind in SIDES])
    streams: tuple[Any, ...] = (tokenizers.decoders.DecodeStream, crayon_hf.DecodeStream)
    agree([calls.of_stream(stream, kind, path, SHORT) for stream, kind in zip(streams, SIDES, strict=True)])


def test_tiktoken() -> None:
    kinds: tuple[Any, ...] = (tiktoken.Encoding, crayon_hf.tiktoken.Encoding)
    special_tokens = {"<|endoftext|>": 5000}
    parts = {"pat_str": R50K_PATTERN, "mergeable_ranks": ranks(), "special_tokens": special_tokens}
    agree([calls.of_tiktoken(kind, "small", parts, SHORT, LONG) for kind in kinds], ("encode_with_unstable",))


@pytest.mark.slow
def test_transformers(shared: Path, tmp_path: Path) -> None:
    path = str(shared / "vocab" / "gpt2")
    autos: tuple[Any, ...] = (transformers.AutoTokenizer, crayon_hf.AutoTokenizer)
    agree(
        [calls.of_fast(auto, path, SHORT, LONG, str(tmp_path)) for auto in autos],
        ("get_vocab", "save_pretrained", "copy.deepcopy", "pickle", "from_pretrained"),
    )


def test_a_table() -> None:
    timed = beside(lambda: None, lambda: sum(range(50)), 3)
    assert timed.stock > 0
    assert timed.ours > 0
    lines = table("face", {("call", "short"): {"gpt2": Timed(2500.0, 1000.0), "llama3": Timed(100.0, 2e6)}})
    assert lines[-2] == "| `call` | short | 1 µs, 2.50x | 2 ms, **0.00x** |"
