"""``crayon-hf compare``: which arguments are tokenizers and which are input files, and the output."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf.comparison.html import to_html
from tests.cli.shell import failure, good
from tests.support.browser import WIDTHS, is_readable, opened, size
from tests.support.command import call


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpt2_like: Path) -> Path:
    for name, text in {
        "notes.txt": "one two three",
        "tree/a.py": "x = 1\n",
        "tree/b.txt": "\u0434\u043e\u043c",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(done: subprocess.CompletedProcess[bytes]) -> tuple[list[str], list[str]]:
    """The names of the tokenizers and of the files in the command's JSON output."""
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    return [each["name"] for each in found["tokenizers"]], [each["name"] for each in found["files"]]


@pytest.mark.parametrize(
    ("words", "names", "files"),
    [
        (["lite", "model", "notes.txt"], ["lite", "model"], ["notes.txt"]),
        (["notes.txt", "lite", "tree/"], ["lite"], ["notes.txt", "tree/a.py", "tree/b.txt"]),
        (["./model/tokenizer.json", "notes.txt"], ["./model/tokenizer.json"], ["notes.txt"]),
        (["-t", "lite", "-t", "model", "notes.txt"], ["lite", "model"], ["notes.txt"]),
        (["-t", "lite", "model/tokenizer.json"], ["lite"], ["model/tokenizer.json"]),
        (["lite", "-f", "notes.txt", "tree/a.py"], ["lite"], ["notes.txt", "tree/a.py"]),
        (["lite", "-f", "tree/*.py"], ["lite"], ["tree/a.py"]),
        (["-t", "lite", "notes.txt", "-f", "tree/a.py"], ["lite"], ["tree/a.py", "notes.txt"]),
    ],
)
def test_names_and_files(place: Path, words: list[str], names: list[str], files: list[str]) -> None:
    done = call("compare", *words, "--json")
    assert read(done) == (names, files)
    assert done.stderr == b""


def test_a_word_that_is_also_a_name(place: Path) -> None:
    """A file with the name of a profile is input, and a note says so."""
    (place / "science").write_text("one")
    done = call("compare", "lite", "science", "--json")
    assert read(done) == (["lite"], ["science"])
    note = "'science' is read as the file of that name (-t science takes it as a tokenizer)"
    assert done.stderr.decode() == f"crayon-hf: note: {note}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no tokenizer is named"),
        (["notes.txt"], "no tokenizer is named"),
        (["lite", "standard"], "no text is named"),
        (["-t", "lite"], "no text is named"),
        (["lite", "-"], "standard input (-) is not read"),
        (["lite", "lite", "notes.txt"], "the tokenizer 'lite' is named twice"),
        (["lite", "notes.txt", "--html", "no/where.html"], "no is not a directory"),
        (["lite", "notes.txt", "--input-format", "docx"], "--input-format"),
    ],
)
def test_wrong_usage(place: Path, words: list[str], message: str) -> None:
    assert message in failure(call("compare", *words), 2)


def test_unreadable_inputs(place: Path) -> None:
    assert "no file 'note' here, and no tokenizer 'note'" in failure(call("compare", "lite", "note", "notes.txt"))
    assert "none.txt" in failure(call("compare", "-t", "lite", "none.txt"))
    (place / "bad.txt").write_bytes(b"\xff")
    assert "bad.txt: the text is not UTF-8" in failure(call("compare", "lite", "bad.txt"))


