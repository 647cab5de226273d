"""`python -m parity` and its suites: the list, the tables, the files, the exit status, and a planted difference that
each suite finds."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf import _core
from crayon_hf.formats.tiktoken import R50K_PATTERN
from crayon_hf.parity.compare.targets import exported_ranks
from parity.__main__ import GROUPS, listing
from parity.__main__ import main as parity_main
from parity.runner import AGREED
from parity.tokenizers.__main__ import main
from tests.support.versions import before_1


def test_agreement_is_zero(gpt2_like: Path, stand_in: ModuleType, text: Path, tmp_path: Path, capfd: Any) -> None:
    out = tmp_path / "report.json"
    arguments = ["--ours", "parity_stand_in:agrees", "--strings", "120", "--tokens", "0", "--text", str(text)]
    assert main([str(gpt2_like), *arguments, "--everything", "--json", str(out)]) == AGREED
    made = json.loads(out.read_text("utf-8"))
    assert made["agreed"]
    (report,) = made["reports"]
    suites = {suite["name"]: suite for suite in report["suites"]}
    assert set(suites) == {"strings", "own", "pairs", "no special tokens", "words", "special tokens as text", "windows"}
    assert all(suite["inputs"] and not suite["differing"] for suite in suites.values())
    assert (suites["strings"]["inputs"], suites["own"]["inputs"]) == (120, 4)
    assert suites["words"]["inputs"] == 124  # including the text
    printed = capfd.readouterr().out
    assert printed.count("no difference") == 7
    assert printed.splitlines()[-1].startswith(f"all agree with tokenizers {version('tokenizers')}: 1 report, ")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama3_like", "template_like"])
def test_ours_agrees_on_every_instruction_set(
    name: str, request: pytest.FixtureRequest, text: Path, capfd: Any
) -> None:
    """The real comparison: crayon_hf against tokenizers on small vocabularies.

    Instruction sets matter for finding and merging pretokens. Later steps are the same, so only the best set runs all
    inputs in all modes.
    """
    sizes = ["--strings", "410", "--tokens", "1000"]
    arguments = [str(request.getfixturevalue(name)), *sizes, "--text", str(text)]
    *others, best = _core.cpu_levels()
    assert main([*arguments, "--cpu", best, "--everything"]) == AGREED, capfd.readouterr().out
    suites = capfd.readouterr().out.count("no difference")
    assert suites >= 8
    if others:
        assert main([*arguments, "--cpu", ",".join(others)]) == AGREED, capfd.readouterr().out
        printed = capfd.readouterr().out
        assert printed.count("no difference") == suites * len(others)
        assert all(f"native, {cpu}" in printed for cpu in others)


# -- `python -m parity`

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent.name for path in (ROOT / "parity").glob("*/__main__.py"))


def test_the_list_has_every_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert parity_main([]) == 0
    assert capsys.readouterr().out.endswith(listing() + "\n")
    assert sorted(line.split()[0] for line in listing().splitlines() if line.startswith("  ")) == FOLDERS
    assert all(f"{heading}:" in listing() for heading in GROUPS.values())


# -- each finds a difference


@pytest.fixture
def targets(tmp_path: Path, gpt2_like: Path, repository: Path) -> dict[str, list[str]]:
    """The arguments for each suite: a target, and options."""
    ranks = exported_ranks("own", str(gpt2_like), str(tmp_path))
    return {
        "tokenizers": [str(gpt2_like)],
        "tiktoken": [str(ranks.path), "--pattern", R50K_PATTERN],
        "transformers": [str(repository)],
    }


@before_1("transformers beside it")
@pytest.mark.parametrize("name", ["tokenizers", "tiktoken", pytest.param("transformers", marks=pytest.mark.slow)])
def test_a_planted_difference(
    targets: dict[str, list[str]], stand_in: ModuleType, tmp_path: Path, capfd: Any, name: str
) -> None:
    out = tmp_path / "report.json"
    few = [name, *targets[name], "--strings", "250", "--tokens", "0", "--json", str(out)]
    assert parity_main([*few, "--ours", "parity_stand_in:agrees"]) == 0, capfd.readouterr().out
    assert "no difference" in capfd.readouterr().out
    assert parity_main([*few, "--ours", "parity_stand_in:wrong_ids"]) == 1
    printed = capfd.readouterr().out
    assert "DIFFER" in printed
    assert printed.splitlines()[-1].startswith(f"1 of 1 reports do not agree with {name} ")
    (report,) = json.loads(out.read_text("utf-8"))["reports"]
    difference = report["differences"][0]
    assert "\\xe9" in difference["smallest"][0]
    assert difference["smallest"][0] in printed
