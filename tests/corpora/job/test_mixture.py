"""Jobs with a mixture of sources: each source is read as often as requested, every task has documents of all sources,
and a seed decides the order."""

from __future__ import annotations

import collections
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import CorpusError, JobError
from crayon_hf.cli import main
from crayon_hf.corpora.job.mixture import sources_of
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import InputFile
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import reference_ids, tasks_of, tree, write_jsonl


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Write sources with files web/0.jsonl, ... Returns each source's texts by its name; the key "at" has the
    directory."""
    directory = tmp_path_factory.mktemp("sources")
    texts = {"at": [str(directory)]}
    for name, files, each in (("web", 8, 60), ("code", 4, 40), ("books", 2, 20)):
        texts[name] = []
        for i in range(files):
            of_file = [f"{name} document {i} {j} is about " + "words " * (j % 7) for j in range(each)]
            write_jsonl(directory / name / f"{i}.jsonl", of_file)
            texts[name] += of_file
    return texts


def mixture(sources: dict[str, list[str]], **keys: dict[str, float]) -> dict[str, Any]:
    return {name: {"inputs": f"{sources['at'][0]}/{name}", **of} for name, of in keys.items()}


job = partial(job_cases.job, group_bytes=12000)


def test_repeats(sources: dict[str, list[str]], gpt2_like: Path, tmp_path: Path) -> None:
    """Each document occurs as often as its source is read, some once more; every task has all sources."""
    given = mixture(sources, web={"repeat": 1}, code={"repeat": 2.5}, books={"repeat": 0.5})
    summary = job(given, tmp_path / "1", gpt2_like)
    names = {
        tuple(ids): (name, text)
        for name in ("web", "code", "books")
        for ids, text in zip(reference_ids(gpt2_like, sources[name]), sources[name], strict=True)
    }
    tasks = [[names[tuple(row)] for row in task] for task in tasks_of(tmp_path / "1")]
    assert len(tasks) > 3
    counts = collections.Counter(each for task in tasks for each in task)
    assert {counts["web", text] for text in sources["web"]} == {1}
    assert {counts["code", text] for text in sources["code"]} == {2, 3}
    assert {counts["books", text] for text in sources["books"]} == {0, 1}
    more = sum(counts["code", text] == 3 for text in sources["code"]) / len(sources["code"])
    some = sum(counts["books", text] for text in sources["books"]) / len(sources["books"])
    assert 0.3 < more < 0.7
    assert 0.2 < some < 0.8
    assert summary.counts.documents == sum(counts.values())
    assert summary.counts.not_chosen == 3 * 160 + 40 - sum(n for (name, _), n in counts.items() if name != "web")
    for task in tasks:
        of = collections.Counter(name for name, _ in task)
        assert of["web"] > 20 < of["code"]
        order = [name for name, _ in task]
        assert order != sorted(order)

    job(given, tmp_path / "3", gpt2_like, workers=3, batch_bytes=500)
    assert tree(tmp_path / "3") == tree(tmp_path / "1")
    assert job(given, tmp_path / "1", gpt2_like).already_done
    job(given, tmp_path / "seed", gpt2_like, seed=1)
    assert tasks_of(tmp_path / "seed") != tasks_of(tmp_path / "1")
    with pytest.raises(JobError, match="mixture was"):
        job(mixture(sources, web={}, code={}, books={}), tmp_path / "1", gpt2_like)


def test_proportions(sources: dict[str, list[str]]) -> None:
    """Proportions become shares of the total bytes of all sources."""
    given = mixture(sources, web={"proportion": 2}, code={"proportion": 6})
    found, repeats = sources_of(given, find_inputs)
    sizes = [sum(file.size for file in found[:8]), sum(file.size for file in found[8:])]
    assert repeats[0].repeat * sizes[0] == pytest.approx(0.25 * sum(sizes))
    assert repeats[1].repeat * sizes[1] == pytest.approx(0.75 * sum(sizes))


def test_no_duplicates_and_held_out(sources: dict[str, list[str]], gpt2_like: Path, tmp_path: Path) -> None:
    """A document that is read again is not its own duplicate, and is held out only once."""
    given = mixture(sources, web={"repeat": 2}, code={"repeat": 1})
    given["again"] = {"inputs": [f"{sources['at'][0]}/web/0.jsonl"]}
    del given["code"]
    summary = job(given, tmp_path / "1", gpt2_like, deduplicate=True, held_out=0.2)
    aside = [tuple(row) for task in tasks_of(tmp_path / "1" / "held-out") for row in task]
    everything = [tuple(ids) for ids in reference_ids(gpt2_like, sources["web"])]
    twice = set(everything[:60])  # the documents of two sources
    assert {aside.count(ids) for ids in aside if ids in twice} == {2}
    assert {aside.count(ids) for ids in aside if ids not in twice} == {1}
    rows = collections.Counter(tuple(row) for task in tasks_of(tmp_path / "1") for row in task)
    assert set(rows) == set(everything) - set(aside)
    # The same file under another name in the mixture has the same documents.
    assert {rows[ids] for ids in everything[:60] if ids in rows} == {3}
    assert {rows[ids] for ids in everything[60:] if ids in rows} == {2}
    assert summary.counts.duplicates == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the mixture is empty"),
        ({"a": "web/"}, "is str"),
        ({"a": {"repeat": 2}}, "no inputs"),
        ({"a": {"inputs": "x", "weight": 2}}, "'weight'"),
        ({"a": {"inputs": []}}, r"inputs are \[\]"),
        ({"a": {"inputs": "x", "repeat": 0}}, "repeat is 0"),
        ({"a": {"inputs": "x", "repeat": "2"}}, "repeat is '2'"),
        ({"a": {"inputs": "x", "repeat": 2000}}, "repeat is 2000"),
        ({"a": {"inputs": "x", "proportion": True}}, "proportion is True"),
        ({"a": {"inputs": "x", "proportion": float("nan")}}, "proportion is nan"),
        ({"a": {"inputs": "x", "repeat": 1, "proportion": 1}}, "give one of them"),
        ({"a": {"inputs": "x", "proportion": 1}, "b": {"inputs": "x"}}, "'b' has none"),
        ({"a": {"inputs": "a.jsonl", "proportion": 1}, "b": {"inputs": "b.jsonl", "proportion": 1}}, "would be read"),
    ],
)
def test_no_mixture(given: Any, message: str, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "a.jsonl", ["a"])
    write_jsonl(tmp_path / "b.jsonl", ["b" * 200_000])
    with pytest.raises(ValueError, match=message):
        job(given, tmp_path / "out", gpt2_like)
    assert not (tmp_path / "out").exists()


def test_a_size_that_nobody_says() -> None:
    with pytest.raises(CorpusError, match="size"):
        sources_of({"a": {"inputs": "http://x/y.txt"}}, lambda paths: [InputFile(paths[0], -1)])


def test_command(sources: dict[str, list[str]], gpt2_like: Path, tmp_path: Path) -> None:
    path = tmp_path / "mixture.json"
    command = ["tokenize", "-o", str(tmp_path / "out"), "-t", str(gpt2_like), "--format", "bin", "--quiet"]
    for text in ("[1]", "{", '{"a": []}'):
        path.write_text(text)
        assert main([*command, "--mix", str(path)]) == 2
    assert main([*command, "--mix", str(tmp_path / "nothing.json")]) == 2
    path.write_text(json.dumps(mixture(sources, web={}, code={"repeat": 2})))
    assert main([*command, str(tmp_path), "--mix", str(path)]) == 2
    assert main([*command, "--mix", str(path), "--workers", "1"]) == 0
    assert sum(len(task) for task in tasks_of(tmp_path / "out")) == 480 + 2 * 160
