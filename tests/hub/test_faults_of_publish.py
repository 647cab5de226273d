"""A publication that meets a fault publishes everything or nothing, and the next try succeeds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from crayon_hf import _core
from tests.hub import hub_faults
from tests.hub.cartridge_repos import REPO
from tests.hub.hub_client import Session, start_client
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing

pytestmark = pytest.mark.slow

UNREACHABLE = "cannot be reached"
STEPS = {
    "info": ("GET", r"/api/models/user/tok\?"),
    "create": ("POST", "/repos/create"),
    "preupload": ("POST", "/preupload/"),
    "batch": ("POST", "/objects/batch"),
    "upload": ("PUT", "/repos/"),
    "commit": ("POST", "/commit/"),
}


OVERTAKEN = hub_faults.status(412, "A commit has happened since.")
CASES = {
    "info dropped": ("info", hub_faults.drop_request(), UNREACHABLE),
    "create 403": ("create", hub_faults.status(403, "Forbidden"), "token"),
    "preupload 429": ("preupload", hub_faults.status(429, "Slowly", retry_after=1), "too many requests"),
    "upload dropped half-way": ("upload", hub_faults.drop_request(0.5), UNREACHABLE),
    "commit dropped half-way": ("commit", hub_faults.drop_request(0.5), UNREACHABLE),
    "commit answer dropped": ("commit", hub_faults.drop_answer(), UNREACHABLE),
    "commit overtaken": ("commit", OVERTAKEN, "another commit"),
}
"""By the name of a case: the step of the publication that meets a fault, the fault, and the expected message."""


@pytest.fixture(scope="module")
def shelf() -> Iterator[LocalHub]:
    with LocalHub() as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture(scope="module")
def crayon(shelf: LocalHub, tmp_path_factory: pytest.TempPathFactory, gpt2_like: Path) -> Iterator[Session]:
    """A function `crayon("publish", ...)` that runs a command in a directory with a tokenizer and its parity report."""
    home = tmp_path_factory.mktemp("home")
    data = gpt2_like.read_bytes()
    report = agreeing()
    report = replace(report, speeds=(), target=replace(report.target, source_digest=sha256(data).hexdigest()))
    (home / "source").mkdir()
    (home / "source" / "tokenizer.json").write_bytes(data)
    (home / "parity.json").write_text(report.to_json(), encoding="utf-8")
    with Session(shelf, home) as session:
        yield session


ARGUMENTS = ["publish", REPO, "--from", "source", "--report", "parity.json"]
COMMAND = ["-m", "crayon_hf", *ARGUMENTS]


def publish(crayon: Session, *more: str) -> CompletedProcess[str]:
    return crayon(*ARGUMENTS, *more)


def commits(hub: LocalHub) -> int:
    return len(list(hub.storage.history(REPO, hub.head(REPO)))) if hub.exists(REPO) else 0


def is_whole(hub: LocalHub, home: Path) -> None:
    """Check that the repository has every file of a publication, and that the cartridge matches the tokenizer.json."""
    assert {"README.md", "crayon-hf/parity.html", "crayon-hf/parity.json"} < set(hub.files(REPO))
    assert hub.read(REPO, "tokenizer.json") == (home / "source" / "tokenizer.json").read_bytes()
    engine = _core.Engine.from_bytes(hub.read(REPO, "tokenizer.dat"))
    assert engine.certificate is not None
    assert engine.source_digest == json.loads(engine.certificate)["source_digest"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_fault_that_stays(shelf: LocalHub, crayon: Session, name: str) -> None:
    step, fault, says = CASES[name]
    shelf.clear()
    is_new = step == "create" or len(name) % 2 == 0
    if not is_new:
        shelf.commit(REPO, {"tokenizer.json": b"{}", "notes.txt": b"mine", "tokenizer.dat": b"\0old"})
    before, number = is_new or shelf.head(REPO), commits(shelf)
    method, path = STEPS[step]
    rule = shelf.fail(fault, method=method, path=path, times=1000)

    failed = publish(crayon)
    assert rule.made > 0
    *progress, error = failed.stderr.splitlines()
    assert (failed.returncode, failed.stdout) == (1, ""), failed.stderr
    assert error.startswith(f"crayon-hf: error: {REPO}: ")
    assert not any("error" in line or "Traceback" in line for line in progress)
    assert re.search(says, error), error
    applied = name == "commit answer dropped"
    if applied:
        is_whole(shelf, crayon.home)
    elif is_new:
        assert not shelf.exists(REPO) or shelf.files(REPO) == []
    else:
        assert shelf.head(REPO) == before

    shelf.heal()
    again = publish(crayon)
    assert again.returncode == 0, again.stderr
    assert ("nothing was changed" in again.stdout) == applied
    is_whole(shelf, crayon.home)
    assert commits(shelf) == (number or 1) + 1


def test_a_kill_in_the_middle(shelf: LocalHub, crayon: Session) -> None:
    shelf.clear()
    shelf.commit(REPO, {"notes.txt": b"mine"})
    before = shelf.head(REPO)
    method, path = STEPS["commit"]
    reached = shelf.fail(hub_faults.hang(), method=method, path=path).reached
    publishing = start_client(shelf, COMMAND, crayon.home)
    assert reached.wait(600)
    publishing.kill()
    publishing.communicate()
    assert shelf.head(REPO) == before
    assert publish(crayon).returncode == 0
    is_whole(shelf, crayon.home)
    assert commits(shelf) == 3
