"""A process with one open vocabulary of CRAYON. It answers each line, a JSON object, with a JSON object.

It runs in any environment, with Python's library alone, and imports nothing of the suite.

>>> echo '{"do": "open", "path": "vocab_lite.dat"}' | python child.py  # doctest: +SKIP
{"release": "5.3.8", "engine": "crayon_cpu", "gives": "list"}
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any


class Process:
    """The opened vocabulary, and the methods that answer requests: each line of input names one."""

    def open(self, path: str) -> dict[str, Any]:
        """Open a vocabulary with CRAYON's ``CrayonVocab`` on the CPU."""
        import crayon  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self.vocab = crayon.CrayonVocab(device="cpu")
        self.vocab.load_profile(path)
        is_turbo = getattr(self.vocab, "_turbo_backend", None) is not None
        given = type(self.vocab.tokenize("a")).__name__
        return {
            "release": version("xerv-crayon"),
            "engine": "crayon_turbo" if is_turbo else "crayon_cpu",
            "gives": given,
        }

    def ids(self, texts: list[str]) -> dict[str, Any]:
        """Return the ids of each text."""
        return {"rows": [list(map(int, row)) for row in self.vocab.tokenize(texts)]}

    def decode(self, rows: list[list[int]]) -> dict[str, Any]:
        """Return the text of each row of ids."""
        return {"texts": [self.vocab.decode(row) for row in rows]}


def main() -> int:
    """Answer each line of the standard input, until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # CRAYON prints when it opens a vocabulary
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
    os._exit(code)  # a thread of CRAYON may still wait for work
