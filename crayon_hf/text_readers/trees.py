"""Finds the files of a directory tree that git would not ignore."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.addresses import mark_of_status
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.text_readers.ignore_rules import Rules, rules_of

_FIRST_BYTES = 8000
"""git treats a file as binary if one of this number of bytes at its beginning is zero."""


def find_tree(directory: str, ignore: bool = True) -> list[InputFile]:
    """List the files in a directory and below it, sorted by name, without hidden ones.

    With `ignore`, the patterns of ``.gitignore`` files and of ``.git/info/exclude`` apply. In a checkout, the
    ``.gitignore`` files above `directory` apply, too. Patterns also apply to tracked files, and outside a checkout.
    Links are followed; broken links and special files are left out.

    Raises:
        CorpusError: A directory cannot be read, or no file is left.
    """
    try:
        level = _above(directory) if ignore else _Level(())
        found = sorted(_below(directory, level, ignore, frozenset()))
    except OSError as error:
        raise CorpusError(f"{error.filename or directory}: {error.strerror or error}") from error
    if not found:
        also = " and files that .gitignore names (--no-ignore reads these)" if ignore else ""
        raise CorpusError(f"{directory} has no files except hidden ones{also}")
    return found


def is_binary(beginning: bytes) -> bool:
    """Whether the beginning of a file has a zero byte, by which git recognises binary files."""
    return b"\0" in beginning[:_FIRST_BYTES]


class _Level(NamedTuple):
    """The patterns that apply in a directory, in order of precedence: those of the deepest ``.gitignore`` first."""

    rules: tuple[Rules, ...]

    def inside(self, directory: str) -> _Level:
        name = os.fsencode(directory)
        return _Level(tuple(each.inside(name) for each in self.rules))

    def with_files_of(self, directory: str) -> _Level:
        """Add the patterns of the directory's own ``.gitignore``.

        If the directory is a repository's root, patterns from above are dropped, and those of ``info/exclude`` apply.
        """
        git = os.path.join(directory, ".git")
        is_root = os.path.lexists(git)
        above = _patterns(os.path.join(_common_directory(git), "info", "exclude")) if is_root else self.rules
        return _Level((*_patterns(os.path.join(directory, ".gitignore")), *above))

    def ignores(self, name: str, is_directory: bool) -> bool:
        encoded = os.fsencode(name)
        found = (each.verdict(encoded, is_directory) for each in self.rules)
        return next((verdict for verdict in found if verdict is not None), False)


def _above(directory: str) -> _Level:
    """Return the patterns of the directories above a directory in its checkout."""
    way = [os.path.abspath(directory)]
    while not os.path.lexists(os.path.join(way[-1], ".git")):
        way.append(os.path.dirname(way[-1]))
        if way[-1] == way[-2]:
            return _Level(())
    level = _Level(())
    for place, below in zip(way[:0:-1], way[-2::-1], strict=True):
        level = level.with_files_of(place).inside(os.path.basename(below))
    return level


def _below(directory: str, level: _Level, ignore: bool, above: frozenset[tuple[int, int]]) -> Iterator[InputFile]:
    status = os.stat(directory)
    way = above | {(status.st_dev, status.st_ino)}
    if way == above:  # a link to one of its parents
        return
    if ignore:
        level = level.with_files_of(directory)
    with os.scandir(directory) as entries:
        names = [entry for entry in entries if not entry.name.startswith(".")]
    for entry in names:
        is_directory = entry.is_dir()
        if ignore and level.ignores(entry.name, is_directory and not entry.is_symlink()):
            continue
        if is_directory:
            yield from _below(entry.path, level.inside(entry.name), ignore, way)
        elif entry.is_file():
            status = entry.stat()
            yield InputFile(entry.path, status.st_size, mark_of_status(status))


def _patterns(path: str) -> tuple[Rules, ...]:
    """Read the patterns of a file, or none if it is missing or a link. git does not follow such links either."""
    if os.path.islink(path):
        return ()
    try:
        with open(path, "rb") as file:
            rules = rules_of(file.read())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ()
    return (Rules(rules, b""),) if rules else ()


def _common_directory(git: str) -> str:
    """Return the directory with a repository's ``info``.

    It is ``.git`` itself, or for a worktree or submodule the directory that its ``.git`` file names.
    """
    with contextlib.suppress(OSError):
        if os.path.isfile(git):
            with open(git, "rb") as file:
                git = os.path.join(os.path.dirname(git), os.fsdecode(file.read().removeprefix(b"gitdir:").strip()))
            with open(os.path.join(git, "commondir"), "rb") as file:
                git = os.path.join(git, os.fsdecode(file.read().strip()))
    return git
