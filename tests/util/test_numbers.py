"""Counts and sizes with units are parsed, and sizes are shown with units."""

from __future__ import annotations

import pytest

from crayon_hf.util.numbers import count_of, shown_size, size_of


def test_counts() -> None:
    counts = {"0": 0, "32000": 32_000, "32k": 32_000, "1.5M": 1_500_000, "2G": 2 * 10**9, "3B": 3 * 10**9}
    for text, number in counts.items():
        assert count_of(text) == count_of(text.lower()) == number
    for text in ("", "k", "-1", "1.0001k", "1e3", "32kk", " 5", "٣", "1_000", "1,000"):
        with pytest.raises(ValueError, match="number"):
            count_of(text)


def test_sizes() -> None:
    sizes = {"7": 7, "16M": 16 << 20, "16mb": 16 << 20, "1KiB": 1024, "2G": 2 << 30, "1T": 1 << 40}
    for text, number in sizes.items():
        assert size_of(text) == number
    for text in ("", "M", "1.5G", "-1", "5X", "²"):
        with pytest.raises(ValueError, match="number of bytes"):
            size_of(text)
    assert [shown_size(size) for size in (0, 1, 1023, 1024, 5 << 30, 3 << 40)] == [
        "0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "5.0 GiB", "3.0 TiB",
    ]  # fmt: skip
