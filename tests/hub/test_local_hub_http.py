"""The local Hub on a plain socket: ranges and ETags, changes that are whole or not at all, and every fault."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.hub import hub_faults
from tests.hub.hub_faults import Fault
from tests.hub.local_hub import LocalHub

DATA = bytes(range(200)) * 500
FILE = "/user/repo/resolve/main/file.bin"


@dataclass
class Got:
    """An answer, or what there was of it: `error` is what the client's library said when it ended early."""

    status: int = 0
    headers: http.client.HTTPMessage | dict[str, str] | None = None
    body: bytes = b""
    error: str | None = None


def ask(
    hub: LocalHub, method: str, url: str, body: bytes | None = None, *, timeout: float = 30.0, **headers: str
) -> Got:
    """One request on a connection of its own, without redirects."""
    parts = urlsplit(url if url.startswith("http") else hub.url + url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
    got = Got()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body, named)
        answer = connection.getresponse()
        got.status, got.headers = answer.status, answer.headers
        got.body = answer.read()
    except http.client.IncompleteRead as error:
        got.body, got.error = error.partial, "IncompleteRead"
    except (OSError, http.client.HTTPException) as error:
        got.error = type(error).__name__
    finally:
        connection.close()
    return got


def where(hub: LocalHub, path: str = FILE) -> str:
    """Where a file is, after the redirect."""
    location = ask(hub, "HEAD", path).headers["Location"]
    return location if location.startswith("http") else hub.url + location


@pytest.fixture
def filled(hub: LocalHub) -> Iterator[LocalHub]:
    """A Hub with one file in LFS and one beside it."""
    hub.commit("user/repo", {"file.bin": DATA, "file.txt": DATA[32:127] * 9})
    yield hub
    hub.requests.clear()


# -- the answers without faults


def test_what_a_redirect_says_of_a_file(filled: LocalHub) -> None:
    sha256 = hashlib.sha256(DATA).hexdigest()
    binary = ask(filled, "HEAD", FILE)
    assert (binary.status, binary.body) == (302, b"")
    assert binary.headers["X-Repo-Commit"] == filled.head("user/repo").sha
    assert (binary.headers["X-Linked-Etag"], binary.headers["X-Linked-Size"]) == (f'"{sha256}"', str(len(DATA)))
    assert not binary.headers["Location"].startswith(filled.url)
    text = ask(filled, "HEAD", FILE.replace(".bin", ".txt"))
    oid = hashlib.sha1(b"blob 855\0" + DATA[32:127] * 9).hexdigest()
    assert (text.status, text.headers["X-Linked-Etag"]) == (307, f'"{oid}"')
    held = ask(filled, "HEAD", text.headers["Location"])
    assert (held.status, held.headers["ETag"], held.headers["Content-Length"]) == (200, f'"{oid}"', "855")
    assert held.headers["X-Repo-Commit"] == filled.head("user/repo").sha


@pytest.mark.parametrize("name", ["file.bin", "file.txt"])
def test_ranges_and_etags(filled: LocalHub, name: str) -> None:
    data = filled.read("user/repo", name)
    url = where(filled, FILE.replace("file.bin", name))
    size = len(data)
    whole = ask(filled, "GET", url)
    assert (whole.status, whole.body, whole.headers["Accept-Ranges"]) == (200, data, "bytes")
    for asked, start, stop in [("0-9", 0, 10), ("100-", 100, size), ("-7", size - 7, size), (f"5-{size * 2}", 5, size)]:
        part = ask(filled, "GET", url, Range=f"bytes={asked}")
        assert (part.status, part.body) == (206, data[start:stop]), asked
        assert part.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{size}"
        assert part.headers["ETag"] == whole.headers["ETag"]
    beyond = ask(filled, "GET", url, Range=f"bytes={size}-")
    assert (beyond.status, beyond.body, beyond.headers["Content-Range"]) == (416, b"", f"bytes */{size}")
    assert ask(filled, "GET", url, If_None_Match=whole.headers["ETag"]).status == 304
    assert ask(filled, "GET", url, If_None_Match='"other"').status == 200


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/user/repo/resolve/main/none.txt", 404, "EntryNotFound"),
        ("/user/repo/resolve/v1/file.txt", 404, "RevisionNotFound"),
        ("/user/none/resolve/main/file.txt", 404, "RepoNotFound"),
        ("/user/private/resolve/main/file.txt", 404, "RepoNotFound"),
        ("/user/gated/resolve/main/file.txt", 403, "GatedRepo"),
    ],
)
def test_errors_are_in_the_headers(filled: LocalHub, path: str, status: int, code: str) -> None:
    filled.create("user/private", private=True)
    filled.create("user/gated", gated="auto")
    for method in ("HEAD", "GET"):
        got = ask(filled, method, path, Authorization=f"Bearer {filled.other_token}")
        assert (got.status, got.headers["X-Error-Code"]) == (status, code)
        assert got.headers["X-Error-Message"]
        assert (json.loads(got.body)["error"] if method == "GET" else got.body) in (got.headers["X-Error-Message"], b"")


