"""Reading the metadata of GGUF files: values equal those of the gguf package. Also damaged files, and files of many
gigabytes."""

from __future__ import annotations

import re
import struct
import time
from pathlib import Path

import gguf
import numpy as np
import pytest

from crayon_hf import UnsupportedError, VocabularyError
from crayon_hf.formats.gguf import read_gguf
from crayon_hf.formats.gguf_file import read_metadata
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
    """Return the one-line error of reading a damaged file, which must come within a minute."""
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
    """A GGUF file with a vocabulary of four tokens, and a key of every kind."""
    keys = {"pre": "gpt-2", "eos_token_id": 3, "add_eos_token": True, ".tokenizer.chat_template": "{{ x }}"}
    facts = {"types": [1, 1, 1, 3], "scores": [0.0, -1.0, -2.0, 0.0], "merges": ["a b"], "keys": keys}
    return write_gguf(tmp_path / "small.gguf", "gpt2", ["a", "b", "ab", "<e>"], **facts)


@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
@pytest.mark.parametrize("version", [2, 3])
def test_every_type_as_the_package_reads_it(tmp_path: Path, version: int, big_endian: bool) -> None:
    path = tmp_path / "types.gguf"
    writer = gguf.GGUFWriter(path, "x", endianess=gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE)
    numbers = {"UINT8": 200, "INT8": -100, "UINT16": 60000, "INT16": -30000, "UINT32": 4 * 10**9, "INT32": -(2 * 10**9)}
    numbers |= {"FLOAT32": 0.5, "BOOL": True, "UINT64": 2**63, "INT64": -(2**62), "FLOAT64": 0.1}
    for name, value in numbers.items():
        writer.add_key_value(f"tokenizer.{name}", value, TYPES.__members__[name])
        writer.add_key_value(f"general.{name}s", [value, value], TYPES.ARRAY, TYPES.__members__[name])
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
    cut.write_bytes(data[:end])  # only padding is missing
    assert read_gguf(cut) == read_gguf(small)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([entry("tokenizer.x", 13, b"\0" * 8)], "tokenizer.x has type 13"),
        ([entry("tokenizer.x", ARRAY, array(ARRAY, 1, array(UINT8, 1, b"\0")))], "tokenizer.x has arrays in an array"),
        ([entry("tokenizer.x", ARRAY, array(99, 1, b"\0" * 8))], "elements of type 99"),
        ([entry("x", UINT8, b"\0"), entry("x", UINT8, b"\0")], "'x' is listed twice"),
        ([entry("", UINT8, b"\0")], "'' is not a valid key"),
        ([entry("a\nb", UINT8, b"\0")], r"'a\\nb' is not a valid key"),
        ([entry("k" * 300, UINT8, b"\0")], "a key goes past"),
        ([entry(b"\xff", UINT8, b"\0")], "a key is not UTF-8"),
        ([entry("tokenizer.x", STRING, text(b"\xff"))], "tokenizer.x is not UTF-8"),
        ([entry("tokenizer.x", ARRAY, array(STRING, 2, text("a") + text(b"\xc3")))], "element 1 of tokenizer.x is not"),
    ],
)
def test_what_is_no_metadata(tmp_path: Path, entries: list[bytes], message: str) -> None:
    assert re.search(message, fault(with_entries(tmp_path / "odd.gguf", *entries)))


def test_what_is_no_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for data, message in ((b"", "empty"), (b"GG", "GGUF"), (b"{}" * 50, "does not begin"), (b"GGUF", "cut off")):
        path.write_bytes(data)
        assert message in fault(path)
    for version, shown in ((1, 1), (4, 4), (0, 0), (0x05000000, 5)):
        path.write_bytes(struct.pack("<4sIQQ", b"GGUF", version, 0, 0))
        with pytest.raises(UnsupportedError, match=f"version {shown}:"):
            read_metadata(path)
