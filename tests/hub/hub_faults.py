"""Faults that a local Hub makes when it answers requests that match a pattern, once or several times."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """A fault in the Hub's answer to a request. The functions below make the kinds of faults."""

    name: str
    status: int = 0
    message: str = ""
    error_code: str = ""
    retry_after: int | None = None
    seconds: float = 0.0
    fraction: float = 1.0
    needs_body: bool = False
    """Whether only an answer with a file can have this fault. Other answers are sent without it, and do not count."""


def status(code: int, message: str = "", *, error_code: str = "", retry_after: int | None = None) -> Fault:
    """Answer with this HTTP status instead of carrying out the request."""
    return Fault(f"status {code}", code, message, error_code, retry_after)


def drop_request(fraction: float = 0.0) -> Fault:
    """Close the connection after receiving this fraction of the request's body. The request is neither carried out nor
    answered."""
    return Fault("drop request", fraction=fraction)


def drop_answer() -> Fault:
    """Carry out the request and close the connection without an answer."""
    return Fault("drop answer")


def drop_body(fraction: float = 0.5) -> Fault:
    """Close the connection after sending this fraction of the file. Content-Length is that of the whole file."""
    return Fault("drop body", fraction=fraction, needs_body=True)


def cut_body(fraction: float = 0.5) -> Fault:
    """Send only this fraction of the file, with the Content-Length of the sent part."""
    return Fault("cut body", fraction=fraction, needs_body=True)


def alter_body(fraction: float = 0.5) -> Fault:
    """Send the file with one byte changed, at this fraction of its length, and the ETag of the unchanged file."""
    return Fault("alter body", fraction=fraction, needs_body=True)


def stall_body(fraction: float = 0.5, seconds: float = 60.0) -> Fault:
    """Send this fraction of the file, wait some seconds, then send the rest."""
    return Fault("stall body", fraction=fraction, seconds=seconds, needs_body=True)


def hang(seconds: float = 60.0) -> Fault:
    """Wait some seconds, then carry out and answer the request."""
    return Fault("hang", seconds=seconds)


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
