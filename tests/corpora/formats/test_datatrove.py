"""Files in datatrove's format: equal to those of datatrove's `TokenizedFile`, and read by datatrove's dataset."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from crayon_hf.corpora.formats import FORMATS, Vocabulary
from crayon_hf.corpora.formats.datatrove import for_people
from tests.corpora.formats.format_cases import NAMES, SMALL, VOCABULARIES, document_set, write
from tests.corpora.job.job_cases import tree

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


@pytest.mark.parametrize("size", [256, 65499, 65500, 65535, 65536, 65537, 200_000])
def test_dtype(size: int) -> None:
    """The dtype is that of `PipelineStepWithTokenizer` for a tokenizer of this size."""
    from datatrove.utils.tokenization import PipelineStepWithTokenizer

    class Step(PipelineStepWithTokenizer):
        run = None

        class tokenizer:
            get_vocab_size = staticmethod(lambda: size)

    Step.__abstractmethods__ = frozenset()
    assert FORMATS["datatrove"].dtype(Vocabulary(size, size - 1)).itemsize == Step().token_size


def test_the_number_for_people() -> None:
    humanize = pytest.importorskip("humanize")
    chance = random.Random(7)
    numbers = {0, *range(1, 3000), *(10**n + k for n in range(30) for k in (-1, 0, 1) if 10**n + k < 10**30)}
    numbers |= {int(a * 10**n) for n in range(27) for a in (0.9995, 0.9994999, 9.995, 99.95, 999.5, 999.4999, 1.005)}
    numbers |= {chance.randrange(10 ** chance.randint(1, 29)) for _ in range(20_000)}
    assert [n for n in sorted(numbers) if for_people(n) != humanize.metric(n, unit="T")] == []
