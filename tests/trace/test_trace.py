"""Traces record the steps by which a text becomes tokens: they end in the engine's ids, and every step follows the
definition."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import CrayonError, InvalidUtf8Error, UnsupportedError, VocabularyError
from tests.cartridge.test_compare_source import source_of
from tests.components import test_models as of_models
from tests.support import reference_impl
from tests.support.traces import check, greedy_ids, ids_of, pieces_of, replay, traced_ids

ALPHABETS = ([b"a", b"b"], [b"a", b"b", b"c", b" "], [b"\x00", b"\xff", b"\xe4", b"\xb8", b"\xad"])
WORDS = ["Hello", " world", "isn't", " 12345", "日本", "🙂", "naïve", "e\u0301", "\n\n", "  ", "<|eot_id|>", "[SEP]"]
WORDS += ["é" * 20]
TEXTS = reference_impl.texts_of(WORDS)


# -- the engine's ids


@pytest.fixture(
    scope="session",
    params=["gpt2_like", "llama3_like", "qwen_like", "template_like", "wordpiece_like", "t5_like", "llama_like"],
)
def engine(request: pytest.FixtureRequest) -> _core.Engine:
    """An engine of each kind of vocabulary in turn."""
    return reference_impl.open_engine(source_of(request, request.param).decode())


def test_texts(engine: _core.Engine) -> None:
    @settings(max_examples=60, deadline=None)
    @given(TEXTS, st.booleans())
    def run(text: str, special_as_text: bool) -> None:
        check(engine, text, special_as_text)

    run()
    rng = random.Random(1)
    for size in (300, 1500):
        check(engine, reference_impl.generated_text(rng, size))


@pytest.mark.parametrize("name", ["gpt2_like", "llama3_like", "qwen_like"])
def test_pieces_are_the_references(name: str, request: pytest.FixtureRequest) -> None:
    text = "Hello,  wörld! It's 12345 日本\n\n end  "
    source = request.getfixturevalue(name).read_text(encoding="utf-8")
    (part,) = reference_impl.open_engine(source).trace_parts(text)
    reference = Tokenizer.from_str(source).pre_tokenizer.pre_tokenize_str(text)
    ranges = [(len(text[:start].encode()), len(text[:end].encode())) for _, (start, end) in reference]
    assert [piece["original"] for piece in part["pieces"]] == ranges
    assert [reference_impl.spell(piece) for piece in pieces_of([part])] == [piece for piece, _ in reference]


def test_tables_of_longest_match() -> None:
    """For tables of longest match (WordPiece over bytes, as CRAYON's vocabularies), exact mode traces one walk of
    longest matches for each pretoken."""
    document = reference_impl.byte_level_document([(b"a", b"b"), (b"b", b"c"), (b"bc", b" ")])
    document["model"] = {
        "type": "WordPiece",
        "unk_token": "a",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 9007199254740991,
        "vocab": document["model"]["vocab"],
    }
    engine = reference_impl.open_engine(document)
    for text in ("abc", "bc bc abcabc", "é日🙂", " " * 200):
        check(engine, text)
    first, second = engine.trace_piece(b"abc")["walks"]
    assert ids_of(first["tokens"]) == [engine.token_to_id("ab")]
    assert ids_of(second["tokens"]) == [engine.token_to_id("c")]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_raw_bytes(data: bytes) -> None:
    for document in RAW:
        parts = document.trace_raw_parts(data)
        assert b"".join(part["text"] for part in parts) == data
        assert traced_ids(document, parts) == document.encode_bytes(data)
        assert greedy_ids(document, parts) == document.greedy().encode_bytes(data)


RAW_MERGES = reference_impl.random_merges(random.Random(5), [bytes([b]) for b in b"\xe6\x97\xa5 ab"], 60)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
SPLITS = ([], [{"type": "Punctuation", "behavior": "Isolated"}], [{"type": "WhitespaceSplit"}])
PRE_TOKENIZERS = [{"type": "Sequence", "pretokenizers": [*first, BYTE_LEVEL]} for first in SPLITS]
RAW = [
    reference_impl.open_engine(reference_impl.byte_level_document(RAW_MERGES, seed=1, pre_tokenizer=each))
    for each in PRE_TOKENIZERS
]
"""Engines whose pattern has a scanner, with a general pre-tokenizer, and with one that removes spaces."""


# -- merges


@st.composite
def vocabularies_of_bytes(draw: st.DrawFn) -> tuple[reference_impl.Document, list[bytes]]:
    letters = draw(st.sampled_from(ALPHABETS))
    rng = random.Random(draw(st.integers(0, 2**32)))
    merges = reference_impl.random_merges(rng, letters, draw(st.integers(0, 40)), ordered=draw(st.booleans()))
    return reference_impl.byte_level_document(merges, seed=draw(st.integers(0, 9))), letters


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(vocabularies_of_bytes(), st.data())
def test_merges_are_the_twins(vocabulary: tuple[reference_impl.Document, list[bytes]], data: st.DataObject) -> None:
    """A trace has the plain twin's merges in the same order, with the products in the document."""
    document, letters = vocabulary
    engine = reference_impl.open_engine(document)
    piece = data.draw(st.lists(st.sampled_from(letters), min_size=1, max_size=80).map(b"".join))
    want, applied = reference_impl.merge(document, piece)
    trace = engine.trace_piece(piece)
    assert [merge["rank"] for merge in trace["merges"]] == applied
    products = dict(reference_impl.merge_ranks(document).values())
    assert all(products[merge["rank"]] == merge["product"] for merge in trace["merges"])
    assert ids_of(trace["symbols"]) == [document["model"]["vocab"][reference_impl.spell(bytes([b]))] for b in piece]
    assert [token for token, _, _ in replay(trace)] == want == ids_of(trace["tokens"])


def test_shortcuts() -> None:
    """With `ignore_merges` a whole token is traced as a shortcut. A word of the word table is traced by merges as
    well."""
    merges = [(b"a", b"b"), (b"b", b"c")]
    document = reference_impl.byte_level_document(merges, more=["abc", "abcabcabcabcabcabc"])
    engine = reference_impl.open_engine(document)
    assert engine.trace_piece(b"ab")["shortcut"] == "word_table"
    assert engine.trace_piece(b"abc")["shortcut"] == "word_table"  # merges do not make this token
    assert len(engine.trace_piece(b"abc")["tokens"]) == 2
    assert engine.trace_piece(b"ba")["shortcut"] is None
    assert engine.trace_piece(b"abc" * 6)["shortcut"] is None
    document["model"]["ignore_merges"] = True
    engine = reference_impl.open_engine(document)
    for piece in (b"abc", b"abc" * 6):
        trace = engine.trace_piece(piece)
        assert trace["shortcut"] == "whole_token"
        assert ids_of(trace["tokens"]) == engine.encode_bytes(piece) == [document["model"]["vocab"][piece.decode()]]
        assert len(replay(trace)) > 1
    assert engine.trace_piece(b"ba")["shortcut"] is None


def test_long_pieces_have_no_derivation() -> None:
    document = reference_impl.byte_level_document([(b"a", b"a"), (b"aa", b"aa")])
    engine = reference_impl.open_engine(document)
    limit = _core.TRACE_PIECE_BYTES
    for piece in (b"a" * limit, b"a" * (limit + 1)):
        trace = engine.trace_piece(piece)
        assert trace["is_too_long"] is (len(piece) > limit)
        assert bool(trace["merges"]) is not trace["is_too_long"]
        assert ids_of(trace["tokens"]) == engine.encode_bytes(piece)
        assert trace["tokens"][-1]["end"] == len(piece)
    walks = engine.trace_longest_match(b"a" * (3 * _core._testing.TRACE_RUN_BYTES))
    assert walks[-1]["end"] == _core._testing.TRACE_RUN_BYTES


# -- models on text: BPE with all its options, Unigram and WordPiece


def text_engine(model: dict[str, Any]) -> _core.Engine | None:
    """The engine of a document with only this model; None if the engine refuses it."""
    document = {"version": "1.0", "added_tokens": [], "model": model}
    try:
        return reference_impl.open_engine(document)
    except CrayonError:
        return None


def check_piece(engine: _core.Engine, piece: str) -> dict[str, Any] | None:
    """Check that the trace of a piece ends in the engine's ids, or that tracing and encoding both fail."""
    try:
        want = engine.encode_ids(piece, False)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            engine.trace_piece(piece.encode())
        return None
    trace = engine.trace_piece(piece.encode())
    if not trace["is_random"]:
        assert ids_of(trace["tokens"]) == want
    return trace


@settings(max_examples=120, deadline=None)
@given(of_models.bpe_models(), of_models.PIECES)
def test_any_bpe(model: dict[str, Any], pieces: list[str]) -> None:
    """Merges in traces are those of the plain rule: join the leftmost neighbours of lowest rank, until none can
    merge."""
    engine = text_engine(model)
    assume(engine is not None)
    assert engine is not None
    vocab, cut = model["vocab"], len(model["continuing_subword_prefix"] or "")
    ranks = {(vocab[a], vocab[b]): (rank, vocab[a + b[cut:]]) for rank, (a, b) in enumerate(model["merges"])}
    for piece in pieces:
        if (trace := check_piece(engine, piece)) is None:
            continue
        ids, applied = ids_of(trace["symbols"]), []
        while candidates := [(ranks[pair], at) for at, pair in enumerate(pairwise(ids)) if pair in ranks]:
            (rank, product), at = min(candidates)
            ids[at : at + 2] = [product]
            applied.append((rank, at, product))
        assert [(merge["rank"], merge["position"], merge["product"]) for merge in trace["merges"]] == applied
        assert [token for token, _, _ in replay(trace)] == ids
        check_greedy(engine, piece)


@settings(max_examples=120, deadline=None)
@given(of_models.other_models(), of_models.PIECES)
def test_any_other(model: dict[str, Any], pieces: list[str]) -> None:
    engine = text_engine(model)
    assume(engine is not None)
    assert engine is not None
    assert _core._testing.model_type(engine) == model["type"]
    for piece in pieces:
        if (trace := check_piece(engine, piece)) is None:
            continue
        if model["type"] == "Unigram":
            path = trace["path"]
            assert [step["start"] for step in path] == [0, *(step["end"] for step in path[:-1])]
            assert path[-1]["end"] == len(piece.encode())
            assert trace["score"] == pytest.approx(sum(step["score"] for step in path))
        check_greedy(engine, piece)


def check_greedy(engine: _core.Engine, piece: str) -> None:
    try:
        want = engine.greedy().encode_ids(piece, False)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            engine.trace_longest_match(piece.encode())
        return
    assert greedy_ids(engine, engine.trace_parts(piece)) == want


def test_word_piece_walks() -> None:
    vocab = {token: i for i, token in enumerate(["[UNK]", "un", "u", "##aff", "##a", "##able"])}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab}
    engine = text_engine(model | {"max_input_chars_per_word": 10})
    assert engine is not None
    first, second, third = engine.trace_piece(b"unaffable")["walks"]
    assert [(chr(step["byte"]), step["id"]) for step in first["steps"]] == [("u", 2), ("n", 1), ("a", None)]
    assert first["steps"][-1]["node"] is None
    assert (second["start"], second["end"], second["prefix"], ids_of(second["tokens"])) == (2, 5, 2, [3])
    assert "".join(chr(step["byte"]) for step in third["steps"]) == "##able"
    # Earlier tokens are discarded if the rest has no token.
    *walks, last = engine.trace_piece(b"unaffx")["walks"]
    assert [walk["tokens"] for walk in walks] == [[], [], []]
    assert last["steps"] == []
    assert last["tokens"] == [{"id": 0, "start": 0, "end": 6, "kind": "unknown"}]
    (only,) = engine.trace_piece(b"ununununununu")["walks"]  # too long for a walk
    assert (only["steps"], ids_of(only["tokens"])) == ([], [0])


# -- errors


def test_refusals(gpt2_like: Path, wordpiece_like: Path) -> None:
    on_bytes = reference_impl.open_engine(gpt2_like.read_text(encoding="utf-8"))
    on_text = reference_impl.open_engine(wordpiece_like.read_text(encoding="utf-8"))
    for engine in (on_bytes, on_text):
        with pytest.raises(ValueError, match="empty"):
            engine.trace_piece(b"")
        assert engine.trace_parts("") == []
        assert engine.trace_longest_match(b"") == []
    for trace in (on_text.trace_piece, on_text.trace_longest_match):
        with pytest.raises(InvalidUtf8Error):
            trace(b"a\xff")
    with pytest.raises(InvalidUtf8Error):
        on_bytes.trace_parts(b"a\xff")
    with pytest.raises(UnsupportedError):
        on_text.trace_raw_parts(b"a")
    assert on_bytes.trace_raw_parts(b"") == []
    for call in ("trace_parts", "trace_raw_parts", "trace_piece", "trace_longest_match"):
        with pytest.raises(ValueError, match="exact mode"):
            getattr(on_bytes.greedy(), call)(b"a text")
