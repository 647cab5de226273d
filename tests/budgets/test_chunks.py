"""Chunks: beside the plain twin, counted by the reference, for random and for hostile texts."""

from __future__ import annotations

import io
import random
import re
from functools import partial
from itertools import pairwise

import pytest
import tokenizers

import crayon_hf
from crayon_hf.budgets import files
from crayon_hf.budgets.chunks import Splitter
from tests.budgets.plain_chunks import PlainIndex, every_place, spans
from tests.support.random_texts import hostile_texts, random_text

WORDS = re.compile(r"\s+")
"""A boundary that needs no extra."""


def check(chunks, text, stock, max_tokens, overlap, special=False):
    """What holds of chunks, whatever the text: `stock` is the reference."""
    data = text.encode()
    assert "".join(text[max(a.end, b.start) : b.end] for a, b in pairwise([EMPTY, *chunks])) == text
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end] == data[chunk.byte_start : chunk.byte_end].decode()
        assert chunk.ids == stock.encode(chunk.text, add_special_tokens=special).ids
        assert len(chunk.ids) <= max_tokens
    for a, b in pairwise(chunks):
        assert a.start < b.start <= a.end < b.end
        assert len(stock.encode(text[b.start : a.end], add_special_tokens=False).ids) <= overlap


WITH_ICU = partial(pytest.param, marks=pytest.mark.slow)
EMPTY = crayon_hf.budgets.Chunk("", 0, 0, 0, 0, [])


@pytest.mark.parametrize("kind", ["any", "wordpiece_like"])
@pytest.mark.parametrize("boundaries", [WITH_ICU("paragraph"), WITH_ICU("word"), ["paragraph", WORDS], None], ids=str)
def test_random_texts_are_split_as_the_twin_does(kind, boundaries, request):
    if isinstance(boundaries, str):
        pytest.importorskip("icu4py")
    names = ["gpt2_like", "llama3_like", "qwen_like", "roberta_like", "template_like"] if kind == "any" else [kind]
    drawn = random.Random(11)
    for name in names:
        path = str(request.getfixturevalue(name))
        tokenizer, stock = crayon_hf.Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(path)
        for _ in range(6):
            text = random_text(drawn, drawn.choice([0, 3, 20, 60]))
            room = drawn.choice([12, 16, 30, 100])
            overlap = drawn.choice([0, 0, 1, 4, room - 1])
            chunks = tokenizer.split_text(text, room, overlap, boundaries)
            expected = spans(PlainIndex(tokenizer, text), every_place(text, boundaries), room, overlap)
            assert [(chunk.start, chunk.end) for chunk in chunks] == expected
            check(chunks, text, stock, room, overlap)


@pytest.mark.slow
def test_files_are_split_as_texts_are(llama3_like, monkeypatch, tmp_path):
    pytest.importorskip("icu4py")
    tokenizer = crayon_hf.Tokenizer.from_file(str(llama3_like))
    drawn = random.Random(12)
    for size in (64, 200, 1000):
        monkeypatch.setattr(files, "WINDOW", size)
        for _ in range(6):
            # Lines that are short beside the window: of longer ones nothing is promised.
            text = "\n".join(random_text(drawn, 4)[:20] for _ in range(60))
            overlap = drawn.choice([0, 3])
            expected = tokenizer.split_text(text, 14, overlap)
            path = tmp_path / "text"
            path.write_bytes(text.encode())
            assert list(tokenizer.split_file(path, 14, overlap)) == expected
            assert list(tokenizer.split_file(io.BytesIO(text.encode()), 14, overlap)) == expected


def test_long_lines_of_files_are_split_to_whole_texts(llama3_like, monkeypatch):
    tokenizer, stock = crayon_hf.Tokenizer.from_file(str(llama3_like)), tokenizers.Tokenizer.from_file(str(llama3_like))
    monkeypatch.setattr(files, "WINDOW", 100)
    for text in ("aé" * 500, "word and " * 200, "👩‍👩‍👧‍👦" * 80):
        check(list(tokenizer.split_file(io.BytesIO(text.encode()), 20, 2, [WORDS])), text, stock, 20, 2)


