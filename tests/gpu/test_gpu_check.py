"""`python -m parity.gpu` as a whole, with the CPU in a GPU's place: what it finds, writes and returns."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crayon_hf import _core
from parity.gpu import building, cases, command, failures, fuzz_inputs, ids, sanitizer, subjects
from parity.gpu.__main__ import main
from parity.gpu.access import STAND_IN, Context, Job, Skipped
from parity.gpu.markdown import to_markdown
from parity.gpu.report import Report
from parity.gpu.sizes import sizes_for
from parity.gpu.watching import run_tasks

ROOT = Path(__file__).resolve().parents[2]
TINY = sizes_for(0.01, True)


@pytest.fixture(autouse=True)
def _without_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that every machine has; and children can import the wrong encoders."""
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def check(output: Path, vocabulary: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """The exit code of the command with tiny sizes and time for all of them, and its report."""
    arguments = ["-o", str(output), "--device", STAND_IN, "-t", str(vocabulary), "--sizes", "0.01"]
    code = main([*arguments, "--minutes", "60", *more])
    return code, json.loads((output / "report.json").read_text(encoding="utf-8"))


def statuses(report: dict[str, Any], step: str) -> dict[str, str]:
    return {result["name"]: result["status"] for result in report["steps"][step]["results"]}


@pytest.mark.slow
def test_all_of_it(tmp_path: Path, llama3_like: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code, report = check(tmp_path, llama3_like)
    assert (code, report["verdict"], report["reasons"], report["schema"]) == (0, "PASS", [], 1)
    assert [*report["steps"]] == ["environment", "ids", "repeats", "sanitizer", "speed"]
    found = statuses(report, "ids")
    assert set(found.values()) == {"ok"}
    assert [*found] == [case.name for case in cases.plan(TINY, ["llama3_like"], True)]
    assert {name: status for name, status in statuses(report, "repeats").items() if status != "ok"} == {
        "a tensor filled on a side stream": "skipped",
        "a graph captured in another thread": "skipped",
    }
    for result in report["steps"]["speed"]["results"]:
        assert result["kernels"]["look_up_words"]["launches"] == 1
        assert result["second_batch"]["allocated"]["calls"] < result["first_batch"]["allocated"]["calls"]
        assert min(result[given]["gb_per_s"] for given in ("cpu", "on the device", "pinned", "str", "first")) > 0
        assert result["first_kernels"]["look_up_words"]["launches"] == 1
    assert report["gpu"]["architecture"] == STAND_IN
    assert report["machine"]["crayon_hf"]
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert page.startswith("# parity.gpu: PASS\n")
    assert "no figure here says anything of a GPU" in page
    for heading in ("Ids", "Behaviour", "Speed", "Kernels", "Not done"):
        assert f"\n## {heading}\n" in page
    assert not (tmp_path / "failures").exists()
    assert b"\nPASS\n" in capfdbinary.readouterr().out


def test_ids_that_differ_are_written(
    tmp_path: Path, gpt2_like: Path, llama3_like: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device has another vocabulary than the CPU."""
    other = tmp_path / "other.dat"
    other.write_bytes(_core.compile_tokenizer_json(llama3_like.read_bytes(), "{}"))
    monkeypatch.setenv("WRONG_VOCABULARY", str(other))
    output = tmp_path / "report"
    wrong = ("--ours", "wrong_encoders:of_another_vocabulary", "--steps", "ids")
    code, report = check(output, gpt2_like, *wrong, "--only", "strings: gpt2_like")
    assert (code, report["verdict"]) == (1, "FAIL")
    name = "generated strings: gpt2_like"
    assert statuses(report, "ids") == {name: "failed", f"{name}, greedy": "failed"}
    assert f"ids, {name}: failed (3 of 3 batches differ from the CPU's)" in report["reasons"]
    results = report["steps"]["ids"]["results"]
    files = [file for result in results for file in result["failures"]]
    assert sorted(files) == sorted(f"failures/{path.name}" for path in (output / "failures").glob("*.json"))
    assert len(files) > 6
    engine = _core.Engine.open(str(output / "failures/vocabularies/gpt2_like.dat"))
    theirs = _core.Engine.open(str(other))
    smallest: list[str] = []
    for file in files:
        record = json.loads((output / file).read_text(encoding="utf-8"))
        text = (output / "failures" / record["file"]).read_bytes().decode()
        options = record["options"]
        for side, of in (("expected", engine), ("got", theirs)):
            of = of.greedy() if record["mode"] == "greedy" else of
            for each, given in ((record, text), (record.get("smallest"), record.get("smallest", {}).get("text"))):
                if each is not None:
                    ids, _ = of.encode_ragged([given], options["special"], options["as_text"])
                    assert each[side]["ids"] == ids.tolist()
        assert record["differs_alone"]
        smallest += [record["smallest"]["text"]] if "smallest" in record else []
    assert len(smallest) == min(len(files), failures.MOST_SMALLEST)
    assert max(map(len, smallest)) <= 8


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_crash_is_a_result(tmp_path: Path, llama3_like: Path) -> None:
    crashing = ("--ours", "wrong_encoders:Crashing", "--steps", "environment,ids")
    code, report = check(tmp_path, llama3_like, *crashing, "--only", "strings: llama3")
    assert (code, report["verdict"]) == (1, "FAIL")
    assert statuses(report, "environment") == {"the device": "ok"}
    found = {result["name"]: result for result in report["steps"]["ids"]["results"]}
    names = [
        f"generated strings: {name}"
        for name in ("llama3 pattern", "llama3 pattern, greedy", "llama3_like", "llama3_like, greedy")
    ]
    assert [(name, result["status"]) for name, result in found.items()] == [
        (name, "crashed" if "greedy" in name else "ok") for name in names
    ]
    crashed = found[names[1]]
    assert crashed["says"].startswith("signal 11: Fatal Python error: Segmentation fault")
    assert "wrong_encoders.py" in crashed["says"]
    # The batch that was under way, whole.
    (file,) = crashed["failures"]
    record = json.loads((tmp_path / file).read_text(encoding="utf-8"))
    data = (tmp_path / "failures" / record["batch_file"]).read_bytes()
    (case,) = (case for case in cases.plan(TINY, [], True) if case.name == names[1])
    batch = [*cases.batches_of(case, TINY, ROOT)][record["batch"]]
    assert {**record["options"]} == batch.options()
    texts = [text if isinstance(text, bytes) else text.encode() for text in batch.texts]
    assert [data[begin:end] for begin, end in pairwise(np.cumsum([0, *record["batch_sizes"]]))] == texts
    assert record["vocabulary"] == "vocabularies/llama3 pattern.dat"
    assert (tmp_path / "failures/vocabularies/llama3 pattern.dat").is_file()
    assert "# parity.gpu: FAIL" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_hang_is_a_result(tmp_path: Path, llama3_like: Path) -> None:
    hanging = ("--ours", "wrong_encoders:Hanging", "--steps", "ids", "--limit", "3")
    code, report = check(tmp_path, llama3_like, *hanging, "--only", "strings: llama3_like, greedy")
    assert code == 1
    (result,) = report["steps"]["ids"]["results"]
    assert (result["status"], result["says"]) == ("hung", "it took over 3 s")
    assert result["failures"] == ["failures/001.json"]
    assert "wrong_encoders.py" in (tmp_path / "log.txt").read_text(encoding="utf-8")  # where it hung


@pytest.mark.slow
def test_a_lost_device_is_opened_again(tmp_path: Path, llama3_like: Path) -> None:
    losing = ("--ours", "wrong_encoders:Losing", "--steps", "ids")
    _, report = check(tmp_path, llama3_like, *losing, "--only", "strings: llama3")
    results = report["steps"]["ids"]["results"]
    found = [(result["status"], result.get("says", "")) for result in results]
    lost = ("failed", "DeviceLostError: host device 0, encoding: it fell off the bus")
    assert found == [("ok", ""), lost, ("ok", ""), lost]
    assert [result.get("failures") for result in results] == [None, ["failures/001.json"], None, ["failures/002.json"]]
    assert json.loads((tmp_path / "failures/002.json").read_text(encoding="utf-8"))["ended"] == lost[1]
    log = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert log.count("-- ids, from ") == 2  # the last one is lost with nothing left to do


def test_an_interrupt_is_no_pass(tmp_path: Path, llama3_like: Path) -> None:
    """What was learnt before it is there, and says so."""

    def interrupt(message: str) -> None:
        if message.startswith("ids: "):
            raise KeyboardInterrupt

    options = command.Options(
        tmp_path, STAND_IN, 60, 0.01, tokenizers=(str(llama3_like),), steps=("ids",), only="strings: llama3_like"
    )
    with pytest.raises(KeyboardInterrupt):
        command.check(options, interrupt)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert statuses(report, "ids") == {"generated strings: llama3_like": "ok"}
    assert (report["verdict"], report["reasons"]) == ("FAIL", ["the run ended early: KeyboardInterrupt"])


def test_an_earlier_pass_is_no_pass(tmp_path: Path, llama3_like: Path) -> None:
    """Of a run that ended before its first step, the directory has no other run's report."""
    for name in ("report.json", "report.md"):
        (tmp_path / name).write_text('{"verdict": "PASS"}', encoding="utf-8")

    def interrupt(message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        command.check(command.Options(tmp_path, STAND_IN, tokenizers=(str(llama3_like),)), interrupt)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert (report["verdict"], report["reasons"][-1]) == ("FAIL", "the run ended early: KeyboardInterrupt")
    assert "PASS" not in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.skipif(building.kinds_here() != [], reason="there is a GPU")
def test_without_a_gpu(tmp_path: Path, llama3_like: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for device in ("auto", "rocm"):
        assert main(["-o", str(tmp_path / device), "--device", device, "-t", str(llama3_like)]) == 1
        said = capfdbinary.readouterr().out.decode()
        assert (
            f"this machine has no GPU for {device}" in said or f"{device} cannot be used" in said
        )  # engine and no GPU
        report = json.loads((tmp_path / device / "report.json").read_text(encoding="utf-8"))
        assert report["verdict"] == "FAIL"
        assert report["machine"]["cores"] > 0


@pytest.mark.parametrize(
    "wrong", [("--minutes", "0"), ("--limit", "-1"), ("--steps", "ids,speeds"), ("-t", "WORDPIECE")], ids=" ".join
)
def test_wrong_usage(tmp_path: Path, wordpiece_like: Path, wrong: tuple[str, str]) -> None:
    values = [str(wordpiece_like) if word == "WORDPIECE" else word for word in wrong]
    with pytest.raises(SystemExit) as ended:
        main(["-o", str(tmp_path / "out"), "--device", STAND_IN, *values])
    assert ended.value.code == 2


# -- the parts


def test_full_sizes_from_ten_minutes_on() -> None:
    full = sizes_for(10, False)
    assert (full.strings, full.text, full.texts, full.repeats) == (20_000, 100_000_000, 3_000_000, 50)
    assert full.runs[-1] == 16 << 20
    assert sorted(full.speed)[-1] == 1 << 30
    assert 1 << 16 in full.speed
    assert sizes_for(1000, False) == full
    short = sizes_for(1, False)
    assert (short.strings, short.texts) == (2000, 300_000)
    assert sizes_for(10, True).strings < short.strings


def test_cases_begin_with_the_worst(tmp_path: Path) -> None:
    planned = cases.plan(sizes_for(10, False), ["a"], True)
    assert len({case.name for case in planned}) == len(planned)
    kinds = list(dict.fromkeys(case.kind for case in planned))
    assert kinds[:3] == ["kept fuzz inputs", "generated strings", "small partitions"]
    for family in subjects.FAMILIES:
        for greedy in (False, True):
            own = [case for case in planned if case.subject == family and case.greedy is greedy]
            assert {case.kind for case in own} >= {*kinds[:3], "runs", "not UTF-8", "a run of CJK"}
    # What has no smaller one is never left out without a word.
    assert {case.size for case in planned if case.is_optional} == {1 << 16, 1 << 20, 1 << 24}


def test_kept_inputs_mean_what_their_target_says() -> None:
    """By the numbers that the target has of its pieces, and by texts that it divides as it says."""
    source = (ROOT / fuzz_inputs._TARGET).read_bytes()
    pieces = fuzz_inputs.pieces_of(source)
    of_text = [piece for piece in pieces if piece == piece.decode("utf-8", "ignore").encode()]
    assert f"kPiecesOfText = {len(of_text)},".encode() in source
    assert pieces[: len(of_text)] == of_text
    assert (pieces[7].decode(), pieces[20], pieces[-1]) == ("\u017f", b"\r\n", b"\xff")
    kept = [*fuzz_inputs.kept_inputs(ROOT)]
    assert len(kept) > 20
    made = fuzz_inputs._read("", bytes([0, 16 + 4 + 1, 16 + 9, 2, 1, 2]) + bytes([0, 0xF3, 11]), pieces)
    assert made.texts == (b"a", b"aa", b"aa" + "中".encode())
    assert (made.special, made.as_text, made.elements, made.margin, made.lanes) == (True, False, 1 << 9, 64, 1)
    with pytest.raises(ValueError, match="has no kPieces"):
        fuzz_inputs.pieces_of(b"")


def test_the_verdict(tmp_path: Path) -> None:
    def verdict(*results: dict[str, Any], optional: str = "") -> tuple[bool, list[str]]:
        report = Report(tmp_path, {"command": "", "started": "", "seconds": 0, "device": STAND_IN})
        report.optional = {optional}
        for result in results:
            report.add("ids", result)
        passed = report.conclude()
        report.save()
        assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == report.data
        assert report.data["verdict"] in to_markdown(report)
        return passed, report.data["reasons"]

    good = {"name": "a", "status": "ok"}
    undone = {"name": "b", "status": "not run", "says": "no time was left"}
    assert verdict(good) == (True, [])
    assert verdict() == (False, ["no ids were compared and equal"])
    assert verdict(good, undone) == (False, ["ids: 1 of 2 cases were not run, b first"])
    assert verdict(good, undone, optional="b") == (True, [])
    assert verdict(good, {**undone, "status": "skipped"}) == (True, [])
    for status in ("failed", "crashed", "hung"):
        assert verdict(good, {**undone, "status": status}) == (False, [f"ids, b: {status} (no time was left)"])


def job_of(tmp_path: Path, vocabulary: Path, **more: Any) -> Job:
    vocabularies = tmp_path / "vocabularies"
    vocabularies.mkdir()
    named = subjects.open_named([str(vocabulary)], vocabularies)
    subjects.make(["gpt2 pattern", "NFC"], vocabularies)
    return Job(
        **{
            "step": "ids",
            "tasks": (),
            "device": STAND_IN,
            "sizes": TINY,
            "named": tuple(named),
            "vocabularies": str(vocabularies),
            "output": str(tmp_path),
            "events": str(tmp_path / "events"),
            "seconds": 600.0,
            "limit": 600.0,
            **more,
        }
    )


@pytest.mark.slow
def test_a_job_is_sent_as_it_is(tmp_path: Path, llama3_like: Path) -> None:
    job = job_of(tmp_path, llama3_like, tasks=("a", "b"))
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_no_task_is_begun_when_time_is_over(tmp_path: Path, llama3_like: Path) -> None:
    seen: list[str] = []
    job = job_of(tmp_path, llama3_like, tasks=("generated strings: gpt2 pattern", "runs: gpt2 pattern"), seconds=0.0)
    results = run_tasks(job, tmp_path / "log", lambda result: seen.append(result["name"]))
    assert [(result["name"], result["status"]) for result in results] == [(name, "not run") for name in job.tasks]
    assert seen == [*job.tasks]


@pytest.mark.slow
def test_a_device_that_cannot_be_opened(tmp_path: Path, llama3_like: Path) -> None:
    job = job_of(tmp_path, llama3_like, tasks=("generated strings: gpt2 pattern",), device="cuda:99")
    first, second = run_tasks(job, tmp_path / "log", lambda result: None)
    assert (first["name"], first["status"]) == ("opening the device", "failed")
    assert "cuda:99: " in first["says"]
    assert (second["status"], second["says"]) == ("not run", "the device could not be opened")


SANITIZER = """#!{python}
import subprocess, sys
tool, log = (sys.argv[sys.argv.index(name) + 1] for name in ("--tool", "--log-file"))
command = sys.argv[sys.argv.index(log) + 1 :]
code = subprocess.run(command).returncode
errors = 3 if tool == "synccheck" else 0
with open(log, "w") as out:
    if tool == "racecheck":
        print("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", file=out)
    elif tool != "initcheck":
        print(f"========= ERROR SUMMARY: {{errors}} errors", file=out)
sys.exit(code or (86 if errors else 0))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a script of Unix")
def test_the_sanitizer_and_its_output(tmp_path: Path, llama3_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with the options and the summaries of compute-sanitizer, which finds what it is told to."""
    assert "is for CUDA, and the device is stand-in" in sanitizer.why_not(STAND_IN)
    assert "not on PATH" in sanitizer.why_not("cuda:0", "no-such-program")
    program = tmp_path / "compute-sanitizer"
    program.write_text(SANITIZER.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setattr(sanitizer, "SIZES", TINY)
    monkeypatch.setattr(sanitizer, "KINDS", ("NFC",))
    job = replace(job_of(tmp_path, llama3_like), step="sanitizer")
    results = sanitizer.run(job, tmp_path / "log", lambda result: None, str(program))
    found = {result["name"]: result for result in results}
    assert {name: result["status"] for name, result in found.items()} == {
        "memcheck": "ok",
        "racecheck": "ok",
        "synccheck": "failed",
        "initcheck": "failed",
    }
    assert found["memcheck"]["says"] == "ERROR SUMMARY: 0 errors"
    assert "3 errors" in found["synccheck"]["says"]
    assert "gave no summary" in found["initcheck"]["says"]
    for name, result in found.items():
        assert result["output"] == f"sanitizer/{name}.txt"
        assert (result["cases"], (tmp_path / result["output"]).exists()) == (2 + (name == "synccheck"), True)


def test_a_module_is_not_built_without_a_source_tree(tmp_path: Path) -> None:
    assert building.source_tree(None) == ROOT
    assert building.source_tree(str(tmp_path)) is None
    built = building.build("cuda", None, tmp_path, 10)
    assert built["status"] == "failed"
    assert "CRAYON_BUILD=cuda pip install ." in built["says"]


def test_a_larger_run_is_left_out_where_it_would_take_too_long(tmp_path: Path, llama3_like: Path) -> None:
    """By the time of the smaller one, which is done first in a process that has not seen it."""
    sizes = replace(TINY, runs=(3000, 6000))
    name = "a run of CJK, 6,000 bytes: gpt2 pattern"
    job = job_of(tmp_path, llama3_like, sizes=sizes)
    ids._took.clear()
    found = ids.run(name, Context(job))
    assert (found["batches"], found["texts"], found["bytes"]) == (1, 1, 6000)
    assert [size for size, _ in ids._took.values()] == [6000]
    ids._took.clear()
    with pytest.raises(Skipped, match=r"it would take about 0 s: 3,000 bytes took 0\.\d s"):
        ids.run(name, Context(replace(job, limit=1e-9)))


MODULE = """
from crayon_hf import _core

def devices():
    return [(0, "Stand-in 0", 1 << 30, "sm_00")]

def versions():
    return {"driver": "CUDA 13.1", "runtime": "CUDA 13.0"}

def why_unusable():
    return ""

def open(index):
    return _core._testing.host_device(1 << 30)
"""


@pytest.mark.slow
@pytest.mark.skipif(building.is_built("cuda"), reason="the package has a module for CUDA")
def test_a_module_that_was_built_beside_the_package(tmp_path: Path, llama3_like: Path) -> None:
    """Processes that are told of its directory import it, and say what it says."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "_cuda.py").write_text(MODULE)
    job = job_of(tmp_path, llama3_like, device="cuda:0", modules=str(modules))
    log = tmp_path / "log"
    (found,) = run_tasks(replace(job, step="environment", tasks=("the device",)), log, lambda result: None)
    assert (found["called"], found["architecture"], found["memory"]) == ("Stand-in 0", "sm_00", 1 << 30)
    assert found["versions"]["driver"] == "CUDA 13.1"
    assert found["module"] == str(modules / "_cuda.py")
    (compared,) = run_tasks(replace(job, tasks=("runs: gpt2 pattern",)), log, lambda result: None)
    assert compared["status"] == "ok"
    streams = ("a tensor filled on a side stream", "a graph captured in another thread")
    for result in run_tasks(replace(job, step="repeats", tasks=streams), log, lambda result: None):
        assert result["status"] == "skipped"
        assert "torch" in result["says"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or building.kinds_here() != [], reason="for Linux without a GPU")
def test_a_build_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_CUDA_ARCHS", "1")
    built = building.build("cuda", ROOT, tmp_path / "module", 300)
    assert built["status"] == "failed"
    assert "a build here failed: " in built["says"]
