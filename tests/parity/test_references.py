"""The references: found by name and by path, made without network, and really theirs."""

from __future__ import annotations

import base64
import json
import socket
from importlib.metadata import version
from pathlib import Path

import pytest
import tiktoken
import tokenizers

from crayon_hf import UnsupportedError
from crayon_hf.parity.compare import references
from crayon_hf.parity.compare.references import Vocabulary, find
from crayon_hf.parity.inputs.texts import UnknownVocabularyError

PATTERN = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+"


@pytest.fixture
def rank_file(tmp_path: Path) -> Path:
    """All bytes and a few merges."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello", b"  "]
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


def test_a_tokenizer_json_by_path_and_by_directory(gpt2_like: Path, tmp_path: Path) -> None:
    vocabulary = find(str(gpt2_like))
    assert (vocabulary.name, vocabulary.kind) == ("gpt2_like", "tokenizers")
    assert vocabulary.reference_version == f"tokenizers {version('tokenizers')}"
    assert vocabulary.specials() == ("<|endoftext|>",)
    directory = tmp_path / "some-model"
    directory.mkdir()
    (directory / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    again = find(str(directory))
    assert again.name == "some-model"
    assert again.digest() == vocabulary.digest()
    assert again.open_reference().encode("hello").ids == vocabulary.open_reference().encode("hello").ids


def test_a_library_without_offsets_is_no_reference(gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = find(str(gpt2_like))
    monkeypatch.setattr(tokenizers, "Tokenizer", object)
    with pytest.raises(UnsupportedError, match=r"needs tokenizers before 1\.0 as its reference"):
        vocabulary.open_reference()


def test_added_tokens_are_in_order_of_id(template_like: Path) -> None:
    specials = find(str(template_like)).specials()
    added = {entry["content"]: entry["id"] for entry in json.loads(template_like.read_text("utf-8"))["added_tokens"]}
    assert list(specials) == sorted(added, key=lambda content: added[content])
    assert len(specials) == 6


def test_a_rank_file_with_its_pattern(rank_file: Path) -> None:
    vocabulary = find(str(rank_file), pattern=PATTERN, special_tokens={"<end>": 300})
    assert vocabulary.kind == "tiktoken"
    assert vocabulary.reference_version == f"tiktoken {tiktoken.__version__}"
    assert vocabulary.specials() == ("<end>",)
    encoding = vocabulary.open_reference()
    assert encoding.encode("hello<end>", allowed_special="all") == [259, 300]


def test_an_unknown_rank_file_needs_a_pattern(rank_file: Path) -> None:
    with pytest.raises(UnknownVocabularyError, match="publishes no 'own'"):
        find(str(rank_file))


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
    with pytest.raises(UnknownVocabularyError, match=r"there is no file .*llama3"):
        find("llama3")
    with pytest.raises(UnknownVocabularyError, match="no vocabulary 'nonsense'"):
        find("nonsense")


@pytest.mark.slow
@pytest.mark.parametrize("name", references.TOKENIZERS)
def test_the_shared_tokenizers_open(shared: Path, name: str) -> None:
    vocabulary = find(name)
    assert isinstance(vocabulary.open_reference(), tokenizers.Tokenizer)
    assert len(vocabulary.specials()) >= 1


@pytest.mark.parametrize("name", references.TIKTOKEN)
def test_the_shared_rank_files_open_without_network(shared: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    vocabulary = find(name)
    encoding = vocabulary.open_reference()
    text = "Hello, world! It's 12345 <|endoftext|> \u4f60\u597d"
    assert encoding.name == name
    assert encoding.decode(encoding.encode(text, allowed_special="all")) == text
    assert encoding.eot_token in encoding.encode(text, allowed_special="all")
    assert vocabulary.specials()[0] == "<|endoftext|>"


def test_tiktoken_is_left_as_it_was(shared: Path) -> None:
    from tiktoken_ext import openai_public

    before = dict(vars(openai_public))
    find("r50k_base").open_reference()
    assert vars(openai_public) == before


def test_a_vocabulary_travels_to_another_process(gpt2_like: Path) -> None:
    from crayon_hf.parity.compare.suites import Suite, Work

    work = Work(find(str(gpt2_like)), (Suite("strings", strings=3),), cpu="scalar")
    assert Work.from_json(work.to_json()) == work
    assert isinstance(Work.from_json(work.to_json()).vocabulary, Vocabulary)
