"""``python -m crayon_hf.parity.bench_file``: a file of gigabytes through `Tokenizer.encode_file`.

Prints MB/s and the peak resident memory of the process that encodes, and compares all ids with ordinary calls. The file
repeats one text, so its ids are known without encoding gigabytes at once: what a third copy adds to two is what each
further copy adds. The windows meet every copy at other places.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .harness.children import child_command
from .harness.references import Vocabulary, find
from .inputs.texts import CORPUS, UnknownVocabularyError, find_text, read_text, shared_directory

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass
class Run:
    """One pass over the file."""

    ids: int
    digest: str
    seconds: float
    resident_mb: float
    """The most that the process ever had in memory, opening the tokenizer included."""


def measure(spec: str, file: str, chunk_bytes: int, offsets: bool) -> Run:
    """Encode the file in this process. The time is that of the calls, without what is done with the ids."""
    tokenizer = find(spec).open_ours()
    digest = hashlib.blake2b(digest_size=16)
    count, seconds = 0, 0.0
    chunks = tokenizer.encode_file(file, chunk_bytes=chunk_bytes, offsets=offsets)
    while True:
        start = time.perf_counter()
        chunk = next(chunks, None)
        seconds += time.perf_counter() - start
        if chunk is None:
            break
        count += len(chunk.ids)
        digest.update(chunk.ids.data)
    return Run(count, digest.hexdigest(), seconds, peak_megabytes())


def peak_megabytes() -> float:
    """The most memory that this process had resident."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts what the parent had before exec
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def expected(vocabulary: Vocabulary, text: bytes, copies: int) -> tuple[int, str]:
    """How many ids so many copies of a text have, and their digest, from ordinary calls on one, two and three."""
    tokenizer = vocabulary.open_ours()
    first, second, third = (tokenizer.encode_ragged([text * n])[0] for n in (1, 2, 3))
    digest = hashlib.blake2b(digest_size=16)
    count = 0
    for part in _copied(first, second, third, copies):
        count += len(part)
        digest.update(part.data)
    return count, digest.hexdigest()


def _copied(
    first: npt.NDArray[np.int32], second: npt.NDArray[np.int32], third: npt.NDArray[np.int32], copies: int
) -> Iterator[npt.NDArray[np.int32]]:
    if copies <= 2:
        yield (first, second)[copies - 1]
        return
    added = len(third) - len(second)
    middle = len(first) // 2  # far from the ends of the first copy, and of the last one
    yield third[:middle]
    for _ in range(copies - 2):
        yield third[middle : middle + added]
    yield third[middle + added :]


def text_for(names: Sequence[str], limit: int) -> bytes:
    """The text that is repeated: the shared corpus, or the sources of Python's library."""
    if names or shared_directory() is not None:
        parts = [read_text(find_text(name), limit // len(names or CORPUS)) for name in names or CORPUS]
        return b"".join(parts)
    parts, size = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        try:
            parts.append(read_text(path))
        except ValueError:
            continue
        size += len(parts[-1])
        if size >= limit:
            break
    return b"".join(parts)


def write_copies(path: Path, text: bytes, size: int) -> int:
    """Write a file of whole copies of at least `size` bytes; how many."""
    copies = max(1, -(-size // len(text)))
    with open(path, "wb") as file:
        for _ in range(copies):
            file.write(text)
    return copies


def run_file(vocabulary: str, file: Path, chunk_bytes: int, offsets: bool) -> Run:
    """`measure` in a process of its own."""
    task = json.dumps([vocabulary, str(file), chunk_bytes, offsets])
    done = subprocess.run(child_command("bench_file", "--measure"), input=task, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{vocabulary}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
    return Run(**json.loads(done.stdout))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench_file", description="Encode a file of gigabytes; compare its ids.")
    parser.add_argument("vocabularies", nargs="*", default=["gpt2"], help="names or paths (gpt2)")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="the size of the file (2)")
    parser.add_argument("--text", action="append", default=[], help="name or path of a text to repeat")
    parser.add_argument("--text-megabytes", type=float, default=12.0, help="how much text is repeated (12)")
    parser.add_argument("--chunk-bytes", type=int, default=1 << 20, help="the size of the window (1 MiB)")
    parser.add_argument("--offsets", action="store_true", help="with the bytes of each id")
    parser.add_argument("--directory", help="where the file is written (the system's for temporary files)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 0 when all ids are right, 1 when not, 2 when it could not start."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given == ["--measure"]:
        arguments: list[Any] = json.loads(sys.stdin.read())
        print(json.dumps(vars(measure(*arguments))))
        return 0
    parser = make_parser()
    options = parser.parse_args(given)
    try:
        vocabularies = [find(name) for name in options.vocabularies]
        text = text_for(options.text, int(options.text_megabytes * 1e6))
    except (UnknownVocabularyError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    all_right = True
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        file = Path(directory) / "text"
        copies = write_copies(file, text, int(options.gigabytes * 1e9))
        size = file.stat().st_size
        for name, vocabulary in zip(options.vocabularies, vocabularies, strict=True):
            run = run_file(name, file, options.chunk_bytes, options.offsets)
            is_right = (run.ids, run.digest) == expected(vocabulary, text, copies)
            all_right &= is_right
            print(
                f"{name}: {size / 1e9:.2f} GB, {run.ids:,} ids in {run.seconds:.1f} s, "
                f"{size / run.seconds / 1e6:.0f} MB/s, peak {run.resident_mb:.0f} MB, "
                f"ids {'as by ordinary calls' if is_right else 'DIFFER from those of ordinary calls'}",
                flush=True,
            )
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
