"""The commands' error messages name the fault and a remedy, in the words of the command line, and the remedy works."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from crayon_hf import Tokenizer
from crayon_hf.errors import VocabularyError
from tests.support.command import call

INTERNAL = re.compile(r"\{\"|Error\b|<class|\bNone\b")
"""Signs of Python objects and classes, which must not occur in a command's messages."""


def error(*arguments: object, stdin: bytes = b"") -> str:
    done: subprocess.CompletedProcess[bytes] = call(*arguments, stdin=stdin)
    assert done.returncode in (1, 2), done
    message = done.stderr.decode().splitlines()[-1]
    assert message.startswith("crayon-hf: error: ")
    assert INTERNAL.search(message) is None, message
    return message.removeprefix("crayon-hf: error: ")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("body,title\na,x\n")
    Path("a.tsv").write_text("body\ttitle\na\tx\n")
    Path("a.jsonl").write_text('{"body": "a", "title": "x"}\n')
    Path("bad.jsonl").write_text('{"text": "a"}\nplain text\n')
    Path("a.txt").write_text("some text")
    Path("noext").write_text("some text")
    return tmp_path


def write_table(name: str) -> None:
    """Write a table with pyarrow, in the format of the name's ending."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"body": ["a", "b"], "title": ["x", "y"]})
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow.parquet").write_table(table, name)
        return
    with pa.OSFile(name, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


TABLES = [pytest.param(name, marks=pytest.mark.slow) for name in ("a.parquet", "a.arrow")]


@pytest.mark.parametrize("name", [*TABLES, "a.csv", "a.tsv", "a.jsonl"])
@pytest.mark.parametrize("command", ["tokenize NAME -o out -t lite", "train NAME -o out --vocab-size 300"])
def test_a_missing_column(place: Path, name: str, command: str) -> None:
    if not (place / name).exists():
        write_table(name)
    message = error(*command.replace("NAME", name).split())
    assert "it has 'body', 'title'" in message
    if name != "a.jsonl" or command.startswith("tokenize"):
        assert "--column (column=) says which is the text" in message
    assert "run it again" not in message
    assert call(*command.replace("NAME", name).split(), "--column", "body").returncode == 0  # the advice works


def test_bad_records(place: Path) -> None:
    message = error("tokenize", "bad.jsonl", "-o", "out", "-t", "lite")
    assert "bad.jsonl, line 2: is not JSON" in message
    assert "--bad-records (bad_records=)" in message
    assert "is not JSON" in error("train", "bad.jsonl", "-o", "made")


def test_another_job(place: Path) -> None:
    command = shlex.split("tokenize a.txt -o out -t lite --quiet")
    assert call(*command).returncode == 0
    message = error("tokenize", "a.txt", "-o", "out", "-t", "standard", "--eos", "x", "--append-eos")
    assert 'the tokenizer was "lite", is "standard"' in message
    assert "append_eos was off, is on" in message
    assert 'eos was not given, is "x"' in message
    assert "--overwrite (overwrite=True)" in message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_other_encodings_are_recognised(place: Path, gpt2_like: Path, encoding: str) -> None:
    text = gpt2_like.read_text(encoding="utf-8")
    Path("t.json").write_bytes(text.encode(encoding))
    name = encoding[:6].upper()
    for command in (["encode", "x", "-t", "t.json"], ["convert", "t.json", "-o", "made/"], ["info", "t.json"]):
        assert f"iconv -f {name}" in error(*command)
    with pytest.raises(VocabularyError, match=name):
        Tokenizer.from_file("t.json")
    if name == "UTF-16":
        assert "UTF-16" in error("encode", stdin="Hello, wörld".encode(encoding))
        Path("u.txt").write_bytes("Hello, wörld".encode(encoding))
        assert "UTF-16" in error("count", "u.txt")


def test_lists_of_ids(place: Path) -> None:
    assert "nested too deeply" in error("decode", stdin=b"[" * 100_000)
    for cut in ("[1, 2", "1, 2]", "[[1, 2], [3]", "[[1 2]\n [3 4]", '{"ids": [1, 2'):
        assert "cut off" in error("decode", stdin=cut.encode())


def test_names_of_files_do_nothing_to_a_terminal(place: Path) -> None:
    message = error("info", "-t", place / "\x1b[2Ja\nb\udcff.dat")
    assert message.endswith("/\\x1b[2Ja b\\udcff.dat: No such file or directory")
