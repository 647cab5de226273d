"""Read a stream of bytes as blocks of whole units: lines, or documents with their separators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol


class Source(Protocol):
    """A stream of bytes that `blocks` can read."""

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` from its beginning. Return the number of bytes, which is 0 at the end."""


Block = tuple[memoryview, int]
"""The writable bytes of one or more whole units, and 0. For a unit that was left out because it was too long: no bytes,
and its size without its separator."""


def blocks(
    source: Source,
    separator: bytes,
    whole: Callable[[bytearray, int, int, bool], int],
    batch_bytes: int,
    limit: int,
) -> Iterator[Block]:
    """Read `source` to its end, and yield its units in blocks of about `batch_bytes`.

    ``whole(buffer, old, size, at_end)`` returns how many bytes of ``buffer[:size]`` are a block of whole units, or 0.
    An earlier call has found no whole unit in ``buffer[:old]``. With `at_end`, the last unit may lack its separator.

    Without a `separator` the stream is one unit. A unit of more than `limit` bytes, its separator not counted, may be
    left out: an empty block then reports its size.
    """
    usual, most = max(batch_bytes, len(separator)), limit + max(len(separator), 1)
    buffer, size, known, at_end = bytearray(usual), 0, 0, False
    while True:
        if not at_end and size < len(buffer):
            with memoryview(buffer) as view, view[size:] as free:
                read = source.readinto(free)
            at_end = read == 0
            size += read
            continue
        cut = whole(buffer, known, size, at_end) if size else 0
        if cut:
            rest = size - cut
            following = bytearray(max(usual, rest))
            following[:rest] = memoryview(buffer)[cut:size]
            yield memoryview(buffer)[:cut], 0
            buffer, size, known = following, rest, 0  # whole units may follow, if a limit ended the block
        elif at_end:
            return
        elif size >= most:
            (length, size), known = _skip(source, buffer, size, separator), 0
            yield memoryview(b""), length
        else:
            known = size
            buffer.extend(bytes(min(2 * size, most) - size))


def _skip(source: Source, buffer: bytearray, size: int, separator: bytes) -> tuple[int, int]:
    """Read to the end of the unit at the beginning of the buffer, and move the bytes after the unit to the beginning.

    Return the size of the unit and the number of bytes after the unit.
    """
    skipped, keep = 0, max(len(separator) - 1, 0)
    while True:
        found = buffer.find(separator, 0, size) if separator else -1
        if found >= 0:
            end = found + len(separator)
            rest = bytes(buffer[end:size])
            buffer[: len(rest)] = rest
            return skipped + found, len(rest)
        gone = size - keep
        tail = bytes(buffer[gone:size])
        buffer[:keep] = tail
        skipped += gone
        with memoryview(buffer) as view, view[keep:] as free:
            read = source.readinto(free)
        size = keep + read
        if not read:
            return skipped + keep, 0
