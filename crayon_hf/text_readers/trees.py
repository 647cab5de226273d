"""Finds the files of a directory tree that git would not ignore."""

from __future__ import annotations

import contextlib
import os

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.addresses import mark_of_status, walk
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.text_readers.ignore_rules import Rule, rules_of

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
    found = []
    try:
        levels = {directory: _above(os.path.abspath(directory)) if ignore else ()}
        for place, entries in walk(directory):
            level = levels.pop(place)
            if ignore:
                path = os.path.abspath(place)
                level = _inside(path, level)
                entries[:] = [entry for entry in entries if not _is_ignored(path, entry, level)]
            for entry in entries:
                if entry.is_dir():
                    levels[entry.path] = level
                elif entry.is_file():
                    status = entry.stat()
                    found.append(InputFile(entry.path, status.st_size, mark_of_status(status)))
    except OSError as error:
        raise CorpusError(f"{error.filename or directory}: {error.strerror or error}") from error
    if not found:
        also = " and files that .gitignore names (--no-ignore reads these)" if ignore else ""
        raise CorpusError(f"{directory} has no files except hidden ones{also}")
    return sorted(found)


def is_binary(beginning: bytes) -> bool:
    """Whether the beginning of a file has a zero byte, by which git recognises binary files."""
    return b"\0" in beginning[:_FIRST_BYTES]


_Level = tuple[tuple[int, tuple[Rule, ...]], ...]
"""The rules that apply in a directory, those of the deepest ``.gitignore`` first. Each has the length of the absolute
path, with a slash, from which it begins to match."""


def _is_ignored(directory: str, entry: os.DirEntry[str], level: _Level) -> bool:
    """Whether the rules ignore an entry of a directory. The last rule that matches decides, in the deepest file."""
    path, is_directory = os.fsencode(os.path.join(directory, entry.name)), entry.is_dir() and not entry.is_symlink()
    for begin, rules in level:
        for rule in reversed(rules):
            if (is_directory or not rule.is_of_directories) and rule.matches.fullmatch(path, begin):
                return not rule.is_negated
    return False


def _inside(directory: str, above: _Level) -> _Level:
    """Return the rules that apply in a directory, given by its absolute path, if those of its parent are `above`.

    In a repository's root, rules from above are dropped, and those of ``info/exclude`` apply.
    """
    git, level = os.path.join(directory, ".git"), above
    begin = len(os.fsencode(os.path.join(directory, "")))
    if os.path.lexists(git):
        level = ((begin, _rules(os.path.join(_common_directory(git), "info", "exclude"))),)
    return ((begin, _rules(os.path.join(directory, ".gitignore"))), *level)


def _above(directory: str) -> _Level:
    """Return the rules of the directories above a directory, given by its absolute path, in its checkout."""
    way = [directory]
    while not os.path.lexists(os.path.join(way[-1], ".git")):
        way.append(os.path.dirname(way[-1]))
        if way[-1] == way[-2]:
            return ()
    level: _Level = ()
    for place in way[:0:-1]:
        level = _inside(place, level)
    return level


def _rules(path: str) -> tuple[Rule, ...]:
    """Read the rules of a file, or none if it is missing or a link. git does not follow such links either."""
    if os.path.islink(path):
        return ()
    try:
        with open(path, "rb") as file:
            return rules_of(file.read())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ()


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
