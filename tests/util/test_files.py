"""Reading whole files: errors for files that are too large, that grow, and that are not regular files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from crayon_hf import CartridgeError, Tokenizer, VocabularyError
from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS, KNOWN_FILES, find_published_file
from crayon_hf.util.files import MOST_BYTES, HeldFile, read_cartridge, read_source
from tests.support.cartridge_cases import compiled
from tests.support.cartridge_text import text_source

TERABYTE = 1 << 40


def sparse(path: Path, size: int = TERABYTE) -> Path:
    path.write_bytes(b"{")
    os.truncate(path, size)
    return path


@pytest.mark.parametrize("read", [read_source, lambda path: HeldFile(str(path)).read()], ids=["by name", "held"])
def test_a_source_that_is_too_large(read, tmp_path):
    path = sparse(tmp_path / "a")
    with pytest.raises(VocabularyError, match=f"^{path} has {TERABYTE} bytes, .*: at most {MOST_BYTES} are allowed$"):
        read(path)
    with pytest.raises(VocabularyError):
        read(sparse(path, MOST_BYTES + 1))
    path.write_bytes(b"x" * 100_000)
    assert read(path) == b"x" * 100_000


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_file_that_has_more_than_it_says():
    assert os.stat("/proc/self/maps").st_size == 0
    assert read_source("/proc/self/maps").count(b"\n") > 10


def test_a_cartridge_that_is_too_large(tmp_path):
    path = sparse(tmp_path / "a")
    with pytest.raises(CartridgeError, match=f"^{path}: too large for a cartridge: {TERABYTE} bytes"):
        read_cartridge(path)
    path.write_bytes(b"CRAY")
    assert read_cartridge(path) == b"CRAY"


@pytest.mark.parametrize("read", [read_source, read_cartridge])
def test_what_is_no_file(read, tmp_path):
    os.mkdir(tmp_path / "directory")
    with pytest.raises(IsADirectoryError if os.name != "nt" else PermissionError):
        read(tmp_path / "directory")
    if os.name != "nt":
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", "/dev/zero"):
            with pytest.raises(OSError, match="Not a regular file"):
                read(path)


def test_a_tokenizer_json_that_is_too_large_later(tmp_path):
    """A cartridge's tokenizer.json is read only if the reference is needed or the tokenizer is saved, so the error for
    its size comes long after opening."""
    (tmp_path / "a.dat").write_bytes(compiled(text_source("llama_like")))
    (tmp_path / "a.json").write_bytes(text_source("llama_like"))
    tokenizer = Tokenizer.from_file(tmp_path / "a.dat")
    sparse(tmp_path / "a.json")
    with pytest.raises(VocabularyError, match=r"a\.json has \d+ bytes, too many"):
        tokenizer.to_str()


def test_a_published_file_that_is_too_large_is_not_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    sparse(tmp_path / KNOWN_FILES[KNOWN_ENCODINGS["gpt2"].file].cache_name)
    assert find_published_file("gpt2") is None
