"""`tokenize_shard` writes the ids of ``tokenizers`` in every format, for any batch sizes, limits, order and bad
records."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crayon_hf
from crayon_hf import DelegatedWarning
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import encoder
from crayon_hf.corpora.job.state import Counts
from tests.corpora.job.job_cases import (
    FORMAT_CASES,
    documents_of,
    reference_ids,
    rows_of,
    state_of,
    texts_of,
    tokens,
    tree,
    vocabulary_of,
    write_by_hand,
    write_jsonl,
)

EOS = "<|endoftext|>"


@pytest.fixture(scope="module")
def texts(inputs: Path) -> list[str]:
    return texts_of(inputs)


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
    """The ids are right for a tokenizer whose template adds special tokens, and for WordPiece, given as a path or as an
    object."""
    path: Path = request.getfixturevalue(vocabulary)
    for special in (False, True):
        rows = reference_ids(path, texts, special)
        shard(inputs, tmp_path / f"{special}", path, add_special_tokens=special, batch_bytes=5000)
        assert rows_of(tmp_path / f"{special}") == rows
        opened = crayon_hf.Tokenizer.from_file(path)
        crayon_hf.tokenize_shard(inputs, tmp_path / f"o{special}", "bin", tokenizer=opened, add_special_tokens=special)
        assert rows_of(tmp_path / f"o{special}") == rows


@pytest.mark.parametrize("suffix", [(), (7,), (7, 300)])
@pytest.mark.parametrize("of_empty", [True, False])
def test_a_delegated_tokenizer(
    texts: list[str], gpt2_like: Path, monkeypatch: pytest.MonkeyPatch, suffix: tuple[int, ...], of_empty: bool
) -> None:
    """A delegated tokenizer encodes the documents in several calls. A document without tokens gets the suffix only if
    the format wants it."""
    document = json.loads(gpt2_like.read_bytes())
    document["model"]["vocab"]["<far>"] = 1 << 24
    with pytest.warns(DelegatedWarning):
        tokenizer = crayon_hf.Tokenizer.from_str(json.dumps(document))
    monkeypatch.setattr(encoder, "_SLICE", 300)
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    begins = np.concatenate([[0], ends[:-1]])
    writer = encoder.DocumentEncoder(tokenizer, np.dtype("<u4"), suffix, of_empty, False, 1)
    ids, splits = writer.encode(b"".join(encoded), begins, ends)
    rows = [[*row, *suffix] if row or of_empty else row for row in reference_ids(gpt2_like, texts)]
    assert [ids[begin:end].tolist() for begin, end in pairwise(splits)] == rows
    assert ids.dtype == np.dtype("<u4")
    assert "" in texts


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
        assert [row for part in found for row in part] == rows  # in order, and no row is cut
        for part, after in zip(found, [*found[1:], None], strict=True):
            size = sum(map(len, part))
            assert size <= limit or len([row for row in part if row]) == 1
            assert after is None or size + len(after[0]) > limit  # no shard is shorter than necessary
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


def bad_corpus(path: Path) -> list[tuple[int, str]]:
    """Write good and bad records to `path`. Returns the bad records' line numbers, and their texts if bad bytes are
    replaced."""
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


class Interrupted(Exception):
    pass


def stopping(after: int) -> Callable[[Counts], None]:
    """A progress callback that ends the call after `after` batches."""
    left = after

    def progress(counts: Counts) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupted

    return progress


def test_a_call_goes_on_where_the_last_one_was(gpt2_like: Path, tmp_path: Path) -> None:
    """The second call reads all input again, and replaces the shards by equal ones."""
    write_jsonl(tmp_path / "in.jsonl", documents_of(200, 2))
    options: dict[str, Any] = {"max_tokens_per_shard": 500, "batch_bytes": 1000}
    with pytest.raises(Interrupted):
        shard(tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, progress=stopping(12), **options)
    assert not state_of(tmp_path / "out" / "x")["done"]
    done = tokens(tmp_path / "out")
    assert len(done) > 6
    made = shard(tmp_path / "in.jsonl", tmp_path / "out" / "x", gpt2_like, **options)
    assert done.items() <= tokens(tmp_path / "out").items()
    assert made == shard(tmp_path / "in.jsonl", tmp_path / "whole" / "x", gpt2_like, **options)._replace(
        output=made.output
    )
    assert tokens(tmp_path / "out") == tokens(tmp_path / "whole")


@pytest.mark.parametrize("gone", ["_crayon/x.bad-records.jsonl", "x_00000.bin"])
def test_what_the_state_speaks_of_is_gone(gpt2_like: Path, tmp_path: Path, gone: str) -> None:
    """If files that the state lists are missing, the shard is written anew, even if it was finished."""
    bad_corpus(tmp_path / "in.jsonl")
    options: dict[str, Any] = {"max_tokens_per_shard": 90, "bad_records": "skip"}
    whole = shard(tmp_path / "in.jsonl", tmp_path / "whole" / "x", gpt2_like, **options)
    out = tmp_path / "out" / "x"
    shard(tmp_path / "in.jsonl", out, gpt2_like, **options)
    (out.parent / gone).unlink()
    assert shard(tmp_path / "in.jsonl", out, gpt2_like, **options).counts == whole.counts
    assert tokens(out.parent) == tokens(tmp_path / "whole")


def test_arguments_of_other_functions(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    for name in ("colunm", "held_out"):
        with pytest.raises(TypeError, match=rf"tokenize_shard\(\) got an unexpected keyword argument '{name}'"):
            shard(inputs, tmp_path / "out" / "x", gpt2_like, **{name: 0.1})
    assert not (tmp_path / "out").exists()
