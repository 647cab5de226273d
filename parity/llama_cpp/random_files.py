"""Compare random GGUF files: our ids and those of ``tokenizers`` for the converted file, with those of `plain`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import tokenizers

from crayon_hf import Tokenizer
from crayon_hf.errors import UnsupportedError
from crayon_hf.formats.gguf import read_gguf

from .made import BYTE_TOKENS, MODELS, made, texts_for, write
from .plain import BYTE, Plain, Vocabulary

Answers = dict[str, Callable[[Any], Any]]
"""Functions of a side that take a text or ids, by name."""
_SHOWN = 10


@dataclass
class Counts:
    """The numbers of comparisons and differences for the files of one model."""

    model: str
    files: int = 0
    refused: int = 0
    texts: int = 0
    differences: int = 0
    shown: list[str] = field(default_factory=list)
    """Descriptions of the first differences."""

    def lines(self) -> list[str]:
        """Return the row of the table, followed by the first differences."""
        size = f"{self.files:>7,} files {self.refused:>6,} refused {self.texts:>10,} texts"
        verdict = f"{self.differences:,} DIFFER" if self.differences else "agree"
        return [f"{self.model:8}{size}  {verdict}", *(f"    {line}" for line in self.shown)]

    def add(self, difference: str) -> None:
        """Count a difference, and keep its description if it is one of the first."""
        self.differences += 1
        if len(self.shown) < _SHOWN:
            self.shown.append(difference)


def compare_files(models: Sequence[str], seeds: Sequence[int], texts: int) -> Iterator[Counts]:
    """Compare one random file for each model and seed, with `texts` texts for each file. Give the counts by model."""
    with TemporaryDirectory(prefix="crayon-gguf-") as directory:
        for model in models or MODELS:
            counts = Counts(model)
            for seed in seeds:
                compare_file(counts, made(model, seed), seed, texts, Path(directory) / "made.gguf")
            yield counts


def compare_file(counts: Counts, vocabulary: Vocabulary, seed: int, texts: int, path: Path) -> None:
    """Write a vocabulary's file, read it, and compare the ids of texts and the texts of ids."""
    counts.files += 1
    try:
        source = read_gguf(write(vocabulary, path)).tokenizer_json.decode()
    except UnsupportedError:
        counts.refused += 1
        return
    plain, tokenizer, stock = Plain(vocabulary), Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)
    report = tokenizer.engine_report()
    if report["engine"] != "native":
        counts.add(f"seed {seed} is not native: {report['reason']}")
    for text in texts_for(vocabulary, texts, seed):
        counts.texts += 1
        for name, side in (("ours", tokenizer), ("tokenizers", stock)):
            _compare(counts, f"seed {seed}, {name}", _of_plain(plain), _of_tokenizer(side), text)
    if vocabulary.model == "bert":
        return  # the converted file's decoder removes spaces by other rules than llama.cpp
    for ids in _rows_of_ids(vocabulary, texts // 4, seed):
        for name, side in (("ours", tokenizer), ("tokenizers", stock)):
            decode = partial(side.decode, skip_special_tokens=False)
            _compare(counts, f"seed {seed}, {name}", {"text": plain.decode}, {"text": decode}, ids)


def _compare(counts: Counts, where: str, expected: Answers, ours: Answers, given: Any) -> None:
    name = next((name for name in expected if expected[name](given) != ours[name](given)), None)
    if name is None:
        return
    right, said = expected[name], ours[name]
    least = _smallest(lambda one: right(one) != said(one), given)
    counts.add(f"{where}, {name} of {least!a}: {said(least)!a}, llama.cpp {right(least)!a}")


def _smallest(differs: Callable[[Any], bool], given: Any) -> Any:
    """Remove characters of a text, or ids of a row, while the two sides still differ. Return the rest."""
    at = 0
    while at < len(given):
        less = given[:at] + given[at + 1 :]
        given, at = (less, 0) if differs(less) else (given, at + 1)
    return given


def _of_plain(plain: Plain) -> Answers:
    return {
        "ids": plain.encode,
        "ids with special tokens": partial(plain.encode, add_special=True),
        "ids with special tokens as text": partial(plain.encode, parse_special=False),
    }


def _of_tokenizer(tokenizer: Any) -> Answers:
    def as_text(text: str) -> Any:
        tokenizer.encode_special_tokens = True
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        return ids

    return {
        "ids": lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        "ids with special tokens": lambda text: tokenizer.encode(text).ids,
        "ids with special tokens as text": as_text,
    }


def _rows_of_ids(vocabulary: Vocabulary, count: int, seed: int) -> Iterator[list[int]]:
    """Yield rows of arbitrary ids, in which byte tokens form whole characters.

    For incomplete characters, ``tokenizers`` writes other marks than llama.cpp.
    """
    random = Random(f"ids/{seed}")
    has_bytes = BYTE_TOKENS[0] in vocabulary.tokens
    whole = [id for id, kind in enumerate(vocabulary.types) if kind != BYTE]
    for _ in range(count):
        row: list[int] = []
        for _ in range(random.choice((1, 2, 3, 8))):
            if has_bytes and random.random() < 0.3:
                names = [BYTE_TOKENS[byte] for byte in random.choice("aB\u00e9\u65e5 ").encode()]
                row += map(vocabulary.tokens.index, names)
            else:
                row.append(random.choice(whole))
        yield row
