"""Measure the speed of engines with one vocabulary: compare their ids, then time rounds in rotating order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from operator import ne
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.util.progress import time_left

from ..compare.references import Vocabulary
from ..inputs.texts import DOCUMENT_BYTES
from .child.serve import Task
from .figures import OURS, Report, Standing, ratio
from .inputs import DOCUMENTS_OF_A_CALL, HOSTILE, Text
from .processes import Engine, Outcome, run_job
from .scenarios import SCENARIOS, SLOWEST, Job, figures_of, plan
from .vocabularies import prepare

__all__ = ["BenchError", "measure", "rotated"]

SLOW = 0.25
"""A peer (another library's engine) below this fraction of the fastest peer's speed does not run a job again, in later
rounds or with more threads."""

IDS_LIMIT = 120.0
PEER_SECONDS = 0.5
"""How long a peer encodes new words while its memory is measured; our engine encodes all words."""

Progress = Callable[[str], None]


class BenchError(RuntimeError):
    """Nothing can be measured, or no reference is available for the comparison."""


def measure(
    vocabulary: Vocabulary,
    engines: Sequence[Engine],
    texts: Sequence[Text],
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
        files = prepare(vocabulary, directory, [engine.name for engine in engines])
        ids = os.path.join(directory, "ids.jsonl")
        _compare(engines, files, texts, max(threads), ids, report)
        if not report.same_ids:
            return report
        running = [engine for engine in engines if not report.standings[engine.name].cannot_open]
        jobs = plan(scenarios, texts, threads, ids)
        for done in range(rounds):
            begun = time.monotonic()
            _round(done, jobs, running, files, scenarios, report, progress)
            needed = time.monotonic() - begun
            if done + 1 < rounds and until is not None and time.monotonic() + needed > until:
                report.notes.append(f"{done + 1} of {rounds} rounds: no time was left for more")
                break
        for text in texts:
            for engine in running if text.scenario == "memory" else ():
                progress(f"{vocabulary.name}: memory, {engine.name}")
                report.memory[engine.name] = _memory(engine, files, text, report)
    return report


# -- ids


def _compare(
    engines: Sequence[Engine], files: dict[str, Any], texts: Sequence[Text], threads: int, ids: str, report: Report
) -> None:
    """Compare all engines' ids with the reference's, and write the result into the standings of `report`.

    Write the ids to decode into the file `ids`, if a text is for that.
    """
    compared = [text for text in texts if text.scenario in SCENARIOS]
    steps = [_ids_step(text, ids) for text in compared]
    if any(step["keep"] for step in steps):
        steps.append({"kind": "decoded", "name": "decode", "path": ids, "limit": IDS_LIMIT})
    judge = next((each for each in engines if each.name == report.reference and not each.stand_in), None)
    judge = judge or Engine(report.reference)
    right = run_job(judge, files, steps, threads)
    report.reference = f"{judge.name} {right.opened.get('version', '')}".strip()
    results = {step["name"]: right.steps.get(step["name"], {}) for step in steps}
    missing = {name: result.get("says", "") for name, result in results.items() if "hashes" not in result}
    if right.cannot_open or missing.keys() - {*HOSTILE}:
        raise BenchError(f"{report.vocabulary}: no ids to compare with: {right.cannot_open or missing}")
    for text in compared:
        tokens = right.steps[text.name].get("tokens", 0)
        report.texts[text.name] = {"bytes": text.bytes, "documents": text.documents, "tokens": tokens}
    again = [{**step, "keep": ""} for step in steps]
    for engine in engines:
        outcome = right if engine is judge else run_job(engine, files, again, threads)
        standing = report.standings[engine.name] = _judged(engine.name, outcome, right)
        report.notes += _notes(standing, report.reference)
        if engine.name == OURS:
            report.same_ids = not (standing.cannot_open or standing.differing or standing.failed)


def _ids_step(text: Text, ids: str) -> Task:
    return {
        "kind": "ids",
        "name": text.name,
        "path": text.path,
        "batch": DOCUMENTS_OF_A_CALL if text.scenario == "scale" else None,
        "single": text.scenario == "short",
        "keep": ids if text.scenario == "decode" else "",
        "limit": SCENARIOS["hostile"].limit if text.name in HOSTILE else IDS_LIMIT + text.bytes / SLOWEST,
    }


def _judged(engine: str, outcome: Outcome, right: Outcome) -> Standing:
    """Return the standing of an engine whose hashes are to equal those of the outcome `right`."""
    standing = Standing(engine, outcome.opened.get("version", ""), outcome.cannot_open, outcome.missing)
    for name, result in outcome.steps.items():
        expected, got = right.steps.get(name, {}).get("hashes"), result.get("hashes")
        if expected and got is None:
            standing.failed[name] = result["says"]
        elif expected and got is not None:
            # If the numbers of documents differ, at least the surplus documents are wrong.
            wrong = abs(len(expected) - len(got)) + sum(map(ne, expected, got))
            standing.differing |= {name: wrong} if wrong else {}
    return standing


def _notes(standing: Standing, reference: str) -> list[str]:
    if standing.cannot_open:
        return [f"{standing.engine}: not measured: {standing.cannot_open}"]
    notes = [f"{standing.engine}: no ids: {name}: {why}" for name, why in standing.failed.items()]
    if standing.differing:
        each = ", ".join(f"{name} {count}" for name, count in standing.differing.items())
        notes.append(f"{standing.engine}: not the ids of {reference}; documents that differ: {each}")
    return notes


# -- rounds


def rotated(engines: Sequence[Engine], number: int) -> list[Engine]:
    """Return the engines rotated for a round, so that each round begins with another engine."""
    at = number % max(1, len(engines))
    return [*engines[at:], *engines[:at]]


def _round(
    done: int,
    jobs: Sequence[Job],
    engines: Sequence[Engine],
    files: dict[str, Any],
    scenarios: Sequence[str],
    report: Report,
    progress: Progress,
) -> None:
    """Let the engines take turns in each job. `done` rounds are done before this one."""
    started, turns = time.monotonic(), len(jobs) * len(engines)
    for number, job in enumerate(jobs):
        for turn, engine in enumerate(rotated(engines, done + number), number * len(engines)):
            name = engine.name
            if (done and job.once) or _share_of_best(name, job, report) < SLOW:
                continue
            left = time_left(started, turn, turns)
            progress(f"{report.vocabulary}: round {done + 1}, {job.name}, threads {job.threads}, {name}{left}")
            # A text without ids, because of an error or a timeout, is not timed.
            steps = [step for _, step in job.steps if step["name"] not in report.standings[name].failed]
            outcome = run_job(engine, files, steps, job.threads)
            if outcome.cannot_open:
                report.notes.append(f"{name}: {job.name}: {outcome.cannot_open}")
            for figure in figures_of(job, name, outcome, scenarios):
                report.add(figure)


def _share_of_best(engine: str, job: Job, report: Report) -> float:
    """Return a peer's speed as a share of the fastest peer's, in the cell of a job's texts where that is greatest.

    Return 1 for a peer without figures.
    """
    texts, shares = {text.name for text, _ in job.steps}, list[float]()
    for (_, text, _), figures in report.cells().items():
        peers = {name: figure for name, figure in figures.items() if name != OURS and figure.rounds}
        if text in texts and engine in peers and (unit := peers[engine].unit) != "MB":
            shares.append(min(ratio(peers[engine].rounds, peer.rounds, unit) for peer in peers.values()))
    return max(shares, default=1.0)


def _memory(engine: Engine, files: dict[str, Any], text: Text, report: Report) -> dict[str, Any]:
    step = {"kind": "memory", "name": "memory", "path": text.path, "batch": 1_000_000 // DOCUMENT_BYTES + 1}
    seconds = 0 if engine.name == OURS else PEER_SECONDS
    outcome = run_job(engine, files, [{**step, "seconds": seconds, "limit": 300.0}], 1)
    result = outcome.steps.get("memory", {})
    if "after" not in result:
        report.notes.append(f"{engine.name}: memory: {outcome.cannot_open or result['says']}")
    return {"engine": engine.name, "opened": outcome.opened.get("memory", {}), "after": result.get("after", [])}
