"""``crayon-hf tokenize``: its input, its messages, and how it ends after signals and errors."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.shell import failure, good
from tests.corpora.job.job_cases import corpus, rows_of, write_jsonl
from tests.support.command import call


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory)
    return directory


def words(inputs: Path, output: Path, tokenizer: Path, *more: str) -> list[str]:
    return ["tokenize", str(inputs), "-o", str(output), "-t", str(tokenizer), "--format", "bin", *more]


def test_what_it_says(inputs: Path, gpt2_like: Path, tmp_path: Path) -> None:
    arguments = words(inputs, tmp_path / "out", gpt2_like, "--append-eos", "--group-bytes", "1K")
    lines = good(call(*arguments)).splitlines()
    assert lines[0].startswith(f"{tmp_path / 'out'}: 3 shards (bin), ")
    assert lines[1] == "documents: 129"
    assert lines[2].startswith("tokens: ")
    assert "bytes per token" in lines[2]
    assert lines[4].startswith("time: ")
    summary = json.loads(good(call(*arguments, "--json")))
    assert (summary["documents"], summary["shards"], summary["already_done"]) == (129, 3, True)
    assert summary["tokens"] == sum(len(row) for i in range(3) for row in rows_of(tmp_path / "out" / f"{i:05d}"))
    assert summary["bytes_per_token"] == round(summary["text_bytes"] / summary["tokens"], 4)
    assert good(call(*arguments, "--quiet")) == ""


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (["--format", "hdf5"], 2, "--format"),
        (["--workers", "0"], 2, "--workers is 0"),
        (["--batch-bytes", "0"], 2, "--batch-bytes is 0"),
        (["--batch-bytes", "2048G"], 2, "--batch-bytes is"),
        (["--separator", ""], 2, "--separator is empty"),
        (["--separator", "\udcff"], 2, "separator is"),
        (["--template", "{text"], 2, "--template '{text'"),
        (["--batch-bytes", "3X"], 2, "--batch-bytes"),
        (["--seed", str(1 << 64)], 2, "seed is"),
        (["--eos", "<none>"], 1, "no token '<none>'"),
        (["--column", "body"], 1, "line 1"),
    ],
)
def test_what_it_does_not_take(
    inputs: Path, gpt2_like: Path, tmp_path: Path, more: list[str], code: int, says: str
) -> None:
    workers = [] if "--workers" in more else ["--workers", "1"]
    done = call(*words(inputs, tmp_path / "out", gpt2_like, *workers, *more))
    assert says in failure(done, code)
    assert done.stdout == b""
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert "no-such-file" in failure(call(*words(tmp_path / "no-such-file", tmp_path / "none", gpt2_like)))
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal(gpt2_like: Path, tmp_path: Path, workers: int, name: str) -> None:
    """A signal ends the command with one line of message, and leaves no process and no unfinished file. The same
    command continues the work. SIGINT goes to the whole process group, as from a terminal."""
    number = getattr(signal, name)
    corpus(tmp_path / "in", 2)
    block = gzip.compress(b'{"text": "some words of a text"}\n' * 10_000)
    (tmp_path / "in" / "9.jsonl.gz").write_bytes(block * 1000)  # takes minutes
    arguments = words(tmp_path / "in", tmp_path / "out", gpt2_like, "--group-bytes", "1", "--workers", str(workers))
    arguments += ["--batch-bytes", "100"]
    job = subprocess.Popen(
        [sys.executable, "-m", "crayon_hf", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    states = tmp_path / "out" / "_crayon"
    deadline = time.monotonic() + 600
    while sum(b'"done":true' in path.read_bytes() for path in states.glob("0000[01].json")) < 2:
        assert time.monotonic() < deadline
        assert job.poll() is None, job.communicate()
        time.sleep(0.02)
    if number == signal.SIGINT:
        os.killpg(job.pid, number)
    else:
        job.send_signal(number)
    out, err = job.communicate(timeout=600)
    assert (job.returncode, out) == (128 + number, "")
    assert err == "crayon-hf: interrupted; run it again to continue; finished work is kept\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(job.pid, 0)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "00000.bin", "00000.row_splits.npy", "00001.bin", "00001.row_splits.npy", "_crayon",
    ]  # fmt: skip


def test_no_document(gpt2_like: Path, tmp_path: Path) -> None:
    """If no record has a document, the command warns even with --quiet: an empty result is probably a mistake."""
    write_jsonl(tmp_path / "in.jsonl", ["a", "b"])
    arguments = words(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like, "--column", "nope", "--bad-records", "skip")
    for _ in range(2):
        done = call(*arguments, "--quiet")
        assert (done.returncode, done.stdout) == (0, b"")
        assert done.stderr.startswith(b"crayon-hf: warning: ")
        assert done.stderr.endswith(b"has no document: all 2 records were bad (bad-records.jsonl)\n")
    (tmp_path / "in.jsonl").write_text("\n")
    done = call(*words(tmp_path / "in.jsonl", tmp_path / "empty", gpt2_like), "--quiet")
    assert done.stderr.endswith(b"has no document: the inputs have none\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_standard_output(gpt2_like: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in.jsonl", ["a", "b"])
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "crayon_hf", *words(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "crayon-hf: error: standard output: No space left on device; the job is done\n"


def test_names_of_files_in_messages(gpt2_like: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "eos is" / "in.jsonl", ["a", "b"])
    arguments = words(tmp_path / "eos is" / "in.jsonl", tmp_path / "out", gpt2_like)
    good(call(*arguments))
    said = failure(call(*arguments, "--append-eos", "--max-tokens-per-shard", "9"))
    assert "append_eos was off, is on; max_tokens_per_shard was not given, is 9" in said
    done = call(*words(tmp_path / "eos is" / "gone.jsonl", tmp_path / "out", gpt2_like))
    assert f"{tmp_path}/eos is/gone.jsonl" in failure(done)
