"""Transformers and SentencePiece as references: they agree with ours, and whatever differs is found, field by field."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import AutoTokenizer, Tokenizer
from crayon_hf.parity.compare.records import Item, Mode, Outcome, compare_outcomes
from crayon_hf.parity.compare.sentencepiece_side import OurPiecesSide, SentencePieceSide
from crayon_hf.parity.compare.suites import WINDOWS, WINDOWS_OF_PAIRS
from crayon_hf.parity.compare.transformers_side import (
    NotStockError,
    ReferenceDiedError,
    StockProcess,
    TransformersSide,
    open_tokenizer,
)
from crayon_hf.parity.report.run import make_report

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


MODES = (
    Mode(),
    Mode(add_special_tokens=False),
    Mode(words=True),
    Mode(special_as_text=True),
    *WINDOWS_OF_PAIRS,
)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.label or "plain")
def test_ours_agrees_with_stock(ours: TransformersSide, stock: StockProcess, mode: Mode) -> None:
    for items in (PAIRS,) if mode not in (Mode(), *WINDOWS) else (ITEMS, PAIRS):
        expected = stock.outcomes(items, mode)
        assert differing(ours.outcomes(items, mode), expected) == [set()] * len(items)


def test_everything_is_compared(stock: StockProcess) -> None:
    plain = stock.outcomes([("Hello, world",)], Mode())[0].fields
    assert set(plain) == set(TransformersSide.FIELDS) - {"overflowing", "arrays"}
    assert plain["special_tokens_mask"][0] == 1
    assert plain["decoded_with_special"].startswith("[CLS]")
    encoding, single = dict(plain["encoding"]), dict(plain["single"])
    assert encoding["ids"] == plain["input_ids"] == single["input_ids"]
    assert encoding["offsets"] == plain["offset_mapping"]
    (cut,) = stock.outcomes([("one two three four five six seven eight",)], WINDOWS[0])
    assert set(cut.fields) == set(TransformersSide.FIELDS)
    assert len(cut.fields["overflowing"]) >= 1
    dtype, shape, row = dict(cut.fields["arrays"])["input_ids"]
    assert (dtype, shape) == ("int64", (len(row),))


def test_both_sides_pad(stock: StockProcess) -> None:
    rows = [
        outcome.fields["attention_mask"] for outcome in stock.outcomes([("a",), ("a b c d e f",)], Mode(pad="left"))
    ]
    assert len(rows[0]) == len(rows[1])
    assert rows[0][0] == 0
    assert stock.outcomes([("a",)], Mode(pad="right", pad_length=12))[0].fields["attention_mask"][-1] == 0


def test_an_error_is_an_outcome(stock: StockProcess) -> None:
    (outcome,) = stock.outcomes([("\ud800",)], Mode())
    assert outcome.error


def test_stock_is_stock(directory: Path, stock: StockProcess) -> None:
    import transformers

    opened = open_tokenizer("transformers", str(directory))
    assert type(opened.backend_tokenizer) is tokenizers.Tokenizer
    assert isinstance(transformers.AutoTokenizer.from_pretrained(str(directory)), type(opened))
    expected = TransformersSide(opened).outcomes(PAIRS, Mode())
    assert differing(stock.outcomes(PAIRS, Mode()), expected) == [set()] * len(PAIRS)


@pytest.mark.slow
def test_where_crayon_is_imported_stock_is_not_stock(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Say, by a file that Python runs at its start."""
    (tmp_path / "sitecustomize.py").write_text("import sys, types; sys.modules['crayon_hf'] = types.ModuleType('x')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with pytest.raises(ReferenceDiedError, match="crayon_hf was imported there"):
        StockProcess(str(directory))


@pytest.mark.slow
def test_a_directory_that_stock_does_not_open(tmp_path: Path) -> None:
    with pytest.raises(ReferenceDiedError, match="does not open"):
        StockProcess(str(tmp_path))


@pytest.mark.slow
def test_a_stock_that_dies_says_so(directory: Path) -> None:
    side = StockProcess(str(directory))
    side._process.kill()
    with pytest.raises(ReferenceDiedError, match="ended with code -9"):
        side.outcomes([("a",)], Mode())
    side.close()


def test_a_slow_tokenizer_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    class Slow:
        is_fast = False

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *_, **__: Slow())
    with pytest.raises(NotStockError, match="Slow only in Python"):
        open_tokenizer("crayon_hf", str(directory))


# -- what differs is found


