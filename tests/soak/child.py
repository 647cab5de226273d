"""A process that was spawned: it reads a tokenizer and texts (``python -m tests.soak.child WORK``)."""

from __future__ import annotations

import pickle
import sys

from tests.soak.operations.processes import serve

if __name__ == "__main__":
    serve(sys.argv[1], pickle.load(sys.stdin.buffer), sys.stdout.buffer)
