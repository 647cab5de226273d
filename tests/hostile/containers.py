"""Hostile cartridges with a wrong header, section table or place of a section: one for each documented error.

Unless a case says otherwise, the checksum of its header and table is right: the file is forged, not damaged.
tests/support/cartridge_lies.py has more of each kind.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, Case, file_of
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import parsed, signed
from tests.support.cartridge_reader import Section

SIZE = "truncated or extended: the file has N bytes, its header says N: download or compile it again"
TABLE_CHECKSUM = "damaged: the checksum of header and section table does not match"
TABLE = "the section table does not fit: N sections"
OUTSIDE = "section NAME is outside the file"
UNUSED = "unused space before ..."
PADDING = "the padding before ... is not zero"
VERSION = "cartridge {} N is not supported (only {} is): compile it again"


def patched(data: bytes, *changes: tuple[int, str, int], sign: bool = True) -> bytes:
    """A cartridge with numbers replaced: (position, struct code, value). `sign` corrects the header's checksum."""
    out = bytearray(data)
    for at, code, value in changes:
        struct.pack_into("<" + code, out, at, value)
    return signed(out) if sign else bytes(out)


def cases() -> Iterator[Case]:
    data = good.text_tables()
    for name, (content, promise) in {**_headers(data), **_layouts(data)}.items():
        yield Case(name, file_of(content), CARTRIDGE, promise)
    for end, promise in (
        (7, "too short for a cartridge: N bytes"),
        (63, "truncated: the header is cut: download or compile it again"),
        (len(data) // 2, SIZE),
    ):
        yield Case(f"cut at {end}", file_of(data[:end]), CARTRIDGE, promise)
    magic = signed(data[:1] + b"X" + data[2:])
    yield Case("magic", file_of(magic), CARTRIDGE, "not a cartridge: it does not begin with CRAY", only="engine")
    sections, digest = parsed(data)
    for name, more in {
        "unknown sections": [Section(99, 0, b"?")] * 2,
        "256 sections": [Section(99, 0, b"")] * (256 - len(sections)),
    }.items():
        yield Case(name, file_of(plain.write_cartridge([*sections, *more], digest)), ACCEPTED, "")
    # A valid cartridge of another vocabulary: only the file beside it can reveal that.
    other = signed(data[:32] + bytes([data[32] ^ 1]) + data[33:])
    yield Case("source_digest of another", file_of(other), ACCEPTED, "")


def _headers(data: bytes) -> dict[str, tuple[bytes, str]]:
    (checksum,) = struct.unpack_from("<Q", data, 24)
    at = 64 + 32 * 2  # an entry of the section table
    (offset,) = struct.unpack_from("<Q", data, at + 8)
    return {
        "version 4": (patched(data, (4, "I", 4)), VERSION.format("version", 3)),
        "revision 5": (patched(data, (20, "I", 5)), VERSION.format("revision", 4)),
        "file_size 0": (patched(data, (8, "Q", 0)), SIZE),
        "no sections": (patched(data, (16, "I", 0)), "section program is missing or has a wrong size"),
        # 32 x 2^31 is 0 in 32 bits.
        **{f"{count} sections": (patched(data, (16, "I", count)), TABLE) for count in (257, 2**31, 2**32 - 1)},
        "header checksum": (patched(data, (24, "Q", checksum ^ 1), sign=False), TABLE_CHECKSUM),
        "offset near 2^64": (patched(data, (at + 8, "Q", 2**64 - 64)), OUTSIDE),
        "size wraps": (patched(data, (at + 16, "Q", 2**64 - offset + 64)), OUTSIDE),
        "checksum": (patched(data, (at + 24, "Q", 0)), "damaged: the checksum of section NAME does not match"),
        "unknown type": (patched(data, (at, "I", 27)), "section type N is required, but unknown"),
    }


def _layouts(data: bytes) -> dict[str, tuple[bytes, str]]:
    sections, digest = parsed(data)
    by_name = {plain.NAMES[section.type]: section for section in sections}
    (count,) = struct.unpack_from("<I", data, 16)
    rows = [struct.unpack_from("<IIQQQ", data, 64 + 32 * index) for index in range(count)]

    def without(name: str) -> bytes:
        return plain.write_cartridge([each for each in sections if each != by_name[name]], digest)

    place, (_, _, _, size, _), (_, _, before, _, _) = 64 + 32 * (count - 1), rows[-1], rows[-2]
    upon = plain.xxh64(data[before : before + size])
    first = rows[0][2]
    moves = [(64 + 32 * index + 8, "Q", row[2] + 64) for index, row in enumerate(rows)]
    apart = patched(data[:first] + bytes(64) + data[first:], (8, "Q", len(data) + 64), *moves)
    dirty = bytearray(data)
    dirty[next(row[2] + row[3] for row in rows if (row[2] + row[3]) % 64)] = 1
    overlap = patched(data, (place + 8, "Q", before), (place + 24, "Q", upon))
    longer = patched(data + b"\0", (8, "Q", len(data) + 1))
    return {
        "trie twice": (plain.write_cartridge([*sections, by_name["trie"]], digest), "section NAME appears twice"),
        "no merge_products": (without("merge_products"), "section NAME has N elements, expected N"),
        "no pair_table": (without("pair_table"), "... model ..."),
        "a section upon another": (overlap, "section NAME overlaps the data before it"),
        "a gap": (apart, UNUSED),
        "padding": (bytes(dirty), PADDING),
        "a byte more, and says so": (longer, "the file does not end on a multiple of 64 bytes"),
        "a cartridge more": (data + data, SIZE),
    }
