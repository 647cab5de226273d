"""The environment of the chunkers: a virtual one below ``build/``, which sees this tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "VERSIONS", "environment"]

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = (
    "semchunk==4.1.1",
    "semantic-text-splitter==0.33.1",
    "chonkie==1.7.0",
    "langchain-text-splitters==1.1.3",
    "llama-index-core==0.14.25",
    "haystack-ai==3.4.1",
    "tokenizers==0.23.3",
    "tiktoken==0.14.0",
    "icu4py==1.2.0",
)
OTHERS = (
    "markdown-it-py>=3",
    "tree-sitter>=0.24",
    "tree-sitter-json",
    "tree-sitter-python",
    "numpy",
    "pytest",
    "hypothesis",
)


def environment(home: Path = ROOT / "build" / "chunkers") -> Path:
    """Its Python. It is made where it is not there, or where other versions are asked for; a minute, a gigabyte."""
    python = home / "bin" / "python"
    note, wanted = home / "installed", "\n".join([*VERSIONS, *OTHERS])
    if note.is_file() and note.read_text() == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *VERSIONS, *OTHERS], check=True)
    note.write_text(wanted)
    return python
