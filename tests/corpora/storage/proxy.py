"""A proxy between a client and a store, on real sockets: it does to requests what networks and stores do to them."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code} it is</Message></Error>'
EMPTY = (
    '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bkt</Name>'
    "<Prefix></Prefix><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>"
)


class Request(NamedTuple):
    """What a client asks for."""

    number: int
    """From 1."""
    method: str
    target: str
    """Path and query."""
    body: bytes

    @property
    def changes(self) -> bool:
        """Whether something is different afterwards."""
        return self.method in ("PUT", "POST", "DELETE")

    @property
    def lists(self) -> bool:
        """Whether it asks what there is."""
        return self.method == "GET" and "list-type=2" in self.target


Answer = tuple[int, str]
"""HTTP's status, and XML."""
RESET, LOST = "reset", "lost"
"""The connection breaks: before the store has heard of the request, or after it has done it."""
SLOW_DOWN: Answer = (503, ERROR.format(code="SlowDown"))
UNAVAILABLE: Answer = (503, ERROR.format(code="ServiceUnavailable"))
INTERNAL: Answer = (500, ERROR.format(code="InternalError"))
EXPIRED: Answer = (400, ERROR.format(code="ExpiredToken"))
DENIED: Answer = (403, ERROR.format(code="AccessDenied"))
NOTHING: Answer = (200, EMPTY)

Fault = Answer | str | None


class Proxy(ThreadingHTTPServer):
    """Forwards what `fault` lets through. As a context it serves."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream.removeprefix("http://")
        self.fault: Callable[[Request], Fault] = lambda request: None
        self.done: Callable[[Request], None] | None = None
        """Called when a request is done whose answer is lost."""
        self.dropped = ""
        """A header, in small letters, that the store does not get."""
        self.requests: list[Request] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed hangs up."""

    def __enter__(self) -> Proxy:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each body waits 40 ms for its headers to be acknowledged
    server: Proxy

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _forward(self) -> None:
        body = self._body()
        with self.server.lock:
            request = Request(len(self.server.requests) + 1, self.command, self.path, body)
            self.server.requests.append(request)
        fault = self.server.fault(request)
        if fault == RESET:
            self._reset()
        elif isinstance(fault, tuple):
            self._answer(fault[0], [("Content-Type", "application/xml")], fault[1].encode())
        else:
            status, headers, data = self._upstream(body)
            if fault == LOST:
                if self.server.done is not None:
                    self.server.done(request)
                self._reset()
            else:
                self._answer(status, headers, data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self._read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self._read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def _read(self, size: int) -> bytes:
        """Of a client that was killed meanwhile the store gets nothing: it would keep half a body as the whole."""
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionResetError
        return data

    def _upstream(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.server.upstream, timeout=60)
        skipped = ("transfer-encoding", "content-length", "expect", "connection", self.server.dropped)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in skipped}
        if body or self.command in ("PUT", "POST"):
            headers["Content-Length"] = str(len(body))
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            data = answer.read()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in skipped]
            if self.command == "HEAD":
                kept.append(("Content-Length", answer.getheader("Content-Length", "0")))
            return answer.status, kept, data

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        elif not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _reset(self) -> None:
        """What the other side gets is "connection reset by peer"."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.wfile = _Nowhere()  # type: ignore[assignment]
        self.connection.close()


class _Nowhere:
    closed = True

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass
