"""The scripts that measure the profiles: readers of forms that only evaluation texts have, and the verdicts."""

from __future__ import annotations

import bz2
import gzip
import struct
import zlib

import pytest

from conversion.profiles import evaluation_readers, measure, word_lists


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


def test_verdicts():
    def rates(lite: float, standard: float) -> tuple[int, dict[str, float]]:
        return 1, {"lite": lite, "standard": standard, "r50k_base": 4.0, "cl100k_base": 4.0, "o200k_base": 5.0}

    groups = {
        "English prose": {"novels": rates(3.9, 5.0), "manuals": rates(3.7, 5.0)},
        "code": {"Go": rates(4.1, 4.5)},
        "other languages": {"Thai": rates(4.0, 3.9), "Welsh": rates(5.0, 4.3)},
    }
    found = [line.split(" | ")[1:] for line in measure.verdicts(groups)[2:]]
    assert [(worst, reached) for _, worst, reached in found] == [
        ("-7.5% (manuals)", "no: manuals short |"),
        ("+2.5% (Go)", "yes |"),
        ("+0.0% (Thai)", "no: Thai short |"),
        ("+12.5% (Go)", "yes |"),
        ("+2.5% (mean)", "yes |"),
        ("-9.3% (mean of the groups)", "no: mean of all texts, mean of the groups short |"),
    ]
    table = measure.table(groups)
    assert table[-1].startswith("| **mean of the 3 groups** |  | **4.133** | **4.533** | **4.000** |")
    assert len(table) == 2 + 5 + 3 + 2


def test_word_lists():
    names = word_lists.always_capitalized(["Paris", "Turkey", "turkey", "tea", "Paris's"])
    assert names == {"paris", "paris's"}
    # {"format": "cB"}, then buckets 0 to 100: "tea" has frequency 1, "paris" a tenth of it; "000" stands for numbers
    buckets = b"".join({0: b"\x91\xa3tea", 100: b"\x92\xa5paris\xa3000"}.get(i, b"\x90") for i in range(101))
    data = gzip.compress(b"\xdc" + struct.pack(">H", 102) + b"\x81\xa6format\xa2cB" + buckets)
    made = word_lists.text(data, "en", 46_000, names)
    words = made.split()
    assert made == word_lists.text(data, "en", 46_000, names)
    assert set(words) == {"tea", "Tea", "Paris"}
    assert words.count("Paris") == 1000
    assert words.count("tea") + words.count("Tea") == 10_000
    assert 0.14 < words.count("Tea") / 10_000 < 0.16
    assert abs(len(made.encode()) - 46_000) < 10
    assert len(made.split("\n")[0].split(" ")) == 14
    assert "\n" in word_lists.text(data, "zh", 200)[:12]
    with pytest.raises(ValueError, match="0xc3"):
        word_lists.unpack(b"\x91\xc3")
