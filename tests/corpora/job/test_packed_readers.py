"""Packed files in the hands of those that train from them: every document is found again, with the position of each
token in its document as that reader gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf.corpora.job.corpus import tokenize_corpus
from tests.corpora.formats.megatron_reader import MegatronShard
from tests.corpora.formats.streaming_import import streaming
from tests.corpora.job.job_cases import corpus, reference_ids

LENGTH = 32
PACKINGS = ("concat", "best-fit")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, 2, 60)
    return directory


def packed(texts: Path, output: Path, tokenizer: Path, format: str, packing: str) -> dict[str, Any]:
    """The manifest; nothing is dropped."""
    remainder = "keep" if format in ("parquet", "arrow", "mds") else "pad"
    tokenize_corpus(
        texts, output, format, tokenizer=str(tokenizer), append_eos=True, sequence_length=LENGTH, packing=packing,
        remainder=remainder, workers=1,
    )  # fmt: skip
    manifest: dict[str, Any] = json.loads((output / "manifest.json").read_bytes())
    return manifest


def documents_of(texts: Path, tokenizer: Path, eos: int) -> list[list[int]]:
    paths = sorted(texts.glob("*.jsonl"))
    lines = [json.loads(line)["text"] for path in paths for line in path.read_text("utf-8").splitlines()]
    return reference_ids(tokenizer, lines, eos=eos)


def pieces_of(ids: list[int], positions: list[int]) -> Iterator[list[int]]:
    """What lies between one position 0 and the next."""
    starts = [i for i, position in enumerate(positions) if position == 0]
    assert starts[:1] == [0]
    for begin, end in pairwise([*starts, len(ids)]):
        assert positions[begin:end] == list(range(end - begin))
        yield ids[begin:end]


def check(pieces: list[list[int]], documents: list[list[int]], packing: str, eos: int) -> None:
    """All documents are there, whole where they fit. What is left is padding, which is the end of text here."""
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


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_datasets(format: str, packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Rows, and the lengths of the pieces in each."""
    rows, manifest = rows_of(texts, tmp_path, gpt2_like, format, packing)
    documents = documents_of(texts, gpt2_like, manifest["eos_id"])
    check(pieces_by_length(rows), documents, packing, manifest["eos_id"])


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKINGS)
def test_trl(packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Its collator of packed rows, padding-free, gives the positions that we say."""
    trl = pytest.importorskip("trl.trainer.sft_trainer")
    rows, _ = rows_of(texts, tmp_path, gpt2_like, "parquet", packing)
    collator = trl.DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
    batch = collator([dict(row) for row in rows])
    ids, positions = batch["input_ids"][0].tolist(), batch["position_ids"][0].tolist()
    assert list(pieces_of(ids, positions)) == pieces_by_length(rows)


def rows_of(texts: Path, tmp_path: Path, tokenizer: Path, format: str, packing: str) -> tuple[Any, dict[str, Any]]:
    """A dataset of ``datasets``, and the manifest."""
    datasets = pytest.importorskip("datasets")
    manifest = packed(texts, tmp_path / "out", tokenizer, format, packing)
    path = str(tmp_path / "out" / f"00000.{format}")
    if format == "parquet":
        rows = datasets.Dataset.from_parquet(path, cache_dir=str(tmp_path / "cache"))
    else:
        rows = datasets.Dataset.from_file(path)
        assert rows.features["seq_lengths"] == datasets.List(datasets.Value("int32"))
    assert rows.column_names == ["input_ids", "seq_lengths"]
    return rows, manifest


def pieces_by_length(rows: Any) -> list[list[int]]:
    pieces = []
    for row in rows:
        assert sum(row["seq_lengths"]) == len(row["input_ids"]) <= LENGTH
        ends = np.cumsum([0, *row["seq_lengths"]]).tolist()
        pieces += [row["input_ids"][begin:end] for begin, end in pairwise(ends)]
    return pieces


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKINGS)
def test_datatrove(packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """It reads one token more than `seq_len`, and finds where documents begin by the index. nanotron uses it."""
    dataset = pytest.importorskip("datatrove.utils.dataset")
    manifest = packed(texts, tmp_path / "out", gpt2_like, "datatrove", packing)
    folder = dataset.DatatroveFolderDataset(
        str(tmp_path / "out"), LENGTH - 1, filename_pattern="*.ds", token_size=2, return_positions=True
    )
    (shard,) = manifest["tasks"][0]["shards"]
    assert len(folder) == shard["sequences"]
    pieces = [
        piece
        for row in (folder[i] for i in range(len(folder)))
        for piece in pieces_of(row["input_ids"].tolist(), row["positions"].tolist())
    ]
    check(pieces, documents_of(texts, gpt2_like, manifest["eos_id"]), packing, manifest["eos_id"])


@pytest.mark.parametrize("packing", PACKINGS)
def test_mosaicml(packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """StreamingDataset gives LLM Foundry rows of `tokens`, of which its collator parts documents after each end of
    text."""
    manifest = packed(texts, tmp_path / "out", gpt2_like, "mds", packing)
    eos = manifest["eos_id"]
    rows = streaming().StreamingDataset(local=str(tmp_path / "out"), batch_size=1)
    found = [rows[i]["tokens"] for i in range(len(rows))]
    del rows
    streaming().base.util.clean_stale_shared_memory()
    assert all(row.dtype == np.int32 and len(row) <= LENGTH for row in found)
    pieces = []
    for row in found:
        ends = [0, *(np.flatnonzero(row == eos) + 1).tolist()]
        ends += [len(row)] * (ends[-1] < len(row))
        pieces += [row[begin:end].tolist() for begin, end in pairwise(ends)]
    documents = documents_of(texts, gpt2_like, eos)
    if packing == "best-fit":  # a document without its end is followed by another
        flat = sorted(token for piece in pieces for token in piece)
        assert flat == sorted(token for document in documents for token in document)
        for document in documents:
            assert len(document) > LENGTH or document in pieces or any(document == p[-len(document) :] for p in pieces)
    else:
        check(pieces, documents, packing, eos)


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKINGS)
def test_megatron(packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Each sequence is one of the index."""
    manifest = packed(texts, tmp_path / "out", gpt2_like, "megatron", packing)
    eos = manifest["eos_id"]
    documents = documents_of(texts, gpt2_like, eos)
    documents = [document for document in documents if document != [eos]]  # Megatron's end of no text is none
    prefix = tmp_path / "out" / "00000"
    shard = MegatronShard(prefix)
    sequences = shard.documents()
    assert {len(sequence) for sequence in sequences} == {LENGTH}
    if packing == "concat":
        check(sequences, documents, packing, eos)


@pytest.mark.slow
@pytest.mark.parametrize("packing", PACKINGS)
def test_gpt_dataset(packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Samples of Megatron-LM's own classes, in their order, are our sequences; positions begin again after each end of
    text."""
    gpt = pytest.importorskip("megatron.core.datasets.gpt_dataset")
    utils = pytest.importorskip("megatron.core.datasets.utils")
    eos = packed(texts, tmp_path / "out", gpt2_like, "megatron", packing)["eos_id"]
    prefix = tmp_path / "out" / "00000"
    sequences = MegatronShard(prefix).documents()
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset").IndexedDataset(str(prefix))
    assert [indexed[i].tolist() for i in range(len(indexed))] == sequences

    class Tokenizer:
        """What GPTDataset asks."""

        eod, pad, vocab_size, unique_identifiers = eos, None, 400, {"class": "test"}

    config = gpt.GPTDatasetConfig(
        random_seed=7,
        sequence_length=LENGTH,
        blend=([str(prefix)], None),
        split="1",
        path_to_cache=str(prefix.parent / "cache"),
        reset_position_ids=True,
        reset_attention_mask=False,
        eod_mask_loss=True,
        create_attention_mask=False,
        tokenizer=Tokenizer(),
        mmap_bin_files=True,
    )
    order = np.arange(len(indexed), dtype=np.int32)
    samples = gpt.GPTDataset(indexed, str(prefix), order, None, utils.Split.train, config)
    seen = [samples[i] for i in range(len(samples))]
    rows = [sample["tokens"].tolist() for sample in seen]
    assert len(rows) in (len(sequences) - 1, len(sequences))  # the last one has no next token
    left = [tuple(sequence) for sequence in sequences]
    for sample, row in zip(seen, rows, strict=True):
        left.remove(tuple(row))
        positions, expected = sample["position_ids"].tolist(), []
        for before in [eos, *row[:-1]]:
            expected.append(0 if before == eos else expected[-1] + 1)
        assert positions == expected
    assert len(left) == len(sequences) - len(rows)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("format", ["npy", "bin"])
def test_numpy(format: str, packing: str, texts: Path, gpt2_like: Path, tmp_path: Path) -> None:
    manifest = packed(texts, tmp_path / "out", gpt2_like, format, packing)
    path = tmp_path / "out" / f"00000.{format}"
    splits = np.load(tmp_path / "out" / "00000.row_splits.npy", mmap_mode="r")
    tokens = np.load(path, mmap_mode="r") if format == "npy" else np.memmap(path, "<u2", "r").reshape(-1, LENGTH)
    assert tokens.shape[1] == LENGTH
    pieces = [tokens.ravel()[begin:end].tolist() for begin, end in pairwise(splits.tolist())]
    check(pieces, documents_of(texts, gpt2_like, manifest["eos_id"]), packing, manifest["eos_id"])
