"""Compiling a tokenizer.json: what is refused and how it is called, what is filled in, and the vocabulary that results.

The rule for every document: what ``tokenizers`` refuses is refused; what it opens is opened and does the same, or is
refused as unsupported, by name. Compiling is the same on every instruction set; what is run on all says so.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.engine import twins

cpu = twins.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")

GPT2_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MERGES = [(b" ", b"a"), (b"a", b"b"), (b" a", b"b"), (b"ab", b"ab"), (b"e", b"\xcc"), (b"\xc3", b"\xa9"), (b"1", b"2")]
TEXTS = (
    "",
    " ",
    "ab",
    " abab ab",
    "ab1212 12",
    "<s>ab <s> a</s>ab",
    "e\u0301 \u00e9",
    "a'll  ab\n\n ab",
    "x<m>  ab",
    "\U0001f642",
)


def document(**parts: Any) -> twins.Document:
    """A document with a component of every native kind, and added tokens."""
    out = twins.byte_level_document(MERGES, more=["<s>", "</s>", "\u4e2d"])
    vocab = out["model"]["vocab"]
    bare = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    out["added_tokens"] = [
        {"id": vocab["<s>"], "content": "<s>", **bare, "special": True},
        {"id": vocab["</s>"], "content": "</s>", **bare, "special": True},
        {"id": len(vocab), "content": "<m>", **bare, "rstrip": True, "normalized": True},
    ]
    out["normalizer"] = {"type": "NFC"}
    out["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": QWEN_SPLIT}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        ],
    }
    out["post_processor"] = {
        "type": "Sequence",
        "processors": [
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [
                    {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 1}},
                    {"Sequence": {"id": "B", "type_id": 1}},
                ],
                "special_tokens": {
                    token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in ("<s>", "</s>")
                },
            },
        ],
    }
    return out | parts


def roberta_document() -> twins.Document:
    out = document()
    vocab = out["model"]["vocab"]
    out["normalizer"] = None
    out["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    out["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", vocab["</s>"]],
        "cls": ["<s>", vocab["<s>"]],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    return out


def refusal(text: str) -> VocabularyError | None:
    try:
        twins.open_engine(text)
    except VocabularyError as error:
        return error
    return None


def check(text: str) -> str:
    """The rule. Returns what became of the document."""
    reference = twins.try_reference(lambda: Tokenizer.from_str(text))
    if reference is None:
        assert refusal(text) is not None, "the reference refuses it"
        return "refused"
    error = refusal(text)
    if error is not None:
        assert type(error) is UnsupportedError, f"the reference opens it: {error}"
        return "unsupported"
    both = twins.Both(text)
    for sample in TEXTS:
        both.check(sample)
        both.check(sample, "ab a")
    check_vocabulary(both.engine, reference)
    ids = list(reference.get_vocab().values())
    for id in ids:
        for skip in (False, True):
            assert both.engine.decode([id], skip) == reference.decode([id], skip)
    return "the same"


def check_vocabulary(engine: _core.Engine, reference: Tokenizer) -> None:
    for with_added in (True, False):
        vocab = reference.get_vocab(with_added)
        assert engine.get_vocab(with_added) == vocab
        assert engine.get_vocab_size(with_added) == reference.get_vocab_size(with_added)
    vocab = reference.get_vocab()
    for token, id in vocab.items():
        assert engine.token_to_id(token) == reference.token_to_id(token) == id
        assert engine.id_to_token(id) == reference.id_to_token(id) == token
        assert engine.id_to_bytes(id) == twins.token_bytes(token)
        for near in (token + "a", token[:-1], token[1:], " " + token, token.replace("\u0120", " ")):
            assert engine.token_to_id(near) == reference.token_to_id(near)
    for id in range(max(vocab.values()) + 70):
        assert engine.id_to_token(id) == reference.id_to_token(id)
    for id in (2**31 - 1, 2**32 - 1):
        assert engine.id_to_token(id) is reference.id_to_token(id) is None
    assert engine.id_to_token(-1) is None
    added = reference.get_added_tokens_decoder()
    assert [row["id"] for row in engine.added_tokens()] == sorted(added)
    for row in engine.added_tokens():
        want = added[row.pop("id")]
        assert row == {name: getattr(want, name) for name in row}
        assert len(row) == 6


# -- the rule, on documents changed in one place


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    # Of the long lists and tables of the model a few entries stand for all.
    for key, inner in list(items)[-12:]:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(source: twins.Document, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> str:
    out = copy.deepcopy(source)
    place: Any = out
    for key in path[:-1]:
        place = place[key]
    change(place, path[-1])
    return json.dumps(out)


def outcomes(source: twins.Document, change: Callable[[Any, Any], None]) -> dict[tuple[Any, ...], str]:
    out = {}
    for path in places(source):
        text = changed(source, path, change)
        try:
            out[path] = check(text)
        except AssertionError as error:
            raise AssertionError(f"at {'/'.join(map(str, path))}: {error}") from error
    return out


def replace_by(value: Any) -> Callable[[Any, Any], None]:
    def change(place: Any, key: Any) -> None:
        place[key] = value

    return change


def leave_out(place: Any, key: Any) -> None:
    del place[key]


def twice(place: Any, key: Any) -> None:
    if isinstance(place, list):
        place.append(place[key])
    else:
        place[f"{key} again"] = place[key]


CHANGES = {
    "left out": leave_out,
    "twice": twice,
    **{
        json.dumps(value): replace_by(value)
        for value in (None, True, False, 0, 1, -1, 0.5, 2**32, 10**30, "", "a", "Sequence", [], ["a"], [["a", "b"]], {})
    },
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("source", [document, roberta_document])
def test_documents_with_one_change(source: Callable[[], twins.Document], change: str) -> None:
    assert set(outcomes(source(), CHANGES[change]).values()) <= {"the same", "unsupported", "refused"}


@on_every_cpu
def test_the_documents_themselves() -> None:
    for source in (document(), roberta_document(), twins.byte_level_document()):
        assert check(json.dumps(source)) == "the same"
        assert check(json.dumps(source, ensure_ascii=False, indent=2)) == "the same"


NAMES = (
    "NFC",
    "ByteLevel",
    "Split",
    "BPE",
    "TemplateProcessing",
    "RobertaProcessing",
    "BertProcessing",
    "Sequence",
    "nfc",
)


@pytest.mark.parametrize("source", [document, roberta_document])
@pytest.mark.parametrize("name", NAMES)
def test_components_by_the_name_of_others(source: Callable[[], twins.Document], name: str) -> None:
    """The reference goes by the fields of a post-processor, not by its type."""
    for path in places(source()):
        if path[-1] == "type":
            check(changed(source(), path, replace_by(name)))


@pytest.mark.parametrize("field", ["single", "sep", "processors", "add_prefix_space", "extra"])
@pytest.mark.parametrize("value", [True, ["</s>", 264], []])
def test_components_with_fields_of_others(field: str, value: Any) -> None:
    for source in (document, roberta_document):
        for path in [*places(source()), ()]:
            place = source()
            for key in path:
                place = place[key]
            if isinstance(place, dict) and field not in place and path != ("model", "vocab"):
                check(changed(source(), (*path, field), replace_by(value)))


# -- fields that old files leave out


@pytest.mark.parametrize(
    "path",
    [
        "version",
        "truncation",
        "padding",
        "normalizer",
        "added_tokens",
        "model/type",
        "model/dropout",
        "model/unk_token",
        "model/continuing_subword_prefix",
        "model/end_of_word_suffix",
        "model/fuse_unk",
        "model/byte_fallback",
        "model/ignore_merges",
        "pre_tokenizer/use_regex",
        "decoder/use_regex",
        "post_processor/use_regex",
    ],
)
@pytest.mark.parametrize("missing", ["left out", "null"])
def test_fields_of_old_files(path: str, missing: str) -> None:
    """Where the reference has a default, so has the engine: none of these may be refused as unsupported."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    source = document(post_processor=dict(byte_level), pre_tokenizer=dict(byte_level))
    if path == "added_tokens":
        source["post_processor"] = None
    text = changed(source, tuple(path.split("/")), CHANGES[missing])
    opened = twins.try_reference(lambda: Tokenizer.from_str(text)) is not None
    assert check(text) == ("the same" if opened else "refused")


