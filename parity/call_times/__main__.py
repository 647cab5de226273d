"""Times every public call of the faces beside stock's, and prints a table of each face.

Processor time of all threads, stock's and ours in turn, medians. The exit status is 1 when a call of ours takes longer
than stock's by more than the noise that is allowed.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crayon_hf.parity.compare.references import TIKTOKEN, find
from crayon_hf.parity.inputs.texts import shared_directory
from crayon_hf.parity.speed.machine import cpu_model
from crayon_hf.util.markdown import table_lines

from . import calls
from .timing import Timed, beside

VOCABULARIES = ("gpt2", "llama3", "t5-small", "bert-cased")
ENCODINGS = TIKTOKEN
SHORT = "The quick brown fox, jumps over 12 lazy dogs."
LONG = " ".join(f"{number}: {SHORT} It's what they've said: déjà vu — 敏捷的棕色狐狸 🙂\n" for number in range(40))

Face = Iterator[tuple[str, calls.Calls, calls.Calls]]


def faces(root: Path, vocabularies: list[str], encodings: list[str]) -> Iterator[tuple[str, Face]]:
    """Each face with its vocabularies, and the calls of stock and of ours."""
    import tiktoken
    import tokenizers
    import transformers

    import crayon_hf

    def paths() -> Iterator[tuple[str, str, str]]:
        for name in vocabularies:
            with tempfile.TemporaryDirectory() as directory:
                yield name, str(root / name / "tokenizer.json"), directory

    both = (tokenizers.Tokenizer, crayon_hf.Tokenizer)
    streams = (tokenizers.decoders.DecodeStream, crayon_hf.DecodeStream)
    autos = (transformers.AutoTokenizer, crayon_hf.AutoTokenizer)
    kinds = (tiktoken.Encoding, crayon_hf.tiktoken.Encoding)

    def two(made: Any) -> tuple[calls.Calls, calls.Calls]:
        stock, ours = made
        return stock, ours

    yield (
        "tokenizers.Tokenizer",
        ((name, *two(calls.of_tokenizer(kind, path, SHORT, LONG, to) for kind in both)) for name, path, to in paths()),
    )
    yield (
        "tokenizers.Encoding",
        ((name, *two(calls.of_encoding(kind, path, SHORT, LONG) for kind in both)) for name, path, _ in paths()),
    )
    yield (
        "tokenizers.decoders.DecodeStream",
        (
            (name, *two(calls.of_stream(*kinds, path, LONG) for kinds in zip(streams, both, strict=True)))
            for name, path, _ in paths()
        ),
    )
    yield (
        "transformers.PreTrainedTokenizerFast",
        (
            (name, *two(calls.of_fast(kind, str(Path(path).parent), SHORT, LONG, to) for kind in autos))
            for name, path, to in paths()
        ),
    )
    yield (
        "tiktoken.Encoding",
        (
            (name, *two(calls.of_tiktoken(kind, name, _parts(name), SHORT, LONG) for kind in kinds))
            for name in encodings
        ),
    )


def _parts(name: str) -> dict[str, Any]:
    """What `tiktoken.Encoding` is made of."""
    reference = find(name).open_reference()
    encoding = getattr(reference, "encoding", reference)
    return {
        "pat_str": encoding._pat_str,
        "mergeable_ranks": encoding._mergeable_ranks,
        "special_tokens": encoding._special_tokens,
    }


def measure(face: Face, rounds: int) -> dict[tuple[str, str], dict[str, Timed]]:
    """By call and input: the figures of each vocabulary."""
    found: dict[tuple[str, str], dict[str, Timed]] = {}
    for vocabulary, stock, ours in face:
        gc.freeze()  # what the two have made is not looked through with each call
        for call in stock:
            found.setdefault(call, {})[vocabulary] = beside(stock[call], ours[call], rounds)
    return found


def table(name: str, found: dict[tuple[str, str], dict[str, Timed]]) -> list[str]:
    """Markdown: our time, and stock's as a multiple of it."""
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
    """The command: 0 when no call is slower than stock's, 1 when one is, 2 when it could not start."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.call_times",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-t", "--tokenizer", action="append", choices=VOCABULARIES, help="default: all four")
    parser.add_argument("-e", "--encoding", action="append", choices=ENCODINGS, help="of tiktoken; default: all three")
    parser.add_argument("--face", action="append", metavar="NAME", help="only faces whose name has this in it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--noise", type=float, default=0.1, help="how much longer than stock's is allowed (0.1: a tenth)"
    )
    options = parser.parse_args(argv)
    shared = shared_directory()
    if shared is None:
        parser.error("CRAYON_SHARED names no directory with vocabularies")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    versions = ", ".join(f"{name} {version(name)}" for name in ("tokenizers", "transformers", "tiktoken"))
    print(f"{cpu_model()}; Python {sys.version.split()[0]}, {versions}\n")
    slower = []
    wanted = options.face or [""]
    vocabularies, encodings = options.tokenizer or list(VOCABULARIES), options.encoding or list(ENCODINGS)
    for name, face in faces(shared / "vocab", vocabularies, encodings):
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
