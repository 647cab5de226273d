"""Columns of ``datasets``: the ids of an ordinary map, and cache files that are found again."""

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
from tests.support.versions import before_1

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
    """A dataset on the disk: a map of one keeps its result in a file beside it."""
    path = tmp_path_factory.mktemp("stored")
    dataset = datasets.Dataset.from_dict({"text": TEXTS, "number": list(range(len(TEXTS)))})
    dataset.save_to_disk(path, num_shards=2)
    return path


@pytest.fixture
def dataset(stored: Path, tmp_path: Path) -> datasets.Dataset:
    """The same in a directory where nothing was mapped yet."""
    shutil.copytree(stored, tmp_path / "dataset", ignore=shutil.ignore_patterns("cache-*"))
    return datasets.load_from_disk(tmp_path / "dataset")


@pytest.fixture(scope="module")
def expected(llama3_like: Path) -> list[list[int] | None]:
    """What people write: a function of lists over the reference, text by text where there is one."""
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


def test_rows_that_were_chosen(dataset: datasets.Dataset, ours: Tokenizer, expected: list[Any]) -> None:
    """Each row is then a chunk of its own."""
    chosen = [5, 3, 3, len(TEXTS) - 1, 11, 0]
    mapped = tokenize_dataset(dataset.select(chosen), ours, attention_mask=True)
    assert mapped["input_ids"][:] == [expected[i] for i in chosen]
    assert mapped["attention_mask"][:] == masks([expected[i] for i in chosen])


def test_every_kind_of_dataset(dataset: datasets.Dataset, ours: Tokenizer, expected: list[Any]) -> None:
    splits = datasets.DatasetDict(train=dataset, test=dataset.select(range(3)))
    mapped = tokenize_dataset(splits, ours)
    assert isinstance(mapped, datasets.DatasetDict)
    assert {name: split["input_ids"][:] for name, split in mapped.items()} == {"train": expected, "test": expected[:3]}

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


def test_a_generator(ours: Tokenizer, expected: list[Any]) -> None:
    """Its nulls taken out, as docs/corpora.md says."""
    source = datasets.IterableDataset.from_generator(lambda: ({"text": text} for text in TEXTS))
    mapped = tokenize_dataset(source.filter(lambda row: row["text"] is not None), ours)
    assert [row["input_ids"] for row in mapped] == [ids for ids in expected if ids is not None]


def test_format_stays(dataset: datasets.Dataset, ours: Tokenizer, expected: list[Any]) -> None:
    mapped = tokenize_dataset(dataset.select(range(3)).with_format("numpy"), ours)
    assert mapped.format["type"] == "numpy"
    assert [row.tolist() for row in mapped["input_ids"][:]] == expected[:3]
    assert tokenize_dataset(dataset.select([]).with_format("numpy"), ours).format["type"] == "numpy"


def test_options_that_change_no_row(dataset: datasets.Dataset, ours: Tokenizer, tmp_path: Path) -> None:
    """They are no part of the fingerprint, and the result is the same."""
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


def test_a_transform_is_refused(dataset: datasets.Dataset, ours: Tokenizer) -> None:
    """Its rows are not the stored ones, and it would be put on the ids as well."""
    with pytest.raises(ValueError, match="the dataset has a transform"):
        tokenize_dataset(dataset.with_transform(lambda batch: {"text": [str(x).upper() for x in batch["text"]]}), ours)


def test_tokenizer_of_transformers(dataset: datasets.Dataset, llama3_like: Path) -> None:
    """Its calls, and the end of text that it knows; what is done with it later changes nothing."""
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
    with pytest.raises(CorpusError, match="there is no column 'body': the columns are text, number"):
        tokenize_dataset(dataset, ours, "body")
    with pytest.raises(CorpusError, match="there is no column 'label'"):
        tokenize_dataset(dataset, ours, keep_columns=["label"])
    with pytest.raises(CorpusError, match="column 'number' is int64, expected string"):
        tokenize_dataset(dataset, ours, "number")
    with pytest.raises(TypeError, match="dataset is list"):
        tokenize_dataset(["text"], ours)
    with pytest.raises(ValueError, match="num_proc is for"):
        tokenize_dataset(dataset.to_iterable_dataset(), ours, num_proc=2)
    with pytest.raises(ValueError, match="cache_file_name is for one dataset"):
        tokenize_dataset(datasets.DatasetDict(a=dataset, b=dataset), ours, cache_file_name="x.arrow")
    for options in ({"drop_last_batch": True}, {"batched": True}, {"features": None}, {"with_indices": True}):
        with pytest.raises(TypeError, match=f"tokenize_dataset has no option {next(iter(options))}: of those of map"):
            tokenize_dataset(dataset, ours, **options)
    with pytest.raises(TypeError, match="no option drop_last_batch: an iterable dataset takes none"):
        tokenize_dataset(dataset.to_iterable_dataset(), ours, drop_last_batch=True)
    for output, kept in (("attention_mask", ()), ("ids", ["attention_mask"]), ("ids", ["ids"]), ("ids", ["a", "a"])):
        with pytest.raises(ValueError, match="the result would have more than one column"):
            BatchTokenizer(ours, output=output, attention_mask=True, keep_columns=kept)
    with pytest.raises(TypeError, match="keep_columns is the str 'number'"):
        tokenize_dataset(dataset, ours, keep_columns="number")
    with pytest.raises(TypeError, match=r'LazyBatch, expected pyarrow\.Table: use dataset\.with_format\("arrow"\)'):
        dataset.map(BatchTokenizer(ours), batched=True)


