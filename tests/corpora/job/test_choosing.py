"""A job leaves out duplicates and held-out documents, for any number of processes and interruptions."""

from __future__ import annotations

import random
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf import JobError
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.options import Options
from crayon_hf.text_readers.documents import InputFile
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import reference_ids, tasks_of, tree, write_jsonl


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    """The texts of each input file, many repeated within a file and across files; some are empty."""
    chance = random.Random(5)
    return [[f"text {chance.randint(0, 120)} of some" * chance.randint(0, 2) for _ in range(60 + i)] for i in range(4)]


@pytest.fixture(scope="module")
def inputs(texts: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    for i, of_file in enumerate(texts):
        write_jsonl(directory / f"{i}.jsonl", of_file)
    return directory


job = partial(job_cases.job, group_bytes=3000)


def rows(directory: Path) -> list[list[int]]:
    return [row for task in tasks_of(directory) for row in task]


def is_held_out(text: str, share: float) -> bool:
    return int.from_bytes(blake2b(text.encode(), digest_size=16).digest()[:8], "little") < share * 2**64


@pytest.mark.slow
def test_duplicates(inputs: Path, texts: list[list[str]], gpt2_like: Path, tmp_path: Path) -> None:
    """The first occurrence of each text is kept, in its position."""
    summary = job(inputs, tmp_path / "1", gpt2_like, deduplicate=True, batch_bytes=200)
    everything = [text for of_file in texts for text in of_file]
    expected = list(dict.fromkeys(everything))
    assert rows(tmp_path / "1") == reference_ids(gpt2_like, expected)
    assert summary.counts.documents == len(expected) < len(everything)
    assert summary.counts.duplicates == len(everything) - len(expected)
    assert "duplicates left out" in "\n".join(summary.lines())
    assert job(inputs, tmp_path / "1", gpt2_like, deduplicate=True).already_done
    job(inputs, tmp_path / "3", gpt2_like, deduplicate=True, workers=3)
    assert tree(tmp_path / "3") == tree(tmp_path / "1")


def test_parts_of_the_hashes(inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result does not depend on the number of parts in which hashes are compared."""
    job(inputs, tmp_path / "1", gpt2_like, deduplicate=True)
    monkeypatch.setattr(choosing, "_PART", 17)
    job(inputs, tmp_path / "2", gpt2_like, deduplicate=True)
    assert tree(tmp_path / "2") == tree(tmp_path / "1")


@pytest.mark.slow
def test_held_out(inputs: Path, texts: list[list[str]], gpt2_like: Path, tmp_path: Path) -> None:
    """A document's text alone decides whether it is held out: the two directories together have all documents, and no
    text is in both."""
    summary = job(inputs, tmp_path / "1", gpt2_like, held_out=0.3)
    everything = [text for of_file in texts for text in of_file]
    aside = [text for text in everything if is_held_out(text, 0.3)]
    rest = [text for text in everything if not is_held_out(text, 0.3)]
    assert rows(tmp_path / "1") == reference_ids(gpt2_like, rest)
    assert rows(tmp_path / "1" / "held-out") == reference_ids(gpt2_like, aside)
    assert summary.counts.documents == len(rest)
    assert summary.counts.held_out == summary.held_out.counts.documents == len(aside) > 20
    assert summary.held_out.counts.held_out == len(rest)
    assert f"held out: {len(aside)} documents" in "\n".join(summary.lines())
    assert summary.as_json()["held_out_job"]["documents"] == len(aside)
    again = job(inputs, tmp_path / "1", gpt2_like, held_out=0.3)
    assert again.already_done
    assert again.held_out.already_done
    both = job(inputs, tmp_path / "2", gpt2_like, held_out=0.3, deduplicate=True, workers=2)
    assert rows(tmp_path / "2") == reference_ids(gpt2_like, list(dict.fromkeys(rest)))
    assert rows(tmp_path / "2" / "held-out") == reference_ids(gpt2_like, list(dict.fromkeys(aside)))
    assert both.counts.duplicates == len(rest) - len(set(rest))
    assert both.held_out.counts.duplicates == len(aside) - len(set(aside))


def test_an_input_that_changes(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A changed input changes which documents of other files are duplicates. So the job starts over if it has no shard
    yet."""
    for i in range(3):
        write_jsonl(tmp_path / "in" / f"{i}.jsonl", ["one", "two", f"{i}"])
    (tmp_path / "in" / "1.jsonl").open("a").write("{oops\n")
    options: dict[str, Any] = {"deduplicate": True, "group_bytes": 10}
    with pytest.raises(Exception, match="JSON"):
        job(tmp_path / "in", tmp_path / "out", gpt2_like, **options)
    write_jsonl(tmp_path / "in" / "1.jsonl", ["one", "three"])
    job(tmp_path / "in", tmp_path / "out", gpt2_like, **options)
    assert rows(tmp_path / "out") == reference_ids(gpt2_like, ["one", "two", "0", "three", "2"])


def test_damaged_hashes(tmp_path: Path) -> None:
    path, files = tmp_path / "x", [InputFile("a", 1)]
    whole = np.array([*range(6), 3, 1], "<u8").tobytes()  # the hashes of three documents of one file
    (tmp_path / "x.hashes").write_bytes(whole)
    choosing.choose([(str(path), files)], Options(deduplicate=True))
    assert (tmp_path / "x.chosen").read_bytes() == bytes(3)
    for data in (b"", whole[:8], whole[16:], whole[:-1], whole + bytes(8), whole[:-8] + bytes(8)):
        (tmp_path / "x.hashes").write_bytes(data)
        with pytest.raises(JobError, match=r"x\.hashes is damaged"):
            choosing.choose([(str(path), files)], Options(deduplicate=True))
