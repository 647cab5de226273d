"""``python -m crayon_hf.parity.bench_transformers``: stock transformers beside ours, call by call.

Both tokenizers are in one process and take turns, so that a slow moment of the machine hits both; the answers are
compared before anything is timed. A figure is the median of the rounds, a ratio the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .bench.machine import machine_lines
from .harness.references import find
from .inputs.texts import CORPUS, DOCUMENT_BYTES, UnknownVocabularyError, documents, find_text, read_text

SHORT_TEXT = "One short sentence, as a server gets it."
BATCH = 1000
LENGTH = 512


class Row(NamedTuple):
    """One kind of call: milliseconds of each round."""

    call: str
    stock: list[float]
    ours: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(s / o for s, o in zip(self.stock, self.ours, strict=True))


def tokenizer_directory(name: str, scratch: Path) -> Path:
    """A directory of that vocabulary alone, as a snapshot of the Hub would be; its files are older than 2 s."""
    source = find(name).path.parent
    directory = scratch / name
    directory.mkdir()
    for path in source.iterdir():
        if path.name.startswith("tokenizer") or path.name == "special_tokens_map.json":
            copy = directory / path.name
            shutil.copyfile(path, copy)
            os.utime(copy, (time.time() - 3600,) * 2)
    return directory


def timed(call: Callable[[], Any], repeats: int) -> float:
    """Milliseconds of one call."""
    gc.collect()
    started = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - started) / repeats * 1e3


def plain(answer: Any) -> Any:
    """An answer of a tokenizer in a form that can be compared."""
    if isinstance(answer, (list, str)):
        return answer
    return {key: value.tolist() if hasattr(value, "tolist") else value for key, value in answer.items()}


def calls(tokenizer: Any, batch: list[str], ids: list[list[int]]) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""
    sized = {"padding": True, "truncation": True, "max_length": LENGTH}
    return {
        "one short sentence": lambda: tokenizer(SHORT_TEXT),
        f"{BATCH} texts, lists": lambda: tokenizer(batch),
        f"{BATCH} texts, np": lambda: tokenizer(batch, return_tensors="np", **sized),
        f"{BATCH} texts, pt": lambda: tokenizer(batch, return_tensors="pt", **sized),
        "batch_decode": lambda: tokenizer.batch_decode(ids),
    }


def measure(directory: Path, batch: list[str], rounds: int) -> list[Row]:
    """The rows of one vocabulary on one text. RuntimeError when the answers differ."""
    from transformers import AutoTokenizer as Stock

    import crayon_hf

    tokenizers = [Stock.from_pretrained(directory), crayon_hf.AutoTokenizer.from_pretrained(directory)]
    for tokenizer in tokenizers:
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    ids = tokenizers[0](batch)["input_ids"]
    stock, ours = (calls(tokenizer, batch, ids) for tokenizer in tokenizers)
    rows = []
    for name in stock:
        if plain(stock[name]()) != plain(ours[name]()):
            raise RuntimeError(f"{directory.name}: {name} differs from stock transformers")
        rows.append(Row(name, [], []))
    load = Row("from_pretrained, cached", [], [])
    crayon_hf.AutoTokenizer.from_pretrained(directory)
    for _ in range(rounds):
        load.stock.append(timed(lambda: Stock.from_pretrained(directory), 1))
        load.ours.append(timed(lambda: crayon_hf.AutoTokenizer.from_pretrained(directory), 10))
        for row in rows:
            repeats = 500 if row.call.startswith("one") else 1
            row.stock.append(timed(stock[row.call], repeats))
            row.ours.append(timed(ours[row.call], repeats))
    return [*rows, load]


def batch_of(text: str) -> list[str]:
    """A thousand documents of the text, spread over all of it."""
    found = list(documents(read_text(find_text(text)), DOCUMENT_BYTES))
    step = max(1, len(found) // BATCH)
    return found[::step][:BATCH]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m crayon_hf.parity.bench_transformers", description=__doc__)
    parser.add_argument("vocabulary", nargs="+", help="a folder of $CRAYON_SHARED/vocab with a tokenizer.json")
    parser.add_argument("--text", action="append", choices=CORPUS, help="one of the texts; may be repeated")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CRAYON_CACHE_DIR"] = str(Path(scratch) / "cache")
        print("\n".join(machine_lines({})))
        for name in options.vocabulary:
            try:
                directory = tokenizer_directory(name, Path(scratch))
            except UnknownVocabularyError as error:
                print(error, file=sys.stderr)
                return 2
            for text in options.text or CORPUS:
                batch = batch_of(text)
                size = sum(len(document.encode()) for document in batch) / 1e6
                print(f"\n{name}, {text}, {len(batch)} texts of {size:.2f} MB together, {options.rounds} rounds")
                for row in measure(directory, batch, options.rounds):
                    stock, ours = statistics.median(row.stock), statistics.median(row.ours)
                    print(f"  {row.call:24} {stock:10.3f} ms  {ours:10.4f} ms  {row.ratio:7.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
