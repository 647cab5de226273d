"""The commands' help texts, suggestions for misspelt words, shell completion, and each command's examples, which are
run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from crayon_hf.cli.parser import COMMANDS, GROUPS, help_of, load
from tests.cli.shell import COMMAND
from tests.support.versions import before_1

NETWORK = ("pull", "publish")
"""Commands whose examples need a Hub repository: tests/hub runs these commands."""
EXTRA = ("split",) if find_spec("icu4py") is None else ()
"""Commands whose examples need icu4py, if it is not installed."""
SERVING = ("playground",)
"""Commands whose examples run until Ctrl-C: tests/playground runs these commands."""
HOME = ("completion",)
"""Commands whose examples write to the home directory."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all files that the examples name, and a command called `crayon-hf`."""
    here = tmp_path_factory.mktemp("examples")
    (here / "bin").mkdir()
    command = here / "bin" / "crayon-hf"
    command.write_text(f"#!{sys.executable}\n{COMMAND[-1]}\n")
    command.chmod(0o755)
    text = "It was a bright cold day in April, and the clocks were striking thirteen.\n"
    (here / "book.txt").write_text(text * 40)
    (here / "poem.txt").write_text("Roses are red,\nviolets are blue.\n")
    (here / "prices.csv").write_text("model,input,output\nsmall,0.5,1.5\nlarge,5,15\n")
    (here / "data").mkdir()
    (here / "data" / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for _ in range(20)))
    (here / "table.csv").write_text('id,review\n1,good\n2,"not, ""bad"""\n')
    (here / "script.py").write_text("import crayon_hf; print(crayon_hf.installed())\n")
    done = shell(here, "crayon-hf convert lite -o my-model/ && cp my-model/tokenizer.json .")
    assert done.returncode == 0, done
    done = shell(here, "crayon-hf tokenize data/ -o my-tokens/ -t my-model/ --quiet")
    assert done.returncode == 0, done
    return here


def shell(place: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([root, *sys.path]), "HOME": str(place)}
    env |= {"CRAYON_CACHE_DIR": str(place / "cache"), "NO_COLOR": "1", **environment}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=place, env=env)


def marks_of(name: str, line: str) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.slow] if name == "parity" else []
    return [*marks, before_1("trainer of these")] if "--model wordpiece" in line else marks


QUICK = [
    pytest.param(line, id=line[:40], marks=marks_of(name, line))
    for name in COMMANDS
    if name not in (*NETWORK, *EXTRA, *SERVING, *HOME)
    for line, _ in load(name).examples
]


def less_work(line: str) -> str:
    """Options to append to a slow example so that it does less: fewer strings, megabytes of text and rounds."""
    if line.startswith("crayon-hf train"):
        return " --overwrite"  # my-model/ exists already
    if not line.startswith("crayon-hf parity") or "--greedy" in line:
        return ""
    defaults = {"--megabytes": "0.1", "--rounds": "1", "--strings": "500"}
    return "".join(f" {option} {value}" for option, value in defaults.items() if option not in line)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
@pytest.mark.parametrize("line", QUICK)
def test_the_examples_of_a_command(place: Path, line: str, tmp_path: Path) -> None:
    copy = tmp_path / "here"
    shutil.copytree(place, copy)
    done = shell(copy, line + less_work(line))
    assert done.returncode == 0, done
    assert "error" not in done.stderr
    assert "warning" not in done.stderr
    if line == "crayon-hf decode 23071 11 1125 0":
        assert done.stdout == "Hello, world!\n"


def test_without_a_command_there_is_help(place: Path) -> None:
    for program in ("crayon-hf", f"{sys.executable} -m crayon_hf"):
        done = shell(place, program)
        assert (done.returncode, done.stdout) == (2, "")
        for heading, names in GROUPS.items():
            assert re.search(rf"^{heading}:\n  {next(iter(names))} ", done.stderr, re.MULTILINE)
    done = shell(place, "crayon-hf --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: crayon-hf [OPTIONS] COMMAND")
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_says_how_it_is_called(name: str) -> None:
    text, _, examples = click.unstyle(help_of(name)).partition("Examples:")
    assert text.startswith(f"Usage: crayon-hf {name} ")
    assert load(name).examples
    assert all(line in examples for line, _ in load(name).examples)  # uncut, for copying


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("crayon-hf encod x", "'encode'"),
        ("crayon-hf tokenise x", "'tokenize'"),
        ("crayon-hf script.py", "crayon-hf run script.py"),
        ("crayon-hf encode x --jsn", "'--json'"),
        ("crayon-hf train x -o y --vocabsize=5", "'--vocab-size'? (try: crayon-hf train --help)"),
        ("crayon-hf encode x --mode gredy", "'greedy'"),
        ("crayon-hf train book.txt -o y --vocab-size 32q", "'32q' is not a number, such as 32000 or 32k"),
        ("crayon-hf train book.txt -o y --pattern gpt2 --regex x", "--pattern and --regex cannot be combined"),
        ("crayon-hf tokenize data/ -t lite", "'--output'"),
        ("crayon-hf tokenize data/ -o out", "'--tokenizer'"),
        ("crayon-hf train -o out", "'FILE...'"),
    ],
)
def test_what_was_meant(place: Path, line: str, says: str) -> None:
    done = shell(place, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


# -- completion


COMPLETE = """
source completion.bash
complete_line() { COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
                  _crayon_hf_completion crayon-hf; echo "${COMPREPLY[@]}"; }
complete_line "crayon-hf tok"; complete_line "crayon-hf encode --js"; complete_line "crayon-hf encode x -t sci"
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_shell_completes(place: Path) -> None:
    done = shell(place, f"crayon-hf completion bash > completion.bash; {COMPLETE}")
    assert done.stdout.split() == ["tokenize", "--json", "science"], done
