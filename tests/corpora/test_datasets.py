"""`tokenize_dataset` on columns of ``datasets``: the ids of an ordinary `map`, and cache files that later calls
find."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

pytest.importorskip("datasets")

import datasets
import pyarrow as pa
from datasets.fingerprint import Hasher

import crayon_hf
from crayon_hf import CorpusError, Tokenizer
from crayon_hf.corpora.datasets import BatchTokenizer, tokenize_dataset
from tests.conftest import SENTENCES

pytestmark = pytest.mark.slow

TEXTS = [*SENTENCES, None, "", "<|begin_of_text|>"] * 9


@pytest.fixture(autouse=True)
def _quiet() -> None:
    datasets.disable_progress_bars()


@pytest.fixture(scope="module")
def ours(llama3_like: Path) -> Tokenizer:
    return Tokenizer.from_file(llama3_like)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset on disk, so that map caches its result in a file beside it."""
    path = tmp_path_factory.mktemp("stored")
    dataset = datasets.Dataset.from_dict({"text": TEXTS, "number": list(range(len(TEXTS)))})
    dataset.save_to_disk(path, num_shards=2)
    return path


@pytest.fixture
def dataset(stored: Path, tmp_path: Path) -> datasets.Dataset:
    """`stored` in a fresh directory without cached results."""
    shutil.copytree(stored, tmp_path / "dataset", ignore=shutil.ignore_patterns("cache-*"))
    return datasets.load_from_disk(tmp_path / "dataset")


