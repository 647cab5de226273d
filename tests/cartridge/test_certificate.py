"""The certificate of a cartridge: added, replaced, removed; all other bytes of the file stay the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crayon_hf import _core
from crayon_hf.errors import CartridgeError
from tests.cartridge.test_compare_source import source_of
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import compiled, parsed, rewritten
from tests.support.cartridge_reader import Section
from tests.support.cartridge_text import NAMES

CERTIFICATE = json.dumps({"schema": "crayon-hf/parity-certificate/1", "compared": ["ids"], "target": "ü 中文 🙂"})
MOST = 1 << 20
TYPE = plain.TYPES["certificate"]

KINDS = ("llama3_like", "every_case", "longest_case", *NAMES[::3])


@pytest.fixture(scope="session", params=KINDS)
def cartridge(request: pytest.FixtureRequest) -> bytes:
    """A cartridge of each kind of vocabulary, without a certificate."""
    return compiled(source_of(request, request.param))


def expected(data: bytes, certificate: str | None) -> bytes:
    """The plain twin: the cartridge `data` with this certificate, or without any."""
    sections, digest = plain.read_sections(data)
    kept = [section for section in sections if section.type != TYPE]
    new = [] if certificate is None else [Section(TYPE, 0, certificate.encode())]
    return plain.write_cartridge(kept + new, digest)


def test_put_in_and_taken_out(cartridge: bytes) -> None:
    certified = _core.with_certificate(cartridge, CERTIFICATE)
    assert certified == expected(cartridge, CERTIFICATE)
    assert _core.with_certificate(certified, None) == cartridge
    assert _core.with_certificate(certified, "{}") == expected(cartridge, "{}")
    damaged = bytearray(certified)
    damaged[certified.index(CERTIFICATE.encode())] ^= 1
    with pytest.raises(CartridgeError, match="certificate"):
        _core.with_certificate(bytes(damaged), None)
    assert _core.with_certificate(cartridge, None) == cartridge
    assert _core.Engine.from_bytes(cartridge).certificate is None
    assert _core.Engine.from_bytes(certified).certificate == CERTIFICATE


def test_no_room_for_another_section(small: bytes) -> None:
    sections, digest = parsed(small)
    more = [Section(1000 + i, 0, b"") for i in range(256 - len(sections))]
    full = plain.write_cartridge(sections + more, digest)
    assert _core.with_certificate(full, None) == full
    with pytest.raises(CartridgeError, match="256 sections"):
        _core.with_certificate(full, CERTIFICATE)
    one_less = plain.write_cartridge(sections + more[1:], digest)
    certified = _core.with_certificate(one_less, CERTIFICATE)
    assert _core.with_certificate(certified, "{}") == expected(one_less, "{}")


def object_of(size: int) -> str:
    """A JSON object of `size` bytes."""
    return '{"a":"' + "x" * (size - 8) + '"}'


def test_the_largest_certificate(small: bytes) -> None:
    certified = _core.with_certificate(small, object_of(MOST))
    assert _core.Engine.from_bytes(certified).certificate == object_of(MOST)
    for text in (object_of(MOST + 1), "é" * MOST, "", "[]", "null", "{", "{}{}", '{"a":1,}', '{"a":' * 10**5):
        with pytest.raises(ValueError, match="the certificate is"):
            _core.with_certificate(small, text)
    with pytest.raises(CartridgeError, match="certificate is larger"):
        _core.Engine.from_bytes(expected(small, object_of(MOST + 1)))


def test_what_a_certificate_of_a_file_can_be(small: bytes, tmp_path: Path) -> None:
    """In a cartridge that was opened without verification, a bad certificate is an error when the certificate is
    read."""
    path = tmp_path / "a.dat"
    for content in (b"", b"[]", b'{"a":', b'{"a":"\xff"}', b"[" * 10**6, object_of(MOST + 1).encode()):
        path.write_bytes(rewritten(small, {"certificate": content}))
        engine = _core.Engine.open(str(path))
        with pytest.raises(CartridgeError, match="section certificate is"):
            _ = engine.certificate
        with pytest.raises(CartridgeError, match="section certificate is"):
            _core.Engine.open(str(path), verify=True)
        with pytest.raises(CartridgeError, match="section certificate is"):
            _core.with_certificate(path.read_bytes(), None)


def test_other_files(small: bytes) -> None:
    version_2 = _core.write_cartridge_v2(*_core.build_double_array([(b"a", 0)]))
    for certificate in (CERTIFICATE, None):
        with pytest.raises(CartridgeError, match="no sections"):
            _core.with_certificate(version_2, certificate)
        for content in (b"", b"C", b"CRAY", b"CRAY\3\0\0", b"CRAY\2\0\0", b"\0" * 4096, b'{"model": {}}' * 100):
            with pytest.raises(CartridgeError):
                _core.with_certificate(content, certificate)
