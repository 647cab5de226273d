"""Measure the speed of engines with one vocabulary: compare their ids, then time rounds in rotating order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from crayon_hf.util.progress import time_left

from ..compare.references import Vocabulary
from .figures import OURS, Report, Standing, Trial, ratio
from .inputs import HOSTILE, Inputs
from .processes import Engine, Outcome, run_job
from .scenarios import HOSTILE_LIMIT, SLOWEST, Job, figures_of, plan
from .vocabularies import prepare

__all__ = ["BenchError", "in_turns", "measure", "rotated"]

NEAR = 0.7
"""A peer (another library's engine) runs a job only once if it is slow in all cells of the job.

Slow means below this fraction of the fastest peer's speed."""

HOPELESS = 0.25
"""A peer that is below this fraction of the fastest peer's speed does not run the job with more threads."""

IDS_LIMIT = 120.0
PEER_SECONDS = 0.5
"""How long a peer encodes new words while its memory is measured; our engine encodes all words."""

Progress = Callable[[str], None]
Item = TypeVar("Item")


class BenchError(RuntimeError):
    """Nothing can be measured, or no reference is available for the comparison."""


def measure(
    vocabulary: Vocabulary,
    engines: Sequence[Engine],
    inputs: Inputs,
    scenarios: Sequence[str],
    threads: Sequence[int],
    rounds: int,
    *,
    until: float | None = None,
    progress: Progress = lambda _: None,
) -> Report:
    """Measure the engines with one vocabulary. A round that would likely end after ``until`` does not begin.

    ``until`` is a time of ``time.monotonic``.
    """
    report = Report(vocabulary.name, vocabulary.kind)
    with TemporaryDirectory(prefix="crayon-bench-vocabulary-") as directory:
        progress(f"{vocabulary.name}: ids")
        files = prepare(vocabulary, directory)
        ids = _compare(vocabulary, engines, files, inputs, scenarios, threads, report, directory)
        if not report.same_ids:
            return report
        running = [engine for engine in engines if not report.standings[engine.name].cannot_open]
        jobs = plan(scenarios, inputs, threads, ids)
        _rounds(running, files, jobs, inputs, scenarios, rounds, report, until, progress)
        if "memory" in scenarios and rounds:
            for engine in running:
                progress(f"{vocabulary.name}: memory, {engine.name}")
                report.memory[engine.name] = _memory(engine, files, inputs, report)
    return report


# -- ids


def _compare(
    vocabulary: Vocabulary,
    engines: Sequence[Engine],
    files: dict[str, Any],
    inputs: Inputs,
    scenarios: Sequence[str],
    threads: Sequence[int],
    report: Report,
    directory: str,
) -> str:
    """Compare all engines' ids with the reference's, and write the result into the standings of `report`.

    Return the file of ids to decode, or an empty path if no ids were kept.
    """
    kept = os.path.join(directory, "ids.json")
    steps: list[dict[str, Any]] = []
    for text in inputs.texts.values():
        limit = HOSTILE_LIMIT if text.name in HOSTILE else IDS_LIMIT + text.bytes / SLOWEST
        single = text.name[:5] == "short"
        step = {"kind": "ids", "name": text.name, "path": text.compared, "limit": limit, "single": single}
        steps.append({**step, "keep": kept} if text.name == "decoded" else step)
    if "decode" in scenarios:
        steps.append({"kind": "decoded", "name": "decode", "path": kept, "limit": IDS_LIMIT})

    def hashes(engine: Engine, call: str, steps: list[dict[str, Any]]) -> tuple[Outcome, dict[str, bytes]]:
        """Return the outcome, and the hashes of the documents by step."""
        to = {step["name"]: os.path.join(directory, f"{engine.name}-{call}-{i}") for i, step in enumerate(steps)}
        marked = [{**step, "to": to[step["name"]]} for step in steps]
        outcome = run_job(engine, files, marked, max(threads), call=call)
        done = {name for name, result in outcome.steps.items() if "documents" in result}
        return outcome, {name: Path(to[name]).read_bytes() for name in done}

    judge = next((e for e in engines if e.name == vocabulary.kind and not e.stand_in), Engine(vocabulary.kind))
    outcome, expected = hashes(judge, "best", steps)
    report.reference = f"{judge.name} {outcome.opened.get('version', '')}".strip()
    missing = [step["name"] for step in steps if step["name"] not in expected]
    if outcome.cannot_open or (missing and not set(missing) <= set(HOSTILE)):
        raise BenchError(f"{report.vocabulary}: no ids to compare with: {outcome.cannot_open or outcome.steps}")
    for name, text in inputs.texts.items():
        tokens = outcome.steps[name].get("tokens", 0)
        report.texts[name] = {"bytes": text.bytes, "documents": text.compared_documents, "tokens": tokens}
    for engine in engines:
        standing = report.standings[engine.name] = Standing(engine.name)
        again = [{key: value for key, value in step.items() if key != "keep"} for step in steps]
        tried, found = (outcome, expected) if engine is judge else hashes(engine, "best", again)
        _judge(standing, tried, found, expected, "")
        lists = inputs.corpus[:1]
        if "lists" in scenarios and lists and not standing.cannot_open:
            tried, found = hashes(engine, "lists", [step for step in again if step["name"] in lists])
            _judge(standing, tried, found, {name: expected[name] for name in lists}, ", as lists")
        if engine.name == OURS:
            report.same_ids = not (standing.cannot_open or standing.differing or standing.failed)
    report.notes = [note for standing in report.standings.values() for note in _notes(standing, report.reference)]
    return kept if "decode" in expected else ""


def _judge(
    standing: Standing, outcome: Outcome, found: dict[str, bytes], expected: dict[str, bytes], suffix: str
) -> None:
    standing.version = outcome.opened.get("version", standing.version)
    standing.cannot_open, standing.missing = outcome.cannot_open, outcome.missing
    for name, right in expected.items():
        if name in found:
            # If the numbers of documents differ, at least the surplus documents are wrong.
            wrong = abs(len(right) - len(found[name])) // 8
            wrong += sum(a != b for a, b in zip(_eights(right), _eights(found[name]), strict=False))
            if wrong:
                standing.differing[name + suffix] = wrong
        elif name in outcome.steps:
            standing.failed[name + suffix] = outcome.steps[name]["says"]


def _eights(data: bytes) -> Iterable[bytes]:
    return (data[at : at + 8] for at in range(0, len(data), 8))


def _notes(standing: Standing, reference: str) -> list[str]:
    if standing.cannot_open:
        return [f"{standing.engine}: not measured: {standing.cannot_open}"]
    reasons = dict.fromkeys(standing.failed.values())
    failed = {why: ", ".join(name for name, each in standing.failed.items() if each == why) for why in reasons}
    notes = [f"{standing.engine}: no ids ({why}): {names}" for why, names in failed.items()]
    if standing.differing:
        each = ", ".join(f"{name} {count}" for name, count in standing.differing.items())
        notes.append(f"{standing.engine}: not the ids of {reference}; documents that differ: {each}")
    return notes


# -- rounds


def rotated(items: Sequence[Item], number: int) -> list[Item]:
    """Return the items rotated for a round, so that each round begins with another item."""
    at = number % max(1, len(items))
    return [*items[at:], *items[:at]]


def in_turns(items: Sequence[Item], rounds: int) -> Iterator[tuple[int, Item]]:
    """Yield (round, item) for each item of each round, in the round's order."""
    return ((number, item) for number in range(rounds) for item in rotated(items, number))


def _rounds(
    engines: Sequence[Engine],
    files: dict[str, Any],
    jobs: Sequence[Job],
    inputs: Inputs,
    scenarios: Sequence[str],
    rounds: int,
    report: Report,
    until: float | None,
    progress: Progress,
) -> None:
    far: set[tuple[int, str]] = set()
    hopeless: set[tuple[str, str]] = set()
    started, steps_done, steps_all = time.monotonic(), 0, rounds * len(jobs) * len(engines)
    for done in range(rounds):
        begun = time.monotonic()
        for number, job in enumerate(jobs):
            for engine in rotated(engines, done + number):
                steps_done += 1
                if (id(job), engine.name) in far or (job.name, engine.name) in hopeless or (done and job.once):
                    continue
                progress(
                    f"{report.vocabulary}: round {done + 1} of {rounds}, {job.name}, threads {job.threads}, "
                    f"{engine.name} ({steps_done} of {steps_all}{time_left(started, steps_done, steps_all)})"
                )
                steps = _steps(job, report.standings[engine.name])
                outcome = run_job(engine, files, steps, job.threads, call=job.call)
                if outcome.cannot_open:
                    report.notes.append(f"{engine.name}: {job.name}: {outcome.cannot_open}")
                for figure in figures_of(job, engine.name, outcome, inputs, scenarios):
                    report.add(figure)
            if not done:
                hopeless |= {(job.name, e.name) for e in engines if _far(job, e.name, report, HOPELESS)}
        if not done:
            far = {(id(job), e.name) for job in jobs for e in engines if _far(job, e.name, report, NEAR)}
        # If slow engines were dropped, the next round takes at most this share of the time.
        needed = (time.monotonic() - begun) * (0.6 if not done and far else 1)
        if done + 1 < rounds and until is not None and time.monotonic() + needed > until:
            report.notes.append(f"{done + 1} of {rounds} rounds: no time was left for more")
            break


def _steps(job: Job, standing: Standing) -> list[dict[str, Any]]:
    """Return the steps of a job for whose texts the engine gave ids, without an error or a timeout."""
    return [step for step in job.steps if step["name"] not in standing.failed]


def _far(job: Job, engine: str, report: Report, near: float) -> bool:
    """Whether a peer is far slower than the best one in every cell of a job."""
    if engine == OURS:
        return False
    filled = {pair for cells in job.fills.values() for pair in cells}
    for cell, figures in report.cells().items():
        mine = figures.get(engine)
        if mine is None or not mine.rounds or cell[2] != job.threads or cell[:2] not in filled:
            continue
        peers = [figure for name, figure in figures.items() if name != OURS and figure.rounds]
        if min(ratio(mine.rounds, peer.rounds, mine.unit) for peer in peers) >= near:
            return False
    return True


def _memory(engine: Engine, files: dict[str, Any], inputs: Inputs, report: Report) -> Trial:
    seconds = 0 if engine.name == OURS else PEER_SECONDS
    step = {"kind": "memory", "name": "memory", "path": inputs.words_path, "bytes": inputs.words_bytes}
    outcome = run_job(engine, files, [{**step, "seconds": seconds, "extra": True, "limit": 300.0}], 1)
    result = outcome.steps.get("memory", {})
    if "after" not in result:
        report.notes.append(f"{engine.name}: memory: {outcome.cannot_open or result['says']}")
    return Trial(
        engine.name,
        outcome.opened.get("memory") or {},
        [each for each in result.get("after", []) if each],
        result.get("extra") or {},
    )
