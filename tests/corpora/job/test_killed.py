"""Jobs that are killed, before each of their changes to the file system and at random moments; and two jobs at once.

After any of these, the same call ends with the bytes of an undisturbed job.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.corpora.job.job_cases import corpus, tree, write_jsonl

ROOT = Path(__file__).parents[3]

# Jobs run in forks of a process that has imported everything and mapped the tokenizer.
FORKING = (
    f"import sys; sys.path.append({str(ROOT)!r})"
    + """
import json, os, re, shutil, signal, sys, threading, traceback
from pathlib import Path
import numpy, crayon_hf
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import encoder
from crayon_hf.corpora.job import corpus as job
from crayon_hf.corpora.job import packing
from crayon_hf.corpora.job import prefetch
from crayon_hf.corpora.job import documents
from crayon_hf.corpora.job import pool
from crayon_hf.text_readers import files as reading
from crayon_hf.text_readers import plain_text
from crayon_hf.text_readers import json_lines
from tests.corpora.job.job_cases import tree
home, options, TOKENIZER = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
tokenizer = crayon_hf.Tokenizer.from_file(TOKENIZER)
tokenizer.encode("warm")
packing.WINDOW = 256
MIXTURE = {"a": {"inputs": [str(home / "in/0.jsonl")], "repeat": 1.5}, "b": {"inputs": str(home / "in/1.jsonl")}}
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate"}

def start(out, happens=None, nth=0, **more):
    "A job in a child, to which something happens before its nth change to the output."
    child = os.fork()
    if child == 0:
        if nth:
            before_change(nth, str(out), happens)
        try:
            crayon_hf.tokenize_corpus(
                MIXTURE if options.get("seed") == 9 else home / "in", out, tokenizer=tokenizer,
                **{"workers": 1, "threads": 1, "group_bytes": 3000, "batch_bytes": 900, **options, **more},
            )
        except BaseException as error:
            with open(home / "errors", "a") as file:
                file.write("".join(traceback.format_exception(error)))
            os._exit(1)
        os._exit(0)
    return child

def wait(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

ENDINGS = [path[1:] for path in FORMATS[options["format"]].files("x")]

def is_sound(out):
    "Whether files have their names when they are whole, and the one that readers look for comes last."
    there = {name: data for name, data in tree(out).items() if "crayon" not in name}
    last = [name for name in there if re.fullmatch(r"[0-9_]+" + re.escape(ENDINGS[-1]), name)]
    needed = {name.removesuffix(ENDINGS[-1]) + ending for name in last for ending in ENDINGS}
    return there.items() <= whole.items() and needed <= there.keys()

def run(out, nth=0, **more):
    "What a job in a child ended with; it is killed before its nth change to the output."
    return wait(start(out, kill, nth, **more))

def meanwhile(out, nth, other, **more):
    "What a job ended with that stands still before its nth change while `other` is called; and what that returned."
    (ready, tell), (hear, go) = os.pipe(), os.pipe()

    def stand_still():
        os.write(tell, b"!")
        os.read(hear, 1)

    child = start(out, stand_still, nth, **more)
    os.close(tell)
    said = other() if os.read(ready, 1) else None
    os.write(go, b"!")
    code = wait(child)
    for descriptor in (ready, hear, go):
        os.close(descriptor)
    return code, said

def before_change(nth, place, happens):
    seen, lock = 0, threading.Lock()

    def hook(event, arguments):
        nonlocal seen
        writes = event == "open" and arguments[2] is not None and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in CHANGES or writes) and any(str(argument).startswith(place) for argument in arguments[:2]):
            with lock:
                seen += 1
                if seen == nth:
                    happens()

    sys.addaudithook(hook)

said = []
assert run(home / "whole") == 0
whole = tree(home / "whole")
"""
)


def fork(home: Path, tokenizer: Path, options: dict[str, Any], code: str) -> Any:
    """Run code in a forked process, where it can use the functions of FORKING. Returns the value that the code assigns
    to `said`."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING + code + "\nprint(json.dumps(said))\n", home, json.dumps(options), tokenizer],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


KILLED = """
nth = 0
while True:
    nth += 1
    out = home / "out"
    shutil.rmtree(out, ignore_errors=True)
    if (home / "old").exists():
        shutil.copytree(home / "old", out)
    code = run(out, nth, overwrite=OVERWRITE)
    if code == 0:
        break
    sound = OVERWRITE or is_sound(out)
    again = run(out, overwrite=OVERWRITE)
    said.append([nth, code, sound, again, tree(out) == whole])
"""

