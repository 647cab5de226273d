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
from parity.runner import AGREED
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
@pytest.mark.parametrize("name", ["llama3_like", "template_like"])
def test_ours_agrees_on_every_instruction_set(
    name: str, request: pytest.FixtureRequest, text_file: Path, capfd: Any
) -> None:
    """The real thing: crayon_hf against tokenizers on small vocabularies.

    Instructions find and merge pretokens. What most variants ask for comes after: only the best set runs all of them.
    """
    text_file.write_text(text_file.read_text() * 6)  # some documents for each of the windows that share them
    sizes = ["--strings", "410", "--tokens", "1000", "--bytes", "500"]
    arguments = [str(request.getfixturevalue(name)), *sizes, "--text", str(text_file)]
    *others, best = _core.cpu_levels()
    assert main([*arguments, "--cpu", best, "--everything"]) == AGREED, capfd.readouterr().out
    suites = 19 + 3 * (len(WINDOWS) + len(WINDOWS_OF_PAIRS))
    assert capfd.readouterr().out.count("no difference") == suites
    if others:
        assert main([*arguments, "--cpu", ",".join(others), "--pairs", "--as-text"]) == AGREED, capfd.readouterr().out
        assert capfd.readouterr().out.count("no difference") == 13 * len(others)
