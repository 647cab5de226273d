"""Converting GGUF vocabularies: llama.cpp's own test vectors, the meaning of metadata keys, and contradictory keys.

tests/parity/test_llama_cpp.py compares random files of every model with a plain implementation of llama.cpp.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.gguf import read_gguf
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.formats.gguf_files import CONTROL, NORMAL, Reader, both, ids, reader

BERT = {"unknown_token_id": 0, "bos_token_id": 1, "seperator_token_id": 2}
SPACE = "\u2581"
BYTES = [chr(byte).translate(BYTE_LEVEL) for byte in range(256)]


@pytest.fixture
def convert(tmp_path: Path) -> Reader:
    return reader(tmp_path)


def gpt2(convert: Reader, *more: str, kinds: tuple[int, ...] = (), **keys: Any) -> Converted:
    """A byte-level vocabulary of single bytes, the tokens `more` of these `kinds`, and one merged token."""
    types = [NORMAL] * 256 + (list(kinds) or [NORMAL] * len(more)) + [NORMAL]
    return convert("gpt2", [*BYTES, *more, "yz"], types=types, merges=["y z"], keys={"pre": "gpt-2", **keys})


@pytest.mark.parametrize("name", ["ggml-vocab-gpt-2.gguf", "ggml-vocab-llama-spm.gguf"])
def test_published_vectors(shared: Path, name: str) -> None:
    path = shared / "vocab" / "gguf" / name
    texts = Path(f"{path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    lines = Path(f"{path}.out").read_text(encoding="utf-8").split("\n")
    for side in both(read_gguf(path)):
        for text, line in zip(texts, lines, strict=True):
            assert side.encode(text, add_special_tokens=False).ids == [int(id) for id in line.split()], text


def test_tokens_that_are_special_by_their_text(convert: Reader) -> None:
    special = ("<|im_end|>", "<PRE>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>")
    added = json.loads(gpt2(convert, *special).tokenizer_json)["added_tokens"]
    shown = {token["content"] for token in added if not token["special"]}
    assert ([token["content"] for token in added], shown) == ([*special], {"<|channel|>", "<|end|>"})
    # The file names another token for the role.
    added = json.loads(gpt2(convert, "<PRE>", "<pre>", fim_pre_token_id=257).tokenizer_json)["added_tokens"]
    assert added == []


@pytest.mark.parametrize(
    ("keys", "single", "pair"),
    [
        ({}, "a", "ab"),
        ({"add_bos_token": True}, "<a", "<a<b"),
        ({"add_eos_token": True}, "a>", "a>b>"),
        ({"add_bos_token": True, "add_eos_token": True}, "<a>", "<a><b>"),
        ({"pre": "llama-bpe"}, "<a", "<a<b"),
        ({"pre": "llama-bpe", "add_bos_token": False}, "a", "ab"),
        ({"pre": "roberta-bpe", "add_bos_token": True, "add_eos_token": True}, "<a>", "<a>|b>"),
        ({"pre": "gpt-2", "add_eos_token": True, "add_sep_token": True}, "a>", "a>|b>"),
    ],
)
def test_what_is_put_around(convert: Reader, keys: dict[str, Any], single: str, pair: str) -> None:
    roles = {"bos_token_id": 256, "eos_token_id": 257, "seperator_token_id": 258}
    made = gpt2(convert, "<bos>", "<end>", "<sep>", kinds=(CONTROL,) * 3, **roles, **keys)
    numbers = {"<": 256, ">": 257, "|": 258, "a": 97, "b": 98}
    assert ids(made, "a", special=True) == [numbers[mark] for mark in single]
    assert ids(made, "a", "b", special=True) == [numbers[mark] for mark in pair]


def test_the_configuration(convert: Reader) -> None:
    made = gpt2(
        convert, "<bos>", "<end>", kinds=(CONTROL, CONTROL),
        **{
            "pre": "qwen2", "bos_token_id": 256, "eos_token_id": 257, "padding_token_id": 257, "add_bos_token": True,
            ".tokenizer.chat_template": "{{ messages }}", ".llama.context_length": 4096,
        },
    )  # fmt: skip
    assert made.config == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<bos>",
        "eos_token": "<end>",
        "pad_token": "<end>",
        "add_bos_token": True,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
        "chat_template": "{{ messages }}",
    }
    assert made.reference == "llama.cpp"
    assert made.metadata == {"gguf": {"model": "gpt2", "pre": "qwen2"}}
    templates = {".tokenizer.chat_template": "a", ".tokenizer.chat_template.tool_use": "b"}
    named = gpt2(convert, **templates).config["chat_template"]
    assert sorted(named, key=str) == [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]


# --- unreadable files ---


JOINED = ["a", "b", "ab"]
AB = {"merges": ["a b"]}


UNREADABLE: dict[type, list[tuple[Any, ...]]] = {
    VocabularyError: [
        (None, ["a"], {}, "no tokenizer.ggml.model"),
        ("gpt2", None, AB, "no tokenizer.ggml.tokens"),
        ("gpt2", ["a"], {}, "no tokenizer.ggml.merges"),
        ("gpt2", ["a", "b", "a"], AB, "'a' twice"),
        ("gpt2", ["a"], AB, "merge 0"),
        ("gpt2", ["a", "b"], AB, "merge 0"),
        ("gpt2", JOINED, {"merges": ["ab"]}, "merge 0"),
        ("gpt2", JOINED, {**AB, "types": [1]}, "1 elements for 3"),
        ("llama", ["a", "b"], {"scores": [1.0, float("inf")]}, "finite"),
        ("gpt2", ["a"], {"keys": {"merges": "a b"}}, "array of strings"),
        ("gpt2", JOINED, {**AB, "keys": {"token_type": [0.5]}}, "array of int32"),
        ("gpt2", JOINED, {**AB, "keys": {"token_type": 1}}, "not an array"),
        ("gpt2", JOINED, {**AB, "keys": {"pre": 1}}, "pre is not a string"),
        ("gpt2", JOINED, {**AB, "keys": {"add_bos_token": 1}}, "true or false"),
        ("gpt2", JOINED, {**AB, "keys": {"eos_token_id": True}}, "not an integer"),
        ("gpt2", JOINED, {**AB, "keys": {"add_sep_token": True}}, "seperator_token_id"),
        ("t5", JOINED, {"keys": {"precompiled_charsmap": [1, 2]}}, "array of bytes"),
        ("t5", JOINED, {"keys": {"precompiled_charsmap": b"\xff" * 9}}, "damaged"),
        ("t5", ["a"], {}, "unknown_token_id"),
        ("t5", ["<pad>", "</s>", "<unk>", "byte"], {"types": [3, 3, 2, 6]}, "byte token 3"),
    ],
    UnsupportedError: [
        ("bert", ["[UNK]", "[CLS]", "[SEP]", "[x]", SPACE + "[x]"], {"keys": BERT}, "the same spelling"),
        ("plamo2", ["a"], {}, "'plamo2'.*gpt2"),
        ("gpt2", ["a"], {"keys": {"pre": "gpt-9"}}, "'gpt-9'"),
        ("llama", ["<unk>", "a" * 5000], {}, "5000 characters"),
        ("t5", ["<pad>", "</s>", "<unk>", "ab", "b"], {"types": [3, 3, 2, 1, 3]}, "no text becomes"),
    ],
}


@pytest.mark.parametrize(
    ("error", "model", "tokens", "keywords", "message"),
    [(error, *case) for error, cases in UNREADABLE.items() for case in cases],
)
def test_what_is_not_read(
    convert: Reader, error: type, model: str | None, tokens: list[str] | None, keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        convert(model, tokens, **keywords)
    assert type(caught.value) is error
