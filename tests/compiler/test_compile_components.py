"""Compiling a tokenizer.json with every kind of component: each is native, and says the same as the reference."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from crayon_hf.errors import VocabularyError
from tests.support import reference_impl
from tests.support.cartridge_text import NAMES, text_source
from tests.support.compile_rule import GPT2_SPLIT, QWEN_SPLIT, check, check_unsupported, document, roberta_document

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "unicode"))
from charsmap import precompiled

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


def written(part: str, component: Any) -> reference_impl.Document:
    """The document with one component as ``tokenizers`` itself writes it."""
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    setattr(tokenizer, part, component)
    out: reference_impl.Document = json.loads(tokenizer.to_str())
    return out


EVERY = {
    "normalizer": [
        normalizers.BertNormalizer(),
        normalizers.ByteLevel(),
        normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
        normalizers.Lowercase(),
        normalizers.NFC(),
        normalizers.NFD(),
        normalizers.NFKC(),
        normalizers.NFKD(),
        normalizers.Nmt(),
        normalizers.Prepend("_"),
        normalizers.Replace("a", "b"),
        normalizers.Replace("a", ""),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Strip(),
        normalizers.Strip(left=False, right=True),
        normalizers.StripAccents(),
    ],
    "pre_tokenizer": [
        pre_tokenizers.BertPreTokenizer(),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
        pre_tokenizers.CharDelimiterSplit("-"),
        pre_tokenizers.CharDelimiterSplit("b"),
        pre_tokenizers.Digits(),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.FixedLength(3),
        pre_tokenizers.Metaspace(),
        pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        pre_tokenizers.Punctuation(),
        pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"),
        pre_tokenizers.UnicodeScripts(),
        pre_tokenizers.Whitespace(),
        pre_tokenizers.WhitespaceSplit(),
    ],
    "decoder": [
        decoders.BPEDecoder(),
        decoders.ByteFallback(),
        decoders.ByteLevel(),
        decoders.CTC(),
        decoders.Fuse(),
        decoders.Metaspace(),
        decoders.Replace("a", "b"),
        decoders.Strip(),
        decoders.Strip("a", 1, 2),
        decoders.WordPiece(),
    ],
    "post_processor": [
        processors.BertProcessing(("</s>", 1), ("<s>", 2)),
        processors.RobertaProcessing(("</s>", 1), ("<s>", 2)),
        processors.ByteLevel(),
        processors.TemplateProcessing(single="$A <s>", pair="$B:1 $A", special_tokens=[("<s>", 3)]),
    ],
}


COMPONENTS = [(part, component) for part, components in EVERY.items() for component in components]  # type: ignore[attr-defined]
LISTED = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
NATIVE = {
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False, "use_regex": True},
    "decoder": {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False, "use_regex": True},
    "post_processor": {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": True},
}


def test_every_type_is_tried() -> None:
    """None that the installed ``tokenizers`` has is left out, but what the base classes and Precompiled are."""
    modules = {
        "normalizer": normalizers,
        "pre_tokenizer": pre_tokenizers,
        "decoder": decoders,
        "post_processor": processors,
    }
    for part, module in modules.items():
        base = part.title().replace("_", "")
        names = {name for name in dir(module) if isinstance(getattr(module, name), type)}
        others = {base, "Sequence", "Precompiled", "DecodeStream", "Enum"}
        found = {type(component).__name__ for kind, component in COMPONENTS if kind == part}
        assert {name for name in names if issubclass(getattr(module, name), getattr(module, base))} - others == found


@on_every_cpu
@pytest.mark.parametrize(("part", "component"), COMPONENTS, ids=[f"{p} {type(c).__name__}" for p, c in COMPONENTS])
def test_every_component(part: str, component: Any) -> None:
    source = written(part, component)
    assert check(json.dumps(source)) == "the same"
    # The same in a sequence, after another one, before it, and twice.
    one, native = source[part], NATIVE[part]
    for inner in ([one], [native, one], [one, native], [one, one]):
        source[part] = {"type": "Sequence", LISTED.get(part, "processors"): inner}
        assert check(json.dumps(source)) == "the same", inner


@pytest.mark.parametrize(("part", "component"), COMPONENTS, ids=[f"{p} {type(c).__name__}" for p, c in COMPONENTS])
def test_every_component_of_a_text_model(part: str, component: Any) -> None:
    tokenizer = Tokenizer.from_str(text_source("llama_like").decode())
    setattr(tokenizer, part, component)
    assert check(tokenizer.to_str()) == "the same"


@on_every_cpu
@pytest.mark.parametrize("name", NAMES)
def test_text_models(name: str) -> None:
    source = text_source(name).decode()
    assert check(source) == "the same"
    # A ByteLevel before them spells bytes that they take for text.
    with_byte_level = json.loads(source) | {"pre_tokenizer": NATIVE["pre_tokenizer"], "decoder": NATIVE["decoder"]}
    assert check(json.dumps(with_byte_level)) == "the same"


def test_sequences_of_normalizers() -> None:
    nfc = {"type": "NFC"}
    for inner in ([nfc, nfc], [nfc, {"type": "Lowercase"}], [{"type": "NFD"}, {"type": "StripAccents"}, nfc]):
        source = document(normalizer={"type": "Sequence", "normalizers": inner})
        assert check(json.dumps(source)) == "the same"


def test_the_precompiled_normalizer() -> None:
    rules = precompiled({"a": "b", "\u2026": "...", "\u00e9": "e\u0301", "\u0301": "", "\n": " "})
    assert check(json.dumps(document(normalizer=rules))) == "the same"
    assert check(json.dumps(document(normalizer=rules, pre_tokenizer=None))) == "the same"
    assert check(json.dumps(document(normalizer=rules | {"precompiled_charsmap": ""}))) == "refused"


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
def test_components_that_are_not_there(part: str) -> None:
    """Without ByteLevel in front, the vocabulary is one of text."""
    source = document(**{part: None})
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["tokens"] == ("text" if part == "pre_tokenizer" else "bytes")
    assert check(json.dumps(document(normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None))) == (
        "the same"
    )


def test_sequences_of_one_and_of_none() -> None:
    nested = document(
        normalizer={"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [{"type": "NFC"}]}]}
    )
    nested["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [document()["pre_tokenizer"]]}
    nested["post_processor"] = {"type": "Sequence", "processors": [document()["post_processor"]]}
    assert check(json.dumps(nested)) == "the same"
    for part, member in [*LISTED.items(), ("post_processor", "processors")]:
        assert check(json.dumps(document(**{part: {"type": "Sequence", member: []}}))) == "the same"


def split(pattern: dict[str, str], behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    first = {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [first, last]}


@on_every_cpu
@pytest.mark.parametrize("behavior", ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("pattern", [{"Regex": QWEN_SPLIT}, {"Regex": r"\s+|\S+"}, {"Regex": "b"}, {"String": " "}])
def test_splits(pattern: dict[str, str], behavior: str, invert: bool) -> None:
    """A family's scanner cuts where nothing gets lost; any other split is the pattern itself."""
    source = document(pre_tokenizer=split(pattern, behavior, invert))
    assert check(json.dumps(source)) == "the same"
    scanned = pattern == {"Regex": QWEN_SPLIT} and (behavior == "Isolated" or (behavior == "Removed" and invert))
    assert reference_impl.open_engine(source).info()["family"] == ("qwen2" if scanned else None)


