"""Checks the sdist and the wheel in dist/ before a release: run it after tools/dist.sh, with Python 3.11 or later.

The sdist must hold the files of the commit and its metadata, the wheel exactly the files of the package. The wheel is
installed without a compiler, with only its requirements; tools/check_installed.py must work there. Then the wheel is
built again from the sdist in another directory, and must be identical.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from parity.environments import environment  # noqa: E402


def main() -> None:
    sdist, wheel = one("*.tar.gz"), one("*.whl")
    check_sdist(sdist)
    metadata = check_wheel(wheel)
    with tempfile.TemporaryDirectory() as directory:
        builder = make_builder(Path(directory))
        check_metadata(metadata, builder)
        check_installing(wheel, Path(directory))
        check_again(sdist, wheel, builder, Path(directory))
    print(f"dist/{sdist.name} and dist/{wheel.name} pass all checks")


def one(pattern: str) -> Path:
    found = list((ROOT / "dist").glob(pattern))
    assert len(found) == 1, f"dist/ has {len(found)} files {pattern}; run tools/dist.sh"
    return found[0]


def tracked() -> set[str]:
    """Return the names of the files that git tracks."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(names.split("\0")) - {""}


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {entry.name.partition("/")[2] for entry in archive if not entry.isdir()}
    made = {name for name in names if name in ("PKG-INFO", "setup.cfg") or name.startswith("crayon_hf.egg-info/")}
    differs("the sdist", names - made, tracked())


def check_wheel(wheel: Path) -> bytes:
    """Check the files of a wheel and return its metadata."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    wanted = {f"crayon_hf/_core{suffix}", "crayon_hf/device/engines.json"}
    for name in tracked():
        if name.startswith("crayon_hf/"):
            wanted.add(name)
        if name.startswith("crayon_hf/profiles/") and name.endswith(".json"):
            wanted.add(name.removesuffix(".json") + ".dat")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata)
    info = metadata.removesuffix("METADATA")
    of_info = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}
    differs("the wheel", names, wanted | {info + name for name in of_info})
    return text


def make_builder(directory: Path) -> str:
    """Return the Python of an environment with the packages that tools/build.txt pins."""
    return str(environment(directory / "build", ["--require-hashes", "-r", str(ROOT / "tools" / "build.txt")]))


def check_metadata(text: bytes, builder: str) -> None:
    validate = "import sys, packaging.metadata as m; m.Metadata.from_email(sys.stdin.buffer.read(), validate=True)"
    subprocess.run([builder, "-c", validate], input=text, check=True)
    said = message_from_bytes(text)
    assert said["License-Expression"] == "MIT", said["License-Expression"]
    assert said.get_all("License-File") == ["LICENSE"], said.get_all("License-File")
    assert said["Description-Content-Type"].partition(";")[0] == "text/markdown", said["Description-Content-Type"]
    readme = (ROOT / "README.md").read_bytes()
    assert said.get_payload(decode=True) == readme, "README.md is not the description"


def differs(what: str, has: set[str], wanted: set[str]) -> None:
    assert has == wanted, f"{what} has unexpected {sorted(has - wanted)} and lacks {sorted(wanted - has)}"


def check_installing(wheel: Path, directory: Path) -> None:
    """Install the wheel into an environment whose PATH has only its own programs, and run tools/check_installed.py
    there."""
    python = environment(directory / "venv", [])
    variables = {**os.environ, "PATH": str(python.parent), "CC": "no-compiler", "CXX": "no-compiler"}
    for command in (
        ["-m", "pip", "install", "-q", "--only-binary", ":all:", str(wheel)],
        ["-m", "pip", "check"],
        ["-I", str(ROOT / "tools" / "check_installed.py")],
    ):
        subprocess.run([str(python), *command], env=variables, cwd=directory, check=True)


def check_again(sdist: Path, wheel: Path, builder: str, directory: Path) -> None:
    """Build the wheel again from the sdist, with the release's build environment, and compare the bytes."""
    with tarfile.open(sdist) as archive:
        archive.extractall(directory / "elsewhere", filter="data")
    (source,) = (directory / "elsewhere").iterdir()
    epoch = str(int((source / "PKG-INFO").stat().st_mtime))
    variables = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "CRAYON_BUILD": "cpu"}
    again = [builder, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(directory / "again"), str(source)]
    # A wheel stores file modes, so use the umask of tools/dist.sh.
    subprocess.run(again, env=variables, stdout=subprocess.DEVNULL, check=True, umask=0o022)
    (built,) = (directory / "again").iterdir()
    assert built.name == wheel.name, built.name
    if built.read_bytes() != wheel.read_bytes():
        with zipfile.ZipFile(built) as first, zipfile.ZipFile(wheel) as second:
            other = [name for name in first.namelist() if first.read(name) != second.read(name)]
        raise AssertionError(f"building the wheel again gives other bytes: {other or 'the archive itself'}")


if __name__ == "__main__":
    main()
