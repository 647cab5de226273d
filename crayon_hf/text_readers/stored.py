"""An input file, opened for reading: local, or on any storage of fsspec. The file must not change while it is read."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import IO, Any

from crayon_hf.errors import CorpusError, CrayonError
from crayon_hf.text_readers.addresses import as_it_is, is_local, local_path, mark_of_status, system_of
from crayon_hf.text_readers.compression import unpacking
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util.damage import damage_in, is_pointer


class Stored(io.RawIOBase):
    """An open input file. Reading unpacks a compressed file; `done` counts bytes as they are stored."""

    def __init__(self, file: InputFile, packing: str) -> None:
        """Open a file, which reading unpacks if `packing` names a compression.

        Raise CorpusError if the file cannot be opened, or has changed since it was found.
        """
        self.file = file
        self.raw: Any = None
        self._content: Any = None
        with translated(file.address):
            if is_local(file.address):
                self.raw = open(local_path(file.address), "rb", buffering=0)  # noqa: SIM115 - closed by close
            else:
                self._remote = system_of(file.address)  # kept: some close their files when they are garbage-collected
                self.raw = self._remote[0].open(self._remote[1], "rb")
        if is_local(file.address) and is_pointer(local_path(file.address), file.size):
            self.raw.close()
            raise CorpusError(f"{file.address} {damage_in(local_path(file.address))}")
        self._content = unpacking(self.raw, packing, file.address) if packing else self.raw
        self.check("since it was found")

    def close(self) -> None:
        if not self.closed:
            for file in (self._content, self.raw):
                with contextlib.suppress(Exception):  # harmless: nothing was written
                    file.close()
        super().close()

    def readable(self) -> bool:
        return True

    @property
    def done(self) -> int:
        """The number of stored bytes read so far."""
        with translated(self.file.address):
            return int(self.raw.tell())

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`, and return the number of bytes, which is 0 at the end of the file.

        At the end, raise CorpusError if the file has changed while it was read.
        """
        with translated(self.file.address):
            read = int(self._content.readinto(buffer))
        if read == 0:
            self.check("while it was read")
            if 0 <= self.file.size != self.done:
                raise CorpusError(f"{self.file.address}: has {self.done} bytes, expected {self.file.size}")
        return read

    def check(self, when: str) -> None:
        """Raise CorpusError if the file's size or mark has changed. `when` is a part of the message."""
        with translated(self.file.address):
            if is_local(self.file.address):
                status = os.fstat(self.raw.fileno())
                size, mark = status.st_size, mark_of_status(status)
            elif self.file.mark:
                _, size, mark, _ = as_it_is(*self._remote, self.file)
            else:
                return
        if size not in (self.file.size, -1) and self.file.size != -1:
            raise CorpusError(f"{self.file.address} has changed {when}: it has {size} bytes, and had {self.file.size}")
        if self.file.mark and mark != self.file.mark:
            raise CorpusError(f"{self.file.address} has changed {when}: it was written to")


class Stream(io.RawIOBase):
    """An open stream, read like a `Stored` file whose size is not known."""

    def __init__(self, raw: IO[bytes], name: str) -> None:
        self.file, self.done = InputFile(name, -1), 0
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read(len(buffer))
        if not isinstance(data, bytes):
            raise TypeError(f"file gives {type(data).__name__}, expected bytes: open it in binary mode")
        buffer[: len(data)] = data
        self.done += len(data)
        return len(data)


@contextlib.contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn errors of the system and of fsspec's drivers into CorpusError."""
    try:
        yield
    except CrayonError:
        raise
    except OSError as error:
        raise CorpusError(f"{address}: {error.strerror or error}") from error
    except Exception as error:  # every driver has its own classes
        raise CorpusError(f"{address}: {type(error).__name__}: {error}") from error
