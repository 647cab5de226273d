"""Texts beyond the limits of a call give an error that says what to do, at once and without leftovers."""

from __future__ import annotations

from pathlib import Path

import pytest

from crayon_hf import Tokenizer, train_bpe
from tests.huge.repeated import Repeated, write

BEYOND = (1 << 32) + (1 << 20)


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
