"""Download the Debian packages of sources.py and make the training text of the `lite` profile from them.

One file for each source and a manifest.json with package versions, sizes and the SHA-256 of it all. The same
package versions give the same bytes.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import lzma
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clean
from excluded import EXCLUDED
from sources import SOURCES, VERSIONS, Source

CHUNK = 64_000  # a large file gives pieces of this many bytes, evenly spread over it
LONG_LINE = 40  # a line of this many characters is kept once in the whole corpus, and never if excluded
SHORT_LINE_LIMIT = 8  # a shorter line of prose is kept this often in one source: the rest is menus
UNWANTED = ("*.min.js", "*.min.css", "*/changelog*", "*/copyright", "*.dat", "*.u8", "*/vendor/*", "*/__pycache__/*")


def download(packages: list[str], into: Path, latest: bool) -> None:
    """Fetch what is not there yet, with apt-get, as the machine is configured."""
    wanted = [p for p in packages if not list(into.glob(f"{p}_*.deb"))]
    names = [p if latest else f"{p}={VERSIONS[p]}" for p in wanted]
    if names and subprocess.run(["apt-get", "download", *names], cwd=into).returncode:
        sys.exit("apt-get download failed; run `apt-get update`, or take the versions on offer with --latest")


def _matches(path: str, patterns: list[str]) -> bool:
    wanted = any(fnmatch.fnmatchcase(path, p) for p in patterns)
    return wanted and not any(fnmatch.fnmatchcase(path, p) for p in UNWANTED)


def _members(archive: Path, patterns: list[str]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    if archive.suffix == ".zip":
        zipped = zipfile.ZipFile(archive)
        for name in zipped.namelist():
            if _matches(name, patterns):
                yield name, lambda name=name: zipped.read(name)  # type: ignore[misc]
        return
    with tarfile.open(archive) as tar:  # read in order: a tar file cannot be entered in the middle
        for member in tar:
            if member.isfile() and _matches(member.name, patterns):
                stream = tar.extractfile(member)
                data = stream.read() if stream else b""
                yield member.name, lambda data=data: data  # type: ignore[misc]


def files_of(source: Source, root: Path) -> list[tuple[str, Callable[[], bytes]]]:
    """Paths and their contents, in an order that is fixed but has nothing to do with the path's alphabet."""
    plain = [p for p in source.paths if "!" not in p]
    nested: dict[str, list[str]] = {}
    for pattern in source.paths:
        if "!" in pattern:
            archive, member = pattern.split("!", 1)
            nested.setdefault(archive, []).append(member)
    found: dict[str, Callable[[], bytes]] = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name = path.relative_to(root).as_posix()
        if plain and _matches(name, plain):
            found[name] = path.read_bytes
        for archive, members in nested.items():
            if fnmatch.fnmatchcase(name, archive):
                found.update(_members(path, members))
    return sorted(found.items(), key=lambda item: hashlib.sha256(item[0].encode()).digest())


