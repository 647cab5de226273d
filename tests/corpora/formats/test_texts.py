"""From texts to files and back: what each tool's own reader finds is decoded to the text that went in."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf import Tokenizer
from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary
from tests.conftest import SENTENCES
from tests.corpora.formats.format_cases import Documents
from tests.corpora.formats.megatron_reader import MegatronShard
from tests.corpora.formats.streaming_import import streaming

TEXTS = [*SENTENCES, "", "\n", "x" * 70_000, " ".join(SENTENCES * 30), "\0\ufeff\U0010ffff", ""]


def megatron(prefix: Path, dtype: np.dtype) -> Documents:
    return MegatronShard(prefix).documents()


def datatrove(prefix: Path, dtype: np.dtype) -> Documents:
    """Windows of one token each: all tokens; the ends from the index."""
    dataset = pytest.importorskip("datatrove.utils.dataset")
    read = dataset.DatatroveFileDataset(f"{prefix}.ds", 0, token_size=dtype.itemsize)
    tokens = [int(read[i]["input_ids"][0]) for i in range(len(read))]
    ends = np.fromfile(f"{prefix}.ds.index", np.uint64).tolist()
    return [tokens[a:b] for a, b in itertools.pairwise([0, *ends])]


def npy(prefix: Path, dtype: np.dtype) -> Documents:
    tokens, splits = np.load(f"{prefix}.npy", mmap_mode="r"), np.load(f"{prefix}.row_splits.npy", mmap_mode="r")
    return [tokens[a:b].tolist() for a, b in itertools.pairwise(splits)]


def bare(prefix: Path, dtype: np.dtype) -> Documents:
    tokens, splits = np.memmap(f"{prefix}.bin", dtype, "r"), np.load(f"{prefix}.row_splits.npy")
    return [tokens[a:b].tolist() for a, b in itertools.pairwise(splits)]


def parquet(prefix: Path, dtype: np.dtype) -> Documents:
    datasets = pytest.importorskip("datasets")
    return list(datasets.Dataset.from_parquet(f"{prefix}.parquet", cache_dir=str(prefix.parent))["input_ids"])


def arrow(prefix: Path, dtype: np.dtype) -> Documents:
    return list(pytest.importorskip("datasets").Dataset.from_file(f"{prefix}.arrow")["input_ids"])


def mds(prefix: Path, dtype: np.dtype) -> Documents:
    dataset = streaming().LocalDataset(local=str(prefix))
    return [dataset[i]["tokens"].tolist() for i in range(len(dataset))]


READERS: dict[str, Any] = {
    "megatron": megatron,
    "datatrove": datatrove,
    "npy": npy,
    "bin": bare,
    "parquet": parquet,
    "arrow": arrow,
    "mds": mds,
}

ALONE = ("megatron", "npy", "bin")
"""Read without the library that reads the others."""


@pytest.mark.parametrize("size", ["its own", "large"])
@pytest.mark.parametrize(
    "name", [name if name in ALONE else pytest.param(name, marks=pytest.mark.slow) for name in FORMATS]
)
def test_decoded_to_the_text(name: str, size: str, gpt2_like: Path, tmp_path: Path) -> None:
    """As the vocabulary is, and with the dtype that a large one has."""
    tokenizer = Tokenizer.from_file(str(gpt2_like))
    count = tokenizer.get_vocab_size() if size == "its own" else 200_000
    vocabulary = Vocabulary(count, count - 1, "gpt2-like")
    dtype = FORMATS[name].dtype(vocabulary)
    ids, row_splits = tokenizer.encode_ragged(TEXTS)
    with FORMATS[name].open(str(tmp_path / "00000"), ShardSettings(vocabulary)) as writer:
        writer.write(ids.astype(dtype), row_splits)
        writer.finish()
    documents = READERS[name](tmp_path / "00000", dtype)
    assert documents == [tokenizer.encode(text).ids for text in TEXTS]
    assert [tokenizer.decode(document, skip_special_tokens=False) for document in documents] == TEXTS
