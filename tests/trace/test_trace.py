"""Traces: they end in the engine's ids, and every step of them is the definition's."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from crayon_hf import _core
from crayon_hf.errors import InvalidUtf8Error, UnsupportedError
from tests.components import test_models as of_models
from tests.support import reference_impl
from tests.support.greedy_reference import word_piece
from tests.support.traces import check, greedy_ids, ids_of, pieces_of, replay, traced_ids

ALPHABETS = ([b"a", b"b"], [b"a", b"b", b"c", b" "], [b"\x00", b"\xff", b"\xe4", b"\xb8", b"\xad"])
WORDS = [
    "Hello",
    " world",
    "isn't",
    " 12345",
    "日本",
    "🙂",
    "naïve",
    "e\u0301",
    "\n\n",
    "  ",
    "<|eot_id|>",
    "[SEP]",
    "é" * 20,
]
TEXTS = reference_impl.texts_of(WORDS)


# -- the engine's ids


@pytest.fixture(scope="session")
def unigram_like(vocabularies: Path, training_text: list[str]) -> Path:
    """Unigram under Metaspace, as T5 has it."""
    from tokenizers import trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(
        vocab_size=600, unk_token="<unk>", special_tokens=["<unk>", "</s>"], show_progress=False
    )
    tokenizer.train_from_iterator(training_text[:200], trainer)
    tokenizer.save(str(path := vocabularies / "unigram_like.json"))
    return path


@pytest.fixture(scope="session")
def llama2_like(vocabularies: Path) -> Path:
    """BPE on text as Llama 2 has it: ▁ for spaces, bytes for unknown characters, a text is one piece."""
    model = of_models.TRAINED["bpe"]()
    size = len(model["vocab"])
    model["vocab"].update({token: size + i for i, token in enumerate(of_models.BYTE_TOKENS)})
    document = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": model | {"byte_fallback": True},
    }
    path = vocabularies / "llama2_like.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.add_special_tokens([AddedToken("<s>", normalized=False)])
    tokenizer.save(str(path))
    return path


@pytest.fixture(
    scope="session",
    params=["gpt2_like", "llama3_like", "qwen_like", "template_like", "wordpiece_like", "unigram_like", "llama2_like"],
)
def engine(request: pytest.FixtureRequest) -> _core.Engine:
    """An engine of each kind."""
    path: Path = request.getfixturevalue(request.param)
    return reference_impl.open_engine(path.read_text(encoding="utf-8"))


def test_texts(engine: _core.Engine) -> None:
    @settings(max_examples=60, deadline=None)
    @given(TEXTS, st.booleans())
    def run(text: str, special_as_text: bool) -> None:
        check(engine, text, special_as_text)

    run()
    rng = random.Random(1)
    for size in (300, 1500):
        check(engine, reference_impl.generated_text(rng, size))


def test_segments_tile_the_text(engine: _core.Engine) -> None:
    """What lies between pieces was removed by the pre-tokenizer; runs are made of pieces that touch each other."""
    for segment in engine.trace_segments(" Hello,  wörld!\n[SEP]<s><|eot_id|> 日本 🙂"):
        pieces = segment["pieces"]
        assert (segment["added"] is None) or not pieces
        places = [(piece["start"], piece["end"]) for piece in pieces]
        assert all(start < end for start, end in places)
        assert all(ours[1] <= theirs[0] for ours, theirs in pairwise(places))
        assert all(segment["start"] <= a <= b <= segment["end"] for a, b in (piece["original"] for piece in pieces))
        covered = {at for start, end in segment["runs"] for at in range(start, end)}
        assert covered == {at for start, end in places for at in range(start, end)}


@pytest.mark.parametrize("name", ["gpt2_like", "llama3_like", "qwen_like"])
def test_pieces_are_the_references(name: str, request: pytest.FixtureRequest) -> None:
    text = "Hello,  wörld! It's 12345 日本\n\n end  "
    source = request.getfixturevalue(name).read_text(encoding="utf-8")
    (segment,) = reference_impl.open_engine(source).trace_segments(text)
    reference = Tokenizer.from_str(source).pre_tokenizer.pre_tokenize_str(text)
    spans = [(len(text[:start].encode()), len(text[:end].encode())) for _, (start, end) in reference]
    assert [piece["original"] for piece in segment["pieces"]] == spans
    assert [reference_impl.spell(piece) for piece in pieces_of([segment])] == [piece for piece, _ in reference]


def test_normalized_and_rewritten_text(llama2_like: Path) -> None:
    engine = reference_impl.open_engine(llama2_like.read_text(encoding="utf-8"))
    first, added, last = engine.trace_segments("a b<s>é")
    assert (first["normalized"], first["text"]) == ("▁a▁b".encode(), "▁a▁b".encode())
    assert [piece["original"] for piece in first["pieces"]] == [(0, 3)]
    assert (added["added"], added["start"], added["end"], added["text"]) == (engine.token_to_id("<s>"), 3, 6, b"<s>")
    assert (last["start"], last["end"], last["runs"]) == (6, 8, [(0, 5)])


def test_a_space_that_is_put_in_front() -> None:
    pre_tokenizer = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    engine = reference_impl.open_engine(reference_impl.byte_level_document(pre_tokenizer=pre_tokenizer))
    (segment,) = engine.trace_segments("ab cd")
    assert (segment["normalized"], segment["text"]) == (b"ab cd", b" ab cd")
    assert list(pieces_of([segment])) == [b" ab", b" cd"]
    assert [piece["original"] for piece in segment["pieces"]] == [(0, 2), (2, 5)]
    assert segment["runs"] == [(0, 6)]
    check(engine, "ab cd")


def test_tables_of_longest_match() -> None:
    """WordPiece over bytes, as a vocabulary of CRAYON is spelled: exact mode has walks, pretoken by pretoken."""
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
    assert [ids_of(walk["tokens"]) for walk in (first, second)] == [
        [engine.token_to_id("ab")],
        [engine.token_to_id("c")],
    ]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_raw_bytes(data: bytes) -> None:
    for document in RAW:
        segments = document.trace_raw_segments(data)
        assert b"".join(segment["text"] for segment in segments) == data
        assert traced_ids(document, segments) == document.encode_bytes(data)
        assert greedy_ids(document, segments) == document.greedy().encode_bytes(data)


def raw_engines() -> Iterator[_core.Engine]:
    """One with a scanner, one with a pre-tokenizer that is run as it is written, and one that loses spaces."""
    merges = reference_impl.random_merges(random.Random(5), [bytes([b]) for b in b"\xe6\x97\xa5 ab"], 60)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    for first in (
        None,
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "WhitespaceSplit"},
    ):
        parts = [first, byte_level] if first else [byte_level]
        document = reference_impl.byte_level_document(
            merges, seed=1, pre_tokenizer={"type": "Sequence", "pretokenizers": parts}
        )
        yield reference_impl.open_engine(document)


RAW = list(raw_engines())


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
    """The same merges in the same order, and products as the document has them."""
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


def test_a_derivation() -> None:
    document = reference_impl.byte_level_document([(b"l", b"o"), (b"h", b"e"), (b"l", b"lo"), (b"he", b"llo")])
    trace = reference_impl.open_engine(document).trace_piece(b"hello")
    vocab = document["model"]["vocab"]
    assert [(merge["rank"], merge["position"], merge["product"]) for merge in trace["merges"]] == [
        (0, 3, vocab["lo"]),
        (1, 0, vocab["he"]),
        (2, 1, vocab["llo"]),
        (3, 0, vocab["hello"]),
    ]
    assert trace["tokens"] == [{"id": vocab["hello"], "start": 0, "end": 5, "kind": "token"}]


def test_shortcuts() -> None:
    """A whole token comes before merges where the model says so; a word of the table is merged all the same."""
    merges = [(b"a", b"b"), (b"b", b"c")]
    document = reference_impl.byte_level_document(merges, more=["abc", "abcabcabcabcabcabc"])
    engine = reference_impl.open_engine(document)
    assert engine.trace_piece(b"ab")["shortcut"] == "word_table"
    assert engine.trace_piece(b"abc")["shortcut"] == "word_table"  # a token that merges do not make
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


# -- walks


def test_walks_of_longest_match(gpt2_like: Path) -> None:
    """Each walk goes as far as there are tokens, says which end on the way, and takes the longest."""
    source = gpt2_like.read_text(encoding="utf-8")
    engine = reference_impl.open_engine(source)
    tokens = {reference_impl.token_bytes(token): id for token, id in json.loads(source)["model"]["vocab"].items()}
    prefixes = {token[:n] for token in tokens for n in range(1, len(token) + 1)}
    run = "The quick brown fox, isn't it? 日本 🙂<|endoftext|>".encode()
    special = engine.token_to_id("<|endoftext|>")
    nodes: dict[bytes, int] = {}
    at = 0
    for walk in engine.trace_longest_match(run):
        assert walk["start"] == at
        met = [run[at : at + n + 1] for n in range(len(walk["steps"]))]
        assert [piece[-1] for piece in met] == [step["byte"] for step in walk["steps"]]
        ids = [None if tokens.get(piece) == special else tokens.get(piece) for piece in met]
        assert [step["id"] for step in walk["steps"]] == ids
        assert [piece in prefixes for piece in met] == [step["node"] is not None for step in walk["steps"]]
        stopped = walk["steps"][-1]["node"] is None
        assert stopped or at + len(met) == len(run)
        assert all(step["node"] is not None for step in walk["steps"][:-1])
        for piece, step in zip(met, walk["steps"], strict=True):
            assert nodes.setdefault(piece, step["node"]) == step["node"]
        (token,) = walk["tokens"]
        longest = max(n + 1 for n, id in enumerate(ids) if id is not None)
        assert (token["start"], token["end"], token["id"]) == (at, at + longest, tokens[run[at : at + longest]])
        at = walk["end"]
    assert at == len(run)
    reached = [node for node in nodes.values() if node is not None]
    assert len(set(reached)) == len(reached)


# -- what cannot be traced


def test_refusals(gpt2_like: Path, wordpiece_like: Path) -> None:
    on_bytes = reference_impl.open_engine(gpt2_like.read_text(encoding="utf-8"))
    on_text = reference_impl.open_engine(wordpiece_like.read_text(encoding="utf-8"))
    for engine in (on_bytes, on_text):
        with pytest.raises(ValueError, match="empty"):
            engine.trace_piece(b"")
        assert engine.trace_segments("") == []
        assert engine.trace_longest_match(b"") == []
    for trace in (on_text.trace_piece, on_text.trace_longest_match):
        with pytest.raises(InvalidUtf8Error):
            trace(b"a\xff")
    with pytest.raises(InvalidUtf8Error):
        on_bytes.trace_segments(b"a\xff")
    with pytest.raises(UnsupportedError):
        on_text.trace_raw_segments(b"a")
    assert on_bytes.trace_raw_segments(b"") == []


# -- real vocabularies


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama3", "llama2", "t5-small", "bert-cased", "qwen", "roberta-base"])
def test_real_vocabularies(shared: Path, name: str) -> None:
    engine = reference_impl.open_engine((shared / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8"))
    rng = random.Random(2)
    for text in (
        "unhappily, <s>internationalization日本語🙂\n\t  x",
        "def f(x):\n    return  x",
        "<|endoftext|>[SEP]</s>",
    ):
        check(engine, text)
        check(engine, text, special_as_text=True)
    check(engine, reference_impl.generated_text(rng, 2000))


def test_greedy_engines_are_not_traced(gpt2_like: Path) -> None:
    exact = _core.Engine.from_bytes(_core.compile_tokenizer_json(gpt2_like.read_bytes(), "{}"))
    greedy = exact.greedy()
    assert _core._testing.model_type(greedy) == _core._testing.model_type(exact)
    for trace in (
        lambda: greedy.trace_segments("a text"),
        lambda: greedy.trace_raw_segments(b"bytes"),
        lambda: greedy.trace_piece(b"piece"),
        lambda: greedy.trace_longest_match(b"run"),
    ):
        with pytest.raises(ValueError, match="only an engine in exact mode has traces"):
            trace()


@pytest.mark.slow
def test_walks_are_bounded_whatever_the_tokens() -> None:
    """A token that nearly matches everywhere makes each walk long."""
    engine = reference_impl.open_engine(word_piece([b"a" * 3000 + b"b"]))
    walks = engine.trace_longest_match(b"a" * 4096)
    assert sum(len(walk["steps"]) for walk in walks) < _core._testing.TRACE_STEPS + 3001
    assert walks[0]["start"] == 0
    assert len(walks) < 4096
