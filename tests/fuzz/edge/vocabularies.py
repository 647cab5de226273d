"""Small vocabularies for texts: every published pretokenizer family and every kind of model, on every instruction set.

They are made of the models of ``parity.components.models``, which are the same in every process. Where
``CRAYON_SHARED`` is set the published ones are there, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import crayon_hf
from crayon_hf import _core
from parity.components.models import make_model
from tests.fuzz.edge.choices import Choices
from tests.fuzz.edge.judging import dumped, opened
from tests.fuzz.edge.small_documents import Document, added, document

FAMILIES = ("gpt2", "cl100k", "llama3", "qwen2", "o200k", "tekken")
PUBLISHED = ("gpt2", "roberta-base", "llama3", "qwen", "llama2", "t5-small", "bert-cased", "whisper-tiny", "phi-2")
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_DEEPSEEK = ("[\r\n]", r"\s?[A-Za-z\u00b5\u00c0-\u00d6]+", r"\s?[!-/:-~]+", r"\s+$", "[\u4e00-\u9fa5]+", r"\p{N}+")


def small() -> Iterator[tuple[str, Document]]:
    """The small vocabularies by name."""
    for family in FAMILIES:
        models = ("bpe-bytes", "bpe-bytes, ignore_merges") if family in ("gpt2", "llama3", "o200k") else ("bpe-bytes",)
        for model in models:
            split = _split(_core.canonical_pattern(family))
            sections: Document = {"pre_tokenizer": _sequence(split, _BYTES), "decoder": _BYTES}
            if family == "qwen2":
                sections["normalizer"] = {"type": "NFC"}
            yield f"{family}, {model}", _document(model, **sections)
    byte_level = {**_BYTES, "use_regex": True, "add_prefix_space": True}
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True}
    yield "roberta", _document("bpe-bytes", pre_tokenizer=byte_level, post_processor=roberta, decoder=_BYTES)
    splits = [_split(pattern) for pattern in _DEEPSEEK]
    yield "deepseek", _document("bpe-bytes", pre_tokenizer=_sequence(*splits, _BYTES), decoder=_BYTES)
    digits = {"type": "Digits", "individual_digits": True}
    yield (
        "digits",
        _document("bpe-bytes", pre_tokenizer=_sequence(digits, {**_BYTES, "use_regex": True}), decoder=_BYTES),
    )
    marks = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    llama2 = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, marks]}
    back = [{**marks, "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    joined = {"type": "Sequence", "decoders": [*back, strip]}
    yield "llama2", _document("bpe-spaces, byte_fallback", normalizer=llama2, decoder=joined)
    yield (
        "gemma",
        _document("bpe-spaces, byte_fallback", normalizer=marks, decoder={"type": "Sequence", "decoders": back}),
    )
    for scheme in ("always", "first", "never"):
        space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": scheme != "first"}
        yield f"metaspace {scheme}", _document("bpe-spaces, fuse_unk", pre_tokenizer=space, decoder=space)
    from parity.components.parts import CHARSMAP, charsmap

    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    rules = {"type": "Precompiled", "precompiled_charsmap": charsmap(CHARSMAP)}
    several = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    normalizers = {"type": "Sequence", "normalizers": [rules, several]}
    yield "t5", _document("unigram", normalizer=normalizers, pre_tokenizer=space, decoder=space)
    yield "xlm", _document("unigram, byte_fallback", pre_tokenizer=_sequence({"type": "WhitespaceSplit"}, space))
    template = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*template, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    names = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in (("[CLS]", 3), ("[SEP]", 4))}
    around = {"type": "TemplateProcessing", "single": template, "pair": pair, "special_tokens": names}
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    for lowercase in (True, False):
        sections = {"normalizer": {**bert, "lowercase": lowercase}, "pre_tokenizer": {"type": "BertPreTokenizer"}}
        decoder = {"type": "WordPiece", "prefix": "##", "cleanup": lowercase}
        yield f"bert {lowercase}", _document("wordpiece", **sections, post_processor=around, decoder=decoder)
    lower = {"type": "Sequence", "normalizers": [{"type": "NFC"}, several, {"type": "Lowercase"}]}
    clip = {**_split(_CLIP), "behavior": "Removed", "invert": True}
    yield "clip", _document("bpe-words, suffix", normalizer=lower, pre_tokenizer=clip)
    yield "words", _document("wordlevel", pre_tokenizer={"type": "Whitespace"})


def _document(model: str, **sections: Any) -> Document:
    made = make_model(model)
    vocab = made["vocab"]
    ids = vocab if isinstance(vocab, dict) else {name: id for id, (name, _) in enumerate(vocab)}
    size = max(ids.values()) + 1
    tokens = [added(name, ids[name]) for name in ("<unk>", "<s>", "</s>", "[CLS]", "[SEP]", "<pad>")]
    tokens.append(added("<mask>", ids["<mask>"], lstrip=True))
    tokens += [added("<|end|>", size), added("  ", size + 1, special=False, normalized=True)]
    tokens.append(added("crayon", size + 2, single_word=True, special=False, rstrip=True))
    return document(made, added_tokens=tokens, **sections)


def _split(pattern: str) -> Document:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _sequence(*members: Document) -> Document:
    return {"type": "Sequence", "pretokenizers": list(members)}


@cache
def _documents() -> dict[str, bytes]:
    return {name: dumped(made) for name, made in small()}


def chosen(choices: Choices) -> str:
    """The name of a vocabulary, by one byte: a small one, the same everywhere, or above 223 a published one."""
    number = choices.byte()
    published = _there() if number > 223 else ()
    return published[number % len(published)] if published else list(_documents())[number % len(_documents())]


@cache
def _there() -> tuple[str, ...]:
    return tuple(name for name in PUBLISHED if _published(name) is not None)


def _published(name: str) -> Path | None:
    directory = os.environ.get("CRAYON_SHARED")
    path = Path(directory or "", "vocab", name, "tokenizer.json")
    return path if directory and path.is_file() else None


def source(name: str) -> bytes:
    """The ``tokenizer.json``."""
    path = None if name in _documents() else _published(name)
    return _documents()[name] if path is None else path.read_bytes()


@cache
def ours(name: str, cpu: str) -> crayon_hf.Tokenizer:
    """Our tokenizer on an instruction set."""
    before = os.environ.get("CRAYON_CPU")
    os.environ["CRAYON_CPU"] = cpu
    try:
        tokenizer = opened(source(name))
    finally:
        if before is None:
            del os.environ["CRAYON_CPU"]
        else:
            os.environ["CRAYON_CPU"] = before
    assert tokenizer is not None
    assert tokenizer.engine_report()["engine"] == "native", tokenizer.engine_report()
    assert tokenizer.engine_report()["cpu"] == cpu
    return tokenizer


@cache
def reference(name: str) -> Any:
    """The reference's."""
    import tokenizers

    return tokenizers.Tokenizer.from_str(source(name).decode())
