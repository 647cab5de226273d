"""`python -m parity`: the list of suites, the choice of one, and that each reference's suite finds a difference."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.errors import UnsupportedError
from crayon_hf.formats import convert, write
from crayon_hf.formats.tiktoken import R50K_PATTERN
from crayon_hf.parity.compare.references import FIELDS
from parity.__main__ import GROUPS, listing, main, suites
from parity.call_times import __main__ as call_times
from parity.tiktoken.__main__ import exported
from parity.tiktoken.__main__ import find as find_ranks
from parity.transformers.__main__ import find as find_directory
from tests.support.versions import before_1

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent.name for path in (ROOT / "parity").glob("*/__main__.py"))


def test_the_list_has_every_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == 0
    printed = capsys.readouterr().out
    rows = [line.split()[0] for line in listing().splitlines() if line.startswith("  ")]
    assert sorted(rows) == FOLDERS
    assert {"tokenizers", "transformers", "tiktoken", "components", "training", "bench", "gpu"} <= set(FOLDERS)
    assert printed.count(listing()) == 2
    assert all(f"{heading}:" in printed for heading in GROUPS.values())


@pytest.mark.parametrize("name", FOLDERS)
def test_a_suite_has_a_line_a_group_and_a_main(name: str) -> None:
    group, line = suites()[name]
    assert group in GROUPS
    assert 20 < len(line) < 115
    assert line.endswith(".")
    assert import_module(f"parity.{name}.__main__").main.__doc__


@pytest.mark.parametrize("name", FOLDERS)
def test_the_help_of_a_suite(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(f"usage: python -m parity.{name} ")
    assert all(field in printed for field in FIELDS.get(name, ()))


def test_an_unknown_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokenisers"]) == 2
    assert "no suite 'tokenisers': did you mean 'tokenizers'?" in capsys.readouterr().err
    assert main(["x"]) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize("module", ["parity", "parity.tiktoken"])
def test_as_a_module(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"usage: python -m {module} ")


# -- each finds what is wrong


@pytest.fixture
def targets(tmp_path: Path, gpt2_like: Path) -> dict[str, list[str]]:
    """What each suite is given, with what it needs to open that."""
    ranks = exported("own", str(gpt2_like), str(tmp_path))
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
    few = [name, *targets[name], "--strings", "250", "--tokens", "0", "--reports", "1", "--json", str(out)]
    assert main([*few, "--ours", "parity_stand_in:agrees"]) == 0, capfd.readouterr().out
    assert "no difference" in capfd.readouterr().out
    assert main([*few, "--ours", "parity_stand_in:wrong_ids"]) == 1
    printed = capfd.readouterr().out
    assert "DIFFER" in printed
    assert printed.splitlines()[-1].startswith(f"1 of 1 suites do not agree with {name} ")
    (row,) = json.loads(out.read_text("utf-8"))["rows"]
    (difference,) = row["differences"]
    assert "\\xe9" in difference["smallest"][0]


@before_1("transformers beside it")
@pytest.mark.parametrize("name", ["tokenizers", "tiktoken", pytest.param("transformers", marks=pytest.mark.slow)])
def test_ours_agrees(targets: dict[str, list[str]], capfd: Any, name: str) -> None:
    every = ["--everything"] if name != "tiktoken" else ["--bytes", "50"]
    assert main([name, *targets[name], "--strings", "60", *every]) == 0, capfd.readouterr().out


@pytest.fixture
def _quiet() -> Iterator[None]:
    """Undo what the command sets for its whole process."""
    with warnings.catch_warnings():
        yield
    logging.disable(logging.NOTSET)
    gc.unfreeze()


@pytest.mark.usefixtures("_quiet")
def test_a_call_that_is_slower(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    calls = {("encode", "short"): lambda: None}, {("encode", "short"): lambda: sum(range(20_000))}
    monkeypatch.setenv("CRAYON_SHARED", "nowhere")
    monkeypatch.setattr(call_times, "faces", lambda *_: [("some.Face", iter([("gpt2", *calls)]))])
    assert main(["call_times", "--rounds", "2"]) == 1
    assert "- some.Face.encode (short), gpt2:" in capsys.readouterr().out


# -- what a profile becomes


def test_a_profile_as_ranks(tmp_path: Path) -> None:
    vocabulary = find_ranks("lite", str(tmp_path))
    assert (vocabulary.name, vocabulary.kind) == ("lite", "tiktoken")
    assert "<|endoftext|>" in vocabulary.specials()
    assert len(vocabulary.token_bytes()) > 40_000
    with pytest.raises(UnsupportedError, match="only a byte-level BPE vocabulary has ranks"):
        find_ranks("science", str(tmp_path))


def test_a_profile_as_a_directory(tmp_path: Path) -> None:
    vocabulary = find_directory("lite", str(tmp_path))
    assert (vocabulary.name, vocabulary.kind, vocabulary.path) == ("lite", "transformers", tmp_path / "lite")
    assert (tmp_path / "lite" / "tokenizer_config.json").is_file()
