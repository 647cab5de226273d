# ruff: noqa: RUF001 (the marks for unprintable characters are rare characters)
"""``crayon-hf inspect`` in a shell and in a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import tokenizers

from crayon_hf.display import cells as visible
from tests.cli.shell import COMMAND, failure, good
from tests.support import reference_impl
from tests.support.command import call

TEXT = "Hello, wörld! It's\t日本 🙂\nisn't  it?"
HOSTILE = "a\x1b[31mred\x07\r\x9b2J\u202eevil\x00\x7f\u2028\ue000\U000e0041 \u0301x\u200bb"
SGR = re.compile(r"\x1b\[[0-9;]*m")

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json for which merging cuts "abc" into a and bc, and longest match into ab and c."""
    document = reference_impl.byte_level_document([(b"b", b"c"), (b"a", b"b"), (b" ", b"a")])
    path = tmp_path_factory.mktemp("tiny") / "tokenizer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, gpt2_like: Path) -> Run:
    home = tmp_path_factory.mktemp("profiles")
    (home / "lite.json").write_bytes(gpt2_like.read_bytes())

    def run(*arguments: str | Path, stdin: str | bytes = b"", **environment: str) -> Any:
        env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "COLORTERM")}
        with mock.patch.dict(os.environ, env, clear=True):
            given = {"CRAYON_PROFILE_DIR": str(home)} | environment
            return call("inspect", *arguments, stdin=stdin, environment=given)

    return run


# -- pages


def test_both_ways(run: Run, tiny: Path) -> None:
    assert (
        good(run("xabc ab", "-t", tiny, "--mode", "both", COLUMNS="64"))
        == """\
exact: 5 tokens (7 characters, 7 bytes)
x│a│bc│·│ab

greedy: 5 tokens (7 characters, 7 bytes)
x│ab│c│·a│b

≠ they differ in 2 places
exact                   │ greedy
 id  text  bytes  chars │  id  text  bytes  chars
120  x     78     0-1   │ 120  x     78     0-1
 97  a     61     1-2   ≠ 257  ab    61 62  1-3
256  bc    62 63  2-4   ≠  99  c     63     3-4
 32  ·     20     4-5   ≠ 258  ·a    20 61  4-6
257  ab    61 62  5-7   ≠  98  b     62     6-7
"""
    )


def test_trace(run: Run, tiny: Path) -> None:
    assert (
        good(run("abc", "-t", tiny, "--trace")).split("\n\n", 3)[3]
        == """\
text abc bytes 0-3

pretoken 1 abc bytes 0-3
  ≠ exact and greedy differ here
  exact merges in order of rank
  rank  merge   id
                    a b c
     0  b + c  256  a [bc]
  → a 97 bc 256
  greedy longest match
  at 0  byte   a    b  c
        node  98  258  ✗
        id    97  257
  → ab 257
  at 2  byte    c
        node  100
        id     99
  → c 99
"""
    )


def test_borders_and_unknown_tokens(run: Run, wordpiece_like: Path) -> None:
    """Without colours, marks in the output show each border between two tokens, and text that the vocabulary lacks."""
    text = "the dog ☃ the"
    report = json.loads(good(run(text, "-t", wordpiece_like, "--json")))["exact"]["tokens"]
    lines = good(run(text, "-t", wordpiece_like, COLUMNS="200")).splitlines()
    assert len(lines[1].split("│")) == len(report)
    assert "│ ☃⟨[UNK]⟩│ the" in lines[1]
    assert any(re.match(r" *\d+  ☃⟨\[UNK\]⟩ ", line) for line in lines[3:])
    assert "⟨[UNK]⟩" not in good(run("[UNK]", "-t", wordpiece_like))  # a text that says it


@pytest.mark.parametrize("options", [[], ["--mode", "both"], ["--bytes"], ["--ids"], ["--no-special"]])
def test_a_long_text_is_capped(run: Run, gpt2_like: Path, tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "long.txt"
    path.write_text("Some words, over and over. " * 2000)
    page = good(run(path, "-t", gpt2_like, *options))
    assert re.match(r"exact(?: and greedy)?: the first 1,000 tokens \(", page)
    (left,) = re.findall(r"^… and ([\d,]+) more bytes of text: --all shows them$", page, re.MULTILINE)
    (shown,) = set(re.findall(r"(?:, |\()([\d,]+) bytes\)", page))
    assert int(left.replace(",", "")) + int(shown.replace(",", "")) == path.stat().st_size
    whole = good(run(path, "-t", gpt2_like, "--all", *options))
    assert "more bytes" not in whole
    assert len(whole) > 5 * len(page)
    first, every = (
        json.loads(good(run("-t", gpt2_like, "--json", stdin=text)))["exact"]["tokens"]
        for text in (path.read_bytes()[: int(shown.replace(",", ""))], path.read_bytes())
    )
    assert first == every[: len(first)]  # a prefix of the whole text's tokens


# -- input


def test_any_bytes(run: Run, tiny: Path) -> None:
    assert "offset 1" in failure(run("-t", tiny, stdin=b"a\xff"))
    report = json.loads(good(run("-t", tiny, "--bytes", "--json", "--trace", stdin=b"ab\xff\xc3")))
    assert report["bytes"] == "6162ffc3"
    assert [(token["bytes"], token["start"], token["end"]) for token in report["exact"]["tokens"]] == [
        ("6162", 0, 2),
        ("ff", 2, 3),
        ("c3", 3, 4),
    ]
    assert "ab│‹FF›│‹C3›" in good(run("-t", tiny, "--bytes", "--trace", stdin=b"ab\xff\xc3"))


# -- JSON


def test_json(run: Run, gpt2_like: Path) -> None:
    encoding = tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT)
    report = json.loads(good(run(TEXT, "--json", "--trace")))
    assert report["text"] == TEXT
    exact = report["exact"]
    assert exact["count"] == len(encoding.ids)
    for key, want in (("id", encoding.ids), ("token", encoding.tokens)):
        assert [token[key] for token in exact["tokens"]] == want
    assert [(token["start"], token["end"]) for token in exact["tokens"]] == encoding.offsets
    for way in ("exact", "greedy"):
        assert b"".join(bytes.fromhex(token["bytes"]) for token in report[way]["tokens"]) == TEXT.encode()
    (part,) = report["trace"]
    pieces = part["pieces"]
    assert b"".join(bytes.fromhex(piece["bytes"]) for piece in pieces) == TEXT.encode()
    assert [token["id"] for piece in pieces for token in piece["exact"]["tokens"]] == encoding.ids
    walks = [walk for run in part["runs"] for walk in run["walks"]]
    assert [token["id"] for walk in walks for token in walk["tokens"]] == [t["id"] for t in report["greedy"]["tokens"]]


