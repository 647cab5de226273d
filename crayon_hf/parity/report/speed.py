"""Measure speed and opening time of both sides, in the benchmark's own processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from tempfile import TemporaryDirectory

from ..compare.references import Vocabulary
from ..compare.suites import Suite
from ..inputs.texts import read_text, text_files
from ..speed.figures import Figure
from ..speed.inputs import make_texts
from ..speed.measuring import BenchError, measure
from ..speed.processes import Engine
from .model import Speed
from .plan import Group

SCENARIOS = ("first", "repeated", "short", "decode", "open")
NAMES = {"first": "first pass"}
SIZE = 500_000
"""The most bytes of a text."""
SECONDS = 30.0
"""The seconds for all rounds together. A round that would likely exceed them does not begin."""
TEXTS = 2
"""The most texts that are timed. With transformers only one is, since each process takes seconds to import it."""


def measure_speed(
    vocabulary: Vocabulary, groups: Sequence[Group], rounds: int, progress: Callable[[str], None] = lambda _: None
) -> tuple[tuple[Speed, ...], list[str]]:
    """Time both sides on the texts of `groups`. Return the speeds, each with one thread, and notes on missing ones."""
    suites = [group.suites[0] for group in groups if group.kind != "generated"]
    suites = suites[: 1 if vocabulary.kind == "transformers" else TEXTS]
    if not suites:
        return (), ["speed was not measured: the run has no text"]
    engines = (Engine("crayon"), Engine(vocabulary.kind))
    until = time.monotonic() + SECONDS
    with TemporaryDirectory(prefix="crayon-parity-speed-") as directory:
        sources = {suite.name: partial(_excerpt, suite, vocabulary.specials()) for suite in suites}
        texts = make_texts(sources, directory, SIZE, SCENARIOS)
        try:
            report = measure(vocabulary, engines, texts, SCENARIOS, (1,), rounds, until=until, progress=progress)
        except BenchError as error:
            return (), [f"speed was not measured: {error}"]
    if not report.same_ids:
        return (), ["speed was not measured, since the ids of a timed text are not the same", *report.notes]
    return tuple(_speed(cell, figures, vocabulary.kind) for cell, figures in report.cells().items()), report.notes


def _excerpt(suite: Suite, specials: Sequence[str], size: int | None) -> bytes:
    """Return the beginning of a text without special tokens, which calls treat differently."""
    text = ""
    for path in text_files(suite.source).values():
        text += read_text(path, size).decode()
        if size is not None and len(text) >= size:
            break
    for token in sorted(filter(None, specials), key=len, reverse=True):
        text = text.replace(token, " ")
    return text.encode()[:size].decode(errors="ignore").encode()


def _speed(cell: tuple[str, str, int], figures: dict[str, Figure], reference: str) -> Speed:
    scenario, text, threads = cell
    unit = next(iter(figures.values())).unit
    rounds = {name: tuple(round(value, 4) for value in figure.rounds) for name, figure in figures.items()}
    return Speed(
        scenario=NAMES.get(scenario, scenario),
        text="" if scenario in ("open", "decode", "short") else text,
        threads=threads,
        unit=unit,
        more_is_better=unit == "MB/s",
        ours=rounds.get("crayon", ()),
        reference=rounds.get(reference, ()),
    )
