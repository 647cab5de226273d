"""The chunks of `split_text` and `split_file` against the plain twin and the reference's counts, for random and hostile
texts."""

from __future__ import annotations

import io
import random
import re

import pytest
import tokenizers

import crayon_hf
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


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("a", 0), ValueError, "max_tokens is 0, expected at least 1"),
        (("a", -1), ValueError, "max_tokens is -1"),
        (("a", "3"), TypeError, "max_tokens is str"),
        (("a", 3, 3), ValueError, "overlap is 3, expected fewer than the 3"),
        (("a", 3, -1), ValueError, "overlap is -1"),
        ((b"a", 3), TypeError, "text is bytes"),
        (("\ud800", 3), TypeError, "surrogate"),
        (("ab👍", 1), ValueError, r"'👍' alone is \d tokens, and a chunk has room for 1"),
    ],
)
def test_what_cannot_be_is_refused(arguments, error, says, gpt2_like):
    with pytest.raises(error, match=says):
        crayon_hf.Tokenizer.from_file(str(gpt2_like)).split_text(*arguments, boundaries=None)


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
