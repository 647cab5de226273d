"""`tokenize_shard`: the ids of the reference in every format, whatever the batches, limits, order and bad records."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crayon_hf
from crayon_hf import BadRecordError, JobError
from crayon_hf.corpora import find_inputs
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job.state import Counts
from tests.corpora.job.job_cases import (
    FORMAT_CASES,
    corpus,
    documents_of,
    reference_ids,
    rows_of,
    state_of,
    tokens,
    tree,
    vocabulary_of,
    write_by_hand,
    write_jsonl,
)

EOS = "<|endoftext|>"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory)
    return directory


@pytest.fixture(scope="module")
def texts(inputs: Path) -> list[str]:
    lines = (line for path in sorted(inputs.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines())
    return [json.loads(line)["text"] for line in lines]


def shard(inputs: Any, output: Path, tokenizer: Path, format: str = "bin", **options: Any) -> Any:
    return crayon_hf.tokenize_shard(inputs, output, format, tokenizer=str(tokenizer), **options)


@pytest.mark.parametrize("append_eos", [False, True])
@pytest.mark.parametrize("format", FORMAT_CASES)
def test_every_format_has_the_reference_ids(
    inputs: Path, texts: list[str], gpt2_like: Path, tmp_path: Path, format: str, append_eos: bool
) -> None:
    made = shard(inputs, tmp_path / "ours" / "00000", gpt2_like, format, append_eos=append_eos, batch_bytes=3000)
    eos = json.loads(gpt2_like.read_text("utf-8"))["model"]["vocab"][EOS] if append_eos else None
    rows = reference_ids(gpt2_like, texts)
    if eos is not None:
        rows = [[*row, eos] if row or FORMATS[format].suffix_empty else row for row in rows]
    write_by_hand(format, tmp_path / "hand" / "00000", rows, vocabulary_of(gpt2_like, eos))
    assert tokens(tmp_path / "ours") == tree(tmp_path / "hand")
    size = sum(path.stat().st_size for path in inputs.iterdir())
    assert made.counts == Counts(len(texts), sum(map(len, rows)), sum(len(t.encode()) for t in texts), size, 0)
    assert [(s["name"], s["documents"]) for s in made.shards] == [("00000", len(texts))]
    assert json.loads(json.dumps(made.as_json()))["counts"]["documents"] == len(texts)


@pytest.mark.parametrize("vocabulary", ["llama3_like", "template_like", "wordpiece_like", "qwen_like"])
def test_other_tokenizers(
    inputs: Path, texts: list[str], tmp_path: Path, vocabulary: str, request: pytest.FixtureRequest
) -> None:
    """Special tokens that a template puts around a text; WordPiece by its name or as an object."""
    path: Path = request.getfixturevalue(vocabulary)
    for special in (False, True):
        rows = reference_ids(path, texts, special)
        shard(inputs, tmp_path / f"{special}", path, add_special_tokens=special, batch_bytes=5000)
        assert rows_of(tmp_path / f"{special}") == rows
        opened = crayon_hf.Tokenizer.from_file(path)
        crayon_hf.tokenize_shard(inputs, tmp_path / f"o{special}", "bin", tokenizer=opened, add_special_tokens=special)
        assert rows_of(tmp_path / f"o{special}") == rows


@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_a_delegated_tokenizer(inputs: Path, texts: list[str], gpt2_like: Path, tmp_path: Path) -> None:
    """A component that is not native: the reference encodes, and the files are the same."""
    document = json.loads(gpt2_like.read_text("utf-8"))
    document["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"(?<x>a)\k<x>(?<=a)"}, "behavior": "Isolated", "invert": False},
            document["pre_tokenizer"],
        ],
    }
    path = tmp_path / "delegated.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    if crayon_hf.Tokenizer.from_file(path).engine != "delegated":
        pytest.skip("the engine compiles it")
    shard(inputs, tmp_path / "x", path, append_eos=True, eos=EOS)
    eos = document["model"]["vocab"][EOS]
    assert rows_of(tmp_path / "x") == reference_ids(path, texts, eos=eos)


@pytest.mark.concurrency
@pytest.mark.parametrize("format", ["megatron", "datatrove", pytest.param("parquet", marks=pytest.mark.slow)])
def test_bytes_do_not_depend_on_batches_and_threads(inputs: Path, gpt2_like: Path, tmp_path: Path, format: str) -> None:
    found = []
    for i, (batch_bytes, threads) in enumerate([(1, 1), (700, 2), (4096, 3), (1 << 24, 0)]):
        shard(
            inputs, tmp_path / str(i) / "a", gpt2_like, format, max_tokens_per_shard=500, append_eos=True,
            batch_bytes=batch_bytes, threads=threads,
        )  # fmt: skip
        found.append(tokens(tmp_path / str(i)))
    assert len(found[0]) > 5
    assert all(other == found[0] for other in found)


def test_no_shard_has_more_tokens_than_it_may(gpt2_like: Path, tmp_path: Path) -> None:
    texts = ["a b c", "", "d e", "x y z " * 40, "", "q", "r s", "t", ""] * 4
    write_jsonl(tmp_path / "in.jsonl", texts)
    rows = reference_ids(gpt2_like, texts)
    limit = max(len(row) for row in rows[:3]) + 2
    for batch_bytes in (1, 20, 1 << 20):
        output = tmp_path / f"{batch_bytes}"
        made = shard(tmp_path / "in.jsonl", output, gpt2_like, max_tokens_per_shard=limit, batch_bytes=batch_bytes)
        found = [rows_of(tmp_path / part["name"]) for part in made.shards]
        assert [row for part in found for row in part] == rows  # in order, and none is cut
        for part, after in zip(found, [*found[1:], None], strict=True):
            size = sum(map(len, part))
            assert size <= limit or len([row for row in part if row]) == 1
            assert after is None or size + len(after[0]) > limit  # and none is shorter than it has to be
        assert [part["tokens"] for part in made.shards] == [sum(map(len, part)) for part in found]


@pytest.mark.parametrize("limit", [None, 400])
def test_shuffled_as_datatrove_shuffles(
    inputs: Path, texts: list[str], gpt2_like: Path, tmp_path: Path, limit: int | None
) -> None:
    made = shard(inputs, tmp_path / "x", gpt2_like, shuffle=True, seed=7, max_tokens_per_shard=limit, batch_bytes=900)
    rows = reference_ids(gpt2_like, texts)
    order = np.random.default_rng(7).permutation(len(rows))
    assert [row for part in made.shards for row in rows_of(tmp_path / part["name"])] == [rows[i] for i in order]
    assert len(made.shards) > 1 or limit is None
    assert set(os.listdir(tmp_path / "_crayon")) == {"x.json"}


def test_no_documents_no_files(gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"\n\n")
    for shuffle in (False, True):
        made = shard(tmp_path / "in.jsonl", tmp_path / "out" / f"{shuffle}", gpt2_like, shuffle=shuffle)
        assert (made.shards, made.counts.documents) == ((), 0)
    assert tokens(tmp_path / "out") == {}


def bad_corpus(path: Path) -> list[tuple[int, str]]:
    """Records good and bad; line numbers and what is read of each bad one with "replace"."""
    lines: list[bytes] = []
    bad: list[tuple[int, str]] = []
    for i, text in enumerate(documents_of(60, 3)):
        lines.append(json.dumps({"text": text}).encode())
        if i % 7 == 3:
            kind = (i // 7) % 4
            lines.append([b"{oops", b'{"body": "x"}', b'{"text": null}', b'{"text": "a\xff\xfeb"}'][kind])
            bad.append((len(lines), "a\ufffd\ufffdb" if kind == 3 else ""))
    path.write_bytes(b"\n".join(lines) + b"\n")
    return bad


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_bad_records_are_counted_and_listed(gpt2_like: Path, tmp_path: Path, policy: str, shuffle: bool) -> None:
    path = tmp_path / "in.jsonl"
    bad = bad_corpus(path)
    texts, by_line = documents_of(60, 3), dict(bad)
    expected, good = [], iter(texts)
    for number in range(1, 61 + len(bad)):
        if number in by_line:
            expected += [by_line[number]] if policy == "replace" else []
        else:
            expected.append(next(good))
    rows = reference_ids(gpt2_like, expected)
    if shuffle:
        rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    for batch_bytes in (1, 300, 1 << 20):
        made = shard(
            path, tmp_path / f"{batch_bytes}", gpt2_like, bad_records=policy, batch_bytes=batch_bytes, shuffle=shuffle,
            max_tokens_per_shard=200,
        )  # fmt: skip
        assert [row for part in made.shards for row in rows_of(tmp_path / part["name"])] == rows
        listed = [json.loads(line) for line in Path(made.bad_records_file).read_text("utf-8").splitlines()]
        assert [(record["file"], record["line"]) for record in listed] == [(str(path), number) for number, _ in bad]
        assert all(record["reason"] for record in listed)
        assert made.counts.bad_records == len(bad)


def test_a_bad_record_stops_and_the_call_goes_on_when_it_is_mended(gpt2_like: Path, tmp_path: Path) -> None:
    texts = documents_of(50, 5)
    write_jsonl(tmp_path / "in.jsonl", texts)
    lines = (tmp_path / "in.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "in.jsonl").write_bytes(b"".join([*lines[:40], b"{oops\n", *lines[40:]]))
    with pytest.raises(BadRecordError, match=r"in\.jsonl, line 41: "):
        shard(tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, max_tokens_per_shard=300, batch_bytes=2000)
    there = tokens(tmp_path / "out")
    assert len(there) >= 4  # finished shards stay
    assert not any(name.startswith(".") for name in there)  # and nothing else does
    was = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in there}
    made = shard(
        tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, max_tokens_per_shard=300, bad_records="skip",
    )  # fmt: skip
    assert was == {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in was}  # goes on after these
    assert made.counts.bad_records == 1
    with pytest.raises(JobError, match='bad_records was "skip"'):
        shard(tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, max_tokens_per_shard=300)
    rows = [row for part in made.shards for row in rows_of(tmp_path / "out" / part["name"])]
    assert rows == reference_ids(gpt2_like, texts)


class Interrupted(Exception):
    pass


def stopping(after: int) -> Callable[[Counts], None]:
    """A progress that ends the call, after so many batches."""
    left = after

    def progress(counts: Counts) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupted

    return progress


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("bad_records", ["skip", "replace"])
def test_resumed_after_every_batch(gpt2_like: Path, tmp_path: Path, bad_records: str, shuffle: bool) -> None:
    """Each call gets one batch further than the one before, with batches of another size; nothing is read twice into
    the files, and nothing is lost, bad records neither."""
    bad_corpus(tmp_path / "0.jsonl")
    corpus(tmp_path / "more", 2, 15)
    files = [tmp_path / "0.jsonl", tmp_path / "more"]
    options: dict[str, Any] = {"max_tokens_per_shard": 90, "bad_records": bad_records, "shuffle": shuffle}
    whole = shard(files, tmp_path / "whole" / "x", gpt2_like, **options)
    for after in (0, 3):
        out, calls, made = tmp_path / str(after) / "x", 0, None
        while made is None:
            calls += 1
            assert calls < 200
            try:
                size = (1, 250, 900, 5000)[calls % 4] if calls < 60 else 1 << 20
                made = shard(files, out, gpt2_like, batch_bytes=size, progress=stopping(after + calls // 4), **options)
            except Interrupted:
                pass
        assert calls > 1
        assert tokens(out.parent) == tokens(tmp_path / "whole")
        assert made.counts == whole.counts
        assert Path(made.bad_records_file).read_bytes() == Path(whole.bad_records_file).read_bytes()
        assert state_of(out)["shards"] == state_of(tmp_path / "whole" / "x")["shards"]


def test_a_call_goes_on_where_the_last_one_was(gpt2_like: Path, tmp_path: Path) -> None:
    """It does not begin at the beginning: the first batch that it reads is behind the finished shards."""
    write_jsonl(tmp_path / "in.jsonl", documents_of(200, 2))
    options: dict[str, Any] = {"max_tokens_per_shard": 500, "batch_bytes": 1000}
    with pytest.raises(Interrupted):
        shard(tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, progress=stopping(12), **options)
    state = state_of(tmp_path / "out" / "x")
    done = sum(part["documents"] for part in state["shards"])
    assert done > 20
    assert state["counts"]["documents"] == done
    seen: list[Counts] = []
    made = shard(tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, progress=seen.append, **options)
    assert done < seen[0].documents < done + 40
    assert made.counts.documents == seen[-1].documents == 200


@pytest.mark.parametrize("gone", ["x.tokens", "x.bad-records.jsonl", "../x_00000.bin"])
def test_what_the_state_speaks_of_is_gone(gpt2_like: Path, tmp_path: Path, gone: str) -> None:
    """Then nothing is left to go on from, and it is begun anew."""
    bad_corpus(tmp_path / "in.jsonl")
    options: dict[str, Any] = {"max_tokens_per_shard": 90, "bad_records": "skip", "shuffle": gone == "x.tokens"}
    whole = shard(tmp_path / "in.jsonl", tmp_path / "whole" / "x", gpt2_like, **options)
    out = tmp_path / "out" / "x"
    if options["shuffle"]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("crayon_hf.corpora.job.shuffled.Spool.shuffled", None)
            with pytest.raises(TypeError):
                shard(tmp_path / "in.jsonl", out, gpt2_like, **options)
    else:
        with pytest.raises(Interrupted):
            shard(tmp_path / "in.jsonl", out, gpt2_like, batch_bytes=500, progress=stopping(8), **options)
    path = out.parent / "_crayon" / gone
    assert path.stat().st_size > 0
    os.truncate(path, path.stat().st_size - 1)
    assert shard(tmp_path / "in.jsonl", out, gpt2_like, **options).counts == whole.counts
    assert tokens(out.parent) == tokens(tmp_path / "whole")


def test_a_damaged_state(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    shard(inputs, tmp_path / "x", gpt2_like)
    for data in (b"", b"{}", b"[1]", b'{"schema": "other"}'):
        (tmp_path / "_crayon" / "x.json").write_bytes(data)
        with pytest.raises(JobError, match=r"x\.json is not a state file of crayon-hf tokenize"):
            shard(inputs, tmp_path / "x", gpt2_like)


def test_done_is_done(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    first = shard(inputs, tmp_path / "x", gpt2_like)
    was = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir() if path.is_file()}
    assert shard(inputs, tmp_path / "x", gpt2_like, batch_bytes=100, threads=1) == first
    assert {path: path.stat().st_mtime_ns for path in was} == was
    (tmp_path / "x.bin").unlink()
    assert shard(inputs, tmp_path / "x", gpt2_like) == first  # what is gone is made again
    assert (tmp_path / "x.bin").stat().st_size == 2 * first.counts.tokens


def test_what_differs_is_refused(inputs: Path, gpt2_like: Path, qwen_like: Path, tmp_path: Path) -> None:
    copy = tmp_path / "in.jsonl"
    copy.write_bytes((inputs / "0.jsonl").read_bytes())
    shard(copy, tmp_path / "x", gpt2_like)
    was = tokens(tmp_path)
    with pytest.raises(JobError, match="append_eos was false, is true"):
        shard(copy, tmp_path / "x", gpt2_like, append_eos=True)
    with pytest.raises(JobError, match="tokenizer was"):
        shard(copy, tmp_path / "x", qwen_like)
    with pytest.raises(JobError, match="is new among the inputs"):
        shard([copy, inputs / "1.jsonl"], tmp_path / "x", gpt2_like)
    assert tokens(tmp_path) == was
    copy.write_bytes((inputs / "1.jsonl").read_bytes())
    with pytest.raises(JobError, match=r"in\.jsonl has changed"):
        shard(copy, tmp_path / "x", gpt2_like)
    made = shard(copy, tmp_path / "x", gpt2_like, overwrite=True)
    assert len(rows_of(tmp_path / "x")) == made.counts.documents == len(copy.read_bytes().splitlines())


def test_files_of_others_are_not_touched(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"mine")
    with pytest.raises(JobError, match=r"x\.bin is there"):
        shard(inputs, tmp_path / "x", gpt2_like)
    with pytest.raises(JobError, match=r"x\.bin is there"):
        shard(inputs, tmp_path / "x", gpt2_like, overwrite=True)
    assert tokens(tmp_path) == {"x.bin": b"mine"}


def test_overwriting_leaves_nothing_of_the_old_one(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    shard(inputs, tmp_path / "x", gpt2_like, max_tokens_per_shard=100)
    assert len(tokens(tmp_path)) > 10
    shard(inputs, tmp_path / "x", gpt2_like, "npy", overwrite=True)
    assert set(tokens(tmp_path)) == {"x.npy", "x.row_splits.npy"}


def test_files_that_were_found(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    files = find_inputs([inputs])
    assert shard(files, tmp_path / "x", gpt2_like).shards == shard(inputs, tmp_path / "x", gpt2_like).shards


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"format": "hdf5"}, ValueError, "expected one of megatron, datatrove"),
        ({"bad_records": "ignore"}, ValueError, "expected one of stop, skip, replace"),
        ({"input_format": "xml"}, ValueError, "expected one of text, jsonl"),
        ({"max_tokens_per_shard": 0}, ValueError, "max_tokens_per_shard is 0"),
        ({"batch_bytes": 0}, ValueError, "batch_bytes is 0"),
        ({"separator": ""}, ValueError, "separator is empty"),
        ({"shuffle": 1}, TypeError, "shuffle is int"),
        ({"seed": -1}, OverflowError, "seed is -1"),
        ({"eos": "<none such>"}, JobError, "no token '<none such>'"),
        ({"tokenizer": 3}, TypeError, "tokenizer is int"),
    ],
)
def test_options_that_make_no_sense(
    inputs: Path, gpt2_like: Path, tmp_path: Path, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    arguments = {"format": "bin", "tokenizer": str(gpt2_like), **options}
    with pytest.raises(error, match=says):
        crayon_hf.tokenize_shard(inputs, tmp_path / "out" / "x", **arguments)
    assert not (tmp_path / "out").exists() or tokens(tmp_path / "out") == {}
