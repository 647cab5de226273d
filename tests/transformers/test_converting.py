"""Conversions of tokens and ids, and text of single ids and of rows, against transformers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from tests.transformers.comparing import outcome

IDS: tuple[Any, ...] = (
    *(0, 5, 10**6, 2**31 - 1, 2**31, 2**32, 2**70, -1, True, 1.0, "1", None),
    *([], [0, 5], [5, 10**6], [5, -1], [5, 2**40], [True, 5], [1.5], ["7"], ["x"], [None], [[5]]),
    *((0, 5), range(3), np.array([1, 2]), np.int64(5), np.array(5)),
)
TOKENS: tuple[Any, ...] = (
    *("a", "The", "none such", "", "\u00e9", "\ud800", "<new>", b"a", 1, None),
    *([], ["a", "b"], ["a", "none such", "b", "never"], ["\ud800"], ["a", 1], [None], ["<new>"]),
    *(("a", "b"), {"a": 1}, iter(["a"])),
)


@pytest.fixture
def changed(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """A tokenizer of each kind with added tokens."""
    for tokenizer in pair:
        tokenizer.add_tokens(["<new>", "Quick"])
        tokenizer.add_special_tokens({"mask_token": "<m>"})
    return pair


@pytest.mark.parametrize("is_changed", [False, True])
def test_what_they_give(pair: tuple[Any, Any], is_changed: bool, request: pytest.FixtureRequest) -> None:
    stock, ours = request.getfixturevalue("changed") if is_changed else pair
    special = stock.all_special_ids
    assert ours.all_special_ids == special
    rows = (*IDS, [*special, 5], special)
    for ids in rows:
        for call in (
            lambda tokenizer, ids=ids: tokenizer.convert_ids_to_tokens(ids),
            lambda tokenizer, ids=ids: tokenizer.convert_ids_to_tokens(ids, True),
            lambda tokenizer, ids=ids: tokenizer.convert_ids_to_tokens(ids=ids, skip_special_tokens=True),
            lambda tokenizer, ids=ids: tokenizer.decode(ids),
            lambda tokenizer, ids=ids: tokenizer.decode(ids, True),
            lambda tokenizer, ids=ids: tokenizer.decode(ids, skip_special_tokens=True),
            lambda tokenizer, ids=ids: tokenizer.decode(ids, clean_up_tokenization_spaces=True),
            lambda tokenizer, ids=ids: tokenizer.decode(ids, spaces_between_special_tokens=False),
        ):
            assert outcome(lambda: call(ours)) == outcome(lambda: call(stock)), ids  # noqa: B023
    for batch in (rows[12:16], [[]], [special, "x"], np.array([[5, 6], [7, 8]]), special):
        for options in ({}, {"skip_special_tokens": True}, {"clean_up_tokenization_spaces": True}):
            expected = outcome(lambda: stock.batch_decode(batch, **options))  # noqa: B023
            assert outcome(lambda: ours.batch_decode(batch, **options)) == expected, (batch, options)  # noqa: B023
    for tokens in TOKENS:
        given = copy.copy(tokens), copy.copy(tokens)
        ours_said, stock_said = (
            outcome(lambda: tokenizer.convert_tokens_to_ids(one))  # noqa: B023
            for tokenizer, one in zip((ours, stock), given, strict=True)
        )
        assert ours_said == stock_said, tokens


def test_an_unknown_token(pair: tuple[Any, Any]) -> None:
    for unknown in (None, "a"):
        for tokenizer in pair:
            tokenizer.unk_token = unknown
        stock, ours = pair
        for tokens in ("none such", ["a", "none such", "never"]):
            assert ours.convert_tokens_to_ids(tokens) == stock.convert_tokens_to_ids(tokens)
