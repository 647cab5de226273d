"""Transformers and SentencePiece as references: they agree with ours, and every difference is found, field by field."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from crayon_hf.parity.compare.records import Item, Mode, Outcome, compare_outcomes
from crayon_hf.parity.compare.suites import WINDOWS, WINDOWS_OF_PAIRS
from crayon_hf.parity.compare.transformers_side import (
    ReferenceDiedError,
    StockProcess,
    TransformersSide,
    open_tokenizer,
)

TEXTS = ("Hello, wörld! It's 2024.", "", "a", "[SEP] and <|endoftext|>", "\ud800", "x " * 40, "e\u0301 \u4f60\u597d")
ITEMS: list[Item] = [(text,) for text in TEXTS]
PAIRS: list[Item] = [(text, TEXTS[i - 1]) for i, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, template_like: Path) -> Path:
    path = tmp_path_factory.mktemp("sides") / "template"
    path.mkdir()
    shutil.copy(template_like, path / "tokenizer.json")
    (path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return path


@pytest.fixture(scope="module")
def stock(directory: Path) -> StockProcess:
    return StockProcess(str(directory))


@pytest.fixture(scope="module")
def ours(directory: Path) -> TransformersSide:
    opened = open_tokenizer("crayon_hf", str(directory))
    assert opened.backend_tokenizer.engine == "native"
    return TransformersSide(opened)


def differing(ours: Sequence[Outcome], reference: Sequence[Outcome]) -> list[set[str]]:
    pairs = zip(ours, reference, strict=True)
    return [{found.field for found in compare_outcomes(*pair)} for pair in pairs]


MODES = (Mode(), Mode(add_special_tokens=False), Mode(words=True), Mode(special_as_text=True), *WINDOWS_OF_PAIRS)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.label or "plain")
def test_ours_agrees_with_stock(ours: TransformersSide, stock: StockProcess, mode: Mode) -> None:
    for items in (PAIRS,) if mode not in (Mode(), *WINDOWS) else (ITEMS, PAIRS):
        expected = stock.outcomes(items, mode)
        assert differing(ours.outcomes(items, mode), expected) == [set()] * len(items)


@pytest.mark.slow
def test_where_crayon_is_imported_stock_is_not_stock(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the process for stock transformers imports crayon_hf, for example in a sitecustomize.py, it is refused as not
    stock."""
    (tmp_path / "sitecustomize.py").write_text("import sys, types; sys.modules['crayon_hf'] = types.ModuleType('x')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with pytest.raises(ReferenceDiedError, match="crayon_hf was imported there"):
        StockProcess(str(directory))


@pytest.mark.slow
def test_a_stock_that_dies_says_so(directory: Path) -> None:
    side = StockProcess(str(directory))
    side.child.process.kill()
    with pytest.raises(ReferenceDiedError, match="ended with code -9"):
        side.outcomes([("a",)], Mode())
    side.close()
