"""Helpers for tests of the playground: texts, requests, and a server in this process."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from crayon_hf.cli.tokenizers import local_name
from crayon_hf.playground.requests import Request
from crayon_hf.playground.server import Server
from crayon_hf.playground.session import Session

TEXTS = (
    "Hello, wörld! It's 12,345 naïve words: 日本語 🙂\nand\t two  lines\n",
    "",
    " ",
    "aaaaaaaaaaaaaaaaaaaaaaaa aaaa aaaa internationalization",
    "<|endoftext|>Hello[CLS] crayon [L] x <s> y<|eot_id|>",
)
HOSTILE = (
    "</span><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\" onmouseover=\"document.title='owned'",
    "</style></div>' & &lt; &#60; <!-- -->",
    "\u202egnp.exe\u202c \u0000\x1b[31m \ud7ff\ufeff\u200b\u2028\u0301",
)
HALF = "half \ud83d of a pair"


def request_fields(text: str, *names: object, **changes: Any) -> dict[str, Any]:
    """Return the fields of a request to the playground's server, as the page's script sends them."""
    fields = {"text": text, "names": list(map(str, names)), "add_special_tokens": True, "special_as_text": False}
    return fields | {"first": 0, "count": 600} | changes


def make_request(text: str, *names: object, **changes: Any) -> Request:
    return Request(json.dumps(request_fields(text, *names, **changes)).encode())


def embedded(page: str) -> dict[str, Any]:
    """Return the data that a page contains as JSON."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(found)
    return data


@contextmanager
def served(*names: object, text: str = "") -> Iterator[Server]:
    """Run the playground's server on a real socket in a thread, with the tokenizers `names` open."""
    with Server(Session(local_name), list(map(str, names)), text) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Client:
    """An HTTP client that sends the headers that the playground's page sends, unless told otherwise."""

    def __init__(self, server: Server | SimpleNamespace) -> None:
        self.server = server
        self.host = f"127.0.0.1:{server.server_port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=600)

    def send(
        self, method: str, path: str, body: bytes | None = None, token: str | None = None, **headers: str | None
    ) -> http.client.HTTPResponse:
        """Send a request and return its answer, unread. A header that is None is left out."""
        sent: dict[str, str | None] = {"Host": self.host, "Origin": f"http://{self.host}"}
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(body or b""))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.putrequest(method, f"/{self.server.token if token is None else token}/{path}", skip_host=True)
        for name, value in sent.items():
            if value is not None:
                self.connection.putheader(name, value)
        self.connection.endheaders(body)
        return self.connection.getresponse()

    def ask(self, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request that succeeds."""
        answer = self.send("POST", path, json.dumps(fields).encode())
        data = answer.read()
        assert answer.status == 200, data
        found: dict[str, Any] = json.loads(data)
        return found


def with_other_merges(source: Path, to: Path) -> Path:
    """Write a copy of the tokenizer.json `source` with its first 40 merges only."""
    document = json.loads(source.read_text(encoding="utf-8"))
    document["model"]["merges"] = document["model"]["merges"][:40]
    to.write_text(json.dumps(document), encoding="utf-8")
    return to
