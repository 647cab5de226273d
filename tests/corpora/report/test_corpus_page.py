"""The page of a corpus in a real browser: readable in both themes and at any width, without network requests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.corpora.report.html import to_html
from crayon_hf.corpora.report.model import Bin, CorpusReport, Lengths, TokenCount
from tests.support.browser import WIDTHS, is_readable, opened, size

HOSTILE = "</style><script>alert(1)</script>\u202e\x00\"'&" + "w" * 300


def sample() -> CorpusReport:
    counts = {
        "documents": 1234, "tokens": 99_000, "text_bytes": 400_000, "input_bytes": 450_000, "bad_records": 3,
        "duplicates": 12, "held_out": 7, "not_chosen": 0,
    }  # fmt: skip
    bins = tuple(Bin(1 << n >> 1, (1 << n) - 1, 10 * n + 1) for n in range(14))
    return CorpusReport(
        directory="tokens/",
        format="parquet",
        tokenizer="gpt2",
        digest="ab" * 32,
        vocabulary=50257,
        counts=counts,
        sequences={"sequence_length": 128, "sequences": 774, "tokens": 99_072, "padding": 100, "dropped": 28},
        shards=3,
        output_bytes=123_456,
        lengths=Lengths("pieces", 924, 0, 60, 80.5, 120, 4000, 8191, bins),
        scripts={"Latin": 300_000, "Common": 90_000, **{f"Script_{n}": 50 - n for n in range(40)}},
        frequent=tuple(TokenCount(n, " the" if n % 2 else "\n", 5000 // (n + 1)) for n in range(60)),
        never_used=tuple(range(100, 900)),
        unused_texts=tuple(TokenCount(n, f"token{n}", 0) for n in range(100, 300)),
        bad_reasons={"it is not JSON": 2, "it has no 'text'": 1},
        held_out=counts,
    )


def hostile() -> CorpusReport:
    report = sample()
    token = TokenCount(7, HOSTILE, 3)
    return replace(
        report, directory=HOSTILE, tokenizer=HOSTILE, frequent=(token,), unused_texts=(token,), scripts={HOSTILE: 3},
        bad_reasons={HOSTILE: 1},
    )  # fmt: skip


def bare() -> CorpusReport:
    return replace(
        sample(), lengths=None, scripts=None, frequent=(), never_used=(), unused_texts=(), sequences=None,
        held_out=None, counts=dict.fromkeys(sample().counts, 0),
    )  # fmt: skip


SAMPLES = {"sample": sample, "hostile": hostile, "bare": bare}


def test_what_it_says() -> None:
    page = to_html(sample())
    for said in ("Lengths of pieces", "12 other scripts", "duplicates left out", "1,234 documents", "not JSON"):
        assert said in page
    assert page.count("<section ") == 6
    assert "Every id is used" in to_html(bare())


def test_foreign_text_is_escaped() -> None:
    page = to_html(hostile())
    assert page.count("<script>") == 1
    assert "alert(1)" in page
    assert "\u202e" not in page
    assert "\\u202e" in page
    assert "\x00" not in page


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_in_a_browser(browser: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(to_html(SAMPLES[name]()), encoding="utf-8")
    with opened(browser, path, viewport=size(1280)) as page:
        is_readable(page, 20)
        for width in WIDTHS:
            page.set_viewport_size(size(width))
            assert page.evaluate("document.documentElement.scrollWidth") == width
