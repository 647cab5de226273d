"""One job over a corpus in this process.

Only the engine is imported, so that memory and time are the engine's. All engines read the same jsonl files, with the
texts under the key "text", and write their token ids into a directory; `read_back` returns them in document order.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from glob import escape, glob
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from typing import Any


def encode_ragged(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Measure the upper limit of speed: texts are str in memory, ids stay in memory, and only the encoding is timed.

    Return the digest of the ids and of the documents' ends. Every other engine's digest must equal it.
    """
    from crayon_hf.tokenizer.resolve import open_tokenizer

    opened = open_tokenizer(tokenizer)
    seconds = cpu = 0.0
    tokens = 0
    all_ids, all_ends = sha256(), sha256()
    for name in files:
        with open(name, encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        wall, processor = time.perf_counter(), time.process_time()
        ids, splits = opened.encode_ragged(texts, threads=workers)
        seconds += time.perf_counter() - wall
        cpu += time.process_time() - processor
        all_ids.update(ids.astype("<u4").tobytes())
        all_ends.update((splits[1:] + tokens).astype("<u8").tobytes())
        tokens += len(ids)
    digest = f"{all_ids.hexdigest()} {all_ends.hexdigest()}"
    return {"wall": seconds, "cpu": cpu, "digest": digest, "version": import_module("crayon_hf").__version__}


def crayon(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run the command `crayon-hf tokenize`, which itself chooses workers and threads for the cores."""
    options = ["--tokenizer", tokenizer, "--format", "datatrove", "--add-special-tokens", "--quiet"]
    code = import_module("crayon_hf.cli").main(["tokenize", *files, "-o", output, *options])
    if code:
        raise SystemExit(code)
    return {"version": import_module("crayon_hf").__version__}


def datatrove(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run datatrove's reader and tokenizer with its executor for one machine, with a task for each file."""
    writer = import_module("datatrove.pipeline.tokens").DocumentTokenizer
    _run_datatrove(writer, files, output, tokenizer, workers)
    return {"version": f"{version('datatrove')}, tokenizers {version('tokenizers')}"}


def crayon_in_datatrove(files: Sequence[str], output: str, tokenizer: str, workers: int) -> dict[str, Any]:
    """Run datatrove's reader with our tokenizing step."""
    writer = import_module("crayon_hf.corpora.datatrove").CrayonDocumentTokenizer
    _run_datatrove(writer, files, output, tokenizer, workers)
    return {"version": f"{import_module('crayon_hf').__version__}, datatrove {version('datatrove')}"}


def _run_datatrove(writer: Any, files: Sequence[str], output: str, tokenizer: str, workers: int) -> None:
    local = import_module("datatrove.executor").LocalPipelineExecutor
    reader = import_module("datatrove.pipeline.readers").JsonlReader
    steps = [
        reader(os.path.dirname(files[0]), glob_pattern="*.jsonl", text_key="text"),
        writer(output, tokenizer, shuffle_documents=False),
    ]
    logs = os.path.join(os.path.dirname(output), "logs")
    local(steps, tasks=len(files), workers=workers, logging_dir=logs, skip_completed=False).run()


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
    return {"version": version("gigatoken")}


ENGINES = {
    "encode_ragged": encode_ragged,
    "crayon": crayon,
    "gigatoken": gigatoken,
    "datatrove": datatrove,
    "crayon_in_datatrove": crayon_in_datatrove,
}


def read_back(output: str, width: int) -> str:
    """Return the digests of all ids in a directory and of the documents' ends, with a space between. An id has `width`
    bytes."""
    import numpy as np

    all_ids, all_ends, tokens = sha256(), sha256(), 0
    for name in sorted(glob(os.path.join(escape(output), "**", "*.ds"), recursive=True)):
        ids = np.fromfile(name, f"<u{width}")
        all_ids.update(ids.astype("<u4").tobytes())
        all_ends.update((np.fromfile(f"{name}.index", "<u8") + np.uint64(tokens)).astype("<u8").tobytes())
        tokens += len(ids)
    return f"{all_ids.hexdigest()} {all_ends.hexdigest()}"


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Do the whole job with the engine that `job` names, and return the engine's results."""
    return ENGINES[job["engine"]](step["files"], step["output"], step["tokenizer"], job["threads"])