def test_the_tables(place: Path) -> None:
    (place / "tree" / "x.bin").write_bytes(b"\0")
    done = call("compare", "lite", "model", "notes.txt", "tree/")
    assert done.stderr.decode() == "crayon-hf: note: passed over 1 file that is not UTF-8 text: tree/x.bin\n"
    found = crayon_hf.compare(["lite", "model"], ["notes.txt", "tree/"])
    first, blank, *tables = done.stdout.decode().splitlines()
    assert (first, blank) == ("3 files, 25 bytes, 22 characters, 7 words", "")
    rows = [re.split(r"  +", line) for line in tables]
    heads = ["tokenizer", "tokens", "bytes/token", "characters/token", "tokens/word", "single bytes", "never used"]
    assert rows[0] == [*heads, "MB/s", "MB/s of CPU time"]
    for row, of in zip(rows[1:3], found.tokenizers, strict=True):
        figures = found.total.figures[of.name]
        numbers = (figures.bytes_per_token, figures.characters_per_token, figures.tokens_per_word)
        assert row[:2] == [of.name, f"{figures.tokens:,}"]
        assert row[2:5] == [f"{number:.3f}" for number in numbers if number is not None]
        assert row[5:7] == [f"{figures.byte_token_share:.2%}", f"{of.never_used_share:.2%}"]
    for title, groups in (("kind", found.kinds), ("script", found.scripts), ("file", found.files)):
        start = rows.index([f"bytes/token by {title}", "bytes", "lite", "model"]) + 1
        for row, group in zip(rows[start:], groups, strict=False):
            ratios = [f"{of.bytes_per_token:.3f}" for of in group.figures.values()]
            assert row == [group.name, str(group.bytes), *ratios]
    tables_of_lines = "\n".join(tables).split("\n\n")
    assert all(len({len(line) for line in table.splitlines()}) == 1 for table in tables_of_lines)


def test_many_files(place: Path) -> None:
    for number in range(30):
        (place / "tree" / f"{number}.txt").write_text("a" * number)
    lines = good(call("compare", "lite", "tree/")).splitlines()
    assert lines[-1] == "and 11 more files: --json has all"
    assert lines[-2].startswith("tree/10.txt ")


def test_json_is_the_result(place: Path) -> None:
    printed = json.loads(good(call("compare", "lite", "model", "tree/", "--json")))
    assert printed["schema"] == "crayon-hf/compare/1"
    found = json.loads(crayon_hf.compare(["lite", "model"], "tree/").to_json())
    assert {name: printed[name] for name in ("total", "kinds", "scripts", "files", "passed_over")} == {
        name: found[name] for name in ("total", "kinds", "scripts", "files", "passed_over")
    }
    assert printed["tokenizers"][0]["megabytes_per_second"] > 0


@pytest.mark.skipif(os.name == "nt", reason="names that are not text")
def test_the_page_shows_hostile_names(place: Path) -> None:
    """Names of any bytes are shown as text, without markup or invisible characters."""
    pytest.importorskip("jinja2")
    hostile = "<script>alert(1)</script>\u202e&\udcff.txt"
    (place / "tree" / os.fsencode(hostile).decode("utf-8", "surrogateescape").replace("/", "|")).write_text("one")
    (place / "tree" / "bad<b>.bin").write_bytes(b"\0")
    done = call("compare", "lite", "model", "tree/", "--html", "out.html")
    assert done.returncode == 0, done
    page = (place / "out.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;|script&gt;\\u202e&amp;\\udcff.txt" in page
    assert "bad&lt;b&gt;.bin" in page
    assert "crayon-hf</span> <span>compare" in page
    for title in ("Bytes per token", "Tokens per word", "By script", "By kind of text", "By file", "Passed over"):
        assert title in page
    assert 'class="ours"' in page
    assert "repeat" not in to_html(crayon_hf.compare(["lite"], "notes.txt")).split("<main")[1]
    assert "\u202e" not in done.stdout.decode("utf-8", "surrogateescape")


@pytest.mark.slow
def test_the_page_in_a_browser(place: Path, browser: Any) -> None:
    """The page loads nothing, is readable in light and dark, and fits narrow screens."""
    pytest.importorskip("jinja2")
    path = place / "out.html"
    names = {"</style><script>alert(1)</script>\u202e\x00": "lite", "w" * 300: "model"}
    found = crayon_hf.compare(names, ["notes.txt", "tree/"])
    path.write_text(to_html(found, "crayon-hf compare -t lite -t model notes.txt"), "utf-8")
    for width in WIDTHS:
        with opened(browser, path, viewport=size(width)) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            is_readable(page, 30)
