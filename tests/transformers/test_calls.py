"""Calls of our tokenizers for transformers, with every argument, give the results of stock transformers."""

from __future__ import annotations

import copy
import inspect
import logging
import typing
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from transformers import BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy  # type: ignore[attr-defined]

from tests.transformers.comparing import outcome, plain

SHORT = "one short sentence"
LONG = "The quick brown fox jumps over the lazy dog; it's what they've said, isn't it? " * 2
TEXTS = [SHORT, "", "Größe <pad> </s> [SEP] \u0301 🙂 敏捷", LONG, " two  spaces "]
OTHERS = ["first", "", "déjà vu", "x " * 30, "[MASK] <extra_id_1>"]

SIZES: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": "longest", "padding_side": "left"},
    {"padding": "max_length", "max_length": 24},
    {"padding": "max_length"},
    {"padding": True, "pad_to_multiple_of": 8},
    {"truncation": True},
    {"truncation": True, "max_length": 12},
    {"max_length": 10},
    {"truncation": "only_first", "max_length": 16},
    {"truncation": "only_second", "max_length": 16},
    {"truncation": "longest_first", "max_length": 12, "stride": 3},
    {"truncation": TruncationStrategy.LONGEST_FIRST, "padding": PaddingStrategy.MAX_LENGTH, "max_length": 20},
    {"truncation": True, "padding": True, "max_length": 16, "pad_to_multiple_of": 8},
    {"truncation": True, "padding": True, "max_length": 15, "pad_to_multiple_of": 8},
    {"truncation": True, "max_length": 2},
    {"truncation": True, "max_length": 0},
]

EXTRAS: list[dict[str, Any]] = [
    {},
    {"add_special_tokens": False},
    {"return_token_type_ids": True, "return_special_tokens_mask": True, "return_length": True},
    {"return_attention_mask": False, "return_token_type_ids": False},
    {"return_offsets_mapping": True},
    {"return_offsets_mapping": True, "return_special_tokens_mask": True, "return_length": True},
    {"return_offsets_mapping": True, "return_tensors": "np", "return_length": True},
    {"return_overflowing_tokens": True},
    {"verbose": False},
    {"return_tensors": "np"},
    {"return_tensors": "np", "return_length": True, "return_special_tokens_mask": True},
    {"return_tensors": "pt", "return_offsets_mapping": True},
]

COMBINATIONS = [*SIZES, *({**SIZES[sizes], **extras} for sizes in (0, 1, 7, 11, 12) for extras in EXTRAS[1:])]

INPUTS: dict[str, tuple[Any, ...]] = {
    "text": (SHORT,),
    "empty text": ("",),
    "long text": (LONG,),
    "pair": (SHORT, LONG),
    "pair with nothing": (SHORT, ""),
    "batch": (TEXTS,),
    "batch of one": ([SHORT],),
    "tuple": (tuple(TEXTS),),
    "batch of pairs": (TEXTS, OTHERS),
    "batch of tuples": (list(zip(TEXTS, OTHERS, strict=True)),),
    "same length": ([SHORT, SHORT],),
}
AS_OTHERS = ("tuple", "pair with nothing", "batch of tuples")  # other inputs' texts in another form
ALL_BUT_LONG = [(name, SIZES if name in (*AS_OTHERS, "batch of pairs") else COMBINATIONS) for name in INPUTS]


@pytest.mark.parametrize(
    ("name", "combinations"),
    [*ALL_BUT_LONG, pytest.param("batch of pairs", COMBINATIONS, marks=pytest.mark.slow)],
    ids=[*INPUTS, "batch of pairs, all"],
)
def test_every_argument(pair: tuple[Any, Any], name: str, combinations: list[dict[str, Any]]) -> None:
    stock, ours = pair
    inputs = INPUTS[name]
    for arguments in combinations:
        expected = outcome(lambda: stock(*inputs, **arguments))  # noqa: B023
        assert outcome(lambda: ours(*inputs, **arguments)) == expected, arguments  # noqa: B023
        assert ours.backend_tokenizer.padding == stock.backend_tokenizer.padding, arguments
        assert ours.backend_tokenizer.truncation == stock.backend_tokenizer.truncation, arguments


@pytest.mark.slow
def test_torch_has_another_default_device(pair: tuple[Any, Any]) -> None:
    import torch

    for arguments in ({}, {"return_offsets_mapping": True}, {"return_length": True}):
        with torch.device("meta"):
            stock, ours = (tokenizer([SHORT, SHORT], return_tensors="pt", **arguments) for tokenizer in pair)
        assert {name: (tensor.device.type, tensor.shape, tensor.dtype) for name, tensor in ours.items()} == {
            name: ("meta", tensor.shape, tensor.dtype) for name, tensor in stock.items()
        }
    if not torch.cuda.is_available():
        with torch.device("cuda"):
            stock, ours = (outcome(lambda: tokenizer([SHORT], return_tensors="pt")) for tokenizer in pair)  # noqa: B023
        assert ours == stock


