"""Write failing inputs as files: the text, the vocabulary, the options, the expected ids and the actual ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from crayon_hf import _core
from crayon_hf.parity.compare.minimise import minimise

from .cases import Batch, Case
from .child import Context
from .comparing import Outcome, by_cpu, by_device, data_of, differing_texts

MOST_TEXTS = 5
"""The most differing texts of one batch that are written."""
MOST_MINIMISED = 20_000
"""A longer text, in bytes, is not minimised."""
MOST_BATCH = 32 << 20
"""The texts of a batch with more bytes are not written."""
MOST_IDS = 5000
MINIMISE_SECONDS = 3.0
MOST_SMALLEST = 20
"""The most texts that a process minimises: if everything differs, time must remain for other cases."""

_smallest_made = count()


def write_difference(
    context: Context, encoder: _core.DeviceEncoder, case: Case, batch: Batch, expected: Outcome, got: Outcome
) -> list[str]:
    """Write the texts of a batch whose ids differ, each with a record of both sides' ids. Minimise some texts.

    Return the names of the records, relative to the output directory.
    """
    engine = context.engine(case.subject, case.greedy)

    def differs(text: str | bytes) -> dict[str, Any] | None:
        """Encode a text alone, without the rest of its batch. Return both sides' results if they differ, else None."""
        one = replace(batch, texts=[text])
        pair = by_cpu(engine, one), by_device(encoder, context.device, one)
        return None if pair[0].same_as(pair[1]) else _both(*pair, 0)

    written = []
    for index in differing_texts(expected, got, len(batch.texts), MOST_TEXTS):
        directory, name = _place(context.output, context.path_of(case.subject))
        text = batch.texts[index]
        record = {**_head(case, batch), "text": index, "file": f"{name}.txt", **_both(expected, got, index)}
        (directory / f"{name}.txt").write_bytes(data_of(text))
        _write(directory / f"{name}.json", record)  # before the device runs again, which may end the process
        written.append(f"failures/{name}.json")
        alone = differs(text)
        record |= {"differs_alone": alone is not None, "alone": alone}
        if alone is None:  # the difference depends on the other texts
            record |= _write_texts(directory, name, batch)
        elif (smallest := _smallest(text, differs)) is not None and (pair := differs(smallest)) is not None:
            record["smallest"] = {"text": smallest, **pair}
        _write(directory / f"{name}.json", record)
    return written


def write_batch(output: Path, case: Case, number: int, batch: Batch, vocabulary: Path, why: str) -> list[str]:
    """Write a batch that ended with an error, a crash or a hang (`why`). Return its record's name, in a list."""
    directory, name = _place(output, vocabulary)
    record = {**_head(case, batch), "batch": number, "ended": why, **_write_texts(directory, name, batch)}
    _write(directory / f"{name}.json", record)
    return [f"failures/{name}.json"]


def _smallest(text: str | bytes, differs: Callable[[str], object]) -> str | None:
    data = data_of(text)
    if len(data) > MOST_MINIMISED or data.decode("utf-8", "replace").encode() != data:
        return None
    if next(_smallest_made) >= MOST_SMALLEST:
        return None
    (smallest,) = minimise((data.decode(),), lambda item: differs(item[0]) is not None, 2000, MINIMISE_SECONDS)
    return smallest


def _head(case: Case, batch: Batch) -> dict[str, Any]:
    return {
        "case": case.name,
        "vocabulary": f"vocabularies/{case.subject}.dat",
        "mode": "greedy" if case.greedy else "exact",
        "options": batch.options(),
        "texts": len(batch.texts),
    }


def _both(expected: Outcome, got: Outcome, text: int) -> dict[str, Any]:
    """Return each side's error or ids. Of many ids, only those around the first difference are returned."""
    ids, others = expected.of(text), got.of(text)
    pairs = enumerate(zip(ids, others, strict=False))
    first = next((i for i, pair in pairs if pair[0] != pair[1]), min(len(ids), len(others)))

    def shown(outcome: Outcome) -> dict[str, Any]:
        if outcome.error:
            return {"error": outcome.error}
        own = outcome.of(text)
        begin = 0 if len(own) <= MOST_IDS else max(0, first - 100)
        return {"ids": own[begin : begin + MOST_IDS], "from_id": begin, "of_ids": len(own), "first_difference": first}

    return {"expected": shown(expected), "got": shown(got)}


def _write_texts(directory: Path, name: str, batch: Batch) -> dict[str, Any]:
    texts = list(map(data_of, batch.texts))
    if sum(map(len, texts)) > MOST_BATCH:
        return {"batch_file": None, "batch_bytes": sum(map(len, texts))}  # the case's name tells how to make the batch
    (directory / f"{name}.batch").write_bytes(b"".join(texts))
    return {"batch_file": f"{name}.batch", "batch_sizes": list(map(len, texts))}


def _place(output: Path, vocabulary: Path) -> tuple[Path, str]:
    """Make the directory for failures, and copy the vocabulary into it. Return it, and an unused name for a record."""
    directory = output / "failures"
    (directory / "vocabularies").mkdir(parents=True, exist_ok=True)
    if not (directory / "vocabularies" / vocabulary.name).exists():
        shutil.copyfile(vocabulary, directory / "vocabularies" / vocabulary.name)
    return directory, f"{len(list(directory.glob('*.json'))) + 1:03}"


def _write(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
