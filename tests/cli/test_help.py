"""Help, suggestions, completion, and the examples of every command, which are run."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from crayon_hf.cli.parser import GROUPS, build_parser
from tests.support.sampling import sampled
from tests.support.versions import before_1

PARSER = build_parser()
COMMANDS = next(each for each in PARSER._actions if isinstance(each, argparse._SubParsersAction)).choices
MAIN = "import sys; from crayon_hf.cli import main; sys.exit(main())"

NETWORK = ("pull", "publish")
"""Their examples are of a repository: tests/hub runs these commands."""
EXTRA = ("split",) if find_spec("icu4py") is None else ()
"""Their examples need an extra that is not here."""
HOME = ("completion",)
"""Their examples write to the home directory."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all files that the examples name, and a command of the name `crayon-hf`."""
    here = tmp_path_factory.mktemp("examples")
    (here / "bin").mkdir()
    command = here / "bin" / "crayon-hf"
    command.write_text(f"#!{sys.executable}\n{MAIN}\n")
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


def examples_of(epilog: str | None) -> list[str]:
    """The command lines in the help's examples."""
    rows = re.findall(r"^  (\S.*)$", (epilog or "").partition("examples:\n")[2], re.MULTILINE)
    return [re.split(r"  +", row)[0] for row in rows]


def test_every_command_has_examples_and_a_group() -> None:
    assert sorted(name for _, names in GROUPS for name in names) == sorted(COMMANDS)
    for name, command in COMMANDS.items():
        lines = examples_of(command.epilog)
        assert lines, name
        assert all(f"crayon-hf {name}" in line for line in lines), name
    assert len(examples_of(PARSER.epilog)) > 5


def marks_of(name: str, line: str) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.slow] if name == "parity" else []
    return [*marks, before_1("trainer of these")] if "--model wordpiece" in line else marks


QUICK = [
    pytest.param(line, id=line[:40], marks=marks_of(name, line))
    for name, command in COMMANDS.items()
    if name not in (*NETWORK, *EXTRA, *HOME)
    for line in examples_of(command.epilog)
]


def less_work(line: str) -> str:
    """Options for an example that takes long by default, with 10,000 strings, megabytes of text and three rounds."""
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


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
def test_the_examples_of_all_go_on_from_each_other(place: Path, tmp_path: Path) -> None:
    copy = tmp_path / "here"
    shutil.copytree(place, copy)
    shutil.rmtree(copy / "my-model")
    for line in examples_of(PARSER.epilog):
        done = shell(copy, line)
        assert (done.returncode, done.stderr) == (0, ""), done


