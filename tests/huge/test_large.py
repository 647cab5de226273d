"""Batches of more than 2^32 bytes and 2^31 ids, files of 5 GB, and texts beyond the limits of a call."""

from __future__ import annotations

import json
import mmap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from crayon_hf import Tokenizer, _core, train_bpe
from tests.huge.conftest import TAIL, Repeated, write

BEYOND = (1 << 32) + (1 << 22)


@pytest.mark.gigabytes(11)
def test_a_batch(byte_level: Repeated) -> None:
    """A batch that has one block several thousand times: 5 GB of text, 2 * 10^9 ids."""
    tokenizer = Tokenizer.from_file(byte_level.vocabulary)
    times = 5_000_000_000 // len(byte_level.block) + 1
    texts = [byte_level.block] * times
    assert tokenizer.count_tokens(texts, add_special_tokens=False) == [len(byte_level.ids)] * times
    ids, splits = tokenizer.encode_ragged(texts, add_special_tokens=False)
    assert np.array_equal(splits, np.arange(times + 1) * len(byte_level.ids))
    byte_level.compare([ids], times, tail=False)


@pytest.mark.gigabytes(8)
def test_one_text_as_a_range(byte_level: Repeated, scratch: Path) -> None:
    """A mapped file of 5 GB is encoded as one text and as two."""
    engine = Tokenizer.from_file(byte_level.vocabulary)._engine
    times = write(scratch / "text.txt", byte_level.block, BEYOND)
    middle, end = (times - 1) * len(byte_level.block), times * len(byte_level.block) + len(TAIL)
    with open(scratch / "text.txt", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        ids, splits = engine.encode_ranges(data, [0, middle], [middle, end], False, dtype="uint16")
        assert _core.utf8_errors(data, [0, middle], [middle, end]).tolist() == [-1, -1]
    assert splits.tolist() == [0, (times - 1) * len(byte_level.ids), len(ids)]
    byte_level.compare([ids], times)


@pytest.mark.gigabytes(12)
def test_more_than_2_to_the_31_ids(qwen_like: Path, scratch: Path) -> None:
    """A text of digits has more than 2^31 ids, since each digit is a token."""
    one = Repeated(qwen_like, b"0123456789 " * 10_000, b"7")
    times = write(scratch / "digits.txt", one.block, (1 << 31) + (1 << 28), b"7")
    engine = Tokenizer.from_file(qwen_like)._engine
    with open(scratch / "digits.txt", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        ids, splits = engine.encode_ranges(data, [0], [len(data)], False, dtype="uint16")
    assert len(ids) > 1 << 31
    assert splits.tolist() == [0, len(ids)]
    one.compare([ids], times)


@pytest.mark.gigabytes(8)
def test_one_thread_and_text_tables(text_tables: Repeated, scratch: Path) -> None:
    """A text is cut even for one thread, because positions in pieces have 32 bits."""
    engine = Tokenizer.from_file(text_tables.vocabulary)._engine
    times = write(scratch / "text.txt", text_tables.block, BEYOND)
    with open(scratch / "text.txt", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        ids, _ = engine.encode_ranges(data, [0], [len(data)], False, threads=1, dtype="uint16")
    text_tables.compare([ids], times)


@pytest.mark.gigabytes(14)
def test_text_of_more_than_2_to_the_32_bytes(byte_level: Repeated) -> None:
    """More than 2^31 ids of a token of two bytes are decoded. The ids are zeros, which take no memory."""
    source = json.loads(byte_level.vocabulary.read_bytes())
    vocab = source["model"]["vocab"]
    two = next(token for token in vocab if len(token) == 2 and token.isascii())
    first = next(token for token, id in vocab.items() if id == 0)
    vocab[two], vocab[first] = 0, vocab[two]
    source["added_tokens"] = []
    engine = Tokenizer.from_str(json.dumps(source))._engine
    n = (1 << 31) + (1 << 20)
    text = engine.decode_bytes(np.zeros(n, np.int32))
    assert len(text) == 2 * n > 1 << 32
    assert text.count(two.encode()) == n


@pytest.mark.gigabytes(6)
def test_lines_of_json(byte_level: Repeated) -> None:
    """A block of more than 4 GiB of JSON lines with escapes, which are unescaped in place."""
    line = b'{"id": 1, "text": "' + b"A line\\nand \\u00fc. " * 5000 + b'"}\n'
    wanted = ("A line\nand \u00fc. " * 5000).encode()
    times = BEYOND // len(line) + 1
    block = mmap.mmap(-1, times * len(line))
    for i in range(times):
        block[i * len(line) : (i + 1) * len(line)] = line
    lines = _core.read_json_lines(block, len(block), ["text"])
    assert np.array_equal(lines.line_begins, np.arange(times + 1) * len(line))
    assert not lines.status.any()
    begins, ends = lines.begins[:, 0], lines.ends[:, 0]
    assert (ends - begins == len(wanted)).all()
    for i in {0, 1, times // 2, times - 2, times - 1}:
        assert block[begins[i] : ends[i]] == wanted
    engine = Tokenizer.from_file(byte_level.vocabulary)._engine
    few = slice(times - 3, times)
    ids, splits = engine.encode_ranges(block, begins[few], ends[few], False)
    one = byte_level.reference.encode(wanted.decode(), add_special_tokens=False).ids
    assert [ids[a:b].tolist() for a, b in pairwise(splits)] == [one] * 3


# -- files


def test_ids_of_a_file(byte_level: Repeated, scratch: Path) -> None:
    tokenizer = Tokenizer.from_file(byte_level.vocabulary)
    times = write(scratch / "text.txt", byte_level.block, 5_000_000_000)
    chunks = tokenizer.encode_file(scratch / "text.txt", add_special_tokens=False)
    byte_level.compare((chunk.ids for chunk in chunks), times)


def test_offsets_of_a_file(byte_level: Repeated, scratch: Path) -> None:
    tokenizer = Tokenizer.from_file(byte_level.vocabulary)
    times = write(scratch / "text.txt", byte_level.block, BEYOND)
    at = 0
    for chunk in tokenizer.encode_file(scratch / "text.txt", offsets=True, add_special_tokens=False):
        assert chunk.offsets is not None
        numbers = np.arange(at, at + len(chunk.ids))
        at += len(chunk.ids)
        numbers = numbers[numbers < times * len(byte_level.ids)]
        blocks, places = np.divmod(numbers, len(byte_level.ids))
        want = byte_level.offsets[places] + len(byte_level.block) * blocks[:, None]
        assert np.array_equal(chunk.offsets[: len(numbers)], want)
    assert int(chunk.offsets[-1, 1]) == chunk.end == times * len(byte_level.block) + len(TAIL)
    assert chunk.end > 1 << 32


# -- refusals


@pytest.mark.gigabytes(6)
def test_an_encoding_of_4_gib(byte_level: Repeated) -> None:
    tokenizer = Tokenizer.from_file(byte_level.vocabulary)
    text = "ab " * (BEYOND // 3)
    with pytest.raises(ValueError, match="4 GiB"):
        tokenizer.encode(text)
    assert tokenizer.decode(tokenizer.encode("ab").ids) == "ab"


def test_training_on_a_file(byte_level: Repeated, scratch: Path) -> None:
    """Training on a file has no limit of size. Every count is a multiple of the block's, so the merges are the
    block's."""
    times = write(scratch / "text.txt", byte_level.block, BEYOND, b"")
    one = scratch / "block.txt"
    one.write_bytes(byte_level.block)
    large, small = (
        train_bpe(str(path), vocab_size=1000, pattern="gpt2", show_progress=False)
        for path in (scratch / "text.txt", one)
    )
    assert large.get_vocab() == small.get_vocab()
    assert times > 4000


@pytest.mark.gigabytes(7)
def test_training_on_one_word_of_a_gibibyte() -> None:
    with pytest.raises(ValueError, match="billion"):
        train_bpe(iter(["a" * ((1 << 30) + 1)]), vocab_size=300, pattern="gpt2", show_progress=False)