@on_every_cpu
def test_all_the_fields_of_old_files_at_once() -> None:
    """The shape of the first published files: no model type, merges as strings, no flags that came later."""
    source = twins.byte_level_document(MERGES)
    for name in ("type", "byte_fallback", "ignore_merges", "fuse_unk"):
        del source["model"][name]
    source["model"]["merges"] = [" ".join(pair) for pair in source["model"]["merges"]]
    source["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    source["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    source["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
    assert check(json.dumps(source)) == "the same"


@on_every_cpu
def test_merges_as_strings_and_as_pairs() -> None:
    pairs = twins.byte_level_document(MERGES)
    strings = copy.deepcopy(pairs)
    strings["model"]["merges"] = [" ".join(pair) for pair in pairs["model"]["merges"]]
    a, b = twins.open_engine(pairs), twins.open_engine(strings)
    for text in TEXTS:
        assert a.encode_ids(text) == b.encode_ids(text)
    headed = copy.deepcopy(strings)
    headed["model"]["merges"].insert(0, "#version: 0.2")
    assert check(json.dumps(headed)) == "the same"
    mixed = copy.deepcopy(strings)
    mixed["model"]["merges"][0] = pairs["model"]["merges"][0]
    assert check(json.dumps(mixed)) == "refused"
    for bad in ("a", "a b c", "", " ", "a ", " b", ["a"], ["a", "b", "c"], [], 7, None, ["a", 1], ["a", None]):
        for source in (pairs, strings):
            broken = copy.deepcopy(source)
            broken["model"]["merges"].append(bad)
            check(json.dumps(broken))


@pytest.mark.parametrize("pair", [("q", "r"), ("ab", "zz"), ("zz", "ab"), ("a", "c")])
def test_merges_of_what_is_not_there(pair: tuple[str, str]) -> None:
    source = document()
    source["model"]["merges"].append(pair)
    assert check(json.dumps(source)) == "refused"
    with pytest.raises(VocabularyError, match="merge is not in the vocabulary"):
        twins.compiled(source)


# -- components that are not native


def written(part: str, component: Any) -> twins.Document:
    """The document with one component as ``tokenizers`` itself writes it."""
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    setattr(tokenizer, part, component)
    out: twins.Document = json.loads(tokenizer.to_str())
    return out


UNSUPPORTED = {
    "normalizer": [
        normalizers.BertNormalizer(),
        normalizers.ByteLevel(),
        normalizers.Lowercase(),
        normalizers.NFD(),
        normalizers.NFKC(),
        normalizers.NFKD(),
        normalizers.Nmt(),
        normalizers.Prepend("_"),
        normalizers.Replace("a", "b"),
        normalizers.Strip(),
        normalizers.StripAccents(),
    ],
    "pre_tokenizer": [
        pre_tokenizers.BertPreTokenizer(),
        pre_tokenizers.CharDelimiterSplit("-"),
        pre_tokenizers.Digits(),
        pre_tokenizers.Metaspace(),
        pre_tokenizers.Punctuation(),
        pre_tokenizers.Split(Regex(QWEN_SPLIT), "isolated"),
        pre_tokenizers.UnicodeScripts(),
        pre_tokenizers.Whitespace(),
        pre_tokenizers.WhitespaceSplit(),
    ],
    "decoder": [
        decoders.BPEDecoder(),
        decoders.ByteFallback(),
        decoders.CTC(),
        decoders.Fuse(),
        decoders.Metaspace(),
        decoders.Replace("a", "b"),
        decoders.Strip(),
        decoders.WordPiece(),
    ],
    "post_processor": [processors.BertProcessing(("</s>", 1), ("<s>", 2))],
}
COMPONENTS = [(part, component) for part, components in UNSUPPORTED.items() for component in components]


def check_unsupported(source: twins.Document, *named: str) -> None:
    text = json.dumps(source)
    Tokenizer.from_str(text)
    with pytest.raises(UnsupportedError) as raised:
        twins.compiled(text)
    for name in named:
        assert name in str(raised.value)


@pytest.mark.parametrize(("part", "component"), COMPONENTS, ids=[f"{p} {type(c).__name__}" for p, c in COMPONENTS])
def test_unsupported_components_are_named(part: str, component: Any) -> None:
    source = written(part, component)
    name = source[part]["type"]
    check_unsupported(source, part, name)
    # The same after a native component, in a sequence.
    listed = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}.get(
        part, "processors"
    )
    native = {
        "normalizer": {"type": "NFC"},
        "post_processor": {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": True},
    }
    inner = [native.get(part, {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False}), source[part]]
    source[part] = {"type": "Sequence", listed: inner}
    check_unsupported(source, part, "Sequence" if part == "decoder" else name)


def test_two_native_normalizers() -> None:
    nfc = {"type": "NFC"}
    check_unsupported(document(normalizer={"type": "Sequence", "normalizers": [nfc, nfc]}), "normalizer", "Sequence")


def test_the_precompiled_normalizer_is_named() -> None:
    source = document(normalizer={"type": "Precompiled", "precompiled_charsmap": ""})
    with pytest.raises(UnsupportedError, match="normalizer Precompiled"):
        twins.compiled(source)


@pytest.mark.parametrize("part", ["pre_tokenizer", "decoder"])
def test_components_that_must_be_there(part: str) -> None:
    check_unsupported(document(**{part: None}), part)


def test_sequences_of_one_and_of_none() -> None:
    nested = document(
        normalizer={"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [{"type": "NFC"}]}]}
    )
    nested["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [document()["pre_tokenizer"]]}
    nested["post_processor"] = {"type": "Sequence", "processors": [document()["post_processor"]]}
    assert check(json.dumps(nested)) == "the same"
    assert check(json.dumps(document(normalizer={"type": "Sequence", "normalizers": []}))) == "the same"
    assert check(json.dumps(document(post_processor={"type": "Sequence", "processors": []}))) in (
        "the same",
        "unsupported",
    )
    assert check(json.dumps(document(pre_tokenizer={"type": "Sequence", "pretokenizers": []}))) == "unsupported"


def split(pattern: dict[str, str], behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    first = {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [first, last]}


@on_every_cpu
@pytest.mark.parametrize("behavior", ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("pattern", [{"Regex": QWEN_SPLIT}, {"Regex": r"\s+|\S+"}, {"String": " "}])
def test_splits(pattern: dict[str, str], behavior: str, invert: bool) -> None:
    outcome = check(json.dumps(document(pre_tokenizer=split(pattern, behavior, invert))))
    native = pattern["Regex"] == QWEN_SPLIT if "Regex" in pattern else False
    if native and (behavior, invert) in (("Isolated", False), ("Isolated", True), ("Removed", True)):
        assert outcome == "the same"
    else:
        assert outcome == "unsupported"


@pytest.mark.parametrize("add_prefix_space", [False, True])
@pytest.mark.parametrize("use_regex", [False, True])
def test_byte_level_after_a_split(add_prefix_space: bool, use_regex: bool) -> None:
    source = document()
    source["pre_tokenizer"]["pretokenizers"][1] |= {"add_prefix_space": add_prefix_space, "use_regex": use_regex}
    outcome = check(json.dumps(source))
    assert outcome == ("unsupported" if add_prefix_space or use_regex else "the same")
    source["pre_tokenizer"]["pretokenizers"].insert(0, source["pre_tokenizer"]["pretokenizers"][0])
    assert check(json.dumps(source)) == "unsupported"
    source["pre_tokenizer"]["pretokenizers"].reverse()
    assert check(json.dumps(source)) == "unsupported"


def test_families_are_known_by_their_patterns() -> None:
    assert twins.open_engine(document()).info()["family"] == "qwen2"
    assert twins.open_engine(roberta_document()).info()["family"] == "gpt2"
    assert twins.open_engine(twins.byte_level_document()).info()["family"] == "whole"
    assert check(json.dumps(document(pre_tokenizer=split({"Regex": GPT2_SPLIT})))) in ("the same", "unsupported")
    changed_pattern = QWEN_SPLIT.replace("'m|", "'n|")
    check_unsupported(document(pre_tokenizer=split({"Regex": changed_pattern})), "pre_tokenizer", "'n|")


@pytest.mark.parametrize(
    "model",
    [
        models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"),
        models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"),
        models.Unigram([("a", 0.0), ("b", -1.0)], 0),
    ],
    ids=["WordLevel", "WordPiece", "Unigram"],
)
def test_unsupported_models(model: Any) -> None:
    source = json.loads(Tokenizer(model).to_str())
    source |= {"pre_tokenizer": document()["pre_tokenizer"], "decoder": document()["decoder"]}
    check_unsupported(source, "model", source["model"]["type"])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dropout", 0.5),
        ("dropout", 1.0),
        ("byte_fallback", True),
        ("continuing_subword_prefix", "##"),
        ("end_of_word_suffix", "</w>"),
    ],
)
def test_unsupported_options_of_the_model(option: str, value: Any) -> None:
    source = twins.byte_level_document()
    source["model"][option] = value
    check_unsupported(source, "model", option)


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


def test_truncation_and_padding_are_named() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    tokenizer.enable_truncation(8)
    check_unsupported(json.loads(tokenizer.to_str()), "truncation")
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    check_unsupported(json.loads(tokenizer.to_str()), "padding")


@pytest.mark.parametrize("byte", [0, 32, 97, 255])
def test_a_vocabulary_without_a_byte(byte: int) -> None:
    source = twins.byte_level_document()
    del source["model"]["vocab"][twins.BYTE_CHARS[byte]]
    with pytest.raises(UnsupportedError, match=f"byte {byte}"):
        twins.compiled(source)


# -- malformed documents


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "[]",
        "null",
        "1",
        '"a"',
        "{}",
        '{"model": null}',
        '{"model": 1}',
        "{'model': 1}",
        '{"model": {}} x',
        "\ufeff{}",
    ],
)
def test_no_documents(text: str) -> None:
    with pytest.raises(VocabularyError):
        twins.compiled(text)
    assert twins.try_reference(lambda: Tokenizer.from_str(text)) is None


def test_bytes_that_are_no_text() -> None:
    text = json.dumps(document(), ensure_ascii=False).encode()
    for bad in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"):
        with pytest.raises(VocabularyError):
            _core.compile_tokenizer_json(text.replace("\u4e2d".encode(), bad))


@pytest.mark.parametrize("size", [1, 100, 1000, -100, -10, -1])
def test_a_document_cut_short(size: int) -> None:
    with pytest.raises(VocabularyError):
        twins.compiled(json.dumps(document())[:size])


def test_lone_surrogates_in_escapes() -> None:
    text = json.dumps(document()).replace("\\u4e2d", "\\ud800")
    assert check(text) == "refused"
    assert check(json.dumps(document()).replace("\\u4e2d", "\\ud83d\\ude42")) == "the same"


def test_keys_that_are_there_twice() -> None:
    text = json.dumps(document())
    for key in ("model", "normalizer", "added_tokens", "version", "decoder"):
        value = json.dumps(document()[key])
        check(text[:-1] + f', "{key}": {value}}}')
    # Of a token that is there twice the last id counts.
    text = json.dumps(document()).replace('"vocab": {', '"vocab": {"ab": 5000, "\\u4e2d": 9,')
    assert check(text) == "the same"


# -- metadata, digest, flavor


def test_metadata_and_digest() -> None:
    import hashlib

    data = json.dumps(document()).encode()
    engine = _core.Engine.from_bytes(_core.compile_tokenizer_json(data, '{"name": "\u00e9"}'))
    assert engine.metadata == '{"name": "\u00e9"}'
    assert engine.source_digest == hashlib.sha256(data).hexdigest()
    assert _core.compile_tokenizer_json(data) == _core.compile_tokenizer_json(data)
    with pytest.raises(ValueError, match="flavor"):
        _core.compile_tokenizer_json(data, flavor="pcre")


# -- vocabularies


def with_vocab(change: Callable[[dict[str, int]], None]) -> twins.Document:
    source = twins.byte_level_document(MERGES, more=["\u4e2d", " ", "", "a b", "\U0001f642", "\u0120 "])
    change(source["model"]["vocab"])
    return source


@on_every_cpu
def test_tokens_that_no_bytes_spell() -> None:
    assert check(json.dumps(with_vocab(lambda vocab: None))) == "the same"


def test_the_empty_token_alone() -> None:
    source = twins.byte_level_document(MERGES, more=[""])
    assert check(json.dumps(source)) == "the same"
    assert twins.open_engine(source).token_to_id("") == len(source["model"]["vocab"]) - 1


@on_every_cpu
def test_holes_in_the_ids() -> None:
    def spread(vocab: dict[str, int]) -> None:
        for token, id in list(vocab.items()):
            vocab[token] = id * 3 + 7

    source = with_vocab(spread)
    assert check(json.dumps(source)) == "the same"
    engine = twins.open_engine(source)
    assert engine.id_to_token(8) is None
    assert engine.id_to_bytes(8) is None


def test_added_tokens_where_ids_have_holes() -> None:
    """The reference counts tokens to find the next id, and so may meet one that is in use."""
    for holes in (1, 2, 3, 4):
        source = document()
        vocab = source["model"]["vocab"]
        vocab["\u4e2d"] += holes
        for shift in range(-3, 5):
            source["added_tokens"][2]["id"] = len(vocab) + shift
            check(json.dumps(source))


def test_two_tokens_of_one_id() -> None:
    def clash(vocab: dict[str, int]) -> None:
        vocab["\u4e2d"] = vocab["ab"]

    with pytest.raises(UnsupportedError, match="share the id"):
        twins.compiled(with_vocab(clash))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=4), st.none(), max_size=30), st.integers(0, 3), st.booleans())