def test_the_other_host_knows_signatures_only(filled: LocalHub) -> None:
    url = where(filled)
    assert ask(filled, "GET", url.split("?")[0]).status == 403
    assert ask(filled, "GET", url.replace("signature=", "signature=0")).status == 403
    assert ask(filled, "PUT", url, DATA).status == 403
    new = b"\0new"
    put = filled._routes.signed("PUT", hashlib.sha256(new).hexdigest())
    assert ask(filled, "PUT", put, new[:-1]).status == 400
    assert not filled.storage.blob(hashlib.sha256(new).hexdigest()).exists()
    assert ask(filled, "PUT", put, new).status == 200
    assert filled.storage.blob(hashlib.sha256(new).hexdigest()).read_bytes() == new


# -- changes are whole


def _commit(*operations: dict[str, object]) -> bytes:
    header = {"key": "header", "value": {"summary": "A commit"}}
    return b"".join(json.dumps(item).encode() + b"\n" for item in (header, *operations))


ADD = {"key": "file", "value": {"path": "new.txt", "content": base64.b64encode(b"new").decode(), "encoding": "base64"}}


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"key": "lfsFile", "value": {"path": "x", "algo": "sha256", "oid": "0" * 64, "size": 1}}, 400),
        ({"key": "file", "value": {"path": "../x", "content": "", "encoding": "base64"}}, 400),
        ({"key": "file", "value": {"path": "file.txt/x", "content": "", "encoding": "base64"}}, 400),
        ({"key": "file", "value": {"path": "x", "content": "***", "encoding": "base64"}}, 500),
        ({"key": "deletedFile", "value": {"path": "none"}}, 404),
        ({"key": "unheard of", "value": {}}, 400),
    ],
    ids=["not uploaded", "outside", "below a file", "no base64", "not there", "unknown"],
)
def test_a_commit_that_cannot_be_made_changes_nothing(
    filled: LocalHub, operation: dict[str, object], status: int
) -> None:
    before = filled.head("user/repo")
    token = f"Bearer {filled.token}"
    url = "/api/models/user/repo/commit/main"
    assert ask(filled, "POST", url, _commit(ADD, operation), Authorization=token).status == status
    assert filled.head("user/repo") == before
    assert ask(filled, "POST", url, _commit(ADD), Authorization=token).status == 200
    assert filled.read("user/repo", "new.txt") == b"new"


def test_a_commit_of_which_half_arrives_changes_nothing(filled: LocalHub) -> None:
    before = filled.head("user/repo")
    body = _commit(ADD)
    host, port = urlsplit(filled.url).hostname, urlsplit(filled.url).port
    head = f"POST /api/models/user/repo/commit/main HTTP/1.1\r\nAuthorization: Bearer {filled.token}\r\n"
    with socket.create_connection((host, port), timeout=30) as connection:
        connection.sendall(f"{head}Content-Length: {len(body) + 1}\r\n\r\n".encode() + body)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert filled.head("user/repo") == before


