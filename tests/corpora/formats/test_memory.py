"""Millions of documents of next to nothing: what they take of memory is a matter of the format, not of their number."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crayon_hf.corpora.formats import FORMATS

pytestmark = pytest.mark.measures_memory

WRITING = """
import re, sys
import numpy as np
from crayon_hf.corpora.formats import FORMATS, ShardSettings, Vocabulary

def most():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10

name, prefix, documents = sys.argv[1], sys.argv[2], int(sys.argv[3])
settings = ShardSettings(Vocabulary(50257, 50256))
ids = np.arange(30_000).astype(FORMATS[name].dtype(settings.vocabulary))
splits = np.append(np.arange(0, 30_000, 3).repeat(2), 30_000)  # every other one is empty
with FORMATS[name].open(prefix, settings) as writer:
    writer.write(ids, splits)
    before = most()
    while writer.documents < documents:
        writer.write(ids, splits)
    writer.finish()
print(most() - before)
"""

MIB = {"megatron": 24, "datatrove": 16, "npy": 16, "bin": 16, "parquet": 180, "arrow": 32, "mds": 260}
"""A list of one Python number a document would be 200 MiB, and the arrays of the index 100. A row group of parquet is a
million documents, a file of MDS 64 MiB."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("name", FORMATS)
def test_many_documents(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITING, name, str(tmp_path / "x"), "5000000"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) < MIB[name]
