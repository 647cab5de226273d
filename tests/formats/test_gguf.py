"""GGUF vocabularies: byte-level BPE, what the keys mean, and what contradicts itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from crayon_hf import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.gguf import read_gguf
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.formats.gguf_files import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    Reader,
    both,
    ids,
    reader,
    write_gguf,
)

BYTES = [chr(byte).translate(BYTE_LEVEL) for byte in range(256)]


@pytest.fixture
def convert(tmp_path: Path) -> Reader:
    return reader(tmp_path)


def gpt2(convert: Reader, *more: str, kinds: tuple[int, ...] = (), **keys: Any) -> Converted:
    """Single bytes, `more` tokens, of these kinds, and one that is merged."""
    types = [NORMAL] * 256 + (list(kinds) or [NORMAL] * len(more)) + [NORMAL]
    return convert("gpt2", [*BYTES, *more, "yz"], types=types, merges=["y z"], keys={"pre": "gpt-2", **keys})


# --- gpt2 ---


def test_byte_level_bpe(gpt2_like: Path, tmp_path: Path, training_text: list[str]) -> None:
    document = json.loads(gpt2_like.read_text(encoding="utf-8"))
    vocab, merges = document["model"]["vocab"], document["model"]["merges"]
    tokens = sorted(vocab, key=vocab.__getitem__)
    types = [CONTROL if token == "<|endoftext|>" else NORMAL for token in tokens]
    reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
    for version, big_endian in ((3, False), (2, True), (3, True)):
        path = tmp_path / f"{version}{big_endian}.gguf"
        write_gguf(
            path, "gpt2", tokens, types=types, merges=map(" ".join, merges), keys={"pre": "gpt-2"},
            version=version, big_endian=big_endian,
        )  # fmt: skip
        ours, stock = both(read_gguf(path))
        for text in (
            *training_text[:20],
            training_text[-1][:20000],
            "a<|endoftext|> b",
            "  \n\t\u00e9\u0301 \U0001f600",
        ):
            expected = reference.encode(text)
            assert ours.encode(text).ids == stock.encode(text).ids == expected.ids
            assert ours.encode(text).offsets == expected.offsets
            assert ours.decode(expected.ids) == reference.decode(expected.ids)


def test_whole_pieces_before_merges_where_the_name_says_so(convert: Reader) -> None:
    def made(pre: str) -> list[int]:
        found = convert("gpt2", [*BYTES, "bc", "abc"], merges=["b c"], keys={"pre": pre, "add_bos_token": False})
        return ids(found, "abc")

    assert made("llama-bpe") == [257]
    assert made("dbrx") == [97, 256]


def test_of_two_equal_merges_the_first_counts(convert: Reader) -> None:
    merges = ["b c", "a b", "b c"]
    assert ids(convert("gpt2", [*BYTES, "ab", "bc"], merges=merges), "abc") == [97, 257]


def test_control_and_user_defined_tokens_are_found_in_the_text(convert: Reader) -> None:
    made = gpt2(convert, "<c>", "<u>", "<n>", "  ", kinds=(CONTROL, USER_DEFINED, NORMAL, USER_DEFINED))
    assert ids(made, "a<c><u>  b<n>") == [97, 256, 257, 259, 98, 60, 110, 62]
    ours, _ = both(made)
    assert ours.decode([97, 256, 257, 98]) == "a<u>b"


def test_tokens_that_are_special_by_their_text(convert: Reader) -> None:
    special = ("<|im_end|>", "<PRE>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>")
    added = json.loads(gpt2(convert, *special).tokenizer_json)["added_tokens"]
    assert [(token["content"], token["special"]) for token in added] == [
        ("<|im_end|>", True),
        ("<PRE>", True),
        ("<|channel|>", False),
        ("<|end|>", False),
        ("<|return|>", True),
        ("<|call|>", True),
    ]
    # The file names another token for the role.
    added = json.loads(gpt2(convert, "<PRE>", "<pre>", fim_pre_token_id=257).tokenizer_json)["added_tokens"]
    assert added == []


def test_an_empty_token_has_a_name(convert: Reader) -> None:
    made = json.loads(gpt2(convert, "").tokenizer_json)
    assert made["model"]["vocab"]["[EMPTY_256]"] == 256


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


def test_ids_that_no_token_has_are_passed_over(convert: Reader) -> None:
    made = gpt2(convert, bos_token_id=5000)
    assert "bos_token" not in made.config
    with pytest.raises(VocabularyError, match=r"add_sep_token.*seperator_token_id"):
        gpt2(convert, add_sep_token=True)


def test_white_space_that_tokens_take(convert: Reader) -> None:
    mask = gpt2(convert, "<mask>", kinds=(CONTROL,), pre="jina-v2-de")
    assert ids(mask, "a <mask> b") == [97, 256, 32, 98]
    phi = gpt2(convert, "<|user|>", "<s>", kinds=(CONTROL, CONTROL), **{".general.name": "Phi-3 mini"})
    assert ids(phi, "<|user|>\n a<s> a") == [256, 97, 257, 32, 97]
    modern = gpt2(convert, "[MASK]", kinds=(CONTROL,), **{".general.name": "modern-bert"})
    assert ids(modern, "a [MASK] b") == [97, 256, 32, 98]


def test_bpe_over_text(convert: Reader) -> None:
    tokens = [
        "<pad>",
        "<eos>",
        "<bos>",
        "<unk>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "a",
        "b",
        "\u2581",
        "\u2581a",
        "\n",
    ]
    types = [CONTROL] * 3 + [UNKNOWN] + [BYTE] * 256 + [NORMAL] * 5
    made = convert(
        "gemma4", tokens, types=types, merges=["\u2581 a"],
        keys={"bos_token_id": 2, "eos_token_id": 1, "unknown_token_id": 3, "add_bos_token": False},
    )  # fmt: skip
    a, b, space, space_a, line = range(260, 265)
    assert ids(made, "a a\n b\u00e9", special=True) == [2, a, space_a, line, space, b, 4 + 0xC3, 4 + 0xA9]
    ours, _ = both(made)
    assert ours.decode(ours.encode("a a\n b\u00e9").ids) == "a a\n b\u00e9"


# --- what cannot be read ---


def test_models_that_are_not_read(convert: Reader) -> None:
    for model in ("rwkv", "plamo2", "none", "hybriddna"):
        with pytest.raises(UnsupportedError, match=f"{model!r}.*gpt2"):
            convert(model, ["a"])
    with pytest.raises(UnsupportedError, match=r"'gpt-9'"):
        convert("gpt2", ["a"], keys={"pre": "gpt-9"})
    with pytest.raises(VocabularyError, match=r"no tokenizer.ggml.model"):
        convert(None, ["a"])


JOINED = ["a", "b", "ab"]


@pytest.mark.parametrize(
    ("model", "tokens", "keywords", "message"),
    [
        ("gpt2", None, {"merges": ["a b"]}, "no tokenizer.ggml.tokens"),
        ("gpt2", ["a"], {}, "no tokenizer.ggml.merges"),
        ("gpt2", ["a", "b", "a"], {"merges": ["a b"]}, "'a' twice, with ids 0 and 2"),
        ("gpt2", ["a"], {"merges": ["a b"]}, "merge 0 .*'a b'"),
        ("gpt2", ["a", "b"], {"merges": ["a b"]}, "merge 0"),
        ("gpt2", ["a", "b", "ab"], {"merges": ["ab"]}, "merge 0"),
        ("gpt2", JOINED, {"merges": ["a b"], "types": [1, 1, 1, 1]}, None),
        ("gpt2", JOINED, {"merges": ["a b"], "types": [1]}, "token_type has 1 elements for 3 tokens"),
        ("llama", ["a", "b"], {"scores": [1.0]}, "scores has 1 elements"),
        ("llama", ["a", "b"], {"scores": [1.0, float("inf")]}, "not a finite number"),
        ("gpt2", ["a"], {"keys": {"merges": "a b"}}, "merges is not an array of strings"),
        ("gpt2", ["a"], {"keys": {"merges": [1, 2]}}, "merges is not an array of strings"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {"token_type": [0.5]}}, "token_type is not an array of int32"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {"token_type": 1}}, "token_type is not an array"),
        ("llama", ["a"], {"keys": {"scores": ["x"]}}, "scores is not an array of float32 or int32"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {"pre": 1}}, "pre is not a string"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {"add_bos_token": 1}}, "add_bos_token is not true or false"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {"eos_token_id": True}}, "eos_token_id is not an integer"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {".tokenizer.chat_template": 1}}, "chat_template is not a string"),
        ("gpt2", JOINED, {"merges": ["a b"], "keys": {".general.name": 1}}, "general.name is not a string"),
        (
            "t5",
            ["a", "b", "c"],
            {"keys": {"precompiled_charsmap": [1, 2]}},
            "precompiled_charsmap is not an array of bytes",
        ),
        ("t5", ["a", "b", "c"], {"keys": {"precompiled_charsmap": b"\xff" * 9}}, "normalization rules are damaged"),
        ("t5", ["a"], {}, "no tokenizer.ggml.unknown_token_id"),
        ("bert", ["a"], {}, "no tokenizer.ggml"),
    ],
)
def test_what_contradicts_itself(
    convert: Reader, model: str, tokens: list[str] | None, keywords: dict[str, Any], message: str | None
) -> None:
    if message is None:
        convert(model, tokens, **keywords)
        return
    with pytest.raises(VocabularyError, match=message) as caught:
        convert(model, tokens, **keywords)
    assert "\n" not in str(caught.value)


def test_arrays_longer_than_the_tokens_are_cut(convert: Reader) -> None:
    made = convert("llama", ["<unk>", "<s>", "</s>", "a"], types=[2, 3, 3, 1, 1], scores=np.arange(9.0).tolist())
    assert len(json.loads(made.tokenizer_json)["model"]["vocab"]) == 4
