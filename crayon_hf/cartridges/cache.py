"""A cache of compiled cartridges, addressed by the content of their sources.

The cache directory is ``CRAYON_CACHE_DIR``, else ``compiled`` in `cache_root`, or ``/tmp/crayon-UID`` for a user
without a home. Its layout:

- ``<key>.dat``: a cartridge; the key is a digest of the source's SHA-256, the recipe and the build
- ``<key>.json``: the tokenizer.json of a cartridge compiled from another kind of source, such as a rank file
- ``index/<digest of a path>``: the stat of a file, with a fact that holds for that stat: the digest of a source, or
  that a cartridge is valid

With the index a second opening need not read and hash the file. An entry is written only if the file had not changed
for some seconds when it was read: changes within the resolution of the clock can leave the same stat. (git's index has
the same race, see "racy-git" in its technical documentation.)

Eviction: when a cartridge is written and the directory exceeds ``CRAYON_CACHE_BYTES`` (2 GiB), the least recently used
files are removed until the directory has nine tenths of that size. The last use of a file is its last access or its
last change, whichever is later. Systems record accesses once a day or not at all.

Failures are harmless: without a writable cache a cartridge stays in memory, and a damaged one is compiled again.

Security: a directory that another user owns or may write to is not used. A cartridge in such a directory could be
valid, have the right digest, and have other merges. The index is used only if other users cannot write to it. A path
may be redirected between the lookup and the opening, so `_core.Engine.open` compares the stat of the open file with
that of the index.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache as once_for_each
from functools import partial
from hashlib import sha256
from typing import TypeAlias

from crayon_hf import _core
from crayon_hf.cartridges.compiling import Compiled, Recipe
from crayon_hf.cartridges.opened_source import OpenedSource, Source
from crayon_hf.errors import CartridgeError
from crayon_hf.util.damage import damage_in
from crayon_hf.util.files import cache_root, read_source, write_atomic
from crayon_hf.util.numbers import size_of

BUILD = f"{_core.__version__} {_core.BUILD_ID}"
"""Identifies the code that compiles a cartridge. A build uses only its own cartridges, because those of other code
may have that code's faults. Equal installations share cartridges."""

MOST_BYTES = 2 << 30
"""The default size limit of the cache, without ``CRAYON_CACHE_BYTES``. A vocabulary takes about 20 MB."""

_INDEX = "index"
_FOLDERS = ("", _INDEX, "transformers", "shipped")

SETTLED_NS = 2_000_000_000
"""A file is settled if its last change is at least this long ago. Coarse clocks (FAT's) tick every two seconds."""

_VERIFIED = "verified"
_Stat: TypeAlias = tuple[int, int, int, int, int]
"""Size, modification and change time in ns, inode and device of a file, as the engine compares them."""


def cache_directory() -> str:
    """Return the directory of compiled cartridges, without creating it."""
    explicit = os.path.expanduser(os.environ.get("CRAYON_CACHE_DIR", ""))
    if explicit and not explicit.startswith("~"):
        return explicit
    if (root := cache_root()) is not None:
        return os.path.join(root, "compiled")
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"crayon-{os.getuid()}")


def open_source(source: str | bytes, recipe: Recipe) -> OpenedSource:
    """Open a source (a tokenizer.json, a rank file), by its path or bytes, with its cartridge.

    The cartridge is from the cache, or newly compiled.
    """
    cache = _Cache()
    digest, data = cache.digest(source)
    opened = cache.find(digest, recipe, source)
    if opened is not None:
        return opened
    if data is None:
        assert isinstance(source, str)
        data = read_source(source)
        digest = sha256(data).hexdigest()
    return cache.compile(digest, data, recipe, source)


def open_by_stat(path: str, recipe: Recipe) -> OpenedSource:
    """Open a file that is too large to be read whole. Its stat (size and times) stands for its contents in the cache.

    A file that has just changed could change again and keep its stat, so its cartridge is not cached.
    """
    now, stat = time.time_ns(), _identity(os.stat(path))
    if _is_settled(stat, now):
        return open_source(f"{os.path.realpath(path)}\n{stat}".encode(), recipe)
    return _in_memory(recipe.compile(b""), b"")


def open_cartridge(path: str) -> _core.Engine:
    """Open a cartridge at any path. The first call verifies it; later calls only map it, until the file changes."""
    try:
        return _Cache().open_verified(path)
    except CartridgeError as error:
        damage = damage_in(path)
        if damage is None:
            raise
        raise CartridgeError(f"{path} {damage}") from error


def source_digest(source: str | bytes) -> str:
    """The SHA-256 (hex) of a source. That of a file is cached until the file changes."""
    return _Cache().digest(source)[0]


def make_folder(name: str) -> str:
    """Create a private folder of the cache, and return its path.

    Raises PermissionError if another user can write to the folder or to the cache.
    """
    directory = cache_directory()
    _make_ours(directory)
    _make_ours(folder := os.path.join(directory, name))
    return folder


