"""``crayon-hf tokenize``: what it takes, what it says, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crayon_hf.cli import main
from tests.corpora.job.job_cases import corpus, reference_ids, rows_of, tree, write_jsonl
from tests.support.small_disk import mounting

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory)
    return directory


def words(inputs: Path, output: Path, tokenizer: Path, *more: str) -> list[str]:
    return ["tokenize", str(inputs), "-o", str(output), "-t", str(tokenizer), "--format", "bin", *more]


def test_what_it_says(inputs: Path, gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = words(inputs, tmp_path / "out", gpt2_like, "--append-eos", "--group-bytes", "1K")
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'out'}: 3 shards (bin), ")
    assert lines[1] == "documents: 129"
    assert lines[2].startswith("tokens: ")
    assert "bytes per token" in lines[2]
    assert lines[4].startswith("time: ")
    assert main([*arguments, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["documents"], summary["shards"], summary["already_done"]) == (129, 3, True)
    assert summary["tokens"] == sum(len(row) for i in range(3) for row in rows_of(tmp_path / "out" / f"{i:05d}"))
    assert summary["bytes_per_token"] == round(summary["text_bytes"] / summary["tokens"], 4)
    assert main([*arguments, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_text_with_a_separator(gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["one text\nof two lines", "another", "", "the last"]
    (tmp_path / "in.txt").write_text("\n\t\\".join(texts), encoding="utf-8")
    assert main(words(tmp_path / "in.txt", tmp_path / "out", gpt2_like, "--separator", r"\n\t\\")) == 0
    assert rows_of(tmp_path / "out" / "00000") == reference_ids(gpt2_like, texts)
    capsys.readouterr()


def test_a_template_and_special_tokens(llama3_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jsonl(tmp_path / "in.jsonl", ["a", "b"])
    arguments = words(tmp_path / "in.jsonl", tmp_path / "out", llama3_like, "--eos", "<|eot_id|>")
    assert main([*arguments, "--template", "{text}: {text}", "--add-special-tokens"]) == 0
    eot = next(t["id"] for t in json.loads(llama3_like.read_bytes())["added_tokens"] if t["content"] == "<|eot_id|>")
    assert rows_of(tmp_path / "out" / "00000") == reference_ids(llama3_like, ["a: a", "b: b"], True, eot)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (["--format", "hdf5"], 2, "--format"),
        (["--workers", "0"], 2, "--workers is 0"),
        (["--batch-bytes", "0"], 2, "--batch-bytes is 0"),
        (["--batch-bytes", "2048G"], 2, "--batch-bytes is"),
        (["--max-tokens-per-shard", "0"], 2, "--max-tokens-per-shard is 0"),
        (["--separator", ""], 2, "--separator is empty"),
        (["--separator", "\udcff"], 2, "--separator is"),
        (["--template", "{text"], 2, "template '{text'"),
        (["--workers", "two"], 2, "--workers"),
        (["--batch-bytes", "3X"], 2, "--batch-bytes"),
        (["--bad-records", "drop"], 2, "--bad-records"),
        (["--seed", str(1 << 64)], 2, "seed is"),
        (["--eos", "<none>"], 1, "no token '<none>'"),
        (["--column", "body"], 1, "line 1"),
        (["--input-format", "xls"], 2, "--input-format"),
    ],
)
def test_what_it_does_not_take(
    inputs: Path,
    gpt2_like: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    code: int,
    says: str,
) -> None:
    assert main(words(inputs, tmp_path / "out", gpt2_like, "--workers", "1", *more)) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("crayon-hf: error: ")
    assert said.err.count("\n") == 1
    assert says in said.err
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_an_input_that_is_not_there(gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(tmp_path / "no-such-file", tmp_path / "out", gpt2_like)) == 1
    assert "no-such-file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal(gpt2_like: Path, tmp_path: Path, workers: int, name: str) -> None:
    """One line, no process left, nothing half-done in the output; the same command goes on. As a terminal does it,
    SIGINT goes to the whole group."""
    number = getattr(signal, name)
    corpus(tmp_path / "in", 2)
    write_jsonl(tmp_path / "in" / "9.jsonl", ["some words of a text"] * 200_000)  # takes seconds, a line at a time
    arguments = words(tmp_path / "in", tmp_path / "out", gpt2_like, "--group-bytes", "1", "--workers", str(workers))
    arguments += ["--batch-bytes", "100"]
    job = subprocess.Popen(
        [sys.executable, "-m", "crayon_hf", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    states = tmp_path / "out" / "_crayon"
    deadline = time.monotonic() + 60
    while sum(b'"done":true' in path.read_bytes() for path in states.glob("0000[01].json")) < 2:
        assert time.monotonic() < deadline
        assert job.poll() is None, job.communicate()
        time.sleep(0.02)
    if number == signal.SIGINT:
        os.killpg(job.pid, number)
    else:
        job.send_signal(number)
    out, err = job.communicate(timeout=60)
    assert (job.returncode, out) == (128 + number, "")
    assert err == "crayon-hf: interrupted; what is done stays, the same command goes on from there\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(job.pid, 0)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "00000.bin", "00000.row_splits.npy", "00001.bin", "00001.row_splits.npy", "_crayon",
    ]  # fmt: skip


EARLY = """
import os, signal, sys
from crayon_hf.cli import main
def set_and_send(number, handler, set=signal.signal):
    before = set(number, handler)
    if number == signal.SIGTERM:
        os.kill(os.getpid(), number)
    return before
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal = set_and_send
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_signal_before_the_job_begins(gpt2_like: Path, tmp_path: Path) -> None:
    """It has its own code, too."""
    write_jsonl(tmp_path / "in.jsonl", ["a"])
    arguments = words(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like)
    done = subprocess.run([sys.executable, "-c", EARLY, *arguments], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, b"", b"")


