"""A process with one vocabulary open, CRAYON's or ours. It reads a JSON object a line, and answers each with one.

It runs in any environment, with Python's library alone: nothing of the suite is imported.

>>> echo '{"do": "open", "engine": "crayon", "path": "vocab_lite.dat"}' | python child.py  # doctest: +SKIP
{"release": "5.3.8", "engine": "crayon_cpu", "gives": "list", "open_ms": 3.1}
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from importlib.metadata import version
from typing import Any

Texts = list[str]


class Crayon:
    """CRAYON's ``CrayonVocab`` on the CPU."""

    def __init__(self, path: str) -> None:
        import crayon  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self.vocab = crayon.CrayonVocab(device="cpu")
        self.vocab.load_profile(path)
        self.release = version("xerv-crayon")
        self.engine = "crayon_turbo" if getattr(self.vocab, "_turbo_backend", None) is not None else "crayon_cpu"
        self.calls = {"tokenize": self.vocab.tokenize, "each": self.each}

    def each(self, texts: Texts) -> list[Any]:
        tokenize = self.vocab.tokenize
        return [tokenize(text) for text in texts]


class Ours(Crayon):
    """Our ``CrayonVocab`` that gives CRAYON's ids."""

    def __init__(self, path: str) -> None:
        import crayon_hf

        self.vocab = crayon_hf.CrayonVocab(device="cpu", compat="xerv")
        self.vocab.load_profile(path)
        self.release = crayon_hf.__version__
        self.engine = "crayon_hf"
        self.calls = {"tokenize": self.vocab.tokenize, "each": self.each, "arrays": self.vocab.encode_ragged}


class Process:
    """What the process keeps between two lines."""

    def __init__(self) -> None:
        self.opened: Any = None
        self.texts: Texts = []

    def open(self, engine: str, path: str, cores: list[int] | None = None) -> dict[str, Any]:
        """Open a vocabulary; `cores` are those that the process may use from now on."""
        if cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)
        __import__("crayon_hf" if engine == "ours" else "crayon")
        started = time.perf_counter()
        self.opened = (Ours if engine == "ours" else Crayon)(path)
        milliseconds = (time.perf_counter() - started) * 1000
        for call in self.opened.calls.values():  # NumPy is imported by the first call that gives arrays
            call(["a"])
        given = type(self.opened.vocab.tokenize("a")).__name__
        return {
            "release": self.opened.release,
            "engine": self.opened.engine,
            "gives": given,
            "open_ms": milliseconds,
        }

    def ids(self, texts: Texts) -> dict[str, Any]:
        """The ids of each text."""
        return {"rows": [list(map(int, row)) for row in self.opened.vocab.tokenize(texts)]}

    def decode(self, rows: list[list[int]]) -> dict[str, Any]:
        """The text of each row of ids."""
        return {"texts": [self.opened.vocab.decode(row) for row in rows]}

    def keep(self, texts: Texts) -> dict[str, Any]:
        """Texts for `time`."""
        self.texts = texts
        return {}

    def time(self, call: str) -> dict[str, float]:
        """Seconds of one call with the kept texts: by the clock, and of the processor in all threads."""
        work = self.opened.calls[call]
        gc.collect()
        gc.disable()
        cpu, wall = time.process_time(), time.perf_counter()
        result = work(self.texts)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        gc.enable()
        del result
        return {"wall": wall, "cpu": cpu}


def main() -> int:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # CRAYON prints when it opens
    process = Process()
    for line in os.fdopen(0, encoding="utf-8"):
        request = json.loads(line)
        try:
            answer = getattr(process, request.pop("do"))(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a thread of CRAYON's may still wait for work
