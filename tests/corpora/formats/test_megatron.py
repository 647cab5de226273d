"""Files in Megatron-LM's format, compared with an independent writer of its layout."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from crayon_hf.corpora.formats import FORMATS, ShardSettings
from tests.corpora.formats.format_cases import LARGE, NAMES, SMALL, VOCABULARIES, document_set, write


def files(documents: list[list[int]], format: str) -> tuple[bytes, bytes]:
    """The .bin and .idx of ``IndexedDatasetBuilder`` for documents from ``preprocess_data.py``."""
    code = {"H": 8, "i": 4}[format]
    tokens, lengths, ends = b"", [], [0]
    for document in documents:
        tokens += struct.pack(f"<{len(document)}{format}", *document)
        if document:  # documents without tokens have no sequence
            lengths.append(len(document))
        ends.append(len(lengths))
    index = b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + struct.pack("<B", code)
    index += struct.pack("<Q", len(lengths)) + struct.pack("<Q", len(ends))
    index += b"".join(struct.pack("<i", length) for length in lengths)
    pointer = 0
    for length in lengths:
        index += struct.pack("<q", pointer)
        pointer += length * struct.calcsize(format)
    return tokens, index + b"".join(struct.pack("<q", end) for end in ends)


@pytest.mark.parametrize("size", VOCABULARIES)
@pytest.mark.parametrize("name", NAMES)
def test_files_and_documents(name: str, size: str, tmp_path: Path) -> None:
    vocabulary = VOCABULARIES[size]
    documents = document_set(name, vocabulary.largest_id)
    written = write("megatron", tmp_path / "00000", documents, vocabulary)
    tokens, index = files(documents, "H" if vocabulary is SMALL else "i")
    assert (tmp_path / "00000.bin").read_bytes() == tokens
    assert (tmp_path / "00000.idx").read_bytes() == index
    assert [tuple(file) for file in written] == [("00000.bin", len(tokens)), ("00000.idx", len(index))]


@pytest.mark.parametrize("size", VOCABULARIES)
def test_pointers_beyond_32_bits(size: str, tmp_path: Path) -> None:
    """The index has correct pointers beyond 32 bits. The test writes lengths only, not the many tokens."""
    lengths = [5, (1 << 31) - 1, 0, (1 << 31) - 1, 7]
    vocabulary = VOCABULARIES[size]
    with FORMATS["megatron"].open(str(tmp_path / "x"), ShardSettings(vocabulary)) as writer:
        writer._write(np.empty(0, writer.dtype), np.array(lengths, np.int64), np.array(lengths, np.int64))
        writer.finish()
    width = 2 if vocabulary is SMALL else 4
    pointers = np.fromfile(tmp_path / "x.idx", "<i8", 4, offset=34 + 4 * 4)
    assert pointers.tolist() == [0, 5 * width, ((1 << 31) + 4) * width, ((1 << 32) + 3) * width]


def test_no_end_of_document_for_no_tokens() -> None:
    """preprocess_data.py ends only texts that have tokens; the tools of other formats end every text."""
    assert {name for name, format in FORMATS.items() if not format.suffix_empty} == {"megatron"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lengths", "many"])
def test_read_by_megatron(name: str, tmp_path: Path) -> None:
    """Megatron's own reader finds the documents, except those without tokens."""
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    documents = document_set(name, LARGE.largest_id)
    write("megatron", tmp_path / "x", documents, LARGE)
    read = indexed.IndexedDataset(str(tmp_path / "x"))
    assert [read[i].tolist() for i in range(len(read))] == list(filter(None, documents))
