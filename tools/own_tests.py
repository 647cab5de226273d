"""Runs the tests in the source packages of tokenizers and tiktoken, with these libraries and with ours.

    python tools/own_tests.py [DIRECTORY]

The packages of the installed versions are downloaded from pip's index into DIRECTORY (``build/own-tests``). For the
second run, the imports in a copy of the tests name `crayon_hf` instead of the library, as a user's would. A table says
how many tests pass with the library, which of those fail with ours, and why. The exit status is 1 for an unexplained
failure. Some tests download files from the Hub; without a network they fail with both, and do not count.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin
from xml.etree import ElementTree


class Project(NamedTuple):
    """A library, and its tests in its source package."""

    name: str
    ours: str
    folder: str  # the directory to run its tests in
    lost: dict[str, str]
    """Tests that cannot pass with our package: a part of a test's name, and the reason."""


PROJECTS = (
    Project(
        "tokenizers",
        "crayon_hf",
        "bindings/python",
        dict.fromkeys(
            (
                "TestParityBpeTrainer::test_train_from_iterator",
                "TestParityBpeTrainer::test_train_iterators_dev_iterators_length_mismatch",
            ),
            "ParityBpeTrainer.train_from_iterator is compiled, and takes the library's Tokenizer alone",
        ),
    ),
    Project("tiktoken", "crayon_hf.tiktoken", ".", {}),
)


def main(arguments: list[str]) -> int:
    directory = Path(arguments[0] if arguments else "build/own-tests").resolve()
    failed = False
    for project in PROJECTS:
        source = unpacked(project, directory)
        passed = []
        for name in (project.name, project.ours):
            folder = (
                directory / f"{source.name} with {name}" / "python"
            )  # the tests expect this name of their directory
            copy_tests(source / project.folder, folder, project.name, name)
            passed.append({test for test, result in run(folder).items() if result == "passed"})
        failed |= report(project, source.name, *passed)
    return int(failed)


def unpacked(project: Project, directory: Path) -> Path:
    """Return the unpacked directory of the project's source package. Downloads it if necessary."""
    name = f"{project.name}-{version(project.name)}"
    if not (directory / name).is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        archive = directory / f"{name}.tar.gz"
        page = f"{index()}/{project.name}/"
        request = urllib.request.Request(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
        with urllib.request.urlopen(request) as answer:
            files: list[dict[str, Any]] = json.load(answer)["files"]
        (url,) = (file["url"] for file in files if file["filename"] == archive.name)
        with urllib.request.urlopen(urljoin(page, url)) as answer:
            archive.write_bytes(answer.read())
        with tarfile.open(archive) as tar:
            tar.extractall(directory, filter="data")
    return directory / name


def index() -> str:
    """Return the address of pip's index."""
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    if said.returncode == 0:
        return said.stdout.strip().rstrip("/")
    from pip._internal.models.index import PyPI  # the only place where pip has its own index

    return str(PyPI.simple_url)


def put_rank_files(directory: Path) -> None:
    """Copy the rank files of CRAYON_SHARED into tiktoken's cache, under the names that the library looks for."""
    from tiktoken_ext import openai_public

    shared = os.environ.get("CRAYON_SHARED")
    for url in re.findall(r"https://[^\"]+\.tiktoken", inspect.getsource(openai_public)) if shared else ():
        path = Path(shared or "", "vocab", Path(url).stem, Path(url).name)
        if path.is_file():
            shutil.copy(path, directory / hashlib.sha1(url.encode()).hexdigest())


def copy_tests(source: Path, folder: Path, library: str, imported: str) -> None:
    """Copy only the tests, and replace `library` with `imported` in their imports."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source / "tests", folder / "tests")
    (folder / "pytest.ini").write_text("[pytest]\n")  # pytest would use one of a parent directory
    if (source / "conftest.py").is_file():
        shutil.copy(source / "conftest.py", folder)
    if imported == library:
        return
    for path in (folder / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(rf"^(\s*)from {library}\b", rf"\1from {imported}", text, flags=re.MULTILINE)
        text = re.sub(
            rf"^(\s*)import {library}\b(?!\.)", rf"\1import {imported} as {library}", text, flags=re.MULTILINE
        )
        path.write_text(text, encoding="utf-8")


def run(folder: Path) -> dict[str, str]:
    """Run the tests in a folder. Return the result of each, by its name."""
    written = folder / "results.xml"
    ranks = folder / "rank-files"
    ranks.mkdir(exist_ok=True)
    put_rank_files(ranks)
    environment = {"TIKTOKEN_CACHE_DIR": str(ranks)} | os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    subprocess.run(
        [*command, f"--junitxml={written}", "tests"], cwd=folder, env=environment, capture_output=True, check=False
    )
    results = {}
    for case in ElementTree.parse(written).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        results[name] = next((kind.tag for kind in case if kind.tag in ("failure", "error", "skipped")), "passed")
    return results


def report(project: Project, name: str, theirs: set[str], ours: set[str]) -> bool:
    """Print the tests that fail with our package but pass with the library. Returns whether one has no reason in
    `project.lost`."""
    lost = sorted(theirs - ours)
    print(f"{name}: {len(theirs)} tests pass with the library, {len(theirs & ours)} of them with ours")
    unexplained = False
    for test in lost:
        why = next((why for part, why in project.lost.items() if part in test), None)
        unexplained |= why is None
        print(f"  {test}: {why or 'must pass'}")
    return unexplained


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
