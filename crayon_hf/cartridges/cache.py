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
from collections.abc import Callable
from functools import cache as once_for_each
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from crayon_hf import _core
from crayon_hf.errors import CartridgeError
from crayon_hf.util.damage import damage_in
from crayon_hf.util.files import cache_root, read_source, write_atomic
from crayon_hf.util.numbers import size_of

BUILD = f"{_core.__version__} {_core.BUILD_ID}"
"""Identifies the code that compiles a cartridge. A build uses only its own cartridges, because those of other code
may have that code's faults. Equal installations share cartridges."""

MOST_BYTES = 2 << 30
"""The default size limit of the cache, without ``CRAYON_CACHE_BYTES``. A vocabulary takes about 20 MB."""

_KEPT_IN = ("", "index", "transformers", "shipped")

SETTLED_NS = 2_000_000_000
"""A file is settled if its last change is at least this long ago. Coarse clocks (FAT's) tick every two seconds."""

_VERIFIED = "verified"


class Recipe(NamedTuple):
    """A way to compile a source into a cartridge. `name` tells recipes apart in the cache."""

    name: str
    compile: Callable[[bytes], Compiled]


class Compiled(NamedTuple):
    """The result of a recipe. `source` is a tokenizer.json, made if the compiled file is of another kind."""

    cartridge: bytes
    source: bytes | None = None


class Opened(NamedTuple):
    """An open cartridge, its path (None if it is in memory), and the path or bytes of its tokenizer.json."""

    engine: _core.Engine
    path: str | None
    source: str | bytes


def cache_directory() -> str:
    """Return the directory of compiled cartridges, without creating it."""
    explicit = os.path.expanduser(os.environ.get("CRAYON_CACHE_DIR", ""))
    if explicit and not explicit.startswith("~"):
        return explicit
    if (root := cache_root()) is not None:
        return os.path.join(root, "compiled")
    import tempfile

    return os.path.join(tempfile.gettempdir(), f"crayon-{os.getuid()}")


def open_source(path: str, recipe: Recipe) -> Opened:
    """Open the cartridge of a source file (a tokenizer.json, a rank file), from the cache or newly compiled."""
    cache = _Cache()
    digest, data = cache.digest(path)
    opened = cache.find(digest, recipe, path)
    if opened is not None:
        return opened
    if data is None:
        data = read_source(path)
        digest = sha256(data).hexdigest()
    return cache.compile(digest, data, recipe, path)


def open_bytes(data: bytes, recipe: Recipe) -> Opened:
    """Open the cartridge of a source in memory, from the cache or newly compiled."""
    cache = _Cache()
    digest = sha256(data).hexdigest()
    return cache.find(digest, recipe, data) or cache.compile(digest, data, recipe, data)


def open_cartridge(path: str) -> _core.Engine:
    """Open a cartridge at any path. The first call verifies it; later calls only map it, until the file changes."""
    try:
        return _Cache().open_verified(path)
    except CartridgeError as error:
        damage = damage_in(path)
        if damage is None:
            raise
        raise CartridgeError(f"{path} {damage}") from error


def is_foreign(directory: str) -> bool:
    """Whether another user owns a directory or may write to it. Its contents are not to be trusted then."""
    return os.path.exists(directory) and not _is_ours(directory)


def make_ours(*directories: str) -> None:
    """Create private directories, outer ones first. Raises PermissionError if another user can write to one of them."""
    for directory in directories:  # one by one: makedirs applies the mode only to the last one
        os.makedirs(directory, mode=0o700, exist_ok=True)
        if not _is_ours(directory):
            raise PermissionError(f"{directory} belongs to another user")


def source_digest(path: str) -> str:
    """The SHA-256 (hex) of a file, cached until the file changes."""
    return _Cache().digest(path)[0]


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
    if is_foreign(directory):
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
    for folder in _KEPT_IN:
        with contextlib.suppress(OSError), os.scandir(os.path.join(directory, folder)) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process has removed it
                    if entry.is_file(follow_symlinks=False):
                        stat = entry.stat(follow_symlinks=False)
                        found.append((max(stat.st_atime_ns, stat.st_mtime_ns), stat.st_size, entry.path))
    return found


