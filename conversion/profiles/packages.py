"""Read files out of a Debian package, without unpacking it to disk."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

UNWANTED = re.compile(
    r"\.min\.(js|css)$|/changelog[^/]*$|/copyright$|\.u8$|/vendor/|/__pycache__/|/locale/[^/]*/[^/]*\.(js|py)$"
)


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(p) for p in patterns) if patterns else r"(?!)")


def _members(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Files of a zip or tar archive inside a package."""
    if data[:2] == b"PK":
        zipped = zipfile.ZipFile(io.BytesIO(data))
        for member in zipped.namelist():
            if not member.endswith("/"):
                yield f"{name}!{member}", zipped.read(member)
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for entry in tar:
            if entry.isfile() and (stream := tar.extractfile(entry)):
                yield f"{name}!{entry.name}", stream.read()


def contents(deb: Path, wanted: list[tuple[str, ...]]) -> list[list[tuple[str, bytes]]]:
    """For each set of shell patterns, the files that match one of them, as (path, bytes).

    "ARCHIVE!MEMBER" looks into a tar or zip file. The order is fixed but unrelated to the names, so the first files are
    a sample of all.
    """
    matchers = [_any_of(list(patterns)) for patterns in wanted]
    plain = _any_of([p for patterns in wanted for p in patterns if "!" not in p])
    archives = _any_of([p.split("!")[0] for patterns in wanted for p in patterns if "!" in p])
    found: list[list[tuple[str, bytes]]] = [[] for _ in wanted]

    def offer(name: str, data: bytes) -> None:
        for matcher, files in zip(matchers, found, strict=True):
            if matcher.match(name):
                files.append((name, data))

    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as process:
        assert process.stdout
        with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
            for entry in tar:
                name = entry.name.removeprefix("./")
                if not entry.isfile() or UNWANTED.search(name):
                    continue
                inside, whole = archives.match(name), plain.match(name)
                if not (inside or whole) or not (stream := tar.extractfile(entry)):
                    continue
                data = stream.read()
                if whole:
                    offer(name, data)
                if inside:
                    for member, content in _members(name, data):
                        if not UNWANTED.search(member):
                            offer(member, content)
    for files in found:
        files.sort(key=lambda file: hashlib.sha256(file[0].encode()).digest())
    return found
