"""README from top to bottom as a newcomer runs it: every snippet as it stands, one after the other, timed.

``python tests/release/readme.py`` does so with the crayon-hf that is installed, in a copy of the files that are named.
Left out is what README itself says needs something else: the text before a snippet has "needs".
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """A block of code."""

    language: str
    code: str
    needs: str
    """What the paragraph before it says it needs; empty: nothing but the first command."""


def snippets(text: str) -> Iterator[Snippet]:
    """The blocks of README: the very first one, and those under "Use"."""
    first = _FENCE.search(text)
    assert first is not None
    yield Snippet(first[1], first[2], "")
    use = text[text.index("## Use\n") : text.index("## Truth\n")]
    end = 0
    for match in _FENCE.finditer(use):
        needs = re.search(r"\bneeds ([^;:)]*)", " ".join(use[end : match.start()].split()))
        yield Snippet(match[1], match[2], needs[1] if needs else "")
        end = match.end()


def run(place: Path, with_needs: bool = False) -> list[tuple[float, Snippet, str]]:
    """Run all in a directory: seconds, the snippet, and how it failed (empty: it did not)."""
    shutil.copytree(ROOT / "docs", place / "docs")
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, place / name)
    python: dict[str, Any] = {"__name__": "__main__"}
    done = []
    before = os.getcwd()
    os.chdir(place)
    try:
        for snippet in snippets((ROOT / "README.md").read_text(encoding="utf-8")):
            if snippet.needs and not with_needs:
                continue
            begun = time.monotonic()
            done.append((_failure(snippet, python), snippet, begun, time.monotonic()))
    finally:
        os.chdir(before)
        if "crayon_hf" in python:
            python["crayon_hf"].uninstall()
    return [(end - begun, snippet, failure) for failure, snippet, begun, end in done]


def _failure(snippet: Snippet, python: dict[str, Any]) -> str:
    if snippet.language == "python":
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(snippet.code, "README.md", "exec"), python)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""
    ended = subprocess.run(["bash", "-ec", snippet.code], capture_output=True, text=True)
    return "" if ended.returncode == 0 else ended.stderr[-500:] or f"exit code {ended.returncode}"


def main() -> int:
    """Run it, print a line for each snippet; 1 when one failed."""
    with tempfile.TemporaryDirectory(prefix="crayon-readme-") as directory:
        done = run(Path(directory), with_needs="--all" in sys.argv)
    for seconds, snippet, failure in done:
        line = next(line for line in snippet.code.splitlines() if line.strip())
        print(f"{seconds / 60:5.2f} min  {'FAILED' if failure else 'ok':6}  {line[:70]}")
        if failure:
            print(f"    {failure}")
    return 1 if any(failure for _, _, failure in done) else 0


if __name__ == "__main__":
    sys.exit(main())
