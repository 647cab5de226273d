"""A publication that meets a fault publishes everything or nothing, and the next try succeeds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crayon_hf import _core
from tests.hub.hub_client import Session, failure, start_client
from tests.hub.hub_faults import Fault, status
from tests.hub.local_hub import LocalHub
from tests.hub.test_publish import report_file

pytestmark = pytest.mark.slow

REPO = "user/tok"
UNREACHABLE = "cannot be reached"
INFO, CREATE, PREUPLOAD = ("GET", r"/api/models/user/tok\?"), ("POST", "/repos/create"), ("POST", "/preupload/")
UPLOAD, COMMIT = ("PUT", "/repos/"), ("POST", "/commit/")
CASES = {
    "info dropped": (INFO, Fault("drop request"), UNREACHABLE),
    "create 403": (CREATE, status(403, "Forbidden"), "token"),
    "preupload 429": (PREUPLOAD, status(429, "Slowly", retry_after=1), "too many requests"),
    "upload dropped half-way": (UPLOAD, Fault("drop request"), UNREACHABLE),
    "commit dropped half-way": (COMMIT, Fault("drop request"), UNREACHABLE),
    "commit answer dropped": (COMMIT, Fault("drop answer"), UNREACHABLE),
    "commit overtaken": (COMMIT, status(412, "A commit has happened since."), "another commit"),
}
"""By the name of a case: the request of the publication that meets a fault, the fault, and the expected message."""


@pytest.fixture(scope="module")
def shelf() -> Iterator[LocalHub]:
    with LocalHub() as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture(scope="module")
def crayon(shelf: LocalHub, tmp_path_factory: pytest.TempPathFactory, gpt2_like: Path) -> Iterator[Session]:
    """A function `crayon("publish", ...)` that runs a command in a directory with a tokenizer and its parity report."""
    home = tmp_path_factory.mktemp("home")
    (home / "source").mkdir()
    (home / "source" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    report_file(home / "source", home / "parity.json")
    with Session(shelf, home) as session:
        yield session


PUBLISH = ["publish", REPO, "--from", "source", "--report", "parity.json"]


def commits(hub: LocalHub) -> int:
    return len(hub.storage.repository(REPO).commits) if hub.exists(REPO) else 0


def is_whole(hub: LocalHub, home: Path) -> None:
    """Check that the repository has every file of a publication, and that the cartridge matches the tokenizer.json."""
    assert {"README.md", "crayon-hf/parity.html", "crayon-hf/parity.json"} < set(hub.files(REPO))
    assert hub.read(REPO, "tokenizer.json") == (home / "source" / "tokenizer.json").read_bytes()
    engine = _core.Engine.from_bytes(hub.read(REPO, "tokenizer.dat"))
    assert engine.certificate is not None
    assert engine.source_digest == json.loads(engine.certificate)["source_digest"]


@pytest.mark.parametrize("name", CASES)
def test_a_fault_that_stays(shelf: LocalHub, crayon: Session, name: str) -> None:
    request, fault, says = CASES[name]
    shelf.clear()
    is_new = request == CREATE or len(name) % 2 == 0
    if not is_new:
        shelf.commit(REPO, {"tokenizer.json": b"{}", "notes.txt": b"mine", "tokenizer.dat": b"\0old"})
    before, number = is_new or shelf.head(REPO), commits(shelf)
    rule = shelf.fail(fault, method=request[0], path=request[1], times=1000)

    failed = crayon(*PUBLISH)
    assert rule.made > 0
    assert re.match(f"{REPO}: .*{says}", failure(failed)), failed
    assert not any("error" in line for line in failed.stderr.splitlines()[:-1])
    applied = name == "commit answer dropped"
    if applied:
        is_whole(shelf, crayon.home)
    elif is_new:
        assert not shelf.exists(REPO) or shelf.files(REPO) == []
    else:
        assert shelf.head(REPO) == before

    shelf.heal()
    again = crayon(*PUBLISH)
    assert again.returncode == 0, again.stderr
    assert ("nothing was changed" in again.stdout) == applied
    is_whole(shelf, crayon.home)
    assert commits(shelf) == (number or 1) + 1


def test_a_kill_in_the_middle(shelf: LocalHub, crayon: Session) -> None:
    shelf.clear()
    shelf.commit(REPO, {"notes.txt": b"mine"})
    before = shelf.head(REPO)
    reached = shelf.fail(Fault("hang"), method="POST", path="/commit/").reached
    publishing = start_client(shelf, ["-m", "crayon_hf", *PUBLISH], crayon.home)
    assert reached.wait(600)
    publishing.kill()
    publishing.communicate()
    assert shelf.head(REPO) == before
    assert crayon(*PUBLISH).returncode == 0
    is_whole(shelf, crayon.home)
    assert commits(shelf) == 3
