"""One job over a corpus in this process.

Only the engine is imported, so that memory and time are the engine's. All engines read the same jsonl files, with the
texts under the key "text", and write their token ids into a directory; `read_back` returns them in document order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from glob import escape, glob
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from typing import Any

from .measured import timing


def digest_of(parts: Iterable[tuple[Any, Any]]) -> str:
    """Return the digests of all ids and of the documents' ends, with a space between.

    Each part has an array of ids, and the ends of its documents in that array.
    """
    all_ids, all_ends, tokens = sha256(), sha256(), 0
    for ids, ends in parts:
        all_ids.update(ids.astype("<u4").tobytes())
        all_ends.update((ends.astype("<u8") + tokens).tobytes())
        tokens += len(ids)
    return f"{all_ids.hexdigest()} {all_ends.hexdigest()}"


def encode_ragged(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Measure the upper limit of speed: texts are str in memory, ids stay in memory, and only the encoding is timed.

    Every other engine's digest must equal the returned one.
    """
    from crayon_hf.tokenizer.resolve import open_tokenizer

    opened = open_tokenizer(tokenizer)
    seconds: dict[str, float] = {}

    def parts() -> Iterator[tuple[Any, Any]]:
        for name in files:
            with open(name, encoding="utf-8") as lines:
                texts = [json.loads(line)["text"] for line in lines]
            with timing(seconds):
                ids, splits = opened.encode_ragged(texts, threads=workers)
            yield ids, splits[1:]

    digest = digest_of(parts())
    return {**seconds, "digest": digest}


def crayon(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run the command `crayon-hf tokenize`, which itself chooses workers and threads for the cores."""
    options = ["--tokenizer", tokenizer, "--format", "datatrove", "--add-special-tokens", "--quiet"]
    code = import_module("crayon_hf.cli").main(["tokenize", *files, "-o", output, *options])
    if code:
        raise SystemExit(code)
    return {}


def datatrove(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run datatrove's reader and tokenizer with its executor for one machine, with a task for each file."""
    writer = import_module("datatrove.pipeline.tokens").DocumentTokenizer
    return _in_datatrove(writer, files, output, tokenizer, workers, "tokenizers")


def crayon_in_datatrove(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run datatrove's reader with our tokenizing step."""
    writer = import_module("crayon_hf.corpora.datatrove").CrayonDocumentTokenizer
    return _in_datatrove(writer, files, output, tokenizer, workers, "crayon_hf")


def _in_datatrove(
    writer: Any, files: Sequence[str], output: str, tokenizer: str, workers: int, package: str
) -> dict[str, Any]:
    local = import_module("datatrove.executor").LocalPipelineExecutor
    reader = import_module("datatrove.pipeline.readers").JsonlReader
    read = reader(os.path.dirname(files[0]), glob_pattern="*.jsonl", text_key="text")
    steps, logs = [read, writer(output, tokenizer, shuffle_documents=False)], os.path.join(output, "..", "logs")
    local(steps, tasks=len(files), workers=workers, logging_dir=logs, skip_completed=False).run()
    return {"version": f"datatrove {version('datatrove')}, {package} {import_module(package).__version__}"}


def gigatoken(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run gigatoken's jsonl reader, which keeps all ids of a call: each file is a call. Write plain NumPy arrays."""
    package, awkward, numpy = import_module("gigatoken"), import_module("awkward"), import_module("numpy")
    opened = package.Tokenizer(tokenizer)
    dtype = "<u2" if opened.vocab_size <= 1 << 16 else "<u4"
    os.makedirs(output, exist_ok=True)
    for i, name in enumerate(files):
        ids = opened.encode_files(package.JsonlFileSource([name]), parallel=workers > 1)
        awkward.to_numpy(awkward.flatten(ids)).astype(dtype).tofile(os.path.join(output, f"{i:05}.ds"))
        numpy.cumsum(awkward.to_numpy(awkward.num(ids))).astype("<u8").tofile(os.path.join(output, f"{i:05}.ds.index"))
    return {}


ENGINES = {
    "encode_ragged": encode_ragged,
    "crayon": crayon,
    "gigatoken": gigatoken,
    "datatrove": datatrove,
    "crayon_in_datatrove": crayon_in_datatrove,
}


def read_back(output: str) -> str:
    """Return the digests of the files that an engine wrote into a directory."""
    import numpy as np

    def parts() -> Iterator[tuple[Any, Any]]:
        for name in sorted(glob(os.path.join(escape(output), "**", "*.ds"), recursive=True)):
            ends = np.fromfile(f"{name}.index", "<u8")
            yield np.fromfile(name, f"<u{os.path.getsize(name) // int(ends[-1])}"), ends

    return digest_of(parts())


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Do the whole job with the engine that `job` names, and return the engine's results."""
    return ENGINES[job["engine"]](step["files"], step["output"], step["tokenizer"], job["threads"])
