"""The playground's server: HTTP on the loopback interface, for its own page only."""

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
"""The timeout of an idle connection."""
_MOST_DISCARDED = 16 << 20
"""The most bytes of a refused request's body that are read and discarded."""


class RefusedError(Exception):
    """A refused request: the answer is a status and one line of text."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Server(ThreadingHTTPServer):
    """Serves the page at `address`, whose path has a random token, and refuses all other requests.

    The Host header must name this machine, against DNS rebinding. The Origin header must be the page's own, against
    pages of other sites. The token keeps out other users of this machine.
    """

    daemon_threads = True

    def __init__(self, session: Session, names: list[str], text: str, port: int = 0) -> None:
        """Listen on the loopback interface.

        Args:
            session: The tokenizers and texts.
            names: The tokenizers that the page begins with.
            text: The text that the page begins with.
            port: The port; 0 selects a free one.

        Raises:
            OSError: The port is in use.
        """
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
        """Bind without the base class's lookup of this machine's name, which can be slow."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the browser closed."""
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
                raise RefusedError(HTTPStatus.FORBIDDEN, "only the playground's own page may send requests")
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
        """Return the path after the token. Raise RefusedError for another host or a wrong token."""
        if len(self.headers.get_all("Host") or ()) != 1 or self.headers["Host"] not in self.server.hosts:
            raise RefusedError(HTTPStatus.FORBIDDEN, "this address is not the playground's")
        root, token, path = [*self.path.split("/", 2), "", ""][:3]
        if root or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, "open the address that crayon-hf playground printed")
        return path

    def _body(self) -> bytes:
        size = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not size.isascii() or not size.isdigit():
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request needs a Content-Length")
        if len(size) > 12 or int(size) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request may have up to {MOST_BYTES:,} bytes")
        data = self.rfile.read(int(size))
        if len(data) < int(size):
            raise ConnectionAbortedError("the request ended before its Content-Length")
        return data

    def _refuse(self, error: RefusedError) -> None:
        """Send the refusal and close the connection, since an unread body would be parsed as the next request.

        The body is read first, up to a limit: a client that is still sending would miss the answer.
        """
        self.close_connection = True
        self._send(error.status, "text/plain; charset=utf-8", f"{error.reason}\n".encode("utf-8", "replace"))
        with contextlib.suppress(OSError):  # the client may have closed the connection, or be idle for too long
            self.connection.shutdown(socket.SHUT_WR)
            left = _MOST_DISCARDED
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
        """Log nothing: the path has the token."""
