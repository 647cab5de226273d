"""Headers and section tables that are wrong, files that are cut or go on, sections that are not where they should be.

Every one but those that say otherwise has the checksum that its header and table must have: somebody meant it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial

from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, Case, file_of
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import parsed, signed
from tests.support.cartridge_lies import container_cases
from tests.support.cartridge_reader import Section

SIZE = "truncated or extended: the file has N bytes, its header says N"
SHORT = "too short for a cartridge: N bytes"
OUTSIDE = "section NAME lies outside the file"
CHECKSUM = "damaged: the checksum of section NAME does not match"
TABLE_CHECKSUM = "damaged: the checksum of header and section table does not match"
TABLE = "the section table does not fit: N sections"
REQUIRED = "section type N is required, but unknown"
TWICE = "section NAME appears twice"
OVERLAP = "section NAME overlaps what is before it"
UNUSED = "there is unused space before ..."
PROGRAM = "section program is missing or has a wrong size"
CONTENT = "section NAME ..."
ELEMENTS = "section NAME has N elements, expected N"
MODEL = "... model ..."

_OF_HEADER = {"file_size": (8, "Q"), "section_count": (16, "I"), "revision": (20, "I"), "checksum": (24, "Q")}
_OF_ENTRY = {"type": (0, "I"), "flags": (4, "I"), "offset": (8, "Q"), "size": (16, "Q"), "checksum": (24, "Q")}


def patched(data: bytes, *changes: tuple[int, str, int], sign: bool = True) -> bytes:
    """The file with some numbers replaced."""
    out = bytearray(data)
    for at, code, value in changes:
        struct.pack_into("<" + code, out, at, value)
    return signed(out) if sign else bytes(out)


def cases() -> Iterator[Case]:
    data = good.text_tables()
    yield from _headers(data)
    yield from _entries(data)
    yield from _cut(data)
    yield from _longer(data)
    yield from _layouts(data)
    yield from _known_lies()


def _case(name: str, wrong: str, data: bytes, promise: str, error: str = CARTRIDGE, says: str = "") -> Case:
    return Case(name, wrong, file_of(data), error, promise, says)


def _values(true: int, code: str, other: int) -> dict[str, int]:
    """A field wrong in every way: the names are part of the names of cases."""
    most = 2 ** (8 * struct.calcsize(code)) - 1
    wrong = {"zero": 0, "one less": (true - 1) & most, "one more": (true + 1) & most, "all ones": most, "other": other}
    return {name: value for name, value in wrong.items() if value != true}


def _headers(data: bytes) -> Iterator[Case]:
    case = partial(_case)
    for at, name in enumerate(("C", "R", "A", "Y")):
        magic = bytearray(data)
        magic[at] ^= 0x20
        wrong = f"the letter {name} of the magic is another"
        promise = "not a cartridge: it does not begin with CRAY"
        yield case(f"magic {at}", wrong, signed(magic), promise)._replace(only="engine")
    for title, value in _values(3, "I", 2).items():
        is_two = value == 2
        promise = "cartridge version N is not supported (only 3 is): compile it again"
        if is_two:
            continue  # that is the other format, whose header says another size
        yield case(f"version {title}", f"version {value}", patched(data, (4, "I", value)), promise)
    swapped = patched(data, (4, "I", 3 << 24))
    promise = "cartridge version N is not supported (only 3 is): compile it again"
    yield case("big-endian version", "the version in big-endian order", swapped, promise)
    for title, value in _values(4, "I", 3).items():
        promise = "cartridge revision N is not supported (only 4 is): compile it again"
        yield case(f"revision {title}", f"revision {value}", patched(data, (20, "I", value)), promise)
    for title, value in _values(len(data), "Q", 64).items():
        yield case(f"file_size {title}", f"file_size {value}", patched(data, (8, "Q", value)), SIZE)
    (count,) = struct.unpack_from("<I", data, 16)
    # With the table one entry shorter or longer the sections are others: the last is missing, or a zero entry follows.
    for title, value in _values(count, "I", 256).items():
        promise = {"zero": PROGRAM, "one less": "", "one more": "", "all ones": TABLE}.get(title, "")
        if promise:
            yield case(f"section_count {title}", f"{value} sections", patched(data, (16, "I", value)), promise)
    fewer = patched(data, (16, "I", count - 1))
    promise = UNUSED if (64 + 32 * count) % 64 else "the padding before ... is not zero"  # it is the entry itself
    yield case("section_count one less", "the last section is not counted", fewer, promise)
    for value in (257, 2**31, 2**32 - 2):
        # 32 x 2^31 and what is near it is a small number in 32 bits.
        yield case(f"section_count {value}", f"{value} sections", patched(data, (16, "I", value)), TABLE)
    more = patched(data, (16, "I", count + 1), (64 + 32 * count, "I", 99))
    is_padding = (64 + 32 * count) % 64 != 0  # else it is the beginning of the first section
    yield case("section_count one more", "an entry more", more, OVERLAP if is_padding else "")
    (checksum,) = struct.unpack_from("<Q", data, 24)
    for title, value in _values(checksum, "Q", checksum ^ 1 << 63).items():
        wrong = patched(data, (24, "Q", value), sign=False)
        yield case(f"header checksum {title}", f"the checksum of the header is {value:#x}", wrong, TABLE_CHECKSUM)
    other = bytearray(data)
    other[32] ^= 1
    yield case("source_digest changed", "a digest that the checksum is not of", bytes(other), TABLE_CHECKSUM)
    yield case(
        "source_digest of another", "the digest of another tokenizer.json", signed(other), "", ACCEPTED
    )  # it is another's, and whole: only what stands beside it can tell


def _entries(data: bytes) -> Iterator[Case]:
    (count,) = struct.unpack_from("<I", data, 16)
    for index in range(count):
        at = 64 + 32 * index
        kind, _, offset, size, checksum = struct.unpack_from("<IIQQQ", data, at)
        name = plain.NAMES[kind]

        def entry(field: str, value: int, at: int = at) -> bytes:
            place, code = _OF_ENTRY[field]
            return patched(data, (at + place, code, value))

        for title, value in _values(offset, "Q", offset + 32).items():
            moved = entry("offset", value)
            # Unaligned, or far outside; a section at 0 begins with the header, and its checksum is not the one.
            promise = OUTSIDE if value % 64 or value > len(data) else "" if name == "program" else OVERLAP
            yield _case(
                f"offset of {name} {title}", f"{name} begins at {value}", moved, promise, says=name if promise else ""
            )
        for title, value in {"past the end": len(data), "near 2^64": 2**64 - 64, "at 2^32": offset + 2**32}.items():
            says = name if size or value > len(data) else ""
            if value > len(data) or size:
                yield _case(
                    f"offset of {name} {title}", f"{name} at {value}", entry("offset", value), OUTSIDE, says=says
                )
        for title, value in {
            "all ones": 2**64 - 1,
            "wraps": 2**64 - offset,
            "wraps to 64": 2**64 - offset + 64,
        }.items():
            wrong = f"{name} has {value} bytes"
            yield _case(f"size of {name} {title}", wrong, entry("size", value), OUTSIDE, says=name)
        for title, value in _values(checksum, "Q", checksum ^ 1).items():
            wrong = f"the checksum of {name} is {value:#x}"
            yield _case(f"checksum of {name} {title}", wrong, entry("checksum", value), CHECKSUM, says=name)
        if name == "reads_alike":
            continue  # not required
        for value in (27, 2**31, 2**32 - 1):
            unknown = patched(data, (at, "I", value))
            yield _case(f"type of {name} {value}", f"the type of {name} is {value}", unknown, REQUIRED)
        unknown = patched(data, (at, "I", 27), (at + 4, "I", 0))
        if not size:
            continue  # a section that is not there is an empty one
        yield _case(f"{name} not known", f"{name} is missing, in its place one to be passed over", unknown, "")


def _cut(data: bytes) -> Iterator[Case]:
    (count,) = struct.unpack_from("<I", data, 16)
    table = range(64 + 32 * count)
    borders = {row[1] + row[2] + d for row in _rows(data) for d in (-1, 0, 1)} | {row[1] for row in _rows(data)}
    for end in sorted({*table, *borders, len(data) - 64, len(data) - 1}):
        if end >= len(data):
            continue
        promise = SHORT if end < 8 else "truncated: the header is cut" if end < 64 else SIZE
        only = "engine" if end < 4 else ""  # to the others it is no cartridge
        yield _case(f"cut at {end}", f"nothing from byte {end} on", data[:end], promise)._replace(only=only)
    for end in (64, 96, len(data) - 64):
        # With a size that is true, what is missing is found elsewhere.
        shorter = patched(data[:end], (8, "Q", end))
        promise = TABLE if end < 64 + 32 * count else OUTSIDE
        yield _case(f"cut at {end}, and says so", "the header has the size of what is left", shorter, promise)


def _rows(data: bytes) -> list[tuple[str, int, int]]:
    """The name, offset and size of each section."""
    (count,) = struct.unpack_from("<I", data, 16)
    entries = (struct.unpack_from("<IIQQQ", data, 64 + 32 * index) for index in range(count))
    return [(plain.NAMES[kind], offset, size) for kind, _, offset, size, _ in entries]


def _longer(data: bytes) -> Iterator[Case]:
    for name, tail in {"a byte": b"\0", "a block": bytes(64), "a cartridge": data}.items():
        yield _case(f"{name} more", f"{name} after the end", data + tail, SIZE)
        longer = patched(data + tail, (8, "Q", len(data + tail)))
        promise = UNUSED
        if len(tail) == 1:  # the last section's padding and one byte more
            promise = "the file does not end on a multiple of 64 bytes"
        yield _case(f"{name} more, and says so", f"{name} after the end, of which the header knows", longer, promise)


def _layouts(data: bytes) -> Iterator[Case]:
    sections, digest = parsed(data)
    rows = _rows(data)
    count, table_end = len(rows), 64 + 32 * len(rows)
    names = [name for name, _, _ in rows]
    unknown = [Section(99, 0, b"what nobody knows"), Section(2**32 - 1, 0, b""), Section(27, 0, bytes(1000))]
    yield _case(
        "unknown sections",
        "sections of types that nobody knows, not required",
        plain.write_cartridge([unknown[0], *sections, *unknown[1:]], digest),
        "",
        ACCEPTED,
    )
    again = plain.write_cartridge([*sections, unknown[0], unknown[0]], digest)
    yield _case("an unknown section twice", "a type that nobody knows, twice", again, "", ACCEPTED)
    zero = plain.write_cartridge([*sections, Section(0, 0, b"")], digest)
    yield _case("a section of type 0", "a type that no section has, not required", zero, "", ACCEPTED)
    needed = plain.write_cartridge([*sections, Section(99, 1, b"")], digest)
    yield _case("an unknown section that is required", "a type of later times", needed, REQUIRED)
    many = [Section(99, 0, b"")] * (256 - len(sections))
    yield _case(
        "256 sections", "as many as there can be", plain.write_cartridge([*sections, *many], digest), "", ACCEPTED
    )
    for index, section in enumerate(sections):
        name = plain.NAMES[section.type]
        twice = plain.write_cartridge([*sections, section], digest)
        yield _case(f"{name} twice", f"{name} stands in the table twice", twice, TWICE, says=name)
        missing = plain.write_cartridge(sections[:index] + sections[index + 1 :], digest)
        emptied = plain.write_cartridge(
            [*sections[:index], Section(section.type, 1, b""), *sections[index + 1 :]], digest
        )
        may_lack = name in _MAY_BE_EMPTY or not section.data
        error = ACCEPTED if may_lack else CARTRIDGE
        promise = ELEMENTS if name in _COUNTED else MODEL if name == "pair_table" else ""
        if not (may_lack and section.data):
            yield _case(f"no {name}", f"{name} is missing", missing, promise, error)
            yield _case(f"{name} empty", f"{name} has no bytes", emptied, promise, error)
    # One section upon another, upon the table, upon the header: the checksum is that of the bytes that are there.
    place = 64 + 32 * (count - 1)
    size = rows[-1][2]
    for title, offset in {"the header": 0, "the table": 64, names[0]: rows[0][1], names[-2]: rows[-2][1]}.items():
        content = plain.xxh64(data[offset : offset + size])
        laid = patched(data, (place + 8, "Q", offset), (place + 24, "Q", content))
        yield _case(f"a section upon {title}", f"{names[-1]} lies upon {title}", laid, OVERLAP, says=names[-1])
    swapped = bytearray(data)
    swapped[64:96], swapped[96:128] = data[96:128], data[64:96]
    yield _case("sections out of order", "two entries of the table changed places", signed(swapped), UNUSED)
    gap = bytearray(data)
    gap[rows[0][1] : rows[0][1]] = bytes(64)
    moves = [(64 + 32 * index + 8, "Q", row[1] + 64) for index, row in enumerate(rows)]
    apart = patched(bytes(gap), (8, "Q", len(gap)), *moves)
    yield _case("a gap", "64 bytes between the table and the first section", apart, UNUSED)
    for name, at in {"the table": table_end, **{row[0]: row[1] + row[2] for row in rows}}.items():
        if at % 64 == 0:
            continue
        dirty = bytearray(data)
        dirty[at] = 1
        promise = "the padding before ... is not zero"
        yield _case(f"padding after {name}", f"a byte between {name} and the next is not 0", bytes(dirty), promise)
    for name, offset, size in rows:
        if size:
            damaged = bytearray(data)
            damaged[offset + size // 2] ^= 1
            yield _case(f"{name} damaged", f"one bit of {name} is another", bytes(damaged), CHECKSUM, says=name)


_COUNTED = ("merge_products", "token_offsets", "token_flags", "token_trim")
"""The program says how many elements these have."""

_MAY_BE_EMPTY = ("added_trie", "added_trie_normalized", "added_tokens", "raw_tokens", "reads_alike")
"""Of these a file without added tokens has none; the file here has, so they are lies of contents.py. The last one is
optional."""


def _known_lies() -> Iterator[Case]:
    """Those that the engine's own tests have."""
    for name, (data, says) in container_cases(good.byte_tables()).items():
        yield _case(f"byte tables: {name}", "see tests/support/cartridge_lies.py", data, "...", says=says)
