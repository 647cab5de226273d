"""The example in the docstring of each script, run as it stands."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers

from conversion.__main__ import scripts
from crayon_hf import Tokenizer
from crayon_hf.formats.tiktoken import KNOWN_FILES
from tests.hub.local_hub import LocalHub

ROOT = Path(__file__).parents[2]
TEXT = "Hello, wörld! It's 2024.\n\n  日本 🙂"

SCRIPTS = [name.removeprefix("conversion.") for name, _ in scripts() if name.count(".") == 1]


def examples(script: str) -> list[tuple[str, str]]:
    """The commands in the docstring of a script, each with what it prints."""
    path = ROOT / "conversion" / f"{script}.py"
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False) or ""
    found = re.findall(r"^ {4}\$ ((?:.+\\\n)*.+)\n((?: {4}(?!\$).*\n)*)", doc + "\n", re.MULTILINE)
    return [
        (command.replace("\\\n", ""), re.sub("^ {4}", "", printed, flags=re.MULTILINE)) for command, printed in found
    ]


def run(command: str, printed: str, cwd: Path, environment: dict[str, str]) -> None:
    """Run it, and compare its output but for white space; ``...`` stands for anything."""
    words = shlex.split(command)
    assert words[0] == "python"
    path = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=cwd,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    got = done.stdout.replace(os.sep, "/")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(printed, got, flags), f"expected:\n{printed}\ngot:\n{got}"


def check(folder: Path) -> None:
    """Every cartridge that was made gives the ids of the tokenizer.json beside it."""
    cartridges = sorted(folder.rglob("*.dat"))
    assert cartridges
    for path in cartridges:
        ours = Tokenizer.from_file(path)
        assert ours.engine == "native"
        stock = tokenizers.Tokenizer.from_file(str(path.with_suffix(".json")))
        assert ours.encode(TEXT).ids == stock.encode(TEXT).ids != []


def test_every_script_has_an_example() -> None:
    assert {"catalogue", "crayon", "gguf", "huggingface", "sentencepiece", "tekken", "tiktoken"} == set(SCRIPTS)
    for script in (*SCRIPTS, "__main__"):
        assert examples(script), script


def test_the_list() -> None:
    ((command, printed),) = examples("__main__")
    run(command, printed, ROOT, dict(os.environ))


@pytest.mark.parametrize("script", ["sentencepiece", "gguf", "tekken", "crayon"])
def test_a_file(script: str, sources: dict[str, Path], tmp_path: Path) -> None:
    source = sources[script]
    for file in source.parent.glob(f"{source.stem}.*"):
        shutil.copy(file, tmp_path)
    ((command, printed),) = examples(script)
    run(command, printed, tmp_path, dict(os.environ))
    if script == "crayon":
        (tmp_path / "vocab_lite.dat").unlink()
    check(tmp_path)


def test_tiktoken(sources: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(sources["tiktoken"], tmp_path)
    (command, printed), _ = examples("tiktoken")
    run(command, printed, tmp_path, dict(os.environ))
    check(tmp_path)
    assert Tokenizer.from_file(tmp_path / "mine").encode("<|end|>").ids == [2000]


def test_published_encoding(shared: Path, tmp_path: Path) -> None:
    """As tiktoken keeps the file that it has fetched."""
    (tmp_path / "cache").mkdir()
    ranks = shared / "vocab" / "cl100k_base" / "cl100k_base.tiktoken"
    shutil.copy(ranks, tmp_path / "cache" / KNOWN_FILES["cl100k_base"].cache_name)
    _, (command, printed) = examples("tiktoken")
    run(command, printed, tmp_path, {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path / "cache")})
    check(tmp_path)


def test_repository(sources: dict[str, Path], tmp_path: Path) -> None:
    """On a Hub that stands on this machine: the client speaks with it over a socket."""
    pytest.importorskip("huggingface_hub")
    with LocalHub(tmp_path / "hub") as hub:
        data = (sources["huggingface"] / "tokenizer.json").read_bytes()
        hub.commit("openai-community/gpt2", {"tokenizer.json": data, "model.safetensors": b"weights"})
        ((command, printed),) = examples("huggingface")
        (tmp_path / "here").mkdir()
        run(command, printed, tmp_path / "here", hub.environment(tmp_path / "home"))
        assert hub.asked("GET", "tokenizer.json")
        assert not hub.asked("GET", "model.safetensors")
        assert hub.unknown() == []
    check(tmp_path / "here")


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="no reader of TOML")
def test_catalogue(tmp_path: Path) -> None:
    (tmp_path / "conversion").mkdir()
    shutil.copy(ROOT / "conversion" / "catalogue.example.toml", tmp_path / "conversion")
    shutil.copytree(ROOT / "crayon_hf" / "profiles", tmp_path / "crayon_hf" / "profiles")
    for command, printed in examples("catalogue"):
        run(command, printed, tmp_path, dict(os.environ))
    check(tmp_path)
