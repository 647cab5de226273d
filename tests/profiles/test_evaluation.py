"""The scripts that evaluate the profiles: readers of formats that only evaluation texts have, and the verdicts."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib

import pytest
import tokenizers

from conversion.profiles import evaluation_readers, measure


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