def _pieces(text: str, room: int) -> Iterator[str]:
    """The text whole if there is room, else pieces of CHUNK bytes or so, evenly spread, cut at line ends."""
    size = len(text.encode())
    if size <= room:
        yield text
        return
    size_of_chunk = max(1, min(CHUNK, room))
    lines = text.splitlines(keepends=True)
    chunks: list[list[str]] = [[]]
    filled = 0
    for line in lines:
        chunks[-1].append(line)
        filled += len(line.encode())
        if filled >= size_of_chunk:
            chunks.append([])
            filled = 0
    take = max(1, room // size_of_chunk)
    for i in sorted({i * len(chunks) // take for i in range(take)}):
        yield "".join(chunks[i])


def _key(line: str) -> bytes:
    return hashlib.blake2b(line.encode(), digest_size=8).digest()


class LineFilter:
    """Says which lines stay. Long lines are remembered over the whole corpus, short ones within a source."""

    def __init__(self, excluded: set[bytes]) -> None:
        self.excluded = excluded
        self.hits: set[bytes] = set()
        self.seen: set[bytes] = set()
        self.dropped = {"excluded": 0, "repeated": 0, "untranslated": 0, "too long": 0}

    def start(self, source: Source) -> None:
        self.long_lines = 0
        self.excluded_here = 0
        self.short: dict[str, int] = {}
        self.limit = 0 if source.kind == "code" else SHORT_LINE_LIMIT
        self.script = re.compile(f"[{source.script}]") if source.script and source.form != "dict" else None

    def keep(self, line: str) -> bool:
        bare = line.strip()
        if len(bare) > 4000:
            return self._drop("too long")
        if self.script and not self.script.search(bare) and len(re.findall("[A-Za-z]", bare)) > 20:
            return self._drop("untranslated")
        if len(bare) >= LONG_LINE:
            key = _key(bare)
            if key in self.seen:
                return self._drop("repeated")
            self.long_lines += 1
            self.seen.add(key)
            if key in self.excluded:
                self.hits.add(key)
                self.excluded_here += 1
                return self._drop("excluded")
        elif self.limit and bare:
            count = self.short[bare] = self.short.get(bare, 0) + 1
            if count > self.limit:
                return self._drop("repeated")
        return True

    def _drop(self, why: str) -> bool:
        self.dropped[why] += 1
        return False


def _is_generated(text: str) -> bool:
    return len(text) > 200 * (text.count("\n") + 1)


def collect(source: Source, root: Path, lines: LineFilter) -> str:
    """The text of one source, at most its cap."""
    lines.start(source)
    files = files_of(source, root)
    per_file = source.cap if len(files) <= 3 else max(CHUNK, source.cap // 10)
    texts: list[str] = []
    size = 0
    seen_files: set[bytes] = set()
    for _, contents in files:
        data = contents()
        digest = hashlib.sha256(data).digest()
        if digest in seen_files:
            continue
        seen_files.add(digest)
        text = clean.read(data, source.form, source.encoding)
        if source.kind == "code" and _is_generated(text):
            continue
        for piece in _pieces(text, min(per_file, source.cap - size)):
            kept = re.sub(r"\n{3,}", "\n\n", "".join(x for x in piece.splitlines(keepends=True) if lines.keep(x)))
            texts.append(kept)
            size += len(kept.encode())
        if size + CHUNK // 4 >= source.cap:
            break
    return "\n".join(texts)


def excluded_lines(folder: Path) -> set[bytes]:
    """Keys of the long lines of the benchmark texts (*.txt or *.txt.xz) in a folder."""
    keys: set[bytes] = set()
    for path in sorted(folder.glob("*.txt*")):
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        keys.update(_key(bare) for x in data.decode().splitlines() if len(bare := x.strip()) >= LONG_LINE)
    return keys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the corpus; replaced if it exists")
    parser.add_argument("--debs", type=Path, help="where to keep the downloaded packages")
    parser.add_argument("--exclude", type=Path, help="also leave out the long lines of the texts in this folder")
    parser.add_argument("--latest", action="store_true", help="take the versions on offer, not those recorded")
    options = parser.parse_args()

    known = {bytes.fromhex(key) for key in EXCLUDED.split()}
    lines = LineFilter(known | excluded_lines(options.exclude) if options.exclude else known)
    if options.output.exists():
        shutil.rmtree(options.output)
    options.output.mkdir(parents=True)
    packages = list(dict.fromkeys(s.package for s in SOURCES))
    total = hashlib.sha256()
    rows: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        debs = (options.debs or Path(temporary) / "debs").resolve()
        debs.mkdir(parents=True, exist_ok=True)
        download(packages, debs, options.latest)
        for package in packages:
            deb = max(debs.glob(f"{package}_*.deb"))
            shown = subprocess.run(["dpkg-deb", "-f", deb, "Version"], check=True, capture_output=True, text=True)
            versions[package] = shown.stdout.strip()
            if not options.latest and versions[package] != VERSIONS[package]:
                sys.exit(f"{deb} is not version {VERSIONS[package]}")
            root = Path(temporary) / "root"
            subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
            for source in (s for s in SOURCES if s.package == package):
                data = collect(source, root, lines).encode()
                name = f"{len(rows):03}-{package}-{source.group.split()[0].rstrip(',')}.txt"
                (options.output / name).write_bytes(data)
                total.update(data)
                rows.append({"file": name, "package": package, "kind": source.kind, "group": source.group,
                             "form": source.form, "bytes": len(data), "cap": source.cap,
                             "long_lines": lines.long_lines, "excluded": lines.excluded_here})  # fmt: skip
                print(f"{len(data):>9} of {source.cap:>8}  {name}", flush=True)
            shutil.rmtree(root)
    manifest = {"sha256": total.hexdigest(), "bytes": sum(r["bytes"] for r in rows), "dropped_lines": lines.dropped,
                "python": platform.python_version(), "versions": versions, "sources": rows,
                "excluded": sorted(k.hex() for k in lines.hits)}  # fmt: skip
    (options.output / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(json.dumps({k: manifest[k] for k in ("sha256", "bytes", "dropped_lines")}))


if __name__ == "__main__":
    main()
