"""The metadata of GGUF files: as the gguf package reads it; damaged files; files of many gigabytes."""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import CrayonError, UnsupportedError, VocabularyError
from crayon_hf.formats.gguf import read_gguf
from crayon_hf.formats.gguf_file import read_metadata
from crayon_hf.formats.gguf_tokens import read_tokens
from tests.formats.gguf_files import write_gguf

TYPES = gguf.GGUFValueType
STRING, ARRAY, UINT8, UINT32 = int(TYPES.STRING), int(TYPES.ARRAY), int(TYPES.UINT8), int(TYPES.UINT32)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def entry(key: str | bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, count: int, values: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + values


def with_entries(path: Path, *entries: bytes) -> Path:
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + b"".join(entries))
    return path


def fault(path: Path) -> str:
    """The line that reading the file gives, and gives soon."""
    started = time.process_time()
    with pytest.raises(VocabularyError) as caught:
        read_metadata(path)
    assert time.process_time() - started < 60
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 300
    return line


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A whole vocabulary: four tokens, with everything a file can say of them."""
    return write_gguf(
        tmp_path / "small.gguf",
        "gpt2",
        ["a", "b", "ab", "<e>"],
        types=[1, 1, 1, 3],
        scores=[0.0, -1.0, -2.0, 0.0],
        merges=["a b"],
        keys={"pre": "gpt-2", "eos_token_id": 3, "add_eos_token": True, ".tokenizer.chat_template": "{{ x }}"},
    )


@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
@pytest.mark.parametrize("version", [2, 3])
def test_every_type_as_the_package_reads_it(tmp_path: Path, version: int, big_endian: bool) -> None:
    path = tmp_path / "types.gguf"
    writer = gguf.GGUFWriter(path, "x", endianess=gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE)
    for kind, value in {
        TYPES.UINT8: 200,
        TYPES.INT8: -100,
        TYPES.UINT16: 60000,
        TYPES.INT16: -30000,
        TYPES.UINT32: 4 * 10**9,
        TYPES.INT32: -(2 * 10**9),
        TYPES.FLOAT32: 0.5,
        TYPES.BOOL: True,
        TYPES.UINT64: 2**63,
        TYPES.INT64: -(2**62),
        TYPES.FLOAT64: 0.1,
    }.items():
        writer.add_key_value(f"tokenizer.{kind.name}", value, kind)
        writer.add_key_value(f"general.{kind.name}s", [value, value], TYPES.ARRAY, kind)
    writer.add_string("tokenizer.text", "naïve 日本 \x00")
    writer.add_array("tokenizer.texts", ["", "a", "日本"])
    writer.add_array("other.texts", ["passed", "over"])
    writer.add_uint32("other.number", 1)
    writer.add_uint32("other.context_length", 77)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    data = bytearray(path.read_bytes())
    data[4:8] = version.to_bytes(4, "big" if big_endian else "little")
    path.write_bytes(data)

    ours = read_metadata(path)
    theirs = {
        key: field.contents()
        for key, field in gguf.GGUFReader(path).fields.items()
        if key.startswith(("tokenizer.", "general.")) or key == "other.context_length"
    }
    assert {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in ours.items()} == theirs


def test_cut_off_anywhere(small: Path, tmp_path: Path) -> None:
    data = small.read_bytes()
    cut = tmp_path / "cut.gguf"
    end = data.rindex(b"{{ x }}") + len(b"{{ x }}")
    for length in range(end):
        cut.write_bytes(data[:length])
        fault(cut)
    cut.write_bytes(data[:end])  # nothing but padding is missing
    assert read_gguf(cut) == read_gguf(small)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_flipped_bits(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    directory = tmp_path_factory.getbasetemp()
    whole = directory / "whole.gguf"
    if not whole.exists():
        write_gguf(
            whole, "llama", ["<unk>", "<s>", "</s>", "<0x0A>", "a", "b", "ab", "\u2581"],
            types=[2, 3, 3, 6, 1, 1, 1, 1], scores=[0, 0, 0, 0, -1, -2, -3, -4],
        )  # fmt: skip
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    damaged = directory / "flipped.gguf"
    damaged.write_bytes(content)
    started = time.process_time()
    with contextlib.suppress(CrayonError):
        read_gguf(damaged)
    assert time.process_time() - started < 20


HUGE = (2**64 - 1, 2**63, 2**61, 2**32, 10**6)


@pytest.mark.parametrize("count", HUGE)
def test_counts_that_no_file_can_hold(tmp_path: Path, count: int) -> None:
    path = tmp_path / "huge.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, count) + b"x" * 100)
    assert "cannot hold" in fault(path)
    key = "tokenizer.ggml.tokens"
    for kind in (UINT8, UINT32, STRING):
        assert key in fault(with_entries(path, entry(key, ARRAY, array(kind, count, bytes(100)))))
    assert key in fault(with_entries(path, entry(key, STRING, struct.pack("<Q", count) + b"abc")))
    assert key in fault(with_entries(path, entry(key, ARRAY, array(STRING, 2, text("a") + struct.pack("<Q", count)))))
    assert "a key" in fault(with_entries(path, struct.pack("<Q", count) + b"abc" * 100))
    # The number of tensors is nobody's concern.
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, count, 0))
    assert read_metadata(path) == {}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([entry("tokenizer.x", 13, b"\0" * 8)], "tokenizer.x has type 13"),
        ([entry("tokenizer.x", ARRAY, array(ARRAY, 1, array(UINT8, 1, b"\0")))], "tokenizer.x has arrays in an array"),
        ([entry("tokenizer.x", ARRAY, array(99, 1, b"\0" * 8))], "elements of type 99"),
        ([entry("x", UINT8, b"\0"), entry("x", UINT8, b"\0")], "'x' is listed twice"),
        ([entry("", UINT8, b"\0")], "'' is no key"),
        ([entry("a\nb", UINT8, b"\0")], r"'a\\nb' is no key"),
        ([entry("k" * 300, UINT8, b"\0")], "a key goes past"),
        ([entry(b"\xff", UINT8, b"\0")], "a key is not UTF-8"),
        ([entry("tokenizer.x", STRING, text(b"\xff"))], "tokenizer.x is not UTF-8"),
        ([entry("tokenizer.x", ARRAY, array(STRING, 2, text("a") + text(b"\xc3")))], "element 1 of tokenizer.x is not"),
    ],
)
def test_what_is_no_metadata(tmp_path: Path, entries: list[bytes], message: str) -> None:
    assert re.search(message, fault(with_entries(tmp_path / "odd.gguf", *entries)))


def test_arrays_without_elements(tmp_path: Path) -> None:
    model = entry("tokenizer.ggml.model", STRING, text("gpt2"))
    tokens = entry("tokenizer.ggml.tokens", ARRAY, array(STRING, 0))
    others = [entry(f"tokenizer.ggml.{key}", ARRAY, array(kind, 0)) for key, kind in (("merges", 8), ("scores", 6))]
    path = with_entries(tmp_path / "x.gguf", model, tokens, *others)
    assert [len(read_metadata(path)[f"tokenizer.ggml.{key}"]) for key in ("tokens", "merges", "scores")] == [0, 0, 0]
    with pytest.raises(VocabularyError, match=r"no tokenizer.ggml.tokens"):
        read_gguf(path)


def test_what_is_no_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for data, message in ((b"", "empty"), (b"GG", "GGUF"), (b"{}" * 50, "does not begin"), (b"GGUF", "cut off")):
        path.write_bytes(data)
        assert message in fault(path)
    for version, shown in ((1, 1), (4, 4), (0, 0), (0x05000000, 5)):
        path.write_bytes(struct.pack("<4sIQQ", b"GGUF", version, 0, 0))
        with pytest.raises(UnsupportedError, match=f"version {shown}:"):
            read_metadata(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in fault(tmp_path / "pipe")


@pytest.mark.measures_memory
def test_a_model_of_many_gigabytes_costs_its_metadata(small: Path, tmp_path: Path) -> None:
    big = tmp_path / "big.gguf"
    big.write_bytes(small.read_bytes())
    with big.open("r+b") as file:
        file.seek(8)
        file.write(struct.pack("<Q", 300))  # tensors, whose descriptions are not read
        file.truncate(20 << 30)  # a hole: it takes no disk
    program = (
        "import resource, sys, time\n"
        "from crayon_hf.formats.gguf import read_gguf\n"
        "read_gguf(sys.argv[1])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "started = time.process_time()\n"
        "read_gguf(sys.argv[2])\n"
        "print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, small, big], capture_output=True, text=True, check=True, timeout=60
    )
    seconds, kilobytes = map(float, result.stdout.split())
    assert seconds < 10
    assert kilobytes < 4096
    assert read_gguf(big) == read_gguf(small)


@pytest.mark.slow
def test_a_hole_that_says_it_is_metadata(tmp_path: Path) -> None:
    path = tmp_path / "hole.gguf"
    for item, message in (
        (entry("tokenizer.x", ARRAY, array(STRING, 10**8)), "tokenizer.x does not end within 128 MB of metadata"),
        (
            entry("tokenizer.x", ARRAY, array(STRING, 2**23 + 1)),
            "tokenizer.x has 8388609 strings, more than the 8388608 allowed",
        ),
        (entry("tokenizer.x", STRING, struct.pack("<Q", 2**32)), "tokenizer.x does not end within 128 MB of metadata"),
    ):
        with_entries(path, item)
        with path.open("r+b") as file:
            file.truncate(8 << 30)
        assert message in fault(path)
    with pytest.raises(UnsupportedError, match=r"^2097153 tokens: at most 2097152$"):
        read_tokens({"tokenizer.ggml.tokens": [""] * (2**21 + 1)}, {})
    # As many empty strings as may be, and after them keys without letters.
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 2) + entry("tokenizer.x", ARRAY, array(STRING, 2**23)))
    with path.open("r+b") as file:
        file.truncate(8 << 30)
    assert "'' is no key" in fault(path)
