"""Real Spark in local mode: the recipe of docs/clusters.md, with reused workers.

All checks are in one test, since a session takes many seconds to start, and each test process would start its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.libraries import lacking

pytest.importorskip("pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    lacking("Spark needs Java", allow_module_level=True)

import pyarrow as pa
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from crayon_hf import CartridgeError, Tokenizer
from crayon_hf.corpora.spark import tokenize_in_arrow

pytestmark = pytest.mark.slow

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Options for a Java virtual machine that starts fast and computes little."""


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "workers"))  # the workers': the driver has another one
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.local.dir": str(tmp_path / "spark"),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.environment.update(os.environ)  # Java may have another test's environment
    try:
        session.sparkContext.setLogLevel("OFF")
        yield session
    finally:
        session.stop()


@pytest.mark.slow
def test_spark(spark: SparkSession, gpt2_like: Path, training_text: list[str], tmp_path: Path) -> None:
    texts = [*training_text, None, "", "end"]
    frame = spark.createDataFrame(list(enumerate(texts)), "id long, text string").repartition(4)
    schema = StructType([*frame.schema.fields, StructField("input_ids", ArrayType(IntegerType()))])
    tokenizer = Tokenizer.from_file(gpt2_like)
    expected = [None if text is None else [*tokenizer.encode(text).ids, 7] for text in texts]

    def check(function: Any) -> None:
        rows = sorted(frame.mapInArrow(function, schema).collect())
        assert [row.text for row in rows] == texts
        assert [row.input_ids for row in rows] == expected

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "driver"))
        tokenizer = Tokenizer.from_file(gpt2_like)
        cartridge = tokenizer.engine_report()["cartridge"]
        function = tokenize_in_arrow(spark, tokenizer, append_eos=True, eos=tokenizer.id_to_token(7))
    assert Path(cartridge).parent == tmp_path / "driver"
    check(function)  # from the driver's path
    assert not (tmp_path / "workers" / "shipped").exists()

    os.unlink(cartridge)
    tokenizer.add_tokens(["<never seen>"])  # another label makes workers open it again
    function = tokenize_in_arrow(spark, tokenizer, suffix=[7])
    check(function)
    shipped = list((tmp_path / "workers" / "shipped").glob("*.dat"))
    assert len(shipped) == 1

    def where(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For each batch: its process, and how often that process has mapped the cartridge."""
        for batch in function(batches):
            with open("/proc/self/maps") as maps:
                mapped = sum(line.rstrip().endswith(".dat") and "shipped" in line for line in maps)
            rows = {"process": [os.getpid()], "mapped": [mapped], "texts": [len(batch)]}
            yield pa.RecordBatch.from_pydict(rows)

    runs = [frame.mapInArrow(where, "process long, mapped long, texts long").collect() for _ in range(2)]
    assert {row.mapped for run in runs for row in run} == {1}
    assert [sum(row.texts for row in run) for run in runs] == [len(texts)] * 2
    assert {row.process for row in runs[1]} & {row.process for row in runs[0]}

    with pytest.raises(PythonException, match="no column 'nothing'; it has 'id', 'text'"):
        frame.mapInArrow(tokenize_in_arrow(spark, tokenizer, "nothing"), schema).collect()
    with pytest.raises(PythonException, match="column 'id' is int64, expected string"):
        frame.mapInArrow(tokenize_in_arrow(spark, tokenizer, "id"), schema).collect()
    with pytest.raises(FileNotFoundError, match="no tokenizer 'nobody'"):
        tokenize_in_arrow(spark, "nobody")
    with pytest.raises(TypeError, match="tokenizer is dict"):
        tokenize_in_arrow(spark, {})
    damaged = tmp_path / "damaged.dat"
    damaged.write_bytes(shipped[0].read_bytes()[:-100])
    with pytest.raises(CartridgeError, match="damaged"):
        tokenize_in_arrow(spark, str(damaged))