class _Cache:
    def __init__(self) -> None:
        self.directory = cache_directory()
        self.index = os.path.join(self.directory, "index")
        self.foreign = is_foreign(self.directory)
        self.trusted = not self.foreign and _is_ours(self.index)
        if self.foreign:
            _say_foreign(self.directory)

    # -- cartridges

    def find(self, digest: str, recipe: Recipe, origin: str | bytes) -> Opened | None:
        """Return the cached cartridge of a source, or None if it is missing or invalid.

        `digest` is the SHA-256 of the source. `origin` is the source itself, or its path.
        """
        if self.foreign:
            return None
        cartridge, source = self._names(digest, recipe)
        try:
            engine = self.open_verified(cartridge)
            if not _is_ours(self.directory):  # the directory was created after `__init__`
                return None
        except FileNotFoundError:
            return None
        except (CartridgeError, OSError) as error:
            _debug("cached cartridge %s is not usable, compiling again: %s", cartridge, error)
            return None
        if engine.source_digest == digest:
            return Opened(engine, cartridge, origin)
        return Opened(engine, cartridge, source) if os.path.exists(source) else None

    def compile(self, digest: str, data: bytes, recipe: Recipe, origin: str | bytes) -> Opened:
        most = most_bytes()
        compiled = recipe.compile(data)
        in_memory = origin if compiled.source is None else compiled.source
        if self.foreign:
            return Opened(_core.Engine.from_bytes(compiled.cartridge, verify=False), None, in_memory)
        cartridge, source = self._names(digest, recipe)
        try:
            self._make_directories()
            if compiled.source is not None:
                write_atomic(source, compiled.source, private=True)
            is_there = partial(self._has, digest, recipe, origin)
            write_atomic(cartridge, compiled.cartridge, private=True, unless=is_there)
            engine = _core.Engine.open(cartridge, verify=False if self.trusted else "memory")
        except (CartridgeError, OSError) as error:
            _debug("the cache in %s is not usable, the cartridge stays in memory: %s", self.directory, error)
            engine = _core.Engine.from_bytes(compiled.cartridge, verify=False)
            return Opened(engine, None, in_memory)
        if self.trusted:  # then no other user can have replaced the written file
            with contextlib.suppress(OSError):
                self._remember(cartridge, os.stat(cartridge), _VERIFIED)
        self._remove_oldest(most, {cartridge, source})
        return Opened(engine, cartridge, origin if compiled.source is None else source)

    def _has(self, digest: str, recipe: Recipe, origin: str | bytes) -> bool:
        return self.find(digest, recipe, origin) is not None

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

    def open_verified(self, path: str) -> _core.Engine:
        before = os.stat(path)
        if self._recall(path, before) == _VERIFIED:
            return _core.Engine.open(path, verify="memory", verified=_identity(before))
        engine = _core.Engine.open(path, verify="memory")
        self._remember_if_settled(path, before, _VERIFIED)
        return engine

    def _make_directories(self) -> None:
        make_ours(self.directory)
        os.makedirs(self.index, mode=0o700, exist_ok=True)
        self.trusted = _is_ours(self.index)

    def _names(self, digest: str, recipe: Recipe) -> tuple[str, str]:
        key = sha256(f"{BUILD}\n{recipe.name}\n{digest}".encode()).hexdigest()
        return os.path.join(self.directory, f"{key}.dat"), os.path.join(self.directory, f"{key}.json")

    # -- the index

    def digest(self, path: str) -> tuple[str, bytes | None]:
        """Return the SHA-256 of a file, and its contents, or None for the contents if the index has the digest."""
        before = os.stat(path)
        known = self._recall(path, before)
        if known is not None and len(known) == 64:
            return known, None
        data = read_source(path)
        digest = sha256(data).hexdigest()
        self._remember_if_settled(path, before, digest)
        return digest, data

    def _recall(self, path: str, stat: os.stat_result) -> str | None:
        data = read_ours(self.index, self._entry(path)) if self.trusted else None
        fingerprint, _, value = (data or b"").decode("utf-8", "replace").partition("\n")
        return value if fingerprint == _fingerprint(stat) else None

    def _remember_if_settled(self, path: str, before: os.stat_result, value: str) -> None:
        """Add an index entry for a file if it is settled. `before` is the file's stat from before it was read."""
        now = time.time_ns()
        try:
            after = os.stat(path)
        except OSError:
            return
        changed = max(after.st_mtime_ns, after.st_ctime_ns)
        if _fingerprint(before) == _fingerprint(after) and changed + SETTLED_NS <= now:
            self._remember(path, after, value)

    def _remember(self, path: str, stat: os.stat_result, value: str) -> None:
        try:
            self._make_directories()
            if self.trusted:
                entry = os.path.join(self.index, self._entry(path))
                write_atomic(entry, f"{_fingerprint(stat)}\n{value}".encode(), private=True)
        except OSError as error:
            _debug("the cache's index in %s is not writable: %s", self.index, error)

    def _entry(self, path: str) -> str:
        return sha256(BUILD.encode() + b"\n" + os.fsencode(os.path.realpath(path))).hexdigest()


def read_ours(directory: str, name: str) -> bytes | None:
    """Return the contents of a file, or None if it does not exist or other users can write to its directory.

    The directory stays open from the check to the read, so renaming it does not redirect the read.
    """
    try:
        if os.name == "nt":
            with open(os.path.join(directory, name), "rb") as file:
                return file.read()
        inside = _core.HeldFile(directory, is_directory=True)
        if not _is_ours(inside.fileno()):
            return None
        with open(name, "rb", opener=partial(os.open, dir_fd=inside.fileno())) as file:
            return file.read()
    except OSError:
        return None


def most_bytes() -> int:
    """The size limit of the cache. Raises ValueError if CRAYON_CACHE_BYTES is not a size."""
    given = os.environ.get("CRAYON_CACHE_BYTES")
    if not given:
        return MOST_BYTES
    try:
        return size_of(given)
    except ValueError as error:
        raise ValueError(f"CRAYON_CACHE_BYTES: {error}") from None


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


def _fingerprint(stat: os.stat_result) -> str:
    # It includes the change time, because a program can set the modification time back after a change.
    return " ".join(map(str, _identity(stat)))


def _identity(stat: os.stat_result) -> tuple[int, int, int, int, int]:
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev


def _is_ours(directory: str | int) -> bool:
    """Whether only this user (or root) can write to a directory, so that its index can be trusted.

    Files beside the index need no such protection: replacing one changes its stat, and it is verified again.
    """
    if os.name == "nt":
        return True
    try:
        stat = os.stat(directory)
    except OSError:
        return False
    return stat.st_uid in (0, os.geteuid()) and not stat.st_mode & 0o022
