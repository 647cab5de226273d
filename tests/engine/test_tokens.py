"""The engine's conversions between tokens and ids: converting a list gives the results of its single items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

from crayon_hf import Tokenizer, _core


@pytest.fixture(scope="module", params=["gpt2_like", "wordpiece_like"])
def engine(request: pytest.FixtureRequest) -> _core.Engine:
    path: Path = request.getfixturevalue(request.param)
    engine = Tokenizer.from_file(path)._current_engine()
    assert isinstance(engine, _core.Engine)
    return engine


def test_many_are_as_one_at_a_time(engine: _core.Engine) -> None:
    size = engine.get_vocab_size()
    ids = [*range(size), size, size + 7, 2**31, 2**32 - 1]
    tokens = [engine.id_to_token(id) for id in ids]
    assert engine.ids_to_tokens(ids) == tokens
    assert engine.ids_to_tokens([]) == []
    wanted = [token or "no such token" for token in tokens]
    assert engine.tokens_to_ids(wanted) == [engine.token_to_id(token) for token in wanted]


def test_bytes(gpt2_like: Path) -> None:
    engine = Tokenizer.from_file(gpt2_like)._current_engine()
    ids = list(range(engine.get_vocab_size()))
    each = [engine.decode_bytes([id]) for id in ids]
    assert engine.tokens_bytes(ids) == each
    assert [engine.token_bytes(id) for id in ids] == each
    for content in each:
        found = engine.id_of_bytes(content)
        assert found is None or engine.decode_bytes([found]) == content
    assert [engine.id_of_bytes(content) for content in each[:256]] == ids[:256]
    joined = engine.bytes_and_starts(ids)
    assert joined is not None
    assert joined[0] == b"".join(each)
    assert engine.tokens_bytes([*ids, len(ids)]) is None
    assert engine.bytes_and_starts([len(ids)]) is None
    assert engine.token_bytes(len(ids)) is None
    assert engine.id_of_bytes(b"no such token") is engine.id_of_bytes("no such token") is None
    assert engine.id_of_bytes("a") == engine.id_of_bytes(b"a") == engine.token_to_id("a")


IDS: list[Any] = [(1,), [True], [1.0], [None], [-1], [2**70], np.array([1]), None, 1]
TOKENS: list[Any] = [("a",), [1], [b"a"], [None], ["\ud800"], "a", None]
VALUES: list[Any] = [True, 1.0, "\ud800", None, -1, 2**70, bytearray(b"a")]
CASES = [(name, ids) for name in ("ids_to_tokens", "tokens_bytes", "bytes_and_starts") for ids in IDS]
CASES += [("tokens_to_ids", tokens) for tokens in TOKENS]
CASES += [(name, value) for name in ("token_bytes", "id_of_bytes") for value in VALUES]


def test_other_arguments_are_left_to_the_caller(engine: _core.Engine) -> None:
    for name, argument in CASES:
        assert getattr(engine, name)(argument) is None, (name, argument)


def test_added_tokens_by_their_contents(wordpiece_like: Path, gpt2_like: Path, tmp_path: Path) -> None:
    """Ids are found by the contents of added tokens, even if two have the same normalized form, or if the normalized
    form of one is the content of another."""
    contents = ["<AB>", "<ab>", "<Ab>", "\u00c9\u00e9", "a b", "\u0120x", "x", "<s>"]
    for number, path in enumerate((wordpiece_like, gpt2_like)):
        stock = tokenizers.Tokenizer.from_file(str(path))
        stock.normalizer = tokenizers.normalizers.Lowercase()
        for i, content in enumerate(contents):
            stock.add_tokens([tokenizers.AddedToken(content, normalized=i % 3 != 2, special=i == 7)])
        stock.save(str(tmp_path / f"{number}.json"))
        ours = Tokenizer.from_file(tmp_path / f"{number}.json")
        for token in (*contents, *map(str.lower, contents), *map(str.upper, contents), "", "<", "<abc>", "a"):
            assert ours.token_to_id(token) == stock.token_to_id(token), token
