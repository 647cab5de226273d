"""Arrow columns of texts become columns of ids, for every layout of strings, also sliced and damaged."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

pytest.importorskip("pyarrow")

import pyarrow as pa

from crayon_hf import CorpusError, InvalidUtf8Error, Tokenizer
from crayon_hf.corpora import arrow_columns
from crayon_hf.corpora.arrow_columns import tokenize_column
from crayon_hf.corpora.formats import columnar
from tests.conftest import SENTENCES
from tests.support.versions import before_1

pytestmark = pytest.mark.slow

TEXTS = [*SENTENCES, None, "", "<|begin_of_text|>", "x", "twelve bytes", "thirteen bytes", None, *SENTENCES[::-1]]
KINDS = {
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "string_view": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "dictionary_of_large": lambda texts: pa.array(texts, pa.large_string()).dictionary_encode(),
    "dictionary_with_null": lambda texts: pa.DictionaryArray.from_arrays(
        pa.array([1 + i for i in range(len(texts))], pa.int16()), pa.array(["never", *texts])
    ),
}


@pytest.fixture(scope="module")
def ours(llama3_like: Path) -> Tokenizer:
    return Tokenizer.from_file(llama3_like)


@pytest.fixture(scope="module")
def stock(llama3_like: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(llama3_like))


def listed(stock: tokenizers.Tokenizer, texts: list[str | None], special: bool = True) -> list[list[int] | None]:
    """The ids that ``tokenizers`` gives for each text; None for a null."""
    return [None if text is None else stock.encode(text, add_special_tokens=special).ids for text in texts]


@pytest.mark.parametrize("kind", KINDS)
def test_every_layout(ours: Tokenizer, stock: tokenizers.Tokenizer, kind: str) -> None:
    whole = KINDS[kind](TEXTS)
    expected = listed(stock, TEXTS)
    for begin, end in ((0, len(TEXTS)), (1, len(TEXTS)), (7, 15), (11, 12), (12, 12), (len(TEXTS), len(TEXTS))):
        ids = tokenize_column(ours, whole[begin:end])
        ids.validate(full=True)
        assert ids.type == pa.list_(pa.int32())
        assert ids.to_pylist() == expected[begin:end]


@pytest.mark.parametrize("kind", KINDS)
def test_chunks(ours: Tokenizer, stock: tokenizers.Tokenizer, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = KINDS[kind](TEXTS)
    expected = listed(stock, TEXTS)
    generator = random.Random(3)
    for small in (1 << 20, 100, 0):  # joins all chunks, some chunks, no chunks
        monkeypatch.setattr(arrow_columns, "_SMALL", small)
        places = sorted(generator.choices(range(len(TEXTS) + 1), k=9))
        pieces = [whole[a:b] for a, b in zip([0, *places], [*places, len(TEXTS)], strict=True)]
        column = pa.chunked_array(pieces)
        ids = tokenize_column(ours, column)
        ids.validate(full=True)
        assert isinstance(ids, pa.ChunkedArray)
        assert ids.to_pylist() == expected
        assert tokenize_column(ours, column[5:9]).to_pylist() == expected[5:9]
    assert tokenize_column(ours, pa.chunked_array([], whole.type)).type == pa.list_(pa.int32())


def test_options(ours: Tokenizer, stock: tokenizers.Tokenizer) -> None:
    texts = pa.array(TEXTS)
    plain = listed(stock, TEXTS, special=False)
    assert tokenize_column(ours, texts, add_special_tokens=False).to_pylist() == plain
    ended = [ids if ids is None else [*ids, 7, 8] for ids in plain]
    assert tokenize_column(ours, texts, add_special_tokens=False, suffix=[7, 8]).to_pylist() == ended
    only_full = [[] if ids == [] else more for ids, more in zip(plain, ended, strict=True)]
    got = tokenize_column(ours, texts, add_special_tokens=False, suffix=[7, 8], suffix_empty=False, threads=1)
    assert got.to_pylist() == only_full != ended


def test_of_transformers(llama3_like: Path) -> None:
    """For a tokenizer of transformers, the column has the ids of calling it. Its attribute decides whether special
    tokens are read as text."""
    from crayon_hf import CrayonTokenizerFast

    tokenizer = CrayonTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_file(str(llama3_like)))
    texts = [*SENTENCES, "<|begin_of_text|>x"]
    for as_text in (False, True):
        tokenizer.split_special_tokens = as_text
        got = tokenize_column(tokenizer, pa.array(texts)).to_pylist()
        assert got == tokenizer(texts)["input_ids"]


@before_1("components written in Python")
def test_delegated(llama3_like: Path, stock: tokenizers.Tokenizer) -> None:
    tokenizer = Tokenizer.from_file(llama3_like)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(_Whole())
    with pytest.warns(match="not supported"):
        got = tokenize_column(tokenizer, pa.array(["ab cd", None, ""]), suffix=[5])
    with pytest.raises(OverflowError, match="4294967296"):
        tokenize_column(tokenizer, pa.array(["ab cd"]), suffix=[1 << 32])
    assert got.to_pylist() == [[*tokenizer.encode("ab cd").ids, 5], None, [*tokenizer.encode("").ids, 5]]


class _Whole:
    def pre_tokenize(self, text: Any) -> None:
        """Keep the text in one piece."""


def test_more_ids_than_offsets_count(
    ours: Tokenizer, stock: tokenizers.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 2**31 ids, the end of int32 offsets, would take 8 GB, so the test lets offsets end at 100."""
    monkeypatch.setattr(columnar, "MOST_IDS", 100)
    expected = listed(stock, TEXTS)
    most = max(len(ids) for ids in expected if ids)
    assert most <= 100 < sum(len(ids) for ids in expected if ids)
    whole = tokenize_column(ours, pa.array(TEXTS))
    whole.validate(full=True)
    assert whole.type == pa.large_list(pa.int32())
    assert whole.to_pylist() == expected
    cut = tokenize_column(ours, pa.chunked_array([TEXTS, [None], TEXTS[3:]]))
    cut.validate(full=True)
    assert cut.type == pa.list_(pa.int32())
    assert all(len(chunk.values) <= 100 for chunk in cut.chunks)
    assert cut.to_pylist() == [*expected, None, *expected[3:]]
    monkeypatch.setattr(columnar, "MOST_IDS", most - 1)
    with pytest.raises(CorpusError, match=f"the column has a text of {most} tokens"):
        tokenize_column(ours, pa.chunked_array([TEXTS]))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"bytes"]),
        pa.array([["a"]]),
        pa.array([1, 2]).dictionary_encode(),
        pa.chunked_array([[0.5]]),
        pa.chunked_array([], pa.date32()),
    ],
    ids=lambda column: f"{type(column).__name__}-{column.type}",
)
def test_other_types(ours: Tokenizer, column: Any) -> None:
    with pytest.raises(CorpusError, match="expected string"):
        tokenize_column(ours, column)
    with pytest.raises(TypeError, match="column is list"):
        tokenize_column(ours, ["text"])
    with pytest.raises(TypeError, match="tokenizer is str"):
        tokenize_column("lite", pa.array(["text"]))


