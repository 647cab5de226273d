"""Runs the code blocks of README and of the documentation unchanged, page by page.

``python tests/release/snippets.py README.md`` uses the installed crayon-hf. The blocks of a page run in order, in a
directory that has README.md, CHANGELOG.md and docs/. ``--in-clone`` before the page runs them in the root of this tree,
as a Python started there would, and removes the files that they make.

Blocks of ``python`` and ``sh`` must not fail. A block of ``text`` directly after one of ``python`` is its output.
``<!--- skip: next -->`` before a block marks one that needs the network, an account, a GPU or a cluster.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
PRINTED = "__printed__"
_python = PythonEvaluator()


def pages() -> list[str]:
    """README and every page of the documentation that has code."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/reference").glob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in found if any(True for _ in blocks(path))]


def blocks(path: Path) -> Iterator[Example]:
    """The code blocks of a page that are run."""
    parsers = [
        CodeBlockParser("python", run_python),
        CodeBlockParser("sh", run_shell),
        CodeBlockParser("text", compare),
    ]
    yield from Sybil(parsers=[SkipParser(), *parsers], path=str(path.parent)).parse(path).examples()


def run_python(example: Example) -> None:
    """Run a Python block in the namespace of its page, and keep its output."""
    printed = io.StringIO()
    example.namespace["__name__"] = "__main__"
    with contextlib.redirect_stdout(printed):
        _python(example)
    example.namespace[PRINTED] = printed.getvalue()


def run_shell(example: Example) -> None:
    ended = subprocess.run(["bash", "-ec", example.parsed], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode:
        raise AssertionError(f"exit code {ended.returncode}: {ended.stderr[-800:]}")


def compare(example: Example) -> None:
    """Compare a text block with the output of the Python block before it."""
    printed = example.namespace.pop(PRINTED, None)
    if printed is not None:
        assert printed == example.parsed, f"it prints\n{printed}"


@contextlib.contextmanager
def elsewhere() -> Iterator[Path]:
    """A temporary directory with the files that code blocks read."""
    with tempfile.TemporaryDirectory(prefix="crayon-snippets-") as directory:
        place = Path(directory)
        shutil.copytree(ROOT / "docs", place / "docs")
        for name in ("README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, place / name)
        yield place


@contextlib.contextmanager
def in_clone() -> Iterator[Path]:
    """The root of this tree, put first in sys.path. Files that code blocks add to it are removed."""
    before = set(ROOT.iterdir())
    sys.path[0] = ""
    try:
        yield ROOT
    finally:
        for path in set(ROOT.iterdir()) - before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def run(page: str, place: Path) -> Iterator[tuple[str, float]]:
    """Run the code blocks of a page in the directory `place`. Yields the first line of each block and its seconds.
    Raises if a block fails."""
    before, path = os.getcwd(), os.environ["PATH"]
    os.chdir(place)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])
    try:
        for example in blocks(ROOT / page):
            begun = time.monotonic()
            example.evaluate()
            if isinstance(example.parsed, str):
                yield f"{page}:{example.line}: {example.parsed.splitlines()[0]}", time.monotonic() - begun
    finally:
        os.chdir(before)
        os.environ["PATH"] = path
        if "crayon_hf" in sys.modules:
            sys.modules["crayon_hf"].uninstall()


def main(names: list[str]) -> int:
    """Run pages and print a line for each block. Returns 1 if one failed."""
    home = in_clone if names[:1] == ["--in-clone"] else elsewhere
    for page in names[home is in_clone :] or pages():
        with home() as place:
            try:
                for line, seconds in run(page, place):
                    print(f"{seconds:7.1f} s  {line[:90]}", flush=True)
            except Exception as error:
                print(error, file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
