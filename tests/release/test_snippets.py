"""The code of the documentation runs unchanged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.release import snippets
from tests.support.libraries import lacking
from tests.support.versions import before_1

ROOT = snippets.ROOT
SLOW = (
    *("clusters", "corpora", "parity", "training", "tutorial", "drop-in", "from-transformers", "chat", "index"),
    *("from-crayon", "from-tiktoken", "command-line", "budgets", "chunking", "surgery"),
)
CLUSTERS = ("datatrove", "pyspark")


@before_1("transformers beside it, which most pages call")
@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (Path(page).stem in SLOW))
        for page in snippets.pages()
        if page != "README.md"  # .ci/run runs it twice, as a new user
    ],
)
def test_page(page: str) -> None:
    """The code of each page runs in its own process, because it may make other libraries use our tokenizers."""
    if page == "docs/clusters.md":
        for library in CLUSTERS:
            pytest.importorskip(library)
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            lacking("Spark needs Java")
    command = [sys.executable, str(ROOT / "tests/release/snippets.py"), page]
    path = os.pathsep.join([str(ROOT), *sys.path])
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_ci_runs_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install = text[text.index("## Install") : text.index("## Thirty seconds")]
    blocks = re.findall(r"^```sh\n(.*?)^```$", install, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for block in blocks:
        assert block in ci
