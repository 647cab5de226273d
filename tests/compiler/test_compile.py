"""Compiling a tokenizer.json: which documents are refused, with which error, and which defaults are filled in.

`compile_rule.check` is the rule for every document. Compiling does not depend on the instruction set; tests that run on
all instruction sets say so.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from parity.components import parts
from tests.support import compile_rule, reference_impl
from tests.support.cartridge_text import text_source
from tests.support.compile_rule import (
    GPT2_SPLIT,
    MERGES,
    QWEN_SPLIT,
    changed,
    check,
    check_unsupported,
    document,
    places,
)

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")


# -- the rule, on documents changed in one place


def outcomes(source: reference_impl.Document, change: Callable[[Any, Any], None]) -> dict[tuple[Any, ...], str]:
    out = {}
    for path in places(source):
        text = changed(source, path, change)
        try:
            out[path] = check(text)
            assert out[path] != "kept" or path[0] in ("truncation", "padding")
        except AssertionError as error:
            raise AssertionError(f"at {'/'.join(map(str, path))}: {error}") from error
    return out


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
        json.dumps(value): compile_rule.replace_by(value)
        for value in (None, True, False, 0, 1, -1, 0.5, 2**32, 10**30, "", "a", "Sequence", [], ["a"], [["a", "b"]], {})
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("source", [document, compile_rule.roberta_document])
def test_documents_with_one_change(source: Callable[[], reference_impl.Document], change: str) -> None:
    assert set(outcomes(source(), CHANGES[change]).values()) <= {"the same", "unsupported", "refused", "kept"}


@on_every_cpu
def test_merges_as_strings_and_as_pairs() -> None:
    pairs = reference_impl.byte_level_document(MERGES)
    strings = copy.deepcopy(pairs)
    strings["model"]["merges"] = [" ".join(pair) for pair in pairs["model"]["merges"]]
    a, b = reference_impl.open_engine(pairs), reference_impl.open_engine(strings)
    for text in compile_rule.TEXTS:
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


@pytest.mark.slow
@pytest.mark.parametrize("source", [document, compile_rule.roberta_document])
@pytest.mark.parametrize(
    "name", ["NFC", "ByteLevel", "BPE", "TemplateProcessing", "RobertaProcessing", "Sequence", "nfc"]
)
def test_components_by_the_name_of_others(source: Callable[[], reference_impl.Document], name: str) -> None:
    """The reference identifies a post-processor by its fields, not by its type."""
    for path in places(source()):
        if path[-1] == "type":
            check(changed(source(), path, compile_rule.replace_by(name)))


# -- malformed documents


WHOLE = json.dumps(document(), ensure_ascii=False).encode()
NONE = [b"", b" ", b"[]", b"null", b"1", b"{}", b'{"model": null}', b'{"model": 1}', b'{"model": {}} x']
NONE += [b"\xef\xbb\xbf{}"]
NONE += [WHOLE[:size] for size in (1, 100, 1000, -100, -1)]
NONE += [WHOLE.replace("\u4e2d".encode(), bad) for bad in (b"\xff", b"\xc3", b"\xed\xa0\x80")]


@pytest.mark.parametrize("data", NONE, ids=range(len(NONE)))
def test_no_documents(data: bytes) -> None:
    with pytest.raises(VocabularyError):
        _core.compile_tokenizer_json(data)
    assert reference_impl.try_reference(lambda: Tokenizer.from_buffer(data)) is None


def test_keys_that_are_there_twice() -> None:
    text = json.dumps(document())
    for key in ("model", "normalizer", "added_tokens", "version", "decoder"):
        value = json.dumps(document()[key])
        check(text[:-1] + f', "{key}": {value}}}')
    # The last id of a repeated token counts.
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


# -- components: the engine runs each, with the results of ``tokenizers``


EXTRA = [{"other": 1}, *({"add_prefix_space": value} for value in (True, False, None, 1)), {"use_regex": None}]
EXTRA += [{"str_rep": "x"}, {"prepend_scheme": "first", "add_prefix_space": False}, {"prepend_scheme": "Always"}]


KINDS = {
    "normalizer": parts.normalizers(),
    "pre_tokenizer": parts.pre_tokenizers(),
    "post_processor": parts.post_processors(),
    "decoder": parts.decoders(),
}
COMPONENTS = {
    f"{part} {component['type']} {list(component.get('pattern', ()))}": (part, component)
    for part, found in KINDS.items()
    for component in found.values()
    if component["type"] not in ("Sequence", "Precompiled")
}
"""The last component of each type, and of each type of pattern."""


@pytest.mark.slow
@pytest.mark.parametrize(("part", "component"), COMPONENTS.values(), ids=COMPONENTS)
def test_every_field_of_a_component(part: str, component: Any) -> None:
    """With a field missing or of another type, or with an unknown field, the compiler and ``tokenizers`` read the
    component alike, or both refuse it."""
    source = document(**{part: component})
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
    (compile_rule.roberta_document(), "bytes", "gpt2"),
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


# -- vocabularies


def with_vocab(change: Callable[[dict[str, int]], None]) -> reference_impl.Document:
    source = reference_impl.byte_level_document(MERGES, more=["\u4e2d", " ", "", "a b", "\U0001f642", "\u0120 "])
    change(source["model"]["vocab"])
    return source


@on_every_cpu
def test_holes_in_the_ids() -> None:
    def spread(vocab: dict[str, int]) -> None:
        for token, id in list(vocab.items()):
            vocab[token] = id * 3 + 7

    source = with_vocab(spread)
    assert check(json.dumps(source)) == "the same"
    engine = reference_impl.open_engine(source)
    assert engine.id_to_token(8) is None
    assert engine.id_to_bytes(8) is None


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=4), st.none(), max_size=30), st.integers(0, 3), st.booleans())
def test_vocabularies_of_any_strings(more: dict[str, None], seed: int, escaped: bool) -> None:
    source = reference_impl.byte_level_document(MERGES, more=list(more), seed=seed)
    text = json.dumps(source, ensure_ascii=escaped)
    engine = reference_impl.open_engine(text)
    compile_rule.check_vocabulary(engine, Tokenizer.from_str(text), [])


def test_the_most_unused_ids() -> None:
    """The end of the ids may be at most twice the number of tokens plus 65,536."""
    source = reference_impl.byte_level_document(MERGES, more=["last"])
    most = 2 * len(source["model"]["vocab"]) + 65_536
    source["model"]["vocab"]["last"] = most - 1
    assert reference_impl.open_engine(source).id_to_token(most - 1) == "last"
    for id, says in ((most, "unused ids"), ((1 << 21) - 2, "unused ids"), ((1 << 21) - 1, "too large"), (97, "share")):
        source["model"]["vocab"]["last"] = id
        with pytest.raises(UnsupportedError, match=says):
            reference_impl.compiled(source)


# -- unusual added tokens


@pytest.mark.slow
@on_every_cpu
def test_added_tokens_that_are_odd() -> None:
    """Each document with an odd added token is refused as unsupported, or gives the results of ``tokenizers``."""
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


def test_what_is_not_native_is_named() -> None:
    vocab = document()["model"]["vocab"]
    token = document()["added_tokens"][2]
    other_flags = document()
    other_flags["added_tokens"].append(token | {"special": True})
    check_unsupported(other_flags, "twice, with other flags", "<m>")
    used = document()
    used["model"]["vocab"]["last"] = len(vocab) + 1  # the id that the next added token would get
    check_unsupported(used, "on a used id", "<m>")
    large = document()
    large["added_tokens"][2] = token | {"id": 2**21}
    check_unsupported(large, "too large")
    nothing = document(normalizer={"type": "Replace", "pattern": {"String": "<m>"}, "content": ""})
    check_unsupported(nothing, "reduces to nothing", "<m>")
    adds_nothing = json.loads(text_source("llama_like"))
    adds_nothing["model"]["vocab"][""] = len(adds_nothing["model"]["vocab"]) + 50
    adds_nothing["model"]["merges"].append(["\u2581", ""])
    check_unsupported(adds_nothing, "adds nothing")
