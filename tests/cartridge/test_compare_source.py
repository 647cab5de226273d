"""`Engine.mismatch` compares a cartridge with a tokenizer.json, and names the first difference.

Its twin compiles the tokenizer.json and compares the sections of both cartridges in plain Python, components by
meaning.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, VocabularyError
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import TEXTS, compiled, parsed, rewritten, sections_of
from tests.support.cartridge_text import NAMES, text_source
from tests.support.compile_rule import changed, document, places, replace_by, roberta_document
from tests.support.reference_impl import Document
from tests.support.sampling import sampled

KINDS = ("gpt2_like", "llama3_like", "qwen_like", "roberta_like", "every_case", "longest_case", *NAMES)
METADATA = '{"reference":"tokenizers"}'


@pytest.fixture(scope="session", params=sampled(KINDS, 3))
def text(request: pytest.FixtureRequest) -> bytes:
    """The bytes of a tokenizer.json of each kind of vocabulary."""
    return source_of(request, request.param)


def source_of(request: pytest.FixtureRequest, kind: str) -> bytes:
    if kind in NAMES:
        return text_source(kind)
    path: Path = request.getfixturevalue(kind)
    return path.read_bytes()


def opened(source: bytes) -> _core.Engine:
    return _core.Engine.from_bytes(compiled(source))


def encoded(document: Document, **options: Any) -> bytes:
    return json.dumps(document, **options).encode()


# -- the twin

_BPE = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
OPTIONS: dict[str, dict[str, Any]] = {
    "BPE": {**dict.fromkeys(_BPE), **dict.fromkeys(("fuse_unk", "byte_fallback", "ignore_merges"), False)},
    "WordPiece": dict.fromkeys(("unk_token", "continuing_subword_prefix", "max_input_chars_per_word")),
    "WordLevel": {"unk_token": None},
    "Unigram": {"unk_id": None, "byte_fallback": False},
}


def meaning(cartridge: bytes) -> dict[str, Any]:
    """The sections of a cartridge by name, without `reads_alike`. The components have defaults filled in and sorted
    keys."""
    out: dict[str, Any] = {plain.NAMES[number]: data for number, data in sections_of(cartridge).items()}
    out.pop("reads_alike", None)
    components = json.loads(out["components"])
    model = components["model"]
    options = OPTIONS[model["type"]]
    kept = {name: model[name] for name in options if model.get(name) is not None}
    if kept.get("dropout") is not None:
        kept["dropout"] = float(kept["dropout"])
    components["model"] = {"type": model["type"], **options, **kept}
    out["components"] = json.dumps(components, sort_keys=True)
    return out


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except VocabularyError as error:
        return type(error)


def check(base: bytes, other: bytes) -> str | None:
    """Check the result of `mismatch` for a cartridge of `base` and the document `other`, and return it."""
    engine = opened(base)
    found = outcome(lambda: engine.mismatch(other))
    cartridge = outcome(lambda: _core.compile_tokenizer_json(other, METADATA))
    if isinstance(cartridge, type):
        assert found is cartridge, f"the compiler raises {cartridge.__name__}, mismatch says {found}"
        return None
    if meaning(cartridge) == meaning(compiled(base)):
        assert found is None
    else:
        assert isinstance(found, str), "it compiles to something else"
        assert found
        assert found.isprintable() or "\\" not in found
        assert len(found.splitlines()) == 1
    return found


# -- equal documents


def shuffled(value: Any, rng: random.Random) -> Any:
    """The members of every object in another order."""
    if isinstance(value, list):
        return [shuffled(inner, rng) for inner in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    rng.shuffle(names)
    return {name: shuffled(value[name], rng) for name in names}


def test_the_same_in_other_words(text: bytes) -> None:
    engine = opened(text)
    assert engine.mismatch(text) is None
    source = json.loads(text)
    others = [source, shuffled(source, random.Random(1)), shuffled(source, random.Random(2))]
    for name in ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder", "version"):
        if source.get(name) is None or name == "version":
            others.append({key: value for key, value in source.items() if key != name})
    if "merges" in source["model"]:
        other = copy.deepcopy(source)
        pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in other["model"]["merges"]]
        other["model"]["merges"] = pairs
        others.append(other)
        if not any(" " in token for pair in pairs for token in pair):
            other = copy.deepcopy(other)
            other["model"]["merges"] = ["#version: 0.2", *(" ".join(pair) for pair in pairs)]
            others.append(other)
    # The ids of added tokens follow from their order: those in the file do not matter.
    others.append(source | {"added_tokens": [token | {"id": 0} for token in source["added_tokens"]]})
    others.append(source | {"added_tokens": source["added_tokens"] * 2})
    for number, other in enumerate(others):
        for spelled in (
            encoded(other),
            encoded(other, ensure_ascii=False, indent=3),
            encoded(other, separators=(",", ":")),
        ):
            assert engine.mismatch(spelled) is None, number
        assert check(text, encoded(other)) is None


def test_a_certificate_and_metadata_do_not_count(text: bytes) -> None:
    """`mismatch` ignores the certificate and the metadata, which a tokenizer.json does not have."""
    certified = _core.with_certificate(compiled(text), '{"a":1}')
    assert _core.Engine.from_bytes(certified).mismatch(text) is None
    more = json.dumps({"reference": "tokenizers", "name": "x", "control": [1, 2], "tokens": 7})
    assert _core.Engine.from_bytes(_core.compile_tokenizer_json(text, more)).mismatch(text) is None


@pytest.mark.parametrize("reference", ["tokenizers", "tiktoken", None])
@pytest.mark.parametrize("flavor", ["oniguruma", "rust_regex"])
def test_flavors(qwen_like: Path, reference: str | None, flavor: str) -> None:
    """A cartridge whose metadata names one library, and whose patterns follow another, would misreport its ids."""
    metadata = json.dumps({} if reference is None else {"reference": reference})
    data = qwen_like.read_bytes()
    found = _core.Engine.from_bytes(_core.compile_tokenizer_json(data, metadata, flavor)).mismatch(data)
    if (reference == "tiktoken") == (flavor == "rust_regex"):
        assert found is None
    else:
        assert found is not None
        assert found.startswith("flavor: ")


# -- one fact changed


def test_what_a_line_says() -> None:
    """The result names the place of the difference and both values, on one line."""
    engine, vocab = opened(encoded(document())), document()["model"]["vocab"]
    place = ("post_processor", "processors", 1, "pair", 1, "SpecialToken", "type_id")
    found = engine.mismatch(changed(document(), place, replace_by(7)).encode())
    where = "post_processor.processors[1].pair[1].SpecialToken.type_id"
    assert found == f"{where}: 7 in the tokenizer.json, 1 in the cartridge"
    other = document()
    del other["model"]["vocab"]["\u4e2d"]
    other["model"]["vocab"]["\u2028\x85\x1b[31m" + "x" * 1000] = vocab["\u4e2d"]
    assert '"\\u2028\\u0085\\u001b[31mxxx' in str(engine.mismatch(encoded(other, ensure_ascii=False)))


VALUES = (None, True, False, 0, 1, -1, 0.5, 0.0, 2**32, 10**30, "", "a", "NFC", [], ["a"], [["a", "b"]], {})


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_any_change_of_a_small_document(data: st.DataObject) -> None:
    """Values replaced, left out or repeated in up to three places: check() holds for every result."""
    base = data.draw(st.sampled_from([document, roberta_document]))()
    other = copy.deepcopy(base)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(other), key=repr)))
        place: Any = other
        for key in path[:-1]:
            place = place[key]
        way = data.draw(st.sampled_from(["replace", "leave out", "twice", "reverse"]))
        if way == "replace":
            place[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
        elif way == "leave out":
            del place[path[-1]]
        elif isinstance(place, list):
            place.append(copy.deepcopy(place[path[-1]])) if way == "twice" else place.reverse()
        else:
            place[f"{path[-1]}x"] = place[path[-1]]
    check(encoded(base), encoded(other))


def test_documents_that_are_none(small: bytes) -> None:
    engine = _core.Engine.from_bytes(small)
    for data in (b"", b"[]", b"{}", b'{"model":', b'{"model":null}', b"\xff", b"[" * 10**6, b'{"model":{"vocab":{}}}'):
        wanted = outcome(lambda data=data: _core.compile_tokenizer_json(data))
        if isinstance(wanted, type):
            with pytest.raises(wanted):
                engine.mismatch(data)
        else:
            assert engine.mismatch(data) is not None
    with pytest.raises(TypeError):
        engine.mismatch("{}")  # type: ignore[arg-type]


# -- cartridges that lie


CODES = {"token_flags": "B", "token_trim": "H", "pair_table": "Q", "pair_filter": "Q", "trie": "i", "score_ulps": "b"}
CODES |= dict.fromkeys(("reads_alike", "metadata", "token_bytes", "components"), "B")
CODES |= dict.fromkeys(("byte_cuts", "reachable_slots", "char_pairs"), "Q")
CODES |= {"reachable_pilots": "H", "added_trie": "i", "added_trie_normalized": "i", "scores": "d"}


@pytest.mark.parametrize("kind", ["every_case", "longest_case", *NAMES[::3]])
def test_what_passes_both_is_the_same(kind: str, request: pytest.FixtureRequest) -> None:
    """Random single elements are changed and the file is signed. If `verify` and mismatch find no fault, the file gives
    the same results as the original."""
    rng = random.Random(kind)
    source = source_of(request, kind)
    data, engine = compiled(source), opened(source)
    contents = {plain.NAMES[section.type]: section.data for section in parsed(data)[0] if section.data}
    del contents["metadata"]
    found: dict[str, int] = {"refused": 0, "differs": 0, "the same": 0}
    for _ in range(150):
        name = rng.choice(sorted(contents))
        size = struct.calcsize(CODES.get(name, "I"))
        content = bytearray(contents[name])
        index = rng.randrange(len(content) // size) * size
        other = rng.randrange(len(content) // size) * size
        way = rng.randrange(3)
        if way == 0:
            content[index] ^= 1 << rng.randrange(8)
        elif way == 1:
            content[index : index + size] = content[other : other + size]
        else:
            pair = bytes(content[index : index + size]), bytes(content[other : other + size])
            content[other : other + size], content[index : index + size] = pair
        try:
            lie = _core.Engine.from_bytes(rewritten(data, {name: bytes(content)}))
        except CartridgeError:
            found["refused"] += 1
            continue
        if lie.mismatch(source) is not None:
            found["differs"] += 1
            continue
        found["the same"] += 1
        assert lie.get_vocab() == engine.get_vocab()
        assert lie.added_tokens() == engine.added_tokens()
        assert meaning(rewritten(data, {name: bytes(content)}))["components"] == meaning(data)["components"]
        for sample in TEXTS:
            one, two = lie.encode(sample), engine.encode(sample)
            assert (one.ids, one.offsets, one.type_ids) == (two.ids, two.offsets, two.type_ids)
            assert lie.decode(one.ids) == engine.decode(one.ids)
    assert found["refused"] > 50
