"""StreamEncoder on greedy engines and on tables of longest match: windows do not change ids there either."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import Tokenizer, _core
from tests.encode.test_stream_encoder import TEXT_SHAPES, engine_of, text_of
from tests.support.streams import PIECES, assert_streams_alike
from tests.support.version_2_files import WORDS, write_version_2

SHORT = [word for word in WORDS if len(word) < 20]
"""Short tokens, so that windows of about ten bytes contain places where a text can be cut without changing ids."""

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