FULL = """
import subprocess, sys
from pathlib import Path
from crayon_hf.cli import main
home, out = Path(sys.argv[1]), Path(sys.argv[1]) / "disk"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", out], check=True)
with open(out / "filler", "wb") as file:
    file.write(bytes(int(sys.argv[2])))
words = ["tokenize", str(home / "in"), "-o", str(out / "tokens"), "-t", sys.argv[3], "--group-bytes", "1", "--format",
         sys.argv[4], "--workers", sys.argv[5], "--shuffle", "--quiet"]
codes = [main(words)]
left = [path.name for path in (out / "tokens").iterdir() if path.name.endswith("-tmp")]
(out / "filler").unlink()
codes.append(main(words))
assert left == [], left
assert codes == [1, 0], codes
expected = main([*words[:2], "-o", str(home / "whole"), *words[4:]])
trees = [
    {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for root in (out / "tokens", home / "whole")
]
assert trees[0] == trees[1] and len(trees[0]) > 5
"""


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "format"), [(1, "npy"), (2, "megatron")])
def test_a_full_disk(gpt2_like: Path, tmp_path: Path, workers: int, format: str) -> None:
    """It says so in one line, and goes on when there is room, to the same bytes."""
    (tmp_path / "disk").mkdir()
    private = mounting(tmp_path / "disk")
    corpus(tmp_path / "in", 3, 60)
    done = subprocess.run(
        [*private, sys.executable, "-c", FULL, tmp_path, str(350 << 10), gpt2_like, format, str(workers)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("crayon-hf: error: ")
    assert "o space left on device" in lines[0]
    assert "the same command goes on" in lines[0]
    assert tree(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_signal(gpt2_like: Path, tmp_path: Path, workers: int) -> None:
    """It ends the job at once, and in order: no traceback, no abort of a library that was at work."""
    write_jsonl(tmp_path / "in.jsonl", ["some words of a text"] * 200_000)
    arguments = words(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like, "--workers", str(workers), "--quiet")
    arguments += ["--batch-bytes", "1000", "--group-bytes", "1"]
    for pause in (0.0, 0.002, 0.01, 0.05):
        job = subprocess.Popen(
            [sys.executable, "-m", "crayon_hf", *arguments], stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
        )  # fmt: skip
        state = tmp_path / "out" / "_crayon" / "00000.json"
        state.unlink(missing_ok=True)
        deadline = time.monotonic() + 60
        while not state.exists():
            assert time.monotonic() < deadline
            assert job.poll() is None, job.communicate()
            time.sleep(0.01)
        job.send_signal(signal.SIGINT)
        time.sleep(pause)
        job.send_signal(signal.SIGINT)
        err = job.communicate(timeout=60)[1]
        assert job.returncode == 128 + signal.SIGINT, err
        assert err in ("", "crayon-hf: interrupted; what is done stays, the same command goes on from there\n")


def test_no_document(gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A warning, whatever is asked to be quiet: it is hardly what was meant."""
    write_jsonl(tmp_path / "in.jsonl", ["a", "b"])
    arguments = words(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like, "--column", "nope", "--bad-records", "skip")
    for _ in range(2):
        assert main([*arguments, "--quiet"]) == 0
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("crayon-hf: warning: ")
        assert said.err.endswith("has no document: all 2 records were bad (bad-records.jsonl)\n")
    (tmp_path / "in.jsonl").write_text("\n")
    assert main([*words(tmp_path / "in.jsonl", tmp_path / "empty", gpt2_like), "--quiet"]) == 0
    assert capsys.readouterr().err.endswith("has no document: the inputs have none\n")


def test_a_name_that_is_no_utf8(gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jsonl(tmp_path / "in.jsonl", ["a", "b"])
    out = tmp_path / os.fsdecode(b"out\xff")
    for more in ([], ["--json"]):
        assert main([*words(tmp_path / "in.jsonl", out, gpt2_like), *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path}/out\\udcff: 1 shards")
    assert json.loads(lines[-1])["output"] == str(out)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_standard_output(gpt2_like: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in.jsonl", ["a", "b"])
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crayon_hf", *words(tmp_path / "in.jsonl", tmp_path / "out", gpt2_like)],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "crayon-hf: error: standard output: No space left on device; the job is done\n"


def test_words_of_the_command(gpt2_like: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Messages name options as they are typed, and leave names of files alone."""
    write_jsonl(tmp_path / "eos is" / "in.jsonl", ["a", "b"])
    arguments = words(tmp_path / "eos is" / "in.jsonl", tmp_path / "out", gpt2_like)
    assert main(arguments) == 0
    assert main([*arguments, "--append-eos", "--max-tokens-per-shard", "9"]) == 1
    said = capsys.readouterr().err
    assert "--append-eos was false, is true; --max-tokens-per-shard was null, is 9" in said
    assert main([*words(tmp_path / "eos is" / "gone.jsonl", tmp_path / "out", gpt2_like)]) == 1
    assert f"{tmp_path}/eos is/gone.jsonl" in capsys.readouterr().err
