"""Time per call against the length of the text, for counts, cuts, ranges and additions, beside other libraries.

    python tools/budgets_speed.py [--svg FILE] [--markdown FILE] [--largest CHARACTERS]

The vocabulary is cl100k_base, with all libraries: tiktoken and bpe-openai (GitHub's crate; where it is installed) have
it, tokenizers opens the tokenizer.json that `crayon-hf convert` makes of it. They answer by encoding the whole text, or
the whole range; ours by the calls of docs/budgets.md. All answers are compared first. A figure is processor time of one
thread: the median of rounds in which all libraries take turns. The text is $CRAYON_SHARED/corpus/english.txt.xz.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import crayon_hf
from crayon_hf.parity.compare.targets import find_target
from crayon_hf.parity.inputs.texts import find_text, read_text
from crayon_hf.parity.speed.machine import cpu_model

ROUNDS = 5
SECONDS = 0.05
"""Of processor time that calls of one kind are repeated for, in a round."""
BUDGET = 1000
"""Tokens."""
RANGE = 1000
"""Characters, in the middle of the text."""
WORD = " word"
RUST_TAKES = 999_000
"""Characters: bpe-openai refuses texts of a million."""
TASKS = {
    "fits": f"Does the text have more than {BUDGET:,} tokens?",
    "cut": f"Cut it to {BUDGET:,} tokens",
    "range": f"Count {RANGE:,} characters of it, and nearly all",
    "append": "Add a word, and know the number of tokens",
    "index": "Count all of it: ours by making an index",
}
COLOURS = {"crayon": "#2b56c4", "tiktoken": "#b4541a", "tokenizers": "#6f7b8d", "bpe-openai": "#2e7d52"}
Call = Callable[[], Any]


def libraries() -> tuple[crayon_hf.Tokenizer, dict[str, tuple[Any, Any]]]:
    """Our tokenizer; how to encode and decode with the others, by name."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        vocabulary = find_target("cl100k_base", "", directory).vocabulary
        ours, reference = vocabulary.open_ours(), vocabulary.open_reference()
        found["tiktoken"] = reference.encode_ordinary, reference.decode
        stock = find_target("cl100k_base", "tokenizers", directory).vocabulary.open_reference()
        found["tokenizers"] = lambda text: stock.encode(text, add_special_tokens=False).ids, stock.decode
    if find_spec("bpe_openai") is not None:
        rust = import_module("bpe_openai").get_encoding("cl100k_base")
        found["bpe-openai"] = rust.encode_ordinary, rust.decode
    return ours, found


def our_calls(tokenizer: crayon_hf.Tokenizer, text: str) -> dict[str, Call]:
    middle, index, appender = len(text) // 2, crayon_hf.TokenIndex(tokenizer, text), crayon_hf.Appender(tokenizer)
    appender.append(text)

    def append() -> int:
        appender.append(WORD)
        count = appender.count
        appender.pop(len(WORD))
        return count

    return {
        "fits": lambda: tokenizer.fits(text, BUDGET),
        "cut": lambda: tokenizer.truncate_text(text, BUDGET),
        "range": lambda: (index.count(middle, middle + RANGE), index.count(7, len(text) - 7)),
        "append": append,
        "index": lambda: crayon_hf.TokenIndex(tokenizer, text).count(),
    }


def plain_calls(encode: Any, decode: Any, text: str) -> dict[str, Call]:
    middle = len(text) // 2
    return {
        "fits": lambda: len(encode(text)) <= BUDGET,
        "cut": lambda: decode(encode(text)[:BUDGET]),
        "range": lambda: (len(encode(text[middle : middle + RANGE])), len(encode(text[7 : len(text) - 7]))),
        "append": lambda: len(encode(text + WORD)),
        "index": lambda: len(encode(text)),
    }


def measured(calls: dict[str, Call]) -> dict[str, float]:
    """Microseconds of each call, whose libraries take turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begun, done = time.process_time(), 0
            while done == 0 or time.process_time() - begun < SECONDS:
                call()
                done += 1
            found[name].append((time.process_time() - begun) / done * 1e6)
    return {name: statistics.median(times) for name, times in found.items()}


def measure(largest: int) -> dict[str, dict[int, dict[str, float]]]:
    """Microseconds by task, length and library."""
    tokenizer, others = libraries()
    whole = read_text(find_text("english"), 2 * largest).decode()
    found: dict[str, dict[int, dict[str, float]]] = {task: {} for task in TASKS}
    size = 1000
    while size <= largest:
        text = whole[:size]
        calls = {"crayon": our_calls(tokenizer, text)}
        calls |= {name: plain_calls(*both, text) for name, both in others.items()}
        if size > RUST_TAKES:
            calls.pop("bpe-openai", None)
        for task in TASKS:
            answers = {name: call[task]() for name, call in calls.items()}
            if len(set(answers.values())) != 1:
                raise SystemExit(f"{task}: answers differ: {answers}")
            found[task][size] = measured({name: call[task] for name, call in calls.items()})
            print(task, size, {name: round(value, 1) for name, value in found[task][size].items()}, flush=True)
        size *= 10
    return found


def table(found: dict[str, dict[int, dict[str, float]]]) -> str:
    names = list(next(iter(found["fits"].values())))
    lines = [f"| µs per call | characters | {' | '.join(names)} |", f"|---|--:|{'--:|' * len(names)}"]
    for task, sizes in found.items():
        for size, values in sizes.items():
            row = " | ".join(_shown(values.get(name)) for name in names)
            lines.append(f"| {TASKS[task] if size == min(sizes) else ''} | {size:,} | {row} |")
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    if value is None:
        return "refused"
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def machine() -> str:
    packages = ("crayon-hf", "tiktoken", "tokenizers", "bpe-openai")
    known = [f"{name} {version(name)}" for name in packages if find_spec(name.replace("-", "_")) is not None]
    return f"{cpu_model()}, Python {platform.python_version()}, {', '.join(known)}"


def plot(found: dict[str, dict[int, dict[str, float]]]) -> bytes:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "crayon-hf", "svg.fonttype": "none", "font.size": 8}
    with rc_context(settings):
        figure = Figure(figsize=(8.4, 5.6), facecolor="white", layout="constrained")
        axes = figure.subplots(2, 2, sharex=True, sharey=True).flat
        for axis, (task, sizes) in zip(axes, list(found.items())[:4], strict=True):
            for name in next(iter(sizes.values())):
                known = {size: values[name] for size, values in sizes.items() if name in values}
                axis.plot(list(known), list(known.values()), "o-", color=COLOURS[name], label=name, markersize=3)
            axis.set(xscale="log", yscale="log", title=TASKS[task])
            axis.grid(color="#e6e9ee")
            axis.minorticks_off()
            axis.spines[["top", "right"]].set_visible(False)
        figure.supxlabel("characters of the text")
        figure.supylabel("µs of processor time per call")
        axis.legend(frameon=False)
        out = BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--svg", metavar="FILE", help="draw the figures (needs matplotlib)")
    parser.add_argument("--markdown", metavar="FILE", help="write them as a table")
    parser.add_argument("--largest", type=int, default=1_000_000, help="characters of the longest text")
    arguments = parser.parse_args()
    found = measure(arguments.largest)
    said = f"{machine()}\n\n{table(found)}\n"
    print(said)
    if arguments.markdown:
        Path(arguments.markdown).write_text(said, encoding="utf-8")
    if arguments.svg:
        Path(arguments.svg).write_bytes(plot(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
