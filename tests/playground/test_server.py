"""The playground's server answers only its own page, and refuses other requests with the right status."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.cli.tokenizers import local_name
from crayon_hf.playground.requests import MOST_BYTES
from crayon_hf.playground.server import Server
from crayon_hf.playground.session import Session
from tests.cli.shell import COMMAND, failure
from tests.playground.client import HALF, HOSTILE, TEXTS, Client, embedded, make_request, request_fields, served
from tests.support.command import call


@pytest.fixture(scope="module")
def server(gpt2_like: Path) -> Iterator[Server]:
    with served(gpt2_like, text=HOSTILE[0]) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Client:
    return Client(server)


def test_the_page(client: Client, gpt2_like: Path) -> None:
    answer = client.send("GET", "")
    page = answer.read().decode()
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    data = embedded(page)
    assert (data["names"], data["text"], data["live"]) == ([str(gpt2_like)], HOSTILE[0], True)
    assert page.count("connect-src 'self';") == 1
    assert "unsafe" not in page.partition("</head>")[0]
    assert page.count("document.title=") == page.count("document.title=\\u0027") == 1
    assert client.server.token not in page


@pytest.mark.parametrize("text", [*TEXTS, *HOSTILE, HALF])
def test_answers_are_those_of_the_session(client: Client, gpt2_like: Path, text: str) -> None:
    session = Session(local_name)
    for path in ("encode", "check", "explain"):
        fields = {"panel": 0, "token": 0}
        if path == "explain" and not text:
            continue
        expected = getattr(session, path)(make_request(text, gpt2_like, **fields))
        assert client.ask(path, request_fields(text, gpt2_like, **fields)) == expected


HOSTS = ("evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:{port}", "127.0.0.1:{port}.evil", "", None)
TOKENS = ("", "x", "{token}x", "{short}", "{token}%20", "%C3%A9", "../{token}")
ORIGINS = ("http://evil.example", "null", "https://{host}", "http://{host}.evil", None)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in (("Host", HOSTS), ("token", TOKENS), ("Origin", ORIGINS)) for value in values],
)
def test_another_sender_is_refused(client: Client, gpt2_like: Path, name: str, value: str | None) -> None:
    """A request is refused if it is for another host, lacks the server's token or, as a POST, comes from another
    origin."""
    token = client.server.token
    words = {"port": client.server.server_port, "host": client.host, "token": token, "short": token[:-1]}
    given: dict[str, Any] = {name: value and value.format(**words)}
    body = json.dumps(request_fields("x", gpt2_like)).encode()
    for method, path in [("GET", "")] * (name != "Origin") + [("POST", "encode")]:
        answer = client.send(method, path, body if path else None, **given)
        assert (answer.status, answer.headers["Connection"]) == (403, "close")
        assert token.encode() not in answer.read()


def test_this_machine_by_name(client: Client) -> None:
    host = f"localhost:{client.server.server_port}"
    assert client.send("GET", "", Host=host).status == 200


def test_tokens_are_of_one_server(server: Server, gpt2_like: Path) -> None:
    with served(gpt2_like) as other:
        assert other.token != server.token
        assert len(other.token) == 32
        assert Client(other).send("GET", "", token=server.token).status == 403


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("encode", b"{", {}, 400),
        ("encode", b"[" * 200_000, {}, 400),
        ("encode", b"{}", {}, 400),
        ("encode", b'"\xff"', {}, 400),
        ("encode", b"{}", {"Content_Type": "text/plain"}, 415),
        ("encode", b"{}", {"Content_Type": None}, 415),
        ("encode", b"", {"Content_Length": None}, 411),
        ("encode", b"", {"Content_Length": "-1"}, 411),
        ("encode", b"", {"Content_Length": "+1"}, 411),
        ("encode", b"", {"Content_Length": "\u00b2"}, 411),
        ("encode", b"", {"Content_Length": None, "Transfer_Encoding": "chunked"}, 411),
        ("encode", b"", {"Content_Length": str(MOST_BYTES + 1)}, 413),
        ("encode", b"", {"Content_Length": "9" * 5000}, 413),
        ("other", b"{}", {}, 404),
        ("encode/", b"{}", {}, 404),
        ("encode?x", b"{}", {}, 404),
    ],
)
def test_bad_requests(client: Client, path: str, body: bytes, headers: dict[str, Any], status: int) -> None:
    answer = client.send("POST", path, body, **headers)
    assert answer.status == status
    assert len(answer.read().splitlines()) == 1
    assert answer.headers["Connection"] == "close"


def test_a_large_request_has_its_answer(client: Client) -> None:
    """A client that sends a too large body whole before it reads the answer still receives the refusal."""
    answer = client.send("POST", "encode", b"x" * (8 << 20))
    assert (answer.status, answer.read()) == (413, b"a request may have up to 1,048,576 bytes\n")


def test_the_largest_request(client: Client, gpt2_like: Path) -> None:
    empty = len(json.dumps(request_fields("", gpt2_like)))
    answer = client.ask("encode", request_fields("a " * ((MOST_BYTES - empty) // 2), gpt2_like))
    assert answer["bytes"] == (MOST_BYTES - empty) // 2 * 2
    assert len(answer["panels"][0]["rows"]) == 600


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_other_methods(client: Client, method: str) -> None:
    assert client.send(method, "").status == 501


def test_a_connection_is_kept(client: Client, gpt2_like: Path) -> None:
    client.ask("encode", request_fields("x", gpt2_like))
    kept = client.connection.sock
    client.ask("encode", request_fields("y", gpt2_like))
    assert client.connection.sock is kept


def test_a_request_that_ends_early(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    """If a client closes the connection within a request, the server logs nothing and continues."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(
            f"POST /{server.token}/encode HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            f"Origin: http://127.0.0.1:{server.server_port}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{".encode()
        )
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    assert Client(server).send("GET", "").status == 200
    assert capfd.readouterr().err == ""


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.concurrency
def test_many_at_once(server: Server, gpt2_like: Path, llama3_like: Path) -> None:
    """Concurrent requests each receive the answer for their own text."""
    wanted = {text: Session(local_name).encode(make_request(text, gpt2_like, llama3_like)) for text in TEXTS}

    def type_texts(start: int) -> None:
        client = Client(server)
        for number in range(30):
            text = TEXTS[(start + number) % len(TEXTS)]
            assert client.ask("encode", request_fields(text, gpt2_like, llama3_like)) == wanted[text]
            assert client.ask("check", request_fields(text, gpt2_like, llama3_like, panel=number % 2))["same"]

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(type_texts, range(6)))


# -- the command


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_command(gpt2_like: Path, llama3_like: Path) -> None:
    """The command prints an address that answers, and exits with status 130 on Ctrl-C."""
    command = [*COMMAND, "playground", gpt2_like, llama3_like, "--text", "x <b>"]
    process: Any = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    address = process.stdout.readline().decode().strip()
    with urllib.request.urlopen(address) as answer:
        data = embedded(answer.read().decode())
    assert data["names"] == [str(gpt2_like), str(llama3_like)]
    assert data["text"] == "x <b>"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) == 130
    assert process.stdout.read() == b""
    assert process.stderr.read() == b"crayon-hf: serving the page at this address; press Ctrl-C to stop\n"


def test_wrong_usage(server: Server, tmp_path: Path) -> None:
    assert "up to 4 tokenizers, not 5" in failure(call("playground", *["lite"] * 5), 2)
    assert "no tokenizer 'no-such'" in failure(call("playground", "lite", "no-such"))
    assert "none.json" in failure(call("playground", tmp_path / "none.json"))
    assert "70000" in failure(call("playground", "--port", "70000"), 2)
    taken = failure(call("playground", "--port", str(server.server_port)))
    assert taken == f"127.0.0.1:{server.server_port}: Address already in use"
