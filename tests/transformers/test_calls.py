"""Calls of the tokenizer with every argument, against those of transformers."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy  # type: ignore[attr-defined]

import crayon_hf
from crayon_hf.transformers import calling
from tests.transformers.comparing import outcome, plain

SHORT = "one short sentence"
LONG = "The quick brown fox jumps over the lazy dog; it's what they've said, isn't it? " * 2
TEXTS = [SHORT, "", "Größe <pad> </s> [SEP] \u0301 🙂 敏捷", LONG, " two  spaces "]
DECODING: list[dict[str, Any]] = [
    {},
    {"skip_special_tokens": True},
    {"clean_up_tokenization_spaces": True},
    {"spaces_between_special_tokens": False},
]
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
AS_OTHERS = ("tuple", "pair with nothing", "batch of tuples")  # the texts of others, in another form
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


def test_keywords_alone(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    for arguments in (
        {"text": SHORT},
        {"text": TEXTS, "text_pair": OTHERS},
        {"text_target": SHORT},
        {"text": TEXTS, "text_target": OTHERS},
        {"text": SHORT, "text_pair": "pair", "text_target": "target", "text_pair_target": "another"},
        {"text": [["split", "into"], ["words", "é"]], "is_split_into_words": True},
        {"text": ["split", "into", "words"], "is_split_into_words": True},
        {"text": SHORT, "split_special_tokens": True},
        {"text": "a <pad> </s> [SEP] b", "split_special_tokens": True},
    ):
        assert outcome(lambda: ours(**arguments)) == outcome(lambda: stock(**arguments)), arguments  # noqa: B023


@pytest.mark.slow
def test_torch(pair: tuple[Any, Any]) -> None:
    pytest.importorskip("torch")
    stock, ours = pair
    cut: dict[str, Any] = {"padding": True, "truncation": True, "max_length": 9}
    for arguments in (
        {},
        {"padding": True},
        cut,
        {"return_offsets_mapping": True},
        cut | {"return_offsets_mapping": True},
    ):
        for inputs in INPUTS.values():
            expected = outcome(lambda: stock(*inputs, return_tensors="pt", **arguments))  # noqa: B023
            assert outcome(lambda: ours(*inputs, return_tensors="pt", **arguments)) == expected  # noqa: B023
    batch = ours(TEXTS, padding=True, return_tensors="pt")
    assert batch.to("cpu") is batch
    batch["input_ids"].fill_(0)
    assert batch["attention_mask"].sum() > 0, "columns must not share memory"


WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
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


@pytest.mark.parametrize(("inputs", "arguments"), WRONG, ids=range(len(WRONG)))
def test_wrong_calls(pair: tuple[Any, Any], inputs: tuple[Any, ...], arguments: dict[str, Any]) -> None:
    stock, ours = pair
    assert outcome(lambda: ours(*inputs, **arguments)) == outcome(lambda: stock(*inputs, **arguments))


def test_messages_are_those_of_transformers(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    for inputs, arguments in (((3,), {}), ((), {}), ((SHORT,), {"padding": "never"}), (([SHORT], "text"), {})):
        with pytest.raises((TypeError, ValueError)) as expected:
            stock(*inputs, **arguments)
        with pytest.raises(type(expected.value)) as raised:
            ours(*inputs, **arguments)
        assert str(raised.value) == str(expected.value)


def test_no_padding_token(repositories: dict[str, Any]) -> None:
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["byte_level"])
    ours.pad_token = None
    with pytest.raises(ValueError, match="does not have a padding token"):
        ours(TEXTS, padding=True)


def test_a_type_id_of_32_bits(repositories: dict[str, Any]) -> None:
    path = repositories["byte_level"]
    both = [face.from_pretrained(path) for face in (AutoTokenizer, crayon_hf.AutoTokenizer)]
    for tokenizer in both:
        tokenizer._pad_token_type_id = 2**32 - 1  # there is no other way to set it
    for arguments in ({}, {"return_tensors": "np"}):
        stock, ours = (
            tokenizer(TEXTS, padding=True, return_token_type_ids=True, **arguments)["token_type_ids"]
            for tokenizer in both
        )
        assert [list(row) for row in ours] == [list(row) for row in stock]
        assert max(stock[1]) == 2**32 - 1


class Kept(logging.Handler):
    """Keeps messages, wherever else they go."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def test_too_long_is_said_once(pair: tuple[Any, Any]) -> None:
    said = []
    for tokenizer in pair:
        logger, kept = logging.getLogger("transformers"), Kept()
        logger.addHandler(kept)
        tokenizer.model_max_length = 5
        tokenizer([SHORT, LONG, LONG], return_tensors=None)
        tokenizer(LONG)
        tokenizer([LONG])
        logger.removeHandler(kept)
        said.append(kept.messages)
    assert said[0] == said[1]
    assert len(said[0]) == 1