def test_vocabularies_of_any_strings(more: dict[str, None], seed: int, escaped: bool) -> None:
    source = twins.byte_level_document(MERGES, more=list(more), seed=seed)
    text = json.dumps(source, ensure_ascii=escaped)
    engine = twins.open_engine(text)
    check_vocabulary(engine, Tokenizer.from_str(text))


def test_the_most_unused_ids() -> None:
    """Twice as many ids as tokens, and 65,536 more."""
    source = twins.byte_level_document(MERGES, more=["last"])
    entries = len(source["model"]["vocab"])
    most = 2 * entries + 65_536
    source["model"]["vocab"]["last"] = most - 1
    engine = twins.open_engine(source)
    assert engine.id_to_token(most - 1) == "last"
    assert engine.encode_ids("ab") == Tokenizer.from_str(json.dumps(source)).encode("ab").ids
    for id in (most, 2**31, 2**32 - 1):
        source["model"]["vocab"]["last"] = id
        with pytest.raises(UnsupportedError):
            twins.compiled(source)


@pytest.mark.parametrize("id", [-1, -(2**40), 1.5, 2.0, "7", None, True, [1]])
def test_ids_that_are_none(id: Any) -> None:
    source = document()
    source["model"]["vocab"]["\u4e2d"] = id
    assert check(json.dumps(source)) == "refused"
    source = document()
    source["added_tokens"][2]["id"] = id
    assert check(json.dumps(source)) == "refused"


