"""Make text from word frequencies: each word occurs as often as in running text of the same size.

    python -m conversion.profiles.word_lists --profile NAME -o DIR

The frequencies are those of the package `wordfreq` of the Python registry, counted over encyclopedias, news, books,
subtitles and more. A trainer only counts words, so such a text replaces running text in languages and kinds of prose
that are rare in packages. The output is one file for each language; it has no sentences.
"""

from __future__ import annotations

import argparse
import gzip
import random
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

from conversion.profiles.packages import apt_download, pip_download
from conversion.profiles.sources import WORD_LISTS

WHEEL = {"wordfreq": ("3.1.1", "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473")}
# Dictionaries with correct capitals, since the frequency lists are in lower case. Package, version, file.
SPELLING = {
    "en": ("wamerican-large", "2020.12.07-2", "usr/share/dict/american-english-large"),
    "de": ("wngerman", "20161207-11", "usr/share/dict/ngerman"),
}
LANGUAGES = [
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu", "id",
    "it", "ja", "ko", "nb", "nl", "pl", "pt", "ro", "ru", "sv", "ta", "tr", "uk", "ur", "vi", "zh",
]  # fmt: skip
UNSPACED = {"zh", "ja"}  # languages written without spaces: one word a line, so that no two words join by chance.
CAPITAL = 0.15  # the share of capitalized occurrences of a word: at the beginning of a sentence or in a title
WORDS_A_LINE = 14


def unpack(data: bytes) -> Any:
    """The single value of a MessagePack message of maps, arrays, strings and small numbers."""
    at = 0

    def take(form: str) -> int:
        nonlocal at
        at += struct.calcsize(form)
        return int(struct.unpack_from(form, data, at - struct.calcsize(form))[0])

    def value() -> Any:
        nonlocal at
        kind = take(">B")
        if kind < 0x80:
            return kind
        if kind < 0x90:
            return {value(): value() for _ in range(kind & 15)}
        if kind < 0xA0 or kind in (0xDC, 0xDD):
            count = kind & 15 if kind < 0xA0 else take(">H" if kind == 0xDC else ">I")
            return [value() for _ in range(count)]
        if kind < 0xC0 or kind in (0xD9, 0xDA):
            size = kind & 31 if kind < 0xC0 else take(">B" if kind == 0xD9 else ">H")
            at += size
            return data[at - size : at].decode()
        raise ValueError(f"MessagePack type {kind:#x} is not supported")

    return value()


def always_capitalized(spelled: Iterable[str]) -> Set[str]:
    """The words of a dictionary that are never written in lower case, converted to lower case."""
    words = set(spelled)
    return {word.lower() for word in words if word[:1].isupper() and word.lower() not in words}


def text(data: bytes, language: str, size: int, capitalized: Set[str] = frozenset()) -> str:
    """Return about `size` bytes of shuffled words. The same arguments give the same text. Words too rare to occur once
    are left out. Numbers are left out, too: the list has zeros instead of their digits."""
    _, *buckets = unpack(gzip.decompress(data))  # bucket i: the words of frequency 10 ** (-i / 100)
    frequencies = [(word, 10 ** (-i / 100)) for i, words in enumerate(buckets) for word in words if "00" not in word]
    words = size / sum((len(word.encode()) + 1) * frequency for word, frequency in frequencies)
    rng = random.Random(language)
    out: list[str] = []
    for word, frequency in frequencies:
        count = int(words * frequency + 0.5)
        capitals = count if word in capitalized else int(count * CAPITAL + rng.random())
        out += [word] * (count - capitals) + [word[:1].upper() + word[1:]] * capitals
    rng.shuffle(out)
    separator = "\n" if language in UNSPACED else " "
    lines = (separator.join(out[i : i + WORDS_A_LINE]) for i in range(0, len(out), WORDS_A_LINE))
    return "".join(line + "\n" for line in lines)


def download(into: Path) -> None:
    """Download the wheel and the dictionaries with pip and apt-get, as the machine is configured."""
    pip_download(WHEEL, into)
    apt_download((f"{package}={version}" for package, version, _ in SPELLING.values()), into)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=tuple(WORD_LISTS), required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for word-list-XX.txt")
    options = parser.parse_args()
    english, others = WORD_LISTS[options.profile]
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        download(folder)
        capitalized: dict[str, Set[str]] = {}
        for language, (package, _, file) in SPELLING.items():
            subprocess.run(["dpkg-deb", "-x", next(folder.glob(f"{package}_*.deb")), folder / package], check=True)
            spelled = (folder / package / file).read_text(encoding="utf-8").split("\n")
            capitalized[language] = always_capitalized(spelled)
        with zipfile.ZipFile(next(folder.glob("wordfreq-*.whl"))) as wheel:
            there = set(wheel.namelist())
            for language in LANGUAGES:
                sizes = (f"wordfreq/data/{size}_{language}.msgpack.gz" for size in ("large", "small"))
                data = wheel.read(next(name for name in sizes if name in there))
                megabytes = english if language == "en" else others
                made = text(data, language, int(megabytes * 1e6), capitalized.get(language, frozenset()))
                (options.output / f"word-list-{language}.txt").write_text(made, encoding="utf-8")
                print(f"{len(made.encode()):>9} {language}", flush=True)


if __name__ == "__main__":
    main()
