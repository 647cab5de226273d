"""Our pipeline steps for datatrove write the same bytes as datatrove's, with every option, under its real executors."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.corpora.job.job_cases import tree

pytest.importorskip("datatrove")

import dill
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.tokens import DocumentTokenizer, MegatronDocumentTokenizer
from tokenizers import Tokenizer

from crayon_hf import CorpusError, JobError, VocabularyError
from crayon_hf.corpora.datatrove import CrayonDocumentTokenizer, CrayonMegatronDocumentTokenizer, TokenizeShards

pytestmark = pytest.mark.slow

EOS = "<|endoftext|>"


def documents(training_text: list[str]) -> list[Document]:
    """Ordinary, empty, long and unusual documents; some have ranges that are excluded from the loss."""
    rng = random.Random(7)
    texts = [*training_text[:90], "", "", "\0", " \n", "a" * 3000, f"before {EOS} after", "🙂", "e\u0301\r\n", ""]
    rng.shuffle(texts)
    ranges = [None, [], [(0, 3)], [(2, 5), (7, 10)], [(1, 10_000)], [(0, 0)], [(4, None)]]
    made = []
    for number, text in enumerate(texts):
        loss = [[a, b if b is not None else len(text)] for a, b in rng.choice(ranges) or []]
        made.append(Document(text=text, id=str(number), metadata={"no_loss_ranges": loss} if text else {}))
    return made


def written(step: Callable[..., Any], out: Path, docs: Iterable[Document], **how: Any) -> tuple[dict[str, bytes], Any]:
    """The files that a pipeline step writes for the documents, and its statistics without times."""
    if how.pop("elsewhere", False):
        how["local_working_dir"] = str(out.parent / f"{out.name}-work")
    made = step(str(out), **how)
    made.run(iter(docs), 3, 5)
    return tree(out), made.stats.to_dict()["stats"]


OPTIONS: list[dict[str, Any]] = [
    {"seed": 1},
    {"seed": 2, "eos_token": EOS, "max_tokens_per_file": 900, "save_filename": "name"},
    {"shuffle_documents": False, "batch_size": 1, "save_index": False, "eos_token": EOS},
    {"shuffle_documents": False, "save_final_metadata": False, "save_loss_metadata": True, "batch_size": 10},
    {
        "seed": 3,
        "save_loss_metadata": True,
        "eos_token": EOS,
        "max_tokens_per_file": 2000,
        "upload_block_size": 1 << 20,
    },
    {"seed": 4, "shuffle_chunk_size": 64, "eos_token": EOS, "elsewhere": True},
    {"seed": 5, "shuffle_documents": False, "shuffle_chunk_size": 100, "max_tokens_per_file": 500, "save_index": False},
]


@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_the_same_bytes_in_every_option(number: int, gpt2_like: Path, training_text: list[str], tmp_path: Path) -> None:
    how = {"tokenizer_name_or_path": str(gpt2_like)} | OPTIONS[number]
    docs = documents(training_text)
    theirs = written(DocumentTokenizer, tmp_path / "theirs", docs, **how)
    ours = written(CrayonDocumentTokenizer, tmp_path / "ours", docs, **how)
    assert ours == theirs
    assert any(len(data) > 1000 for data in ours[0].values())


def test_the_same_bytes_with_every_tokenizer(any_vocabulary: Path, training_text: list[str], tmp_path: Path) -> None:
    """A tokenizer's post-processor applies unless `eos_token` is given. The truncation and padding in its file always
    apply."""
    docs = documents(training_text)
    tokenizer = Tokenizer.from_file(str(any_vocabulary))
    some_token = next(iter(sorted(tokenizer.get_vocab())))
    sized = tmp_path / "sized.json"
    tokenizer.enable_truncation(7)
    tokenizer.enable_padding(pad_id=3, pad_to_multiple_of=4)
    tokenizer.save(str(sized))
    for where, name, eos in (("a", any_vocabulary, None), ("b", any_vocabulary, some_token), ("c", sized, None)):
        how = {"tokenizer_name_or_path": str(name), "eos_token": eos, "batch_size": 20}
        for theirs, ours in (
            (DocumentTokenizer, CrayonDocumentTokenizer),
            (MegatronDocumentTokenizer, CrayonMegatronDocumentTokenizer),
        ):
            more = {"shuffle_documents": False} if theirs is DocumentTokenizer else {}
            parts = [written(step, tmp_path / where / step.__name__, docs, **how, **more) for step in (theirs, ours)]
            assert parts[0] == parts[1]
            assert parts[0][1]["tokens"]["n"] == len(docs)


def test_an_id_that_does_not_fit(gpt2_like: Path, tmp_path: Path) -> None:
    """datatrove chooses the dtype by the number of tokens, but a small vocabulary can have large ids. Its step and ours
    refuse to write an id that does not fit."""
    document = json.loads(gpt2_like.read_text(encoding="utf-8"))
    document["added_tokens"].append({**document["added_tokens"][0], "id": 70_000, "content": "<|far|>"})
    document["model"]["vocab"]["<|far|>"] = 70_000
    path = tmp_path / "far.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    docs = [Document(text="x <|far|>", id="0")]
    with pytest.raises(Exception, match="65535"):
        written(DocumentTokenizer, tmp_path / "theirs", docs, tokenizer_name_or_path=str(path))
    for step in (CrayonDocumentTokenizer, CrayonMegatronDocumentTokenizer):
        with pytest.raises(VocabularyError, match="70000 does not fit"):
            written(step, tmp_path / "ours", docs, tokenizer_name_or_path=str(path), eos_token=None)


def test_names(gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a profile is a valid tokenizer name. For an unknown name, the error says that it is unknown."""
    from crayon_hf import Tokenizer as Ours

    docs = [Document(text="some text", id="0")]
    Ours.from_file(gpt2_like).save(tmp_path / "mine.dat")
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path))
    named, path = (
        written(CrayonDocumentTokenizer, tmp_path / str(i), docs, tokenizer_name_or_path=name, seed=1)[0]
        for i, name in enumerate(("mine", str(gpt2_like)))
    )
    assert named["00003_00000_doc_shuffled.ds"] == path["00003_00000_doc_shuffled.ds"]
    assert named["00003_00000_doc_shuffled.ds.metadata"].startswith(b"mine|2\n")
    for name, eos, error in (("mine", "<none>", ValueError), ("not.json", None, FileNotFoundError)):
        with pytest.raises(error):
            written(CrayonDocumentTokenizer, tmp_path / "x", docs, tokenizer_name_or_path=name, eos_token=eos)
    for text in (None, 7, "\ud800"):
        with pytest.raises(TypeError):
            written(
                CrayonDocumentTokenizer, tmp_path / "y", [Document(text=text, id="1")], tokenizer_name_or_path="mine"
            )  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [CrayonDocumentTokenizer, CrayonMegatronDocumentTokenizer])
