"""The section byte_cuts in plain Python, from docs/cartridge-format.md alone, and what it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

PART_WORDS = 768
MARK = 0xFFFFFF00
Border = tuple[int, bytes, bytes]  # where, the character before, the character after


def size_of(lead: int) -> int:
    """How many bytes the character with this first byte has, 0 if there is none."""
    for limit, size in ((0x80, 1), (0xC0, 0), (0xE0, 2), (0xF0, 3), (0xF8, 4)):
        if lead < limit:
            return size
    return 0


def is_tail(byte: int) -> bool:
    return 0x80 <= byte < 0xC0


def is_character(data: bytes) -> bool:
    return len(data) > 0 and size_of(data[0]) == len(data) and all(map(is_tail, data[1:]))


# -- what it stands for


def is_crossed(strings: Iterable[bytes], before: bytes, after: bytes) -> bool:
    """Whether one of the strings can lie across the border between two characters, by trying every place."""
    for string in strings:
        for at in range(1, len(string)):
            left, right = string[:at], string[at:]
            if (left.endswith(before) or before.endswith(left)) and (
                right.startswith(after) or after.startswith(right)
            ):
                return True
    return False


def borders(data: bytes) -> Iterator[Border]:
    """Those between two characters of which at least one is not ASCII."""
    for at in range(1, len(data)):
        before = next((data[at - n : at] for n in range(1, 5) if n <= at and is_character(data[at - n : at])), b"")
        after = data[at : at + size_of(data[at])]
        if before and is_character(after) and max(before + after) >= 0x80:
            yield at, before, after


# -- the section


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def before_of(string: bytes, at: int) -> tuple[bytes, bool] | None:
    """The character that ends there, or the end of one, and whether it is whole."""
    tails = 0
    while tails < at and is_tail(string[at - 1 - tails]):
        tails += 1
    if tails == at:
        return (string[:at], False) if tails < 4 else None
    part = string[at - 1 - tails : at]
    return (part, True) if is_character(part) else None


def after_of(string: bytes, at: int) -> tuple[bytes, bool] | None:
    size = size_of(string[at])
    part = string[at : at + size]
    if size == 0 or not all(map(is_tail, part[1:])):
        return None
    return part, len(part) == size


def keys_of(string: bytes) -> Iterator[tuple[int, int | None]]:
    """The keys of a string, each with its bit in the fixed elements, if it has one."""
    for at in range(1, len(string)):
        if is_tail(string[at]) or max(string[at - 1 : at + 1]) < 0x80:
            continue
        before, after = before_of(string, at), after_of(string, at)
        if before is None or after is None:
            continue
        last, first = string[at - 1], string[at]
        yield number(before[0]) << 32 | number(after[0]), None
        if not before[1]:
            yield (MARK | last) << 32 | MARK | first, 256 * last + first
        elif not after[1]:
            yield number(before[0]) << 32 | MARK | first, 256 * last + first


def place(key: int, log2: int) -> tuple[int, int]:
    """The element of a key among 2^log2, and its bits there."""
    bits = f"{key * 0x9E3779B97F4A7C15 % 2**64:064b}"
    rest = bits[log2:]
    return int(bits[:log2] or "0", 2), 1 << int(rest[:6], 2) | 1 << int(rest[6:12], 2)


def build(strings: Iterable[bytes]) -> list[int]:
    """The section of the strings that merges make."""
    words, keys = [0] * PART_WORDS, set()
    for string in strings:
        for key, bit in keys_of(string):
            keys.add(key)
            if bit is not None:
                words[bit // 64] |= 1 << bit % 64
    log2 = 0
    while 64 << log2 < 16 * len(keys):
        log2 += 1
    table = [0] * 2**log2
    for key in keys:
        at, bits = place(key, log2)
        table[at] |= bits
    return words + table


def has(words: Sequence[int], left: int, right: int) -> bool:
    at, bits = place(left << 32 | right, (len(words) - PART_WORDS).bit_length() - 1)
    return words[PART_WORDS + at] & bits == bits


def may_join(words: Sequence[int], before: bytes, after: bytes) -> bool:
    """False when the section says that the border between these characters can be cut."""
    last, first = before[-1], after[0]
    begins = [number(after[:n]) for n in range(1, len(after))]
    if has(words, number(before), number(after)):
        return True
    if not words[(256 * last + first) // 64] >> first % 64 & 1:
        return False
    if has(words, number(before), MARK | first) and any(has(words, number(before), begin) for begin in begins):
        return True
    ends = [number(before[n:]) for n in range(1, len(before))]
    return has(words, MARK | last, MARK | first) and any(
        has(words, end, right) for end in ends for right in [number(after), *begins]
    )


def cuts(words: Sequence[int], data: bytes) -> list[int]:
    """Where the section has a pretoken cut."""
    return [at for at, before, after in borders(data) if not may_join(words, before, after)]
