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


@pytest.mark.slow
@pytest.mark.parametrize("source", [document, roberta_document])
@pytest.mark.parametrize(
    "name", ["NFC", "ByteLevel", "BPE", "TemplateProcessing", "RobertaProcessing", "Sequence", "nfc"]
)
def test_components_by_the_name_of_others(source: Callable[[], reference_impl.Document], name: str) -> None:
    """The reference identifies a post-processor by its fields, not by its type."""
    for path in places(source()):
        if path[-1] == "type":
            check(changed(source(), path, replace_by(name)))


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