def test_pickles(step: type, gpt2_like: Path, tmp_path: Path) -> None:
    """A pickled step has the tokenizer's name instead of the tokenizer, even after the step opened it."""
    made = step(str(tmp_path / "out"), tokenizer_name_or_path=str(gpt2_like), eos_token=EOS)
    before = len(pickle.dumps(made))
    assert made.token_size == 2
    for again in (pickle.loads(pickle.dumps(made)), dill.loads(dill.dumps(made))):
        assert "tokenizer" not in again.__dict__
        assert again.tokenizer.encode("a").ids == made.tokenizer.encode("a").ids
    assert len(pickle.dumps(made)) < before + 100


@pytest.fixture
def rows(training_text: list[str], tmp_path: Path) -> Path:
    """A directory with five parquet files."""
    directory = tmp_path / "in"
    directory.mkdir()
    for number in range(5):
        texts = [*training_text[number * 30 : number * 30 + 20 + number], "last"]
        table = pa.table({"text": texts, "id": [str(i) for i in range(len(texts))]})
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=9)
    return directory


def test_local_executor(rows: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Three tasks in two processes. A lost task is run again alone, and the files are the same."""

    def run(step: Callable[..., Any], name: str, **how: Any) -> tuple[Path, Any]:
        out, logs = tmp_path / name, tmp_path / f"{name}-logs"
        made = step(str(out), tokenizer_name_or_path=str(gpt2_like), eos_token=EOS, seed=11)
        pipeline = [ParquetReader(str(rows)), made]
        executor = LocalPipelineExecutor(pipeline, tasks=3, logging_dir=str(logs), **how)
        return out, executor.run()

    theirs, _ = run(DocumentTokenizer, "theirs", workers=1)
    ours, stats = run(CrayonDocumentTokenizer, "ours", workers=2)
    expected = tree(theirs)
    assert len(expected) == 9
    assert tree(ours) == expected
    assert stats.stats[1].stats["tokens"].n == sum(21 + number for number in range(5))

    for path in [*ours.glob("00001*"), tmp_path / "ours-logs" / "completions" / "00001"]:
        path.unlink()
    kept = {path: path.stat().st_mtime_ns for path in ours.iterdir()}
    again, stats = run(CrayonDocumentTokenizer, "ours", workers=1)
    assert tree(again) == expected
    assert stats.stats[1].stats["tokens"].n == 22 + 25
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


def test_whole_files(rows: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """`TokenizeShards` gives the files of datatrove's reader and tokenizer, locally and in a store. A killed task
    continues."""
    how = {"tokenizer_name_or_path": str(gpt2_like)}

    def run(first: list[Any], name: str, tasks: int, workers: int) -> dict[str, bytes]:
        logs = str(tmp_path / f"{name}-logs")
        LocalPipelineExecutor(first, tasks=tasks, workers=workers, logging_dir=logs).run()
        return tree(tmp_path / name)

    theirs = DocumentTokenizer(str(tmp_path / "theirs"), eos_token=EOS, shuffle_documents=False, **how)
    expected = run([ParquetReader(str(rows)), theirs], "theirs", 2, 1)
    out = str(tmp_path / "ours")
    step = TokenizeShards(str(rows), out, append_eos=True, eos=EOS, glob_pattern="*.parquet", **how)
    found = run([step], "ours", 2, 2)
    stored = TokenizeShards(str(rows), "memory://whole-files", append_eos=True, eos=EOS, **how)
    for rank in range(2):
        stored.run(None, rank, 2)
        for ending in (".ds", ".ds.index", ".ds.metadata"):
            name = f"{rank:05d}{ending}"
            assert found[name] == expected[f"{rank:05d}_unshuffled{ending}"]
            assert found[name] == fsspec.filesystem("memory").cat_file(f"/whole-files/{name}")
    stats = json.loads((tmp_path / "ours-logs" / "stats.json").read_text())[0]["stats"]
    assert stats["documents"]["total"] == 5 * 20 + 10 + 5
    assert stats["input_files"]["total"] == 5

    (tmp_path / "ours-logs" / "completions" / "00001").unlink()  # simulate a killed task
    (tmp_path / "ours" / "00001.ds").unlink()
    assert run([step], "ours", 2, 1) == found
    with pytest.raises(JobError, match=r"1\.parquet is new"):
        step.run(None, 0, 1)
    many = TokenizeShards(str(rows), str(tmp_path / "many"), format="npy", save_filename="x", column="id", **how)
    (rows / "README.md").write_text("# No input")
    names = run([many], "many", 6, 1).keys()  # more tasks than files
    assert {name for name in names if not name.startswith("_crayon")} == {
        f"x_{rank:05d}{ending}" for rank in range(5) for ending in (".npy", ".row_splits.npy")
    }


def test_whole_files_that_cannot_be(rows: Path, gpt2_like: Path, tmp_path: Path) -> None:
    out, name = str(tmp_path / "out"), str(gpt2_like)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README.md").write_text("# No input")
    for arguments, more, error, says in (
        ((str(rows), out, name), {"colunm": "id"}, TypeError, "colunm"),
        ((str(rows), out, name, "arow"), {}, ValueError, "arow"),
        ((str(tmp_path / "notes"), out, name), {}, CorpusError, "known ending"),
        ((str(rows), ("memory://out", {"anything": 1}), name), {}, ValueError, "configuration"),
        ((("memory://in", {"anything": 1}), out, name), {}, ValueError, "configuration"),
        ((str(rows), out, name), {"glob_pattern": "*.txt"}, CorpusError, r"\*\.txt"),
        ((str(rows), out, name), {"column": "nothing"}, CorpusError, "no column 'nothing'"),
    ):
        with pytest.raises(error, match=says):
            TokenizeShards(*arguments, **more).run(None, 0, 1)  # type: ignore[arg-type]
