"""Download the Debian packages that the lists name, and make the training text of a profile from their files.

The output is one file for each source, and a manifest.json with package versions, sizes and the SHA-256 of all text.
The same package versions give the same bytes, whatever the number of processes.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import lzma
import multiprocessing
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conversion.profiles import clean
from conversion.profiles.excluded import excluded_keys, key
from conversion.profiles.lines import LONG_LINE, Lines, worth_keeping
from conversion.profiles.packages import apt_download, contents, version_of
from conversion.profiles.sources import Source, listed

CHUNK = 64_000  # the bytes of each piece of a large file; the pieces are evenly spread
SMALL_CHUNK = 8_000  # the bytes of each piece when a profile takes only a part of a source's text


def all_sources() -> list[Source]:
    """Every source of the lists, in the order of the corpus."""
    from conversion.profiles.languages import LANGUAGES

    return [*listed(), *LANGUAGES]


def recorded_versions() -> dict[str, str]:
    """The package versions that the profiles were trained on."""
    text = (Path(__file__).parent / "versions.txt").read_text()
    return dict(line.split(" ", 1) for line in text.splitlines())


def download(packages: list[str], into: Path, latest: bool) -> None:
    """Download the missing packages with apt-get, as the machine is configured."""
    versions = {} if latest else recorded_versions()
    here = {path.name.split("_")[0] for path in into.glob("*.deb")}
    names = [p if latest else f"{p}={versions[p]}" for p in packages if p not in here]
    apt_download(names, into, ", or use --latest for the available versions")


def _pieces(text: str, room: int, chunk: int = CHUNK) -> Iterator[str]:
    """Yield the whole text if it fits `room`, else evenly spread pieces of about `chunk` bytes, cut at line ends."""
    size = len(text.encode())
    if size <= room:
        yield text
        return
    if room < 1:
        return
    size_of_chunk = min(chunk, room)
    chunks: list[list[str]] = [[]]
    filled = 0
    for line in text.splitlines(keepends=True):
        chunks[-1].append(line)
        filled += len(line.encode())
        if filled >= size_of_chunk:
            chunks.append([])
            filled = 0
    take = max(1, room // size_of_chunk)
    for i in sorted({i * len(chunks) // take for i in range(take)}):
        yield "".join(chunks[i])


def _is_generated(text: str) -> bool:
    return len(text) > 200 * (text.count("\n") + 1)


def read_source(source: Source, files: list[tuple[str, bytes]]) -> str:
    """Return the text of one source: the lines worth keeping of its files, up to the source's cap."""
    cap = source.cap
    per_file = cap if len(files) <= 3 else max(CHUNK, cap // 10)
    texts: list[str] = []
    size = 0
    seen_files: set[bytes] = set()
    seen: set[bytes] = set()
    keep = functools.partial(worth_keeping, source=source, seen=seen)
    for _, data in files:
        digest = hashlib.sha256(data).digest()
        if digest in seen_files:
            continue
        seen_files.add(digest)
        text = clean.read(data, source.form, source.encoding)
        if source.kind in ("code", "maths") and _is_generated(text):
            continue
        for piece in _pieces(text, min(per_file, cap - size)):
            kept = re.sub(r"\n{3,}", "\n\n", "".join(x for x in piece.splitlines(keepends=True) if keep(x)))
            texts.append(kept)
            size += len(kept.encode())
        if size + CHUNK // 4 >= cap:
            break
    return "\n".join(texts)


def _cached(source: Source, deb: Path, cache: Path) -> Path:
    return cache / hashlib.sha256(f"{deb.name} {source}".encode()).hexdigest()


def read_package(job: tuple[list[Source], Path, Path]) -> tuple[str, str]:
    """Write the text of each source of a package to the cache, unless it is there. Return the package's version."""
    sources, deb, cache = job
    sources = [source for source in sources if not _cached(source, deb, cache).exists()]
    if sources:
        found = contents(deb, [source.paths for source in sources])
        for source, files in zip(sources, found, strict=True):
            text = read_source(source, files)
            files.clear()
            unfinished = _cached(source, deb, cache).with_suffix(".part")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.rename(unfinished.with_suffix(""))
        print(f"read {deb.name}", flush=True)
    return deb.name.split("_")[0], version_of(deb)


def texts_to_exclude(folders: list[Path]) -> set[bytes]:
    """Return the keys (excluded.key) of the long lines of all texts (*.txt or *.txt.xz) in these folders."""
    keys: set[bytes] = set()
    for path in (p for folder in folders for p in sorted(folder.rglob("*.txt*"))):
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        keys.update(key(bare) for x in data.decode().splitlines() if len(bare := x.strip()) >= LONG_LINE)
    return keys


def write_corpus(
    sources: list[tuple[Source, Path]], output: Path, profile: str, excluded: set[bytes]
) -> dict[str, Any]:
    """Write the part of each source's text that a profile takes, without repeated or excluded long lines. Return the
    manifest's tables."""
    lines = Lines(excluded)
    total = hashlib.sha256()
    rows: list[dict[str, Any]] = []
    for number, (source, path) in enumerate(sources):
        text = path.read_text(encoding="utf-8")
        lines.start(source)
        pieces = "".join(_pieces(text, int(len(text.encode()) * source.part(profile)), SMALL_CHUNK))
        kept = re.sub(r"\n{3,}", "\n\n", "".join(x for x in pieces.splitlines(keepends=True) if lines.keep(x)))
        data = kept.encode()
        if not data.strip():
            continue
        name = f"{number:04}-{source.package}-{re.sub('[^A-Za-z+#]+', '-', source.group)}.txt"
        (output / name).write_bytes(data)
        total.update(data)
        rows.append({"file": name, "package": source.package, "kind": source.kind, "group": source.group,
                     "form": source.form, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(),
                     "excluded": lines.excluded_here})  # fmt: skip
    groups: dict[str, dict[str, int]] = {}
    for row in rows:
        kind = groups.setdefault(row["kind"], {})
        kind[row["group"]] = kind.get(row["group"], 0) + row["bytes"]
    return {"sha256": total.hexdigest(), "bytes": sum(r["bytes"] for r in rows), "dropped_lines": lines.dropped,
            "groups": {k: dict(sorted(g.items(), key=lambda x: -x[1])) for k, g in groups.items()},
            "sources": rows, "excluded": sorted(k.hex() for k in lines.hits)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=("lite", "standard"), required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the corpus; replaced if it exists")
    parser.add_argument("--debs", type=Path, help="folder that keeps the downloaded packages")
    parser.add_argument("--cache", type=Path, help="folder that keeps texts as read; empty it after a reader changes")
    parser.add_argument("--exclude", type=Path, action="append", default=[], help="folder of texts with lines to drop")
    parser.add_argument("--latest", action="store_true", help="use the available versions, not the recorded ones")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()

    if options.output.exists():
        shutil.rmtree(options.output)
    options.output.mkdir(parents=True)
    sources = all_sources()
    with tempfile.TemporaryDirectory(dir=options.output) as temporary:
        debs = (options.debs or Path(temporary) / "debs").resolve()
        cache = (options.cache or Path(temporary) / "cache").resolve()
        for folder in (debs, cache):
            folder.mkdir(parents=True, exist_ok=True)
        packages = list(dict.fromkeys(source.package for source in sources))
        download(packages, debs, options.latest)
        found = {package: max(debs.glob(f"{package}_*.deb")) for package in packages}
        packages.sort(key=lambda package: -found[package].stat().st_size)  # the largest first
        jobs = [([s for s in sources if s.package == p], found[p], cache) for p in packages]
        with multiprocessing.Pool(options.processes) as pool:
            versions = dict(sorted(pool.imap_unordered(read_package, jobs)))
        if not options.latest and (wrong := set(versions.items()) - set(recorded_versions().items())):
            sys.exit(f"these are not the recorded versions: {sorted(wrong)}")
        texts = [(source, _cached(source, found[source.package], cache)) for source in sources]
        excluded = excluded_keys() | texts_to_exclude(options.exclude)
        corpus = write_corpus(texts, options.output, options.profile, excluded)
    manifest = {"profile": options.profile, "python": platform.python_version(), **corpus, "versions": versions}
    (options.output / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(json.dumps({k: manifest[k] for k in ("sha256", "bytes", "dropped_lines")}))


if __name__ == "__main__":
    main()
