"""Failing inputs as files: the text, the vocabulary, the options, the ids expected and those that were had."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from crayon_hf import _core
from crayon_hf.parity.compare.minimise import minimise

from .access import Context
from .cases import Batch, Case
from .comparing import Outcome, by_cpu, by_device, differing_texts

MOST_TEXTS = 5
"""Of one batch."""
MOST_MINIMISED = 20_000
"""Bytes of a text that is made smaller."""
MOST_BATCH = 32 << 20
"""Bytes of a batch that is written whole."""
MOST_IDS = 5000
MINIMISE_SECONDS = 3.0
MOST_SMALLEST = 20
"""Texts that a process makes smaller: where all differs, the rest of the time is for other cases."""


def write_difference(
    context: Context, encoder: _core.DeviceEncoder, case: Case, batch: Batch, expected: Outcome, got: Outcome
) -> list[str]:
    """Write what differs in a batch; returns the names of the files below the output."""
    directory = _directory(context.output)
    _keep_vocabulary(context, case.subject)
    written = []
    engine = context.engine(case.subject, case.greedy)

    def differs(text: str | bytes) -> tuple[Outcome, Outcome] | None:
        one = replace(batch, texts=[text])
        pair = by_cpu(engine, one), by_device(encoder, context.device, one)
        return None if pair[0].same_as(pair[1]) else pair

    for index in differing_texts(expected, got, len(batch.texts), MOST_TEXTS):
        name = _free_name(directory)
        text = batch.texts[index]
        record = {**_head(case, batch), "text": index, "file": f"{name}.txt"}
        record |= {"expected": _shown(expected, index, got), "got": _shown(got, index, expected)}
        (directory / f"{name}.txt").write_bytes(_bytes(text))
        _write(directory / f"{name}.json", record)  # before the device is asked again, which may end the process
        written.append(f"failures/{name}.json")
        alone = differs(text)
        record["differs_alone"] = alone is not None
        if alone is None:  # the other texts are a part of it
            record |= _write_batch(directory, name, batch)
        else:
            record["alone"] = {"expected": _shown(alone[0], 0, alone[1]), "got": _shown(alone[1], 0, alone[0])}
            smallest = _smallest(text, lambda each: differs(each) is not None)
            if smallest is not None and (pair := differs(smallest)) is not None:
                both = {"expected": _shown(pair[0], 0, pair[1]), "got": _shown(pair[1], 0, pair[0])}
                record["smallest"] = {"text": smallest, **both}
        _write(directory / f"{name}.json", record)
    return written


def write_batch(output: Path, case: Case, number: int, batch: Batch, vocabulary: Path, why: str) -> list[str]:
    """Write a batch of a case that ended with an error, a crash or a hang; returns the name of its file."""
    directory = _directory(output)
    _copy_vocabulary(directory, vocabulary)
    name = _free_name(directory)
    record = {**_head(case, batch), "batch": number, "ended": why, **_write_batch(directory, name, batch)}
    _write(directory / f"{name}.json", record)
    return [f"failures/{name}.json"]


_minimised = [0]


def _smallest(text: str | bytes, differs: Any) -> str | None:
    try:
        string = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError:
        return None
    if len(string.encode()) > MOST_MINIMISED or _minimised[0] >= MOST_SMALLEST:
        return None
    _minimised[0] += 1
    (smallest,) = minimise((string,), lambda item: bool(differs(item[0])), 2000, MINIMISE_SECONDS)
    return smallest


def _head(case: Case, batch: Batch) -> dict[str, Any]:
    return {
        "case": case.name,
        "vocabulary": f"vocabularies/{case.subject}.dat",
        "mode": "greedy" if case.greedy else "exact",
        "options": batch.options(),
        "texts": len(batch.texts),
    }


def _shown(outcome: Outcome, text: int, other: Outcome) -> dict[str, Any]:
    """The error, or the ids: those around the first difference where there are too many."""
    if outcome.error:
        return {"error": outcome.error}
    ids, others = outcome.of(text), other.of(text)
    first = next((i for i, pair in enumerate(zip(ids, others, strict=False)) if pair[0] != pair[1]), None)
    if first is None:
        first = min(len(ids), len(others))
    begin = 0 if len(ids) <= MOST_IDS else max(0, first - 100)
    return {"ids": ids[begin : begin + MOST_IDS], "from_id": begin, "of_ids": len(ids), "first_difference": first}


def _write_batch(directory: Path, name: str, batch: Batch) -> dict[str, Any]:
    sizes = [len(_bytes(text)) for text in batch.texts]
    if sum(sizes) > MOST_BATCH:
        return {"batch_file": None, "batch_bytes": sum(sizes)}  # the case's name says how it is made
    with open(directory / f"{name}.batch", "wb") as out:
        for text in batch.texts:
            out.write(_bytes(text))
    return {"batch_file": f"{name}.batch", "batch_sizes": sizes}


def _directory(output: Path) -> Path:
    directory = output / "failures"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _keep_vocabulary(context: Context, subject: str) -> None:
    _copy_vocabulary(_directory(context.output), context.path_of(subject))


def _copy_vocabulary(directory: Path, vocabulary: Path) -> None:
    kept = directory / "vocabularies" / vocabulary.name
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(vocabulary, kept)


def _free_name(directory: Path) -> str:
    return f"{len(list(directory.glob('*.json'))) + 1:03}"


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _write(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
