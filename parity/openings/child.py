"""One first opening, timed: ``child.py MODULE DIRECTORY`` prints its seconds and its ids as JSON.

It is run by path, so that any interpreter with transformers can run it. Importing the libraries is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

TEXT = "The quick brown fox, jumps over 12 lazy dogs: déjà vu — 敏捷的棕色狐狸"


def main() -> None:
    """Open the directory, encode a sentence, and print."""
    module, directory = sys.argv[1:]
    import_module("transformers")
    load = import_module(module).AutoTokenizer.from_pretrained
    processor, clock = time.process_time(), time.perf_counter()
    tokenizer = load(directory)
    ids = tokenizer(TEXT)["input_ids"]
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    report = tokenizer.engine_report() if hasattr(tokenizer, "engine_report") else {}
    facts = {"class": type(tokenizer).__name__, "origin": report.get("origin"), "refused": report.get("refused")}
    print(json.dumps({"processor": processor, "clock": clock, "ids": ids, **facts}))


if __name__ == "__main__":
    main()
