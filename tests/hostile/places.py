"""Hostile objects other than ordinary files (directories, pipes, devices, links), and files with hostile names or
sizes. POSIX only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from crayon_hf.formats.sidecar_files import FILES, TEMPLATE
from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, VOCABULARY, Case, file_of, together

TERABYTE = 1 << 40
NO_FILE = "PATH is not a file"
NO_VOCABULARY = "PATH has no vocabulary: expected ..."
ERRNO = "[Errno N] ...: 'PATH'"
TOO_MANY = "PATH has N bytes, too many for a vocabulary: at most N are allowed"


def cases() -> Iterator[Case]:
    for suffix in (".dat", ".json"):
        yield from _kinds(suffix)
    yield from _beside()
    yield from _sizes()
    yield from _names()
    yield from _other_sources()
    for what, make in {"a FIFO": _fifo("hostile.dat"), "a device": _link("hostile.dat", "/dev/zero")}.items():
        yield Case(f"for the engine: {what}", make, CARTRIDGE, "not a regular file", only="engine")


def _kinds(suffix: str) -> Iterator[Case]:
    name = f"hostile{suffix}"

    def directory(place: Path) -> Path:
        (place / name).mkdir()
        return place / name

    yield Case(f"a directory {suffix}", directory, VOCABULARY, NO_VOCABULARY)
    yield Case(f"a FIFO {suffix}", _fifo(name), VOCABULARY, NO_FILE)
    yield Case(f"/dev/zero {suffix}", _link(name, "/dev/zero"), VOCABULARY, NO_FILE)
    yield Case(f"a link to itself {suffix}", _link(name, name), "OSError", ERRNO)
    yield Case(f"a dangling link {suffix}", _link(name, "nowhere"), "FileNotFoundError", ERRNO)


def _fifo(name: str) -> Callable[[Path], Path]:
    def make(place: Path) -> Path:
        os.mkfifo(place / name)
        return place / name

    return make


def _link(name: str, target: str) -> Callable[[Path], Path]:
    def make(place: Path) -> Path:
        (place / name).symlink_to(target)
        return place / name

    return make


def _beside() -> Iterator[Case]:
    """Valid cartridges beside which the name of the ``tokenizer.json`` belongs to a pipe, a device or a link."""
    beside = {
        "a FIFO": _fifo("hostile.json"),
        "/dev/zero": _link("hostile.json", "/dev/zero"),
        "a link to itself": _link("hostile.json", "hostile.json"),
    }
    for name, make in beside.items():
        yield Case(f"beside it {name}", together(make, file_of(good.text_tables())), ACCEPTED, "")


def _sparse(name: str, head: bytes, size: int = TERABYTE) -> Callable[[Path], Path]:
    def make(place: Path) -> Path:
        path = place / name
        path.write_bytes(head)
        os.truncate(path, size)
        return path

    return make


def _sizes() -> Iterator[Case]:
    too_large = "too large for a cartridge: N bytes, more than the N allowed"
    data = good.text_tables()
    yield Case("a terabyte", _sparse("hostile.dat", data), CARTRIDGE, too_large)
    second = good.version_2()
    yield Case("a terabyte of version 2", _sparse("hostile.dat", second), VOCABULARY, TOO_MANY)
    document = good.byte_source()
    yield Case("a terabyte of tokenizer.json", _sparse("hostile.json", document), VOCABULARY, TOO_MANY)
    unknown = "PATH is not a vocabulary of a known format; supported: ..."
    damaged = "PATH is {}: the download failed, so download it again"
    yield Case("a terabyte of zeros", _sparse("hostile.json", b""), VOCABULARY, damaged.format("blank"))
    for name, head in {"empty": b"", "three bytes": b"CRA"}.items():
        promise = unknown if head else damaged.format("empty")
        yield Case(name, file_of(head), VOCABULARY, promise)
    yield Case("4 bytes", file_of(data[:4]), CARTRIDGE, "too short for a cartridge: N bytes")


def _other_sources() -> Iterator[Case]:
    """Huge files of the other vocabulary formats that are read whole, and huge files beside a vocabulary."""
    heads = {
        "a SentencePiece model": b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02",
        "tekken.json": b'{"config": {}, "vocab": [',
        "vocab.txt": b"[UNK]\nthe\n##s\n" * (1 << 13),
        "ranks": b"IQ== 0\nIg== 1\n" * (1 << 13),
    }
    for name, head in heads.items():
        yield Case(f"a terabyte of {name}", _sparse("hostile.json", head), VOCABULARY, TOO_MANY)

    numbers = b"{" + b",".join(b'"%c": %d' % (97 + id, id) for id in range(20)) + b"}"
    merges = _sparse("merges.txt", b"#version: 0.2\n" + b"a b\n" * (1 << 15))  # recognition reads 64 KiB
    two = together(merges, file_of(numbers, "vocab.json"))
    yield Case("a terabyte of merges.txt", two, VOCABULARY, TOO_MANY, names="merges.txt")
    source = file_of(good.byte_source(), "tokenizer.json")
    for name in (*FILES, TEMPLATE):
        make = together(_sparse(name, b"{"), source)
        yield Case(f"a terabyte of {name}", make, VOCABULARY, TOO_MANY, only="converted", names=name)

    pipe = together(_fifo(TEMPLATE), source)
    yield Case(f"{TEMPLATE} that is a FIFO", pipe, VOCABULARY, NO_FILE, only="converted", names=TEMPLATE)
    make = together(_sparse("hostile.json", b"["), file_of(good.version_2()))
    yield Case("a terabyte of strings", make, VOCABULARY, TOO_MANY, names="hostile.json")


NAMES = {
    "a line end": "a\nb.dat",
    "an escape": "\x1b[2J\x07.dat",
    "not UTF-8": os.fsdecode(b"\xff\xfe.dat"),
    "255 bytes": "n" * 251 + ".dat",
    "percent signs, a colon and braces": "%s%n: {0}.dat",
}


def _names() -> Iterator[Case]:
    data = good.text_tables()
    size = "truncated or extended: the file has N bytes, its header says N: download or compile it again"
    for title, name in NAMES.items():
        yield Case(f"a name with {title}", file_of(data, name), ACCEPTED, "")
        yield Case(f"cut, a name with {title}", file_of(data[:-64], name), CARTRIDGE, size)
        missing = _missing(name)
        yield Case(f"missing, a name with {title}", missing, "FileNotFoundError", ERRNO)
    yield Case("a name too long", _missing("n" * 5000 + ".dat"), "OSError", ERRNO)


def _missing(name: str) -> Callable[[Path], Path]:
    return lambda place: place / name
