"""Find input files by the names that users give: paths of files and directories, globs, and addresses of fsspec."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crayon_hf.errors import CorpusError, MissingExtraError
from crayon_hf.text_readers.documents import InputFile, format_of
from crayon_hf.util import validation as checks
from crayon_hf.util.extras import needed

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
_LOCAL = ("file://", "local://")
_MARKS = (
    *("ETag", "etag", "md5Hash", "content_md5", "sha256"),
    *("mtime", "LastModified", "last_modified", "updated", "created"),
)
"""Names of drivers for an identity or a time of a file."""
_MAGIC = re.compile(r"[*?[]")


def find_inputs(inputs: Sequence[str | os.PathLike[str]], format: str | None = None) -> list[InputFile]:
    """Return the files that `inputs` name, in the order of `inputs`. The files of one input are sorted by name.

    An input is one of these, or an address of fsspec (``s3://``, ``memory://``, ``file://``...) of one of these:

    - a file
    - a directory: all files below it that are not hidden and have a known ending (or any ending, with `format`)
    - a pattern (``*``, ``?``, ``[...]``, ``**``); directories that match are read as above, unless it contains ``**``

    A name that exists is never read as a pattern. A file that two inputs name is read twice.

    Raises:
        CorpusError: An input does not exist, cannot be read, or names no file.
    """
    if isinstance(inputs, (str, bytes, os.PathLike)):
        inputs = [os.fsdecode(inputs)]
    found: list[InputFile] = []
    for item in inputs:
        if not isinstance(item, (str, os.PathLike)):
            raise TypeError(f"an input is {checks.kind(item)}, expected a path or an address")
        address = os.fsdecode(item)
        files = _local_files(address, format) if is_local(address) else _remote_files(address, format)
        if not files:
            rest = " with a known ending; if a format is given, all files are read" if format is None else ""
            raise CorpusError(f"{address}: no file there{rest}")
        found += files
    if not found:
        raise CorpusError("no input is given")
    return found


def is_local(address: str) -> bool:
    """Whether an address is a local path rather than one for fsspec."""
    match = _ADDRESS.match(address)
    return match is None or address.startswith(_LOCAL) or (match[1] == "::" and os.path.exists(address))


def local_path(address: str) -> str:
    """Return the path of a local address, without a prefix such as ``file://``."""
    return next((address[len(prefix) :] for prefix in _LOCAL if address.startswith(prefix)), address)


def mark_of_status(status: os.stat_result) -> str:
    """Return the mark (`InputFile.mark`) of a local file: its modification time in nanoseconds."""
    return str(status.st_mtime_ns)


def _local_files(address: str, format: str | None) -> list[InputFile]:
    path = local_path(address)
    try:
        if os.path.isdir(path):
            return _below(path, format)
        if os.path.lexists(path) or not _MAGIC.search(path):
            return [_file(path)]
        files = []
        for name in sorted(glob.glob(path, recursive=True)):
            if not os.path.isdir(name):
                files.append(_file(name))
            elif "**" not in path:
                files += _below(name, format)
        return files
    except OSError as error:
        raise CorpusError(f"{error.filename or path}: {error.strerror or error}") from error


def _file(path: str) -> InputFile:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{path} is not a regular file: the input is read more than once")
    open(path, "rb").close()  # fails early for an unreadable file
    return InputFile(path, status.st_size, mark_of_status(status))


def _below(directory: str, format: str | None) -> list[InputFile]:
    names = [entry.path for _, entries in walk(directory) for entry in entries if not entry.is_dir()]
    return [_file(name) for name in sorted(_known(names, format))]


def walk(
    directory: str, above: frozenset[tuple[int, int]] = frozenset()
) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield a directory and those below it, with the entries of each that are not hidden. Links are followed.

    The caller may remove directories from the list of entries, which are then not walked.
    """
    status = os.stat(directory)
    way = above | {(status.st_dev, status.st_ino)}
    if way == above:  # a link to a directory above it
        return
    with os.scandir(directory) as found:
        entries = [entry for entry in found if not entry.name.startswith(".")]
    yield directory, entries
    for entry in entries:
        if entry.is_dir():
            yield from walk(entry.path, way)


def _known(names: Iterable[str], format: str | None) -> Iterator[str]:
    """Yield the paths of files that may hold documents: not hidden, and not the metadata files of ``datasets``.

    Without a `format`, the ending of the name must be known.
    """
    names = list(names)
    of_datasets = {os.path.dirname(name) for name in names if name.endswith(".arrow")}
    for name in names:
        directory, base = os.path.split(name)
        is_note = base in ("dataset_info.json", "state.json") and directory in of_datasets
        if not base.startswith(".") and not is_note and (format is not None or format_of(base)[0] is not None):
            yield name


def _remote_files(address: str, format: str | None) -> list[InputFile]:
    system, path = system_of(address)
    try:
        if _MAGIC.search(path) and not system.exists(path):
            found = system.glob(path, detail=True)
        else:
            information = system.info(path)
            if information["type"] != "directory":
                return [_remote_file(address, information)]
            found = system.find(path, detail=True)
            found = {name: found[name] for name in _known(found, format)}
    except Exception as error:  # every driver has its own classes
        raise CorpusError(f"{address}: {_said(error)}") from error
    return [
        _remote_file(_address(system, name, address), information)
        for name, information in sorted(found.items())
        if information["type"] != "directory"
    ]


def _remote_file(address: str, information: dict[str, Any], marks: Sequence[str] = _MARKS) -> InputFile:
    size = information.get("size")
    mark = next((mark for name in marks if (mark := _mark(information, name))), "")
    return InputFile(address, -1 if size is None else int(size), mark)


def _mark(information: dict[str, Any], name: str) -> str:
    """Return a remote file's mark `name` as ``name=value``, or an empty text if the storage does not report it."""
    value = information.get(name)
    if value is None:
        return ""
    if hasattr(value, "timestamp"):  # some drivers give a datetime in listings, and a number for a single file
        value = value.timestamp()
    return f"{name}={value}"


def _address(system: Any, name: str, given: str) -> str:
    """Return the address of the file `name` of a file system. `given` is the address that the user gave."""
    first, *others = given.split("::")
    if not others:
        return str(system.unstrip_protocol(name))
    chain = [first, *others]
    index = next((i for i, part in enumerate(chain) if "://" in part), 0)
    protocol = chain[index].split("://")[0]
    chain[index] = f"{protocol}://{name.split('://')[-1]}"
    return "::".join(chain)


def _said(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"{getattr(error, 'strerror', None) or error}" or type(error).__name__


def system_of(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it. Raise CorpusError if fsspec has no driver for it."""
    with needed(f"{address}: an address", "corpora"):
        from fsspec.core import url_to_fs
    try:
        system, path = url_to_fs(address)
        return system, path
    except ImportError as error:
        message = f"{address}: the driver of this kind of address is missing: {error}"
        raise MissingExtraError(message, name=error.name) from error
    except Exception as error:
        raise CorpusError(f"{address}: {_said(error)}") from error


def as_it_is(system: Any, path: str, file: InputFile) -> InputFile:
    """Return a remote file with its current size and mark, with the same kind of mark if the storage has it."""
    system.invalidate_cache()
    now = _remote_file(file.address, system.info(path), [file.mark.split("=")[0]])
    return now if now.mark else now._replace(mark=file.mark)
