"""GGUF files of published vocabularies: llama.cpp's own vectors, and the libraries that the vocabularies come from."""

from __future__ import annotations

import base64
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tokenizers

from crayon_hf import Tokenizer
from crayon_hf.formats.gguf import read_gguf
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import load_documents
from tests.formats.gguf_files import BYTE, CONTROL, NORMAL, UNKNOWN, write_gguf


def published(shared: Path, name: str) -> dict[str, Any]:
    """A published tokenizer.json."""
    document: dict[str, Any] = json.loads((shared / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8"))
    return document


def kinds(document: dict[str, Any], tokens: list[str]) -> list[int]:
    """The types of a file's tokens."""
    special = {token["content"] for token in document["added_tokens"]}
    return [
        UNKNOWN if token == "<unk>" else CONTROL if token in special else BYTE if token.startswith("<0x") else NORMAL
        for token in tokens
    ]


@pytest.fixture(scope="module")
def gpt2(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Equal to llama.cpp's ggml-vocab-gpt-2.gguf in all that is said of the tokenizer."""
    document = published(shared, "gpt2")
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    tokens = sorted(vocab, key=vocab.__getitem__)
    return write_gguf(
        tmp_path_factory.mktemp("gguf") / "gpt2.gguf",
        "gpt2",
        tokens,
        types=kinds(document, tokens),
        merges=[merge if isinstance(merge, str) else " ".join(merge) for merge in merges],
        keys={"pre": "gpt-2", "bos_token_id": 50256, "eos_token_id": 50256},
    )


@pytest.fixture(scope="module")
def llama2(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Equal to llama.cpp's ggml-vocab-llama-spm.gguf in all that is said of the tokenizer."""
    document = published(shared, "llama2")
    vocab = document["model"]["vocab"]
    tokens = sorted(vocab, key=vocab.__getitem__)
    return write_gguf(
        tmp_path_factory.mktemp("gguf") / "llama2.gguf",
        "llama",
        tokens,
        types=kinds(document, tokens),
        scores=[0.0] * 259 + [-1e9] + [259.0 - id for id in range(260, len(tokens))],
        keys={"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0, "add_bos_token": True},
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file"), [("gpt2", "ggml-vocab-gpt-2.gguf"), ("llama2", "ggml-vocab-llama-spm.gguf")])
def test_published_vectors(shared: Path, name: str, file: str, request: pytest.FixtureRequest) -> None:
    source = read_gguf(request.getfixturevalue(name)).tokenizer_json.decode()
    directory = shared / "vocab" / "gguf"
    texts = (directory / f"{file}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = (directory / f"{file}.out").read_text(encoding="utf-8").split("\n")
    assert len(texts) == len(lines) == 47
    for encoder in (Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)):
        for text, line in zip(texts, lines, strict=True):
            assert encoder.encode(text, add_special_tokens=False).ids == [int(id) for id in line.split()], text


def same(path: Path, reference: Tokenizer, texts: list[str]) -> None:
    """The vocabulary of a file, in our engine and in stock tokenizers, gives what the reference gives."""
    source = read_gguf(path).tokenizer_json.decode()
    ours, stock = Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)
    assert ours.engine_report()["engine"] == "native"
    expected = reference.encode_batch(texts)
    for text, theirs, found, check in zip(
        texts, expected, ours.encode_batch(texts), stock.encode_batch(texts), strict=True
    ):
        assert found.ids == check.ids == theirs.ids, text


def corpus() -> list[str]:
    """Slices of the three texts, and hostile strings without a word of more than 100 letters."""
    documents = [
        text for texts in load_documents(("english", "code", "multi"), limit=200_000).values() for text in texts
    ]
    strings = [text for _, text in generate(400, seed=5) if len(text) < 100 and is_text(text)]
    return documents + strings


def is_text(text: str) -> bool:
    """False for lone surrogates."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def test_gpt2(shared: Path, gpt2: Path) -> None:
    same(gpt2, Tokenizer.from_file(shared / "vocab" / "gpt2" / "tokenizer.json"), corpus())


@pytest.mark.slow
def test_llama2(shared: Path, llama2: Path) -> None:
    # After a special token llama.cpp puts another prefix space; the published tokenizer.json looks for them too late.
    texts = [text for text in corpus() if not any(special in text for special in ("<unk>", "<s>", "</s>"))]
    same(llama2, Tokenizer.from_file(shared / "vocab" / "llama2" / "tokenizer.json"), texts)


def test_bert_cased(shared: Path, tmp_path: Path) -> None:
    document = published(shared, "bert-cased")
    vocab = document["model"]["vocab"]
    words = sorted(vocab, key=vocab.__getitem__)
    spelled = [
        word if word.startswith("[") and word.endswith("]") else word[2:] if word.startswith("##") else "\u2581" + word
        for word in words
    ]
    path = write_gguf(
        tmp_path / "bert.gguf", "bert", spelled, types=kinds(document, words), keys={"normalizer.lowercase": False}
    )
    same(path, Tokenizer.from_file(shared / "vocab" / "bert-cased" / "tokenizer.json"), corpus())


@pytest.mark.slow
def test_t5(shared: Path, tmp_path: Path) -> None:
    document = published(shared, "t5-small")
    tokens = [token for token, _ in document["model"]["vocab"]]
    charsmap = np.frombuffer(base64.b64decode(document["normalizer"]["precompiled_charsmap"]), np.uint8)
    path = write_gguf(
        tmp_path / "t5.gguf",
        "t5",
        tokens,
        types=kinds(document, tokens),
        scores=[score for _, score in document["model"]["vocab"]],
        keys={"precompiled_charsmap": charsmap.tobytes(), "add_space_prefix": True, "remove_extra_whitespaces": True},
    )
    # T5's own tokenizer cuts at every white space, llama.cpp at what the charsmap makes a space; and it loses marks.
    texts = [text for text in corpus() if "\x85" not in text and not any(unicodedata.combining(char) for char in text)]
    same(path, Tokenizer.from_file(shared / "vocab" / "t5-small" / "tokenizer.json"), texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_sentencepiece(shared: Path, tmp_path: Path, name: str) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(shared / "vocab" / name / "tokenizer.model"))
    numbers = range(processor.vocab_size())
    types = [
        UNKNOWN if processor.is_unknown(id) else CONTROL if processor.is_control(id) else BYTE if processor.is_byte(id)
        else NORMAL
        for id in numbers
    ]  # fmt: skip
    path = write_gguf(
        tmp_path / "m.gguf",
        "llama",
        [processor.id_to_piece(id) for id in numbers],
        types=types,
        scores=[processor.get_score(id) for id in numbers],
    )
    source = read_gguf(path).tokenizer_json.decode()
    ours, stock = Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)
    controls = [processor.id_to_piece(id) for id in numbers if types[id] in (CONTROL, UNKNOWN)]
    for text in corpus():
        if any(piece in text for piece in controls):
            continue  # SentencePiece does not look for them
        assert ours.encode(text).ids == stock.encode(text).ids == [1, *processor.encode(text)], text
