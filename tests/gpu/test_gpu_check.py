"""`python -m parity.gpu` as a whole, with a CPU device instead of a GPU: its findings, files and exit status."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import _core
from parity.gpu import building, cases
from parity.gpu.__main__ import main
from parity.gpu.report import Report
from parity.gpu.sizes import STAND_IN, sizes_for

TINY = sizes_for(0.01, True)


@pytest.fixture(autouse=True)
def _without_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use texts that every machine has, and let the check's child processes import wrong_encoders.py."""
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def check(output: Path, vocabulary: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Run the command with tiny sizes and time limits. Returns its exit code and report."""
    arguments = ["-o", str(output), "--device", STAND_IN, "-t", str(vocabulary), "--sizes", "0.01"]
    code = main([*arguments, "--minutes", "60", *more])
    return code, json.loads((output / "report.json").read_text(encoding="utf-8"))


def statuses(report: dict[str, Any], step: str) -> dict[str, str]:
    return {result["name"]: result["status"] for result in report["steps"][step]["results"]}


@pytest.mark.slow
def test_all_of_it(tmp_path: Path, llama3_like: Path) -> None:
    code, report = check(tmp_path, llama3_like)
    assert (code, report["verdict"], report["reasons"]) == (0, "PASS", [])
    assert [*report["steps"]] == ["environment", "ids", "repeats", "sanitizer", "speed"]
    found = statuses(report, "ids")
    assert set(found.values()) == {"ok"}
    assert [*found] == [case.name for case in cases.plan(TINY, ["llama3_like"])]
    assert [name for name, status in statuses(report, "repeats").items() if status != "ok"] == [
        "a tensor filled on a side stream",  # skipped here
        "a graph captured in another thread",
    ]
    for result in report["steps"]["speed"]["results"]:
        assert result["kernels"]["look_up_words"]["launches"] == 1
        assert result["second_batch"]["allocated"]["calls"] < result["first_batch"]["allocated"]["calls"]
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# parity.gpu: PASS\n")


def test_ids_that_differ_are_written(
    tmp_path: Path, gpt2_like: Path, llama3_like: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device encodes with another vocabulary than the CPU. Each text with different ids is written to the output,
    minimized."""
    other = tmp_path / "other.dat"
    other.write_bytes(_core.compile_tokenizer_json(llama3_like.read_bytes(), "{}"))
    monkeypatch.setenv("WRONG_VOCABULARY", str(other))
    output = tmp_path / "report"
    wrong = ("--ours", "wrong_encoders:of_another_vocabulary", "--steps", "ids")
    code, report = check(output, gpt2_like, *wrong, "--only", "strings: gpt2_like")
    assert (code, report["verdict"]) == (1, "FAIL")
    assert set(statuses(report, "ids").values()) == {"failed"}
    sides = {
        "expected": _core.Engine.open(str(output / "failures/vocabularies/gpt2_like.dat")),
        "got": _core.Engine.open(str(other)),
    }
    files = [*(output / "failures").glob("*.json")]
    assert len(files) > 6
    for file in files:
        record = json.loads(file.read_text(encoding="utf-8"))
        text = (file.parent / record["file"]).read_bytes().decode()
        smallest = record.get("smallest", {}).get("text", "")
        assert len(smallest) <= 8
        for side, engine in sides.items():
            engine = engine.greedy() if record["mode"] == "greedy" else engine
            for given, said in ((text, record), (smallest, record.get("smallest"))):
                if said is not None:
                    ids, _ = engine.encode_ragged([given], record["options"]["special"], record["options"]["as_text"])
                    assert said[side]["ids"] == ids.tolist()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize(("wrong", "status", "limit"), [("Crashing", "crashed", "600"), ("Hanging", "hung", "20")])
def test_a_crash_or_a_hang_is_a_result(tmp_path: Path, llama3_like: Path, wrong: str, status: str, limit: str) -> None:
    how = ("--ours", f"wrong_encoders:{wrong}", "--steps", "ids", "--limit", limit)
    code, report = check(tmp_path, llama3_like, *how, "--only", "strings: llama3_like")
    assert (code, report["verdict"]) == (1, "FAIL")
    good, bad = report["steps"]["ids"]["results"]
    assert (good["status"], bad["status"]) == ("ok", status)
    (file,) = bad["failures"]
    record = json.loads((tmp_path / file).read_text(encoding="utf-8"))
    (case,) = (case for case in cases.plan(TINY, ["llama3_like"]) if case.name == bad["name"])
    batch = [*cases.batches_of(case, TINY)][record["batch"]]  # the whole batch in progress
    texts = [text if isinstance(text, bytes) else text.encode() for text in batch.texts]
    assert (tmp_path / "failures" / record["batch_file"]).read_bytes() == b"".join(texts)


@pytest.mark.parametrize(
    ("results", "optional", "passed"),
    [
        (["ok"], "", True),
        ([], "", False),
        (["ok", "not run"], "", False),
        (["ok", "not run"], "1", True),
        (["ok", "skipped"], "", True),
        (["ok", "failed"], "", False),
        (["ok", "hung"], "1", False),
        (["not run"], "0", False),
    ],
)
def test_the_verdict(tmp_path: Path, results: list[str], optional: str, passed: bool) -> None:
    report = Report(tmp_path, {"command": "", "started": "", "seconds": 0, "device": STAND_IN})
    report.optional = {optional}
    for number, status in enumerate(results):
        report.add("ids", {"name": str(number), "status": status, "says": "no time was left"})
    assert report.conclude() is passed
    assert bool(report.data["reasons"]) is not passed
    assert report.data["verdict"] in report.to_markdown()


@pytest.mark.skipif(building.kinds_here() != [], reason="there is a GPU")
def test_without_a_gpu(tmp_path: Path, llama3_like: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for device in ("auto", "rocm"):
        assert main(["-o", str(tmp_path / device), "--device", device, "-t", str(llama3_like)]) == 1
        said = capfdbinary.readouterr().out.decode()
        without_an_engine, with_one = f"this machine has no GPU for {device}", f"{device} cannot be used"
        assert without_an_engine in said or with_one in said
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