def test_encode_and_tokenize(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    for text in TEXTS:
        assert ours.encode(text) == stock.encode(text)
        assert ours.encode(text, SHORT) == stock.encode(text, SHORT)
        assert ours.encode(text, add_special_tokens=False) == stock.encode(text, add_special_tokens=False)
        assert ours.encode(text, truncation=True, max_length=4) == stock.encode(text, truncation=True, max_length=4)
        assert ours.tokenize(text) == stock.tokenize(text)
        assert ours.tokenize(text, add_special_tokens=True) == stock.tokenize(text, add_special_tokens=True)
    for wrong in (None, 3, ["a", 3]):
        assert outcome(lambda: ours.encode(wrong)) == outcome(lambda: stock.encode(wrong))  # noqa: B023
    if hasattr(stock, "batch_encode_plus"):
        assert plain(ours.batch_encode_plus(TEXTS)) == plain(stock.batch_encode_plus(TEXTS))
        assert plain(ours.encode_plus(SHORT, LONG)) == plain(stock.encode_plus(SHORT, LONG))


def test_decode(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    rows = [stock(text)["input_ids"] for text in TEXTS]
    np = pytest.importorskip("numpy")
    for ids in (
        *rows,
        [],
        5,
        np.array(rows[0]),
        tuple(rows[0]),
        [np.int64(3), 4],
        [10**6],
        [3, 10**6],
        [-1],
        ["a"],
        2**40,
    ):
        for arguments in DECODING:
            expected = outcome(lambda: stock.decode(ids, **arguments))  # noqa: B023
            assert outcome(lambda: ours.decode(ids, **arguments)) == expected, (ids, arguments)  # noqa: B023
        assert outcome(lambda: ours.decode(ids, True)) == outcome(lambda: stock.decode(ids, True))  # noqa: B023
    for batch in (rows, [], [[]], tuple(rows), np.array([rows[0], rows[0]]), rows[0], [rows[0], "x"], [[10**6, 5]]):
        for arguments in DECODING:
            expected = outcome(lambda: stock.batch_decode(batch, **arguments))  # noqa: B023
            assert outcome(lambda: ours.batch_decode(batch, **arguments)) == expected, (batch, arguments)  # noqa: B023


def test_what_servers_give_decode_changes_nothing(pair: tuple[Any, Any]) -> None:
    """SGLang gives `spaces_between_special_tokens` each time: that alone must not hand the call to transformers."""
    stock, ours = pair
    rows = [stock(text)["input_ids"] for text in TEXTS if text]
    plainly: dict[str, Any] = {"skip_special_tokens": True}
    served = plainly | {"spaces_between_special_tokens": True}
    for ids in rows:
        assert calling.decode_row(ours, ids, (), served) == calling.decode_row(ours, ids, (), plainly)
        assert ours.decode(ids, **served) == stock.decode(ids, **served)
    assert calling.decode_many(ours, rows, (), served) == calling.decode_many(ours, rows, (), plainly)
    assert ours.batch_decode(rows, **served) == stock.batch_decode(rows, **served)


def test_pad(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    features = [{"input_ids": [5, 6, 7]}, {"input_ids": [8]}]
    for arguments in ({}, {"padding": "max_length", "max_length": 9}, {"return_tensors": "np"}):
        assert outcome(lambda: ours.pad(features, **arguments)) == outcome(lambda: stock.pad(features, **arguments))  # noqa: B023
    assert plain(ours.pad(ours(TEXTS))) == plain(stock.pad(stock(TEXTS)))


def test_batch_encoding(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    expected, batch = stock(TEXTS, OTHERS), ours(TEXTS, OTHERS)
    assert type(batch) is BatchEncoding
    assert batch.is_fast
    assert len(batch.encodings) == len(TEXTS)
    assert batch.input_ids == expected.input_ids
    assert batch[1].ids == expected[1].ids
    for row in range(len(TEXTS)):
        assert batch.tokens(row) == expected.tokens(row)
        assert batch.word_ids(row) == expected.word_ids(row)
        assert batch.sequence_ids(row) == expected.sequence_ids(row)
    for name, arguments in (
        ("char_to_token", (3, 5)),
        ("token_to_chars", (3, 5)),
        ("word_to_tokens", (3, 2)),
        ("word_to_chars", (3, 2)),
        ("char_to_word", (3, 5)),
        ("token_to_sequence", (3, 1)),
    ):
        wanted = outcome(lambda: getattr(expected, name)(*arguments))  # noqa: B023
        assert outcome(lambda: getattr(batch, name)(*arguments)) == wanted, name  # noqa: B023


def test_encodings_are_of_the_time_of_the_call(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    expected = stock(TEXTS, padding=True, truncation=True, max_length=20)
    batch = ours(TEXTS, padding=True, truncation=True, max_length=20)
    ours.add_tokens(["short", "fox"])
    ours([SHORT], padding="max_length", max_length=30)
    assert plain(batch) == plain(expected)


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


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(words, min_size=1, max_size=4), st.sampled_from(SIZES), st.sampled_from(EXTRAS), st.booleans())
def test_any_text(repositories: Any, texts: list[str], sizes: Any, extras: Any, pairs: bool) -> None:
    for stock, ours in _tokenizers(repositories):
        inputs = (texts, texts[::-1]) if pairs else (texts,)
        expected = outcome(lambda: stock(*inputs, **sizes, **extras))  # noqa: B023
        assert outcome(lambda: ours(*inputs, **sizes, **extras)) == expected  # noqa: B023
        assert outcome(lambda: ours(texts[0], **sizes)) == outcome(lambda: stock(texts[0], **sizes))  # noqa: B023


_open: dict[Any, tuple[Any, Any]] = {}


def _tokenizers(repositories: Any) -> Any:
    for path in repositories.values():
        if path not in _open:
            _open[path] = AutoTokenizer.from_pretrained(path), crayon_hf.AutoTokenizer.from_pretrained(path)
        yield _open[path]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["1"], r"ids\[0\] is str, expected int"),
        ([1, None], r"ids\[1\] is NoneType, expected int"),
        ([[1]], r"ids\[0\] is list, expected int"),
        ([1.5], r"ids\[0\] is float, expected int"),
        (None, "ids is NoneType, expected a sequence of int"),
        ("abc", "ids is str, expected a sequence of int"),
    ],
)
def test_ids_that_are_none(repositories: dict[str, Path], ids: Any, message: str) -> None:
    path = repositories["byte_level"]
    ours = crayon_hf.AutoTokenizer.from_pretrained(path)
    stock = AutoTokenizer.from_pretrained(path)
    given = ids if ids is None or ids == "abc" else [ids]
    for call in (lambda t: t.batch_decode(given), lambda t: t._tokenizer.decode(ids)):
        with pytest.raises(TypeError) as said:
            call(ours)
        with pytest.raises(TypeError) as expected:
            call(stock)
        # transformers 4 and 5.24 look at the sequence themselves
        assert re.search(message, str(said.value)) or str(said.value) == str(expected.value)


def test_another_thread_resets_what_a_call_has_set(
    repository: Path, pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sizes are those that it asked for, then and in later calls."""
    stock, ours = pair
    shared, settings_of = ours._tokenizer, crayon_hf.Tokenizer._settings

    def read_late(self: crayon_hf.Tokenizer) -> tuple[Any, ...]:
        shared.no_truncation()  # as another thread would, with a call of its own
        return settings_of(self)

    expected = stock(LONG, truncation=True, max_length=8)["input_ids"]
    with monkeypatch.context() as patched:
        patched.setattr(crayon_hf.Tokenizer, "_settings", read_late)
        assert ours(LONG, truncation=True, max_length=8)["input_ids"] == expected
    assert ours(LONG, truncation=True, max_length=8)["input_ids"] == expected
    assert ours._tokenizer.truncation == stock._tokenizer.truncation
