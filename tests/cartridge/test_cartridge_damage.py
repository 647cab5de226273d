"""Files that are not cartridges, and cartridges that were cut, changed or forged: the error says which."""

from __future__ import annotations

import json
import os
import random
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import _core
from crayon_hf.errors import CartridgeError
from tests.support import cartridge_reader as plain
from tests.support import cartridge_text_lies
from tests.support.cartridge_cases import TEXTS, compiled, judged, parsed, signed
from tests.support.cartridge_lies import container_cases, content_cases, longest_match_cases
from tests.support.cartridge_text import NAMES, text_source
from tests.support.sampling import sampled

# -- other files


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.dat")
    for call in (_core.Engine.open, _core._testing.verify_cartridge, _core.cartridge_sections):
        with pytest.raises(FileNotFoundError) as raised:
            call(missing)
        assert raised.value.filename == missing
        with pytest.raises(IsADirectoryError):
            call(str(tmp_path))


def test_files_that_are_no_cartridges(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    for content in (b"", b"C", b"CRAY", b"CRAY\3\0\0", b"\0" * 4096, b'{"model": {}}' * 100):
        path.write_bytes(content)
        for verify in (False, True):
            with pytest.raises(CartridgeError, match=re.escape(str(path))):
                _core.Engine.open(str(path), verify=verify)
        for call in (_core._testing.verify_cartridge, _core.cartridge_sections):
            with pytest.raises(CartridgeError, match=f"^{re.escape(str(path))}: "):
                call(str(path))
        with pytest.raises(CartridgeError):
            _core.Engine.from_bytes(content)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    assert "not a regular file" in judged({"fifo": ("open", str(path))})["fifo"]
    assert "not a regular file" in judged({"device": ("open", "/dev/zero")})["device"]


def test_versions(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    for version in (0, 1, 2, 4, 2**31):
        data = bytearray(small)
        struct.pack_into("<I", data, 4, version)
        path.write_bytes(signed(data))
        with pytest.raises(CartridgeError, match=f"version {version}"):
            _core.Engine.open(str(path))
    for revision in (0, 1, 2, 3, 5, 2**32 - 1):
        path.write_bytes(plain.write_cartridge(*parsed(small), revision=revision))
        with pytest.raises(CartridgeError, match=f"revision {revision} is not supported"):
            _core.Engine.open(str(path))
    path.write_bytes(_core.write_cartridge_v2(*_core.build_double_array([(b"a", 0)])))
    with pytest.raises(CartridgeError, match="version 2"):
        _core.Engine.open(str(path))
    with pytest.raises(CartridgeError, match="version is 3"):
        _core.read_cartridge_v2(small)


# -- damage


def assert_refused(verdicts: dict[str, str]) -> None:
    accepted = {name: verdict for name, verdict in verdicts.items() if not verdict.startswith("CartridgeError: ")}
    assert not accepted


@pytest.fixture(scope="session", params=["small", "longest", "llama_like", "t5_like"])
def whole(request: pytest.FixtureRequest) -> bytes:
    """Cartridges with byte tables, and two with text tables that together have every other section."""
    if request.param in ("small", "longest"):
        data: bytes = request.getfixturevalue(request.param)
        return data
    return compiled(text_source(request.param))


@pytest.fixture(scope="session")
def whole_file(whole: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cartridge") / "whole.dat"
    path.write_bytes(whole)
    return path


def test_every_truncation_is_refused(whole: bytes, whole_file: Path, tmp_path: Path) -> None:
    rng = random.Random(2)
    edges = {0, 1, 4, 8, 16, 24, 32, 63, 64, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(100))}
    for row in _core.cartridge_sections(str(whole_file)):
        edges |= {row["offset"] + d for d in (-1, 0, 1)} | {row["offset"] + row["size"] + d for d in (-1, 0, 1)}
    edges |= {64 + 32 * i for i in range(19)}
    edges = {edge for edge in edges if edge < len(whole)}
    cases: dict[str, tuple[Any, ...]] = {f"{edge}": ("cut", edge, 0, "") for edge in edges}
    cases |= {f"unverified {edge}": ("cut", edge, 0, str(tmp_path / "cut.dat")) for edge in edges}
    assert_refused(judged(cases, str(whole_file)))
    with pytest.raises(CartridgeError, match="extended"):
        _core.Engine.from_bytes(whole + b"\0" * 64)


@pytest.mark.slow
def test_every_flip_is_refused(whole: bytes, whole_file: Path, tmp_path: Path) -> None:
    """Bits are flipped in every byte of the header and the section table, with and without `verify`, and in some bytes
    of each section and of each gap between sections."""
    rng = random.Random(3)
    sections = sorted(_core.cartridge_sections(str(whole_file)), key=lambda row: row["offset"])
    table_end = 64 + 32 * len(sections)
    head = [(at, rng.randrange(8)) for at in range(table_end)]
    places, padding, end = list(head), [], table_end
    for row in sections:
        padding += range(end, row["offset"])
        end = row["offset"] + row["size"]
        ends = [row["offset"], end - 1] if row["size"] else []
        inside = [rng.randrange(row["offset"], end) for _ in range(20 if row["size"] else 0)]
        places += [(at, rng.randrange(8)) for at in {*ends, *inside}]
    padding += range(end, len(whole))
    places += [(at, rng.randrange(8)) for at in rng.sample(padding, min(150, len(padding)))]
    assert len(places) >= table_end + 225
    cases: dict[str, tuple[Any, ...]] = {f"byte {at} bit {bit}": ("flip", at, bit, "") for at, bit in places}
    scratch = str(tmp_path / "flipped.dat")
    cases |= {f"unverified {at} {bit}": ("flip", at, bit, scratch) for at, bit in head}
    assert_refused(judged(cases, str(whole_file)))


# -- forged cartridges: every checksum is right, and the contents are wrong (cartridge_lies.py)


def test_signed_containers(small: bytes, tmp_path: Path) -> None:
    assert_named(container_cases(small), "open", tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_signed_containers_of_text(name: str, tmp_path: Path) -> None:
    assert_named(cartridge_text_lies.opening_cases(name), "open", tmp_path)


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_signed_contents_of_text(name: str, tmp_path: Path) -> None:
    assert_named(cartridge_text_lies.content_cases(name), "verify", tmp_path)


@pytest.mark.slow
def test_signed_contents(small: bytes, llama3_like: Path, tmp_path: Path) -> None:
    cases = content_cases(small, compiled(unmergeable(llama3_like)))
    assert len(cases) > 120
    assert_named(cases, "verify", tmp_path)


def test_signed_contents_of_longest_match(small: bytes, longest: bytes, tmp_path: Path) -> None:
    assert_named(longest_match_cases(small, longest), "verify", tmp_path)


def unmergeable(path: Path) -> bytes:
    """The tokenizer.json at `path` with one more token, which merges never make and only `ignore_merges` gives."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["vocab"]["theq"] = max(token["id"] for token in document["added_tokens"]) + 1
    document["added_tokens"] = []
    document["post_processor"] = None
    return json.dumps(document).encode()


def assert_named(cases: dict[str, tuple[bytes, str]], way: str, directory: Path) -> None:
    """Check that every forged cartridge is refused with a CartridgeError that has the expected words. Forgeries that
    only full verification finds must be safe to use without it."""
    files: dict[str, tuple[Any, ...]] = {}
    for number, (name, (data, _)) in enumerate(cases.items()):
        path = directory / f"{number}.dat"
        path.write_bytes(data)
        files[name] = (way, str(path))
        files[f"{name}, memory"] = ("memory", str(path), TEXTS[:4])
    verdicts = judged(files)
    wrong = {
        name: verdicts[name]
        for name, (_, expected) in cases.items()
        if not verdicts[name].startswith("CartridgeError: ") or not re.search(expected, verdicts[name])
    }
    usable = ("CartridgeError: ", "VocabularyError: ", "accepted ")
    wrong |= {
        name: verdict for name, verdict in verdicts.items() if name not in cases and not verdict.startswith(usable)
    }
    assert not wrong, "\n".join(f"{k}: {v}" for k, v in wrong.items())