@pytest.fixture(scope="module")
def expected(llama3_like: Path) -> list[list[int] | None]:
    """The ids that an ordinary function for `map` makes with ``tokenizers``."""
    stock = tokenizers.Tokenizer.from_file(str(llama3_like))

    def encode(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {"input_ids": [None if text is None else stock.encode(text).ids for text in batch["text"]]}

    source = datasets.Dataset.from_dict({"text": TEXTS})
    ids: list[list[int] | None] = source.map(encode, batched=True, remove_columns=["text"])["input_ids"][:]
    return ids


def masks(ids: list[list[int] | None]) -> list[list[int] | None]:
    return [None if row is None else [1] * len(row) for row in ids]


@pytest.mark.parametrize("batch_size", [None, 7, 1])
def test_the_ids_of_an_ordinary_map(
    dataset: datasets.Dataset, ours: Tokenizer, expected: list[Any], batch_size: int | None
) -> None:
    mapped = tokenize_dataset(dataset, ours, batch_size=batch_size, attention_mask=True, keep_columns=["number"])
    assert mapped["input_ids"][:] == expected
    assert mapped["attention_mask"][:] == masks(expected)
    assert mapped["number"][:] == list(range(len(TEXTS)))
    schema = mapped.with_format("arrow")[:].schema
    kinds = {"number": pa.int64(), "input_ids": pa.list_(pa.int32()), "attention_mask": pa.list_(pa.int8())}
    assert dict(zip(schema.names, schema.types, strict=True)) == kinds
    assert mapped.features.arrow_schema.types == list(kinds.values())


def test_processes(dataset: datasets.Dataset, ours: Tokenizer, expected: list[Any], llama3_like: Path) -> None:
    in_memory = Tokenizer.from_str(llama3_like.read_text(encoding="utf-8"))
    for tokenizer in (ours, in_memory):
        mapped = tokenize_dataset(dataset, tokenizer, num_proc=2, load_from_cache_file=False)
        assert mapped["input_ids"][:] == expected
        assert len(mapped.cache_files) == 2


def test_every_kind_of_dataset(dataset: datasets.Dataset, ours: Tokenizer, expected: list[Any]) -> None:
    chosen = [5, 3, 3, len(TEXTS) - 1, 11, 0]  # makes each row a separate chunk
    splits = datasets.DatasetDict(train=dataset, test=dataset.select(chosen).with_format("numpy"))
    mapped = tokenize_dataset(splits, ours)
    assert isinstance(mapped, datasets.DatasetDict)
    assert mapped["train"]["input_ids"][:] == expected
    assert mapped["test"].format["type"] == "numpy"
    assert mapped["test"].with_format(None)["input_ids"][:] == [expected[i] for i in chosen]

    iterable = tokenize_dataset(dataset.to_iterable_dataset(num_shards=2), ours, batch_size=5, keep_columns=["number"])
    assert iterable.features == datasets.Features(
        number=datasets.Value("int64"), input_ids=tokenize_dataset(dataset, ours).features["input_ids"]
    )
    rows = list(iterable)
    assert [row["input_ids"] for row in rows] == expected
    assert [row["number"] for row in rows] == list(range(len(TEXTS)))
    both = datasets.IterableDatasetDict(train=dataset.to_iterable_dataset())
    assert [row["input_ids"] for row in tokenize_dataset(both, ours)["train"]] == expected

    empty = tokenize_dataset(dataset.select([]), ours, keep_columns=["number"])
    assert (len(empty), empty.features) == (0, iterable.features)


def test_options_that_change_no_row(dataset: datasets.Dataset, ours: Tokenizer, tmp_path: Path) -> None:
    """Options that change no row are not part of the dataset's fingerprint, and the result is the same."""
    plain = tokenize_dataset(dataset, ours, batch_size=7)
    options = {"keep_in_memory": True, "writer_batch_size": 3, "desc": "X", "load_from_cache_file": False}
    other = tokenize_dataset(dataset, ours, batch_size=len(TEXTS) - 1, **options)
    assert (other["input_ids"][:], other._fingerprint) == (plain["input_ids"][:], plain._fingerprint)
    named = tokenize_dataset(
        dataset,
        ours,
        num_proc=2,
        cache_file_name=str(tmp_path / "x.arrow"),
        suffix_template="-{rank:05d}-{num_proc:05d}",
    )
    assert named["input_ids"][:] == plain["input_ids"][:]
    assert sorted(path.name for path in tmp_path.glob("x*")) == ["x-00000-00002.arrow", "x-00001-00002.arrow"]


def test_tokenizer_of_transformers(dataset: datasets.Dataset, llama3_like: Path) -> None:
    """For a tokenizer of transformers, the column has the ids of calling it, and its end of text. Later changes of the
    tokenizer have no effect."""
    stock = tokenizers.Tokenizer.from_file(str(llama3_like))
    tokenizer = crayon_hf.CrayonTokenizerFast(tokenizer_object=stock, eos_token="<|end_of_text|>")
    texts = [text for text in TEXTS if text is not None]
    source = datasets.Dataset.from_dict({"body": texts})
    ids = tokenizer(texts)["input_ids"]
    function = BatchTokenizer(tokenizer, "body", append_eos=True, output="ids")
    tokenizer.add_tokens(["fox"])
    tokenizer(texts, truncation=True, max_length=3)
    mapped = source.with_format("arrow").map(function, batched=True)
    assert mapped.column_names == ["ids"]
    assert mapped.with_format(None)["ids"][:] == [[*row, tokenizer.eos_token_id] for row in ids]


def test_wrong_arguments(dataset: datasets.Dataset, ours: Tokenizer) -> None:
    iterable, two = dataset.to_iterable_dataset(), datasets.DatasetDict(a=dataset, b=dataset)
    for source, options, error, says in (
        (dataset, {"column": "body"}, CorpusError, "no column 'body'"),
        (dataset, {"keep_columns": ["label"]}, CorpusError, "no column 'label'"),
        (dataset, {"column": "number"}, CorpusError, "expected string"),
        (dataset, {"drop_last_batch": True}, TypeError, "drop_last_batch"),
        (dataset, {"keep_columns": "number"}, TypeError, "keep_columns"),
        (["text"], {}, TypeError, "dataset is list"),
        (iterable, {"num_proc": 2}, ValueError, "num_proc"),
        (iterable, {"keep_in_memory": True}, TypeError, "takes none"),
        (two, {"cache_file_name": "x.arrow"}, ValueError, "cache_file_name"),
        (dataset.with_transform(lambda batch: batch), {}, ValueError, "transform"),
    ):
        with pytest.raises(error, match=says):
            tokenize_dataset(source, ours, **options)  # type: ignore[arg-type]
    for output, kept in (("attention_mask", ()), ("ids", ["attention_mask"]), ("ids", ["ids"]), ("ids", ["a", "a"])):
        with pytest.raises(ValueError, match="more than one column"):
            BatchTokenizer(ours, output=output, attention_mask=True, keep_columns=kept)
    with pytest.raises(TypeError, match=r"with_format\(\"arrow\"\)"):
        dataset.map(BatchTokenizer(ours), batched=True)


# -- fingerprints


def test_the_fingerprint_of_one_that_was_pickled(ours: Tokenizer, llama3_like: Path) -> None:
    """A pickled tokenizer has the same fingerprint, also if it has added tokens or was never in a file."""
    in_memory = Tokenizer.from_str(llama3_like.read_text(encoding="utf-8"))
    table = pa.table({"text": TEXTS})
    for tokenizer in (changed(ours, "add_tokens", ["<x>"]), in_memory):
        function = BatchTokenizer(tokenizer, append_eos=True, eos="<|eot_id|>")
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))))
        assert Hasher.hash(again) == Hasher.hash(function)
        assert again(table).equals(function(table))
    assert len(pickle.dumps(function)) < 4096


