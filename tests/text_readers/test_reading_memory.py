"""Memory is bounded by settings, not by what is read: measured in a process of its own."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.measures_memory,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

SIZE, UNPACKED = 300 << 20, 100 << 20
LINE = b'{"text": "' + b"some text \\u00e9 and more " * 40 + b'", "id": 1}\n'

CHILD = """
import sys
from crayon_hf.corpora import Reading, find_inputs, read_documents

def peak():
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) >> 10

before, documents, texts, bad = None, 0, 0, 0
reading = Reading(batch_bytes=1 << 20, max_document_bytes=2 << 20, bad_records="skip", separator=b"|", threads=4)
for batch in read_documents(find_inputs([sys.argv[1]])[0], reading):
    if before is None:  # libraries are loaded, threads are there
        before = peak()
    documents += len(batch.begins)
    texts += int((batch.ends - batch.begins).sum())
    bad += len(batch.bad)
    del batch
print(documents, texts, bad, peak() - before)
"""


def write(path: Path, first: bytes, block: bytes) -> int:
    """How many blocks there are behind `first`."""
    packed = path.suffix == ".gz"
    count = (UNPACKED if packed else SIZE) // len(block)
    if path.suffix == ".zst":  # frames of one block, or of 24
        many = 24 if path.name.startswith("large") else 1
        codec = pytest.importorskip("pyarrow").Codec("zstd")
        path.write_bytes(bytes(codec.compress(first)) + bytes(codec.compress(block * many)) * (count // many))
        return count // many * many
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        file.write(first)
        for _ in range(count):
            file.write(block)
    return count


def arrow_file(path: Path) -> int:
    """One record batch, one row group: many rows of all the file."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    count = 100_000
    table = pa.table({"text": pa.array([b"x" * 1000]).take(pa.array([0] * count)).view(pa.string())})
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=count, use_dictionary=False, compression="none")
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("lines.jsonl", "lines.jsonl.gz", "lines.jsonl.zst", "large lines.jsonl.zst"),
        *("one.txt", "one.jsonl", "one.txt.gz", "one.txt.zst", "a.parquet", "a.arrow"),
    ],
)
def test_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    try:
        if name.startswith("a."):
            expected = (count := arrow_file(path), count * 1000, 0)
        elif "lines" in name:
            count = 1000 * write(path, b"", LINE * 1000)
            expected = (count, count * (len("some text é and more ".encode()) * 40), 0)
        else:  # one document, far longer than it may be, behind one that is not
            write(path, b'{"text": ""}\n' if "jsonl" in name else b"|", b"x" * (1 << 20))
            expected = (1, 0, 1)
        ended = subprocess.run([sys.executable, "-c", CHILD, path], check=True, capture_output=True, text=True)
    finally:
        path.unlink(missing_ok=True)
    *found, more = map(int, ended.stdout.split())
    assert tuple(found) == expected
    assert more < 60