class Wrong:
    """A tokenizer whose results are changed on their way out."""

    def __init__(self, tokenizer: Any, change: Callable[[Any], Any], decode: Callable[[str], str] = str) -> None:
        self._tokenizer, self._change, self._decode = tokenizer, change, decode

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            self.__dict__[name] = value
        else:
            setattr(self._tokenizer, name, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._change(self._tokenizer(*arguments, **named))

    def batch_decode(self, *arguments: Any, **named: Any) -> list[str]:
        return [self._decode(text) for text in self._tokenizer.batch_decode(*arguments, **named)]


def column(name: str, at: int, value: Any) -> Callable[[Any], Any]:
    """One value of one row of one column, of batches alone."""

    def change(encoded: Any) -> Any:
        if isinstance(encoded["input_ids"][0], list) and name in encoded:
            encoded[name][-1][at] = value
        return encoded

    return change


def of_single(encoded: Any) -> Any:
    if isinstance(encoded["input_ids"], list) and isinstance(encoded["input_ids"][0], int):
        encoded["attention_mask"][0] ^= 1
    return encoded


def of_arrays(encoded: Any) -> Any:
    if not isinstance(encoded["input_ids"], list):
        encoded["attention_mask"] = encoded["attention_mask"].astype("int32")
    return encoded


def last_window(encoded: Any) -> Any:
    if "overflow_to_sample_mapping" in encoded and len(encoded["input_ids"]) > 1:
        encoded["offset_mapping"][-1][1] = (0, 99)
    return encoded


@pytest.mark.parametrize(
    ("change", "mode", "found"),
    [
        (column("input_ids", 1, 0), Mode(), {"input_ids", "decoded", "decoded_with_special"}),
        (column("offset_mapping", 1, (0, 2)), Mode(), {"offset_mapping"}),
        (column("attention_mask", 1, 0), Mode(), {"attention_mask"}),
        (column("special_tokens_mask", 1, 1), Mode(), {"special_tokens_mask"}),
        (column("token_type_ids", 1, 1), Mode(), {"token_type_ids"}),
        (of_single, Mode(), {"single"}),
        (of_arrays, Mode(pad="right"), {"arrays"}),
        (last_window, WINDOWS[0], {"overflowing"}),
    ],
    ids=["id", "offset", "attention", "special", "type", "single", "array", "window"],
)
def test_a_single_value_is_found(
    directory: Path, stock: StockProcess, change: Callable[[Any], Any], mode: Mode, found: set[str]
) -> None:
    wrong = TransformersSide(Wrong(open_tokenizer("crayon_hf", str(directory)), change))
    items: list[Item] = [("one two three four five six seven eight nine ten",)]
    assert differing(wrong.outcomes(items, mode), stock.outcomes(items, mode)) == [found]


def test_another_text_is_found(directory: Path, stock: StockProcess) -> None:
    opened = open_tokenizer("crayon_hf", str(directory))
    wrong = TransformersSide(Wrong(opened, lambda encoded: encoded, str.upper))
    items: list[Item] = [("hello",), ("123",)]
    found = differing(wrong.outcomes(items, Mode()), stock.outcomes(items, Mode()))
    assert found == [{"decoded", "decoded_with_special"}, set()]


# -- SentencePiece


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory, training_text: list[str]) -> Path:
    sentencepiece = pytest.importorskip("sentencepiece")
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text),
        model_writer=out,
        vocab_size=1000,
        model_type="unigram",
        character_coverage=0.98,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("sides-pieces") / "small.model"
    path.write_bytes(out.getvalue())
    return path


@pytest.mark.slow
def test_sentencepiece(pieces: Path) -> None:
    import sentencepiece

    reference = SentencePieceSide(sentencepiece.SentencePieceProcessor(model_file=str(pieces)))
    tokenizer = Tokenizer.from_file(pieces)
    items: list[Item] = [(text,) for text in (*TEXTS[:4], *TEXTS[5:], "\u2603 unknown")]
    expected = reference.outcomes(items, Mode())
    assert set(expected[0].fields) == set(SentencePieceSide.FIELDS)
    assert "<unk>" in expected[-1].fields["pieces"]
    assert differing(OurPiecesSide(tokenizer).outcomes(items, Mode()), expected) == [set()] * len(items)

    class WrongText:
        encode_batch, encode = tokenizer.encode_batch, tokenizer.encode
        id_to_token = tokenizer.id_to_token

        def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
            return tokenizer.decode(ids, skip_special_tokens) + "!"

    assert differing(OurPiecesSide(WrongText()).outcomes(items, Mode()), expected) == [{"decoded"}] * len(items)


@pytest.mark.slow
def test_a_report_against_sentencepiece(pieces: Path, tmp_path: Path) -> None:
    text = tmp_path / "own.txt"
    text.write_text("Some plain words, cafés and 42 more.\n" * 200, encoding="utf-8")
    report = make_report(str(pieces), strings=80, texts=[text], rounds=1)
    assert report.agreed, report.differences
    assert (report.target.name, report.target.kind) == ("small", "a SentencePiece model")
    assert [suite.name for suite in report.suites] == ["strings", "tokens", "own"]
    assert report.suites[0].inputs < 80  # those with lone surrogates are left out
    assert len(report.speeds) == 5, report.notes
    assert all(speed.ours and speed.reference for speed in report.speeds)
