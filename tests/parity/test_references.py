"""The references: found by name and by path, opened without network, and independent of ours."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from crayon_hf.parity.compare.references import find
from crayon_hf.parity.inputs.texts import UnknownVocabularyError


@pytest.fixture
def rank_file(tmp_path: Path) -> Path:
    """All bytes and a few merges."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello", b"  "]
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


def test_a_rank_file_that_is_not_the_published_one_is_refused(rank_file: Path) -> None:
    imposter = rank_file.with_name("cl100k_base.tiktoken")
    imposter.write_bytes(rank_file.read_bytes())
    with pytest.raises(UnknownVocabularyError, match="is not the published rank file of cl100k_base"):
        find(str(imposter)).open_reference()


def test_missing_vocabularies_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    with pytest.raises(UnknownVocabularyError, match="set CRAYON_SHARED"):
        find("llama3")
    monkeypatch.setenv("CRAYON_SHARED", str(tmp_path))
    with pytest.raises(UnknownVocabularyError, match=r"llama3.* is not a file"):
        find("llama3")
    with pytest.raises(UnknownVocabularyError, match="no vocabulary 'nonsense'"):
        find("nonsense")
