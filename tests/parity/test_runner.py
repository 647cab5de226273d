"""The run of a suite, against tokenizers: its table, its files, and its exit status."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf import _core
from crayon_hf.parity.compare.suites import WINDOWS, WINDOWS_OF_PAIRS
from parity.runner import AGREED, DIFFERED, MISUSED
from parity.tokenizers.__main__ import main


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "own.txt"
    path.write_text("Some plain words, and more of them.\n" * 200, encoding="utf-8")
    return path


def test_agreement_is_zero(gpt2_like: Path, stand_in: ModuleType, text_file: Path, tmp_path: Path, capfd: Any) -> None:
    out = tmp_path / "report.json"
    arguments = ["--ours", "parity_stand_in:agrees", "--strings", "120", "--tokens", "0", "--text", str(text_file)]
    variants = ["--pairs", "--no-special", "--words", "--as-text"]
    assert main([str(gpt2_like), *arguments, *variants, "--json", str(out)]) == AGREED
    report = json.loads(out.read_text("utf-8"))
    assert report["agreed"]
    suites = {row["suite"]: row for row in report["rows"]}
    labels = ("", "/pairs", "/no-special", "/as-text", "/words", "/pairs/no-special")
    assert set(suites) == {source + label for source in ("strings", "own") for label in labels}
    assert all(row["agreed"] and not row["differing"] for row in suites.values())
    assert sum(suites["strings"]["inputs"].values()) == 120
    assert suites["own/pairs"]["inputs"] == {"own": 4}
    printed = capfd.readouterr().out
    assert printed.count("no difference") == 12
    assert printed.splitlines()[-1] == f"all agree with tokenizers {version('tokenizers')}: 12 suites, 744 inputs"


@pytest.mark.slow
def test_everything_shares_windows_out(
    gpt2_like: Path, stand_in: ModuleType, text_file: Path, tmp_path: Path, capfd: Any
) -> None:
    out = tmp_path / "report.json"
    arguments = ["--ours", "parity_stand_in:agrees", "--strings", "90", "--tokens", "0", "--everything"]
    assert main([str(gpt2_like), *arguments, "--json", str(out)]) == AGREED, capfd.readouterr().out
    rows = json.loads(out.read_text("utf-8"))["rows"]
    windows = [row for row in rows if "cut-" in row["suite"] or "pad-" in row["suite"]]
    assert len(windows) == len(WINDOWS) + len(WINDOWS_OF_PAIRS)
    assert len({row["suite"] for row in rows}) == len(rows) == len(windows) + 6
    assert sum(sum(row["inputs"].values()) for row in windows) == 2 * 90
    assert {row["suite"] for row in windows} > {
        "strings/cut-right-16-4-longest_first+pad-right-longest-8",
        "strings/pairs/pad-left-12-1",
    }


def test_a_difference_is_one(gpt2_like: Path, stand_in: ModuleType, tmp_path: Path, capfd: Any) -> None:
    out = tmp_path / "report.json"
    arguments = [
        "--ours",
        "parity_stand_in:wrong_ids",
        "--strings",
        "400",
        "--tokens",
        "0",
        "--reports",
        "1",
        "--json",
        str(out),
    ]
    assert main([str(gpt2_like), *arguments]) == DIFFERED
    (row,) = json.loads(out.read_text("utf-8"))["rows"]
    assert not row["agreed"]
    (difference,) = row["differences"]
    assert difference["smallest"] == [r"'\xe91'"]
    assert difference["fields"][0]["field"] == "ids"
    printed = capfd.readouterr().out
    assert "DIFFER" in printed
    assert r"'\xe91'  (2 characters" in printed
    assert printed.splitlines()[-1] == f"1 of 1 suites do not agree with tokenizers {version('tokenizers')}: 400 inputs"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("crashes", "the worker ended with code 70 in strings, in the batch that begins with input 0"),
        ("delegated", "delegated to the reference, which proves nothing: a component is not native"),
        ("cannot_open", "the worker ended with code 1 at the start: ValueError: this vocabulary cannot be opened"),
    ],
)
def test_what_cannot_be_compared_is_one(
    gpt2_like: Path, stand_in: ModuleType, capfd: Any, function: str, reason: str
) -> None:
    assert (
        main([str(gpt2_like), "--ours", f"parity_stand_in:{function}", "--strings", "50", "--tokens", "0"]) == DIFFERED
    )
    assert f"FAILED: {reason}" in capfd.readouterr().out


def test_delegated_can_be_allowed(gpt2_like: Path, stand_in: ModuleType) -> None:
    arguments = ["--ours", "parity_stand_in:delegated", "--strings", "50", "--tokens", "0", "--allow-delegated"]
    assert main([str(gpt2_like), *arguments]) == AGREED


def test_another_instruction_set_than_asked_for_is_one(gpt2_like: Path, stand_in: ModuleType, capfd: Any) -> None:
    arguments = ["--ours", "parity_stand_in:scalar", "--strings", "50", "--tokens", "0"]
    assert main([str(gpt2_like), *arguments, "--cpu", "scalar,avx2"]) == DIFFERED
    printed = capfd.readouterr().out
    assert "no difference" in printed
    assert "FAILED: asked for avx2, but scalar is in use" in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-vocabulary"],
        ["{vocabulary}", "--text", "no-such-text"],
        ["{vocabulary}", "--strings", "0", "--tokens", "0"],
    ],
)
def test_misuse_is_two(gpt2_like: Path, capfd: Any, arguments: list[str]) -> None:
    assert main([argument.format(vocabulary=gpt2_like) for argument in arguments]) == MISUSED
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_several_vocabularies_at_one_time(gpt2_like: Path, qwen_like: Path, stand_in: ModuleType, capfd: Any) -> None:
    arguments = ["--ours", "parity_stand_in:agrees", "--strings", "60", "--tokens", "0", "--jobs", "2"]
    assert main([str(gpt2_like), str(qwen_like), *arguments]) == AGREED
    assert ": 2 suites, 120 inputs" in capfd.readouterr().out


@pytest.mark.slow
def test_the_reference_is_kept_and_used_again(gpt2_like: Path, stand_in: ModuleType, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    arguments = [str(gpt2_like), "--strings", "60", "--tokens", "0", "--reference-cache", str(kept)]
    assert main([*arguments, "--ours", "parity_stand_in:agrees"]) == AGREED
    (file,) = kept.iterdir()
    before = file.stat().st_mtime_ns
    assert main([*arguments, "--ours", "parity_stand_in:agrees"]) == AGREED
    assert main([*arguments, "--ours", "parity_stand_in:wrong_ids", "--strings", "400"]) == DIFFERED
    assert file.stat().st_mtime_ns == before


@pytest.mark.slow
def test_ours_agrees_on_every_instruction_set(any_vocabulary: Path, text_file: Path, capfd: Any) -> None:
    """The real thing: crayon_hf against tokenizers on a small vocabulary of each shape.

    Instructions find and merge pretokens. What most variants ask for comes after: only the best set runs all of them.
    """
    text_file.write_text(text_file.read_text() * 6)  # some documents for each of the windows that share them
    sizes = ["--strings", "410", "--tokens", "1000", "--bytes", "500"]
    arguments = [str(any_vocabulary), *sizes, "--text", str(text_file)]
    *others, best = _core.cpu_levels()
    assert main([*arguments, "--cpu", best, "--everything"]) == AGREED, capfd.readouterr().out
    suites = 19 + 3 * (len(WINDOWS) + len(WINDOWS_OF_PAIRS))
    assert capfd.readouterr().out.count("no difference") == suites
    if others:
        assert main([*arguments, "--cpu", ",".join(others), "--pairs", "--as-text"]) == AGREED, capfd.readouterr().out
        assert capfd.readouterr().out.count("no difference") == 13 * len(others)