@pytest.mark.parametrize("add_prefix_space", [False, True])
@pytest.mark.parametrize("use_regex", [False, True])
def test_byte_level_after_a_split(add_prefix_space: bool, use_regex: bool) -> None:
    source = document()
    source["pre_tokenizer"]["pretokenizers"][1] |= {"add_prefix_space": add_prefix_space, "use_regex": use_regex}
    assert check(json.dumps(source)) == "the same"
    family = reference_impl.open_engine(source).info()["family"]
    assert family == (None if add_prefix_space or use_regex else "qwen2")
    source["pre_tokenizer"]["pretokenizers"].insert(0, source["pre_tokenizer"]["pretokenizers"][0])
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["family"] is None
    source["pre_tokenizer"]["pretokenizers"].reverse()
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["tokens"] == "text"


def test_families_are_known_by_their_patterns() -> None:
    assert reference_impl.open_engine(document()).info()["family"] == "qwen2"
    assert reference_impl.open_engine(roberta_document()).info()["family"] == "gpt2"
    assert reference_impl.open_engine(reference_impl.byte_level_document()).info()["family"] == "whole"
    assert check(json.dumps(document(pre_tokenizer=split({"Regex": GPT2_SPLIT})))) == "the same"
    other = document(pre_tokenizer=split({"Regex": QWEN_SPLIT.replace("'m|", "'n|")}))
    assert check(json.dumps(other)) == "the same"
    assert reference_impl.open_engine(other).info()["family"] is None


