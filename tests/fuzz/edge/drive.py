"""``python -m tests.fuzz.edge.drive TARGET [libFuzzer's arguments]``: one target under atheris, as libFuzzer runs it.

``--seeds DIRECTORY`` in place of the arguments writes the small inputs that a corpus begins with.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from tests.fuzz.targets import named

TARGETS = {target.name: target for target in named(["edge"])}
INSTRUMENTED = (
    "crayon_hf.tokenizer_json.components",
    "crayon_hf.formats",
    "crayon_hf.text_readers",
    "crayon_hf.decode_stream",
    "crayon_hf.fallback",
    "crayon_hf.file_encoding",
    "crayon_hf.hub.front_matter",
    "crayon_hf.util.validation",
    "crayon_hf.tokenizer_json.truncation_padding",
    "crayon_hf.tokenizer_json.document",
)
"""What atheris sees the branches of. It has to be said before anything is imported."""


def target(name: str) -> ModuleType:
    """The module of a target."""
    return importlib.import_module(f"tests.fuzz.edge.{name}")


def write_seeds(module: ModuleType, directory: Path) -> int:
    """The inputs that a corpus begins with, under the names that libFuzzer gives; how many."""
    directory.mkdir(parents=True, exist_ok=True)
    seeds = list(module.seeds())
    for seed in seeds:
        (directory / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    return len(seeds)


def main(argv: Sequence[str]) -> int:
    """Run a target until an argument, or a defect, ends it."""
    if not argv or argv[0] not in TARGETS:
        print(f"usage: drive TARGET [libFuzzer's arguments]; targets: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    name, *arguments = argv
    os.environ.setdefault("CRAYON_CACHE_DIR", tempfile.mkdtemp(prefix="crayon-fuzz-cache-"))
    os.environ.setdefault("CRAYON_NUM_THREADS", "2")
    if arguments[:1] == ["--seeds"]:
        print(write_seeds(target(name), Path(arguments[1])))
        return 0
    import atheris

    with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=list(INSTRUMENTED)):  # it names each module
        for inside in INSTRUMENTED:
            importlib.import_module(inside)
        module = target(name)
    mutate = getattr(module, "mutate", None)

    def custom(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        changed = None if mutate is None or rng.random() < 0.3 else mutate(data, rng)
        return atheris.Mutate(data, most) if changed is None or len(changed) > most else changed

    said: dict[str, Any] = {} if mutate is None else {"custom_mutator": custom}
    given = [f"-max_len={TARGETS[name].max_len}", f"-timeout={TARGETS[name].timeout}", "-rss_limit_mb=3000", *arguments]
    atheris.Setup([sys.argv[0], *given], module.one_input, **said)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
