"""moto's S3 on real sockets, and before it what does to requests what networks and stores do to them."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Callable, Iterable
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


class Proxy:
    """A store that is asked what `fault` lets through. As a context it serves."""

    def __init__(self) -> None:
        from moto import server as moto
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Handler(WSGIRequestHandler):
            disable_nagle_algorithm = True  # or each body waits 40 ms for its headers to be acknowledged

            def log(self, *_: Any) -> None:
                pass

        self._store: Any = moto.DomainDispatcherApplication(moto.create_backend_app)  # type: ignore[attr-defined]
        self._servers = [
            make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
            for application in (self._answer, self._store)
        ]
        self.url, self.store_url = (f"http://127.0.0.1:{server.port}" for server in self._servers)
        """The second one is the store without faults."""
        self.fault: Callable[[Request], Fault] = lambda request: None
        self.done: Callable[[Request], None] | None = None
        """Called when a request is done whose answer is lost."""
        self.dropped = ""
        """A header, in small letters, that the store does not get."""
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

        body = get_input_stream(environ).read()  # of a client that was killed it raises: half a body is none
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
        connection.shutdown(socket.SHUT_RD)  # nothing else is read from there
        raise ConnectionResetError
