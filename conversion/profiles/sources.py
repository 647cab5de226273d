"""Sources of training text. A source is files of one Debian package that are read the same way.

The lists are in sources.tsv and languages.py, the package versions in versions.txt. A cap limits how much text is read
from a source. PARTS says which part of that text each
profile takes.

Some packages are left out because benchmark texts come from them. These are the kernel's and Debian's handbooks, the
dictionary of 1913, the sources of the Rust toolchain, CUDA and OpenSSL headers, and NumPy. Office help in Japanese,
Chinese, Korean, Russian, German, French, Hindi and Greek is left out, too, and so are the packages that
evaluation_sources.py reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MB = 1_000_000

# The part of each kind of text that a profile takes, evenly spread. These parts weight the kinds against each other.
# The 50,000 ids of `lite` must serve fewer kinds, and English first.
PARTS = {
    "standard": {"prose": 0.55, "code": 1, "maths": 1, "language": 0.33},
    "lite": {"prose": 0.2, "code": 0.08, "maths": 0.05, "language": 0.045},
}
# Megabytes of word lists (word_lists.py) beside the corpus: for English, and for each other language.
WORD_LISTS = {"standard": (30, 2), "lite": (150, 0.4)}


@dataclass(frozen=True)
class Source:
    """Files of one package that are read the same way and share one cap."""

    package: str
    kind: str  # "prose" (English), "code", "maths" or "language" (any other human language)
    group: str  # the language, human or programming
    form: str  # how to read a file: a key of clean.READERS or of catalogues.READERS
    cap: int  # the most bytes of cleaned text
    paths: tuple[str, ...]  # shell patterns; "ARCHIVE!MEMBER" looks into a tar or zip file
    script: str = ""  # a regex class: long lines without one such letter are untranslated, and dropped
    encoding: str = "utf-8"

    def part(self, profile: str) -> float:
        """The part of the source's text that a profile takes, from 0 to 1."""
        return PARTS[profile][self.kind]


def listed() -> list[Source]:
    """The sources of sources.tsv: English text, programs and mathematics."""
    text = (Path(__file__).parent / "sources.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [
        Source(package, kind, group, form, round(float(cap) * MB), tuple(paths.split(" ")))
        for kind, group, form, cap, package, paths in rows
    ]
