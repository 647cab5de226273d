"""The settings bound the memory of reading, whatever the input: measured in separate processes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.measures_memory,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

LINE = b'{"text": "' + b"some text \\u00e9 and more " * 40 + b'", "id": 1}\n'

CHILD = """
import sys
from crayon_hf.corpora import Reading, find_inputs, read_documents

def peak():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) >> 10

before, documents, bad = None, 0, 0
reading = Reading(batch_bytes=1 << 20, max_document_bytes=2 << 20, bad_records="skip", separator=b"|", threads=4)
for batch in read_documents(find_inputs([sys.argv[1]])[0], reading):
    if before is None:  # libraries are loaded, threads are there
        before = peak()
    documents += len(batch.begins)
    bad += len(batch.bad)
    del batch
print(documents, bad, peak() - before)
"""


def write(path: Path) -> tuple[int, int]:
    """Write a large file. Returns the numbers of its documents and bad records."""
    if path.stem == "a":  # one record batch, one row group: a large part of the file
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pa.table({"text": pa.array([b"x" * 1000]).take(pa.array([0] * 100_000)).view(pa.string())})
        if path.suffix == ".parquet":
            parquet.write_table(table, path, row_group_size=100_000, use_dictionary=False, compression="none")
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
        return 100_000, 0
    first, block = (b"", LINE * 1000) if path.stem.startswith("lines") else (b"|", b"x" * (1 << 20))
    if path.suffix == ".zst":
        codec = pytest.importorskip("pyarrow").Codec("zstd")
        path.write_bytes(bytes(codec.compress(first)) + bytes(codec.compress(block)) * 100)
    else:
        with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as file:
            file.write(first)
            for _ in range(100):
                file.write(block)
    return (100_000, 0) if first == b"" else (1, 1)  # one document far beyond the limit, after one within it


@pytest.mark.parametrize(
    "name", ["lines.jsonl", "lines.jsonl.gz", "lines.jsonl.zst", "one.txt", "one.txt.gz", "a.parquet", "a.arrow"]
)
def test_memory(name: str, tmp_path: Path) -> None:
    expected = write(tmp_path / name)
    try:
        command = [sys.executable, "-c", CHILD, tmp_path / name]
        # pyarrow's own allocator returns memory later, so its peak would depend on timing.
        environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        *found, more = map(int, done.stdout.split())
    finally:
        (tmp_path / name).unlink()
    assert tuple(found) == expected
    assert more < 60