def test_without_a_command_there_is_help(place: Path) -> None:
    for program in ("crayon-hf", f"{sys.executable} -m crayon_hf"):
        done = shell(place, program)
        assert (done.returncode, done.stdout) == (2, "")
        for heading, names in GROUPS:
            assert re.search(rf"^{heading}:\n  {names[0]} ", done.stderr, re.MULTILINE)
    done = shell(place, "crayon-hf --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: crayon-hf COMMAND")
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("columns", ["60", "100", "300"])
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_says_how_it_is_called(name: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = COMMANDS[name].format_help()
    assert text.startswith(f"usage: crayon-hf {name} ")
    assert "examples:" in text
    assert max(map(len, text.splitlines())) <= 100
    if columns == "60":  # paragraphs go by the terminal; an example is a line to copy
        paragraphs = text.partition("examples:")[0].partition("\n\n")[2].partition("\n\narguments:")[0]
        assert max(map(len, paragraphs.partition("\n\noptions:")[0].splitlines())) <= 60


@pytest.mark.skipif(os.name == "nt", reason="terminals of Unix")
def test_the_picture_of_a_command() -> None:
    import help_pictures

    assert sorted(help_pictures.commands()) == sorted([["--help"], *([name, "--help"] for name in COMMANDS)])
    drawn = help_pictures.picture(["cache", "--help"], help_pictures.shown(["cache", "--help"]))
    lines = [str(each.text) for each in ElementTree.fromstring(drawn).iter() if each.text]
    text = "".join(lines).replace("\xa0", " ")
    for said in ("$ crayon-hf cache --help", "usage:", "{size,clear}", "crayon-hf cache clear"):
        assert said in text
    assert len(set(re.findall(r"fill: #(\w+)", drawn))) >= 2, "no colours"
    assert "url(http" not in drawn
    assert "@font-face" not in drawn


@pytest.mark.skipif(os.name == "nt", reason="terminals of Unix")
@pytest.mark.parametrize("arguments", sampled([["--help"], ["encode", "--help"], []], 3))
def test_help_has_colours_on_a_terminal_alone(arguments: list[str], place: Path) -> None:
    import help_pictures

    on_a_terminal = help_pictures.shown
    shown = on_a_terminal(arguments)
    assert "\x1b[36m" in shown
    assert "\x1b[1musage:\x1b[0m" in shown
    bare = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert bare == on_a_terminal(arguments, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(arguments, TERM="dumb")
    done = shell(place, " ".join(["crayon-hf", *arguments]), NO_COLOR="")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("crayon-hf encod x", "there is no command 'encod': did you mean 'encode'?"),
        ("crayon-hf tokenise x", "did you mean 'tokenize'?"),
        ("crayon-hf zzzz", "there is no command 'zzzz' (try"),
        ("crayon-hf encode x --jsn", "unrecognized arguments: --jsn: did you mean '--json'?"),
        ("crayon-hf train x -o y --vocabsize=5", "did you mean '--vocab-size'? (try: crayon-hf train --help)"),
        ("crayon-hf encode x --mode gredy", "did you mean 'greedy'? (there are exact, greedy)"),
        ("crayon-hf train book.txt -o y --vocab-size 32q", "'32q' is not a number, such as 32000 or 32k"),
    ],
)
def test_what_was_meant(place: Path, line: str, says: str) -> None:
    done = shell(place, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


# -- completion


def completed(place: Path, shell_name: str, program: str) -> str:
    if shutil.which(shell_name) is None:
        pytest.skip(f"{shell_name} is not installed")
    pytest.importorskip("argcomplete")
    done = shell(place, f"crayon-hf completion {shell_name} > completion.{shell_name}")
    assert done.returncode == 0, done
    (place / f"program.{shell_name}").write_text(program)
    done = shell(place, f"{shell_name} program.{shell_name}")
    return done.stdout + done.stderr


@pytest.mark.slow
def test_bash_completes(place: Path) -> None:
    program = """
        source completion.bash
        complete_line() {
            COMP_LINE="$1"; COMP_POINT=${#1}; COMP_TYPE=9; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            COMPREPLY=(); _python_argcomplete crayon-hf; echo "${COMPREPLY[@]}"
        }
        complete_line "crayon-hf tok"
        complete_line "crayon-hf encode --js"
        complete_line "crayon-hf encode x -t sci"
    """
    assert completed(place, "bash", program).split() == ["tokenize", "--json", "science"]


def test_fish_completes(place: Path) -> None:
    program = """
        source completion.fish
        complete -C "crayon-hf tok"
        complete -C "crayon-hf encode --js"
        complete -C "crayon-hf encode x -t sci"
    """
    words = [line.split("\t")[0].strip() for line in completed(place, "fish", program).splitlines()]
    assert words == ["tokenize", "--json", "science"]


def test_zsh_completes(place: Path) -> None:
    program = """
        autoload -U compinit && compinit -u -d "$PWD/zcompdump"
        source completion.zsh
        _describe() { print -l ${(P)4} ${(P)2} }
        compadd() { print -l -- ${argv[(r)--,-1]} }
        for line in "crayon-hf tok" "crayon-hf encode --js"; do
            words=(${=line}); CURRENT=$#words; BUFFER=$line; CURSOR=$#line
            _python_argcomplete crayon-hf
        done
    """
    said = completed(place, "zsh", program)
    assert "tokenize" in said
    assert "--json" in said


def test_completion_without_its_package(place: Path) -> None:
    program = "import sys; sys.modules['argcomplete'] = None; from crayon_hf.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, "completion", "bash"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "needs argcomplete, which is not installed: python -m pip install '.[completion]'" in done.stderr
