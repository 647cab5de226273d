"""Faults that a local Hub makes when it answers requests that match a pattern, once or several times."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["", "status", "drop request", "drop answer", "drop body", "cut body", "alter body", "stall body", "hang"]
"""The kinds of faults:

- `status`: answer with an HTTP status instead of carrying out the request.
- `drop request`: close the connection after a fraction of the request's body, and neither carry it out nor answer.
- `drop answer`: carry out the request and close the connection without an answer.
- `drop body`: close the connection after a fraction of the file. Content-Length is that of the whole file.
- `cut body`: send only a fraction of the file, with the Content-Length of the sent part.
- `alter body`: send the file with one byte changed, at a fraction of its length, and the ETag of the unchanged file.
- `stall body`: send a fraction of the file, wait some seconds, then send the rest.
- `hang`: wait some seconds, then carry out and answer the request.
"""


@dataclass(frozen=True)
class Fault:
    """A fault in the Hub's answer to a request."""

    kind: Kind
    status: int = 0
    message: str = ""
    error_code: str = ""
    retry_after: int | None = None
    seconds: float = 60.0
    fraction: float = 0.5

    @property
    def needs_body(self) -> bool:
        """Whether only an answer with a file can have this fault. Other answers are sent without it, and do not
        count."""
        return self.kind.endswith("body")


def status(code: int, message: str = "", *, error_code: str = "", retry_after: int | None = None) -> Fault:
    """Answer with this HTTP status instead of carrying out the request."""
    return Fault("status", code, message, error_code, retry_after)


@dataclass
class Rule:
    """A fault and the requests that it applies to."""

    fault: Fault
    method: str | None
    path: re.Pattern[str]
    times: int
    made: int = 0
    """How often the Hub has made the fault."""
    reached: threading.Event = field(default_factory=threading.Event)
    """Set when an answer reaches the fault: a test that kills a client in the middle waits for it."""


class Faults:
    """The faults that the Hub has still to make."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []

    def add(self, fault: Fault, *, method: str | None, path: str, times: int) -> Rule:
        rule = Rule(fault, method, re.compile(path), times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()

    def take(self, method: str, target: str, *, body: bool) -> Rule | None:
        """Return and count the fault for the answer to this request, if any. `body` says whether the answer has a
        file."""
        with self._lock:
            for rule in self._rules:
                if rule.fault.needs_body != body or rule.made >= rule.times:
                    continue
                if (rule.method or method) != method or not rule.path.search(target):
                    continue
                rule.made += 1
                return rule
        return None