def test_nothing_but_nulls(ours: Tokenizer) -> None:
    for column in (pa.nulls(3), pa.nulls(3, pa.string()), pa.nulls(3, pa.string()).dictionary_encode()):
        assert tokenize_column(ours, pa.chunked_array([column])).to_pylist() == [None] * 3


def damaged() -> pa.Array:
    """A column of four rows: "ab", a null whose bytes are invalid UTF-8, invalid UTF-8, and "d"."""
    offsets = pa.py_buffer(np.array([0, 2, 3, 6, 7], np.int32))
    return pa.Array.from_buffers(pa.string(), 4, [pa.py_buffer(b"\x0d"), offsets, pa.py_buffer(b"ab\xffc\xe9ed")])


def test_damaged_text(ours: Tokenizer, stock: tokenizers.Tokenizer) -> None:
    array = damaged()
    with pytest.raises(InvalidUtf8Error, match="the column is not UTF-8 in row 2, byte 1 of the text"):
        tokenize_column(ours, array)
    with pytest.raises(InvalidUtf8Error, match="column 'body' is not UTF-8 in row 1, byte 1 of the text"):
        tokenize_column(ours, array[1:], name="body")
    column = pa.chunked_array([TEXTS, array])
    with pytest.raises(InvalidUtf8Error, match=f"is not UTF-8 in row {len(TEXTS) + 2}, byte 1 of"):
        tokenize_column(ours, column)
    assert tokenize_column(ours, array[:2]).to_pylist() == listed(stock, ["ab", None])
