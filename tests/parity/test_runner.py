"""`python -m parity.tokenizers` compares with ``tokenizers``: its table, its files, and its exit status."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf import _core
from parity.runner import AGREED
from parity.tokenizers.__main__ import main


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
