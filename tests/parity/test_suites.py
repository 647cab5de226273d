"""`python -m parity`: the list of suites, the choice of a suite, and a planted difference that each suite finds."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.formats import convert, write
from crayon_hf.formats.tiktoken import R50K_PATTERN
from crayon_hf.parity.compare.targets import exported_ranks
from parity.__main__ import GROUPS, listing, main
from tests.support.versions import before_1

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent.name for path in (ROOT / "parity").glob("*/__main__.py"))


def test_the_list_has_every_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.endswith(listing() + "\n")
    assert sorted(line.split()[0] for line in listing().splitlines() if line.startswith("  ")) == FOLDERS
    assert all(f"{heading}:" in listing() for heading in GROUPS.values())


# -- each finds a difference


@pytest.fixture
def targets(tmp_path: Path, gpt2_like: Path) -> dict[str, list[str]]:
    """The arguments for each suite: a target, and options."""
    ranks = exported_ranks("own", str(gpt2_like), str(tmp_path))
    write(convert(gpt2_like), tmp_path / "directory")
    return {
        "tokenizers": [str(gpt2_like)],
        "tiktoken": [str(ranks.path), "--pattern", R50K_PATTERN],
        "transformers": [str(tmp_path / "directory")],
    }


@before_1("transformers beside it")
@pytest.mark.parametrize("name", ["tokenizers", "tiktoken", pytest.param("transformers", marks=pytest.mark.slow)])
def test_a_planted_difference(
    targets: dict[str, list[str]], stand_in: ModuleType, tmp_path: Path, capfd: Any, name: str
) -> None:
    out = tmp_path / "report.json"
    few = [name, *targets[name], "--strings", "250", "--tokens", "0", "--json", str(out)]
    assert main([*few, "--ours", "parity_stand_in:agrees"]) == 0, capfd.readouterr().out
    assert "no difference" in capfd.readouterr().out
    assert main([*few, "--ours", "parity_stand_in:wrong_ids"]) == 1
    printed = capfd.readouterr().out
    assert "DIFFER" in printed
    assert printed.splitlines()[-1].startswith(f"1 of 1 reports do not agree with {name} ")
    (report,) = json.loads(out.read_text("utf-8"))["reports"]
    difference = report["differences"][0]
    assert "\\xe9" in difference["smallest"][0]
    assert difference["smallest"][0] in printed
