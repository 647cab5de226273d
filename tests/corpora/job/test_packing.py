"""Packing documents into sequences of one length: no token is lost, with any number of processes and interruptions."""

from __future__ import annotations

import itertools
import json
import random
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf import JobError
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import packing
from crayon_hf.corpora.job.packing import BestFit, Concatenated
from crayon_hf.corpora.job.shards import Sequences
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import reference_ids, tree
from tests.corpora.job.test_best_fit import by_hand

LENGTH = 16
PAD = 9_999


class Written:
    """Collects the sequences that a packer writes, in place of `Shards`."""

    def __init__(self) -> None:
        self.sequences: list[list[int]] = []
        self.pieces: list[list[int]] = []
        self.padding: list[int] = []

    def write(self, ids: Any, splits: Any, packed: Sequences) -> None:
        assert set(splits.tolist()) <= set(packed.pieces.tolist())
        assert (np.diff(packed.pieces) > 0).all()
        for begin, end in pairwise(splits.tolist()):
            self.sequences.append(ids[begin:end].tolist())
            self.pieces.append(np.diff(packed.pieces[np.searchsorted(packed.pieces, begin) :]).tolist())
            kept = list(itertools.accumulate(self.pieces[-1]))
            self.pieces[-1] = self.pieces[-1][: kept.index(end - begin) + 1]
        self.padding += packed.padding.tolist()

    def finish(self) -> None:
        pass


def documents(seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    number = itertools.count()
    lengths = [chance.choice((0, 1, 3, 7, LENGTH - 1, LENGTH, LENGTH + 1, 50)) for _ in range(chance.randint(0, 90))]
    return [[next(number) % 9000 for _ in range(length)] for length in lengths]


def pack(kind: type[BestFit | Concatenated], rows: list[list[int]], cuts: list[int], remainder: str) -> Written:
    """Pack the documents `rows` in several calls, which end at `cuts`."""
    written = Written()
    packer = kind(written, LENGTH, remainder, PAD)  # type: ignore[arg-type]
    edges = [0, *(cut for cut in cuts if cut < len(rows)), len(rows)]
    for begin, end in pairwise(edges):
        part = rows[begin:end]
        splits = np.cumsum([0, *map(len, part)], dtype=np.int64)
        ids = np.array([token for row in part for token in row], np.int32)
        packer.write(ids, splits)
        ids[:] = -1  # the caller may reuse the array
    packer.finish()
    return written


def concatenated(rows: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """(sequences, lengths of the pieces of each) by plainly cutting the concatenated documents."""
    owners = [(number, token) for number, row in enumerate(rows) for token in row]
    sequences = [owners[i : i + LENGTH] for i in range(0, len(owners), LENGTH)]
    pieces = [[len(list(group)) for _, group in itertools.groupby(part, lambda each: each[0])] for part in sequences]
    return [[token for _, token in part] for part in sequences], pieces


def fitted(rows: list[list[int]], window: int) -> tuple[list[list[int]], list[list[int]]]:
    """(sequences, lengths of the pieces of each) by a plain best fit in each window of tokens."""
    sequences: list[list[int]] = []
    pieces: list[list[int]] = []
    gathered: list[list[int]] = []

    def place() -> None:
        cut = [row[i : i + LENGTH] for row in gathered for i in range(0, len(row), LENGTH)]
        for chosen in by_hand(list(map(len, cut)), LENGTH):
            sequences.append([token for piece in chosen for token in cut[piece]])
            pieces.append([len(cut[piece]) for piece in chosen])
        gathered.clear()

    for row in rows:
        gathered.append(row)
        if sum(map(len, gathered)) >= window:
            place()
    place()
    return sequences, pieces


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", [Concatenated, BestFit])
def test_as_by_hand(kind: type[BestFit | Concatenated], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sequences do not depend on how the documents are split into calls."""
    monkeypatch.setattr(packing, "WINDOW", 32 * LENGTH)
    monkeypatch.setattr(packing, "_AT_ONCE", 5 * LENGTH)
    rows, chance = documents(seed), random.Random(seed)
    cuts = sorted(chance.sample(range(1, 90), 5))
    sequences, pieces = concatenated(rows) if kind is Concatenated else fitted(rows, 32 * LENGTH)
    whole = pack(kind, rows, cuts, "keep")
    assert whole.sequences == sequences
    assert whole.pieces == pieces
    assert whole.padding == [0] * len(sequences)

    padded = pack(kind, rows, [], "pad")
    assert padded.sequences == [row + [PAD] * (LENGTH - len(row)) for row in sequences]
    assert padded.pieces == [part + [LENGTH - sum(part)] * (sum(part) < LENGTH) for part in pieces]
    assert padded.padding == [LENGTH - len(row) for row in sequences]
    assert pack(kind, rows, cuts, "pad").sequences == padded.sequences


job = partial(job_cases.job, group_bytes=4000, append_eos=True, sequence_length=LENGTH)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("packing", ["concat", "best-fit"])
def test_a_job(packing: str, shuffle: bool, inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Each task has the sequences of the plain algorithm on the reference's ids. Any number of processes gives the same
    files."""
    options = {"packing": packing, "remainder": "pad", "shuffle": shuffle}
    summary = job(inputs, tmp_path / "out", gpt2_like, "npy", **options)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    for task in manifest["tasks"]:
        (shard,) = task["shards"]
        tokens = np.load(tmp_path / "out" / f"{shard['name']}.npy")
        paths = [Path(file) for file, _ in task["inputs"]]
        texts = [json.loads(line)["text"] for path in paths for line in path.read_text("utf-8").splitlines()]
        rows = reference_ids(gpt2_like, texts, eos=manifest["eos_id"])
        if shuffle:
            rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
        sequences, _ = fitted(rows, 1 << 23) if packing == "best-fit" else concatenated(rows)
        padding = [LENGTH - len(row) for row in sequences]
        assert tokens.tolist() == [row + [manifest["pad_id"]] * n for row, n in zip(sequences, padding, strict=True)]
        assert (shard["sequences"], shard["padding"]) == (len(sequences), sum(padding))
    assert (summary.counts.documents, summary.sequences.dropped) == (178, 0)
    assert summary.sequences.tokens - summary.sequences.padding == summary.counts.tokens
    options["max_tokens_per_shard"] = 40 * LENGTH
    for workers, batch_bytes in ((1, 1 << 20), (2, 300)):
        place = tmp_path / str(workers)
        made = job(inputs, place, gpt2_like, "npy", workers=workers, batch_bytes=batch_bytes, **options)
        assert made.sequences == summary.sequences
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    with pytest.raises(JobError, match="sequence_length"):
        job(inputs, tmp_path / "out", gpt2_like, "npy", sequence_length=17, **options)


def test_all_is_dropped(gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "so short"}')
    summary = job(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like, "npy")
    assert summary.sequences == (0, 0, 0, summary.counts.tokens)
    assert summary.counts.tokens > 0


def test_what_is_meant_without_a_word() -> None:
    from crayon_hf.corpora.job.options import Options

    for name, format in FORMATS.items():
        concat = Options(name, sequence_length=8).checked()
        assert (concat.packing, concat.remainder) == ("concat", "drop")
        best_fit = Options(name, sequence_length=8, packing="best-fit").checked()
        assert best_fit.remainder == ("keep" if format.has_rows else "pad")