def test_commits_at_once_all_count(filled: LocalHub) -> None:
    def add(name: str) -> None:
        value = {**ADD["value"], "path": name}
        body = _commit({"key": "file", "value": value})
        ask(filled, "POST", "/api/models/user/repo/commit/main", body, Authorization=f"Bearer {filled.token}")

    threads = [threading.Thread(target=add, args=(f"{n}.txt",)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"{n}.txt" for n in range(12)} < set(filled.files("user/repo"))
    assert len(list(filled.storage.history("user/repo", filled.head("user/repo")))) == 14


# -- faults


def test_a_status_instead_of_an_answer(filled: LocalHub) -> None:
    filled.fail(hub_faults.status(429, "Slowly", retry_after=3), method="GET", path="user/repo$")
    filled.fail(hub_faults.status(403, error_code="GatedRepo"), method="POST")
    got = ask(filled, "GET", "/api/models/user/repo")
    assert (got.status, got.headers["Retry-After"], json.loads(got.body)["error"]) == (429, "3", "Slowly")
    assert ask(filled, "GET", "/api/models/user/repo").status == 200
    got = ask(filled, "POST", "/api/models/user/repo/commit/main", _commit(ADD), Authorization=f"Bearer {filled.token}")
    assert (got.status, got.headers["X-Error-Code"]) == (403, "GatedRepo")
    assert "new.txt" not in filled.files("user/repo")


def test_when_and_how_often(filled: LocalHub) -> None:
    rule = filled.fail(hub_faults.status(503), path="file", times=2, after=1)
    statuses = [ask(filled, "HEAD", FILE).status for _ in range(5)]
    assert statuses == [302, 503, 503, 302, 302]
    assert rule.made == 2
    assert [request.fault for request in filled.asked("HEAD")] == [None, "status 503", "status 503", None, None]
    filled.fail(hub_faults.status(500), path="file", times=9)
    assert ask(filled, "HEAD", FILE).status == 500
    filled.heal()
    assert ask(filled, "HEAD", FILE).status == 302


@pytest.mark.parametrize(
    ("fault", "applied"),
    [
        (hub_faults.drop_request(), False),
        (hub_faults.drop_request(0.5), False),
        (hub_faults.drop_answer(), True),
        (hub_faults.drop_headers(), True),
    ],
    ids=["before", "in the request", "before the answer", "in the headers"],
)
def test_a_connection_that_ends(filled: LocalHub, fault: Fault, applied: bool) -> None:
    filled.fail(fault, method="POST", path="/commit/")
    token = f"Bearer {filled.token}"
    got = ask(filled, "POST", "/api/models/user/repo/commit/main", _commit(ADD), Authorization=token)
    if fault.name == "drop headers":
        assert (got.status, got.headers.get("Content-Length"), got.body) == (200, None, b"")
    else:
        assert got.error in {"RemoteDisconnected", "ConnectionResetError", "BrokenPipeError"}
    assert ("new.txt" in filled.files("user/repo")) == applied
    assert filled.asked("POST", "/commit/")[0].fault == fault.name
    assert ask(filled, "GET", "/api/models/user/repo").status == 200


@pytest.mark.parametrize("name", ["file.bin", "file.txt"])
def test_a_body_that_is_not_what_it_should_be(filled: LocalHub, name: str) -> None:
    data = filled.read("user/repo", name)
    url = where(filled, FILE.replace("file.bin", name))
    faults = [hub_faults.drop_body(0.25), hub_faults.cut_body(0.25), hub_faults.alter_body(1.0)]
    for fault in faults:
        filled.fail(fault, path=name)
    quarter = len(data) // 4
    assert ask(filled, "HEAD", url).headers["Content-Length"] == str(len(data))  # it has no body: no fault is made
    dropped = ask(filled, "GET", url)
    assert (dropped.status, dropped.headers["Content-Length"], dropped.error) == (200, str(len(data)), "IncompleteRead")
    assert dropped.body == data[:quarter]
    cut = ask(filled, "GET", url)
    assert (cut.headers["Content-Length"], cut.body, cut.error) == (str(quarter), data[:quarter], None)
    altered = ask(filled, "GET", url)
    assert altered.headers["ETag"] == dropped.headers["ETag"]
    assert altered.body[:-1] == data[:-1]
    assert altered.body[-1] != data[-1]
    assert ask(filled, "GET", url).body == data


def test_a_body_that_stops(filled: LocalHub) -> None:
    rule = filled.fail(hub_faults.stall_body(0.5, 60), path="file.bin")
    url = urlsplit(where(filled))
    connection = http.client.HTTPConnection(url.netloc, timeout=30)
    connection.request("GET", f"{url.path}?{url.query}")
    answer = connection.getresponse()
    assert answer.read(len(DATA) // 2) == DATA[: len(DATA) // 2]
    assert rule.reached.wait(30)
    assert filled.asked("GET", "file.bin")[0].sent == len(DATA) // 2
    connection.sock.settimeout(0.05)
    with pytest.raises(TimeoutError):
        answer.read(1)
    connection.close()


def test_a_body_and_an_answer_that_take_time(filled: LocalHub) -> None:
    url = where(filled)
    filled.fail(hub_faults.stall_body(0.5, 0.2), path="file.bin")
    filled.fail(hub_faults.slow_body(0.2), path="file.bin")
    for _ in range(2):
        start = time.monotonic()
        assert ask(filled, "GET", url).body == DATA
        assert time.monotonic() - start >= 0.19
    filled.fail(hub_faults.hang(60), path="user/repo$")
    assert ask(filled, "GET", "/api/models/user/repo", timeout=0.05).error == "TimeoutError"
    filled.fail(hub_faults.hang(0.2), path="user/repo$")
    start = time.monotonic()
    assert ask(filled, "GET", "/api/models/user/repo").status == 200
    assert time.monotonic() - start >= 0.19


def test_closing_does_not_wait_for_a_fault(tmp_path: Path) -> None:
    with LocalHub(tmp_path) as hub:
        hub.fail(hub_faults.hang(600))
        threads = [threading.Thread(target=ask, args=(hub, "GET", "/api/whoami-v2"), kwargs={"timeout": 600})]
        for thread in threads:
            thread.start()
        while not hub.requests:
            time.sleep(0.001)
    for thread in threads:
        thread.join()  # for ever, if it did


def test_what_it_does_not_know_is_noted(tmp_path: Path) -> None:
    with LocalHub(tmp_path) as hub:
        assert ask(hub, "GET", "/api/datasets/user/repo").status == 404
        assert hub.unknown() == ["GET /api/datasets/user/repo"]
