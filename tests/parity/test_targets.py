"""The targets of `crayon-hf parity` (files, directories, encodings), and the reference library for each."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest

from crayon_hf import Tokenizer
from crayon_hf.formats.tiktoken import R50K_PATTERN
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.compare.targets import Subject, TargetError, find_target
from crayon_hf.parity.inputs.texts import UnknownVocabularyError
from tests.support.versions import before_1


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello", b"  "]
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


def found(target: Path | str, against: str, tmp_path: Path) -> Subject:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return find_target(str(target), against, str(scratch))


def test_a_tokenizer_json(gpt2_like: Path, tmp_path: Path) -> None:
    subject = found(gpt2_like, "", tmp_path)
    assert (subject.name, subject.kind, subject.cartridge) == ("gpt2_like", "a tokenizer.json", None)
    assert (subject.vocabulary.kind, subject.vocabulary.path, subject.vocabulary.ours) == ("tokenizers", gpt2_like, "")


@before_1("transformers beside it, which refuses that")
def test_a_directory_has_its_cartridge(repository: Path, tmp_path: Path) -> None:
    for against in ("tokenizers", "transformers"):
        subject = found(repository, against, tmp_path)
        assert (subject.vocabulary.kind, subject.cartridge) == (against, repository / "tokenizer.dat")
    for target in (repository, repository / "tokenizer.dat"):
        subject = found(target, "", tmp_path)
        assert (subject.name, subject.vocabulary.path) == ("repository", repository / "tokenizer.json")
        assert subject.vocabulary.ours == str(subject.cartridge) == str(repository / "tokenizer.dat")
        assert subject.vocabulary.open_ours().engine_report()["cartridge"] == subject.vocabulary.ours
    (repository / "tokenizer.dat").unlink()
    subject = found(repository, "", tmp_path)
    assert (subject.cartridge, subject.vocabulary.ours) == (None, "")


def test_a_cartridge_of_another_file_is_refused(repository: Path, qwen_like: Path, tmp_path: Path) -> None:
    shutil.copy(qwen_like, repository / "tokenizer.json")
    for target in (repository, repository / "tokenizer.dat"):
        with pytest.raises(TargetError, match="was compiled from"):
            found(target, "", tmp_path)


def test_a_cartridge_of_ranks_has_tiktoken_as_its_reference(ranks: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_tiktoken(str(ranks), pattern=R50K_PATTERN, special_tokens={"<end>": 300})
    tokenizer.save(str(tmp_path / "own.dat"))
    subject = found(tmp_path / "own.dat", "", tmp_path)
    assert (subject.vocabulary.kind, subject.vocabulary.ours) == ("tiktoken", str(tmp_path / "own.dat"))
    assert subject.vocabulary.specials() == ("<end>",)
    assert subject.vocabulary.open_reference().encode("hello<end>", allowed_special="all") == [259, 300]
    with pytest.raises(TargetError, match="--against tiktoken compares it"):
        found(tmp_path / "own.dat", "tokenizers", tmp_path)


@pytest.mark.parametrize(
    ("target", "against", "says"),
    [
        ("{json}", "tiktoken", "--against tokenizers"),
        ("{json}", "sentencepiece", "--against tokenizers"),
        ("{json}", "transformers", "give its directory"),
        ("{json}", "tokenisers", "expected one of tiktoken"),
        *((target, "", "no tokenizer|No such file") for target in ("nonsense", "no/such.json", "no/such/directory")),
    ],
)
def test_what_is_refused(gpt2_like: Path, tmp_path: Path, target: str, against: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        found(target.format(json=gpt2_like), against, tmp_path)


# -- references


def test_a_rank_file_that_is_not_the_published_one_is_refused(ranks: Path) -> None:
    imposter = ranks.with_name("cl100k_base.tiktoken")
    imposter.write_bytes(ranks.read_bytes())
    vocabulary = Vocabulary("cl100k_base", "tiktoken", imposter, encoding="cl100k_base")
    with pytest.raises(UnknownVocabularyError, match="not the published rank file"):
        vocabulary.open_reference()
