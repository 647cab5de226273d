"""Packed files, in which documents fill sequences of one length, in the libraries that train from such files: their
readers find every document, and the positions of its tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf.corpora.job.corpus import tokenize_corpus
from tests.corpora.formats.streaming_import import streaming
from tests.corpora.formats.test_megatron import files
from tests.corpora.job.job_cases import reference_ids, texts_of

LENGTH = 32
packings = pytest.mark.parametrize("packing", ["concat", "best-fit"])


def packed(inputs: Path, output: Path, tokenizer: Path, format: str, packing: str, **options: Any) -> int:
    """Write packed files, without dropping any token. Returns the id of the end-of-text token."""
    how = {"append_eos": True, "sequence_length": LENGTH, "packing": packing, "remainder": "pad", **options}
    tokenize_corpus(inputs, output, format, tokenizer=str(tokenizer), workers=1, **how)
    eos: int = json.loads((output / "manifest.json").read_bytes())["eos_id"]
    return eos


def pieces_of(ids: list[int], positions: list[int]) -> Iterator[list[int]]:
    """Split a sequence's ids at each token whose position is 0."""
    starts = [i for i, position in enumerate(positions) if position == 0]
    assert starts[:1] == [0]
    for begin, end in pairwise([*starts, len(ids)]):
        assert positions[begin:end] == list(range(end - begin))
        yield ids[begin:end]


def check(pieces: list[list[int]], inputs: Path, tokenizer: Path, packing: str, eos: int) -> None:
    """Check that `pieces` has all documents, each whole if it fits a sequence. The remaining tokens must be padding,
    for which these files use the end of text."""
    documents = reference_ids(tokenizer, texts_of(inputs), eos=eos)
    if packing == "concat":
        flat = [token for piece in pieces for token in piece]
        whole = [token for document in documents for token in document]
        assert flat[: len(whole)] == whole
        assert set(flat[len(whole) :]) <= {eos}
        return
    left = [tuple(piece) for piece in pieces]
    for document in documents:
        for begin in range(0, len(document), LENGTH):
            left.remove(tuple(document[begin : begin + LENGTH]))
    assert all(set(piece) == {eos} for piece in left)


@packings
@pytest.mark.parametrize("format", ["npy", "bin"])
def test_numpy(format: str, packing: str, inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    eos = packed(inputs, tmp_path / "out", gpt2_like, format, packing)
    path = tmp_path / "out" / f"00000.{format}"
    splits = np.load(tmp_path / "out" / "00000.row_splits.npy", mmap_mode="r")
    tokens = np.load(path, mmap_mode="r") if format == "npy" else np.memmap(path, "<u2", "r").reshape(-1, LENGTH)
    assert tokens.shape[1] == LENGTH
    pieces = [tokens.ravel()[begin:end].tolist() for begin, end in pairwise(splits.tolist())]
    check(pieces, inputs, gpt2_like, packing, eos)


@packings
def test_the_same_sequences(packing: str, inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """LLM Foundry's StreamingTextDataset and Megatron-LM's GPTDataset separate documents at each end of text.
    Megatron's own files have no end of text for a document without tokens."""
    for format in ("npy", "megatron", "mds"):
        packed(inputs, tmp_path / format, gpt2_like, format, packing, append_eos=False)
    sequences = np.load(tmp_path / "npy" / "00000.npy").tolist()
    assert [(tmp_path / "megatron" / f"00000.{ending}").read_bytes() for ending in ("bin", "idx")] == list(
        files(sequences, "H")
    )
    rows = streaming().StreamingDataset(local=str(tmp_path / "mds"), batch_size=1)
    assert [rows[i]["tokens"].tolist() for i in range(len(rows))] == sequences
    del rows
    streaming().base.util.clean_stale_shared_memory()


def pieces_by_length(rows: Any) -> list[list[int]]:
    pieces = []
    for row in rows:
        assert sum(row["seq_lengths"]) == len(row["input_ids"]) <= LENGTH
        ends = np.cumsum([0, *row["seq_lengths"]]).tolist()
        pieces += [row["input_ids"][begin:end] for begin, end in pairwise(ends)]
    return pieces


@pytest.mark.slow
@packings
def test_datasets_and_trl(packing: str, inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Each row has the lengths of its pieces. TRL's padding-free collator makes positions from these lengths."""
    datasets = pytest.importorskip("datasets")
    trl = pytest.importorskip("trl.trainer.sft_trainer")
    for format in ("arrow", "parquet"):
        eos = packed(inputs, tmp_path / format, gpt2_like, format, packing, remainder="keep")
    arrow = datasets.Dataset.from_file(str(tmp_path / "arrow" / "00000.arrow"))
    path = str(tmp_path / "parquet" / "00000.parquet")
    rows = datasets.Dataset.from_parquet(path, cache_dir=str(tmp_path / "cache"))
    assert rows.column_names == ["input_ids", "seq_lengths"]
    assert (arrow.features, arrow[:]) == (rows.features, rows[:])
    pieces = pieces_by_length(rows)
    check(pieces, inputs, gpt2_like, packing, eos)
    collator = trl.DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
    batch = collator([dict(row) for row in rows])
    assert list(pieces_of(batch["input_ids"][0].tolist(), batch["position_ids"][0].tolist())) == pieces


@pytest.mark.slow
@packings
def test_datatrove(packing: str, inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """datatrove's dataset (nanotron uses it) reads one token more than `seq_len`, and finds documents by the index."""
    dataset = pytest.importorskip("datatrove.utils.dataset")
    eos = packed(inputs, tmp_path, gpt2_like, "datatrove", packing)
    folder = dataset.DatatroveFolderDataset(
        str(tmp_path), LENGTH - 1, filename_pattern="*.ds", token_size=2, return_positions=True
    )
    rows = [folder[i] for i in range(len(folder))]
    pieces = [piece for row in rows for piece in pieces_of(row["input_ids"].tolist(), row["positions"].tolist())]
    check(pieces, inputs, gpt2_like, packing, eos)