CASES: dict[str, dict[str, Any]] = {
    "megatron": {"format": "megatron", "append_eos": True},
    "limited": {"format": "datatrove", "max_tokens_per_shard": 300, "bad_records": "skip"},
    "shuffled": {"format": "npy", "shuffle": True, "seed": 3, "max_tokens_per_shard": 300, "bad_records": "replace"},
    "mds": {"format": "mds"},
    "no duplicates": {"format": "npy", "deduplicate": True, "max_tokens_per_shard": 300, "bad_records": "replace"},
    "mixed": {"format": "bin", "deduplicate": True, "seed": 9, "sequence_length": 8, "max_tokens_per_shard": 400},
    "held out": {"format": "bin", "held_out": 0.4},
    "concatenated": {"format": "bin", "sequence_length": 8, "remainder": "pad", "max_tokens_per_shard": 300},
    "best fit": {
        "format": "bin",
        "sequence_length": 8,
        "packing": "best-fit",
        "remainder": "pad",
        "max_tokens_per_shard": 400,
    },
}


def small_corpus(home: Path) -> None:
    corpus(home / "in", 2, 9)
    with open(home / "in" / "1.jsonl", "ab") as file:
        file.write(b"{oops\n")
    write_jsonl(home / "in" / "2.jsonl", ["the last one"])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_killed_before_every_change(tmp_path: Path, gpt2_like: Path, case: str) -> None:
    small_corpus(tmp_path)
    options = {"bad_records": "skip", **CASES[case]}
    rows = fork(tmp_path, gpt2_like, options, "OVERWRITE = False\n" + KILLED)
    assert len(rows) > 15
    assert [row for row in rows if row[1:] != [-signal.SIGKILL, True, 0, True]] == []


@pytest.mark.slow
@pytest.mark.parametrize("old", ["done", "begun", "held out"])
def test_killed_while_another_job_is_overwritten(tmp_path: Path, gpt2_like: Path, old: str) -> None:
    """The overwritten job had other file names. None of its files are left."""
    small_corpus(tmp_path)
    before = f"""
OVERWRITE = True  # another job, which is done, or was killed when some of it was
earlier = dict(format="bin", max_tokens_per_shard=100, held_out={0.4 if old == "held out" else None})
run(home / "old", {45 if old == "begun" else 0}, **earlier)
assert (home / "old" / "manifest.json").exists() is {old != "begun"} and len(tree(home / "old")) > 6
"""
    rows = fork(tmp_path, gpt2_like, {"format": "megatron", "bad_records": "skip"}, before + KILLED)
    assert len(rows) > 30
    assert [row for row in rows if row[1:] != [-signal.SIGKILL, True, 0, True]] == []


AT_ONCE = """
nth = 0
while True:
    nth += 1
    out = home / "out"
    shutil.rmtree(out, ignore_errors=True)
    killed = nth * 7 % 31 if nth % 2 else 0
    errors = home / "errors"
    errors.write_text("")
    code, other = meanwhile(out, nth, lambda: run(out, killed))
    if other is None:
        break
    ended = other in ((0, -signal.SIGKILL) if killed else (0,))
    said.append([nth, errors.read_text() if code else 0, ended, tree(out) == whole])
    if run(out) != 0 or tree(out) != whole or (out / "_crayon").exists():
        said.append([nth, "then", sorted(set(tree(out)) ^ set(whole))])
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_at_once(tmp_path: Path, gpt2_like: Path, case: str) -> None:
    """Before each change of one job, another process runs the same job, to its end or until it is killed."""
    small_corpus(tmp_path)
    options = {"bad_records": "skip", **CASES[case]}
    rows = fork(tmp_path, gpt2_like, options, AT_ONCE)
    assert len(rows) > 15
    assert [row for row in rows if row[1:] != [0, True, True]] == []


SYNCED = """
import collections
order = []
real = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "link")}
def name_of(descriptor):
    return os.readlink(f"/proc/self/fd/{descriptor}")
def fsync(descriptor):
    order.append(("fsync", name_of(descriptor if isinstance(descriptor, int) else descriptor.fileno())))
    real["fsync"](descriptor)
def renaming(name):
    def rename(source, target, **more):
        order.append(("rename", os.fspath(source), os.fspath(target)))
        real[name](source, target, **more)
    return rename
