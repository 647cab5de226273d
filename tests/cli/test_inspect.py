# ruff: noqa: RUF001 (the marks that stand for what cannot be printed are rare characters)
"""``crayon-hf inspect``, as a shell and a terminal see it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from crayon_hf.cli import colour
from crayon_hf.display import cells as visible
from crayon_hf.display.tokens import Options, differences, tokens_of
from tests.support import reference_impl
from tests.support.command import call
from tests.support.versions import before_1

COMMAND = [sys.executable, "-c", "import sys; from crayon_hf.cli import main; sys.exit(main())"]
TEXT = "Hello, wörld! It's\t日本 🙂\nisn't  it?"
HOSTILE = "a\x1b[31mred\x07\r\x9b2J\u202eevil\x00\x7f\u2028\ue000\U000e0041 \u0301x\u200bb"
SGR = re.compile(r"\x1b\[[0-9;]*m")

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two merges, so that "abc" is a and bc by merging, and ab and c by longest match."""
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


def good(done: subprocess.CompletedProcess[bytes]) -> str:
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


def failure(done: subprocess.CompletedProcess[bytes], code: int = 1) -> str:
    assert done.returncode == code, done
    message: str = done.stderr.decode().splitlines()[-1]
    assert message.startswith("crayon-hf: error: ")
    return message


def golden(text: str) -> list[str]:
    return text.strip("\n").splitlines()


# -- pages


def test_tokens(run: Run, tiny: Path) -> None:
    assert good(run("abc é\n", "-t", tiny)).splitlines() == golden(
        """
exact: 6 tokens (6 characters, 7 bytes)
a│bc│·│‹C3›│‹A9›│↵

 id  token  bytes  chars
 97  a      61     0-1
256  bc     62 63  1-3
 32  Ġ      20     3-4
195  Ã      C3     4-5
169  ©      A9     4-5
 10  Ċ      0A     5-6
"""
    )


def test_both_ways(run: Run, tiny: Path) -> None:
    assert good(run("xabc ab", "-t", tiny, "--mode", "both", COLUMNS="64")).splitlines() == golden(
        """
exact: 5 tokens (7 characters, 7 bytes)
x│a│bc│·│ab

greedy: 5 tokens (7 characters, 7 bytes)
x│ab│c│·a│b

≠ they differ in 2 places
exact                    │ greedy
 id  token  bytes  chars │  id  token  bytes  chars
120  x      78     0-1   │ 120  x      78     0-1
 97  a      61     1-2   ≠ 257  ab     61 62  1-3
256  bc     62 63  2-4   ≠  99  c      63     3-4
 32  Ġ      20     4-5   ≠ 258  Ġa     20 61  4-6
257  ab     61 62  5-7   ≠  98  b      62     6-7
"""
    )


def test_both_ways_agree(run: Run, tiny: Path) -> None:
    assert good(run("bc", "-t", tiny, "--mode", "both")).splitlines() == golden(
        """
exact and greedy: 1 token (2 characters, 2 bytes)
bc

 id  token  bytes  chars
256  bc     62 63  0-2
"""
    )


