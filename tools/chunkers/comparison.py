"""Compares chunkers with ours on the same texts, tokenizer and budget. Prints a table in Markdown.

Chunkers take turns, so that load on the machine affects all alike. Times are processor time, the median of the rounds.
A chunker sees each text once, since some chunkers cache counts. The library tokenizers counts the chunks' tokens.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from chunkers.__main__ import VERSIONS
from chunkers.candidates import candidates
from chunkers.measures import Measured, measure
from clients import texts

from crayon_hf.util import markdown


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m chunkers.comparison", description=__doc__.partition("\n")[0])
    parser.add_argument("--tokenizer", help="a tokenizer.json (default: llama3 of CRAYON_SHARED)")
    parser.add_argument("--budget", type=int, default=512, help="tokens of a chunk (%(default)s)")
    parser.add_argument("--documents", type=int, default=20, help="how many texts of a kind in a round (%(default)s)")
    parser.add_argument("--size", type=int, default=50_000, help="characters of each (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed (%(default)s)")
    options = parser.parse_args(arguments)
    shared = os.environ.get("CRAYON_SHARED")
    if options.tokenizer is None and not shared:
        parser.error("--tokenizer, or CRAYON_SHARED with vocab/llama3/tokenizer.json")
    path = options.tokenizer or str(Path(str(shared), "vocab", "llama3", "tokenizer.json"))
    name = Path(path).absolute().parent.name
    print(f"{options.rounds} rounds of {options.documents} texts of {options.size:,} characters, {name}, no overlap;")
    print(f"{platform.machine()}, Python {platform.python_version()}, {', '.join(VERSIONS)}.\n")
    for kind in ("english", "code", "multi"):
        documents = texts.documents(kind, options.documents * options.rounds, options.size)
        rounds = [documents[number :: options.rounds] for number in range(options.rounds)]
        print(table(kind, rounds, path, options.budget), "\n", flush=True)
    return 0


def table(kind: str, rounds: list[list[str]], path: str, budget: int) -> str:
    """Return the table's rows for one kind of texts. `rounds` has the texts of each round."""
    from tokenizers import Tokenizer

    stock = Tokenizer.from_file(path)

    def count(text: str) -> int:
        return len(stock.encode(text, add_special_tokens=False).ids)

    chunkers = dict(candidates(path, budget))
    measured = {name: Measured() for name in chunkers}
    seconds: dict[str, list[float]] = {name: [] for name in chunkers}
    for chunker in chunkers.values():
        chunker("Warm up: the first call imports modules and makes tables, which is not timed.")
    for documents in rounds:
        for name, chunker in chunkers.items():
            begin = time.process_time()
            made: list[Any] = [chunker(text) for text in documents]
            seconds[name].append(time.process_time() - begin)
            for text, chunks in zip(documents, made, strict=True):
                measure(measured[name], text, chunks, count, budget)
    times = {name: statistics.median(each) for name, each in seconds.items()}
    first = next(iter(times.values()))
    heads = (kind, "chunks", "tokens in each", f"over {budget}", "largest", "words cut", "sentences cut", "altered")
    rows = []
    for name, it in measured.items():
        cells = (f"{it.tokens / it.chunks:.0f}", it.over, it.largest, it.words, it.sentences, it.altered)
        rows.append([name, *map(str, (it.chunks, *cells)), f"{times[name]:.3f}", f"{times[name] / first:.1f}"])
    return markdown.table((*heads, "s", "times ours"), rows, numbers=9)


if __name__ == "__main__":
    sys.exit(main())
