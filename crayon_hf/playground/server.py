"""The playground's server: HTTP on the loopback interface, for the browser of this machine and its page alone."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import socketserver
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .page import live_page
from .requests import MOST_BYTES, BadRequestError, Request
from .session import Session

LOOPBACK = "127.0.0.1"
_HOSTS = (LOOPBACK, "localhost")
_SECONDS = 60
"""The time after which a silent connection ends."""
_UNREAD = 16 << 20
"""The number of bytes that are read of a refused request."""


class RefusedError(Exception):
    """A request gets no answer but this status and a line of text."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Server(ThreadingHTTPServer):
    """Answers the page at `address`, whose path is a random token; every other request is refused.

    A site that a name of its own leads to this machine has another Host, a page of another site another Origin, and
    another user of this machine does not know the token.
    """

    daemon_threads = True

    def __init__(self, session: Session, names: list[str], text: str, port: int = 0) -> None:
        """Listens on the loopback interface; port 0 takes any free one. OSError names a port that is taken."""
        self.session, self.token = session, secrets.token_urlsafe(24)
        self.page = live_page(names, text)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"{LOOPBACK}:{port}") from error
        self.hosts = {f"{host}:{self.server_port}" for host in _HOSTS}

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    def server_bind(self) -> None:
        """As the base class, which also asks for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may close a connection at any time."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "crayon-hf", ""
    timeout = _SECONDS
    server: Server

    def do_GET(self) -> None:
        try:
            if self._path() != "":
                raise RefusedError(HTTPStatus.NOT_FOUND, "not found")
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)
        except RefusedError as error:
            self._refuse(error)

    def do_POST(self) -> None:
        try:
            path = self._path()
            if self.headers.get("Origin", "") not in {f"http://{host}" for host in self.server.hosts}:
                raise RefusedError(HTTPStatus.FORBIDDEN, "only the playground's own page may ask")
            if self.headers.get_content_type() != "application/json":
                raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
            session = self.server.session
            answers = {
                "open": session.open_named,
                "encode": session.encode,
                "explain": session.explain,
                "check": session.check,
            }
            if path not in answers:
                raise RefusedError(HTTPStatus.NOT_FOUND, "not found")
            answer = answers[path](Request(self._body()))
            self._send(HTTPStatus.OK, "application/json", json.dumps(answer, separators=(",", ":")).encode())
        except BadRequestError as error:
            self._refuse(RefusedError(HTTPStatus.BAD_REQUEST, str(error)))
        except RefusedError as error:
            self._refuse(error)

    def _path(self) -> str:
        """The path behind the token. RefusedError for another host, or without the token."""
        if len(self.headers.get_all("Host") or ()) != 1 or self.headers["Host"] not in self.server.hosts:
            raise RefusedError(HTTPStatus.FORBIDDEN, "this address is not the playground's")
        root, token, path = [*self.path.split("/", 2), "", ""][:3]
        if root or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, "open the address that crayon-hf playground printed")
        return path

    def _body(self) -> bytes:
        size = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not size.isascii() or not size.isdigit():
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request does not say its length")
        if len(size) > 12 or int(size) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has {MOST_BYTES:,} bytes at most")
        data = self.rfile.read(int(size))
        if len(data) < int(size):
            raise ConnectionAbortedError("the request ended before its length")
        return data

    def _refuse(self, error: RefusedError) -> None:
        """The connection ends: the unread body of a refused request would be taken for the next one.

        Most of the body is read first, since a client that is still sending would miss the answer.
        """
        self.close_connection = True
        self._send(error.status, "text/plain; charset=utf-8", f"{error.why}\n".encode("utf-8", "replace"))
        with contextlib.suppress(OSError):  # it may be gone, or say nothing for too long
            self.connection.shutdown(socket.SHUT_WR)
            left = _UNREAD
            while left > 0 and (data := self.rfile.read1(min(left, 1 << 16))):
                left -= len(data)

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(data))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "frame-ancestors 'none'"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the path has the token, and the terminal is the user's."""