def test_trace(run: Run, tiny: Path) -> None:
    assert good(run("abc", "-t", tiny, "--trace")).split("\n\n", 3)[3].splitlines() == golden(
        """
text abc bytes 0-3

piece 1 abc bytes 0-3
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


def test_trace_of_one_way(run: Run, tiny: Path) -> None:
    exact = good(run("abc", "-t", tiny, "--trace", "--mode", "exact"))
    greedy = good(run("abc", "-t", tiny, "--trace", "--mode", "greedy"))
    assert ("merges in order of rank" in exact, "longest match" in exact) == (True, False)
    assert ("merges in order of rank" in greedy, "longest match" in greedy) == (False, True)
    assert greedy.startswith("greedy: 2 tokens")


def test_matches_that_cross_pieces(run: Run, tmp_path: Path) -> None:
    """Each walk is shown with the piece that it begins in."""
    pre_tokenizer = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    document = reference_impl.byte_level_document(more=["a,"], pre_tokenizer=pre_tokenizer)
    (tmp_path / "x.json").write_text(json.dumps(document))
    page = good(run("xa, b", "-t", tmp_path / "x.json", "--trace"))
    first, second, third = page.split("\npiece ")[1:]
    assert "→ a, 256\n  the match goes on into the next piece\n" in first
    assert "greedy longest match\n  all of it belongs to a match that began before" in second
    assert [("≠" in part) for part in (first, second, third)] == [True, True, False]


def test_long_pieces(run: Run, tiny: Path) -> None:
    """What would take the square of their length is left out, and the page says so."""
    page = good(run("-t", tiny, "--trace", "--mode", "exact", stdin="x" * 5000))
    assert "exact more than 4096 bytes: tokens only" in page
    assert page.count("x 120") == 5000


def test_ids_in_the_text(run: Run, tiny: Path) -> None:
    assert good(run("abc", "-t", tiny, "--ids")).splitlines() == [
        "exact: 2 tokens (3 characters, 3 bytes)",
        "a⟨97⟩│bc⟨256⟩",
    ]


def test_white_space_that_no_token_has(run: Run, wordpiece_like: Path) -> None:
    lines = good(run("the dog \n the", "-t", wordpiece_like)).splitlines()
    assert [line.replace("│", "") for line in lines[1:3]] == ["the dog ", "the"]


def test_nothing(run: Run, tiny: Path) -> None:
    assert good(run("", "-t", tiny, "--trace")).startswith("exact and greedy: 0 tokens (0 characters, 0 bytes)")


# -- input


def test_input(run: Run, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("abc")
    want = good(run("abc", "-t", tiny))
    assert good(run("-f", tmp_path / "text", "-t", tiny)) == want
    assert good(run("-t", tiny, stdin="abc")) == want
    assert good(run("-", "-t", tiny, stdin="abc")) == want
    assert "no-such-file" in failure(run("-f", "no-such-file"))


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


def test_special_tokens(run: Run, llama3_like: Path) -> None:
    reference = tokenizers.Tokenizer.from_file(str(llama3_like))
    text = "a<|eot_id|>b"

    def ids(*options: str) -> list[int]:
        report = json.loads(good(run(text, "-t", llama3_like, "--json", *options)))
        return [token["id"] for token in report["exact"]["tokens"]]

    assert ids() == reference.encode(text).ids
    assert ids("--no-special") == reference.encode(text, add_special_tokens=False).ids
    reference.encode_special_tokens = True
    assert ids("--special-as-text") == reference.encode(text).ids
    page = good(run(text, "-t", llama3_like, "--trace"))
    assert "added token <|eot_id|>" in page
    assert "<|begin_of_text|>│a│<|eot_id|>│b" in page


@before_1("class for what is not native")
def test_delegated(run: Run, tmp_path: Path) -> None:
    """What is not native is shown all the same, but has no inside."""
    vocab = {"<unk>": 0, "a": 1, "a</w>": 2}
    model = tokenizers.models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True, end_of_word_suffix="</w>")
    tokenizers.Tokenizer(model).save(str(tmp_path / "x.json"))
    done = run("aa", "-t", tmp_path / "x.json")
    assert done.returncode == 0
    assert b"a\xe2\x94\x82a" in done.stdout
    for option in (["--trace"], ["--mode", "greedy"]):
        assert "byte_fallback" in failure(run("aa", "-t", tmp_path / "x.json", *option))


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
    (segment,) = report["trace"]
    pieces = segment["pieces"]
    assert b"".join(bytes.fromhex(piece["bytes"]) for piece in pieces) == TEXT.encode()
    assert [token["id"] for piece in pieces for token in piece["exact"]["tokens"]] == encoding.ids
    walks = [walk for run in segment["runs"] for walk in run["walks"]]
    assert [token["id"] for walk in walks for token in walk["tokens"]] == [t["id"] for t in report["greedy"]["tokens"]]


def test_json_of_differences(run: Run, tiny: Path) -> None:
    report = json.loads(good(run("xabc ab", "-t", tiny, "--json", "--mode", "both")))
    assert report["differences"] == [
        {"start": 1, "end": 4, "exact": [1, 3], "greedy": [1, 3]},
        {"start": 4, "end": 7, "exact": [3, 5], "greedy": [3, 5]},
    ]
    assert "trace" not in report


@settings(max_examples=100, deadline=None)
@given(st.text("abc x", max_size=30))
def test_differences(text: str) -> None:
    """Outside of them the tokens are the same; inside they are not, and cover the same characters."""
    engine = ENGINE
    ours = tokens_of(engine, text.encode(), Options())
    theirs = tokens_of(engine.greedy(), text.encode(), Options())
    i = j = 0
    for place in differences(ours, theirs):
        (first, last), (start, stop) = place.tokens
        assert [token.id for token in ours[i:first]] == [token.id for token in theirs[j:start]]
        assert [token.id for token in ours[first:last]] != [token.id for token in theirs[start:stop]]
        for tokens in (ours[first:last], theirs[start:stop]):
            assert (tokens[0].start, tokens[-1].end) == (place.start, place.end)
        i, j = last, stop
    assert [token.id for token in ours[i:]] == [token.id for token in theirs[j:]]


ENGINE = reference_impl.open_engine(
    reference_impl.byte_level_document([(b"b", b"c"), (b"a", b"b"), (b" ", b"a"), (b"bc", b"a")])
)


# -- on a terminal


def on_terminal(columns: int, *arguments: str | Path, **environment: str) -> str:
    """What the command writes to a terminal that is so wide."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    import struct

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "COLORTERM")}
    process = subprocess.Popen(
        [*COMMAND, "inspect", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=env | {"TERM": "xterm-256color"} | environment,
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            got = os.read(ours, 1 << 16)
        except OSError:  # nobody has the other end any more
            break
        if not got:
            break
        out += got
    os.close(ours)
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()
    return out.decode().replace("\r\n", "\n")


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


def test_differences_are_marked_in_the_text(tiny: Path) -> None:
    page = on_terminal(80, "xabc", "-t", tiny, "--mode", "both")
    assert re.search(r"\x1b\[[0-9;]+;1;4mbc\x1b\[0m", page)
    assert not re.search(r"\x1b\[[0-9;]+;1;4mx\x1b\[0m", page)


# -- what a text may not do to a terminal


def has_control(page: str) -> bool:
    return any(unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") for char in page.replace("\n", ""))


@pytest.mark.parametrize("options", [[], ["--trace"], ["--ids"], ["--mode", "greedy"]])
def test_hostile_text(run: Run, gpt2_like: Path, wordpiece_like: Path, options: list[str]) -> None:
    for path in (gpt2_like, wordpiece_like):
        page = good(run("-t", path, *options, stdin=HOSTILE))
        assert not has_control(page)
        assert "␛" in page or path == wordpiece_like  # whose normalizer removes control characters
        painted = good(run("-t", path, "--color=always", *options, stdin=HOSTILE))
        assert not has_control(SGR.sub("", painted))


def test_hostile_vocabulary(run: Run, tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "a\x1b]0;owned\x07": 1, "\u202eb": 2, "\n": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token="<unk>"))
    tokenizer.add_tokens([AddedToken("\x1b[2J", normalized=False)])
    tokenizer.save(str(tmp_path / "x.json"))
    for text in ("a\x1b]0;owned\x07", "\u202eb", "\x1b[2J", "\n", "other"):
        assert not has_control(good(run("-t", tmp_path / "x.json", "--trace", stdin=text)))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(), st.binary()))
