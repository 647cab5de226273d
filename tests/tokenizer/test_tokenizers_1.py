"""With tokenizers 1.0, which lacks components and trainers, calls that need these say so (`tools/versions.py` runs all
tests with 1.0)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.child import said_by

pytestmark = pytest.mark.slow

REQUIREMENT = "tokenizers==1.0.0rc3"
REFUSED = """
import sys
import crayon_hf
import tokenizers

tokenizer = crayon_hf.Tokenizer.from_file(sys.argv[1])
for call in (
    lambda: crayon_hf.train_unigram(["a"]),
    lambda: crayon_hf.Tokenizer.from_tokenizers(tokenizers.Tokenizer.from_file(sys.argv[1])),
):
    try:
        call()
    except crayon_hf.UnsupportedError as error:
        print(error)
crayon_hf.install(transformers=False, tokenizers=True)
for name, state in crayon_hf.installed().items():
    print(name, state)
print(type(tokenizers.Tokenizer.from_file(sys.argv[1])).__module__)
crayon_hf.uninstall()
"""


@pytest.fixture(scope="module")
def version_1(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory for sys.path with the pre-release of tokenizers 1.0."""
    directory = str(tmp_path_factory.mktemp("tokenizers-1"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", directory, REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{REQUIREMENT} cannot be installed: {done.stderr.strip()[-200:]}")
    return directory


def test_what_takes_the_library_says_so(version_1: str, gpt2_like: Path) -> None:
    lines = said_by(REFUSED, gpt2_like, path=version_1).splitlines()
    for name, line in zip(("training a Unigram model", "from_tokenizers"), lines, strict=False):
        assert line == f"{name} needs tokenizers before 1.0, but 1.0.0-rc.3 is installed"
    assert "tokenizers.Tokenizer.from_str not in this version" in lines
    assert "tokenizers.Tokenizer.from_file in place" in lines
    assert lines[-1] == "tokenizers"  # the class has the library's name
