"""What is no file, or no ordinary one: directories, pipes, devices, links, names, sizes. Only where there is POSIX."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from crayon_hf.formats.sidecar_files import FILES, TEMPLATE
from tests.hostile import good
from tests.hostile.case import ACCEPTED, CARTRIDGE, VOCABULARY, Case, file_of

TERABYTE = 1 << 40
NO_FILE = "PATH is not a file"
NO_VOCABULARY = "PATH has no vocabulary: expected ..."
ERRNO = "[Errno N] ...: 'PATH'"
TOO_MANY = "PATH has N bytes, too many for a vocabulary: at most N are allowed"


def cases() -> Iterator[Case]:
    for suffix in (".dat", ".json"):
        yield from _kinds(suffix)
        yield from _links(suffix)
    yield from _beside()
    yield from _sizes()
    yield from _names()
    yield from _other_sources()
    for what, make in {"a FIFO": _fifo("hostile.dat"), "a device": _link("hostile.dat", "/dev/zero")}.items():
        yield Case(f"for the engine: {what}", what, make, CARTRIDGE, "not a regular file", only="engine")


def _kinds(suffix: str) -> Iterator[Case]:
    name = f"hostile{suffix}"

    def directory(place: Path) -> Path:
        (place / name).mkdir()
        return place / name

    def listening(place: Path) -> Path:
        here = os.getcwd()
        os.chdir(place)  # the address of a socket has 107 bytes at most
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(name)
        finally:
            os.chdir(here)
        return place / name

    yield Case(f"a directory {suffix}", "a directory that has a file's name", directory, VOCABULARY, NO_VOCABULARY)
    yield Case(f"a FIFO {suffix}", "a pipe that nobody writes to", _fifo(name), VOCABULARY, NO_FILE)
    yield Case(f"a socket {suffix}", "a socket", listening, VOCABULARY, NO_FILE)


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


def _links(suffix: str) -> Iterator[Case]:
    name = f"hostile{suffix}"
    for device in ("/dev/zero", "/dev/full", "/dev/null", "/dev/random"):
        yield Case(f"{device} {suffix}", f"a link to {device}", _link(name, device), VOCABULARY, NO_FILE)
    yield Case(f"a link to itself {suffix}", "a link to itself", _link(name, name), "OSError", ERRNO)
    dangling = _link(name, "nowhere")
    yield Case(f"a dangling link {suffix}", "a link to nothing", dangling, "FileNotFoundError", ERRNO)
    below = _link("file", "/dev/null")

    def below_a_file(place: Path) -> Path:
        return below(place) / name

    yield Case(f"below a file {suffix}", "a path through a file", below_a_file, "NotADirectoryError", ERRNO)


def _beside() -> Iterator[Case]:
    """A good cartridge, and beside it, where its ``tokenizer.json`` is looked for, something else."""
    for name, target in {"a FIFO": None, "/dev/zero": "/dev/zero", "a link to itself": "hostile.json"}.items():

        def make(place: Path, target: str | None = target) -> Path:
            if target is None:
                os.mkfifo(place / "hostile.json")
            else:
                (place / "hostile.json").symlink_to(target)
            return file_of(good.text_tables())(place)

        yield Case(f"beside it {name}", f"{name} where the tokenizer.json should be", make, ACCEPTED, "")


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
    for name, head in {"a cartridge": data, "a header": data[:64], "a version": b"CRAY\3\0\0\0"}.items():
        yield Case(f"a terabyte, {name}", "a sparse file", _sparse("hostile.dat", head), CARTRIDGE, too_large)
    second = good.version_2()
    yield Case("a terabyte of version 2", "a sparse file", _sparse("hostile.dat", second), VOCABULARY, TOO_MANY)
    document = good.byte_source()
    yield Case("a terabyte of tokenizer.json", "a sparse file", _sparse("hostile.json", document), VOCABULARY, TOO_MANY)
    unknown = "PATH is not a vocabulary of a known format; supported: ..."
    damaged = "PATH is {}: the download failed, so download it again"
    yield Case(
        "a terabyte of zeros", "a sparse file", _sparse("hostile.json", b""), VOCABULARY, damaged.format("blank")
    )
    for name, head in {"empty": b"", "one byte": b"C", "three bytes": b"CRA"}.items():
        promise = unknown if head else damaged.format("empty")
        yield Case(name, f"a file of {len(head)} bytes", file_of(head), VOCABULARY, promise)
    for size in (4, 7):
        promise = "too short for a cartridge: N bytes"
        yield Case(f"{size} bytes", "the magic and little more", file_of(data[:size]), CARTRIDGE, promise)


def _other_sources() -> Iterator[Case]:
    """Sources of the other kinds that are read whole, and the files that are read beside one."""
    numbers = b"{" + b",".join(b'"%c": %d' % (97 + id, id) for id in range(20))
    merges = b"#version: 0.2\n" + b"a b\n" * (1 << 15)  # of lines, recognising looks at 64 KiB
    heads = {
        "a SentencePiece model": b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02",
        "tekken.json": b'{"config": {}, "vocab": [',
        "vocab.txt": b"[UNK]\nthe\n##s\n" * (1 << 13),
        "ranks": b"IQ== 0\nIg== 1\n" * (1 << 13),
    }
    for name, head in heads.items():
        yield Case(f"a terabyte of {name}", "a sparse file", _sparse("hostile.json", head), VOCABULARY, TOO_MANY)

    def two(name: str, large: str) -> Callable[[Path], Path]:
        """vocab.json and merges.txt, of which `name` is opened and `large` is large."""

        def make(place: Path) -> Path:
            for file, head in {"vocab.json": numbers, "merges.txt": merges}.items():
                _sparse(file, head, TERABYTE if file == large else len(head))(place)
            return place / name

        return make

    for name in ("vocab.json", "merges.txt"):
        for large in ("vocab.json", "merges.txt"):
            title = f"a terabyte of {large}, opened by {name}"
            names = "" if large == name else large
            yield Case(title, "a sparse file", two(name, large), VOCABULARY, TOO_MANY, names=names)

    def beside(name: str, head: bytes, source: bytes, opened: str) -> Callable[[Path], Path]:
        def make(place: Path) -> Path:
            _sparse(name, head)(place)
            return file_of(source, opened)(place)

        return make

    for name in (*FILES, TEMPLATE):
        make = beside(name, b"{", good.byte_source(), "tokenizer.json")
        yield Case(
            f"a terabyte of {name}", "a sparse file beside it", make, VOCABULARY, TOO_MANY, only="converted", names=name
        )
    for name in (FILES[0], TEMPLATE):
        for what, put in {
            "a directory": lambda path: path.mkdir(),
            "a FIFO": os.mkfifo,
            "/dev/zero": lambda path: path.symlink_to("/dev/zero"),
        }.items():

            def make(place: Path, name: str = name, put: Callable[[Path], None] = put) -> Path:
                put(place / name)
                return file_of(good.byte_source(), "tokenizer.json")(place)

            title = f"{name} that is {what}"
            yield Case(title, f"{what} beside it", make, VOCABULARY, NO_FILE, only="converted", names=name)
    make = beside("hostile.json", b"[", good.version_2(), "hostile.dat")
    yield Case("a terabyte of strings", "a sparse file beside it", make, VOCABULARY, TOO_MANY, names="hostile.json")


NAMES = {
    "a line end": "a\nb.dat",
    "an escape": "\x1b[2J\x07.dat",
    "not UTF-8": os.fsdecode(b"\xff\xfe.dat"),
    "255 bytes": "n" * 251 + ".dat",
    "spaces": "  .dat",
    "a percent sign": "%s%n%p.dat",
    "a colon": "a: b: c.dat",
    "braces": "{0}.dat",
}


def _names() -> Iterator[Case]:
    data = good.text_tables()
    size = "truncated or extended: the file has N bytes, its header says N"
    for title, name in NAMES.items():
        yield Case(f"a name with {title}", "a good file with a bad name", file_of(data, name), ACCEPTED, "")
        yield Case(f"cut, a name with {title}", "a bad file, too", file_of(data[:-64], name), CARTRIDGE, size)
        missing = _missing(name)
        yield Case(f"missing, a name with {title}", "and there is no such file", missing, "FileNotFoundError", ERRNO)
    yield Case("a name too long", "a name of 5 000 bytes", _missing("n" * 5000 + ".dat"), "OSError", ERRNO)


def _missing(name: str) -> Callable[[Path], Path]:
    return lambda place: place / name
