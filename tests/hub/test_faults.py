"""A pull that meets a fault ends with a one-line error and an unchanged profile. The next pull succeeds."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.hub.hub_client import Session, failure, run_client, start_client
from tests.hub.hub_faults import Fault, status
from tests.hub.hub_tokenizers import repository
from tests.hub.local_hub import LocalHub

REPO, OLD = "user/tok", "v1"
INFO = ("GET", r"/api/models/user/tok\?")
HEAD = ("HEAD", r"tokenizer\.json")
JSON, CARTRIDGE = ("GET", r"tokenizer\.json"), ("GET", r"tokenizer\.dat")
PULL = ["-m", "crayon_hf", "pull", REPO]


def profile_directory(home: Path) -> Path:
    """The directory in which `crayon-hf pull` puts profiles, for a user with this home directory."""
    return home / ".cache" / "xerv" / "crayon" / "profiles"


def profile(home: Path) -> dict[str, bytes]:
    """The contents of a pulled profile's files, by the names that the files have in the repository."""
    paths = {f"tokenizer{suffix}": profile_directory(home) / f"tok{suffix}" for suffix in (".json", ".dat")}
    return {name: path.read_bytes() for name, path in paths.items() if path.exists()}


def everything(home: Path) -> dict[Path, bytes | str]:
    """The contents of every file, and the target of every link, in the directory of profiles, except its lock."""
    paths = [path for path in profile_directory(home).rglob("*") if path.name != "lock" and not path.is_dir()]
    return {path: os.readlink(path) if path.is_symlink() else path.read_bytes() for path in paths}


def cartridge_files(hub: LocalHub, revision: str = "main") -> Mapping[str, bytes]:
    """The files in the repository that a pull of this revision must put into a profile."""
    return {name: hub.read(REPO, name, revision=revision) for name in ("tokenizer.json", "tokenizer.dat")}


@pytest.fixture(scope="module")
def shelf(qwen_like: Path, gpt2_like: Path) -> Iterator[LocalHub]:
    """A local Hub with a repository in two versions."""
    with LocalHub() as hub:
        hub.commit(REPO, repository(qwen_like), title="The first version")
        hub.storage.repository(REPO).refs[f"refs/tags/{OLD}"] = hub.head(REPO).sha
        hub.commit(REPO, repository(gpt2_like), title="The second version")
        yield hub
        assert hub.unknown() == []


@pytest.fixture(scope="module")
def running(shelf: LocalHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(shelf, tmp_path_factory.mktemp("home")) as session:
        yield session


@pytest.fixture
def crayon(running: Session, shelf: LocalHub) -> Iterator[Session]:
    """A function `crayon("pull", ...)` that runs a command for a user without profiles. The fixture removes the test's
    faults."""
    for path in running.home.iterdir():
        shutil.rmtree(path)
    shelf.requests.clear()
    yield running
    shelf.heal()


UNREACHABLE = "cannot be reached|onnection|isconnected"
FAULTS = {
    "info dropped": (INFO, Fault("drop request"), UNREACHABLE),
    "info 401": (INFO, status(401, "Invalid credentials in Authorization header"), "token"),
    "info 429": (INFO, status(429, "Slowly", retry_after=1), "429|too many requests"),
    "info 503": (INFO, status(503, "Away"), "503"),
    "head 403": (HEAD, status(403, "Forbidden"), "token"),
    "head 429 for long": (HEAD, status(429, "Slowly", retry_after=600), "600 seconds"),
    "json 404": (JSON, status(404, "Gone", error_code="EntryNotFound"), "404|not there|no such|not found"),
    "json answer dropped": (JSON, Fault("drop answer"), UNREACHABLE),
    "json empty": (JSON, Fault("cut body", fraction=0), "incomplete|size"),
    "json altered": (JSON, Fault("alter body"), "digest"),
    "dat 500": (CARTRIDGE, status(500, "Oops"), "500"),
    "dat dropped in the body": (CARTRIDGE, Fault("drop body"), UNREACHABLE),
    "dat cut": (CARTRIDGE, Fault("cut body"), "incomplete|size"),
    "dat altered": (CARTRIDGE, Fault("alter body"), "digest"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "before"), [(name, ("nothing", "old")[n % 2]) for n, name in enumerate(FAULTS)])
def test_a_fault_that_stays_is_said_and_leaves_everything_as_it_was(
    shelf: LocalHub, crayon: Session, name: str, before: str
) -> None:
    if before == "old":
        assert crayon("pull", f"{REPO}@{OLD}").returncode == 0
        assert profile(crayon.home) == cartridge_files(shelf, OLD)
    was = everything(crayon.home)
    (method, path), fault, says = FAULTS[name]
    rule = shelf.fail(fault, method=method, path=path, times=1000)

    failed = crayon("pull", REPO)
    assert rule.made > 0
    assert re.match(f"{REPO}: .*({says})", failure(failed)), failed
    assert len(failed.stderr.splitlines()) == 1
    assert everything(crayon.home) == was

    shelf.heal()
    again = crayon("pull", REPO)
    assert (again.returncode, again.stderr) == (0, "")
    assert profile(crayon.home) == cartridge_files(shelf)


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        (INFO, Fault("drop request")),
        (INFO, status(503)),
        (HEAD, status(429, retry_after=1)),
        (CARTRIDGE, Fault("drop body", fraction=0.9)),
        (CARTRIDGE, Fault("cut body", fraction=0.9)),
        (CARTRIDGE, Fault("stall body", seconds=0.2)),
    ],
)
def test_a_fault_that_passes_is_nobodys_business(
    shelf: LocalHub, crayon: Session, where: tuple[str, str], fault: Fault
) -> None:
    rule = shelf.fail(fault, method=where[0], path=where[1])
    done = crayon("pull", REPO)
    assert (done.returncode, done.stderr) == (0, "")
    assert rule.made == 1
    assert profile(crayon.home) == cartridge_files(shelf)


def test_what_arrived_whole_is_not_asked_for_again(shelf: LocalHub, crayon: Session) -> None:
    shelf.fail(status(404), method="GET", path=CARTRIDGE[1])
    assert crayon("pull", REPO).returncode == 1
    assert crayon("pull", REPO).returncode == 0
    assert [request.status for request in shelf.asked(*JSON)] == [200]
    shelf.requests.clear()
    assert "unchanged" in crayon("pull", REPO).stdout
    assert shelf.asked("GET", r"tokenizer\.(json|dat)") == []


# -- this machine


def test_a_hub_that_is_not_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalHub() as hub, socket.socket() as silent:  # it holds its port, at which nothing listens
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setattr(LocalHub, "url", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert "cannot be reached" in failure(run_client(hub, PULL, home))
    assert everything(home) == {}


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_download(shelf: LocalHub, crayon: Session) -> None:
    assert crayon("pull", f"{REPO}@{OLD}").returncode == 0
    was = everything(crayon.home)
    reached = shelf.fail(Fault("stall body"), method="GET", path=CARTRIDGE[1]).reached
    pulling = start_client(shelf, PULL, crayon.home)
    assert reached.wait(600)
    pulling.kill()
    pulling.communicate()
    assert pulling.returncode == -signal.SIGKILL
    assert everything(crayon.home) == was
    assert crayon("pull", REPO).returncode == 0
    assert profile(crayon.home) == cartridge_files(shelf)
