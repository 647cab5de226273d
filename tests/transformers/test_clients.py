"""Our tokenizers for transformers in real use: datasets, collators, pipelines, streamers, threads, fork."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import crayon_hf
from tests.transformers.comparing import plain

TEXTS = [f"number {number}: the quick brown fox, déjà vu {'again ' * (number % 7)}" for number in range(60)]


@pytest.fixture
def ours(repositories: dict[str, Path]) -> Any:
    return crayon_hf.AutoTokenizer.from_pretrained(repositories["byte_level"])


@pytest.fixture
def stock(repositories: dict[str, Path]) -> Any:
    return AutoTokenizer.from_pretrained(repositories["byte_level"])


@pytest.mark.slow
def test_datasets_map(ours: Any, stock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict({"text": TEXTS})
    expected = data.map(lambda rows: stock(rows["text"], truncation=True, max_length=16), batched=True)
    for workers in (None, 2):
        mapped = data.map(
            lambda rows: ours(rows["text"], truncation=True, max_length=16), batched=True, num_proc=workers
        )
        assert mapped["input_ids"][:] == expected["input_ids"][:]
        assert mapped["attention_mask"][:] == expected["attention_mask"][:]


@pytest.mark.concurrency
def test_eight_threads(ours: Any, stock: Any) -> None:
    sizes: list[dict[str, Any]] = [
        {},
        {"padding": True},
        {"truncation": True, "max_length": 7},
        {"padding": "max_length", "truncation": True, "max_length": 20},
        {"padding": True, "padding_side": "left", "return_tensors": "np"},
        {"add_special_tokens": False},
        {"max_length": 5},
        {"padding": True, "pad_to_multiple_of": 8},
    ]
    expected = [plain(dict(stock(TEXTS, **size))) for size in sizes]

    def work(number: int) -> bool:
        return all(plain(dict(ours(TEXTS, **sizes[number]))) == expected[number] for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
