"""Arguments that name texts, files, directories, standard input, and misspelt tokenizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from crayon_hf import Tokenizer
from crayon_hf.cli.parser import COMMANDS as ALL
from crayon_hf.cli.parser import load
from tests.cli.shell import COMMAND
from tests.support.command import call

CALLS = ("encode", "count", "inspect", "truncate -n 3", "split -n 3 --boundaries none")
COMMANDS = {words.partition(" ")[0]: words.split() for words in CALLS}
"""The commands that take texts as arguments, with the options that they need."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"notes.txt": "one two three", "LICENSE": "MIT", "tree/a": "aa", "tree/b/c.py": "bb cc"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tree" / ".hidden").write_text("no")
    (tmp_path / "tree" / "image").write_bytes(b"\x89PNG\xff")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tokens(text: str) -> int:
    return len(Tokenizer.from_profile("lite").encode(text).ids)


def said(done: subprocess.CompletedProcess[bytes], code: int = 0) -> str:
    assert done.returncode == code, done
    return done.stderr.decode()


def error(done: subprocess.CompletedProcess[bytes]) -> str:
    message = said(done, 2)
    assert message.startswith("crayon-hf: error: ")
    assert done.stdout == b""
    return message


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_name_of_a_file_is_the_file(place: Path, command: list[str]) -> None:
    named = call(*command, "notes.txt")
    assert said(named) == ""
    assert named.stdout == call(*command, "-f", "notes.txt").stdout
    assert call(*command, "--text", "notes.txt").stdout != named.stdout
    assert said(call(*command, "--text", "notes.txt")) == ""


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_word_that_is_also_a_file_is_noted(place: Path, command: list[str]) -> None:
    note = "crayon-hf: note: 'LICENSE' is read as the file of that name (--text takes it as text)\n"
    assert said(call(*command, "LICENSE")) == note
    assert call(*command, "LICENSE").stdout == call(*command, "-f", "LICENSE").stdout


@pytest.mark.parametrize("name", ["note.txt", "*.md", "src/", "./x", "docs/none.md"])
def test_a_misspelt_name_is_noted(place: Path, name: str) -> None:
    note = f"crayon-hf: note: no file {name!r} here: it is taken as text (--text omits this note)\n"
    assert said(call("count", name)) == note
    assert said(call("count", "--text", name)) == ""


@pytest.mark.parametrize(
    "text", ["", "Hello, world!", "3.14", "e.g.", "https://a.b/c.txt", "and/or", "a. b", "x\ny.md"]
)
def test_texts_are_not_noted(place: Path, text: str) -> None:
    assert said(call("count", text)) == ""


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_texts_and_files_are_not_mixed(place: Path, command: list[str]) -> None:
    assert "'nots.txt' is not" in error(call(*command, "LICENSE", "nots.txt"))
    assert "cannot be combined" in error(call(*command, "text", "-f", "notes.txt"))
    assert "standard input (-) cannot be combined" in error(call(*command, "text", "-", stdin="x"))


def test_a_directory_is_counted_as_a_tree(place: Path) -> None:
    done = call("count", "tree/")
    rows = [(tokens("aa"), "tree/a"), (tokens("bb cc"), "tree/b/c.py")]
    total = sum(number for number, _ in rows)
    assert done.stdout.decode() == "".join(f"{number} {name}\n" for number, name in [*rows, (total, "total")])
    assert said(done) == "crayon-hf: note: passed over 1 file that is not UTF-8 text: tree/image\n"
    assert "'tree' is read as the directory" in said(call("count", "tree"))
    assert call("count", "-f", "tree/", "notes.txt").stdout.decode().splitlines()[-1].split()[1] == "total"
    assert b"tree/image" in call("count", "tree/", "--bytes").stdout


@pytest.mark.parametrize("command", [command for command in COMMANDS.values() if command[0] != "count"])
def test_other_commands_read_no_directories(place: Path, command: list[str]) -> None:
    assert "'tree/' is a directory: give its files" in error(call(*command, "tree/"))
    assert "'tree' is taken as text" in said(call(*command, "tree"))


def test_inspect_asks_for_quotes(place: Path) -> None:
    assert 'quote it: crayon-hf inspect "Hello world"' in error(call("inspect", "Hello", "world"))
    assert "takes one text or one file, not 2" in error(call("inspect", "notes.txt", "tree/a"))
    assert "takes one text or one file, not 2" in error(call("inspect", "-f", "notes.txt", "tree/a"))


# -- terminals


@pytest.mark.parametrize("arguments", [*COMMANDS.values(), ["decode"], ["train", "-", "-o", "made"]])
def test_waiting_for_a_terminal_is_said(arguments: list[str], tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process: Any = subprocess.Popen([*COMMAND, *arguments], stdin=theirs, cwd=tmp_path, **pipes)
    os.close(theirs)
    what = "ids" if arguments == ["decode"] else "text"
    note = f"crayon-hf: note: reading {what} from the terminal; Ctrl-D on an empty line ends it\n"
    assert process.stderr.readline().decode() == note  # before any input
    os.write(ours, b"12 13\n\x04")
    out, rest = process.communicate()
    os.close(ours)
    assert (process.returncode, rest) == (0, b"")
    assert out


# -- options


def test_two_values_of_an_option_are_refused() -> None:
    """Every option that takes one value refuses two different values. The same value twice is allowed."""
    checked = 0
    for name in ALL:
        for each in load(name).params:
            if not isinstance(each, click.Option) or each.is_flag or each.multiple:
                continue
            first, second = ([*each.type.choices] if isinstance(each.type, click.Choice) else ["1", "2"])[:2]
            for option in each.opts:
                message = error(call(name, option, first, option, second))
                assert f"not both {first} and {second}" in message
                assert "not both" in error(call(name, f"{option}={first}", f"{each.opts[-1]}={second}"))
                checked += 1
    assert checked > 80
    assert call("count", "x", "-t", "lite", "--tokenizer", "lite").returncode == 0


@pytest.mark.parametrize("text", ["-5", "- a", "-1.5", "--", "-"])
def test_a_number_or_a_sentence_is_no_option(text: str) -> None:
    words = [text] if text not in ("-", "--") else ["--text", "--", text]
    done = call("count", *words)
    assert (said(done), done.stdout) == ("", b"%d\n" % tokens(text))


# -- tokenizers


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Standard", "'standard'?"),
        ("cl100k", "'cl100k_base'?"),
        ("gpt-4o", "'o200k_base', the encoding of gpt-4o?"),
        ("gpt4", "'cl100k_base', the encoding of gpt-4?"),
        ("gpt-oss", "'o200k_harmony', the encoding of gpt-oss?"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [["encode", "x", "-t"], ["info"], ["convert"], ["parity"], ["train", "notes.txt", "-o", "made", "-t"]],
    ids=lambda command: command[0],
)
def test_a_misspelt_tokenizer_is_suggested(place: Path, command: list[str], name: str, meant: str) -> None:
    message = said(call(*command, name), 2 if command[0] == "parity" else 1)
    assert f"no tokenizer {name!r}: did you mean {meant} (profiles: " in message
