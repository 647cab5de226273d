"""The store of pulled profiles: a profile is all old or all new at every moment, and no other profile is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import HubError, Tokenizer
from crayon_hf.hub import store as stores
from crayon_hf.hub.store import Record, Store, default_directory, describe, record_of
from tests.hub.hub_tokenizers import repository, with_token

Files = dict[str, bytes]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@pytest.fixture(scope="module")
def versions(gpt2_like: Path) -> tuple[Files, Files]:
    """The files of two commits of one repository: the second has the token <new>."""
    return repository(gpt2_like), repository(with_token(gpt2_like, "<new>"))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path for the store's directory, the first in the search path of profiles."""
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path / "profiles"))
    return tmp_path / "profiles"


@pytest.fixture(params=["links", "copies"])
def anywhere(directory: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store's directory, on a system with symbolic links and on one without."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError("a required privilege is not held by the client")

    if request.param == "copies":
        monkeypatch.setattr(os, "symlink", refuse)
    return directory


def put(directory: Path, files: Files, commit: str = "1", repo: str = "user/mine", **options: Any) -> Any:
    record = Record(repo, "main", commit * 40, "repository", None, describe(files))
    return Store(directory).install(options.pop("name", "mine"), record, files, **options)


def contents(directory: Path) -> dict[str, Any]:
    """Every path below a directory, with a link's target or a file's identity."""

    def identity(path: Path) -> Any:
        stat = path.lstat()
        return os.readlink(path) if path.is_symlink() else (stat.st_ino, stat.st_size, stat.st_mtime_ns)

    paths = sorted(path for path in directory.rglob("*") if path.name != "lock")
    return {str(path.relative_to(directory)): identity(path) for path in paths}


def kept(directory: Path) -> list[str]:
    """The names of the versions that the store keeps, and of leftovers of interrupted installs."""
    inside = [path.name for path in (directory / ".pulled").iterdir() if path.name != "lock"]
    return inside + [path.name for path in directory.iterdir() if path.name.startswith(".") and path.name != ".pulled"]


def version_of(name: str = "mine") -> int:
    """Open a profile, and return which of the two `versions` it has by its tokens."""
    tokenizer = Tokenizer.from_profile(name)
    ids = tokenizer.encode("a <new> b").ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == "a <new> b"
    new = tokenizer.token_to_id("<new>")
    assert (new in ids) == (new is not None)
    return 1 if new is None else 2


def test_a_profile(directory: Path, versions: tuple[Files, Files]) -> None:
    done = put(directory, versions[0])
    assert done == (directory / "mine.dat", directory / "mine.json", True)
    assert done.cartridge.read_bytes() == versions[0]["tokenizer.dat"]
    assert done.source.read_bytes() == versions[0]["tokenizer.json"]
    report = Tokenizer.from_profile("mine").engine_report()
    assert (report["cartridge"], report["origin"], report["refused"]) == (str(done.cartridge), "repository", None)
    for path in done[:2]:
        record = record_of(path)
        assert record is not None
        assert (record.repo, record.revision, record.commit) == ("user/mine", "main", "1" * 40)
    assert record_of(directory / "other.dat") is None
    assert record_of(directory) is None


def test_a_new_version_replaces_the_old_one(anywhere: Path, versions: tuple[Files, Files]) -> None:
    put(anywhere, versions[0])
    assert version_of() == 1
    assert not put(anywhere, versions[0]).changed
    assert put(anywhere, versions[1], "2").changed
    assert version_of() == 2
    assert len(kept(anywhere)) == 2  # another process may be about to open the old one
    assert not put(anywhere, versions[1], "2").changed
    assert len(kept(anywhere)) == 1
    assert version_of() == 2


def test_what_another_name_leads_to_stays(directory: Path, versions: tuple[Files, Files]) -> None:
    put(directory, versions[0])
    put(directory, versions[0], name="other")
    assert len(kept(directory)) == 1
    put(directory, versions[1], "2")
    put(directory, versions[1], "2")
    assert len(kept(directory)) == 2
    assert (version_of("mine"), version_of("other")) == (2, 1)


def test_a_damaged_store_is_mended(directory: Path, versions: tuple[Files, Files]) -> None:
    put(directory, versions[0])
    (place,) = (path for path in (directory / ".pulled").iterdir() if path.name != "lock")
    for damage in (
        lambda: (place / "tokenizer.dat").write_bytes(b"CRAY"),
        lambda: (place / "record.json").unlink(),
        lambda: (directory / "mine.dat").unlink(),
        lambda: [(place / name).unlink() for name in os.listdir(place)],
    ):
        damage()
        assert put(directory, versions[0]).changed
        assert version_of() == 1
        assert not put(directory, versions[0]).changed


# -- names


def test_the_name_of_another_repository(anywhere: Path, versions: tuple[Files, Files]) -> None:
    put(anywhere, versions[0])
    before = contents(anywhere)
    with pytest.raises(HubError, match="pulled from user/mine"):
        put(anywhere, versions[1], repo="stranger/mine")
    assert contents(anywhere) == before
    assert put(anywhere, versions[1], repo="stranger/mine", force=True).changed
    assert version_of() == 2
    assert getattr(record_of(anywhere / "mine.dat"), "repo", None) == "stranger/mine"


@pytest.mark.parametrize("name", ["mine.dat", "vocab_mine.dat", "link"])
def test_what_was_not_pulled(directory: Path, versions: tuple[Files, Files], name: str) -> None:
    directory.mkdir()
    path = directory / ("mine.json" if name == "link" else name)
    if name == "link":
        path.symlink_to("nowhere.json")
    else:
        path.write_bytes(b"{}")
    before = path.lstat()
    with pytest.raises(HubError, match="was not pulled"):
        put(directory, versions[0])
    assert path.lstat() == before
    put(directory, versions[0], force=True)
    assert version_of() == 1
    assert not put(directory, versions[0]).changed  # now it belongs to the repository


@pytest.mark.parametrize(("name", "force"), [("mine.dat", False), ("mine.json", True)])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file(directory: Path, versions: tuple[Files, Files], name: str, make: Any, force: bool) -> None:
    put(directory, versions[0])
    (directory / name).unlink()
    make(directory / name)
    before = contents(directory)
    with pytest.raises(HubError, match="the profile needs that path"):
        put(directory, versions[1], "2", force=force)
    assert contents(directory) == before


def test_a_name_that_another_directory_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: tuple[Files, Files]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("CRAYON_PROFILE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / ".cache" / "xerv" / "crayon" / "profiles"
    assert default_directory() == home
    with pytest.raises(HubError, match="earlier in the search path"):
        put(home, versions[0], name="lite", force=True)
    assert put(home, versions[0]).changed
    elsewhere = tmp_path / "elsewhere"
    assert put(elsewhere, versions[0], name="lite").changed  # a directory outside the search path
    monkeypatch.setenv("CRAYON_PROFILE_DIR", os.pathsep.join(["", str(elsewhere), str(home)]))
    assert default_directory() == elsewhere
    with pytest.raises(HubError, match="earlier"):
        Store(home).check("lite", "user/lite")
    Store(elsewhere).check("mine", "user/mine")  # the one at home has lower precedence


# -- at every moment


def in_a_child(function: Callable[[], Any]) -> int | None:
    """Run the function in a forked child and return its exit status."""
    child = multiprocessing.get_context("fork").Process(target=function)
    child.start()
    child.join()
    return child.exitcode


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("first", [False, True], ids=["nothing before", "one before"])
def test_a_kill_at_any_moment(directory: Path, versions: tuple[Files, Files], first: bool) -> None:
    """If an install is killed before any call that changes the disk, the profile is all old or all new."""
    calls = ("open", "replace", "rename", "mkdir", "symlink", "unlink", "fsync")
    if first:
        put(directory, versions[0])
    at = 0
    while True:

        def killed(at: int = at) -> None:
            left = [at]

            def before(function: Any) -> Any:
                def call(*arguments: Any, **options: Any) -> Any:
                    left[0] -= 1
                    if left[0] < 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*arguments, **options)

                return call

            for name in calls:
                setattr(os, name, before(getattr(os, name)))
            put(directory, versions[1], "2")

        status = in_a_child(killed)
        names = [(directory / f"mine{suffix}").exists() for suffix in (".json", ".dat")]
        if any(names):
            assert version_of() in ((1, 2) if first else (2,))
        else:
            assert not first
        if status == 0:
            break
        assert status == -signal.SIGKILL
        at += 1
        if at % 4 == 0:  # the next run finds leftovers of several
            put(directory, versions[0])
            assert version_of() == 1
            assert all(len(name) == 64 for name in kept(directory))
            if not first:
                for suffix in (".json", ".dat"):
                    (directory / f"mine{suffix}").unlink()
    assert at > 12
    assert version_of() == 2
    put(directory, versions[1], "2")
    assert len(kept(directory)) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files")
def test_a_full_disk(directory: Path, versions: tuple[Files, Files]) -> None:
    """A size limit ends writing in the middle of a file, as a full disk does."""
    import resource

    put(directory, versions[0])
    before = contents(directory)

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(versions[1]["tokenizer.dat"]) // 2,) * 2)
        with pytest.raises(HubError, match="File too large"):
            put(directory, versions[1], "2")

    assert in_a_child(limited) == 0
    unchanged = {name: value for name, value in before.items() if name != ".pulled"}
    assert {name: value for name, value in contents(directory).items() if name != ".pulled"} == unchanged
    assert version_of() == 1
    put(directory, versions[1], "2")
    assert version_of() == 2


def test_a_lock_that_is_not_given_up(
    directory: Path, versions: tuple[Files, Files], monkeypatch: pytest.MonkeyPatch
) -> None:
    from filelock import FileLock

    put(directory, versions[0])
    monkeypatch.setattr(stores, "_LOCK_SECONDS", 0.0)
    with FileLock(str(directory / ".pulled" / "lock")), pytest.raises(HubError, match="another pull is at work"):
        put(directory, versions[1], "2")
    assert version_of() == 1


@pytest.mark.parametrize("anywhere", ["copies"], indirect=True)
def test_a_copy_that_was_changed(anywhere: Path, versions: tuple[Files, Files]) -> None:
    put(anywhere, versions[0])
    assert not (anywhere / "mine.dat").is_symlink()
    (anywhere / "mine.json").write_bytes(versions[0]["tokenizer.json"].swapcase())  # of the same size
    with pytest.raises(HubError, match="was not pulled"):
        put(anywhere, versions[1], "2")