OTHERS: dict[str, Callable[[Tokenizer], BatchTokenizer]] = {
    "column": lambda tokenizer: BatchTokenizer(tokenizer, "body"),
    "output": lambda tokenizer: BatchTokenizer(tokenizer, output="ids"),
    "mask": lambda tokenizer: BatchTokenizer(tokenizer, attention_mask=True),
    "special": lambda tokenizer: BatchTokenizer(tokenizer, add_special_tokens=False),
    "eos": lambda tokenizer: BatchTokenizer(tokenizer, append_eos=True, eos="<|eot_id|>"),
    "another eos": lambda tokenizer: BatchTokenizer(tokenizer, append_eos=True, eos="<|end_of_text|>"),
    "keep": lambda tokenizer: BatchTokenizer(tokenizer, keep_columns=["number"]),
    "added": lambda tokenizer: BatchTokenizer(changed(tokenizer, "add_tokens", ["fox"])),
    "added another": lambda tokenizer: BatchTokenizer(changed(tokenizer, "add_tokens", ["dog"])),
    "as text": lambda tokenizer: BatchTokenizer(changed(tokenizer, "__setattr__", "encode_special_tokens", True)),
}


def changed(tokenizer: Tokenizer, method: str, *arguments: Any) -> Tokenizer:
    twin = tokenizer.__copy__()
    getattr(twin, method)(*arguments)
    return twin


def test_what_a_fingerprint_depends_on(ours: Tokenizer, gpt2_like: Path, llama3_like: Path) -> None:
    made = {name: make(ours) for name, make in OTHERS.items()}
    made |= {"plain": BatchTokenizer(ours), "gpt2": BatchTokenizer(Tokenizer.from_file(gpt2_like))}
    made["greedy"] = BatchTokenizer(Tokenizer.from_file(llama3_like, mode="greedy"))
    assert len({function.fingerprint for function in made.values()}) == len(made)
    assert len({Hasher.hash(function) for function in made.values()}) == len(made)
    truncating = changed(ours, "enable_truncation", 3)  # has no effect
    same = [BatchTokenizer(ours, threads=1), BatchTokenizer(truncating), BatchTokenizer(str(llama3_like))]
    assert {Hasher.hash(function) for function in same} == {Hasher.hash(made["plain"])}


PROGRAM = """
import json, sys
import crayon_hf, datasets
from crayon_hf.corpora.datasets import BatchTokenizer, tokenize_dataset
from datasets.fingerprint import Hasher

stored, source, repository = sys.argv[1:]
ours = crayon_hf.Tokenizer.from_file(source)
of_transformers = crayon_hf.AutoTokenizer.from_pretrained(repository)
hashes = []
for used in (False, True):
    for tokenizer in (ours, of_transformers):
        hashes.append(Hasher.hash(lambda batch: tokenizer(batch["text"])))
    hashes.append(Hasher.hash(BatchTokenizer(ours)))
    ours.encode_ragged(["some text"])
    ours.normalizer, ours.get_added_tokens_decoder()
    of_transformers(["some text"], truncation=True, max_length=2)
    of_transformers.get_vocab(), of_transformers._vocab
datasets.disable_progress_bars()
mapped = tokenize_dataset(datasets.load_from_disk(stored), ours)
print(json.dumps([hashes, mapped._fingerprint, [file["filename"] for file in mapped.cache_files]]))
"""


@pytest.mark.slow
def test_the_same_in_other_processes(dataset: datasets.Dataset, gpt2_like: Path, tmp_path: Path) -> None:
    """Processes with another hash seed, cache, path and earlier use of the tokenizer find the same cache file."""
    repository = tmp_path / "repository"
    repository.mkdir()
    shutil.copy(gpt2_like, repository / "tokenizer.json")
    config = {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>"}
    (repository / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    shutil.copy(gpt2_like, tmp_path / "elsewhere.json")

    def run(seed: int, source: Path) -> Any:
        environment = os.environ | {"PYTHONHASHSEED": str(seed), "CRAYON_CACHE_DIR": str(tmp_path / f"cache-{seed}")}
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "dataset"), str(source), str(repository)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    first = run(0, gpt2_like)
    (file,) = {Path(file) for file in first[2]}
    written = file.stat().st_mtime_ns
    assert run(1, tmp_path / "elsewhere.json") == first
    assert (file.parent, file.stat().st_mtime_ns) == (tmp_path / "dataset", written)
    assert len(set(first[0])) == 3
    assert first[0][:3] == first[0][3:]