os.fsync, os.replace, os.rename, os.link = fsync, renaming("replace"), renaming("rename"), renaming("link")
crayon_hf.tokenize_corpus(home / "in", home / "out", tokenizer=tokenizer, workers=1, group_bytes=3000, **options)
said = order
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc")
@pytest.mark.parametrize("case", ["megatron", "limited", "shuffled"])
def test_what_a_state_says_is_on_the_disk(tmp_path: Path, gpt2_like: Path, case: str) -> None:
    """A task's files are synced to disk before they are renamed, and the renames before the state that lists the files
    is replaced. Two tasks run at once."""
    small_corpus(tmp_path)
    order = fork(tmp_path, gpt2_like, {"bad_records": "skip", **CASES[case]}, SYNCED)
    synced: set[str] = set()
    unsynced: set[str] = set()  # names
    placed: set[str] = set()
    states, counted = 0, 0
    for what, *names in order:
        if what == "fsync":
            synced.add(names[0])
            unsynced = {name for name in unsynced if os.path.dirname(name) != names[0]}
            continue
        source, target = names
        assert source in synced, source
        if os.path.basename(os.path.dirname(target)) == "_crayon":
            states += 1
            task = os.path.basename(target).partition(".")[0]
            of_others = [name for name in unsynced if os.path.dirname(name) != os.path.dirname(target)]
            assert [name for name in of_others if not task.isdigit() or os.path.basename(name).startswith(task)] == []
            if task.isdigit():
                lists = f"{target.removesuffix('json')}bad-records."
                counted += any(name.startswith(lists) for name in placed)
                assert not any(name.startswith(lists) for name in unsynced)
        unsynced.add(target)
        placed.add(target)
    assert states > 4
    assert counted > 0  # one task has a bad record
    assert unsynced == set()


def start(home: Path, out: Path | str, tokenizer: Path, workers: int) -> subprocess.Popen[str]:
    """Start `crayon-hf tokenize` in its own process group."""
    command = [
        sys.executable, "-m", "crayon_hf", "tokenize", home / "in", "-o", out, "-t", tokenizer, "--append-eos",
        "--group-bytes", "100K", "--batch-bytes", "20K", "--max-tokens-per-shard", "5000", "--bad-records", "replace",
        "--workers", str(workers), "--quiet",
    ]  # fmt: skip
    return subprocess.Popen(
        list(map(str, command)), start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


ENDINGS = (("SIGKILL", True), ("SIGKILL", False), ("SIGINT", True), ("SIGTERM", False))
"""Signals, and whether the whole process group gets them. If only the job's main process gets one, its workers must
notice."""


def end(job: subprocess.Popen[str], name: str, is_for_all: bool) -> bool:
    """Send a signal to the job; return whether the job handled it and ended in order. The job may have finished before,
    or not have begun."""
    number = getattr(signal, name)
    if is_for_all:
        os.killpg(job.pid, number)
    else:
        job.send_signal(number)
    said = job.communicate(timeout=600)[1]
    assert job.returncode in (-number, 128 + number, 0) or "KeyboardInterrupt" in said, (
        said
    )  # before crayon_hf.cli is imported
    return job.returncode == 128 + number


def temporaries(out: Path) -> set[str]:
    """The names of temporary files in the output directory."""
    return {name for name in tree(out) if name.endswith("tmp")} if out.exists() else set()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ended_at_twenty_random_moments(tmp_path: Path, gpt2_like: Path, workers: int) -> None:
    """The job is ended by SIGKILL, and by signals that end it in order."""
    corpus(tmp_path / "in", 6, 250)
    with open(tmp_path / "in" / "3.jsonl", "ab") as file:
        file.write(b"{oops\n")
    began = time.monotonic()
    whole = start(tmp_path, tmp_path / "whole", gpt2_like, workers)
    assert whole.communicate()[1] == ""
    assert whole.returncode == 0
    seconds = time.monotonic() - began
    expected = tree(tmp_path / "whole")
    assert len(expected) > 20
    kills = 0
    for seed in range(1000):
        out = tmp_path / f"out{kills % 4}"  # five kills for each output, then its job may finish
        before = temporaries(out)  # left by a killed job
        chance = random.Random(seed)
        job = start(tmp_path, out, gpt2_like, workers)
        try:
            said = job.communicate(timeout=chance.uniform(0.1, 1.0) * seconds)[1]
            assert job.returncode == 0, (seed, said)
        except subprocess.TimeoutExpired:
            if end(job, *ENDINGS[(kills + kills // 4) % 4]):
                assert temporaries(out) <= before, seed
            kills += 1
        if (out / "manifest.json").exists() and not (out / "_crayon").exists():
            assert tree(out) == expected, seed
            subprocess.run(["rm", "-rf", out], check=True)
        if kills == 20:
            break
    for number in range(4):
        job = start(tmp_path, tmp_path / f"out{number}", gpt2_like, workers)
        assert job.communicate()[1] == ""
        assert job.returncode == 0
        assert tree(tmp_path / f"out{number}") == expected
