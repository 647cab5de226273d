"""What a target is, and which reference fits it."""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path

import pytest

from crayon_hf import MissingExtraError, Tokenizer
from crayon_hf.formats import convert, write
from crayon_hf.formats.tiktoken import R50K_PATTERN
from crayon_hf.parity.compare import targets
from crayon_hf.parity.compare.references import OPENAI, published_encodings
from crayon_hf.parity.compare.targets import Subject, TargetError, find_target
from tests.support.versions import before_1


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello", b"  "]
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


@pytest.fixture
def repository(tmp_path: Path, gpt2_like: Path) -> Path:
    write(convert(gpt2_like), tmp_path / "repository")
    return tmp_path / "repository"


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
        assert (subject.name, subject.vocabulary.kind) == ("repository", against)
        assert subject.cartridge == repository / "tokenizer.dat"
    assert found(repository, "", tmp_path).vocabulary.ours == str(repository / "tokenizer.dat")
    (repository / "tokenizer.dat").unlink()
    subject = found(repository, "", tmp_path)
    assert (subject.cartridge, subject.vocabulary.ours) == (None, "")


def test_a_cartridge_of_another_file_is_refused(repository: Path, qwen_like: Path, tmp_path: Path) -> None:
    shutil.copy(qwen_like, repository / "tokenizer.json")
    for target in (repository, repository / "tokenizer.dat"):
        with pytest.raises(TargetError, match="was compiled from"):
            found(target, "", tmp_path)


def test_a_cartridge_is_what_ours_opens(repository: Path, tmp_path: Path) -> None:
    subject = found(repository / "tokenizer.dat", "", tmp_path)
    assert subject.name == "repository"
    assert subject.vocabulary.ours == str(subject.cartridge) == str(repository / "tokenizer.dat")
    assert subject.vocabulary.path == repository / "tokenizer.json"
    assert subject.vocabulary.open_ours().engine_report()["cartridge"] == str(repository / "tokenizer.dat")


def test_a_rank_file_needs_to_be_known(ranks: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="not a published one"):
        found(ranks, "", tmp_path)


def test_a_cartridge_of_ranks_has_tiktoken_as_its_reference(ranks: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_tiktoken(str(ranks), pattern=R50K_PATTERN, special_tokens={"<end>": 300})
    tokenizer.save(str(tmp_path / "own.dat"))
    subject = found(tmp_path / "own.dat", "", tmp_path)
    assert (subject.vocabulary.kind, subject.vocabulary.ours) == ("tiktoken", str(tmp_path / "own.dat"))
    assert subject.vocabulary.specials() == ("<end>",)
    assert subject.vocabulary.open_reference().encode("hello<end>", allowed_special="all") == [259, 300]
    with pytest.raises(TargetError, match="--against tiktoken compares it"):
        found(tmp_path / "own.dat", "tokenizers", tmp_path)


def test_a_profile(gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Tokenizer.from_file(gpt2_like).save(str(tmp_path / "mine.dat"))
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path))
    subject = found("mine", "", tmp_path)
    assert (subject.name, subject.cartridge) == ("mine", tmp_path / "mine.dat")


@pytest.mark.parametrize(
    ("against", "says"),
    [
        ("tiktoken", "which tiktoken does not read: --against tokenizers compares it"),
        ("sentencepiece", "which sentencepiece does not read: --against tokenizers compares it"),
        ("transformers", "transformers opens directories: give its directory"),
        ("tokenisers", "expected one of tiktoken, tokenizers, transformers, sentencepiece"),
    ],
)
def test_what_means_nothing_is_said(gpt2_like: Path, tmp_path: Path, against: str, says: str) -> None:
    with pytest.raises(TargetError, match=says):
        found(gpt2_like, against, tmp_path)


@pytest.mark.parametrize("target", ["nonsense", "no/such.json", "no/such/directory"])
def test_what_is_not_there(tmp_path: Path, target: str) -> None:
    with pytest.raises(TargetError, match="no vocabulary"):
        found(target, "", tmp_path)


def test_a_reference_that_is_not_installed(gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="is tokenizers, which is not installed"):
        found(gpt2_like, "", tmp_path)


def test_tiktoken_that_is_not_installed(ranks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer.from_tiktoken(str(ranks), pattern=R50K_PATTERN)
    tokenizer.save(str(tmp_path / "own.dat"))
    blocked = [name for name in sys.modules if name.split(".")[0] in ("tiktoken", "tiktoken_ext")]
    for name in {*blocked, "tiktoken", OPENAI} - {"tiktoken_ext"}:
        monkeypatch.setitem(sys.modules, name, None)
    for target in (ranks, tmp_path / "own.dat"):
        with pytest.raises(MissingExtraError, match=r"tiktoken, .*: python -m pip install '\.\[tiktoken\]'"):
            found(target, "", tmp_path)
    with pytest.raises(MissingExtraError, match=r"tiktoken, .*: python -m pip install '\.\[tiktoken\]'"):
        published_encodings()


@before_1("transformers beside it, which refuses that")
def test_a_directory_that_transformers_has_nothing_of(ranks: Path, tmp_path: Path, gpt2_like: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    shutil.copy(ranks, folder)
    with pytest.raises(TargetError, match="ranks has nothing that AutoTokenizer opens, only a tiktoken rank file"):
        found(folder, "transformers", tmp_path)
    shutil.copy(gpt2_like, folder / "tokenizer.json")
    assert found(folder, "transformers", tmp_path).vocabulary.kind == "transformers"


def test_what_the_hub_does_not_give(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="nobody/nothing is not a file, and cannot be fetched from the Hub"):
        found("nobody/nothing", "", tmp_path)  # the tests are offline


def test_the_shared_names(shared: Path, tmp_path: Path) -> None:
    assert found("r50k_base", "", tmp_path).vocabulary.kind == "tiktoken"
    assert found("mistral-v1", "", tmp_path).vocabulary.kind == "sentencepiece"
    assert found("gpt2", "", tmp_path).vocabulary.kind == "tokenizers"
    both = found("r50k_base", "tokenizers", tmp_path)
    assert "converted for both sides" in both.kind
    assert both.vocabulary.ours == ""
    model = found("mistral-v1", "tokenizers", tmp_path)
    assert model.vocabulary.ours.endswith("tokenizer.model")
    assert model.vocabulary.path.suffix == ".json"
