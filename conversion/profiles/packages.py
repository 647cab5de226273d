"""Download packages, and read files out of a Debian package without unpacking it to disk."""

from __future__ import annotations

import fnmatch
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

UNWANTED = re.compile(
    r"\.min\.(js|css)$|/changelog[^/]*$|/copyright$|\.u8$|/vendor/|/__pycache__/|/locale/[^/]*/[^/]*\.(js|py)$"
)


def apt_download(packages: Iterable[str], into: Path, advice: str = "") -> None:
    """Download Debian packages, each NAME or NAME=VERSION, as the machine is configured. Exit if one fails."""
    names = list(packages)
    for i in range(0, len(names), 50):
        if subprocess.run(["apt-get", "-q", "download", *names[i : i + 50]], cwd=into).returncode:
            sys.exit(f"apt-get download failed; run `apt-get update`{advice}")


def pip_download(wheels: Mapping[str, tuple[str, str]], into: Path, *options: str) -> None:
    """Download wheels, each a version and a SHA-256 by its name, as the machine is configured. Exit if one fails."""
    pins = into / "wheels.txt"
    pins.write_text("".join(f"{n}=={version} --hash=sha256:{digest}\n" for n, (version, digest) in wheels.items()))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *options,
               "--require-hashes", f"--requirement={pins}", f"--dest={into}"]  # fmt: skip
    if subprocess.run(command).returncode:
        sys.exit("pip download failed")


def version_of(deb: Path) -> str:
    """Return the version of a Debian package."""
    shown = subprocess.run(["dpkg-deb", "-f", deb, "Version"], check=True, capture_output=True, text=True)
    return shown.stdout.strip()


def _any_of(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(p) for p in patterns) if patterns else r"(?!)")


def _members(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a zip or tar archive that is inside a package, as (path, bytes)."""
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
    """Return, for each set of shell patterns, the package's files that match one of them, as (path, bytes).

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
