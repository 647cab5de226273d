"""A pull when something goes wrong on the way: an error on one line, the profile as it was, and then it works."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hub import hub_faults
from tests.hub.cartridge_repos import OLD, REPO, cartridge_files, everything, profile, two_versions
from tests.hub.hub_client import Session
from tests.hub.hub_faults import Fault
from tests.hub.local_hub import LocalHub
from tests.support.versions import HAS_HUB_1

INFO = r"/api/models/user/tok\?"
JSON, CARTRIDGE = r"tokenizer\.json", r"tokenizer\.dat"
UNREACHABLE = "cannot be reached|onnection|isconnected"


class Case(NamedTuple):
    method: str
    path: str
    fault: Fault
    says: str


def _cases() -> dict[str, Case]:
    cases = {}
    dropped = {
        "dropped": hub_faults.drop_request(),
        "dropped in the headers": hub_faults.drop_headers(),
        "answer dropped": hub_faults.drop_answer(),
    }
    refused = {
        "401": (hub_faults.status(401, "Invalid credentials in Authorization header"), "token"),
        "403": (hub_faults.status(403, "Forbidden"), "token"),
        "404": (hub_faults.status(404, "Gone", error_code="EntryNotFound"), "404|not there|no such|not found"),
        "429": (hub_faults.status(429, "Slowly", retry_after=1), "429|too many requests"),
        "500": (hub_faults.status(500, "Oops"), "500"),
        "503": (hub_faults.status(503, "Away"), "503"),
    }
    where = {"info": ("GET", INFO), "head": ("HEAD", JSON), "json": ("GET", JSON), "dat": ("GET", CARTRIDGE)}
    for place, (method, path) in where.items():
        for name, fault in dropped.items():
            if name == "dropped" or place in ("info", "dat"):
                cases[f"{place} {name}"] = Case(method, path, fault, UNREACHABLE)
        if place == "dat" and not HAS_HUB_1:  # whose client takes that for an answer
            cases["dat dropped in the headers"] = Case(method, path, dropped["dropped in the headers"], "incomplete")
        for name, (fault, says) in refused.items():
            cases[f"{place} {name}"] = Case(method, path, fault, says)
    for place in ("json", "dat"):
        method, path = where[place]
        cases[f"{place} dropped in the body"] = Case(method, path, hub_faults.drop_body(), UNREACHABLE)
        cases[f"{place} cut"] = Case(method, path, hub_faults.cut_body(), "incomplete|size")
        cases[f"{place} empty"] = Case(method, path, hub_faults.cut_body(0), "incomplete|size")
        cases[f"{place} altered"] = Case(method, path, hub_faults.alter_body(), "digest")
    return cases


CASES = _cases()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, qwen_like: Path, gpt2_like: Path) -> Iterator[LocalHub]:
    """A Hub with a repository in two versions."""
    with LocalHub(tmp_path_factory.mktemp("hub")) as hub:
        two_versions(hub, qwen_like, gpt2_like)
        yield hub
        assert hub.unknown() == []


@pytest.fixture(scope="module")
def running(shelf: LocalHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(shelf, tmp_path_factory.mktemp("home")) as session:
        yield session


@pytest.fixture
def crayon(running: Session, shelf: LocalHub) -> Iterator[Session]:
    """`crayon("pull", ...)` of somebody who has nothing yet; and there are no faults."""
    for path in running.home.iterdir():
        shutil.rmtree(path)
    shelf.requests.clear()
    yield running
    shelf.heal()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "before"), [(name, ("nothing", "old")[n % 2]) for n, name in enumerate(CASES)])
def test_a_fault_that_stays_is_said_and_leaves_everything_as_it_was(
    shelf: LocalHub, crayon: Session, name: str, before: str
) -> None:
    if before == "old":
        assert crayon("pull", f"{REPO}@{OLD}").returncode == 0
        assert profile(crayon.home) == cartridge_files(shelf, OLD)
    was = everything(crayon.home)
    case = CASES[name]
    rule = shelf.fail(case.fault, method=case.method, path=case.path, times=1000)

    failed = crayon("pull", REPO)
    assert rule.made > 0
    assert (failed.returncode, failed.stdout) == (1, "")
    error, *more = failed.stderr.splitlines()
    assert more == []
    assert error.startswith(f"crayon-hf: error: {REPO}: ")
    assert re.search(case.says, error), error
    assert everything(crayon.home) == was

    shelf.heal()
    again = crayon("pull", REPO)
    assert (again.returncode, again.stderr) == (0, "")
    assert profile(crayon.home) == cartridge_files(shelf)


PASSING = {
    "the listing is dropped": Case("GET", INFO, hub_faults.drop_request(), ""),
    "the listing is refused": Case("GET", INFO, hub_faults.status(503), ""),
    "a head is refused": Case("HEAD", CARTRIDGE, hub_faults.status(429, retry_after=1), ""),
    "a file is dropped": Case("GET", CARTRIDGE, hub_faults.drop_body(0.9), ""),
    "a file is cut": Case("GET", CARTRIDGE, hub_faults.cut_body(0.9), ""),
    "a file stops for a while": Case("GET", CARTRIDGE, hub_faults.stall_body(0.5, 0.2), ""),
    "a file is slow": Case("GET", JSON, hub_faults.slow_body(0.2), ""),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_is_nobodys_business(shelf: LocalHub, crayon: Session, name: str) -> None:
    case = PASSING[name]
    rule = shelf.fail(case.fault, method=case.method, path=case.path)
    done = crayon("pull", REPO)
    assert (done.returncode, done.stderr) == (0, "")
    assert rule.made == 1
    assert profile(crayon.home) == cartridge_files(shelf)


def test_what_arrived_whole_is_not_asked_for_again(shelf: LocalHub, crayon: Session) -> None:
    shelf.fail(hub_faults.status(404), method="GET", path=CARTRIDGE)
    assert crayon("pull", REPO).returncode == 1
    assert crayon("pull", REPO).returncode == 0
    assert [request.status for request in shelf.asked("GET", JSON)] == [200]
    shelf.requests.clear()
    assert "unchanged" in crayon("pull", REPO).stdout
    assert shelf.asked("GET", f"{JSON}|{CARTRIDGE}") == []
