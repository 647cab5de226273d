"""``crayon-hf run`` and ``python -m crayon_hf SCRIPT`` run an unchanged program so that it opens crayon_hf's
tokenizers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.patching import startup

CRAYON = [sys.executable, "-m", "crayon_hf"]
PROGRAM = r"""
import json, sys

def which():
    import tokenizers, tiktoken
    opened = tokenizers.Tokenizer.from_file(sys.argv[1])
    ranks = {bytes([byte]): byte for byte in range(256)}
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return ["crayon_hf" in str(kind.__mro__) for kind in (type(opened), type(encoding))]

if __name__ == "__main__":
    import multiprocessing, subprocess
    if "--children" in sys.argv:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            spawned = pool.apply(which)
        started = json.loads(subprocess.run([sys.executable, *sys.argv[:2]], capture_output=True).stdout)["ours"]
        assert spawned == started == which(), (spawned, started)
    print(json.dumps({"argv": sys.argv, "path": sys.path[0], "warns": sys.warnoptions, "ours": which()}))
    sys.exit(5)
"""


def run(*arguments: Any, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, **environment}
    return subprocess.run([*map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=given)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("before", "environment", "ours"),
    [
        ([], {}, [False, False]),  # transformers alone
        (["run"], {"CRAYON_INSTALL": "tokenizers"}, [True, False]),
        ([], {"CRAYON_INSTALL": "all"}, [True, True]),
        (["run", "--install", "transformers, tiktoken"], {"CRAYON_INSTALL": "0"}, [False, True]),
    ],
)
def test_a_script(
    script: Path, gpt2_like: Path, before: list[str], environment: dict[str, str], ours: list[bool]
) -> None:
    done = run(sys.executable, "-W", "ignore", "-m", "crayon_hf", *before, script, gpt2_like, "-x", **environment)
    assert (done.returncode, done.stderr) == (5, "")
    argv = [str(script), str(gpt2_like), "-x"]
    assert json.loads(done.stdout) == {"argv": argv, "path": str(script.parent), "warns": ["ignore"], "ours": ours}


def test_a_module_and_a_text(script: Path, gpt2_like: Path) -> None:
    path = os.pathsep.join([str(script.parent), *filter(None, sys.path)])
    done = run(*CRAYON, "-m", "script", gpt2_like, CRAYON_INSTALL="tokenizers", PYTHONPATH=path)
    assert (done.returncode, json.loads(done.stdout)["ours"]) == (5, [True, False])
    done = run(*CRAYON, "run", "-c", "import sys; print(sys.argv)", "-x")
    assert done.stdout == "['-c', '-x']\n"


@pytest.mark.slow
def test_what_the_program_starts(script: Path, gpt2_like: Path) -> None:
    done = run(*CRAYON, "run", "--install", "all", script, gpt2_like, "--children")
    assert json.loads(done.stdout)["ours"] == [True, True], done.stderr


def test_by_the_environment(script: Path, gpt2_like: Path) -> None:
    places = os.pathsep.join(["/some where", str(Path(__file__).parents[2])])
    printed = run(*CRAYON, "run", "--env", "--install=tokenizers", PYTHONPATH=places).stdout
    assert f"{startup.DIRECTORY}{os.pathsep}{places}" in printed
    said = run("sh", "-c", f'{printed}\nexec "$@"', "sh", sys.executable, script, gpt2_like)
    assert json.loads(said.stdout)["ours"] == [True, False], said.stderr
    places = f"{startup.DIRECTORY}{os.pathsep}a"
    again = startup.variables(None, {"PYTHONPATH": places, "CRAYON_INSTALL": "all"})
    assert again == {"PYTHONPATH": places, "CRAYON_INSTALL": "transformers,tokenizers,tiktoken"}


def test_nothing_is_imported_before_it_is_needed() -> None:
    program = "import sys; print([name for name in sys.modules if name.startswith(('crayon', 'tokenizers'))])"
    assert run(*CRAYON, "run", "--install", "all", "-c", program).stdout == "[]\n"


def test_another_sitecustomize_is_run_as_well(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('another')\nvalue = 3\n", encoding="utf-8")
    program = "import sitecustomize; print(sitecustomize.value)"
    assert run(*CRAYON, "run", "-c", program, PYTHONPATH=str(tmp_path)).stdout.splitlines()[-2:] == ["another", "3"]


def test_a_python_that_does_not_have_it(tmp_path: Path) -> None:
    (tmp_path / "crayon_hf.py").write_text("raise ImportError('of another Python')\n", encoding="utf-8")
    path = os.pathsep.join([startup.DIRECTORY, str(tmp_path)])
    done = run(sys.executable, "-c", "import tokenizers; print(1)", cwd=tmp_path, PYTHONPATH=path)
    assert done.stdout == "1\n"
    assert done.stderr.splitlines() == [f"crayon-hf: warning: not installed in {sys.executable}: of another Python"]


def test_wrong_usage(tmp_path: Path) -> None:
    for arguments, code, message in (
        (["run"], 2, "nothing to run"),
        (["run", "--install", "nope", "-c", ""], 1, "'nope' is unknown, expected transformers, tokenizers"),
        (["nothing.py"], 1, "nothing.py: No such file or directory"),
        (["run", "a/nothing"], 1, "a/nothing: No such file or directory"),
        (["nothing"], 2, "No such command 'nothing'"),
    ):
        done = run(*CRAYON, *arguments)
        assert (done.returncode, message in done.stderr) == (code, True), done
    done = run(sys.executable, "-E", "-m", "crayon_hf", "run", "-c", "", cwd=Path(startup.__file__).parents[3])
    assert (done.returncode, "cannot run with -E" in done.stderr) == (1, True)