def test_anything_is_printable(text: str | bytes) -> None:
    page = visible.plain(text)
    assert not has_control(page)
    assert "\n" not in page
    cells = visible.cells_of_bytes(text) if isinstance(text, bytes) else visible.cells_of_text(text)
    assert sum(cell.width for cell in cells) == visible.width_of(page)


@settings(max_examples=100, deadline=None)
@given(st.text(), st.integers(1, 20))
def test_padding(text: str, width: int) -> None:
    text = visible.plain(text)
    assert visible.width_of(colour.padded(text, width)) == width
    assert visible.width_of(colour.shortened(text, width)) <= width


def test_how_characters_look() -> None:
    assert visible.plain("a b\tc\n\x1b\x7f") == "a·b→c↵␛␡"
    assert visible.plain("\u00a0\u200d\ufe0f\ufeff") == "‹U+00A0›‹U+200D›‹U+FE0F›‹U+FEFF›"
    assert visible.plain("\u0301e\u0301") == "◌\u0301e\u0301"
    assert visible.plain(b"a\xff\xe6\x97b\xf0") == "a‹FF E6 97›b‹F0›"
    assert visible.plain(b"\x80" * 6) == "‹80 80 80 80›‹80 80›"
    assert [visible.width_of(text) for text in ("a", "日", "🙂", "e\u0301", "ｱ", "Ａ")] == [1, 2, 2, 1, 1, 2]


# -- every vocabulary


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gpt2", "llama3", "llama2", "t5-small", "bert-cased", "qwen", "whisper-tiny", "phi-2"]
)
def test_real_vocabularies(run: Run, shared: Path, name: str) -> None:
    path = shared / "vocab" / name / "tokenizer.json"
    text = TEXT + " unhappily <s>[MASK]<|endoftext|>"
    report = json.loads(good(run(text, "-t", path, "--json", "--trace")))
    reference = tokenizers.Tokenizer.from_file(str(path))
    reference.no_truncation()
    reference.no_padding()
    assert [token["id"] for token in report["exact"]["tokens"]] == reference.encode(text).ids
    assert "piece 1" in good(run(text, "-t", path, "--trace"))


def test_help(run: Run) -> None:
    text = good(run("--help"))
    for option in ("--trace", "--mode", "--ids", "--bytes", "--color", "--special-as-text"):
        assert option in text
