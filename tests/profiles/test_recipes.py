"""The recipes of the profiles: which texts the training corpus keeps, and how the evaluation reads and measures."""

from __future__ import annotations

import bz2
import dataclasses
import lzma
import struct
import zlib
from pathlib import Path

import pytest
import tokenizers

from conversion.profiles import clean, collect, evaluation_readers, evaluation_sources, lines, measure, sources

LONG = "A line of prose that has more than forty characters in it."
PROSE = sources.Source("p", "prose", "English", "text", 10**6, ("*",))
CODE = sources.Source("p", "code", "C", "code", 10**6, ("*",))


def test_a_long_line_is_kept_once_and_a_short_one_a_few_times() -> None:
    kept = lines.Lines(set())
    kept.start(PROSE)
    assert [kept.keep(LONG), kept.keep("  " + LONG + " "), kept.keep(LONG + " More.")] == [True, False, True]
    assert sum(kept.keep("File") for _ in range(50)) == lines.SHORT_LINE_LIMIT
    kept.start(CODE)
    assert all(kept.keep("}") for _ in range(50))
    assert not kept.keep(LONG)


@pytest.mark.parametrize(
    ("line", "kind", "kept"),
    [
        (LONG, "prose", True),
        ("0123456789abcdef" * 4 + " " + LONG, "prose", False),
        ("12 345 678 910 11 12 13 14 15 16 17 18 19 20 21 22", "prose", False),
        ("x" * 5000, "code", False),
        ("The menu that you will see here and the other are English.", "language", False),
        ("Ein Satz, der lang genug ist, um als Zeile zu gelten, bleibt.", "language", True),
    ],
)
def test_what_is_worth_keeping(line: str, kind: str, kept: bool) -> None:
    source = dataclasses.replace(PROSE, kind=kind)
    assert lines.worth_keeping(line, source, set()) is kept


def test_a_part_of_a_text_is_spread_over_it() -> None:
    text = "".join(f"line {i:04}\n" for i in range(1000))
    pieces = "".join(collect._pieces(text, 2000, 100))
    assert 1500 < len(pieces) < 2500
    numbers = [int(line[5:]) for line in pieces.splitlines()]
    assert numbers == sorted(numbers)
    assert numbers[0] < 50
    assert numbers[-1] > 900
    assert "".join(collect._pieces(text, 10**6)) == text


def test_markup_is_undone() -> None:
    page = b"<html><head><style>p {}</style></head><body><h1>Title</h1><p>One &amp; two<br>three</p></body></html>"
    assert clean.read(page, "html", "utf-8").split() == ["Title", "One", "&", "two", "three"]
    assert clean.read(b'.SH NAME\n\\fBls\\fR \\- list\n.\\" no\n', "roff", "utf-8").split("\n")[-2] == "ls - list"


def test_every_package_has_a_version_and_none_is_one_of_the_evaluation() -> None:
    packages = {source.package for source in collect.all_sources()}
    versions = collect.recorded_versions()
    assert packages <= versions.keys()
    reserved = Path(evaluation_sources.__file__).read_text(encoding="utf-8")
    assert not [package for package in packages if f'"{package}"' in reserved]


def r_vector(*lines: str) -> bytes:
    """A record of an R data base: a character vector, serialized as XDR and deflated."""
    strings = b"".join(b"\x00\x04\x00\x09" + struct.pack(">i", len(x.encode())) + x.encode() for x in lines)
    inflated = b"X\n\x00\x00\x00\x03" + bytes(8) + b"\x00\x00\x00\x10" + struct.pack(">i", len(lines)) + strings
    return struct.pack(">I", len(inflated)) + zlib.compress(inflated)


def test_r_data():
    data = r_vector("EMMA", "", "She was happy,", "and clever.", "", "The end") + r_vector("PERSUASION", "", "é")
    assert evaluation_readers.r_data(data) == "EMMA\n\nShe was happy, and clever.\n\nThe end\n\nPERSUASION\n\né"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("'''Tea''' is a [[drink]] of [[China|the Chinese]].", "Tea is a drink of the Chinese."),
        ("{{box|{{a}}}}Tea{| table {{b}} |}&lt;ref name=x&gt;[http://x y]&lt;/ref&gt; is hot.", "Tea is hot."),
        ("== Name ==\n* one [http://x two]\n==References==\nthree", "Name\none two\n"),
        ("[[File:a.jpg|thumb|The [[cup]]]]A&amp;nbsp;cup [[Category:Tea]][[de:Tee]]", "A\xa0cup "),
    ],
)
def test_wiki(page, text):
    dump = f'<page><text xml:space="preserve">{page}</text></page><page><text>#REDIRECT [[Tea]]</text></page>'
    assert evaluation_readers.wiki(bz2.compress(dump.encode())) == text


@pytest.mark.parametrize("spaced", [False, True])
def test_bytes_per_token(spaced, gpt2_like, tmp_path):
    """Bytes per token are counted over documents of 20,000 characters, each encoded by itself with ``tokenizers``."""
    text = "One  line of \u4e16\u754c, and\n   another.\n" * 2000
    (tmp_path / "a.b.txt").write_text(text, encoding="utf-8")
    (tmp_path / "c.txt.xz").write_bytes(lzma.compress(text[:50].encode()))
    found = measure.measured([tmp_path / "a.b.txt", tmp_path / "c.txt.xz"], {"gpt2": gpt2_like}, {}, spaced)
    stock = tokenizers.Tokenizer.from_file(str(gpt2_like))
    for name, path in (("a", tmp_path / "a.b.txt"), ("c", tmp_path / "c.txt.xz")):
        texts = [measure.single_spaced(each) if spaced else each for each in measure.documents(path)]
        size = sum(len(each.encode()) for each in texts)
        assert found[name] == (size, {"gpt2": size / sum(len(stock.encode(each).ids) for each in texts)})
