"""Encodes texts with a GPU simulator that is built for ThreadSanitizer, and compares the ids with the CPU engine's.

python race_run.py SIMULATOR TEXT cuda|hip exact|greedy TOKENIZER...

TEXT is a file with a text on each line. Fails if an id differs; ThreadSanitizer reports races.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from native_build import load_extension

from crayon_hf import Tokenizer, _core


def main() -> None:
    module, text, runtime, mode, *vocabularies = sys.argv[1:]
    simulator = load_extension(Path(module))
    texts = Path(text).read_text(encoding="utf-8").split("\n")
    for path in vocabularies:
        engine = Tokenizer.from_file(path)._current_engine()
        engine = engine.greedy() if mode == "greedy" else engine
        warp = {"cuda": 32, "hip": 64}[runtime]
        encoder = _core.DeviceEncoder(engine, simulator.open(1 << 28, runtime=runtime, warp=warp), lanes=1)
        made = encoder.encode_ragged(texts)
        expected = engine.encode_ragged(texts)
        if not all(np.array_equal(ours, theirs) for ours, theirs in zip(made, expected, strict=True)):
            sys.exit(f"{path}: ids differ from the CPU's")
        print(Path(path).stem, runtime, mode, encoder.report)


if __name__ == "__main__":
    main()
