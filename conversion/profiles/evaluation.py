"""Download the packages of evaluation_sources.py and make the evaluation texts from them, one file each.

    python -m conversion.profiles.evaluation -o DIR [--packages DIR] [--training DIR]

Runs on Debian 12 with apt's lists up to date; about 700 MB are downloaded. manifest.json has each text's group, size
and SHA-256. With --training (the folder of a training corpus, *.txt), the share of each text's long lines that occur in
that corpus is printed: it should be close to zero.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from conversion.profiles import clean
from conversion.profiles.evaluation_readers import READERS
from conversion.profiles.evaluation_sources import DEBIAN, TEXTS, WHEELS, Part, Text
from conversion.profiles.packages import apt_download, pip_download, version_of

CHUNK = 50_000  # bytes of a piece, if a text is too long. The pieces are evenly spread.
LONG_LINE = 40  # characters. A longer line is kept once in a text.
SENTENCE = 60  # bytes. A shorter line of prose is a heading, a name or a button.


def download(into: Path) -> None:
    """Download the missing packages with apt-get and pip, as the machine is configured."""
    missing = (f"{name}={version}" for name, version in DEBIAN.items() if not list(into.glob(f"{name}_*.deb")))
    apt_download(missing, into)
    python = ("--abi=cp311", "--implementation=cp", "--python-version=3.11", "--platform=manylinux2014_x86_64")
    pip_download(WHEELS, into, *python)


def unpack(packages: Path, into: Path) -> None:
    """Unpack each package into a folder of its name."""
    for name in DEBIAN:
        deb = max(packages.glob(f"{name}_*.deb"))
        if version_of(deb) != DEBIAN[name]:
            sys.exit(f"{deb} is not version {DEBIAN[name]}")
        subprocess.run(["dpkg-deb", "-x", deb, into / name], check=True)
    for name in WHEELS:
        with zipfile.ZipFile(max(packages.glob(f"{name}-*.whl"))) as wheel:
            wheel.extractall(into / name)


@functools.cache
def _names(root: Path) -> list[str]:
    return [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file() and not p.is_symlink()]


def files(root: Path, patterns: tuple[str, ...]) -> Iterator[bytes]:
    """The contents of the matching files, in a fixed order that is unrelated to their names."""
    found: dict[str, bytes] = {}
    for name in _names(root):
        path = root / name
        for pattern in patterns:
            archive, _, member = pattern.partition("!")
            if not fnmatch.fnmatchcase(name, archive):
                continue
            if not member:
                found[name] = path.read_bytes()
                continue
            with zipfile.ZipFile(path) as zipped:
                found.update({m: zipped.read(m) for m in zipped.namelist() if fnmatch.fnmatchcase(m, member)})
    yield from (found[name] for name in sorted(found, key=lambda n: hashlib.sha256(n.encode()).digest()))


def _read(data: bytes, form: str) -> str:
    if form in READERS:
        return clean.read(READERS[form](data).encode(), "text", "utf-8")
    return clean.read(data, form, "utf-8")


def lines_of(part: Part, script: str, unpacked: Path, seen: set[str]) -> list[str]:
    """Return the lines of a part that are in its language. A long line is returned only once."""
    root = unpacked / part.package
    english = {x.strip() for data in files(root, part.english) for x in _read(data, part.form).splitlines()}
    letter = re.compile(f"[{script}]") if script else None
    kept: list[str] = []
    for data in files(root, part.paths):
        for line in _read(data, part.form).splitlines(keepends=True):
            bare = line.strip()
            if (len(bare) > 4000 and part.form == "code") or (bare in english and len(bare) > 3):
                continue
            if letter and bare and not letter.search(bare):
                continue
            if part.form != "code" and 0 < len(bare.encode()) < SENTENCE:
                continue
            if len(bare) >= LONG_LINE:
                if bare in seen:
                    continue
                seen.add(bare)
            kept.append(line)
    return kept


def spread(lines: list[str], room: int) -> str:
    """Return all lines if they fit `room`, else evenly spread pieces of CHUNK bytes, cut at line ends."""
    pieces: list[list[str]] = [[]]
    filled = 0
    for line in lines:
        pieces[-1].append(line)
        filled += len(line.encode())
        if filled >= CHUNK:
            pieces.append([])
            filled = 0
    take = min(len(pieces), max(1, room // CHUNK))
    return "".join("".join(pieces[i * len(pieces) // take]) for i in range(take))


def make(text: Text, unpacked: Path) -> str:
    """Make an evaluation text from its parts: small parts whole, and equal shares of the large ones."""
    seen: set[str] = set()
    by_kind: dict[str, list[str]] = {}  # the many packages of one game count as one part
    for part in text.parts:
        kind = part.package.split("-1.16-")[0]
        by_kind.setdefault(kind, []).extend(lines_of(part, text.script, unpacked, seen))
    room = text.size
    out: dict[str, str] = {}
    by_size = sorted(by_kind, key=lambda kind: sum(len(x) for x in by_kind[kind]))
    for i, kind in enumerate(by_size):
        out[kind] = spread(by_kind[kind], room // (len(by_size) - i))
        room -= len(out[kind].encode())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out[kind] for kind in by_kind if out[kind]))


def _long_lines(text: str) -> set[str]:
    return {bare for line in text.splitlines() if len(bare := line.strip()) >= LONG_LINE}


def overlap(texts: dict[str, str], training: Path) -> None:
    """Print how many of each text's long lines are in the training corpus."""
    wanted = {name: _long_lines(text) for name, text in texts.items()}
    found: dict[str, set[str]] = {name: set() for name in texts}
    for path in sorted(training.glob("*.txt")):
        with path.open(encoding="utf-8") as stream:
            there = {line.strip() for line in stream if len(line) > LONG_LINE}
        for name, lines in wanted.items():
            found[name] |= lines & there
    for name, lines in wanted.items():
        print(f"{name}: {len(found[name])} of {len(lines)} long lines ({len(found[name]) / len(lines):.2%}) trained on")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the texts")
    parser.add_argument("--packages", type=Path, help="folder that keeps the downloaded packages")
    parser.add_argument("--training", type=Path, help="folder of a training corpus, searched for common lines")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        packages = (options.packages or Path(temporary) / "packages").resolve()
        packages.mkdir(parents=True, exist_ok=True)
        download(packages)
        unpacked = Path(temporary) / "unpacked"
        unpacked.mkdir()
        unpack(packages, unpacked)
        texts = {text.name: make(text, unpacked) for text in TEXTS}
    if options.output.exists():
        shutil.rmtree(options.output)
    options.output.mkdir(parents=True)
    rows = []
    for source in TEXTS:
        data = texts[source.name].encode()
        (options.output / f"{source.name}.txt").write_bytes(data)
        rows.append({"name": source.name, "group": source.group, "bytes": len(data),
                     "packages": list(dict.fromkeys(p.package for p in source.parts)),
                     "sha256": hashlib.sha256(data).hexdigest()})  # fmt: skip
        print(f"{len(data):>9} {source.name}", flush=True)
    (options.output / "manifest.json").write_text(json.dumps(rows, indent=1) + "\n")
    if options.training:
        overlap(texts, options.training)


if __name__ == "__main__":
    main()
