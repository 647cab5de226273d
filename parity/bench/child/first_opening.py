"""The first opening of a directory in this process, with one text encoded. Importing the libraries is not measured."""

from __future__ import annotations

import os
from array import array
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .measured import digest, timed


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Measure the opening of the engine's directory, with an empty cache or an unwritable one (`no_cache`)."""
    engine = job["engine"]
    import_module("transformers")
    load = import_module("transformers" if engine == "transformers" else "crayon_hf").AutoTokenizer.from_pretrained
    directory, found = step["with_cartridge" if engine == "crayon" else "plain"], []

    def work() -> None:
        tokenizer = load(directory, local_files_only=True)
        found.extend([tokenizer, tokenizer(step["text"])["input_ids"]])

    with TemporaryDirectory() as cache:
        Path(cache, "file").touch()
        os.environ["CRAYON_CACHE_DIR"] = str(Path(cache, "file", "in")) if engine == "no_cache" else cache
        times = timed(work)
    tokenizer, ids = found
    if engine == "crayon" and (report := tokenizer.engine_report())["origin"] != "repository":
        raise RuntimeError(f"the cartridge is not used: {report['refused']}")
    return {**times, "digest": digest(array("I", ids).tobytes())}
