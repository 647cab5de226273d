"""A pull when this machine fails it: no connection, a full disk, a kill, two at once. The profile stays whole."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hub.cartridge_repos import OLD, REPO, cartridge_files, everything, profile, two_versions
from tests.hub.hub_faults import hang, stall_body
from tests.hub.local_hub import LocalHub
from tests.support.small_disk import mounting

Client = Callable[..., Any]
PULL = ["-m", "crayon_hf", "pull", REPO]

# Pulls in processes that are forked from one that has all imports.
ROOT = Path(__file__).parents[2]
FORKING = (
    f"import sys; sys.path.append({str(ROOT)!r})"
    + """
import json, os, resource, shutil, signal, subprocess, sys
from pathlib import Path
import huggingface_hub
from huggingface_hub import constants, snapshot_download
import crayon_hf
from crayon_hf.cli import main
from crayon_hf.hub import pulling
from tests.hub.cartridge_repos import everything, profile, profile_directory
home = Path.home()

def start(argument="user/tok", before=lambda: None):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(write, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        before()
        code = main(["pull", argument])
        sys.stderr.flush()
        os._exit(code)
    os.close(write)
    return child, read

def end(started):
    "What a pull ended with (a signal is negative), and what it wrote to stderr."
    child, read = started
    with open(read, encoding="utf-8") as stream:
        said = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said

def pull(argument="user/tok", before=lambda: None):
    return end(start(argument, before))

def empty(path):
    for inside in path.iterdir():
        shutil.rmtree(inside) if inside.is_dir() else inside.unlink()

def both_cached_and_the_old_one_here():
    assert pull() == (0, "")
    shutil.rmtree(profile_directory(home))
    assert pull("user/tok@v1") == (0, "")

def revision():
    "Of which version the profile is, by its files; both must be of one."
    there = profile(home)
    assert len(there) == 2, sorted(there)
    found = [r for r in ("v1", "main") if all((home / f"{r}-{n}").read_bytes() == d for n, d in there.items())]
    return found[0] if found else "mixed"

def opened():
    "Of which version the profile is, by the ids."
    ids = crayon_hf.Tokenizer.from_profile("tok").encode(TEXT).ids
    return next((r for r in ("v1", "main") if IDS[r] == ids), "neither")

TEXT = "The quick brown fox jumps; Größe 12345 安"
IDS = {r: crayon_hf.Tokenizer.from_file(str(home / f"{r}-tokenizer.json")).encode(TEXT).ids for r in ("v1", "main")}
assert IDS["v1"] != IDS["main"]
said = []
"""
)


def fork(shelf: LocalHub, home: Path, code: str, *wrapper: str) -> Any:
    """What `said` is after this code, which can use the functions above, has run."""
    home.mkdir(exist_ok=True)
    for revision in (OLD, "main"):
        for name, data in cartridge_files(shelf, revision).items():
            (home / f"{revision}-{name}").write_bytes(data)
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", FORKING + code + "\nprint(json.dumps(said))\n"],
        env=shelf.environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def shelf(hub: LocalHub, qwen_like: Path, gpt2_like: Path) -> LocalHub:
    """A Hub with a repository in two versions."""
    two_versions(hub, qwen_like, gpt2_like)
    return hub


def failed(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert (done.returncode, done.stdout) == (1, "")
    said_in_one_line(done.stderr, says)


def test_a_hub_that_is_not_there(tmp_path: Path, home: Path, run_client: Client, gpt2_like: Path) -> None:
    with LocalHub(tmp_path / "hub") as hub:
        two_versions(hub, gpt2_like, gpt2_like)
    failed(run_client(hub, PULL, home), "cannot be reached")
    assert everything(home) == {}


@pytest.mark.slow
def test_a_hub_that_says_nothing(shelf: LocalHub, home: Path, run_client: Client) -> None:
    shelf.fail(hang(), path="/api/models/", times=1000)
    failed(run_client(shelf, PULL, home, timeout=1), "cannot be reached")
    assert everything(home) == {}
    shelf.heal()
    silent = shelf.fail(hang(), method="GET", path="tokenizer.dat")
    assert run_client(shelf, PULL, home, timeout=1).returncode == 0
    assert silent.made == 1
    assert profile(home) == cartridge_files(shelf)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["nothing", "old"])
def test_a_kill_in_the_middle_of_a_download(
    shelf: LocalHub, home: Path, run_client: Client, start_client: Client, before: str
) -> None:
    if before == "old":
        assert run_client(shelf, [*PULL[:-1], f"{REPO}@{OLD}"], home).returncode == 0
    was = everything(home)
    reached = shelf.fail(stall_body(0.5), method="GET", path="tokenizer.dat").reached
    pulling = start_client(shelf, PULL, home)
    assert reached.wait(60)
    pulling.kill()
    pulling.communicate()
    assert pulling.returncode == -signal.SIGKILL
    assert everything(home) == was
    assert run_client(shelf, PULL, home).returncode == 0
    assert profile(home) == cartridge_files(shelf)


KILLED = """
def kill_at(nth):
    "This process is killed before its nth change to the directory of profiles."
    names = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate"}
    place, seen = str(profile_directory(home)), 0

    def hook(event, arguments):
        nonlocal seen
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR) and "lock" not in str(arguments[0])
        if (event in names or writes) and any(str(argument).startswith(place) for argument in arguments[:2]):
            seen += 1
            if seen == nth:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)