# -- added tokens that are odd


@on_every_cpu
def test_added_tokens_that_are_odd() -> None:
    """Nothing is said of which are native; whatever is opened does the same."""
    vocab = document()["model"]["vocab"]
    size = len(vocab)
    for content, id in [
        ("", size),
        ("<s>", size),
        ("<m>", size),
        ("<new>", size + 1),
        ("<new>", size + 2),
        ("<new>", size),
        ("<new>", 0),
        ("ab", vocab["ab"]),
        ("ab", size + 1),
        ("\u0120a", vocab["\u0120a"]),
        (" a", size + 1),
        ("\u4e2d", vocab["\u4e2d"]),
    ]:
        for flag in ("special", "normalized", "single_word"):
            for value in (False, True):
                source = document()
                token = {**source["added_tokens"][2], "content": content, "id": id, "rstrip": False, flag: value}
                source["added_tokens"].append(token)
                check(json.dumps(source))


def test_added_tokens_in_any_order() -> None:
    source = document()
    source["added_tokens"].reverse()
    check(json.dumps(source))
    second = {**source["added_tokens"][0], "content": "<n>", "id": len(source["model"]["vocab"]) + 1}
    for order in (0, 1, 3):
        again = document()
        again["added_tokens"].insert(order, second)
        check(json.dumps(again))


def test_two_contents_with_one_normalized_form() -> None:
    tokenizer = Tokenizer.from_str(json.dumps(document()))
    tokenizer.add_tokens([AddedToken("\u00e9x"), AddedToken("e\u0301x")])
    check_unsupported(json.loads(tokenizer.to_str()), "normalizer changes")


def test_the_largest_id() -> None:
    most = (1 << 21) - 1
    source = document()
    source["model"]["vocab"]["\u4e2d"] = most
    with pytest.raises(UnsupportedError, match="too large"):
        twins.compiled(source)
    source["model"]["vocab"]["\u4e2d"] = most - 1
    with pytest.raises(UnsupportedError, match="unused ids"):
        twins.compiled(source)