def test_patterns_that_are_not_native_are_named() -> None:
    pattern = r"(?<name>a)\g<name>"
    check_unsupported(document(pre_tokenizer=split({"Regex": pattern})), "escape")


@pytest.mark.parametrize(
    "model",
    [
        models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"),
        models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"),
        models.Unigram([("a", 0.0), ("b", -1.0)], 0),
    ],
    ids=["WordLevel", "WordPiece", "Unigram"],
)
def test_other_models_after_byte_level(model: Any) -> None:
    source = json.loads(Tokenizer(model).to_str())
    source |= {"pre_tokenizer": document()["pre_tokenizer"], "decoder": document()["decoder"]}
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["tokens"] == "text"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dropout", 0.5),
        ("dropout", 1.0),
        ("byte_fallback", True),
        ("continuing_subword_prefix", "a"),
        ("end_of_word_suffix", "</w>"),
    ],
)
def test_options_of_the_model(option: str, value: Any) -> None:
    """These work on characters: the tables are those of text."""
    source = reference_impl.byte_level_document()
    source["model"][option] = value
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["tokens"] == "text"


def test_byte_fallback_with_affixes_is_named() -> None:
    for option in ("continuing_subword_prefix", "end_of_word_suffix"):
        source = reference_impl.byte_level_document()
        source["model"] |= {"byte_fallback": True, option: "##"}
        check_unsupported(source, "byte_fallback", "prefix or suffix")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dropout", 0.0),
        ("dropout", 0),
        ("unk_token", "a"),
        ("unk_token", "<s>"),
        ("fuse_unk", True),
        ("end_of_word_suffix", ""),
    ],
)
def test_options_of_the_model_that_change_nothing(option: str, value: Any) -> None:
    source = document()
    source["model"][option] = value
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["tokens"] == "bytes"


def test_truncation_and_padding() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    for options in ({}, {"stride": 2}, {"direction": "left"}, {"strategy": "only_first"}, {"strategy": "only_second"}):
        tokenizer.enable_truncation(8, **options)
        assert check(tokenizer.to_str()) == "the same"
    tokenizer.no_truncation()
    for options in (
        {},
        {"length": 30},
        {"direction": "left", "pad_to_multiple_of": 8},
        {"pad_id": 3, "pad_token": "x"},
    ):
        tokenizer.enable_padding(**options)
        assert check(tokenizer.to_str()) == "the same"
    tokenizer.enable_truncation(5)
    assert check(tokenizer.to_str()) == "the same"


@pytest.mark.parametrize("byte", [0, 32, 97, 255])
def test_a_vocabulary_without_a_byte(byte: int) -> None:
    source = reference_impl.byte_level_document()
    del source["model"]["vocab"][reference_impl.BYTE_CHARS[byte]]
    assert check(json.dumps(source)) == "the same"
    assert reference_impl.open_engine(source).info()["tokens"] == "text"


def test_what_is_malformed_in_a_component_is_refused() -> None:
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        for bad in ({"type": "Unheard"}, {}, [], 7, "NFC"):
            with pytest.raises(VocabularyError):
                reference_impl.compiled(document(**{part: bad}))
