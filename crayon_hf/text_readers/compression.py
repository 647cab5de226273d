"""Read compressed files as streams: .gz, .bz2, .xz, .lzma, .zst. A truncated or damaged file is an error."""

from __future__ import annotations

import io
import zlib
from functools import cache
from typing import IO, Any

from crayon_hf.errors import CorpusError
from crayon_hf.util.extras import needed

PACKINGS = (".gz", ".bz2", ".xz", ".lzma", ".zst")
_READ = 1 << 17
_MOST = 1 << 20
"""The most bytes unpacked at once: a few packed bytes may expand to gigabytes."""
_HEADER = 4
"""The bytes at the start of a gzip member by which `_decompressor` chooses a library."""


def unpacking(raw: IO[bytes], packing: str, address: str) -> io.RawIOBase:
    """Return a stream of the unpacked content of `raw`: all members or frames. `packing` is one of PACKINGS.

    Reading raises CorpusError, which names `address`, if the file is damaged, truncated, or has other data after its
    end. Python's own readers of bz2 and xz files stop at such data without an error.
    """
    if packing == ".zst":
        with needed(f"{address}: reading .zst", "corpora"):
            import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]
        return _Zstandard(raw, address, pyarrow)
    return _Unpacked(raw, packing, address)


def _damaged(address: str, packing: str, error: object) -> CorpusError:
    return CorpusError(f"{address}: damaged {packing} file: {error}")


class _Unpacked(io.RawIOBase):
    """The unpacked content of a file of one or more members (complete compressed streams). Not for .zst."""

    def __init__(self, raw: IO[bytes], packing: str, address: str) -> None:
        self._raw, self._packing, self._address = raw, packing, address
        self._member: Any = None
        self._is_begun = False
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with memoryview(buffer) as whole, whole.cast("B") as view:
            while len(view):
                if self._member is None and not self._next():
                    return 0
                data = self._unpack(min(len(view), _MOST))
                if data:
                    view[: len(data)] = data
                    return len(data)
        return 0

    def _next(self) -> bool:
        """Begin the next member. Return False at the end of the file."""
        while True:
            if self._is_begun and self._packing != ".bz2":  # zeros may follow a member, to fill a block
                self._input = self._input.lstrip(b"\0")
            if self._input:
                break
            self._input = self._raw.read(_READ)
            if not self._input:
                if self._is_begun:
                    return False
                raise _damaged(self._address, self._packing, "it is empty")
        while len(self._input) < _HEADER and (more := self._raw.read(_READ)):
            self._input += more
        self._member, self._is_begun = _decompressor(self._packing, self._input), True
        return True

    def _unpack(self, most: int) -> bytes:
        member = self._member
        if not self._input and getattr(member, "needs_input", True):
            self._input = self._raw.read(_READ)
            if not self._input:
                raise _damaged(self._address, self._packing, "it ends in the middle")
        try:
            data: bytes = member.decompress(self._input, most)
        except Exception as error:
            if isinstance(error, (OSError, zlib.error)) or type(error).__name__ in ("IsalError", "LZMAError"):
                raise _damaged(self._address, self._packing, error) from error
            raise
        if member.eof:
            self._member, self._input = None, member.unused_data
        else:
            self._input = getattr(member, "unconsumed_tail", b"")
        return data


@cache
def _isal() -> Any:
    try:
        from isal import isal_zlib
    except ImportError:
        return None
    return isal_zlib


def _decompressor(packing: str, header: bytes) -> Any:
    """Return a decompressor for a member that begins with `header`. It verifies checksums.

    ISA-L is more than twice as fast as zlib. But ISA-L accepts reserved flags, and fails if a header with several
    fields or a checksum arrives in two pieces. So zlib unpacks members with such headers, and reports data that is not
    gzip.
    """
    if packing == ".gz":
        is_usual = header[:3] == b"\x1f\x8b\x08" and header[3:4] in (b"\x00", b"\x04", b"\x08")  # at most one field
        return ((is_usual and _isal()) or zlib).decompressobj(wbits=31)  # with header and checksum
    if packing == ".bz2":
        import bz2

        return bz2.BZ2Decompressor()
    import lzma

    return lzma.LZMADecompressor()


class _Zstandard(io.RawIOBase):
    """The unpacked content of a .zst file, by pyarrow. It detects a truncated file, and ``zstandard`` does not."""

    def __init__(self, raw: IO[bytes], address: str, pyarrow: Any) -> None:
        self._raw, self._address = raw, address
        self._file = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            read = int(self._file.readinto(buffer))
        except OSError as error:
            if error.errno is not None:
                raise  # an error of the disk or the network
            raise _damaged(self._address, ".zst", error) from error
        if not self._begun and not read and len(buffer) and not self._raw.tell():
            raise _damaged(self._address, ".zst", "it is empty")
        self._begun = True
        return read
