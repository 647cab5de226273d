"""Compiling a tokenizer.json with every kind of component: the engine runs each, with the results of ``tokenizers``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors

from tests.compiler.test_compile import CHANGES
from tests.support import reference_impl
from tests.support.compile_rule import (
    GPT2_SPLIT,
    QWEN_SPLIT,
    changed,
    check,
    check_unsupported,
    document,
    places,
    roberta_document,
)

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


def written(part: str, component: Any) -> reference_impl.Document:
    """`document()` with `component` as its field `part`, as ``tokenizers`` itself writes it."""
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    setattr(tokenizer, part, component)
    out: reference_impl.Document = json.loads(tokenizer.to_str())
    return out


EVERY: dict[str, list[Any]] = {
    "normalizer": [
        *(normalizers.BertNormalizer(), normalizers.NFC(), normalizers.Prepend("_"), normalizers.Replace("a", "b")),
        *(normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip(), normalizers.StripAccents()),
    ],
    "pre_tokenizer": [
        *(pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False), pre_tokenizers.CharDelimiterSplit("b")),
        *(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.FixedLength(3), pre_tokenizers.Metaspace()),
        *(pre_tokenizers.Punctuation(), pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated")),
        *(pre_tokenizers.UnicodeScripts(), pre_tokenizers.WhitespaceSplit()),
    ],
    "decoder": [
        *(decoders.BPEDecoder(), decoders.ByteFallback(), decoders.ByteLevel(), decoders.CTC(), decoders.Fuse()),
        *(decoders.Metaspace(), decoders.Replace("a", "b"), decoders.Strip("a", 1, 2), decoders.WordPiece()),
    ],
    "post_processor": [
        *(processors.BertProcessing(("</s>", 1), ("<s>", 2)), processors.RobertaProcessing(("</s>", 1), ("<s>", 2))),
        *(processors.ByteLevel(), processors.TemplateProcessing("$A <s>", "$B:1 $A", [("<s>", 3)])),
    ],
}


COMPONENTS = [(part, component) for part, components in EVERY.items() for component in components]


EXTRA = [{"other": 1}, *({"add_prefix_space": value} for value in (True, False, None, 1)), {"use_regex": None}]
EXTRA += [{"str_rep": "x"}, {"prepend_scheme": "first", "add_prefix_space": False}, {"prepend_scheme": "Always"}]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "component"), COMPONENTS, ids=[f"{p} {type(c).__name__}" for p, c in COMPONENTS])
def test_every_field_of_a_component(part: str, component: Any) -> None:
    """With a field missing or of another type, or with an unknown field, the compiler and ``tokenizers`` read the
    component alike, or both refuse it."""
    source = written(part, component)
    texts = [changed(source, (part, *path), change) for path in places(source[part]) for change in CHANGES.values()]
    for extra in EXTRA:
        texts.append(json.dumps(source | {part: source[part] | extra}))
    untyped = {name: value for name, value in source[part].items() if name != "type"}
    texts += [json.dumps(source | {part: untyped | extra}) for extra in ({}, {"type": "Nameless"}, {"type": None})]
    for text in texts:
        try:
            check(text)
        except ValueError as error:
            if "before the first character" not in str(error):  # the reference panics here
                raise


def split(pattern: dict[str, str], behavior: str = "Isolated", invert: bool = False, **more: Any) -> dict[str, Any]:
    first = {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return document(pre_tokenizer={"type": "Sequence", "pretokenizers": [first, last | more]})


def option(name: str, value: Any) -> reference_impl.Document:
    source = reference_impl.byte_level_document()
    source["model"][name] = value
    return source


def without_byte(byte: int) -> reference_impl.Document:
    source = reference_impl.byte_level_document()
    del source["model"]["vocab"][reference_impl.BYTE_CHARS[byte]]
    return source


QWEN, REVERSED = {"Regex": QWEN_SPLIT}, document()
REVERSED["pre_tokenizer"]["pretokenizers"].reverse()
TABLES: list[tuple[reference_impl.Document, str, str | None]] = [
    (document(), "bytes", "qwen2"),
    (roberta_document(), "bytes", "gpt2"),
    (reference_impl.byte_level_document(), "bytes", "whole"),
    (split({"Regex": GPT2_SPLIT}), "bytes", "gpt2"),
    (split({"Regex": QWEN_SPLIT.replace("'m|", "'n|")}), "bytes", None),
    *((split(QWEN, behavior), "bytes", None) for behavior in ("Removed", "MergedWithNext", "Contiguous")),
    *(
        (split(QWEN, behavior, True), "bytes", "qwen2" if behavior == "Removed" else None)
        for behavior in ("Removed", "MergedWithPrevious")
    ),
    *((split(pattern), "bytes", None) for pattern in ({"Regex": "b"}, {"String": " "})),
    *((split(QWEN, **{name: True}), "bytes", None) for name in ("add_prefix_space", "use_regex")),
    (REVERSED, "text", None),
    *((document(**{part: None}), "bytes", "qwen2") for part in ("normalizer", "post_processor", "decoder")),
    (document(pre_tokenizer=None), "text", None),
    *((option("dropout", value), "text", None) for value in (0.5, 1.0)),
    *((option("dropout", value), "bytes", "whole") for value in (0.0, 0)),
    *((option(name, value), "text", None) for name, value in (("byte_fallback", True), ("end_of_word_suffix", "</w>"))),
    *((option(name, value), "bytes", "whole") for name, value in (("unk_token", "a"), ("end_of_word_suffix", ""))),
    *((without_byte(byte), "text", None) for byte in (0, 97, 255)),
]


@on_every_cpu
@pytest.mark.parametrize(("source", "tables", "family"), TABLES, ids=range(len(TABLES)))
def test_tables_and_families(source: reference_impl.Document, tables: str, family: str | None) -> None:
    """The compiler chooses the tables and the pattern's scanner. Scanners need pretokens that lose no text, and options
    that work on characters need text tables."""
    assert check(json.dumps(source)) == "the same"
    info = reference_impl.open_engine(source).info()
    assert (info["tokens"], info.get("family")) == (tables, family)


def test_patterns_that_are_not_native_are_named() -> None:
    check_unsupported(split({"Regex": r"(?<name>a)\g<name>"}), "escape")
