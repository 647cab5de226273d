"""Faults that a local Hub can be told to make, each once or as often as asked, at requests that match a pattern."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer. Make one with the functions below."""

    name: str
    status: int = 0
    message: str = ""
    error_code: str = ""
    retry_after: int | None = None
    seconds: float = 0.0
    fraction: float = 1.0
    needs_body: bool = False
    """Only an answer that carries a file can have this fault; others pass and do not count."""


def status(code: int, message: str = "", *, error_code: str = "", retry_after: int | None = None) -> Fault:
    """This HTTP status in the place of an answer; the request is not carried out."""
    return Fault(f"status {code}", code, message, error_code, retry_after)


def drop_request(fraction: float = 0.0) -> Fault:
    """The connection is closed when this part of the request's body was read: it is not carried out or answered."""
    return Fault("drop request", fraction=fraction)


def drop_answer() -> Fault:
    """The request is carried out, and the connection is closed without a word: the client does not learn of it."""
    return Fault("drop answer")


def drop_body(fraction: float = 0.5) -> Fault:
    """The connection is closed when this part of the file was sent. Content-Length is that of the whole file."""
    return Fault("drop body", fraction=fraction, needs_body=True)


def cut_body(fraction: float = 0.5) -> Fault:
    """Only this part of the file is sent, and Content-Length says that it is all there is."""
    return Fault("cut body", fraction=fraction, needs_body=True)


def alter_body(fraction: float = 0.5) -> Fault:
    """One byte of the file, at this part of it, is another than the one that the ETag names."""
    return Fault("alter body", fraction=fraction, needs_body=True)


def stall_body(fraction: float = 0.5, seconds: float = 60.0) -> Fault:
    """When this part of the file was sent nothing comes for some seconds, then the rest."""
    return Fault("stall body", fraction=fraction, seconds=seconds, needs_body=True)


def hang(seconds: float = 60.0) -> Fault:
    """Nothing happens for some seconds, then the request is carried out and answered."""
    return Fault("hang", seconds=seconds)


@dataclass
class Rule:
    """A fault and where it is to be made."""

    fault: Fault
    method: str | None
    path: re.Pattern[str]
    times: int
    made: int = 0
    """How often it was made so far."""
    reached: threading.Event = field(default_factory=threading.Event)
    """Set when an answer stands where the fault is: a test that kills a client in the middle waits for it."""


class Faults:
    """The faults to come."""

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
        """The rule of the fault that this answer is to have, counted as made; `body`: the answer carries a file."""
        with self._lock:
            for rule in self._rules:
                if rule.fault.needs_body != body or rule.made >= rule.times:
                    continue
                if (rule.method or method) != method or not rule.path.search(target):
                    continue
                rule.made += 1
                return rule
        return None
