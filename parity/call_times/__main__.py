"""Time every public call of the compared classes beside stock's, and print a table for each class.

Figures are medians of processor time of all threads, with stock and ours in turn. The exit status is 1 when one of our
calls takes longer than stock's by more than the allowed noise.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from crayon_hf.parity.compare.references import TIKTOKEN, tiktoken_pieces
from crayon_hf.util.markdown import table_lines

from . import calls
from .timing import Timed, beside, print_conditions, vocabularies_of

VOCABULARIES = ("gpt2", "llama3", "t5-small", "bert-cased")
ENCODINGS = TIKTOKEN
SHORT = "The quick brown fox, jumps over 12 lazy dogs."
LONG = " ".join(f"{number}: {SHORT} It's what they've said: déjà vu — 敏捷的棕色狐狸 🙂\n" for number in range(40))

Face = Iterator[tuple[str, calls.Calls, calls.Calls]]


def faces(root: Path, vocabularies: list[str], encodings: list[str]) -> Iterator[tuple[str, Face]]:
    """Yield each compared class by name, with an iterator over its vocabularies.

    Each vocabulary comes with the calls of stock (the other library's class) and the calls of ours.
    """
    import tiktoken
    import tokenizers
    import transformers

    import crayon_hf

    def each(kinds: Sequence[Any], calls_of: Callable[[Any, str, str], calls.Calls]) -> Face:
        for name in vocabularies:
            with tempfile.TemporaryDirectory() as directory:
                stock, ours = (calls_of(kind, str(root / name / "tokenizer.json"), directory) for kind in kinds)
                yield name, stock, ours

    def of_tiktoken() -> Face:
        for name in encodings:
            made = tiktoken_pieces(name, root / name / f"{name}.tiktoken")
            parts = {key: made[key] for key in ("pat_str", "mergeable_ranks", "special_tokens")}
            kinds = (tiktoken.Encoding, crayon_hf.tiktoken.Encoding)
            stock, ours = (calls.of_tiktoken(kind, name, parts, SHORT, LONG) for kind in kinds)
            yield name, stock, ours

    both = (tokenizers.Tokenizer, crayon_hf.Tokenizer)
    streams = ((tokenizers.decoders.DecodeStream, both[0]), (crayon_hf.DecodeStream, both[1]))
    autos = (transformers.AutoTokenizer, crayon_hf.AutoTokenizer)
    yield "tokenizers.Tokenizer", each(both, lambda kind, path, to: calls.of_tokenizer(kind, path, SHORT, LONG, to))
    yield "tokenizers.Encoding", each(both, lambda kind, path, _: calls.of_encoding(kind, path, SHORT, LONG))
    yield (
        "tokenizers.decoders.DecodeStream",
        each(streams, lambda kinds, path, _: calls.of_stream(kinds[0], kinds[1], path, LONG)),
    )
    yield (
        "transformers.PreTrainedTokenizerFast",
        each(autos, lambda kind, path, to: calls.of_fast(kind, str(Path(path).parent), SHORT, LONG, to)),
    )
    yield "tiktoken.Encoding", of_tiktoken()


def measure(face: Face, rounds: int) -> dict[tuple[str, str], dict[str, Timed]]:
    """Time all calls of a class. Return the times by call and input, and then by vocabulary."""
    found: dict[tuple[str, str], dict[str, Timed]] = {}
    for vocabulary, stock, ours in face:
        gc.freeze()  # the collector skips the objects that exist before the calls
        for call in stock:
            found.setdefault(call, {})[vocabulary] = beside(stock[call], ours[call], rounds)
    return found


def table(name: str, found: dict[tuple[str, str], dict[str, Timed]]) -> list[str]:
    """Return the lines of a Markdown table: our time for each call, and stock's time as a multiple of ours."""
    vocabularies = list(next(iter(found.values())))
    rows = (
        (f"`{call}`", what, *(f"{_spelled(timed.ours)}, {_times(1 / timed.ratio)}" for timed in figures.values()))
        for (call, what), figures in found.items()
    )
    return [f"### {name}", "", *table_lines(("call", "input", *vocabularies), rows, numbers=len(vocabularies)), ""]


def _spelled(ns: float) -> str:
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def _times(ratio: float) -> str:
    text = f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"
    return f"**{text}**" if ratio < 1 else text


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Return 0 when no call is slower than stock's, 1 when one is, 2 when it could not start."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.call_times",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-t", "--tokenizer", action="append", choices=VOCABULARIES, help="default: all four")
    parser.add_argument("-e", "--encoding", action="append", choices=ENCODINGS, help="for tiktoken; default: all three")
    parser.add_argument("--face", action="append", metavar="NAME", help="only classes whose name contains NAME")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--noise", type=float, default=0.1, help="the allowed excess over stock's time (0.1: a tenth)")
    options = parser.parse_args(argv)
    root = vocabularies_of(parser)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print_conditions("tokenizers", "transformers", "tiktoken")
    slower = []
    wanted = options.face or [""]
    vocabularies, encodings = options.tokenizer or list(VOCABULARIES), options.encoding or list(ENCODINGS)
    for name, face in faces(root, vocabularies, encodings):
        if not any(part in name for part in wanted):
            continue
        found = measure(face, options.rounds)
        print("\n".join(table(name, found)), flush=True)
        slower += [
            f"{name}.{call} ({what or 'no input'}), {vocabulary}: {timed.ratio:.2f} times stock's"
            for (call, what), figures in found.items()
            for vocabulary, timed in figures.items()
            if timed.ratio > 1 + options.noise
        ]
    print(f"{len(slower)} calls take longer than stock's" + "".join(f"\n- {line}" for line in slower))
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
