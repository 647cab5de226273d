"""Output of commands: lines, JSON and notes."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def print_line(line: str) -> None:
    """Print a line as UTF-8 in any locale. Undecodable bytes of file names are kept."""
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")


def as_json(value: Any) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def say(message: str) -> None:
    """Print one line on standard error, with control characters escaped."""
    line = " ".join(message.split())
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    print(f"crayon-hf: {plain}", file=sys.stderr, flush=True)


def wants_colours() -> bool:
    """Whether NO_COLOR (no-color.org) and TERM allow colours."""
    return os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
