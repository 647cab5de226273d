"""A batch with ids: all else of it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from crayon_hf import CorpusError, Tokenizer
from crayon_hf.corpora.batch_columns import Column, with_ids

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", [pa.RecordBatch, pa.Table], ids=["batch", "table"])
def test_the_other_columns_stay_as_they_are(gpt2_like: Path, kind: type) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    fields = [
        pa.field("id", pa.int64(), nullable=False, metadata={"unit": "one"}),
        pa.field("text", pa.string(), nullable=False),
    ]
    schema = pa.schema(fields, metadata={"made": "by hand"})
    batch = kind.from_pydict({"id": [1, 2], "text": ["Some text", ""]}, schema=schema)  # type: ignore[attr-defined]
    ids = [tokenizer.encode(text).ids for text in ("Some text", "")]
    made = with_ids(tokenizer, batch, Column(), 1)
    assert type(made) is kind
    assert made.schema.equals(schema.append(pa.field("input_ids", pa.list_(pa.int32()))), check_metadata=True)  # type: ignore[attr-defined]
    assert made.column("input_ids").to_pylist() == ids  # type: ignore[attr-defined]
    again = with_ids(tokenizer, made, Column(ids="text"), 1)
    assert again.schema.names == ["id", "text", "input_ids"]
    assert again.schema.field("id").equals(fields[0], check_metadata=True)
    assert again.schema.metadata == schema.metadata
    assert again.column("text").to_pylist() == ids


def test_the_column_is_named(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    batch = pa.table([[1], [2], ["x"]], names=["a", "a", "text"])
    with pytest.raises(CorpusError, match="column 'a' is int64, expected string"):
        with_ids(tokenizer, batch.select([0]), Column("a"), 1)
    with pytest.raises(CorpusError, match="there is more than one column 'a': the columns are a, a, text"):
        with_ids(tokenizer, batch, Column("a"), 1)
    with pytest.raises(CorpusError, match="there is more than one column 'a'"):
        with_ids(tokenizer, batch, Column(ids="a"), 1)
