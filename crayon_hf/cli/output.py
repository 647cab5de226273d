"""What commands print."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_line(line: str) -> None:
    """A line of the output, which is UTF-8 whatever the locale; names of files are the bytes that they are."""
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")


def as_json(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False)
