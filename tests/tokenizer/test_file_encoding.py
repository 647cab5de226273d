"""`Tokenizer.encode_file` encodes paths and streams in chunks of any size."""

from __future__ import annotations

import io
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, normalizers, pre_tokenizers

from crayon_hf import InvalidUtf8Error, Tokenizer
from crayon_hf.file_encoding import FileChunk
from tests.support.streams import PIECES

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="measured as Linux does")


@pytest.fixture(scope="module")
def text() -> str:
    rng = random.Random(5)
    return "".join(rng.choice(PIECES) + rng.choice(["", " ", "\n"]) for _ in range(4000))


@pytest.fixture
def path(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "text.txt"
    file.write_bytes(text.encode())
    return file


@pytest.fixture(scope="module")
def tokenizer(any_vocabulary: Path) -> Tokenizer:
    return Tokenizer.from_file(any_vocabulary)


@pytest.fixture(scope="module")
def gpt2(gpt2_like: Path) -> Tokenizer:
    return Tokenizer.from_file(gpt2_like)


def check(chunks: Any, tokenizer: Tokenizer, text: str, special: bool = True, offsets: bool = False) -> list[FileChunk]:
    """Check that the chunks together have the ids of the whole text, and ranges without gaps."""
    listed = list(chunks)
    encoding = tokenizer.encode(text, add_special_tokens=special)
    assert np.concatenate([chunk.ids for chunk in listed]).tolist() == encoding.ids
    assert all(chunk.ids.dtype == np.int32 for chunk in listed)
    assert [chunk.start for chunk in listed] == [0, *(chunk.end for chunk in listed[:-1])]
    assert listed[-1].end == len(text.encode())
    if offsets:
        starts = np.cumsum([0, *(len(character.encode()) for character in text)])
        ranges = np.concatenate([chunk.offsets for chunk in listed])
        assert ranges.dtype == np.int64
        assert ranges.tolist() == starts[np.array(encoding.offsets, np.int64).reshape(-1, 2)].tolist()
    else:
        assert all(chunk.offsets is None for chunk in listed)
    return listed


# -- sources


class Slow:
    """A file that returns a few bytes at a time, and only has `read`."""

    def __init__(self, data: bytes) -> None:
        self._file, self._random = io.BytesIO(data), random.Random(1)

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, self._random.randrange(1, 60)))


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("chunk_bytes", [37, 1000, 1 << 61])
def test_paths_and_files(tokenizer: Tokenizer, path: Path, text: str, chunk_bytes: int, offsets: bool) -> None:
    for special in (False, True):
        how: dict[str, Any] = {"chunk_bytes": chunk_bytes, "offsets": offsets, "add_special_tokens": special}
        listed = check(tokenizer.encode_file(path, **how), tokenizer, text, special, offsets)
        assert len(listed) >= path.stat().st_size // chunk_bytes
        check(tokenizer.encode_file(Slow(text.encode()), **how), tokenizer, text, special, offsets)  # type: ignore[arg-type]
        with open(path, "rb") as file:
            check(tokenizer.encode_file(file, **how), tokenizer, text, special, offsets)
            assert [chunk.end for chunk in tokenizer.encode_file(file)] == [0]  # it is read from its current position
            assert not file.closed


@pytest.mark.parametrize("special", [False, True])
def test_empty_files(tokenizer: Tokenizer, tmp_path: Path, special: bool) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for file in (empty, io.BytesIO()):
        chunks = tokenizer.encode_file(file, add_special_tokens=special, offsets=True)
        check(chunks, tokenizer, "", special, offsets=True)


@LINUX
def test_a_file_that_does_not_know_its_size(gpt2: Tokenizer) -> None:
    expected = Path("/proc/self/mountinfo").read_text()
    check(gpt2.encode_file("/proc/self/mountinfo", chunk_bytes=64), gpt2, expected)


def test_a_long_run_without_seams(gpt2: Tokenizer, tmp_path: Path) -> None:
    """In a long run without a place to cut, chunks grow; after the run they become small again."""
    text = "one two " * 50 + "a" * 5000 + " three four" * 50 + "\u4e2d" * 2000 + "." * 3000 + " end"
    file = tmp_path / "long.txt"
    file.write_bytes(text.encode())
    for source in (file, io.BytesIO(text.encode())):
        chunks = check(gpt2.encode_file(source, chunk_bytes=64), gpt2, text)
        sizes = [chunk.end - chunk.start for chunk in chunks]
        assert max(sizes) >= 5000
        assert np.median(sizes) <= 64


# -- tokenizers


def test_special_tokens_as_text(llama3_like: Path) -> None:
    tokenizer = Tokenizer.from_file(llama3_like)
    text = "one<|eot_id|>two <|end_of_text|> three" * 9
    for as_text in (False, True):
        tokenizer.encode_special_tokens = as_text
        check(tokenizer.encode_file(io.BytesIO(text.encode()), chunk_bytes=20), tokenizer, text)