def test_a_file_is_read_as_it_is_split(gpt2_like):
    """After the first chunk of an endless file no more than a window has been read."""

    class Endless(io.RawIOBase):
        given = 0

        def readinto(self, view):
            line = b"All work and no play makes Jack a dull boy.\n\n"
            view[:] = (line * (len(view) // len(line) + 1))[: len(view)]
            self.given += len(view)
            return len(view)

        def readable(self):
            return True

    endless = Endless()
    chunks = crayon_hf.Tokenizer.from_file(str(gpt2_like)).split_file(endless, 50, boundaries=["paragraph"])
    assert next(chunks).start == 0
    assert endless.given == files.WINDOW


def test_what_is_no_utf8_is_named_by_its_byte(gpt2_like, monkeypatch):
    tokenizer = crayon_hf.Tokenizer.from_file(str(gpt2_like))
    monkeypatch.setattr(files, "WINDOW", 16)
    for data in (b"ab\n" * 20 + b"x\xff", "é\n".encode() * 20 + b"x\xe2\x82"):
        with pytest.raises(crayon_hf.InvalidUtf8Error, match="offset 61"):
            list(tokenizer.split_file(io.BytesIO(data), 8, boundaries=None))


@pytest.mark.parametrize("text", hostile_texts(), ids=lambda text: repr(text[:12]))
def test_hostile_texts(text, qwen_like, template_like):
    for path in (str(qwen_like), str(template_like)):
        tokenizer, stock = crayon_hf.Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(path)
        for boundaries in (["paragraph"], [WORDS], None):
            for overlap in (0, 7):
                check(tokenizer.split_text(text, 24, overlap, boundaries), text, stock, 24, overlap)


def test_special_tokens_count_and_are_in_the_ids(template_like):
    tokenizer = crayon_hf.Tokenizer.from_file(str(template_like))
    stock = tokenizers.Tokenizer.from_file(str(template_like))
    text = "One two three, four [L] five.\n\nSix [R]  seven crayon eight." * 3
    chunks = tokenizer.split_text(text, 12, 3, None, add_special_tokens=True)
    check(chunks, text, stock, 12, 3, special=True)
    first, last = stock.token_to_id("[CLS]"), stock.token_to_id("[SEP]")
    assert all(chunk.ids[0] == first and chunk.ids[-1] == last for chunk in chunks)
    with pytest.raises(ValueError, match="max_tokens is 2, expected at least 3"):
        tokenizer.split_text(text, 2, boundaries=None, add_special_tokens=True)


def test_stripped_chunks(gpt2_like):
    tokenizer = crayon_hf.Tokenizer.from_file(str(gpt2_like))
    text = "  é one\n\n \n two \n\n" + " " * 90 + "three"
    chunks = tokenizer.split_text(text, 6, boundaries=[WORDS], strip=True)
    assert "".join(text.split()) == "".join("".join(chunk.text.split()) for chunk in chunks)
    for chunk in chunks:
        assert chunk.text == chunk.text.strip() == text[chunk.start : chunk.end]
        assert text.encode()[chunk.byte_start : chunk.byte_end].decode() == chunk.text
        assert chunk.ids == tokenizer.encode(chunk.text).ids
    assert tokenizer.split_text("  \n\n ", 4, boundaries=None, strip=True) == []


def test_an_overlap_never_cuts_a_piece(gpt2_like):
    """Paragraphs that fit a chunk are whole in each, with as much of the one before as there is room for."""
    tokenizer = crayon_hf.Tokenizer.from_file(str(gpt2_like))
    paragraphs = [f"Paragraph {number} has some words in it.\n\n" for number in range(10)]
    most = max(tokenizer.count_tokens(each) for each in paragraphs)
    for overlap in (0, 3, most - 1):
        chunks = tokenizer.split_text("".join(paragraphs), most + 4, overlap, ["paragraph", WORDS])
        assert len(chunks) == 10
        assert all(chunk.text.endswith(each) for chunk, each in zip(chunks, paragraphs, strict=True))
        assert all(len(chunk.text) > len(each) for chunk, each in zip(chunks[1:], paragraphs[1:], strict=True)) == (
            overlap > 0
        )


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


@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_a_delegated_tokenizer(gpt2_like):
    stock = tokenizers.Tokenizer.from_file(str(gpt2_like))
    pattern = tokenizers.Regex(r"\w+|\X")
    stock.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(pattern, "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(False, use_regex=False),
        ]
    )
    tokenizer = crayon_hf.Tokenizer.from_tokenizers(stock)
    assert tokenizer.engine == "delegated"
    text = random_text(random.Random(14), 150)
    for overlap in (0, 4):
        check(tokenizer.split_text(text, 14, overlap, ["paragraph", WORDS]), text, stock, 14, overlap)


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


@pytest.mark.parametrize("boundaries", [None, WORDS, WITH_ICU("word")])
def test_errors_say_which_text_and_where(llama3_like, boundaries):
    tokenizer = crayon_hf.Tokenizer.from_file(str(llama3_like))
    if boundaries == "word":
        pytest.importorskip("icu4py")
    text = "one two " * 5000 + "\ud800"
    with pytest.raises(TypeError, match=r"text has a lone surrogate, .*U\+D800 at 40000"):
        tokenizer.split_text(text, 100, 0, boundaries)
    with pytest.raises(TypeError, match="text 1 has a lone surrogate"):
        tokenizer.split_batch(["a", text], 100, 0, boundaries)
    with pytest.raises(TypeError, match="text 1 is int, expected str"):
        tokenizer.split_batch(["a", 3], 100, 0, boundaries)


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


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "7", "👩\u200d🚀", "e\u0301", " ", "word, ", "<|endoftext|>", "\r"], ids=repr)
def test_a_megabyte_of_one_thing(unit, qwen_like):
    path = str(qwen_like)
    tokenizer, stock = crayon_hf.Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(path)
    text = unit * (1_000_000 // len(unit.encode()))
    for boundaries in (["paragraph"], None):
        check(tokenizer.split_text(text, 1000, 10, boundaries), text, stock, 1000, 10)
    check(list(tokenizer.split_file(io.BytesIO(text.encode()), 1000, 0, None)), text, stock, 1000, 0)