def read_kept(folder: str, name: str) -> bytes | None:
    """Return the contents of a file in a folder of the cache.

    Return None if it does not exist, or if other users can write to the folder or to the cache.
    """
    return _Cache().read(folder, name)


class _Cache:
    """The cache directory. If other users may write to it, nothing is found in it and nothing is kept."""

    def __init__(self) -> None:
        self.directory = cache_directory()
        self.is_foreign = not _is_ours(self.directory, missing=True)
        if self.is_foreign:
            _say_foreign(self.directory)

    def digest(self, source: str | bytes) -> tuple[str, bytes | None]:
        """Return the SHA-256 of a source, and its contents, or None for the contents if the index has the digest."""
        if isinstance(source, bytes):
            return sha256(source).hexdigest(), source
        before, known = self._recall(source)
        if known is not None and len(known) == 64:
            return known, None
        data = read_source(source)
        digest = sha256(data).hexdigest()
        self._remember(source, digest, before)
        return digest, data

    def find(
        self, digest: str, recipe: Recipe, origin: str | bytes, verified: _Stat | None = None
    ) -> OpenedSource | None:
        """Return a source with its cached cartridge, or None if the cartridge is missing or invalid.

        `digest` is the SHA-256 of the source. `origin` is the source itself, or its path. `verified` is the stat of
        the cartridge if this process has just written it.
        """
        if self.is_foreign:
            return None
        cartridge, source = self._names(digest, recipe)
        try:
            engine = self.open_verified(cartridge, verified)
        except FileNotFoundError:
            return None
        except (CartridgeError, OSError) as error:
            _debug("cached cartridge %s is not usable, compiling again: %s", cartridge, error)
            return None
        if not _is_ours(self.directory):  # the directory was created after `__init__`
            return None
        if engine.source_digest == digest:
            return OpenedSource(engine, Source(origin, digest), cartridge)
        if not os.path.exists(source):
            return None
        again = partial(_made_again, recipe, origin)
        return OpenedSource(engine, Source(source, engine.source_digest, again), cartridge)

    def open_verified(self, path: str, verified: _Stat | None = None) -> _core.Engine:
        """Open a cartridge at any path. It is verified unless its stat is `verified`, or the index says that it was."""
        before, fact = (verified, _VERIFIED) if verified else self._recall(path)
        if fact == _VERIFIED:
            return _core.Engine.open(path, verify="memory", verified=before)
        engine = _core.Engine.open(path, verify="memory")
        self._remember(path, _VERIFIED, before)
        return engine

    def compile(self, digest: str, data: bytes, recipe: Recipe, origin: str | bytes) -> OpenedSource:
        """Compile a source, and keep its cartridge if possible. The arguments are those of `find`, and the source."""
        most = most_bytes()
        compiled = recipe.compile(data)
        if self.is_foreign:
            return _in_memory(compiled, origin)
        cartridge, source = self._names(digest, recipe)
        try:
            is_trusted = self._make_index()
            if compiled.source is not None:
                write_atomic(source, compiled.source, private=True)
            is_there = partial(self.find, digest, recipe, origin)
            write_atomic(cartridge, compiled.cartridge, private=True, unless=is_there)
        except OSError as error:
            _debug("the cache in %s is not usable, the cartridge stays in memory: %s", self.directory, error)
            return _in_memory(compiled, origin)
        # If trusted, no other user can have replaced the written file.
        verified = self._remember(cartridge, _VERIFIED) if is_trusted else None
        opened = self.find(digest, recipe, origin, verified)
        self._remove_oldest(most, {cartridge, source})
        return opened or _in_memory(compiled, origin)

    def _names(self, digest: str, recipe: Recipe) -> tuple[str, str]:
        key = sha256(f"{BUILD}\n{recipe.name}\n{digest}".encode()).hexdigest()
        return os.path.join(self.directory, f"{key}.dat"), os.path.join(self.directory, f"{key}.json")

    def _remove_oldest(self, most: int, but: set[str]) -> None:
        found = _files(self.directory)
        total = sum(size for _, size, _ in found)
        if total <= most:
            return
        for _, size, path in sorted(found):
            if path not in but:
                with contextlib.suppress(OSError):
                    os.remove(path)
                total -= size
                if total <= most * 0.9:
                    return

    # -- the index

    def read(self, folder: str, name: str) -> bytes | None:
        """Return the contents of a file in a folder of the cache. See `read_kept`.

        The folder stays open from the check to the read, so renaming it does not redirect the read.
        """
        place = os.path.join(self.directory, folder)
        try:
            if self.is_foreign:
                return None
            if os.name == "nt":
                with open(os.path.join(place, name), "rb") as file:
                    return file.read()
            inside = _core.HeldFile(place, is_directory=True)
            if not _is_ours(inside.fileno()):
                return None
            with open(name, "rb", opener=partial(os.open, dir_fd=inside.fileno())) as file:
                return file.read()
        except OSError:
            return None

    def _recall(self, path: str) -> tuple[_Stat, str | None]:
        """Return the stat of a file, and the fact that the index has for this stat."""
        stat = _identity(os.stat(path))
        data = self.read(_INDEX, _entry(path))
        of, _, fact = (data or b"").decode("utf-8", "replace").partition("\n")
        return stat, fact if of == str(stat) else None

    def _remember(self, path: str, fact: str, before: _Stat | None = None) -> _Stat | None:
        """Add a fact about a file to the index, if possible.

        `before` is the file's stat from before it was read: it must be settled and the same now. It is None if this
        process has written the file. Return the stat that was recorded, or None.
        """
        try:
            now, stat = time.time_ns(), _identity(os.stat(path))
            if before is not None and (before != stat or not _is_settled(stat, now)):
                return None
            if self._make_index():
                entry = os.path.join(self.directory, _INDEX, _entry(path))
                write_atomic(entry, f"{stat}\n{fact}".encode(), private=True)
                return stat
        except OSError as error:
            _debug("the cache's index in %s is not writable: %s", self.directory, error)
        return None

    def _make_index(self) -> bool:
        """Create the directory and the index. Return whether only this user can write to the index."""
        _make_ours(self.directory)
        index = os.path.join(self.directory, _INDEX)
        os.makedirs(index, mode=0o700, exist_ok=True)
        return _is_ours(index)


