"""``python -m tests.fuzz.edge.drive TARGET [libFuzzer's arguments]`` runs a Python fuzz target under atheris."""

from __future__ import annotations

import importlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from random import Random
from typing import Any

INSTRUMENTED = (
    "crayon_hf.tokenizer_json.components",
    "crayon_hf.formats",
    "crayon_hf.fallback",
    "crayon_hf.util.validation",
    "crayon_hf.tokenizer_json.truncation_padding",
    "crayon_hf.tokenizer_json.document",
)
"""Modules whose branches atheris counts. It must know them before any of them is imported."""

Change = Callable[[bytes, Random], bytes | None]
NAMES = [
    *("read_charsmap", "read_crayon_v2", "read_gguf", "read_ranks", "read_sentencepiece", "read_tekken"),
    *("read_vocab_files", "tokenizer_json"),
]


def target(name: str) -> tuple[Callable[[bytes], None], Change | None]:
    """Return a target's function, and its mutator if it has one besides libFuzzer's."""
    from tests.fuzz.edge import mutating, readers

    changes = {
        "read_crayon_v2": readers.mutate_first_part,
        "read_tekken": mutating.json_document,
        "read_vocab_files": readers.mutate_vocab_files,
        "tokenizer_json": readers.mutate_first_part,
    }
    return getattr(readers, name), changes.get(name)


def main(name: str, *arguments: str) -> None:
    """Run a target until an argument, or a defect, ends it."""
    os.environ.setdefault("CRAYON_CACHE_DIR", tempfile.mkdtemp(prefix="crayon-fuzz-cache-"))
    os.environ.setdefault("CRAYON_NUM_THREADS", "2")
    import atheris

    # It prints each module.
    with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=list(INSTRUMENTED)):
        for inside in INSTRUMENTED:
            importlib.import_module(inside)
        one_input, mutate = target(name)

    def custom(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        changed = None if mutate is None or rng.random() < 0.3 else mutate(data, rng)
        return atheris.Mutate(data, most) if changed is None or len(changed) > most else changed

    said: dict[str, Any] = {} if mutate is None else {"custom_mutator": custom}
    atheris.Setup([sys.argv[0], *arguments], one_input, **said)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
