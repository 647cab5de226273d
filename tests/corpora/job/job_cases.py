"""Input files for tokenization jobs, and the expected output, made by ``tokenizers`` and one call of a format's
writer."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary
from crayon_hf.corpora.job import pool
from crayon_hf.corpora.job.corpus import tokenize_corpus
from tests.conftest import SENTENCES

ALL_FORMATS = ("megatron", "datatrove", "npy", "bin", "parquet", "arrow", "mds")
FORMAT_CASES = [
    pytest.param(name, marks=pytest.mark.slow) if name in ("parquet", "arrow") else name for name in ALL_FORMATS
]
"""The output formats for ``parametrize``. Two of them need pyarrow."""


def documents_of(count: int, seed: int) -> list[str]:
    """Texts of all lengths, some of them empty."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(SENTENCES, k=chance.choice((0, 1, 1, 2, 5)))) for _ in range(count)]


def in_workers(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Run `code` in each worker process of later jobs, before its first task."""
    monkeypatch.setattr(pool, "START", pool.START.replace("main(", f"exec({code!r}, {{}}); main("))


def crayon_threads() -> list[str]:
    """The names of crayon_hf's running threads."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("crayon")]


def write_jsonl(path: Path, texts: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts)), encoding="utf-8")


def corpus(directory: Path, files: int = 3, count: int = 40, seed: int = 1) -> list[list[str]]:
    """Write files 0.jsonl, 1.jsonl, ... into a directory. Returns the texts of each file."""
    texts = [documents_of(count + 3 * i, seed + i) for i in range(files)]
    for i, of_file in enumerate(texts):
        write_jsonl(directory / f"{i}.jsonl", of_file)
    return texts


def texts_of(directory: Path) -> list[str]:
    """The texts of the files of JSON lines in a directory, in order."""
    lines = (line for path in sorted(directory.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines())
    return [json.loads(line)["text"] for line in lines]


def job(inputs: Any, output: Any, tokenizer: Any, format: str = "bin", **options: Any) -> Any:
    """Call `tokenize_corpus` with a `Tokenizer` or the path of one, by default without other processes."""
    tokenizer = str(tokenizer) if isinstance(tokenizer, Path) else tokenizer
    return tokenize_corpus(inputs, output, format, tokenizer=tokenizer, **{"workers": 1, **options})


def tree(directory: Path) -> dict[str, bytes]:
    """The contents of every file below a directory, by its relative path."""
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


def tokens(directory: Path) -> dict[str, bytes]:
    """`tree` without the job's own files below _crayon."""
    return {name: data for name, data in tree(directory).items() if not name.startswith("_crayon")}


def reference_ids(
    tokenizer: Path, texts: Sequence[str], special: bool = False, eos: int | None = None
) -> list[list[int]]:
    """The ids of `tokenizers` for each text, followed by `eos`."""
    encodings = tokenizers.Tokenizer.from_file(str(tokenizer)).encode_batch(list(texts), add_special_tokens=special)
    return [encoding.ids + ([] if eos is None else [eos]) for encoding in encodings]


def vocabulary_of(tokenizer: Path, eos: int | None = None) -> Vocabulary:
    vocab = tokenizers.Tokenizer.from_file(str(tokenizer)).get_vocab()
    return Vocabulary(len(vocab), max(vocab.values()), str(tokenizer), eos)


def write_by_hand(format: str, prefix: Path, rows: Sequence[Sequence[int]], vocabulary: Vocabulary) -> None:
    """Write a shard of the documents `rows` with one call of the format's writer."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    ids = np.array([id for row in rows for id in row], np.int64)
    with FORMATS[format].open(str(prefix), ShardSettings(vocabulary)) as writer:
        writer.write(ids, splits)
        writer.finish()


def rows_of(prefix: Path) -> list[list[int]]:
    """The documents of a shard in the format "bin", for a vocabulary of at most 65,536."""
    splits = np.load(f"{prefix}.row_splits.npy")
    ids = np.fromfile(f"{prefix}.bin", np.uint16)
    return [ids[begin:end].tolist() for begin, end in pairwise(splits)]


def tasks_of(directory: Path) -> list[list[list[int]]]:
    """The documents of each task of a finished job in the format "bin"."""
    manifest = json.loads((directory / "manifest.json").read_bytes())
    return [[row for s in task["shards"] for row in rows_of(directory / s["name"])] for task in manifest["tasks"]]


def state_of(output: Path) -> dict[str, Any]:
    """The state of a task, which the job records beside its output in _crayon."""
    found: dict[str, Any] = json.loads((output.parent / "_crayon" / f"{output.name}.json").read_bytes())
    return found
