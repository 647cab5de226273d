"""``count --limit``, ``count --prices`` and ``truncate``, as a shell sees them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import crayon_hf
from tests.support.command import call

TEXT = "Ask, and it shall be given you; seek, and ye shall find. "


def run(*arguments: object, stdin: str = "", code: int = 0) -> str:
    done = call(*arguments, stdin=stdin)
    assert done.returncode == code, done
    return (done.stdout + done.stderr).decode()


@pytest.fixture(scope="module")
def lite() -> crayon_hf.Tokenizer:
    return crayon_hf.Tokenizer.from_profile("lite")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    short, long = tmp_path / "short.txt", tmp_path / "a long one.txt"
    short.write_text("Ask.", encoding="utf-8")
    long.write_text(TEXT * 5000, encoding="utf-8")
    return short, long


def test_a_limit_shows_what_has_more(lite: crayon_hf.Tokenizer, files: tuple[Path, Path]) -> None:
    n = lite.count_tokens(TEXT)
    assert run("count", TEXT, "--limit", n) == f"{n}\n"
    assert run("count", TEXT, "a", "--limit", n - 1, code=1) == f">{n - 1}\n1\n"
    assert run("count", "--lines", "--limit", 3, stdin="a\nb\n" + TEXT, code=1) == "1\n1\n>3\n"
    short, long = files
    few = lite.count_tokens("Ask.")
    assert run("count", "-f", short, long, "--limit", 100, code=1) == (
        f"   {few} {short}\n>100 {long}\n>{few + 100} total\n"
    )
    whole = lite.count_tokens(TEXT * 5000)
    assert run("count", "-f", long, "--limit", whole) == f"{whole} {long}\n"
    assert run("count", "-f", short, "--bytes", "--limit", 1, code=1) == f">1 {short}\n"


def test_prices(lite: crayon_hf.Tokenizer, files: tuple[Path, Path], tmp_path: Path) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("model, input, output, note\nsmall, 0.5, 1.5, x\nlarge,10,30,\n", encoding="utf-8")
    short, long = files
    few, whole = lite.count_tokens("Ask."), lite.count_tokens(TEXT * 5000)
    assert run("count", "Ask.", "--prices", table, "--model", "large") == f"{few} {few * 10 / 1e6:.5f}\n"
    cost = (whole * 5 + 2000 * 15) / 1e7
    assert run("count", "-f", long, "--prices", table, "--model", "small", "--output-tokens", "2k") == (
        f"{whole} {cost:.7f}".rstrip("0") + f" {long}\n"
    )
    rows = run("count", "-f", short, long, "--prices", table, "--model", "large").splitlines()
    assert [row.split()[0] for row in rows] == [str(few), str(whole), str(few + whole)]
    assert float(rows[2].split()[1]) == pytest.approx((few + whole) * 10 / 1e6)
    assert len({row.index(name) for row, name in zip(rows, (str(short), str(long), "total"), strict=True)}) == 1
    rows = run("count", TEXT, "--limit", 5, "--prices", table, "--model", "large", code=1)
    assert rows == ">5 >0.00005\n"


@pytest.mark.parametrize(
    ("table", "arguments", "message", "code"),
    [
        ("model,input\na,1\nb,2\n", [], "has 2 models: --model says which (a, b)", 2),
        ("model,input\na,1\n", ["--model", "c"], "has no model 'c'; it has a", 2),
        ("model,input\na,one\n", [], "line 2: input is 'one', expected the price of a million tokens", 1),
        ("model,input\na,-1\n", [], "line 2: input is '-1'", 1),
        ("name,price\na,1\n", [], "the first line has no column model and no input", 1),
        ("model,input\n", [], "the table lists no models", 1),
        ("model,input\na,\n", [], "line 2: input is '', expected the price", 1),
        ("model,input\na\n", [], "line 2: input is '', expected the price", 1),
        ('model,input\n"a,1\n', [], "input is '', expected the price", 1),
        ("model,input\na,0,10\n", [], "line 2 has more columns than the first line", 1),
        ("model,input\na,1\na,2\n", [], "line 3: the model 'a' is listed twice", 1),
        ("model,input\na,1\n", ["--output-tokens", 5], "the model 'a' has no price in the column output", 1),
        ("model,input,output\na,1,\n", ["--output-tokens", 5], "the model 'a' has no price in the column output", 1),
        ("model,input\n\udcff,1\n", [], "prices.csv: not a CSV table in UTF-8: ", 1),
    ],
)
def test_tables_that_are_wrong(table: str, arguments: list[str], message: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(table.encode("utf-8", "surrogateescape"))
    assert message in run("count", "a", "--prices", path, *arguments, code=code)


def test_prices_come_with_a_table(tmp_path: Path) -> None:
    assert "give it with --prices" in run("count", "a", "--model", "x", code=2)
    assert str(tmp_path / "none") in run("count", "a", "--prices", tmp_path / "none", code=1)


def test_truncate(lite: crayon_hf.Tokenizer, files: tuple[Path, Path]) -> None:
    for side in ("right", "left"):
        part = lite.truncate_text(TEXT, 5, side=side)
        assert run("truncate", "-n", 5, "--side", side, TEXT) == part + "\n"
        assert run("truncate", "--max-tokens", 5, "--side", side, stdin=TEXT) == part
    assert run("truncate", "-n", 5, TEXT, "a") == lite.truncate_text(TEXT, 5) + "\na\n"
    assert run("truncate", "-n", 2, "--lines", stdin="one two three four\nb\n").splitlines() == [
        lite.truncate_text("one two three four", 2),
        "b",
    ]
    _, long = files
    assert run("truncate", "-n", 100, "-f", long) == lite.truncate_text(TEXT * 5000, 100)
    assert run("truncate", "-n", 8, "--boundary", "paragraph", "One.\n\nTwo three four five six seven.") == "One.\n\n\n"


def test_what_truncate_refuses(llama3_like: Path, tmp_path: Path) -> None:
    assert "special tokens around a text alone are 1" in run("truncate", "-n", 0, "-t", llama3_like, "a", code=2)
    (tmp_path / "x").write_bytes(b"\xff")
    assert "the input is not UTF-8" in run("truncate", "-n", 1, "-f", tmp_path / "x", code=1)
    assert "cannot be combined" in run("truncate", "-n", 1, "a", "-f", os.devnull, code=2)
