"""Real Ray: a cluster of two nodes on this machine, with killed workers.

All checks are in one test, since a cluster takes many seconds to start, and each test process would start its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

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
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
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


def files_in(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


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
    expected = files_in(tmp_path / "expected")
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
    assert files_in(out) == expected
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
    assert files_in(tmp_path / "mixed") == files_in(tmp_path / "mixed-here")


def a_killed_worker(
    texts: Path, how: dict[str, Any], expected: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "killed"
    with killing(out, 2) as killed:
        tokenize_corpus_on_ray(texts, out, **how, batch_bytes=1 << 12, tries=5)
    assert len(killed) == 2
    assert files_in(out) == expected
    said = capfd.readouterr().err
    assert said.count("trying again") == 2
    assert f"warning: task {killed[0]}: " in said

    out = tmp_path / "killed-always"
    with killing(out, 2) as killed, pytest.raises(JobError, match=r"2 of 6 tasks not done: task 0000\d: WorkerCrashed"):
        tokenize_corpus_on_ray(texts, out, **how, batch_bytes=1 << 12, tries=1)
    left = 6 - len(list(out.glob("*.ds")))
    assert left == len(set(killed)) == 2
    summary = tokenize_corpus(texts, out, **how, workers=1)  # one machine continues the cluster's job
    assert summary.tokenized.documents < summary.counts.documents
    assert files_in(out) == expected


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


def frozen(out: Path, others: list[str]) -> tuple[str, int]:
    """Stop a worker process in the middle of a task that is not among `others`. Returns the task and the process id."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            with contextlib.suppress(OSError, ValueError):
                title = (entry / "cmdline").read_bytes().rstrip(b"\0").decode()
                task, process = title[-5:], int(entry.name)
                is_wanted = title.startswith("ray::tokenize ") and task not in others
                if is_wanted and is_stopped_at_work(out, task, process):
                    return task, process
        time.sleep(0.002)
    raise AssertionError("no task was at work")


def is_stopped_at_work(out: Path, task: str, process: int) -> bool:
    """Stop a process if it is working on the task. Returns False if it has not begun the task, or has finished it."""
    os.kill(process, signal.SIGSTOP)
    with contextlib.suppress(OSError):
        is_done = json.loads((out / "_crayon" / f"{task}.json").read_bytes())["done"]
        if not is_done and task.encode() in Path(f"/proc/{process}/cmdline").read_bytes():
            return True
    os.kill(process, signal.SIGCONT)
    return False


@contextlib.contextmanager
def killing(out: Path, count: int) -> Iterator[list[str]]:
    """Kill `count` worker processes, each in a different task. Yields the list of these tasks, which grows
    meanwhile."""
    killed: list[str] = []

    def kill() -> None:
        while len(killed) < count:
            task, process = frozen(out, killed)
            killed.append(task)
            os.kill(process, signal.SIGKILL)

    with ThreadPoolExecutor(1) as thread:
        work = thread.submit(kill)
        yield killed
    work.result()
