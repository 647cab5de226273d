"""A publication when something goes wrong on the way: all of it is there or nothing, and the next try ends well."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import pytest

from crayon_hf import _core
from tests.hub import hub_faults
from tests.hub.cartridge_repos import REPO
from tests.hub.hub_client import Session, start_client
from tests.hub.hub_faults import Fault
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing
from tests.support.versions import since_hub_1

pytestmark = pytest.mark.slow

UNREACHABLE = "cannot be reached"
STEPS = {
    "login": ("GET", "whoami"),
    "info": ("GET", r"/api/models/user/tok\?"),
    "create": ("POST", "/repos/create"),
    "card": ("POST", "/validate-yaml"),
    "preupload": ("POST", "/preupload/"),
    "batch": ("POST", "/objects/batch"),
    "upload": ("PUT", "/repos/"),
    "verify": ("POST", "/objects/verify"),
    "commit": ("POST", "/commit/"),
}


class Case(NamedTuple):
    step: str
    fault: Fault
    says: str


def _cases() -> dict[str, Case]:
    faults = {
        "dropped": (hub_faults.drop_request(), UNREACHABLE),
        "answer dropped": (hub_faults.drop_answer(), UNREACHABLE),
        "401": (hub_faults.status(401, "Invalid credentials in Authorization header"), "token"),
        "403": (hub_faults.status(403, "Forbidden"), "token"),
        "404": (hub_faults.status(404, "Gone"), "404"),
        "429": (hub_faults.status(429, "Slowly", retry_after=1), "too many requests"),
        "503": (hub_faults.status(503, "Away"), "503"),
    }
    # Every step with two faults, every fault at two steps, and more where something is changed.
    names = list(faults)
    chosen = [(step, names[(2 * n + k) % len(names)]) for n, step in enumerate(STEPS) for k in range(2)]
    chosen += [("upload", "answer dropped"), ("commit", "answer dropped"), ("commit", "dropped"), ("commit", "503")]
    cases = {f"{step} {name}": Case(step, *faults[name]) for step, name in chosen}
    for name in ("verify dropped", "verify answer dropped", "upload answer dropped"):
        del cases[name]  # the next try finds the file there: see below
    cases["upload dropped half-way"] = Case("upload", hub_faults.drop_request(0.5), UNREACHABLE)
    cases["commit dropped half-way"] = Case("commit", hub_faults.drop_request(0.5), UNREACHABLE)
    cases["commit dropped in the headers"] = Case("commit", hub_faults.drop_headers(), UNREACHABLE)
    cases["commit overtaken"] = Case("commit", hub_faults.status(412, "A commit has happened since."), "somebody else")
    return cases


CASES = _cases()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHub]:
    with LocalHub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub
        assert hub.unknown() == []


@pytest.fixture(scope="module")
def crayon(shelf: LocalHub, tmp_path_factory: pytest.TempPathFactory, gpt2_like: Path) -> Iterator[Session]:
    """`crayon("publish", ...)`, in a directory with a tokenizer and a report of it."""
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
    """Everything is there, and the cartridge is that of the tokenizer."""
    assert {"README.md", "crayon-hf/parity.html", "crayon-hf/parity.json"} < set(hub.files(REPO))
    assert hub.read(REPO, "tokenizer.json") == (home / "source" / "tokenizer.json").read_bytes()
    engine = _core.Engine.from_bytes(hub.read(REPO, "tokenizer.dat"))
    assert engine.certificate is not None
    assert engine.source_digest == json.loads(engine.certificate)["source_digest"]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_fault_that_stays(shelf: LocalHub, crayon: Session, name: str) -> None:
    case = CASES[name]
    shelf.clear()
    is_new = case.step == "create" or len(name) % 2 == 0
    if not is_new:
        shelf.commit(REPO, {"tokenizer.json": b"{}", "notes.txt": b"mine", "tokenizer.dat": b"\0old"})
    before, number = is_new or shelf.head(REPO), commits(shelf)
    method, path = STEPS[case.step]
    rule = shelf.fail(case.fault, method=method, path=path, times=1000)

    failed = publish(crayon)
    assert rule.made > 0
    *progress, error = failed.stderr.splitlines()
    assert (failed.returncode, failed.stdout) == (1, ""), failed.stderr
    assert error.startswith(f"crayon-hf: error: {REPO}: ")
    assert not any("error" in line or "Traceback" in line for line in progress)
    assert re.search(case.says, error), error
    applied = case.step == "commit" and case.fault.name in ("drop answer", "drop headers")
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


@pytest.mark.parametrize("step", [step for step in STEPS if step not in ("create", "card", "commit")])
@pytest.mark.parametrize("fault", [hub_faults.drop_request(), hub_faults.status(503)], ids=["dropped", "503"])
def test_a_fault_that_passes(shelf: LocalHub, crayon: Session, step: str, fault: Fault) -> None:
    shelf.clear()
    method, path = STEPS[step]
    rule = shelf.fail(fault, method=method, path=path)
    done = publish(crayon)
    assert (done.returncode, rule.made) == (0, 1), done.stderr
    is_whole(shelf, crayon.home)
    assert commits(shelf) == 2


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ("upload", hub_faults.drop_answer()),
        pytest.param("verify", hub_faults.drop_request(), marks=since_hub_1("does not ask again by itself")),
        pytest.param("verify", hub_faults.drop_answer(), marks=since_hub_1("does not ask again by itself")),
    ],
    ids=["upload answer dropped", "verify dropped", "verify answer dropped"],
)
def test_a_fault_that_stays_after_the_file_has_arrived(
    shelf: LocalHub, crayon: Session, step: str, fault: Fault
) -> None:
    """The client gives up; when we try again the Hub says that it has the file."""
    shelf.clear()
    method, path = STEPS[step]
    rule = shelf.fail(fault, method=method, path=path, times=1000)
    done = publish(crayon)
    assert (done.returncode, rule.made > 1) == (0, True), done.stderr
    is_whole(shelf, crayon.home)
    assert commits(shelf) == 2


@pytest.mark.parametrize("step", ["upload", "commit"])
def test_a_kill_in_the_middle(shelf: LocalHub, crayon: Session, step: str) -> None:
    shelf.clear()
    shelf.commit(REPO, {"notes.txt": b"mine"})
    before = shelf.head(REPO)
    method, path = STEPS[step]
    reached = shelf.fail(hub_faults.hang(), method=method, path=path).reached
    publishing = start_client(shelf, COMMAND, crayon.home)
    assert reached.wait(60)
    publishing.kill()
    publishing.communicate()
    assert shelf.head(REPO) == before
    assert publish(crayon).returncode == 0
    is_whole(shelf, crayon.home)
    assert commits(shelf) == 3


def test_two_at_once(shelf: LocalHub, crayon: Session) -> None:
    """Both look, then both commit: the second one learns that it was overtaken, and has nothing to do any more."""
    shelf.clear()
    shelf.commit(REPO, {"notes.txt": b"mine"})
    first_is_there = shelf.fail(hub_faults.hang(0.5), path=STEPS["commit"][1])
    slow = start_client(shelf, COMMAND, crayon.home)
    assert first_is_there.reached.wait(60)
    quick = publish(crayon)
    _, error = slow.communicate(timeout=120)
    codes = {slow.returncode, quick.returncode}
    assert codes <= {0, 1}
    assert 0 in codes
    said = error if slow.returncode else quick.stderr
    assert (1 in codes) == ("crayon-hf: error:" in said)
    is_whole(shelf, crayon.home)
    assert commits(shelf) == 3
    assert "nothing was changed" in publish(crayon).stdout


def test_a_lost_answer_of_a_pull_request(shelf: LocalHub, crayon: Session) -> None:
    """The second try opens a second one: the Hub has no way to say that there is one already. The branch is safe."""
    shelf.clear()
    shelf.commit(REPO, {"notes.txt": b"mine"})
    before = shelf.head(REPO)
    shelf.fail(hub_faults.drop_answer(), path="/commit/")
    assert publish(crayon, "--create-pr").returncode == 1
    assert publish(crayon, "--create-pr").returncode == 0
    assert shelf.head(REPO) == before
    assert [ref for ref in shelf.storage.refs(REPO) if "pr" in ref] == ["refs/pr/1", "refs/pr/2"]