# -- fingerprints


def test_small_pickles(ours: Tokenizer, llama3_like: Path) -> None:
    table = pa.table({"text": TEXTS})
    in_memory = Tokenizer.from_str(llama3_like.read_text(encoding="utf-8"))
    for tokenizer in (ours, in_memory):
        function = BatchTokenizer(tokenizer, append_eos=True, eos="<|eot_id|>")
        data = pickle.dumps(function)
        assert len(data) < 4096
        again = pickle.loads(data)
        assert again.fingerprint == function.fingerprint
        assert again(table).equals(function(table))


def test_the_fingerprint_of_one_that_was_pickled(ours: Tokenizer, dataset: datasets.Dataset) -> None:
    """With tokens of its own: all that its digest is made of goes with it."""
    function = BatchTokenizer(changed(ours, "add_tokens", ["<x>"]))
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))))
    assert again.fingerprint == function.fingerprint
    assert Hasher.hash(again) == Hasher.hash(function)
    assert (
        tokenize_dataset(dataset, again._tokenizer)._fingerprint
        == tokenize_dataset(dataset, function._tokenizer)._fingerprint
    )


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
    truncating = changed(ours, "enable_truncation", 3)  # plays no part
    same = [BatchTokenizer(ours, threads=1), BatchTokenizer(truncating), BatchTokenizer(str(llama3_like))]
    assert {Hasher.hash(function) for function in same} == {Hasher.hash(made["plain"])}


PROGRAM = """
import json, sys
import crayon_hf, datasets
from crayon_hf.cartridges import cache
from crayon_hf.corpora import datasets as corpora
from datasets.fingerprint import Hasher

stored, source, repository, settled = sys.argv[1:]
if settled == "settled":
    cache.SETTLED_NS = -1 << 62  # files count as old though they were just made

calls = 0
tokenize_column = corpora.tokenize_column
def counted(*arguments, **options):
    global calls
    calls += 1
    return tokenize_column(*arguments, **options)
corpora.tokenize_column = counted

def hashes():
    of_ours = crayon_hf.Tokenizer.from_file(source)
    of_transformers = crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert "_crayon_deferred" in vars(of_transformers)  # what is read late is in this
    for used in (False, True):
        for tokenizer in (of_ours, of_transformers):
            yield Hasher.hash(lambda batch: tokenizer(batch["text"]))
        yield Hasher.hash(corpora.BatchTokenizer(of_ours))
        of_ours.encode_ragged(["some text"])
        of_ours.normalizer, of_ours.get_added_tokens_decoder()
        of_transformers(["some text"], truncation=True, max_length=2)
        of_transformers.get_vocab(), of_transformers._vocab

datasets.disable_progress_bars()
tokenizer = crayon_hf.Tokenizer.from_file(source)
if settled == "settled":
    tokenizer.encode("some text")
found = [list(hashes()), list(hashes())]
mapped = corpora.tokenize_dataset(datasets.load_from_disk(stored), tokenizer)
files = [file["filename"] for file in mapped.cache_files]
print(json.dumps({"calls": calls, "files": files, "mapped": mapped._fingerprint, "hashes": found}))
"""


@pytest.mark.slow
def test_the_same_in_other_processes(dataset: datasets.Dataset, gpt2_like: Path, tmp_path: Path) -> None:
    """Another order of hashes, another cache, another path of the tokenizer, another past: the same cache file."""
    repository = tmp_path / "repository"
    repository.mkdir()
    shutil.copy(gpt2_like, repository / "tokenizer.json")
    config = {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>"}
    (repository / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere.json"
    shutil.copy(gpt2_like, elsewhere)
    stored = str(tmp_path / "dataset")

    def run(seed: int, source: Path, settled: str) -> dict[str, Any]:
        environment = os.environ | {"PYTHONHASHSEED": str(seed), "CRAYON_CACHE_DIR": str(tmp_path / f"cache-{seed}")}
        command = [sys.executable, "-c", PROGRAM, stored, str(source), str(repository), settled]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result

    first, second = run(0, gpt2_like, "new"), run(1, elsewhere, "settled")
    assert first["calls"] > 0
    assert second["calls"] == 0
    assert first["files"] == second["files"]
    assert [Path(file).parent for file in first["files"]] == [tmp_path / "dataset"]
    assert first["mapped"] == second["mapped"]
    ours, of_transformers, batch = first["hashes"][0][:3]
    assert len({ours, of_transformers, batch}) == 3
    for hashes in (*first["hashes"], *second["hashes"]):
        assert hashes == [ours, of_transformers, batch] * 2


@before_1("components written in Python")
@pytest.mark.filterwarnings("ignore:not supported by")
def test_a_component_of_python_has_no_hash(ours: Tokenizer) -> None:
    """Two that differ are nothing that a file can tell apart, so nothing is found again."""
    tokenizer = ours.__copy__()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(object())
    with pytest.raises(crayon_hf.UnsupportedError):
        Hasher.hash(tokenizer)
