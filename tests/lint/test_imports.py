"""`lint-imports` refuses an import that goes up, and a circle."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]


def lint(root: Path) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, "--no-cache"], cwd=root, capture_output=True, text=True)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_the_package_keeps_its_order() -> None:
    code, said = lint(ROOT)
    assert code == 0, said


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The Python files that are linted, and what lints them."""
    for folder in ("crayon_hf", "conversion", "parity", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=_all_but_python)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _all_but_python(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".py") and not (Path(folder) / name).is_dir()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("util/files.py", "from crayon_hf.cli import main", "crayon_hf.util is not allowed to import crayon_hf.cli"),
        (
            "text_readers/blocks.py",
            "from crayon_hf.training_data.counting import count",
            "crayon_hf.text_readers is not allowed",
        ),
        ("formats/gguf.py", "from crayon_hf.tokenizer import sources", "formats is not allowed to import"),
        (
            "hub_access/client.py",
            "from crayon_hf.parity import report",
            "crayon_hf.hub_access is not allowed to import",
        ),
        (
            "tokenizer_state/modes.py",
            "from crayon_hf import Tokenizer",
            "crayon_hf.tokenizer_state.modes -> crayon_hf ->",
        ),
        (
            "corpora/formats/base.py",
            "from crayon_hf.corpora import datasets",
            "No cycles are allowed",
        ),
        ("hub/card.py", "from parity import bench", "crayon_hf is not allowed to import parity"),
        ("cli/parser.py", "import conversion", "crayon_hf is not allowed to import conversion"),
        ("stray.py", "", "crayon_hf.stray"),
    ],
)
def test_what_breaks_the_order(copy: Path, module: str, line: str, complaint: str) -> None:
    with open(copy / "crayon_hf" / module, "a", encoding="utf-8") as file:
        file.write(f"\n\ndef _late() -> None:\n    {line or 'pass'}\n")
    code, said = lint(copy)
    assert code == 1
    assert complaint in said


def test_imports_for_types_make_a_circle_as_well(copy: Path) -> None:
    with open(copy / "crayon_hf" / "util" / "files.py", "a", encoding="utf-8") as file:
        file.write("\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from crayon_hf.cli import main\n")
    code, said = lint(copy)
    assert code == 1
    assert "crayon_hf.util.files -> crayon_hf.cli ->" in said or "-> crayon_hf.util.files" in said
