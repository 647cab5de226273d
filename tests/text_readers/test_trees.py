"""Reading a directory tree finds the files that git would list, by .gitignore files."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.trees import find_tree, is_binary

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="compares the patterns with git")
PARTS = (
    *("a", "b", "ab", "a.c", "x", "*", "**", "***", "?", "*.c", "a*", "*b", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]"),
    *("[]-a]", "[a-]", "[[:alpha:]]", "[[:digit:][:upper:]]", "[[:nope:]]", "[[:]a]", "[", "[a", r"\a", "\\", r"\*"),
    *("a**", "**b", "a**b", "x*?", "é", "??", "[\\]]", "[a\\-c]", "[c-a]", "[.-0]", "a b", "a ", r"a\ ", "#a", r"\#a"),
    *("!a", r"\!a", "-", "A", ".h", "a\\", "[/]", "a\t"),
)
NAMES = ("a b", "a ", "ab", "abc", "a.c", "b.c", "aab", *"abcxéA-][*\\", "#a", "!a")


def git(place: Path, *arguments: str, fails: bool = False) -> bytes:
    """Run git in `place` without the user's settings, and return its output. With `fails`, git may exit with an
    error."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**clean, "HOME": str(place), "XDG_CONFIG_HOME": str(place), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *arguments], cwd=place, env=env, check=not fails, capture_output=True).stdout


def of_git(place: Path) -> list[str]:
    """All files that git does not ignore, without hidden ones."""
    listed = git(place, "ls-files", "-o", "--exclude-standard", "-z").decode().split("\0")[:-1]
    return sorted(name for name in listed if not any(part.startswith(".") for part in name.split("/")))


def ours(place: Path, below: str = "") -> list[str]:
    try:
        found = find_tree(str(place / below))
    except CorpusError:
        return []
    return sorted(os.path.relpath(file.address, place) for file in found)


def random_pattern(rng: random.Random) -> str:
    text = "/".join(rng.choice(PARTS) for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))
    start = rng.choice(("", "", "", "/", "!", "**/", "!/"))
    return start + text + rng.choice(("", "", "", "/", "/**", "/*", " ", "  ", "\r", "//"))


def plant(rng: random.Random, place: Path) -> list[Path]:
    """Make a tree of random files, and return its directories."""
    directories = [place]
    for _ in range(12):
        at = rng.choice(directories[-4:]) / rng.choice(NAMES)
        if not at.exists():
            at.mkdir()
            directories.append(at)
    for at in directories:
        for name in rng.sample(NAMES, 7):
            if not (at / name).exists():
                (at / name).write_text("text")
    return directories


@needs_git
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 120))])
def test_random_patterns_as_git(seed: int, tmp_path: Path) -> None:
    """The directories of a random tree get .gitignore files of random patterns, several times; ours agrees with git."""
    rng = random.Random(seed)
    git(tmp_path, "init", "-q")
    directories = plant(rng, tmp_path)
    for _ in range(6):
        for at in directories:
            lines = [random_pattern(rng) for _ in range(rng.randrange(5))]
            ending = rng.choice(("", "\n", "\r\n"))
            data = "\n".join(lines).encode() + ending.encode()
            (at / ".gitignore").write_bytes(rng.choice((b"", b"", b"\xef\xbb\xbf")) + data)
        exclude = "\n".join(random_pattern(rng) for _ in range(rng.randrange(3)))
        (tmp_path / ".git" / "info" / "exclude").write_text(exclude)
        expected = of_git(tmp_path)
        assert ours(tmp_path) == expected
        at = rng.choice(directories[1:])
        below = str(at.relative_to(tmp_path))
        if not git_ignores(tmp_path, at):  # a named directory is read even if git ignores it
            assert ours(tmp_path, below) == [name for name in expected if name.startswith(f"{below}/")]


def git_ignores(place: Path, path: Path) -> bool:
    """Whether git ignores a directory or one of its parents."""
    way = [path, *path.parents][: len(path.relative_to(place).parts)]
    asked = [git(place, "check-ignore", "--no-index", "--", f"{each}/", fails=True) for each in way]
    return any(asked)


@needs_git
def test_checkouts(tmp_path: Path) -> None:
    """A git worktree uses the ignore patterns of its repository; a nested repository uses its own."""
    home = tmp_path / "home"
    home.mkdir()
    git(home, "init", "-q")
    git(home, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    git(home, "worktree", "add", "-q", "../other", "-b", "other")
    (home / ".git" / "info" / "exclude").write_text("*.log\n")
    for at in (home, tmp_path / "other"):
        (at / "sub").mkdir()
        for name in ("a.log", "a.txt", "sub/b.log", "sub/b.txt"):
            (at / name).write_text("x")
        assert ours(at) == of_git(at) == ["a.txt", "sub/b.txt"]
        assert ours(at, "sub") == ["sub/b.txt"]
    nested = home / "sub" / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "c.log").write_text("x")
    (home / ".gitignore").write_text("c*\n")
    assert ours(home) == ["a.txt", "sub/b.txt", "sub/nested/c.log"]
    assert ours(nested) == of_git(nested) == ["c.log"]


def test_without_a_checkout(tmp_path: Path) -> None:
    """Without a git repository, .gitignore files apply in the named directory and below it. Those above it have no
    effect."""
    (tmp_path / ".gitignore").write_text("*.txt\n")
    place = tmp_path / "place"
    (place / "build").mkdir(parents=True)
    for name in ("a.txt", "a.log", "keep.log", "build/a.c", ".hidden", "build/.hidden"):
        (place / name).write_text("x")
    (place / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n")
    assert ours(place) == ["a.txt", "keep.log"]
    assert ours(place, "build") == ["build/a.c"]
    every = ["a.log", "a.txt", "build/a.c", "keep.log"]
    assert [os.path.relpath(file.address, place) for file in find_tree(str(place), ignore=False)] == every
    (place / ".gitignore").write_text("*\n")
    with pytest.raises(CorpusError, match=r"\.gitignore"):
        find_tree(str(place))


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of Unix")
def test_links_and_special_files(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    (place / "real").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "far.txt").write_text("x")
    (place / "real" / "a.txt").write_text("x")
    os.symlink(place, place / "real" / "loop")
    os.symlink(elsewhere, place / "linked")
    os.symlink("a.txt", place / "real" / "same.txt")
    os.symlink("nowhere", place / "broken")
    os.mkfifo(place / "pipe")
    assert ours(place) == ["linked/far.txt", "real/a.txt", "real/same.txt"]
    (place / "rules").write_text("*.txt\n")
    os.symlink("rules", place / ".gitignore")  # git follows no link to a .gitignore either
    assert ours(place) == ["linked/far.txt", "real/a.txt", "real/same.txt", "rules"]
    (place / ".gitignore").unlink()
    (place / ".gitignore").write_text("linked/\nreal/\n")  # git does not treat a link as a directory
    assert ours(place) == ["linked/far.txt", "rules"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir(mode=0)
    with pytest.raises(CorpusError, match="shut: Permission denied"):
        find_tree(str(tmp_path))


def test_binary_files_have_a_zero_among_their_first_bytes() -> None:
    assert is_binary(b"PNG\0")
    assert not is_binary(b"a" * 8000 + b"\0")
