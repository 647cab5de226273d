"""The HTTP side of a local Hub: reads requests, makes faults, sends answers with ranges and ETags, and logs
everything."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.hub_faults import Fault, Faults, Rule


@dataclass
class Request:
    """A request to the Hub, and the status of the answer."""

    method: str
    target: str
    """The path and query as the client sent them."""
    headers: dict[str, str]
    """The headers, with names in lower case."""
    body: bytes = field(default=b"", repr=False)
    status: int | None = None
    """The status of the Hub's answer; None if it sent none."""
    known: bool = True
    """Whether the local Hub implements this request."""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    def flag(self, name: str) -> bool:
        """Whether the query sets this parameter."""
        return parse_qs(urlsplit(self.target).query).get(name, ["0"])[0].lower() in {"1", "true"}

    def json(self) -> Any:
        return json.loads(self.body or b"{}")


@dataclass
class Answer:
    """The local Hub's answer: status, headers and body. If `is_file`, the body is a file's content. Then the client can
    ask for a range of it, and a test can cut or damage it."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    is_file: bool = False


def answer_json(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json; charset=utf-8"})


def answer_error(status: int, message: str, code: str = "") -> Answer:
    """An error in the format of the real Hub: a JSON body, and headers that answer a HEAD request."""
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    answer = answer_json({"error": message}, status)
    answer.headers |= headers
    return answer


class Server(ThreadingHTTPServer):
    """An HTTP server on a free port of this machine, with a thread for each connection."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer: Callable[[Request], Answer], faults: Faults, log: list[Request]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.faults, self.log = answer, faults, log
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the client closed the connection, or an error of the Hub itself was answered with 500."""

    def close(self) -> None:
        """End the server and every wait in an answer."""
        self.closing.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


class Dropped(Exception):
    """Raised to close the connection without an answer."""


class Handler(BaseHTTPRequestHandler):
    """Handles the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "LocalHub"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = 0
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: `Server.log` has the requests."""

    def _handle(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers)
        self.server.log.append(request)
        try:
            self._answer(request)
        except (Dropped, ConnectionError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _handle

    def _answer(self, request: Request) -> None:
        rule = self.server.faults.take(request.method, unquote(request.target), body=False)
        fault = rule.fault if rule else Fault("")
        if rule is not None:
            rule.reached.set()
        request.body = self._read(fault)
        if fault.kind == "hang":
            self.server.closing.wait(fault.seconds)
        if fault.status:
            answer = answer_error(fault.status, fault.message or f"Injected: {fault.status}", fault.error_code)
            if fault.retry_after is not None:
                answer.headers["Retry-After"] = str(fault.retry_after)
        else:
            try:
                answer = self.server.answer(request)
            except Exception as error:
                answer = answer_error(500, f"{type(error).__name__}: {error}")
        if fault.kind == "drop answer":
            raise Dropped
        if answer.is_file:
            answer = in_range(request, answer)
        self._send(request, answer)

    def _read(self, fault: Fault) -> bytes:
        """Return the request's body. Raises Dropped for the fault "drop request", and if the client closes the
        connection too early."""
        length = int(self.headers.get("Content-Length", 0))
        if fault.kind == "drop request":
            self.rfile.read(int(length * fault.fraction))
            raise Dropped
        body = self.rfile.read(length)
        if len(body) < length:
            raise Dropped  # the client went away: an incomplete request is not carried out
        return body

    def _send(self, request: Request, answer: Answer) -> None:
        body = answer.body
        rule = None
        if answer.is_file and body and request.method == "GET":
            rule = self.server.faults.take(request.method, unquote(request.target), body=True)
        length = len(body)
        if rule is not None:
            at = int(length * rule.fault.fraction)
            if rule.fault.kind == "alter body":
                at = min(at, length - 1)
                body = body[:at] + bytes([body[at] ^ 0x20]) + body[at + 1 :]
            elif rule.fault.kind == "cut body":
                body, length = body[:at], at
        request.status = answer.status
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in (204, 304) and "Content-Length" not in answer.headers:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if request.method != "HEAD":
            self._send_body(request, body, rule)

    def _send_body(self, request: Request, body: bytes, rule: Rule | None) -> None:
        fault = rule.fault if rule else Fault("")
        stop = int(len(body) * fault.fraction) if fault.kind in ("drop body", "stall body") else len(body)
        self.connection.sendall(body[:stop])
        if rule is not None:
            rule.reached.set()
        if fault.kind == "drop body":
            raise Dropped
        if fault.kind == "stall body":
            self.server.closing.wait(fault.seconds)
            self.connection.sendall(body[stop:])


_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def in_range(request: Request, answer: Answer) -> Answer:
    """Return the answer for the range of the file that the request asks for: status 200, 206, 304 or 416."""
    data = answer.body
    headers = {"Accept-Ranges": "bytes", **answer.headers}
    if answer.headers.get("ETag") in [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]:
        return Answer(304, b"", headers)
    asked = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if asked is None or asked.groups() == ("", ""):
        return Answer(answer.status, data, headers, is_file=True)
    first, last = asked.groups()
    start = int(first) if first else max(0, len(data) - int(last))
    end = min(int(last) + 1 if first and last else len(data), len(data))
    if start >= len(data) or end <= start:
        return Answer(416, b"", headers | {"Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
    return Answer(206, data[start:end], headers, is_file=True)
