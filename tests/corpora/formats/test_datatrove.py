"""datatrove's files beside its own `TokenizedFile`, and read by its own dataset."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary
from crayon_hf.corpora.formats.datatrove import for_people
from tests.corpora.formats.format_cases import NAMES, SMALL, VOCABULARIES, document_set, tree, write

tokenizer = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("size", VOCABULARIES)
@pytest.mark.parametrize("name", NAMES)
def test_files(name: str, size: str, tmp_path: Path) -> None:
    vocabulary = VOCABULARIES[size]
    documents = document_set(name, vocabulary.largest_id)
    (tmp_path / "ours").mkdir()
    write("datatrove", tmp_path / "ours" / "00000_unshuffled", documents, vocabulary)
    theirs = tokenizer.TokenizedFile(
        str(tmp_path / "theirs"),
        "00000_unshuffled.ds",
        tokenizer_name_or_path=vocabulary.name,
        save_final_metadata=True,
        token_size=2 if vocabulary is SMALL else 4,
    )
    for document in documents:
        theirs.write(document, None)
    theirs.close()
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    assert len(tree(tmp_path / "ours")) == 3


def test_a_tokenizer_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    write("datatrove", tmp_path / "ours" / "a", [[1, 2]], Vocabulary(300, 299))
    theirs = tokenizer.TokenizedFile(str(tmp_path / "theirs"), "a.ds", save_final_metadata=True)
    theirs.write([1, 2], None)
    theirs.close()
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")


@pytest.mark.parametrize("size", [256, 65499, 65500, 65535, 65536, 65537, 200_000])
def test_dtype(size: int) -> None:
    """As `PipelineStepWithTokenizer` decides it for a tokenizer of so many tokens."""
    from datatrove.utils.tokenization import PipelineStepWithTokenizer

    class Step(PipelineStepWithTokenizer):
        run = None

        class tokenizer:
            get_vocab_size = staticmethod(lambda: size)

    Step.__abstractmethods__ = frozenset()
    assert FORMATS["datatrove"].dtype(Vocabulary(size, size - 1)).itemsize == Step().token_size


@pytest.mark.parametrize("size", VOCABULARIES)
def test_read_by_its_dataset(size: str, tmp_path: Path) -> None:
    from datatrove.utils.dataset import DatatroveFolderDataset

    vocabulary, sequence = VOCABULARIES[size], 15
    expected = []
    for shard in range(3):
        documents = document_set(f"random{shard}", vocabulary.largest_id)
        write("datatrove", tmp_path / f"{shard:05}", documents, vocabulary)
        tokens = [token for document in documents for token in document]
        whole = len(tokens) // (sequence + 1) * (sequence + 1)
        expected += [tokens[i : i + sequence + 1] for i in range(0, whole, sequence + 1)]
    width = FORMATS["datatrove"].dtype(vocabulary).itemsize
    read = DatatroveFolderDataset(str(tmp_path), sequence, filename_pattern="*.ds", token_size=width)
    assert [read[i]["input_ids"].tolist() for i in range(len(read))] == expected
    assert len(expected) > 10


def test_the_number_for_people() -> None:
    humanize = pytest.importorskip("humanize")
    chance = random.Random(7)
    numbers = {0, *range(1, 3000), *(10**n + k for n in range(30) for k in (-1, 0, 1) if 10**n + k < 10**30)}
    numbers |= {int(a * 10**n) for n in range(27) for a in (0.9995, 0.9994999, 9.995, 99.95, 999.5, 999.4999, 1.005)}
    numbers |= {chance.randrange(10 ** chance.randint(1, 29)) for _ in range(20_000)}
    assert [n for n in sorted(numbers) if for_people(n) != humanize.metric(n, unit="T")] == []


def test_an_index_of_bytes_beyond_32_bits(tmp_path: Path) -> None:
    """Row splits far above 0 and 2**32 tokens: without writing so many, by beginning with a count that large."""
    with FORMATS["datatrove"].open(str(tmp_path / "x"), ShardSettings(SMALL)) as writer:
        writer.tokens = 1 << 33
        writer.write(np.array([5, 6, 7], np.uint16), np.array([0, 1, 3], np.int64))
        writer.finish()
    assert np.fromfile(tmp_path / "x.ds.index", "<u8").tolist() == [(1 << 33) + 1, (1 << 33) + 3]
    assert (tmp_path / "x.ds.metadata").read_text().endswith("|2\n8589934595\n8.59 GT")
