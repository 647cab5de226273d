"""``crayon-hf encode``, ``decode``, ``count``, ``truncate`` and ``split`` print the results of the Python calls as
lines."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import Tokenizer
from tests.cli.shell import COMMAND, failure, good
from tests.support.command import call

TEXT = "Hello, wörld! It's 2024. One two, thrée.\r\n\r\nFive six\n\n seven <|endoftext|> eight"
NONE = ["--boundaries", "none"]

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(gpt2_like: Path) -> Run:
    def run(command: str, *arguments: object, stdin: str | bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return call(command, *arguments, "-t", gpt2_like, stdin=stdin)

    return run


@pytest.fixture(scope="module")
def stock(gpt2_like: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(gpt2_like))


@pytest.fixture(scope="module")
def ours(gpt2_like: Path) -> Tokenizer:
    return Tokenizer.from_file(gpt2_like)


def lines_of(ids: list[list[int]]) -> str:
    return "".join(" ".join(map(str, each)) + "\n" for each in ids)


# -- encode and decode


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ([TEXT], [TEXT]),
        ([TEXT, "b", ""], [TEXT, "b", ""]),
        ([], [f"{TEXT}\n\nx\r\ny"]),
        (["-f", "FILE"], [f"{TEXT}\n\nx\r\ny"]),
        (["-f", "FILE", "FILE"], [f"{TEXT}\n\nx\r\ny"] * 2),
        (["--lines"], [*TEXT.split("\n"), "", "x\r", "y"]),
        (["--lines", "--file", "FILE"], [*TEXT.split("\n"), "", "x\r", "y"]),
    ],
)
def test_encode(run: Run, stock: tokenizers.Tokenizer, tmp_path: Path, options: list[str], texts: list[str]) -> None:
    path = tmp_path / "text"
    path.write_bytes(f"{TEXT}\n\nx\r\ny".encode())
    given = [str(path) if option == "FILE" else option for option in options]
    encodings = [stock.encode(text) for text in texts]
    assert good(run("encode", *given, stdin=path.read_bytes())) == lines_of([each.ids for each in encodings])
    rows = [json.loads(row) for row in good(run("encode", *given, "--json", stdin=path.read_bytes())).splitlines()]
    assert rows == [
        {"ids": each.ids, "tokens": each.tokens, "offsets": [list(pair) for pair in each.offsets]} for each in encodings
    ]
    lines = texts if "--lines" in options else [line for text in texts if text for line in text.split("\n")]
    counts = [str(len(stock.encode(line).ids)) for line in lines]
    assert good(run("count", *given, "--lines", stdin=path.read_bytes())).splitlines() == counts


def test_special_tokens(llama3_like: Path) -> None:
    other = tokenizers.Tokenizer.from_file(str(llama3_like))
    text, with_other = "a<|eot_id|>b", ("-t", llama3_like)
    bare = other.encode(text, add_special_tokens=False).ids
    assert good(call("encode", text, *with_other)) == lines_of([other.encode(text).ids])
    assert good(call("encode", text, *with_other, "--no-special")) == lines_of([bare])
    assert good(call("decode", *bare, *with_other)) == "ab\n"
    assert good(call("decode", *bare, *with_other, "--special")) == f"{text}\n"
    other.encode_special_tokens = True
    plain = other.encode(text).ids
    assert good(call("encode", text, *with_other, "--special-as-text")) == lines_of([plain])
    assert good(call("count", text, *with_other, "--special-as-text", "--no-special")) == f"{len(plain) - 1}\n"


def test_any_bytes(run: Run, tmp_path: Path) -> None:
    data = bytes(range(256)) + b"\n\xff\n"
    ids = good(run("encode", "--bytes", stdin=data))
    assert run("decode", "--bytes", stdin=ids).stdout == data
    assert json.loads(good(run("encode", "--bytes", "--json", stdin=data)))["ids"] == list(map(int, ids.split()))
    assert int(good(run("count", "--bytes", stdin=data))) == len(ids.split())
    (tmp_path / "x").write_bytes(b"ab\xff")
    for command in ("encode", "count", "truncate", "split", "inspect"):
        more = {"truncate": ["-n", 1], "split": ["-n", 4, *NONE]}.get(command, [])
        assert "offset 2" in failure(run(command, *more, "-f", tmp_path / "x"))
        assert "offset 2" in failure(run(command, *more, stdin=b"ab\xff"))
    assert f"{tmp_path / 'x'}: " in failure(run("count", "-f", tmp_path / "x"))
    assert f"{tmp_path / 'x'}: " in failure(run("split", "-n", 4, *NONE, "-f", tmp_path / "x"))
    assert "UTF-8" in failure(run("decode", stdin=b"\xff"))


@pytest.mark.skipif(os.name == "nt", reason="arguments and names are bytes elsewhere only")
def test_arguments_that_are_not_utf8(tmp_path: Path, gpt2_like: Path) -> None:
    done = subprocess.run([*map(os.fsencode, COMMAND), b"encode", b"a\xff"], capture_output=True)
    assert "offset 1" in failure(done)
    path = os.path.join(os.fsencode(tmp_path), b"\xff\xf0.json")
    with open(path, "wb") as file:
        file.write(gpt2_like.read_bytes())
    done = subprocess.run([*COMMAND, "info", "--tokenizer", path], capture_output=True)
    assert (done.returncode, done.stderr, path in done.stdout) == (0, b"", True)


@pytest.mark.parametrize(
    "spelling",
    ["{0} {1} {2}", "{0},{1},{2}", "[{0}, {1}, {2}]", "[{0} {1} {2}]", '{{"ids": [{0},{1},{2}]}}', " {0}\t{1}  {2} "],
)
def test_decode(run: Run, stock: tokenizers.Tokenizer, spelling: str) -> None:
    ids = stock.encode("Hello").ids[:3]
    expected = stock.decode(ids) + "\n"
    assert good(run("decode", *ids)) == expected
    assert good(run("decode", spelling.format(*ids))) == expected
    assert good(run("decode", "-", stdin=spelling.format(*ids) + "\n")) == expected


@pytest.mark.parametrize(
    "ids", ["x", "1 2 x3", "1.5", '{"tokens": [1]}', '["a"]', "[1, true]", "²", "5 -1", "1 999999"]
)
def test_what_is_no_id(run: Run, ids: str) -> None:
    failure(run("decode", stdin=ids))
    failure(run("decode", ids))


# -- count


def test_files_are_counted_as_by_wc(run: Run, ours: Tokenizer, tmp_path: Path) -> None:
    texts = {"a.txt": TEXT * 500, "b c.txt": "x", "empty.txt": ""}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    paths = [tmp_path / name for name in texts]
    counts = [ours.count_tokens(text) for text in texts.values()]
    width = len(str(sum(counts)))
    rows = [*zip(counts, paths, strict=True), (sum(counts), "total")]
    expected = "".join(f"{number:>{width}} {name}\n" for number, name in rows)
    assert good(run("count", "-f", *paths)) == expected
    assert good(run("count", "-f", paths[0], "-f", paths[1], paths[2])) == expected
    assert good(run("count", "-f", paths[1], "--bytes")) == f"1 {paths[1]}\n"
    assert "No such file" in failure(run("count", "-f", paths[0], tmp_path / "none"))


def test_a_limit_shows_what_has_more(run: Run, ours: Tokenizer, tmp_path: Path) -> None:
    def limited(*arguments: object, stdin: str = "") -> str:
        done = run("count", *arguments, stdin=stdin)
        assert (done.returncode, done.stderr) == (1 if b">" in done.stdout else 0, b"")
        return done.stdout.decode()

    n, few = ours.count_tokens(TEXT), ours.count_tokens("Ask.")
    assert limited(TEXT, "--limit", n) == f"{n}\n"
    assert limited(TEXT, "a", "--limit", n - 1) == f">{n - 1}\n1\n"
    assert limited("--lines", "--limit", 3, stdin="a\nb\nAsk, and it shall be given you") == "1\n1\n>3\n"
    short, long = tmp_path / "short.txt", tmp_path / "a long one.txt"
    short.write_text("Ask.")
    long.write_bytes(TEXT.encode() * 5000)
    assert limited("-f", short, long, "--limit", 100) == f"   {few} {short}\n>100 {long}\n>{few + 100} total\n"
    whole = ours.count_tokens(TEXT * 5000)
    assert limited("-f", long, "--limit", whole) == f"{whole} {long}\n"
    assert limited("-f", short, "--bytes", "--limit", 1) == f">1 {short}\n"


def test_prices(run: Run, ours: Tokenizer, tmp_path: Path) -> None:
    table, short, long = tmp_path / "prices.csv", tmp_path / "short.txt", tmp_path / "a long one.txt"
    table.write_text("model, input, output, note\nsmall, 0.5, 1.5, x\nlarge,10,30,\n", encoding="utf-8")
    short.write_text("Ask.")
    long.write_bytes(TEXT.encode() * 500)
    few, whole = ours.count_tokens("Ask."), ours.count_tokens(TEXT * 500)
    priced = ("--prices", table, "--model", "large")
    assert good(run("count", "Ask.", *priced)) == f"{few} {few * 10 / 1e6:.5f}\n"
    cost = f"{(whole * 5 + 2000 * 15) / 1e7:.7f}".rstrip("0")
    assert good(run("count", "-f", long, "--prices", table, "--model", "small", "--output-tokens", "2k")) == (
        f"{whole} {cost} {long}\n"
    )
    rows = good(run("count", "-f", short, long, *priced)).splitlines()
    assert [row.split()[0] for row in rows] == [str(few), str(whole), str(few + whole)]
    assert float(rows[2].split()[1]) == pytest.approx((few + whole) * 10 / 1e6)
    assert len({row.index(name) for row, name in zip(rows, (str(short), str(long), "total"), strict=True)}) == 1
    assert run("count", TEXT, "--limit", 5, *priced).stdout == b">5 >0.00005\n"


@pytest.mark.parametrize(
    ("table", "arguments", "message", "code"),
    [
        ("model,input\na,1\nb,2\n", [], "has 2 models: choose one with --model (a, b)", 2),
        ("model,input\na,1\n", ["--model", "c"], "has no model 'c'; it has a", 2),
        ("model,input\na,one\n", [], "line 2: input is 'one'", 1),
        ("name,price\na,1\n", [], "no column model and no input", 1),
        ("model,input\n", [], "lists no models", 1),
        ("model,input\na,0,10\n", [], "line 2 has more columns", 1),
        ("model,input\na,1\na,2\n", [], "line 3: the model 'a' is listed twice", 1),
        ("model,input,output\na,1,\n", ["--output-tokens", 5], "no price in the column output", 1),
        ("model,input\n\udcff,1\n", [], "not a CSV table in UTF-8: ", 1),
    ],
)
def test_tables_that_are_wrong(table: str, arguments: list[str], message: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(table.encode("utf-8", "surrogateescape"))
    assert message in failure(call("count", "a", "--prices", path, *arguments), code)


# -- truncate and split


def test_truncate(run: Run, ours: Tokenizer, llama3_like: Path, tmp_path: Path) -> None:
    for side in ("right", "left"):
        part = ours.truncate_text(TEXT, 5, side=side)
        assert good(run("truncate", "-n", 5, "--side", side, TEXT)) == part + "\n"
        assert good(run("truncate", "--max-tokens", 5, "--side", side, stdin=TEXT)) == part
    assert good(run("truncate", "-n", 5, TEXT, "a")) == ours.truncate_text(TEXT, 5) + "\na\n"
    expected = ours.truncate_text("one two three four", 2) + "\nb\n"
    assert good(run("truncate", "-n", 2, "--lines", stdin="one two three four\nb\n")) == expected
    (tmp_path / "long").write_bytes(TEXT.encode() * 5000)
    assert good(run("truncate", "-n", 100, "-f", tmp_path / "long")) == ours.truncate_text(TEXT * 5000, 100)
    text = "One.\n\nTwo three " + "four " * 20
    assert good(run("truncate", "-n", 14, "--boundary", "paragraph", text)) == "One.\n\n\n"
    assert "special tokens" in failure(call("truncate", "-n", 0, "-t", llama3_like, "a"), 2)


def rows(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good(done).split("\n")[:-1]]


def test_split(run: Run, ours: Tokenizer, gpt2_like: Path, template_like: Path, tmp_path: Path) -> None:
    text = TEXT * 3
    expected = [chunk._asdict() for chunk in ours.split_text(text, 9, 2, None)]
    options = ("-n", 9, "--overlap", 2, *NONE)
    assert rows(run("split", text, *options)) == expected
    assert rows(run("split", *options, stdin=text)) == rows(run("split", "-", *options, stdin=text)) == expected
    assert rows(run("split", text, "", text, *options)) == expected * 2
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(text.encode())
    files = rows(run("split", "-f", *paths, *options))
    assert files == [{"file": str(path)} | each for path in paths for each in expected]

    lines = [chunk._asdict() for chunk in ours.split_text(text, 9, 0, re.compile(r"\n"), strip=True)]
    assert rows(run("split", text, "-n", 9, "--pattern", r"\n", "--strip")) == lines
    for row in lines:
        row["tokens"] = len(row.pop("ids"))
    assert rows(run("split", text, "-n", 9, "--pattern", r"\n", "--strip", "--no-ids")) == lines
    as_text = Tokenizer.from_file(gpt2_like)
    as_text.encode_special_tokens = True
    expected = [chunk._asdict() for chunk in as_text.split_text(text, 9, 0, None)]
    assert rows(run("split", text, "-n", 9, *NONE, "--special-as-text")) == expected
    around = Tokenizer.from_file(template_like).split_text(text, 9, boundaries=None, add_special_tokens=True)
    done = call("split", text, "-n", "9", *NONE, "--special", "-t", template_like)
    assert rows(done) == [chunk._asdict() for chunk in around]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--max-tokens"),
        (["-n", 0, *NONE], "--max-tokens is 0"),
        (["-n", 4, "--overlap", 4, *NONE], "--overlap is 4"),
        (["-n", 4, "--boundaries", "sentences"], "'sentences', expected one of"),
        (["-n", 4, "--pattern", "("], "not a regular expression"),
        (["-n", 4, "--pattern", "x", *NONE], "cannot be combined"),
    ],
)
def test_what_split_refuses(run: Run, options: list[Any], says: str) -> None:
    assert says in failure(run("split", "a", *options), 2)
