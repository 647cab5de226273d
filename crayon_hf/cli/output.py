"""What commands print."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def print_line(line: str) -> None:
    """A line of the output, which is UTF-8 whatever the locale; names of files are the bytes that they are."""
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")


def as_json(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def say(message: str) -> None:
    """One line on standard error, which does nothing to a terminal, whatever the names of files are."""
    line = " ".join(message.split())
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    print(f"crayon-hf: {plain}", file=sys.stderr, flush=True)


def wants_colours() -> bool:
    """Whether a terminal may have colours: unless NO_COLOR (no-color.org) or TERM says otherwise."""
    return os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