# -- on a terminal


def on_terminal(columns: int, *arguments: str | Path, **environment: str) -> str:
    """Return the command's output on a terminal of this width."""
    pty = pytest.importorskip("pty")  # needs Unix terminals
    main, terminal = pty.openpty()
    usual = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "COLORTERM": ""}
    usual.pop("NO_COLOR", None)
    command = [*COMMAND, "inspect", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=usual | environment)
    os.close(terminal)
    data = b""
    with contextlib.suppress(OSError):  # Linux: the command has closed its end of the terminal
        while block := os.read(main, 1 << 16):
            data += block
    os.close(main)
    assert process.wait() == 0, data
    return data.decode().replace("\r\n", "\n")


def test_colours_on_a_terminal(tiny: Path) -> None:
    page = on_terminal(80, "abc", "-t", tiny)
    text = page.splitlines()[1]
    first, second = re.findall(r"\x1b\[([0-9;]+)m(?:a|bc)\x1b\[0m", text)
    assert first != second
    assert SGR.sub("", text) == "abc"
    assert all("48;5;" in codes and "38;5;16" in codes for codes in (first, second))
    basic = on_terminal(80, "abc", "-t", tiny, TERM="linux").splitlines()[1]
    assert "48;5" not in basic
    assert "\x1b[" in basic


@pytest.mark.parametrize("off", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, "--no-color", "--color=never"])
def test_no_colours_on_a_terminal(tiny: Path, off: Any) -> None:
    options = [off] if isinstance(off, str) else []
    page = on_terminal(80, "abc", "-t", tiny, *options, **({} if options else off))
    assert "\x1b" not in page
    assert "a│bc" in page


def test_colours_elsewhere(run: Run, tiny: Path) -> None:
    assert "\x1b" not in good(run("abc", "-t", tiny, TERM="xterm-256color"))
    assert "\x1b[48;5;" in good(run("abc", "-t", tiny, "--color=always", TERM="xterm-256color", NO_COLOR="1"))
    assert "color" in failure(run("abc", "--color=blue"), 2)


@pytest.mark.parametrize("columns", [24, 40, 100])
def test_lines_fit(gpt2_like: Path, wordpiece_like: Path, columns: int) -> None:
    text = TEXT * 2 + "internationalization 日本語日本語日本語日本語日本語"
    for path in (gpt2_like, wordpiece_like):
        for options in ([], ["--ids"], ["--mode", "both"]):
            page = on_terminal(columns, text, "-t", path, *options)
            wide = [line for line in SGR.sub("", page).splitlines() if visible.width_of(line) > columns]
            assert not [line for line in wide if not line.startswith(("exact", "greedy", "≠"))], options
        trace = SGR.sub("", on_terminal(columns, text, "-t", path, "--trace"))
        rows = [line for line in trace.splitlines() if line.startswith("  → ")]
        assert max(map(visible.width_of, rows)) <= columns


# -- control characters in a text


def has_control(page: str) -> bool:
    return any(unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") for char in page.replace("\n", ""))


@pytest.mark.parametrize("options", [["--trace"], ["--ids"], ["--mode", "greedy"]])
def test_hostile_text(run: Run, gpt2_like: Path, wordpiece_like: Path, options: list[str]) -> None:
    for path in (gpt2_like, wordpiece_like):
        page = good(run("-t", path, *options, stdin=HOSTILE))
        assert not has_control(page)
        assert "␛" in page or path == wordpiece_like  # its normalizer removes control characters
        painted = good(run("-t", path, "--color=always", *options, stdin=HOSTILE))
        assert not has_control(SGR.sub("", painted))


def test_how_characters_look() -> None:
    assert visible.plain("a b\tc\n\x1b\x7f") == "a·b→c↵␛␡"
    assert visible.plain("\u00a0\u200d\ufe0f\ufeff") == "‹U+00A0›‹U+200D›‹U+FE0F›‹U+FEFF›"
    assert visible.plain("\u0301e\u0301") == "◌\u0301e\u0301"
    assert visible.plain(b"a\xff\xe6\x97b\xf0") == "a‹FF E6 97›b‹F0›"
    assert visible.plain(b"\x80" * 6) == "‹80 80 80 80›‹80 80›"
    assert [visible.width_of(text) for text in ("a", "日", "🙂", "e\u0301", "ｱ", "Ａ")] == [1, 2, 2, 1, 1, 2]