def _entry(path: str) -> str:
    return sha256(BUILD.encode() + b"\n" + os.fsencode(os.path.realpath(path))).hexdigest()


def _in_memory(compiled: Compiled, origin: str | bytes) -> OpenedSource:
    engine = _core.Engine.from_bytes(compiled.cartridge, verify=False)
    source = origin if compiled.source is None else compiled.source
    return OpenedSource(engine, Source(source, engine.source_digest))


def _made_again(recipe: Recipe, origin: str | bytes) -> bytes:
    return recipe.compile(read_source(origin) if isinstance(origin, str) else origin).source or b""


# -- the cache as a whole


def usage() -> tuple[int, int]:
    """The number of files in the cache, and their bytes."""
    sizes = [size for _, size, _ in _files(cache_directory())]
    return len(sizes), sum(sizes)


def clear() -> tuple[int, int]:
    """Remove all files of the cache. Returns their number and bytes.

    Processes that have opened one of them can continue to use it.

    Raises:
        PermissionError: Another user owns the directory or may write to it.
    """
    directory = cache_directory()
    if not _is_ours(directory, missing=True):
        raise PermissionError(f"the cache in {directory} is not cleared: another user owns it or may write to it")
    removed = total = 0
    for _, size, path in _files(directory):
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            os.remove(path)
            removed, total = removed + 1, total + size
    return removed, total


def _files(directory: str) -> list[tuple[int, int, str]]:
    """The files of the cache: time of last use, bytes, path."""
    found = []
    for folder in _FOLDERS:
        with contextlib.suppress(OSError), os.scandir(os.path.join(directory, folder)) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process has removed it
                    if entry.is_file(follow_symlinks=False):
                        stat = entry.stat(follow_symlinks=False)
                        found.append((max(stat.st_atime_ns, stat.st_mtime_ns), stat.st_size, entry.path))
    return found


def most_bytes() -> int:
    """The size limit of the cache. Raises ValueError if CRAYON_CACHE_BYTES is not a size."""
    given = os.environ.get("CRAYON_CACHE_BYTES")
    if not given:
        return MOST_BYTES
    try:
        return size_of(given)
    except ValueError as error:
        raise ValueError(f"CRAYON_CACHE_BYTES: {error}") from None


# -- helpers


def _debug(message: str, *arguments: object) -> None:
    import logging  # saves some milliseconds when nothing is logged

    logging.getLogger("crayon_hf").debug(message, *arguments)


@once_for_each
def _say_foreign(directory: str) -> None:
    import logging

    logging.getLogger("crayon_hf").warning(
        "the cache in %s is not used, because other users may write to it: chmod go-w it, or set CRAYON_CACHE_DIR",
        directory,
    )


def _identity(stat: os.stat_result) -> _Stat:
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev


def _is_settled(stat: _Stat, now: int) -> bool:
    # It includes the change time, because a program can set the modification time back after a change.
    return max(stat[1:3]) + SETTLED_NS <= now


def _make_ours(directory: str) -> None:
    os.makedirs(directory, mode=0o700, exist_ok=True)  # the mode is that of the last directory alone
    if not _is_ours(directory):
        raise PermissionError(f"{directory} belongs to another user")


def _is_ours(directory: str | int, missing: bool = False) -> bool:
    """Whether only this user (or root) can write to a directory. `missing` is the result if it does not exist.

    Files beside the index need no such protection: replacing one changes its stat, and it is verified again.
    """
    if os.name == "nt":
        return True
    try:
        stat = os.stat(directory)
    except OSError:
        return missing
    return stat.st_uid in (0, os.geteuid()) and not stat.st_mode & 0o022