def test_changes_meanwhile_do_not_show(gpt2_like: Path, path: Path, text: str) -> None:
    tokenizer, plain = Tokenizer.from_file(gpt2_like), Tokenizer.from_file(gpt2_like)
    chunks = tokenizer.encode_file(path, chunk_bytes=1000)
    first = next(chunks)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.add_tokens(["the"])
    check([first, *chunks], plain, text)


def test_an_own_pattern_is_right_too(path: Path, text: str, gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    own = pre_tokenizers.Split(Regex("[aeiou]+"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([own, byte_level])
    assert tokenizer.engine == "native"
    for file in (path, io.BytesIO(text.encode())):
        chunks = check(tokenizer.encode_file(file, chunk_bytes=100, offsets=True), tokenizer, text, offsets=True)
        assert len(chunks) == 1


@pytest.mark.usefixtures("refusing")
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_delegated(wordpiece_like: Path, path: Path, text: str) -> None:
    tokenizer = Tokenizer.from_file(wordpiece_like)
    assert tokenizer.engine == "delegated"
    for file in (path, io.BytesIO(text.encode())):
        check(tokenizer.encode_file(file, chunk_bytes=100, offsets=True), tokenizer, text, offsets=True)
        check(tokenizer.encode_file(io.BytesIO(b""), offsets=True), tokenizer, "", offsets=True)
    with pytest.raises(InvalidUtf8Error, match=r"offset 3$"):
        list(tokenizer.encode_file(io.BytesIO(b"abc\xff")))


# -- errors


def test_invalid_text(gpt2: Tokenizer, tmp_path: Path) -> None:
    good = "caf\u00e9 " * 100
    file = tmp_path / "bad.txt"
    for bad in (b"\xff", "\u00e9".encode()[:1]):
        file.write_bytes(good.encode() + bad)
        for source in (file, io.BytesIO(file.read_bytes())):
            with pytest.raises(InvalidUtf8Error, match=f"offset {len(good.encode())}$"):
                list(gpt2.encode_file(source, chunk_bytes=50))


def test_files_that_are_none(gpt2: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        gpt2.encode_file(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError if os.name != "nt" else OSError):
        gpt2.encode_file(tmp_path)
    for wrong in (io.StringIO("text"), None, 5, [b"text"]):
        with pytest.raises(TypeError, match="expected a path or a binary file"):
            gpt2.encode_file(wrong)  # type: ignore[arg-type]


def test_arguments_that_cannot_be(gpt2: Tokenizer) -> None:
    for size, error in ((0, ValueError), (-1, OverflowError), (1.5, TypeError)):
        with pytest.raises(error, match="chunk_bytes"):
            gpt2.encode_file(io.BytesIO(), chunk_bytes=size)  # type: ignore[arg-type]
    for flag in ("offsets", "add_special_tokens"):
        with pytest.raises(TypeError, match=flag):
            gpt2.encode_file(io.BytesIO(), **{flag: 1})


def test_a_file_that_gives_no_bytes(gpt2: Tokenizer) -> None:
    for given, error in ((None, BlockingIOError), ("text", TypeError)):
        with pytest.raises(error):
            list(gpt2.encode_file(Giver(given)))  # type: ignore[arg-type]


def test_a_file_that_is_cut_meanwhile(gpt2: Tokenizer, path: Path) -> None:
    chunks = gpt2.encode_file(path, chunk_bytes=1000)
    next(chunks)
    os.truncate(path, 1500)
    with pytest.raises(OSError, match="was cut"):
        list(chunks)


# -- leftovers


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@LINUX
def test_files_are_closed(gpt2: Tokenizer, path: Path) -> None:
    before = _descriptors()
    chunks = gpt2.encode_file(path, chunk_bytes=1000)
    next(chunks)
    assert _descriptors() > before
    chunks.close()  # type: ignore[attr-defined]
    assert _descriptors() == before
    list(gpt2.encode_file(path))
    assert _descriptors() == before


class Liar(io.RawIOBase):
    """A file whose `readinto` returns a wrong number of bytes."""

    def __init__(self, count: int) -> None:
        self._count = count

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        return self._count


class Giver:
    """A file whose `read` returns the same object each time."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def read(self, size: int) -> Any:
        return self._given


@pytest.mark.parametrize("count", [-1, 9, 10**6])
def test_a_file_that_lies_gives_no_bytes_of_another(gpt2: Tokenizer, count: int) -> None:
    list(gpt2.encode_file(io.BytesIO(b"SECRET" * 40), chunk_bytes=8))
    for file, said in ((Liar(count), count), (Giver(b"x" * 9), 9)):
        with pytest.raises(OSError, match=f"read {said} bytes, but 8"):
            list(gpt2.encode_file(file, chunk_bytes=8))  # type: ignore[arg-type]
