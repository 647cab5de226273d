"""Converting vocab.json with merges.txt, and vocab.txt: each component equals the one that transformers makes from
these files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import UnsupportedError, VocabularyError
from crayon_hf.formats import convert
from crayon_hf.formats.huggingface import read_tokenizer_json, read_vocab_and_merges, read_wordpiece
from crayon_hf.formats.sidecar_files import Beside, files_beside
from tests.support.versions import since_transformers_5

TEXTS = [
    "Hello, wörld! It's 2024, isn't it?\n\n  indented <|endoftext|> [MASK] <mask> <new> hello there",
    "NAÏVE 日本語 🙂\u200d x<s>y </s> <x><y><img> [SEP]  ",
    "",
]


def token(content: str, **flags: bool) -> dict[str, Any]:
    usual = {"lstrip": False, "normalized": True, "rstrip": False, "single_word": False}
    return {"__type": "AddedToken", "content": content} | usual | flags


def listed(*tokens: tuple[int, str, dict[str, bool]]) -> dict[str, Any]:
    usual = {"lstrip": False, "normalized": True, "rstrip": False, "single_word": False, "special": False}
    return {str(id): {"content": content} | usual | flags for id, content, flags in tokens}


def mapped(content: str, **flags: bool) -> dict[str, Any]:
    return {key: value for key, value in token(content, **flags).items() if key != "__type"}


# Each has a tokenizer_config.json and the other files beside it.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "names": (
        {
            **{"add_prefix_space": True, "bos_token": "<s>", "pad_token": "<pad>", "image_token": "<img>"},
            "additional_special_tokens": ["<x>", "<y>"],
        },
        {},
    ),
    "first": ({"add_bos_token": True, "bos_token": token("<|endoftext|>")}, {}),
    "first and last": (
        {"add_bos_token": True, "add_eos_token": True, "pad_token": None, "eos_token": token("<e>", lstrip=True)},
        {},
    ),
    "legacy files": (
        {},
        {
            "added_tokens": {"<new>": 2000, "hello there": 2001},
            "special_tokens_map": {"pad_token": "<new>", "mask_token": mapped("<mask>", lstrip=True)},
        },
    ),
    "listed": (
        {"added_tokens_decoder": listed((2003, "<a>", {}), (2000, "<new>", {"special": True}), (2001, "zz", {}))},
        {"special_tokens_map": {"pad_token": "<never>"}, "added_tokens": {"<never>": 5000}},
    ),
    "extra": ({"extra_special_tokens": ["<q>", token("<r>", rstrip=True)], "bos_token": "<bos>"}, {}),
    "additional twice": (
        {"additional_special_tokens": [token("<r>", rstrip=True), "hi"]},
        {
            "special_tokens_map": {
                "additional_special_tokens": ["<z>"],
                "bos_token": mapped("<b>", normalized=False, single_word=True),
                "boo_token": "<boo>",
            }
        },
    ),
    "flags": ({"trim_offsets": False, "mask_token": token("<mask>", lstrip=True, special=True)}, {}),
    "cased": ({"do_lower_case": False, "tokenize_chinese_chars": False, "strip_accents": True}, {}),
}
BYTE_LEVEL = ("GPT2", "CodeGen", "Roberta", "Bart", "LED", "Longformer", "Qwen2")
WORDPIECE = ("Bert", "ConvBert", "DistilBert", "Electra", "LayoutLM", "Lxmert", "MobileBert", "SqueezeBert")


@pytest.fixture(scope="module")
def byte_level(gpt2_like) -> dict[str, bytes]:
    """The contents of a vocab.json and a merges.txt."""
    model = json.loads(gpt2_like.read_bytes())["model"]
    merges = "".join(f"{left} {right}\n" for left, right in model["merges"])
    return {"vocab.json": json.dumps(model["vocab"]).encode(), "merges.txt": f"#version: 0.2\n{merges}".encode()}


@pytest.fixture(scope="module")
def wordpiece(wordpiece_like) -> dict[str, bytes]:
    """The contents of a vocab.txt with all special tokens of BERT, and some lines with white space or unusual line
    ends."""
    vocab = json.loads(wordpiece_like.read_bytes())["model"]["vocab"]
    odd = ["[PAD]", "[MASK]", "quick \u3000", "line\u2028feed", "x\x1c", "", "y\r"]
    lines = [*sorted(vocab, key=vocab.__getitem__), *odd]
    return {"vocab.txt": "\n".join(lines).encode()}


def directory(path: Path, files: dict[str, bytes], **objects: Any) -> Path:
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data)
    for name, value in objects.items():
        (path / f"{name}.json").write_text(json.dumps(value))
    return path


def check(path: Path) -> None:
    """Compare every component of the converted tokenizer with transformers', and so every id, offset and mask."""
    from transformers import AutoTokenizer

    stock = AutoTokenizer.from_pretrained(path)
    converted = convert(path)
    assert converted.reference == "tokenizers"
    assert converted.tokenizer_json.decode() == stock.backend_tokenizer.to_str(pretty=True)
    config = json.loads((path / "tokenizer_config.json").read_text())
    assert converted.config["tokenizer_class"] == config["tokenizer_class"].removesuffix("Fast")
    # Written files open as the same tokenizer, including named tokens.
    written = {"tokenizer.json": converted.tokenizer_json}
    again = directory(path.parent / "again", written, tokenizer_config=converted.config)
    opened = AutoTokenizer.from_pretrained(again)
    assert opened.backend_tokenizer.to_str() == stock.backend_tokenizer.to_str()
    assert opened.special_tokens_map == stock.special_tokens_map
    assert opened.extra_special_tokens == stock.extra_special_tokens
    for text in TEXTS:
        assert dict(opened(text, text)) == dict(stock(text, text))


