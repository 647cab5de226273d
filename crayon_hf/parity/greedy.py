"""Compares longest match ("greedy") with the merges of a vocabulary ("exact"): equal tokens, extra tokens and speed.

Token-Tree (G. Rábai, "Fast Inference-Time Tokenization through Approximating BPE") argues that longest match is seldom
wrong, and a hundred times faster than the merging in llama.cpp. This module measures both claims on the user's own
text.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.errors import CrayonError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util import markdown
from crayon_hf.util.extras import needed

from .inputs.texts import DOCUMENT_BYTES, documents

ROUNDS = 5
_BATCH = 4096

Encode = Callable[[Sequence[str]], Any]


@dataclass
class Agreement:
    """The agreement of greedy and exact encoding on one text, line by line, without special tokens."""

    text: str
    bytes: int = 0
    lines: int = 0
    """Lines with at least one token."""
    lines_equal: int = 0
    exact_tokens: int = 0
    greedy_tokens: int = 0
    tokens_equal: int = 0
    """Tokens of the exact encoding that the greedy encoding has at the same offsets."""
    speeds: dict[str, list[float]] = field(default_factory=dict)
    """MB/s of every round, by engine."""

    @property
    def lines_equal_share(self) -> float:
        """The share of lines whose ids are all equal."""
        return self.lines_equal / self.lines if self.lines else 1.0

    @property
    def tokens_equal_share(self) -> float:
        """The share of the exact encoding's tokens that the greedy encoding has at the same offsets."""
        return self.tokens_equal / self.exact_tokens if self.exact_tokens else 1.0

    def to_json(self) -> dict[str, Any]:
        """Return all figures, and both shares, as plain values for JSON."""
        shares = {"lines_equal_share": self.lines_equal_share, "tokens_equal_share": self.tokens_equal_share}
        return {**asdict(self), **shares}


def agreement(
    exact: Tokenizer, greedy: Tokenizer, text: str, name: str = "", progress: Callable[[str], object] = lambda _: None
) -> Agreement:
    """Compare two tokenizers of one vocabulary on every line of a text."""
    found = Agreement(name, len(text.encode()))
    for lines in _batches(text):
        progress(f"comparing, {found.lines:,} lines")
        for one, other in zip(_encoded(exact, lines), _encoded(greedy, lines), strict=True):
            expected, got = one.ids, other.ids
            found.exact_tokens += len(expected)
            found.greedy_tokens += len(got)
            if not expected and not got:
                continue
            found.lines += 1
            if expected == got:
                found.lines_equal += 1
                found.tokens_equal += len(expected)
            else:
                places = set(zip(got, other.offsets, strict=True))
                found.tokens_equal += sum(place in places for place in zip(expected, one.offsets, strict=True))
    return found


def measure(
    contestants: dict[str, Encode],
    text: str,
    rounds: int = ROUNDS,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, list[float]]:
    """Measure the MB/s of each encoding function on unseen documents of 2 KB, with one thread, in turns.

    If the text has fewer documents than rounds, documents are reused. Raise ValueError for an empty text.
    """
    pieces = list(documents(text.encode(), DOCUMENT_BYTES))
    if not pieces:
        raise ValueError("the text is empty, so it cannot be measured")
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for encode in contestants.values():
        encode(["warm"])
    for number in range(rounds):
        part = pieces[number % len(pieces) :: rounds]
        size = sum(len(piece.encode()) for piece in part) / 1e6
        for name, encode in contestants.items():
            progress(f"round {number + 1} of {rounds}, {name}")
            started = time.perf_counter()
            encode(part)
            speeds[name].append(size / (time.perf_counter() - started))
    return speeds


def llama_cpp(path: str) -> Encode:
    """Return a function that encodes with llama.cpp and a GGUF file. Needs ``llama-cpp-python`` (MissingExtraError)."""
    with needed("measuring llama.cpp", "", "llama-cpp-python"):
        llama = import_module("llama_cpp")
    try:
        model = llama.Llama(model_path=path, vocab_only=True, verbose=False)
    except ValueError as error:
        raise CrayonError(f"llama.cpp does not open {path}: {error}") from error
    return lambda texts: [model.tokenize(text.encode(), add_bos=False, special=False) for text in texts]


def reference(exact: Tokenizer) -> Encode:
    """Return a function that encodes with the ``tokenizers`` library and the vocabulary of `exact`."""
    import tokenizers

    with TemporaryDirectory(prefix="crayon-parity-") as directory:
        path = os.path.join(directory, "tokenizer.json")
        exact.save(path)
        opened = tokenizers.Tokenizer.from_file(path)
    encode = getattr(opened, "encode_batch_fast", opened.encode_batch)  # 1.0 has only encode_batch
    return lambda texts: encode(list(texts), add_special_tokens=False)


def ours(tokenizer: Tokenizer) -> Encode:
    """Return a function that encodes with our tokenizer on one thread."""
    return lambda texts: tokenizer.encode_ragged(texts, add_special_tokens=False, threads=1)


def table(results: Sequence[Agreement]) -> str:
    """Return the results as a Markdown table: shares, the cost in tokens, and medians of MB/s with greedy's speedup."""
    engines = list(dict.fromkeys(name for result in results for name in result.speeds))
    heads = ["text", "lines equal", "tokens equal", "tokens, greedy / exact", *(f"{name}, MB/s" for name in engines)]
    rows = []
    for result in results:
        greedy = statistics.median(result.speeds["greedy"]) if result.speeds.get("greedy") else 0.0
        cells = [
            result.text,
            f"{result.lines_equal_share:.1%} of {result.lines}",
            f"{result.tokens_equal_share:.1%} of {result.exact_tokens}",
            f"{result.greedy_tokens / result.exact_tokens:.4f}" if result.exact_tokens else "",
        ]
        for name in engines:
            median = statistics.median(result.speeds[name])
            cells.append(f"{median:.1f}" if name == "greedy" else f"{median:.1f} ({greedy / median:.1f})")
        rows.append(cells)
    return markdown.table(heads, rows, numbers=len(heads) - 1)


def _batches(text: str) -> Iterator[list[str]]:
    lines = text.split("\n")
    for start in range(0, len(lines), _BATCH):
        yield lines[start : start + _BATCH]


def _encoded(tokenizer: Tokenizer, lines: list[str]) -> list[Any]:
    return tokenizer.encode_batch(lines, add_special_tokens=False)
