"""Compiling a tokenizer.json: what is refused and how it is called, and what is filled in.

The rule is compile_rule.check, for every document. Compiling is the same on every instruction set; what is run on all
says so.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import VocabularyError
from tests.support import reference_impl
from tests.support.compile_rule import MERGES, TEXTS, changed, check, document, places, replace_by, roberta_document

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
        json.dumps(value): replace_by(value)
        for value in (None, True, False, 0, 1, -1, 0.5, 2**32, 10**30, "", "a", "Sequence", [], ["a"], [["a", "b"]], {})
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("source", [document, roberta_document])
def test_documents_with_one_change(source: Callable[[], reference_impl.Document], change: str) -> None:
    assert set(outcomes(source(), CHANGES[change]).values()) <= {"the same", "unsupported", "refused", "kept"}


@on_every_cpu
def test_the_documents_themselves() -> None:
    for source in (document(), roberta_document(), reference_impl.byte_level_document()):
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
def test_components_by_the_name_of_others(source: Callable[[], reference_impl.Document], name: str) -> None:
    """The reference goes by the fields of a post-processor, not by its type."""
    for path in places(source()):
        if path[-1] == "type":
            check(changed(source(), path, replace_by(name)))


@pytest.mark.slow
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
    opened = reference_impl.try_reference(lambda: Tokenizer.from_str(text)) is not None
    assert check(text) == ("the same" if opened else "refused")


@on_every_cpu
def test_all_the_fields_of_old_files_at_once() -> None:
    """The shape of the first published files: no model type, merges as strings, no flags that came later."""
    source = reference_impl.byte_level_document(MERGES)
    for name in ("type", "byte_fallback", "ignore_merges", "fuse_unk"):
        del source["model"][name]
    source["model"]["merges"] = [" ".join(pair) for pair in source["model"]["merges"]]
    source["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    source["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    source["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
    assert check(json.dumps(source)) == "the same"


@on_every_cpu
def test_merges_as_strings_and_as_pairs() -> None:
    pairs = reference_impl.byte_level_document(MERGES)
    strings = copy.deepcopy(pairs)
    strings["model"]["merges"] = [" ".join(pair) for pair in pairs["model"]["merges"]]
    a, b = reference_impl.open_engine(pairs), reference_impl.open_engine(strings)
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
        reference_impl.compiled(source)


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
        reference_impl.compiled(text)
    assert reference_impl.try_reference(lambda: Tokenizer.from_str(text)) is None


def test_bytes_that_are_no_text() -> None:
    text = json.dumps(document(), ensure_ascii=False).encode()
    for bad in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"):
        with pytest.raises(VocabularyError):
            _core.compile_tokenizer_json(text.replace("\u4e2d".encode(), bad))


@pytest.mark.parametrize("size", [1, 100, 1000, -100, -10, -1])
def test_a_document_cut_short(size: int) -> None:
    with pytest.raises(VocabularyError):
        reference_impl.compiled(json.dumps(document())[:size])


def test_lone_surrogates_in_escapes() -> None:
    text = json.dumps(document()).replace("\\u4e2d", "\\ud800")
    assert check(text) == "refused"
    assert check(json.dumps(document()).replace("\\u4e2d", "\\ud83d\\ude42")) == "the same"


def test_keys_that_are_there_twice() -> None:
    text = json.dumps(document())
    for key in ("model", "normalizer", "added_tokens", "version", "decoder"):
        value = json.dumps(document()[key])
        check(text[:-1] + f', "{key}": {value}}}')
    # Of a token that is listed twice the last id counts.
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
