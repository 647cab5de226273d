"""Exporting to GGUF: with the file, a plain implementation of llama.cpp gives the tokenizer's ids. If GGUF cannot
express a component, an error names it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import gguf
import pytest
from tokenizers import processors

from crayon_hf import Tokenizer, UnsupportedError, _core
from crayon_hf.formats import convert
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.export import to_gguf
from crayon_hf.formats.gguf import read_gguf
from crayon_hf.formats.gguf_file import read_metadata
from crayon_hf.tokenizer_json.parts import BPE, added_token, byte_level, split, whole_document
from crayon_hf.util.byte_level import BYTE_LEVEL
from parity.llama_cpp.made import made, texts_for, write
from parity.llama_cpp.plain import Plain, Vocabulary
from tests.formats.export_samples import PREFIXED, converted_of, count_exported, hostile, random_sources
from tests.support.random_tokenizers import BYTES, ESCAPED, SPACE
from tests.support.reference_impl import component
from tests.support.sampling import sampled

_PLAIN = f"é日\u0301{SPACE}"


def plain_of(path: Path) -> Plain:
    """Open a GGUF file with the plain implementation of llama.cpp."""
    metadata = dict(read_metadata(path))
    keys = {key.removeprefix("tokenizer.ggml."): value for key, value in metadata.items()}
    merges = [(merge[:cut], merge[cut + 1 :]) for merge in keys.get("merges", ()) for cut in [merge.index(" ", 1)]]
    charsmap = keys.get("precompiled_charsmap", b"")
    rules = {"rules": _core.CharsmapRules(bytes(charsmap)).apply} if len(charsmap) else {}
    lists = {"types": [int(kind) for kind in keys["token_type"]], "scores": [float(s) for s in keys.get("scores", ())]}
    return Plain(Vocabulary(keys["model"], keys["tokens"], merges=merges, keys=keys, **lists, **rules))


def check(source: Converted, texts: list[str], path: Path, **options: Any) -> None:
    """Export `source` to a GGUF file, and check that the plain implementation and `Tokenizer` give its ids from the
    file.

    The plain implementation gets only texts of ASCII and a few other characters, since its Unicode tables differ.
    """
    path.write_bytes(to_gguf(source, **options).data)
    ours, plain = Tokenizer.from_str(source.tokenizer_json.decode()), plain_of(path)
    again = Tokenizer.from_str(read_gguf(path).tokenizer_json.decode())
    for special in (False, True):
        for text in texts:
            wanted = ours.encode(text, add_special_tokens=special).ids
            assert again.encode(text, add_special_tokens=special).ids == wanted, ascii(text)
            if all(char.isascii() or char in _PLAIN for char in text):
                assert plain.encode(text, add_special=special) == wanted, ascii(text)


# -- trained vocabularies


TRAINED = {"gpt2_like": "gpt-2", "llama3_like": "llama3", "roberta_like": "jina-v2-es"}


@pytest.mark.parametrize("name", TRAINED)
def test_byte_level(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    source = convert(request.getfixturevalue(name))
    path = tmp_path / "x.gguf"
    check(source, [*hostile(300, 1), " a  <mask> b<s>", "<|endoftext|>  x"], path)
    made = to_gguf(source)
    assert (made.model, made.pre, made.differences) == ("gpt2", TRAINED[name], ())
    assert to_gguf(Tokenizer.from_file(request.getfixturevalue(name))) == made
    fields = gguf.GGUFReader(path).fields
    assert fields["tokenizer.ggml.model"].contents() == "gpt2"
    model = json.loads(source.tokenizer_json)["model"]
    first = sorted(model["vocab"], key=model["vocab"].__getitem__)[:300]
    assert fields["tokenizer.ggml.tokens"].contents()[:300] == first
    assert fields["tokenizer.ggml.merges"].contents() == [" ".join(pair) for pair in model["merges"]]


def test_what_comes_before_byte_level(qwen_like: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"the normalizer NFC.*--inexact"):
        to_gguf(convert(qwen_like))
    made = to_gguf(convert(qwen_like), inexact=True)
    assert [case.partition(":")[0] for case in made.differences] == ["the normalizer NFC"]
    assert made.pre == "qwen2"


def test_wordpiece(tmp_path: Path) -> None:
    texts = ["", "ab c", "abcd dab", "X [SEP] b", "a-b", "é" * 3, "dd", "a\u0301b"]
    check(wordpiece(), texts, tmp_path / "x.gguf")
    check(wordpiece(lowercase=True, strip_accents=None), texts, tmp_path / "x.gguf")
    short = wordpiece(longest=100)
    with pytest.raises(UnsupportedError, match="max_input_chars_per_word"):
        to_gguf(short)
    assert to_gguf(short, inexact=True).model == "bert"


def wordpiece(
    longest: int = 2**53 - 1, framed: bool = True, more: tuple[Any, ...] = (), **normalizer: Any
) -> Converted:
    tokens = ["[CLS]", "[SEP]", "[UNK]", "a", "ab", "##c", "##d", "b", "##b", "##a", "-"]
    vocab = {token: id for id, token in enumerate(tokens)}
    options = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": False, "lowercase": False}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    ends = {"type": "BertProcessing", "cls": ["[CLS]", 0], "sep": ["[SEP]", 1]}
    return converted_of(
        whole_document(
            {**model, "max_input_chars_per_word": longest, "vocab": vocab},
            normalizer={"type": "BertNormalizer", **options, **normalizer},
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor=ends if framed else None,
            added_tokens=[*(added_token(vocab[token], token) for token in tokens[:3]), *more],
        )
    )


def test_chat_template_and_length(gpt2_like: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for chat in ("{{ x }}", [{"name": "tool_use", "template": "b"}, {"name": "default", "template": "a"}]):
        source = convert(gpt2_like)._replace(
            config={"chat_template": chat, "model_max_length": 77, "eos_token": {"content": "<|endoftext|>"}}
        )
        path.write_bytes(to_gguf(source).data)
        config = read_gguf(path).config
        assert (config["chat_template"], config["model_max_length"], config["eos_token"]) == (chat, 77, "<|endoftext|>")


# -- components


def merged(merges: list[tuple[str, str]], more: dict[str, Any] | None = None, **parts: Any) -> Converted:
    tokens = ["<unk>", *BYTES, *"abcd▁", *("".join(pair) for pair in merges)]
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    model = {**BPE, "unk_token": "<unk>", "byte_fallback": True, "vocab": vocab, "merges": merges, **(more or {})}
    parts = {"normalizer": PREFIXED, "added_tokens": [added_token(0, "<unk>")], **parts}
    return converted_of(whole_document({**model, "fuse_unk": True}, **parts))


def test_llama(tmp_path: Path) -> None:
    texts = ["", " ", "a", "ab", " ab  c", "aabb<unk> ab", "日 a", f"{SPACE}a", "abcabc", "\n", "<0x41>"]
    check(merged([("a", "b"), ("ab", "c"), ("b", "c")]), texts, tmp_path / "x.gguf")
    check(merged([("b", "c"), (SPACE, "a")], normalizer=ESCAPED), texts, tmp_path / "x.gguf")


def over_bytes(merges: list[tuple[str, str]] = [], more: dict[str, Any] | None = None, **parts: Any) -> Converted:  # noqa: B006
    tokens = [*map(chr, BYTE_LEVEL.values()), *("".join(pair) for pair in merges)]
    model = {**BPE, "vocab": {token: id for id, token in enumerate(tokens)}, "merges": merges, **(more or {})}
    return converted_of(whole_document(model, **{"pre_tokenizer": byte_level(use_regex=True), **parts}))


def cuts(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps, byte_level()]}


def around(before: int, after: int) -> dict[str, Any]:
    single = " ".join([*["<x>"] * before, "$A", *["<x>"] * after])
    part: dict[str, Any] = component(processors.TemplateProcessing(single, f"{single} $B", [("<x>", 256)]))
    return part


X = added_token(256, "<x>")
REFUSED = {
    "Lowercase": (over_bytes(normalizer={"type": "Lowercase"}), "the normalizer Lowercase"),
    "pattern": (over_bytes(pre_tokenizer=cuts(split("a+"))), r"no name for its pattern \('a\+'\)"),
    "Punctuation": (over_bytes(pre_tokenizer=cuts({"type": "Punctuation"})), "the pre-tokenizer Punctuation"),
    "add_prefix_space": (over_bytes(pre_tokenizer=byte_level(add_prefix_space=True)), "add_prefix_space"),
    "no pattern": (over_bytes(pre_tokenizer=byte_level()), "no name"),
    "ignore_merges": (
        over_bytes(more={"vocab": {"a": 0, "b": 1, "ab": 2}, "ignore_merges": True}),
        "ignore_merges: no merges make the token 'ab', and llama.cpp does not take it whole",
    ),
    "dropout": (over_bytes(more={"dropout": 0.1}), "dropout"),
    "unk_token": (over_bytes(more={"vocab": {"a": 0, "b": 1}, "unk_token": "a"}), "unk_token"),
    "two tokens": (over_bytes(added_tokens=[X], post_processor=around(2, 0)), "2 tokens before a text"),
    "spaced": (over_bytes([("a ", "b")], {"vocab": {"a ": 0, "b": 1, "a b": 2}}), "one space between"),
    "lstrip": (over_bytes(added_tokens=[{**X, "rstrip": True}]), "'<x>' has rstrip"),
    "single_word": (over_bytes(added_tokens=[{**X, "single_word": True}]), "single_word"),
    "overlap": (over_bytes(added_tokens=[X, added_token(257, "<x>y", normalized=True)]), "overlap"),
    "by its text": (over_bytes([("<", "/"), ("</", "s"), ("</s", ">")]), "'</s>', which llama.cpp finds"),
    "NUL": (over_bytes(added_tokens=[added_token(256, "a\0b")]), "NUL"),
    "no byte_fallback": (merged([], {"byte_fallback": False}), "byte_fallback"),
    "NFKC": (merged([], normalizer={"type": "NFKC"}), "the normalizer NFKC"),
    "normalized": (merged([], added_tokens=[added_token(0, "<unk>", normalized=True)]), "normalized text"),
    "prefixed": (merged([("a", "bc")], {"vocab": {"<unk>": 0, "a": 1, "bc": 2, "abc": 3}}), "without the token <0x00>"),
    "a word": (wordpiece(more=(added_token(11, "dab"),)), "'dab': llama.cpp also finds it in words"),
    "not framed": (wordpiece(framed=False), "post-processor"),
    "clean_text": (wordpiece(clean_text=False), "BertNormalizer without clean_text"),
    "WordLevel": (converted_of({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}), "WordLevel"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_file_says(name: str) -> None:
    source, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message):
        to_gguf(source)


def test_tokens_around_and_holes(tmp_path: Path) -> None:
    texts = ["", "ab", " a<x>", "日"]
    for before, after in ((0, 0), (1, 0), (0, 1), (1, 1)):
        check(over_bytes(added_tokens=[X], post_processor=around(before, after)), texts, tmp_path / "x.gguf")
    # of a merge that is listed twice, tokenizers takes the last rank and llama.cpp the first
    check(over_bytes([("a", "b"), ("b", "c"), ("a", "b")]), ["abc"], tmp_path / "x.gguf")
    # tokenizers ignores the file's id of an added token that the model lacks
    check(over_bytes(added_tokens=[added_token(300, "<x>")]), texts, tmp_path / "x.gguf")
    letters = {chr(char): id for id, char in enumerate(BYTE_LEVEL.values())}
    check(over_bytes(more={"vocab": {**letters, "ab": 260}, "merges": [("a", "b")]}), texts, tmp_path / "x.gguf")


# -- random tokenizers and files


def random_files(seeds: range, path: Path) -> Iterator[tuple[Converted, list[str]]]:
    """Random GGUF files that can be read, with texts."""
    for model, seed in product(("llama", "gpt2", "bert", "t5", "gemma4"), seeds):
        vocabulary = made(model, seed)
        with contextlib.suppress(UnsupportedError):
            yield read_gguf(write(vocabulary, path)), texts_for(vocabulary, 25, seed)


@pytest.mark.parametrize("first", sampled([0, 100, 200], 3))
def test_random(first: int, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    tokenizers = random_sources(range(first, first + 100), 30)
    assert count_exported(tokenizers, lambda source, texts: check(source, texts, path)) > 8
    files = random_files(range(first, first + 6), tmp_path / "in.gguf")
    assert count_exported(files, lambda source, texts: check(source, texts, path)) > 12


EXACT = {
    **{"gpt2": "gpt-2", "llama3": "llama3", "phi-2": "gpt-2", "mistral-v1": None},
    **{"r50k_base/r50k_base.tiktoken": "gpt-2", "o200k_base/o200k_base.tiktoken": "gpt-4o"},
    **{"gguf/ggml-vocab-gpt-2.gguf": "gpt-2", "gguf/ggml-vocab-llama-spm.gguf": None},
}
INEXACT = {
    "llama2": "is found in the normalized text",
    "qwen": "the normalizer NFC",
    "roberta-base": "endoftext",
    "bert-cased": "max_input_chars_per_word",
    "t5-small": "Metaspace",
    "mistral-v3": "REFERENCE_DOC",
}


@pytest.mark.parametrize("name", EXACT)
def test_published(shared: Path, name: str, tmp_path: Path) -> None:
    source = convert(shared / "vocab" / name)
    made = to_gguf(source)
    assert (made.pre, made.differences) == (EXACT[name], ())
    path = tmp_path / "x.gguf"
    path.write_bytes(made.data)
    ours = Tokenizer.from_str(source.tokenizer_json.decode())
    again = Tokenizer.from_str(read_gguf(path).tokenizer_json.decode())
    again.encode_special_tokens = ours.encode_special_tokens = source.reference == "sentencepiece"
    for text in hostile(3000, 4):
        assert again.encode(text).ids == ours.encode(text).ids


@pytest.mark.parametrize("name", INEXACT)
def test_published_and_inexact(shared: Path, name: str) -> None:
    source = convert(shared / "vocab" / name)
    with pytest.raises(UnsupportedError, match=INEXACT[name]):
        to_gguf(source)
    assert INEXACT[name] in to_gguf(source, inexact=True).differences[0]


def test_published_and_refused(shared: Path) -> None:
    for name, message in (("whisper-tiny", "is empty"), ("cl100k_base/cl100k_base.tiktoken", "no name")):
        with pytest.raises(UnsupportedError, match=message):
            to_gguf(convert(shared / "vocab" / name), inexact=True)
