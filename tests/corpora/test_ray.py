"""Real Ray: a cluster of two nodes on this machine, with killed workers.

All checks are in one test, since a cluster takes many seconds to start, and each test process would start its own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpora.job.job_cases import tree

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
pytest.importorskip("ray")
pytest.importorskip("datatrove")

import pyarrow as pa
import ray
from ray.cluster_utils import Cluster

from crayon_hf import BadRecordError, CorpusError, JobError, Tokenizer, tokenize_corpus
from crayon_hf.corpora.ray_corpus import tokenize_corpus_on_ray
from crayon_hf.corpora.ray_data import tokenize_dataset

pytestmark = pytest.mark.slow


@pytest.fixture
def two_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Start two nodes of Ray, each with its own cache directory, like two machines. An actor of Ray Data may occupy a
    node's CPU."""
    monkeypatch.chdir(tmp_path)  # workers import from the driver's directory first, which may be the source tree
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(DIES, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), *filter(None, sys.path)]))
    (tmp_path / "tasks-to-kill").mkdir()
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")  # else Ray kills workers if other programs fill the memory
    monkeypatch.setenv("TASKS_TO_KILL", str(tmp_path / "tasks-to-kill"))
    small = {"num_cpus": 2, "object_store_memory": 80 << 20, "memory": 1 << 30}
    cluster = Cluster()
    quick = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    try:
        caches = [{"CRAYON_CACHE_DIR": str(tmp_path / name)} for name in ("cache-0", "cache-1")]
        cluster.add_node(**small, env_vars=caches[0], include_dashboard=False, _system_config=quick)
        cluster.add_node(**small, env_vars=caches[1])
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        ray.data.DataContext.get_current().enable_progress_bars = False
        cluster.wait_for_nodes()
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("two_nodes")
def test_ray(
    gpt2_like: Path,
    training_text: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    a_column(gpt2_like, training_text, tmp_path)
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(6):
        (texts / f"{number}.txt").write_text("\n\n".join(training_text * (number + 4)), encoding="utf-8")
    how = {
        "format": "datatrove",
        "tokenizer": str(gpt2_like),
        "separator": "\n\n",
        "append_eos": True,
        "group_bytes": 1,
    }
    tokenize_corpus(texts, tmp_path / "expected", **how, workers=1)
    expected = tree(tmp_path / "expected")
    assert len(expected) == 6 * 3 + 1
    files(texts, how, expected, tmp_path)
    a_killed_worker(texts, how, expected, tmp_path, capfd)
    what_is_wrong(texts, how, tmp_path)


def a_column(vocabulary: Path, training_text: list[str], tmp_path: Path) -> None:
    texts = [*training_text, None, "", "end"]
    table = pa.table({"id": range(len(texts)), "text": pa.array(texts, pa.string())})
    dataset = ray.data.from_arrow([table.slice(0, 100), table.slice(100)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "driver"))
        tokenizer = Tokenizer.from_file(vocabulary)
        assert tokenizer.engine_report()["cartridge"].startswith(str(tmp_path / "driver"))
        two = ray.data.ActorPoolStrategy(size=2)
        made = tokenize_dataset(dataset, tokenizer, output="ids", eos=tokenizer.id_to_token(7), compute=two)
    expected = [None if text is None else [*tokenizer.encode(text).ids, 7] for text in texts]
    shutil.rmtree(tmp_path / "driver")  # now only the object store has the cartridge
    rows = pa.concat_tables(ray.get(made.to_arrow_refs())).sort_by("id")
    assert rows.column_names == ["id", "text", "ids"]
    assert rows.schema.field("ids").type == pa.list_(pa.int32())
    assert rows["text"].to_pylist() == texts
    assert rows["ids"].to_pylist() == expected
    shipped = [path for node in ("cache-0", "cache-1") for path in (tmp_path / node / "shipped").glob("*.dat")]
    assert len(shipped) == len({path.parent for path in shipped}) > 0  # an actor may have started after the last batch

    made = tokenize_dataset(dataset, str(vocabulary), column="nothing")
    with pytest.raises(Exception, match="no column 'nothing'; it has 'id', 'text'"):
        made.count()
    with pytest.raises(FileNotFoundError, match="no tokenizer 'nobody'"):
        tokenize_dataset(dataset, "nobody")
    with pytest.raises(TypeError, match="tokenizer is int"):
        tokenize_dataset(dataset, 5)


def files(texts: Path, how: dict[str, Any], expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "files"
    assert texts == Path.cwd() / "texts"
    summary = tokenize_corpus_on_ray("texts", "files", **how)  # paths relative to this process, not to Ray's workers
    assert tree(out) == expected
    assert summary.tasks == 6
    assert summary.tokenized == summary.counts
    again = tokenize_corpus_on_ray(texts, out, **how)
    assert again.already_done
    with pytest.raises(TypeError, match="no argument threads: see cpus_per_task"):
        tokenize_corpus_on_ray(texts, out, **how, threads=1)

    # Two epochs of a mixture, packed, with held-out documents.
    mixture = {"a": {"inputs": "texts/0.txt", "repeat": 1.5}, "b": {"inputs": ["texts"]}}
    more = {"deduplicate": True, "held_out": 0.2, "sequence_length": 64, "packing": "best-fit"}
    assert tokenize_corpus_on_ray(mixture, "mixed", **how, **more).counts.duplicates > 0
    mixture = {"a": {"inputs": str(texts / "0.txt"), "repeat": 1.5}, "b": {"inputs": str(texts)}}
    tokenize_corpus(mixture, tmp_path / "mixed-here", **how, **more, workers=1)
    assert tree(tmp_path / "mixed") == tree(tmp_path / "mixed-here")


def a_killed_worker(
    texts: Path, how: dict[str, Any], expected: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "killed"
    with killing(tmp_path, "00001", "00004"):
        tokenize_corpus_on_ray(texts, out, **how, batch_bytes=1 << 12, tries=5)
    assert tree(out) == expected
    said = capfd.readouterr().err
    assert said.count("trying again") == 2
    assert all(f"warning: task {task}: " in said for task in ("00001", "00004"))

    out = tmp_path / "killed-always"
    with (
        killing(tmp_path, "00000", "00003"),
        pytest.raises(JobError, match=r"2 of 6 tasks not done: task 0000\d: WorkerCrashed"),
    ):
        tokenize_corpus_on_ray(texts, out, **how, batch_bytes=1 << 12, tries=1)
    assert sorted(path.name for path in out.glob("*.ds")) == [f"0000{task}.ds" for task in (1, 2, 4, 5)]
    summary = tokenize_corpus(texts, out, **how, workers=1)  # one machine continues the cluster's job
    assert summary.tokenized.documents < summary.counts.documents
    assert tree(out) == expected


def what_is_wrong(texts: Path, how: dict[str, Any], tmp_path: Path) -> None:
    """An unreadable file is named, and the others are finished."""
    broken = tmp_path / "broken"
    shutil.copytree(texts, broken)
    packed = broken / "2.txt.gz"
    packed.write_bytes(b"\x1f\x8b\x08 and then nothing of the kind")
    with pytest.raises(JobError, match=r"1 of 7 tasks not done: .*2\.txt\.gz"):
        tokenize_corpus_on_ray(broken, tmp_path / "broken-out", **how)
    assert len(list((tmp_path / "broken-out").glob("*.ds"))) == 6
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "0.jsonl").write_bytes(b'{"text": "a"}\n{"text": 7}\n')
    with pytest.raises(BadRecordError, match=r"0\.jsonl"):
        tokenize_corpus_on_ray(bad, tmp_path / "bad-out", tokenizer=how["tokenizer"])
    with pytest.raises(CorpusError, match="nothing"):
        tokenize_corpus_on_ray(tmp_path / "nothing", tmp_path / "nothing-out", **how)


# -- processes of Ray


DIES = """
import os, signal, sys
def hook(event, arguments):
    name = os.path.basename(str(arguments[0])) if event == "open" else ""
    if name.startswith(".0000"):
        try:
            os.unlink(f"{os.environ['TASKS_TO_KILL']}/{name[1:6]}")
        except OSError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
"""
"""The sitecustomize.py of Ray's processes. Each file in TASKS_TO_KILL has the name of a task, and kills a worker when
the task opens its first token file."""


@contextlib.contextmanager
def killing(tmp_path: Path, *tasks: str) -> Iterator[None]:
    """Kill a worker process in the middle of each of these tasks."""
    for task in tasks:
        (tmp_path / "tasks-to-kill" / task).touch()
    yield
    assert os.listdir(tmp_path / "tasks-to-kill") == []