OTHER: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {"text": SHORT}),
    ((), {"text": TEXTS, "text_pair": OTHERS}),
    ((), {"text_target": SHORT}),
    ((), {"text": TEXTS, "text_target": OTHERS}),
    ((), {"text": SHORT, "text_pair": "pair", "text_target": "target", "text_pair_target": "another"}),
    ((), {"text": [["split", "into"], ["words", "é"]], "is_split_into_words": True}),
    ((), {"text": ["split", "into", "words"], "is_split_into_words": True}),
    ((), {"text": SHORT, "split_special_tokens": True}),
    ((), {"text": "a <pad> </s> [SEP] b", "split_special_tokens": True}),
    ((), {}),
    ((None,), {}),
    ((3,), {}),
    (([],), {}),
    ((b"bytes",), {}),
    (([SHORT, 3],), {}),
    (([SHORT, None],), {}),
    (([None],), {}),
    (([3],), {}),
    (([SHORT, ("a", "b", "c")],), {}),
    ((SHORT, 3), {}),
    (([SHORT], "text"), {}),
    (([SHORT, SHORT], [SHORT]), {}),
    ((SHORT,), {"add_special_tokens": None}),
    (([SHORT],), {"add_special_tokens": 0}),
    ((SHORT,), {"padding": "never"}),
    ((SHORT,), {"truncation": "never"}),
    ((SHORT,), {"padding": 1}),
    ((SHORT,), {"return_tensors": "xy"}),
    ((SHORT,), {"padding": True, "padding_side": "middle"}),
    ((SHORT,), {"max_length": -1}),
    ((SHORT,), {"max_length": "many"}),
    ((SHORT,), {"max_length": 8, "stride": -1}),
    ((SHORT,), {"max_length": 8, "stride": 30}),
    (("\ud800",), {}),
    ((["fine", "\ud800"],), {}),
    ((TEXTS,), {"return_tensors": "np"}),
]


@pytest.mark.parametrize(("inputs", "arguments"), OTHER, ids=range(len(OTHER)))
def test_calls_by_keywords_and_wrong_ones(
    pair: tuple[Any, Any], inputs: tuple[Any, ...], arguments: dict[str, Any]
) -> None:
    stock, ours = pair
    assert outcome(lambda: ours(*inputs, **arguments)) == outcome(lambda: stock(*inputs, **arguments))


def test_too_long_is_said_once(
    pair: tuple[Any, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("transformers")
    monkeypatch.setattr(logger, "propagate", False)  # in CI it propagates, and pytest would record it twice
    logger.addHandler(caplog.handler)
    said = []
    for tokenizer in pair:
        caplog.clear()
        tokenizer.model_max_length = 5
        for text in ([SHORT, LONG, LONG], LONG, [LONG]):
            tokenizer(text)
        said.append(caplog.messages[:])
    logger.removeHandler(caplog.handler)
    assert said[0] == said[1]
    assert len(said[0]) == 1


def test_encodings_are_of_the_time_of_the_call(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    expected = stock(TEXTS, padding=True, truncation=True, max_length=20)
    batch = ours(TEXTS, padding=True, truncation=True, max_length=20)
    ours.add_tokens(["short", "fox"])
    ours([SHORT], padding="max_length", max_length=30)
    assert plain(batch) == plain(expected)


def test_batches_that_a_program_makes(pair: tuple[Any, Any]) -> None:
    made = []
    for tokenizer in pair:
        encoding = tokenizer(SHORT)[0]
        data = {"input_ids": encoding.ids}
        made.append([plain(BatchEncoding(data, encoding=one)) for one in (encoding, [encoding])])
    assert made[0] == made[1]


def test_signatures(pair: tuple[Any, Any]) -> None:
    for name in ("__call__", "encode", "convert_ids_to_tokens", "convert_tokens_to_ids", "train_new_from_iterator"):
        stock, ours = (getattr(type(tokenizer), name) for tokenizer in pair)
        assert inspect.signature(ours) == inspect.signature(stock)
        assert typing.get_type_hints(ours) == typing.get_type_hints(stock)
        assert ours.__doc__ == stock.__doc__


def test_lazy_encodings_are_a_list(pair: tuple[Any, Any]) -> None:
    ours = pair[1]

    def fresh() -> Any:
        return ours([SHORT, LONG]).encodings

    assert isinstance(fresh(), list)
    assert len(list(fresh())) == len([*fresh()]) == len(fresh()[:]) == len([] + fresh()) == len(fresh() + []) == 2  # noqa: RUF005
    assert [one.ids for one in reversed(fresh())] == [one.ids for one in fresh()][::-1]
    assert fresh()[-1].ids == fresh().pop().ids
    assert bool(fresh())
    shared = fresh()
    assert shared[0] is shared[0]


@pytest.mark.slow
@pytest.mark.parametrize("repository", ["byte_level"], indirect=True)
def test_datasets_map(pair: tuple[Any, Any]) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict({"text": TEXTS * 12})
    mapped = [
        data.map(lambda rows: tokenizer(rows["text"], **SIZES[7]), batched=True, num_proc=workers)  # noqa: B023
        for tokenizer, workers in zip((*pair, pair[1]), (None, None, 2), strict=True)
    ]
    for name in ("input_ids", "attention_mask"):
        assert mapped[0][name][:] == mapped[1][name][:] == mapped[2][name][:]


@pytest.mark.concurrency
@pytest.mark.parametrize("repository", ["byte_level"], indirect=True)
def test_eight_threads(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    texts = TEXTS * 12
    expected = [plain(dict(stock(texts, **size))) for size in SIZES[:8]]

    def work(number: int) -> bool:
        return all(plain(dict(ours(texts, **SIZES[number]))) == expected[number] for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


# -- conversions of tokens and ids, and text of single ids and of rows

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
