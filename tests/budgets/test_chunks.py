"""The chunks of `split_text` and `split_file` against the reference's counts, and arguments, results and errors of all
calls of budgets."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest
import tokenizers

import crayon_hf
from crayon_hf import budgets, tiktoken
from crayon_hf.budgets import files
from crayon_hf.budgets.chunks import Splitter
from tests.budgets.against import Against, check_chunks
from tests.support.random_texts import random_text

WORDS = re.compile(r"\s+")
"""A kind of boundary that works without icu4py, which an extra of the package installs."""


@pytest.mark.slow
def test_files_are_split_as_texts_are(llama3_like, monkeypatch, tmp_path):
    pytest.importorskip("icu4py")
    tokenizer = crayon_hf.Tokenizer.from_file(str(llama3_like))
    drawn = random.Random(12)
    for size in (64, 200, 1000):
        monkeypatch.setattr(files, "WINDOW", size)
        for _ in range(6):
            # Lines that are short compared with the window: longer ones carry no promise.
            text = "\n".join(random_text(drawn, 4)[:20] for _ in range(60))
            overlap = drawn.choice([0, 3])
            expected = tokenizer.split_text(text, 14, overlap)
            path = tmp_path / "text"
            path.write_bytes(text.encode())
            assert list(tokenizer.split_file(path, 14, overlap)) == expected
            assert list(tokenizer.split_file(io.BytesIO(text.encode()), 14, overlap)) == expected


def test_long_lines_of_files_are_split_to_whole_texts(llama3_like, monkeypatch):
    tokenizer, stock = crayon_hf.Tokenizer.from_file(str(llama3_like)), tokenizers.Tokenizer.from_file(str(llama3_like))
    held = Against(tokenizer, lambda text: stock.encode(text, add_special_tokens=False).ids, None)
    monkeypatch.setattr(files, "WINDOW", 100)
    for text in ("aé" * 500, "word and " * 200, "👩‍👩‍👧‍👦" * 80):
        chunks = list(tokenizer.split_file(io.BytesIO(text.encode()), 20, 2, [WORDS]))
        check_chunks(held, chunks, text, 20, 2, "split_file")


def test_batches_and_other_holders_of_tokenizers(llama3_like):
    tokenizer = crayon_hf.Tokenizer.from_file(str(llama3_like))
    texts = ["One two three.\n\nFour five six.", "", "Seven"]
    expected = [tokenizer.split_text(text, 5, 1, [WORDS]) for text in texts]
    assert tokenizer.split_batch(texts, 5, 1, [WORDS]) == expected
    assert crayon_hf.budgets.split_batch(tokenizer, texts, 5, 1, [WORDS]) == expected
    fast = crayon_hf.CrayonTokenizerFast(tokenizer_file=str(llama3_like))
    assert crayon_hf.budgets.split_text(fast, texts[0], 5, 1, [WORDS]) == expected[0]
    assert list(crayon_hf.budgets.split_file(fast, io.BytesIO(texts[0].encode()), 5, 1, [WORDS])) == expected[0]
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
    ranks = {bytes([number]): number for number in range(256)}
    encoding = crayon_hf.tiktoken.Encoding("small", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<s>": 256})
    assert [chunk.text for chunk in crayon_hf.budgets.split_text(encoding, "<s>ab", 3, 0, None)] == ["<s>", "ab"]


def test_arguments_are_checked_before_a_file_is_opened(gpt2_like, tmp_path):
    tokenizer = crayon_hf.Tokenizer.from_file(str(gpt2_like))
    with pytest.raises(ValueError, match="max_tokens"):
        tokenizer.split_file(tmp_path / "none", 0, boundaries=None)
    with pytest.raises(FileNotFoundError):
        tokenizer.split_file(tmp_path / "none", 5, boundaries=None)
    with pytest.raises(TypeError, match="expected a path or a binary file"):
        tokenizer.split_file(io.StringIO("a"), 5, boundaries=None)
    assert Splitter(tokenizer, 5, boundaries=None).split("") == []


def test_an_index_of_parts_gives_the_chunks_of_one_of_the_whole(llama3_like, monkeypatch):
    tokenizer = crayon_hf.Tokenizer.from_file(str(llama3_like))
    drawn = random.Random(13)
    for _ in range(20):
        text = random_text(drawn, 500)
        for overlap in (0, 5):
            expected = tokenizer.split_text(text, 12, overlap, [WORDS])
            with monkeypatch.context() as patch:
                patch.setattr("crayon_hf.budgets.chunks.LEAST_PART", 400)
                patch.setattr("crayon_hf.budgets.chunks.PART_OF_A_TOKEN", 1)
                assert tokenizer.split_text(text, 12, overlap, [WORDS]) == expected


TEXT = "Ask, and it shall be given you;   seek, and\n\n \u00e9\u0301 \U0001f469\u200d\U0001f680 12345678 x"


@pytest.fixture(scope="module")
def tokenizer(template_like: Path) -> crayon_hf.Tokenizer:
    return crayon_hf.Tokenizer.from_file(template_like)


def test_a_limit_ends_the_count(tokenizer: crayon_hf.Tokenizer) -> None:
    whole = tokenizer.count_tokens(TEXT)
    for limit in range(whole + 2):
        assert tokenizer.count_tokens(TEXT, limit=limit) == min(whole, limit + 1)
        assert tokenizer.count_tokens(TEXT.encode(), limit=limit) == min(whole, limit + 1)
        assert tokenizer.count_tokens([TEXT, ""], limit=limit) == [min(whole, limit + 1), min(2, limit + 1)]
        assert tokenizer.fits(TEXT, limit) == tokenizer.fits(TEXT.encode(), limit) == (whole <= limit)


def test_special_tokens_count(tokenizer: crayon_hf.Tokenizer) -> None:
    for most in range(2, 30):
        for side in ("right", "left"):
            part = tokenizer.truncate_text(TEXT, most, side=side)
            assert part == tokenizer.truncate_text(TEXT, most - 2, side=side, add_special_tokens=False)
            assert tokenizer.count_tokens(part) <= most
    assert tokenizer.truncate_text(TEXT, 10**30) == TEXT
    with pytest.raises(ValueError, match="special tokens"):
        tokenizer.truncate_text(TEXT, 1)
    assert not tokenizer.fits("", 1)


def test_ranges_are_those_of_slices(tokenizer: crayon_hf.Tokenizer) -> None:
    index = crayon_hf.TokenIndex(tokenizer, TEXT)
    for start, end in ((0, None), (3, 9), (-5, None), (9, 3), (-1000, 1000), (2, -2), (len(TEXT), None)):
        ids = tokenizer.encode(TEXT[start:end], add_special_tokens=False).ids
        assert (index.count(start, end), index.ids(start, end)) == (len(ids), ids)
    assert index.count() == len(index.ids())
    assert index.text == TEXT
    assert index.longest(0, 10**30) == len(TEXT)
    assert index.longest_before(len(TEXT), 10**30) == 0
    assert index.longest(5, 0) == 5
    assert index.longest_before(5, 0) == 5


def test_an_index_keeps_the_tokenizer_as_it_was(template_like: Path) -> None:
    tokenizer = crayon_hf.Tokenizer.from_file(template_like)
    index, appender = crayon_hf.TokenIndex(tokenizer, "a seek b"), crayon_hf.Appender(tokenizer)
    appender.append("a se")
    before = tokenizer.encode("a seek b", add_special_tokens=False).ids
    tokenizer.add_tokens(["seek"])
    appender.append("ek b")
    assert (appender.ids_from(-1), appender.ids_from(99)) == (appender.ids, [])
    assert index.ids() == appender.ids == before != tokenizer.encode("a seek b", add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda t: t.count_tokens("a", limit=-1), ValueError, "limit is -1, expected 0 or more"),
        (lambda t: t.count_tokens("a", limit="1"), TypeError, "limit is str, expected int"),
        (lambda t: t.fits("a", -1), ValueError, "max_tokens is -1"),
        (lambda t: t.fits(["a"], 1), TypeError, "text is list, expected str"),
        (lambda t: t.truncate_text("a", 1.5), TypeError, "max_tokens is float"),
        (lambda t: t.truncate_text(b"a", 1), TypeError, "text is bytes, expected str"),
        (lambda t: t.truncate_text("a", 9, side="top"), ValueError, "side is 'top', expected 'right' or 'left'"),
        (lambda t: t.truncate_text("a", 9, boundary="line"), ValueError, "boundary is 'line'"),
        (lambda t: t.truncate_text("a\ud800b", 3), TypeError, "lone surrogate"),
        (lambda t: crayon_hf.TokenIndex(t, "a\ud800b"), TypeError, "lone surrogate"),
        (lambda t: crayon_hf.TokenIndex(t, b"a"), TypeError, "text is bytes"),
        (lambda t: crayon_hf.TokenIndex(t, "a").longest(0, -1), ValueError, "max_tokens is -1"),
        (lambda t: crayon_hf.TokenIndex(None, "a"), TypeError, "tokenizer is NoneType, expected a crayon_hf.Tokenizer"),
        (lambda t: t.split_text("a", 0, boundaries=None), ValueError, "max_tokens is 0, expected at least 1"),
        (lambda t: t.split_text("a", -1, boundaries=None), ValueError, "max_tokens is -1"),
        (lambda t: t.split_text("a", "3", boundaries=None), TypeError, "max_tokens is str"),
        (lambda t: t.split_text("a", 3, 3, boundaries=None), ValueError, "overlap is 3, expected fewer than the 3"),
        (lambda t: t.split_text("a", 3, -1, boundaries=None), ValueError, "overlap is -1"),
        (lambda t: t.split_text(b"a", 3, boundaries=None), TypeError, "text is bytes"),
        (lambda t: t.split_text("\ud800", 3, boundaries=None), TypeError, "surrogate"),
        (
            lambda t: t.split_text("ab👍", 1, boundaries=None),
            ValueError,
            r"'👍' alone is \d tokens, and a chunk has room for 1",
        ),
        (lambda t: crayon_hf.Appender(t).append(1), TypeError, "text is int"),
        (lambda t: crayon_hf.Appender(t).append("\udc00"), TypeError, "lone surrogate"),
        (lambda t: crayon_hf.Appender(t).pop(1), ValueError, "characters is 1, expected 0 to 0"),
        (lambda t: crayon_hf.Appender(t).pop("1"), TypeError, "characters is str, expected int"),
    ],
)
def test_what_is_refused(tokenizer: crayon_hf.Tokenizer, call: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call(tokenizer)  # type: ignore[operator]


def test_dropout_has_no_one_count(gpt2_like: Path) -> None:
    tokenizer = crayon_hf.Tokenizer.from_file(gpt2_like)
    tokenizer.model.dropout = 0.5  # type: ignore[attr-defined]
    for call in (crayon_hf.Appender, lambda t: crayon_hf.TokenIndex(t, "a"), lambda t: t.truncate_text("a", 1)):
        with pytest.raises(crayon_hf.UnsupportedError, match="dropout"):
            call(tokenizer)


@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_what_users_hold(gpt2_like: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    fast = crayon_hf.CrayonTokenizerFast(tokenizer_file=str(gpt2_like))
    ranks = {bytes([i]): i for i in range(256)}
    encoding = tiktoken.Encoding("own", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<|x|>": 256})
    text = "a <|endoftext|> b <|x|>" * 20
    for held, ids in (
        (fast, fast.encode(text, add_special_tokens=False)),
        (encoding, encoding.encode_ordinary(text)),
    ):
        assert budgets.count_tokens(held, text) == crayon_hf.TokenIndex(held, text).count() == len(ids)
        assert budgets.count_tokens(held, [text], limit=5) == [6]
        assert [budgets.fits(held, text, len(ids) - i) for i in (0, 1)] == [True, False]
        part = budgets.truncate_text(held, text, 7)
        assert text.startswith(part)
        assert 0 < budgets.count_tokens(held, part) <= 7
        appender = crayon_hf.Appender(held)
        appender.append(text)
        assert appender.ids == ids
    fast.split_special_tokens = True
    assert budgets.count_tokens(fast, text) == len(fast.encode(text, add_special_tokens=False))
    with pytest.raises(TypeError, match="tokenizer is"):
        budgets.fits(PreTrainedTokenizerFast(tokenizer_file=str(gpt2_like)), text, 5)
