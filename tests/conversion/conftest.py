"""The fixture with a small source tokenizer for each conversion script."""

from __future__ import annotations

from pathlib import Path

import pytest

SCRIPTS = ("huggingface", "tiktoken", "sentencepiece", "gguf", "tekken", "crayon")


@pytest.fixture(scope="session")
def sources(source_files: dict[str, Path]) -> dict[str, Path]:
    """The paths of small source tokenizers, by the name of the conversion script that reads them."""
    return {name: source_files[name] for name in SCRIPTS}