both_cached_and_the_old_one_here()
shutil.copytree(profile_directory(home), home / "old", symlinks=True)
constants.HF_HUB_OFFLINE = True  # all is in the client's cache, and an installation is the same
for old in (False, True):
    nth, code = 0, None
    while code != 0:
        nth += 1
        shutil.rmtree(profile_directory(home), ignore_errors=True)
        if old:
            shutil.copytree(home / "old", profile_directory(home), symlinks=True)
        code, _ = pull(before=lambda: kill_at(nth))
        found = opened() if profile(home) else "nothing"
        again = pull()
        left = [name for name in everything(home) if ".tmp" in name]
        said.append([old, nth, code, found, again, revision(), opened(), left])
"""


@pytest.mark.slow
def test_a_kill_at_every_step_of_an_installation(shelf: LocalHub, home: Path) -> None:
    """What is there afterwards opens as the old tokenizer or as the new one, and the next pull tidies up."""
    said = fork(shelf, home, KILLED)
    for old in (False, True):
        rows = [row[1:] for row in said if row[0] == old]
        steps, codes, found, *_ = zip(*rows, strict=True)
        assert len(steps) > 8
        assert codes == (*(-signal.SIGKILL,) * (len(steps) - 1), 0)
        earlier = "v1" if old else "nothing"
        assert found[0] == earlier
        assert found[-1] == "main"
        assert set(found) == {earlier, "main"}
        for row in rows:
            assert row[3:] == [[0, ""], "main", "main", []]


AT_ONCE = """
first = [start() for _ in range(4)]
said.append([end(one) for one in first])
said.append([revision(), opened()])
for _ in range(3):
    both = [start(f"user/tok{at}") for at in ("@v1", "", "@v1", "")]
    said.append([end(one) for one in both])
    found = revision()
    said.append([found, opened()])
    assert found == opened() != "mixed"
said.append([name for name in everything(home) if ".tmp" in name])
"""


@pytest.mark.slow
def test_several_pulls_at_once(shelf: LocalHub, home: Path) -> None:
    *said, left = fork(shelf, home, AT_ONCE)
    assert said[0] == [[0, ""]] * 4
    assert said[1] == ["main", "main"]
    assert said[2::2] == [[[0, ""]] * 4] * 3
    assert left == []


SMALL_FILES = """
for limit in (1, 100_000, 300_000):
    for cached in (False, True):
        for place in (profile_directory(home), Path(constants.HF_HOME)):
            shutil.rmtree(place, ignore_errors=True)
        if cached:
            both_cached_and_the_old_one_here()
        was = everything(home)
        row = [limit, cached, *pull(before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))]
        said.append([*row, everything(home) == was, pull(), revision()])
"""


def said_in_one_line(stderr: str, what: str) -> None:
    """Our error is one line, and the last; before it there may be warnings of the client."""
    *warnings, error = stderr.splitlines()
    assert error.startswith(f"crayon-hf: error: {REPO}: "), stderr
    assert what in error
    assert not any(line.startswith(("crayon-hf: error", "Traceback")) for line in warnings), stderr


@pytest.mark.slow
def test_files_that_may_not_grow(shelf: LocalHub, home: Path) -> None:
    """RLIMIT_FSIZE: a write fails as it does on a full disk, whoever may mount what."""
    rows = fork(shelf, home, SMALL_FILES)
    assert len(rows) == 6
    for _, _, code, error, same, again, revision in rows:
        said_in_one_line(error, "File too large")
        assert (code, same) == (1, True)
        assert (again, revision) == ([0, ""], "main")


FULL = """
both_cached_and_the_old_one_here()
shutil.copytree(profile_directory(home), home / "old", symlinks=True)
for place in (home / ".cache", Path(constants.HF_HOME)):
    constants.HF_HUB_OFFLINE = place.name == ".cache"  # what is in the client's cache now is taken from there
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(place)], check=True)
    for old in (False, True):
        for free in (0, 132, 300, 676, 3000):
            empty(place)
            shutil.rmtree(profile_directory(home), ignore_errors=True)
            if old:
                shutil.copytree(home / "old", profile_directory(home), symlinks=True)
            was = everything(home)
            room = shutil.disk_usage(place).free
            with open(place / "filler", "wb") as file:
                file.write(bytes(max(0, room - free * 1024)))
            code, error = pull()
            same = everything(home) == was
            (place / "filler").unlink()
            said.append([place.name, old, free, code, error, same, pull(), revision(), opened()])
    subprocess.run(["umount", str(place)], check=True)
"""


@pytest.mark.slow
def test_a_full_disk(shelf: LocalHub, home: Path) -> None:
    """A small tmpfs, really full sooner or later: below the profiles, then below the client's cache."""
    rows = fork(shelf, home, FULL, *mounting(home.parent))
    assert {(row[0], row[1], row[3]) for row in rows} == {
        (place, old, code) for place in (".cache", "huggingface") for old in (False, True) for code in (0, 1)
    }
    for *_, code, error, same, again, revision, opened in rows:
        if code == 1:
            said_in_one_line(error, "o space")
        assert same == (code == 1)
        assert (again, revision, opened) == ([0, ""], "main", "main")
