"""StreamEncoder on greedy engines and on tables of longest match: windows do not show there either."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import Tokenizer, _core
from tests.batch.test_stream_encoder import TEXT_SHAPES, engine_of, text_of
from tests.support import reference_impl
from tests.support.greedy_reference import word_piece
from tests.support.streams import PIECES, assert_streams_alike, streamed
from tests.support.version_2_files import WORDS, write_version_2

SHORT = [word for word in WORDS if len(word) < 20]
"""So that windows of some ten bytes have seams."""

BYTE_SHAPES = ("gpt2", "llama3", "qwen", "roberta", "prefixed", "whole")


def engine(tokenizer: Tokenizer) -> _core.Engine:
    made = tokenizer._current_engine()
    assert isinstance(made, _core.Engine)
    return made


@pytest.fixture(scope="module")
def version_2(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer.from_file(write_version_2(tmp_path_factory.mktemp("version-2") / "words.dat", SHORT))


@pytest.mark.parametrize("shape", [*BYTE_SHAPES, *TEXT_SHAPES])
def test_greedy_windows_do_not_show(shape: str) -> None:
    rng = random.Random(shape)
    greedy = engine_of(shape).greedy()
    for number in range(120):
        text = text_of(rng, rng.randrange(40))
        assert_streams_alike(greedy, text, rng.choice([1, 2, 3, 5, 8, 16, 40]), number % 2 == 0, number % 3 == 0)


ADDED = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["<s>", "<s>the", " a", "aa", "\u4e2d", "'s", "x"]),
        **{flag: st.booleans() for flag in ("single_word", "lstrip", "rstrip", "normalized", "special")},
    }
)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(ADDED, max_size=3, unique_by=lambda token: token["content"]),
    st.lists(st.sampled_from([*PIECES, *SHORT]), max_size=30).map("".join),
    st.integers(1, 24),
    st.booleans(),
)
def test_among_added_tokens(
    version_2: Tokenizer, tokens: list[dict[str, Any]], text: str, window: int, offsets: bool
) -> None:
    whole = engine(version_2)
    first = whole.get_vocab_size() + 600
    free = [token for token in tokens if whole.token_to_id(token["content"]) is None]
    added = [token | {"id": first + number} for number, token in enumerate(free)]
    for matching in (whole, whole.greedy(), whole.greedy((len(SHORT), 1))):
        assert_streams_alike(matching.with_components(whole.components, added), text, window, False, offsets)


def test_greedy_text_has_seams(version_2: Tokenizer, gpt2_like: Path) -> None:
    """Small windows do, however long the text."""
    for matching in (engine(version_2), engine(Tokenizer.from_file(gpt2_like, mode="greedy"))):
        encoder = _core.StreamEncoder(matching)
        assert encoder.streams
        data = ("the thesis, 日本語 and abc \n" * 60).encode()
        window = 2 * matching.info()["max_token_bytes"] + 16
        consumed, _, _ = encoder.encode(data, 0, window, False)
        assert consumed > window // 3
        assert streamed(matching, data, window, False, False, grow=10**6)[0] == matching.encode_ids(data.decode())


def test_greedy_text_that_may_join_anywhere_has_none() -> None:
    for shape in ("llama2", "t5", "first", "mistral"):
        assert not _core.StreamEncoder(engine_of(shape).greedy()).streams
    # Words are matched one by one, as in exact mode.
    assert _core.StreamEncoder(engine_of("bert").greedy()).streams


@pytest.mark.parametrize("name", ["gpt2", "llama3", "llama2"])
def test_published(shared: Path, name: str) -> None:
    greedy = engine(Tokenizer.from_file(shared / "vocab" / name / "tokenizer.json", mode="greedy"))
    rng = random.Random(name)
    for number in range(60):
        text = text_of(rng, 60)
        assert_streams_alike(greedy, text, rng.choice([1, 7, 64, 300]), number % 2 == 0, number % 3 == 0)


def test_an_added_token_that_more_text_undoes() -> None:
    """A token that has to be a word is one at the window's end, until a letter follows."""
    whole = reference_impl.open_engine(word_piece([b"y-a"]))
    flags = {"lstrip": False, "rstrip": False, "special": False}
    for word, normalized in ((True, False), (True, True), (False, True)):
        added = [{"id": 257, "content": "ab", "single_word": word, "normalized": normalized, **flags}]
        matching = whole.with_components(whole.components, added)
        for text in ("y-abc", "y-ab", "y-ab y-ab", "y-aby-ab", "xy-ab-y-abcy-a"):
            for window in (1, 2, 3, 4, 5, 7):
                assert_streams_alike(matching, text, window)
