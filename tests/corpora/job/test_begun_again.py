"""A job that writes to a directory with an earlier job: which work continues, which files are replaced, and which are
never lost."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf import BadRecordError, CorpusError, FormatError, JobError
from crayon_hf.corpora.job import pool
from tests.corpora.job import job_cases
from tests.corpora.job.job_cases import corpus, rows_of, tokens, tree, write_jsonl

job = partial(job_cases.job, group_bytes=1)


PACKED = {"sequence_length": 16}


@pytest.fixture(autouse=True)
def one_task_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task ends before the next one begins, so that an error stops only later tasks."""
    monkeypatch.setattr(pool, "AT_ONCE", 1)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    corpus(tmp_path / "in", 3, 12)
    return tmp_path / "in"


def spoil(path: Path, line: bytes = b"{oops\n") -> None:
    with open(path, "ab") as file:
        file.write(line)


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"template": "{text"}, ValueError, "template"),
        ({"column": "body"}, BadRecordError, "line 1"),
        ({"eos": "<none such>"}, JobError, "no token '<none such>'"),
        ({"batch_bytes": 1 << 41}, OverflowError, "batch_bytes"),
        ({"batch_bytes": 0}, ValueError, "batch_bytes is 0"),
        ({"max_document_bytes": 1 << 41}, OverflowError, "max_document_bytes"),
        ({"input_format": "text", "template": "{text}"}, ValueError, "column and template are for files with columns"),
        ({"input_format": "xml"}, ValueError, "input_format"),
        ({"separator": "--"}, CorpusError, "a separator is for text files"),
        ({"separator": ""}, ValueError, "separator is empty"),
        ({"format": "hdf5"}, ValueError, "format"),
        ({"bad_records": "ignore"}, ValueError, "bad_records"),
        ({"max_tokens_per_shard": 0}, ValueError, "max_tokens_per_shard is 0"),
        ({"shuffle": 1}, TypeError, "shuffle is int"),
        ({"seed": -1}, OverflowError, "seed is -1"),
        ({"tokenizer": 3}, TypeError, "tokenizer is int"),
        ({"packing": "concat"}, ValueError, "packing needs a sequence length"),
        ({"remainder": "pad"}, ValueError, "remainder needs a sequence length"),
        ({"pad_token": "x"}, ValueError, "pad_token needs a sequence length"),
        ({"sequence_length": 1}, ValueError, "expected 2"),
        ({"sequence_length": 1 << 25}, ValueError, "expected 2"),
        ({**PACKED, "packing": "tight"}, ValueError, "expected one of concat, best-fit"),
        ({**PACKED, "remainder": "cut"}, ValueError, "expected one of drop"),
        ({**PACKED, "remainder": "keep"}, ValueError, "readers of the format bin"),
        ({**PACKED, "packing": "best-fit", "remainder": "drop"}, ValueError, "best-fit"),
        ({**PACKED, "pad_token": "x"}, ValueError, "pad_token is for"),
        ({**PACKED, "max_tokens_per_shard": 10}, ValueError, "max_tokens_per_shard"),
        ({**PACKED, "remainder": "pad", "pad_token": "<nothing>"}, JobError, "no token '<nothing>'"),
        pytest.param({"input_format": "parquet"}, CorpusError, "0.jsonl", marks=pytest.mark.slow),
    ],
)
def test_a_mistake_costs_nothing(
    inputs: Path, gpt2_like: Path, tmp_path: Path, more: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Even with `overwrite`, the old job's files stay until all checks of the new job have passed."""
    job(inputs, tmp_path / "out", gpt2_like)
    was = tree(tmp_path / "out")
    with pytest.raises(error, match=says):
        job(inputs, tmp_path / "out", overwrite=True, **{"tokenizer": gpt2_like, **more})
    assert tree(tmp_path / "out") == was
    if says not in ("line 1", "0.jsonl"):  # noticed when inputs are read
        with pytest.raises(error, match=says):
            job(inputs, tmp_path / "new", **{"tokenizer": gpt2_like, **more})
        assert not (tmp_path / "new").exists()


def test_names_and_vocabularies_are_checked_first(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    job(inputs, tmp_path / "out", gpt2_like)
    was = tree(tmp_path / "out")
    (tmp_path / "z.bin").write_bytes(b"x")
    with pytest.raises(CorpusError, match="known ending"):
        job([inputs, tmp_path / "z.bin"], tmp_path / "out", gpt2_like, overwrite=True)
    wide = json.loads(gpt2_like.read_bytes())
    wide["model"]["vocab"]["<far>"] = 70_000
    (tmp_path / "wide.json").write_text(json.dumps(wide))
    with pytest.raises(FormatError, match="70000"):
        job(inputs, tmp_path / "out", tmp_path / "wide.json", "megatron", overwrite=True)
    with pytest.raises(ValueError, match="no inputs"):
        job([], tmp_path / "out", gpt2_like, overwrite=True)
    assert tree(tmp_path / "out") == was


@pytest.mark.parametrize(("then", "shuffle"), [("skip", False), ("replace", True)])
def test_after_stop_comes_skip(inputs: Path, gpt2_like: Path, tmp_path: Path, then: str, shuffle: bool) -> None:
    """A job stops at a bad record and continues with `bad_records="skip"`. Its finished work is kept, and the result
    equals that of a job that began with "skip"."""
    spoil(inputs / "1.jsonl")
    options: dict[str, Any] = {"max_tokens_per_shard": 100, "shuffle": shuffle, "seed": 3}
    with pytest.raises(BadRecordError, match="skip leaves bad records out"):
        job(inputs, tmp_path / "out", gpt2_like, **options)
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.bin")}
    assert done
    summary = job(inputs, tmp_path / "out", gpt2_like, bad_records=then, **options)
    assert summary.counts.bad_records == 1
    assert {path: path.stat().st_mtime_ns for path in done} == done
    job(inputs, tmp_path / "whole", gpt2_like, bad_records=then, **options)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")
    with pytest.raises(JobError, match="bad_records was"):
        job(inputs, tmp_path / "out", gpt2_like, **options)


def test_an_input_that_is_mended(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """The repaired input is read anew; tokens of other inputs are kept. Finished inputs and tasks may not change."""
    good = (inputs / "2.jsonl").read_bytes()
    spoil(inputs / "2.jsonl")
    with pytest.raises(BadRecordError):
        job(inputs, tmp_path / "out", gpt2_like)
    (inputs / "2.jsonl").write_bytes(good)
    other, time = (inputs / "0.jsonl").read_bytes(), (inputs / "0.jsonl").stat().st_mtime_ns
    (inputs / "0.jsonl").write_bytes(other + b"\n")
    with pytest.raises(JobError, match=r"0\.jsonl has changed"):
        job(inputs, tmp_path / "out", gpt2_like)
    (inputs / "0.jsonl").write_bytes(other)
    os.utime(inputs / "0.jsonl", ns=(5, 5))
    with pytest.raises(JobError, match="same size"):
        job(inputs, tmp_path / "out", gpt2_like)
    os.utime(inputs / "0.jsonl", ns=(time, time))
    summary = job(inputs, tmp_path / "out", gpt2_like)
    assert 0 < summary.tokenized.documents < summary.counts.documents
    job(inputs, tmp_path / "whole", gpt2_like)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_other_tasks_than_before(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """An input that grew moves other inputs into other tasks, so the job cannot continue."""
    write_jsonl(inputs / "0.jsonl", ["first " * 300])
    write_jsonl(inputs / "1.jsonl", ["second"])
    spoil(inputs / "1.jsonl")
    write_jsonl(inputs / "2.jsonl", ["third"])
    with pytest.raises(BadRecordError):
        job(inputs, tmp_path / "out", gpt2_like, group_bytes=1000)
    assert len(rows_of(tmp_path / "out" / "00000")) == 1
    write_jsonl(inputs / "1.jsonl", ["much " * 1000])
    with pytest.raises(JobError, match=r"1\.jsonl has changed"):
        job(inputs, tmp_path / "out", gpt2_like, group_bytes=1000)
    write_jsonl(inputs / "1.jsonl", ["more " * 10])  # still in one task with the third file
    assert job(inputs, tmp_path / "out", gpt2_like, group_bytes=1000).tokenized.documents == 2


FORGED: list[dict[str, Any]] = [
    {"tasks": [{"inputs": [], "shards": [{"name": "00000", "files": [{"name": "../victim/f"}]}]}]},
    {"merged": [{"name": "../victim/f"}]},
    {"settings": {"format": "none", "max_tokens_per_shard": None}},
    {"settings": None},
]


@pytest.mark.parametrize("number", range(len(FORGED) + 1))
def test_a_damaged_manifest(inputs: Path, gpt2_like: Path, tmp_path: Path, number: int) -> None:
    out = tmp_path / "out"
    for path in (tmp_path / "victim" / "f", out / "notes.txt", out / "notes" / "f"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    good = {
        "schema": "crayon-hf/corpus/1", "settings": {"format": "mds", "max_tokens_per_shard": None}, "tasks": [],
        "merged": [], "tokenizer": {}, "counts": {},
    }  # fmt: skip
    forged = {**good, **FORGED[number]} if number < len(FORGED) else {"schema": good["schema"]}
    (out / "manifest.json").write_text(json.dumps(forged))
    was = tree(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(JobError, match=r"manifest\.json is damaged"):
            job(inputs, out, gpt2_like, "mds", overwrite=overwrite)
    assert tree(tmp_path) == was


def test_a_forged_manifest(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A job removes only files with names of its shards, whatever its manifest lists."""
    out = tmp_path / "out"
    job(inputs, out, gpt2_like, "mds")
    for path in (tmp_path / "victim" / "f", out / "notes.txt", out / "notes" / "f"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    forged = json.loads((out / "manifest.json").read_bytes())
    files = [{"name": name, "bytes": 8} for name in ("../victim/f", "00000/../../victim/f", "notes/f", "notes.txt")]
    forged["tasks"][0]["shards"][0].update(name="../victim", files=files)
    forged["merged"] = files
    (out / "manifest.json").write_text(json.dumps(forged))
    job(inputs, out, gpt2_like, "bin", overwrite=True)
    assert [tree(tmp_path)[name] for name in ("victim/f", "out/notes.txt", "out/notes/f")] == [b"precious"] * 3
    assert not [name for name in tree(out) if name.endswith(".mds")]


def test_a_forged_state(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "victim.bin").write_text("precious")
    out = tmp_path / "out"
    crayon_hf.tokenize_shard(inputs, out / "x", "bin", tokenizer=str(gpt2_like))
    state = json.loads((out / "_crayon" / "x.json").read_bytes())
    state["shards"][0]["files"][0]["name"] = "../victim.bin"
    (out / "_crayon" / "x.json").write_text(json.dumps(state))
    (out / "x.bin").unlink()  # the shard is made again, and its files removed before
    for overwrite in (False, True):
        crayon_hf.tokenize_shard(inputs, out / "x", "bin", tokenizer=str(gpt2_like), overwrite=overwrite)
    assert (tmp_path / "victim.bin").read_text() == "precious"
    (out / "_crayon" / "x.json").write_text("{}")
    with pytest.raises(JobError, match="is not a state file of crayon-hf tokenize"):
        crayon_hf.tokenize_shard(inputs, out / "x", "bin", tokenizer=str(gpt2_like))
    with pytest.raises(JobError, match=r"x\.bin exists"):
        crayon_hf.tokenize_shard(inputs, out / "x", "bin", tokenizer=str(gpt2_like), overwrite=True)


def test_overwriting_removes_nothing_of_others(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Files that the job did not write stay, even in its directories. If such a file has the path of an output, the job
    is refused before anything is removed."""
    out = tmp_path / "out"
    job(inputs, out, gpt2_like, "mds")
    (out / "00000" / "precious").write_text("x")
    was = tree(out)
    with pytest.raises(JobError, match=r"00000/precious exists"):
        job(inputs, out, gpt2_like, "mds", overwrite=True)
    assert tree(out) == was
    job(inputs, out, gpt2_like, "bin", overwrite=True)
    assert tree(out)["00000/precious"] == b"x"
    assert not [name for name in tree(out) if name.endswith(".mds")]
    assert not (out / "00001").exists()
    (out / "bad-records.jsonl").write_text("mine")
    with pytest.raises(JobError, match=r"bad-records\.jsonl exists"):
        job(inputs, out, gpt2_like, "npy", overwrite=True)
    (out / "bad-records.jsonl").unlink()
    (out / "00002.idx").write_text("mine")
    was = tree(out)
    with pytest.raises(JobError, match=r"00002\.idx exists"):
        job(inputs, out, gpt2_like, "megatron", overwrite=True)
    assert tree(out) == was


def test_overwriting_removes_the_manifest(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """The old manifest is removed even if the new job does not finish, because it lists files that no longer exist."""
    job(inputs, tmp_path / "out", gpt2_like)
    spoil(inputs / "2.jsonl")
    with pytest.raises(BadRecordError):
        job(inputs, tmp_path / "out", gpt2_like, "npy", overwrite=True)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert not list((tmp_path / "out").glob("*.bin"))


def test_a_shard_beside_files_of_others(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """A shard is refused if a file has the name of one of its later shards, or if its own name is that of another
    output's shard."""
    options: dict[str, Any] = {"tokenizer": str(gpt2_like), "max_tokens_per_shard": 20}
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a_00001.bin").write_text("precious")
    with pytest.raises(JobError, match=r"a_00001\.bin exists"):
        crayon_hf.tokenize_shard(inputs, tmp_path / "f" / "a", "bin", **options)
    crayon_hf.tokenize_shard(inputs, tmp_path / "q" / "a", "bin", **options)
    was = tokens(tmp_path / "q")
    for overwrite in (False, True):
        with pytest.raises(JobError, match=r"a_00000\.bin exists"):
            crayon_hf.tokenize_shard(
                inputs, tmp_path / "q" / "a_00000", "bin", tokenizer=str(gpt2_like), overwrite=overwrite
            )
    assert tokens(tmp_path / "q") == was


def test_other_spellings(inputs: Path, gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other spellings of paths, or of equal options, mean the same job, which keeps its original names."""
    good = (inputs / "2.jsonl").read_bytes()
    shutil.copy(gpt2_like, tmp_path / "tk.json")
    monkeypatch.chdir(tmp_path)
    job("in", tmp_path / "whole", Path("tk.json"))
    time = (inputs / "2.jsonl").stat().st_mtime_ns
    spoil(inputs / "2.jsonl")
    with pytest.raises(BadRecordError):
        job("in", tmp_path / "out", Path("tk.json"))
    (inputs / "2.jsonl").write_bytes(good)
    os.utime(inputs / "2.jsonl", ns=(time, time))
    summary = job(tmp_path / "in", tmp_path / "out", tmp_path / "tk.json", seed=5)
    assert 0 < summary.tokenized.documents < summary.counts.documents
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")
    assert job("./in", tmp_path / "out", tmp_path / "tk.json", bad_records="skip").already_done
    job("in", tmp_path / "dt", Path("tk.json"), "datatrove")
    with pytest.raises(JobError, match="tokenizer was"):  # its name is in the metadata
        job("in", tmp_path / "dt", tmp_path / "tk.json", "datatrove")