@since_transformers_5("gives special tokens other flags, and knows no extra_special_tokens")
@pytest.mark.parametrize(
    ("name", "case"),
    [
        *((f"{name}Tokenizer", case) for name in ("GPT2", "Roberta", "Bert") for case in CASES),
        *((f"{name}TokenizerFast", "names") for name in (*BYTE_LEVEL, *WORDPIECE)),
    ],
)
def test_every_object_is_that_of_transformers(name, case, byte_level, wordpiece, tmp_path):
    config, beside = CASES[case]
    files = byte_level if any(name.startswith(known) for known in BYTE_LEVEL) else wordpiece
    check(directory(tmp_path / "in", files, tokenizer_config={"tokenizer_class": name} | config, **beside))


def test_class_that_no_tokenizer_config_names(byte_level, wordpiece):
    def name(files: dict[str, bytes], **model_config: Any) -> str:
        read = read_wordpiece if "vocab.txt" in files else read_vocab_and_merges
        return read(*files.values(), Beside(model_config=model_config)).config["tokenizer_class"]  # type: ignore[call-arg]

    assert name(byte_level) == "GPT2Tokenizer"
    assert name(wordpiece) == "BertTokenizer"
    assert name(byte_level, model_type="roberta") == "RobertaTokenizer"
    assert name(byte_level, model_type="gptj", tokenizer_class="Qwen2TokenizerFast") == "Qwen2Tokenizer"
    assert name(wordpiece, model_type="distilbert") == "BertTokenizer"
    for files, facts in ((byte_level, {"model_type": "whisper"}), (wordpiece, {"tokenizer_class": "MPNetTokenizer"})):
        with pytest.raises(UnsupportedError, match=r"(whisper|MPNet).*save it with transformers"):
            name(files, **facts)


def test_tokenizer_json_as_it_is(llama3_like, tmp_path):
    data = llama3_like.read_bytes()
    assert read_tokenizer_json(data).tokenizer_json == data
    path = directory(
        tmp_path / "x",
        {"tokenizer.json": data, "chat_template.jinja": b"{{ messages }}\r\n"},
        tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast"},
        special_tokens_map={"eos_token": mapped("<|eot_id|>"), "bos_token": "<|begin_of_text|>"},
    )
    converted = convert(path)
    assert converted.tokenizer_json == data
    assert converted.config == {
        **{"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": "{{ messages }}\n"},
        **{"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    }


# -- reading the files as the library does


NAMED = ["[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text('ab#é"\\\x1f', max_size=4) | st.sampled_from(NAMED), max_size=12), st.randoms())
def test_a_vocabulary_is_written_as_the_library_writes_it(lines, random):
    tokens = [*NAMED, *lines]
    random.shuffle(tokens)
    data = "\n".join(tokens).encode() + b"\n"
    written = read_wordpiece(data).tokenizer_json
    assert written.decode() == tokenizers.Tokenizer.from_buffer(written).to_str(pretty=True)
    vocab = {token: id for id, token in enumerate(tokens)}
    assert json.loads(written)["model"]["vocab"] == vocab
    whole = tokenizers.models.WordPiece(vocab, unk_token="[UNK]")
    document = json.loads(written)
    assert document["model"] == json.loads(tokenizers.Tokenizer(whole).to_str())["model"]
    assert {row["content"]: row["id"] for row in document["added_tokens"]} == {name: vocab[name] for name in NAMED}


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        (b"[" * 10**5, b"", "not JSON"),
        (b'{"\xff": 0}', b"", "not JSON"),
        (b"[]", b"", "tokens to ids"),
        (b'{"a": 1.0}', b"", "tokens to ids"),
        (b'{"a": 4294967296}', b"", "tokens to ids"),
        (b'{"a": 4294967295}', b"", "an id of"),
        (b'{"a": 0}', b"a b\n", "no 'b'"),
        (b'{"a": 0, "b": 1}', b"a b\n", "no 'ab'"),
        (b'{"a": 0, "aa": 1}', b"#version: 1\na  a\n", "line 2"),
        (b'{"a": 0}', b"\xff\n", "not UTF-8"),
        (b"[UNK]\n\xc3", None, "not UTF-8"),
        (b"a\nb\n", None, "UNK"),
    ],
)
def test_damaged_vocabulary(vocab, merges, message):
    with pytest.raises(VocabularyError, match=message):
        read_wordpiece(vocab) if merges is None else read_vocab_and_merges(vocab, merges)


@pytest.mark.parametrize(
    "beside",
    [
        Beside({"bos_token": 5}),
        Beside({"bos_token": {"content": "<s>"}}),
        Beside({"bos_token": {"__type": "AddedToken", "content": 5}}),
        Beside({"bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": "no"}}),
        Beside({"extra_special_tokens": [5]}),
        Beside({"added_tokens_decoder": {"x": {}}}),
        Beside({"added_tokens_decoder": {"1": {}}}),
        Beside(added_tokens={"<new>": -1}),
        Beside({"tokenizer_class": "RobertaTokenizer", "sep_token": None}),
    ],
)
def test_damaged_config(beside, byte_level):
    with pytest.raises(VocabularyError):
        read_vocab_and_merges(*byte_level.values(), beside)  # type: ignore[call-arg]


def test_damaged_files_beside(tmp_path):
    for data in (b"{", b"[]", b"\xff", b"[" * 10**5):
        (tmp_path / "config.json").write_bytes(data)
        with pytest.raises(VocabularyError, match=r"config\.json"):
            files_beside(tmp_path / "x")
