"""moto's S3 on real sockets, behind a proxy that simulates faults of networks and stores."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{code} it is</Message></Error>'


class Request(NamedTuple):
    """A client's request."""

    number: int
    """The request's number, from 1."""
    method: str
    target: str
    """Path and query."""
    body: bytes

    @property
    def changes(self) -> bool:
        """Whether the request changes the store."""
        return self.method in ("PUT", "POST", "DELETE")


Answer = tuple[int, str]
"""The HTTP status and the XML of an answer."""
RESET, LOST = "reset", "lost"
"""The connection breaks: before the store receives the request, or after it has carried it out."""
SLOW_DOWN: Answer = (503, ERROR.format(code="SlowDown"))
UNAVAILABLE: Answer = (503, ERROR.format(code="ServiceUnavailable"))
INTERNAL: Answer = (500, ERROR.format(code="InternalError"))
EXPIRED: Answer = (400, ERROR.format(code="ExpiredToken"))
DENIED: Answer = (403, ERROR.format(code="AccessDenied"))

Fault = Answer | str | None


class Proxy:
    """A proxy in front of an S3 store. The store receives the requests that `fault` lets through. As a context manager
    it runs both servers."""

    def __init__(self) -> None:
        from moto import server as moto
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Handler(WSGIRequestHandler):
            disable_nagle_algorithm = True  # otherwise each body waits 40 ms for the acknowledgement of its headers

            def log(self, *_: Any) -> None:
                pass

        self._store: Any = moto.DomainDispatcherApplication(moto.create_backend_app)  # type: ignore[attr-defined]
        self._servers = [
            make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
            for application in (self._answer, self._store)
        ]
        self.url, self.store_url = (f"http://127.0.0.1:{server.port}" for server in self._servers)
        """The addresses of the proxy, and of the store without the proxy's faults."""
        self.fault: Callable[[Request], Fault] = lambda request: None
        self.done: Callable[[Request], None] | None = None
        """Called after the store has carried out a request whose answer the proxy then drops."""
        self.dropped = ""
        """The lower-case name of a header that the proxy removes from requests."""
        self.requests: list[Request] = []
        self.lock = threading.Lock()

    def __enter__(self) -> Proxy:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        from werkzeug.wsgi import get_input_stream

        body = get_input_stream(environ).read()  # raises for the incomplete body of a killed client
        environ.update({"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))})
        environ.pop(f"HTTP_{self.dropped.upper().replace('-', '_')}", None)
        with self.lock:
            request = Request(len(self.requests) + 1, environ["REQUEST_METHOD"], environ["RAW_URI"], body)
            self.requests.append(request)
        fault = self.fault(request)
        if isinstance(fault, tuple):
            start(f"{fault[0]} SAID", [("Content-Type", "application/xml"), ("Content-Length", str(len(fault[1])))])
            return [fault[1].encode()]
        if fault != RESET:
            answer: Iterable[bytes] = self._store(environ, start if fault is None else lambda *_: None)
            if fault is None:
                return answer
            if self.done is not None:
                self.done(request)
        connection = environ["werkzeug.socket"]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RD)  # read nothing more
        raise ConnectionResetError
