"""What it costs to write a corpus to an object store instead of a directory: processor time, memory, requests.

    pip install -r tests/all.txt -c tests/lock.txt
    python tools/store_cost.py [--megabytes 200] [--group-bytes 64M] [--rounds 3]

The store is moto's server, a process of its own on this machine; a proxy counts in a run that is not measured. Makes
the text and removes it, compares all bytes, and takes turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conftest import SENTENCES
from tests.corpora.job.job_cases import tree
from tests.corpora.storage.conftest import Bucket, client_environment, serve
from tests.corpora.storage.proxy import Proxy


def write_corpus(directory: Path, megabytes: int) -> None:
    """Files of 25 MB of JSON lines; each document has its number in it, so none is like another."""
    directory.mkdir()
    number = 0
    for file in range(-(-megabytes // 25)):
        with open(directory / f"{file:03d}.jsonl", "w", encoding="utf-8") as out:
            size = 0
            while size < 25_000_000:
                words = " ".join(SENTENCES[(number + i * i) % len(SENTENCES)] for i in range(20))
                size += out.write(json.dumps({"text": f"{number} {words}"}) + "\n")
                number += 1


def run(home: Path, output: str, group: str, environment: dict[str, str]) -> tuple[float, float, float]:
    """Seconds, seconds of processors, and the largest process in MB."""
    command = [sys.executable, "-m", "crayon_hf", "tokenize", str(home / "in"), "-o", output, "-t", "lite", "--quiet",
               "--workers", "1", "--threads", "2", "--group-bytes", group]  # fmt: skip
    began = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, **environment})
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, status
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--group-bytes", default="64M", help="of each task (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    group = arguments.group_bytes
    home = Path(tempfile.mkdtemp(prefix="crayon-store-cost-"))
    server = serve(lambda port: [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)])
    try:
        url = next(server)
        bucket = Bucket(url)
        write_corpus(home / "in", arguments.megabytes)
        figures: dict[str, list[tuple[float, float, float]]] = {"directory": [], "store": []}
        for _ in range(arguments.rounds):
            shutil.rmtree(home / "out", ignore_errors=True)
            bucket.clear()
            figures["directory"].append(run(home, str(home / "out"), group, {}))
            figures["store"].append(run(home, "s3://bkt/out", group, client_environment(url)))
            assert bucket.tree("out") == tree(home / "out")
        bucket.clear()
        with Proxy(url) as proxy:
            run(home, "s3://bkt/out", group, client_environment(proxy.url))
            kinds = Counter(request.method for request in proxy.requests)
        written = sum(len(data) for data in tree(home / "out").values())
        print(f"{arguments.megabytes} MB of JSON lines, {written / 1e6:.0f} MB of output, {arguments.rounds} rounds")
        for name, rows in figures.items():
            seconds, processor, memory = (statistics.median(row[i] for row in rows) for i in range(3))
            print(f"{name:10} {seconds:6.2f} s {processor:6.2f} s of processors {memory:6.0f} MB")
        print("requests:", ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    finally:
        server.close()
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
