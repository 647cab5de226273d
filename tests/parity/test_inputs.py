"""The inputs of comparisons: documents are cut between characters, and generated strings have every token."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import UnknownVocabularyError, documents, find_text, read_text
from crayon_hf.parity.inputs.token_strings import CATEGORIES, generate_of_tokens

TEXT = "A\u00e9\u4e2d\U0001f600 plain words\r\n" * 300


@pytest.mark.parametrize("size", [4, 5, 7, 64, 2048, 10**6])
def test_documents_join_to_the_text(size: int) -> None:
    parts = list(documents(TEXT.encode(), size))
    assert "".join(parts) == TEXT
    assert all(0 < len(part.encode()) <= size for part in parts)
    assert all(len(part.encode()) > size - 4 for part in parts[:-1])


@pytest.mark.parametrize("limit", range(60))
def test_a_limit_cuts_between_characters(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    data = read_text(path, limit)
    assert TEXT.startswith(data.decode())
    assert limit - 3 <= len(data) <= limit


def test_packed_and_plain_files_are_the_same(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.xz"
    plain.write_bytes(TEXT.encode())
    packed.write_bytes(lzma.compress(TEXT.encode()))
    assert read_text(plain) == read_text(packed) == TEXT.encode()


def test_what_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good \xff bad")
    with pytest.raises(ValueError, match=r"bad\.txt is not UTF-8: .* at byte 5"):
        read_text(path)


def test_a_missing_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAYON_SHARED", raising=False)
    with pytest.raises(UnknownVocabularyError, match="CRAYON_SHARED"):
        find_text("english")
    with pytest.raises(UnknownVocabularyError, match=r"no text 'nowhere\.txt'"):
        find_text("nowhere.txt")


# -- generated strings


def test_processes_agree_whatever_their_hash_seed() -> None:
    program = (
        "from crayon_hf.parity.inputs.strings import generate\n"
        "print(ascii(list(generate(800, 5, specials=('<s>', '</s>')))))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ascii(list(generate(800, 5, specials=("<s>", "</s>"))))


@pytest.mark.parametrize("count", [1, 2, 97, 600, 7919])
def test_every_token_is_met(count: int) -> None:
    tokens = [b"%d." % i for i in range(count)]
    strings = generate_of_tokens(tokens, count * len(CATEGORIES))
    assert {text for category, text in strings if category == "token"} == {token.decode() for token in tokens}


def test_the_tokens_of_a_byte_level_vocabulary_are_bytes(gpt2_like: Path) -> None:
    vocabulary = Vocabulary("gpt2", "tokenizers", gpt2_like)
    tokens = vocabulary.token_bytes()
    assert {bytes([byte]) for byte in range(256)} <= set(tokens)
    assert b" the" in tokens
    reference = vocabulary.open_reference()
    assert reference.decode(reference.encode(" the").ids) == " the"
    assert len(tokens) == reference.get_vocab_size()
