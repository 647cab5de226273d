"""The certificate of a cartridge: put in, replaced, taken out; everything else in the file stays as it is."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import TEXTS, compiled, judged, parsed, rewritten, signed
from tests.support.cartridge_lies import container_cases
from tests.support.cartridge_reader import Section
from tests.support.cartridge_text import NAMES, text_source

CERTIFICATE = json.dumps({"schema": "crayon-hf/parity-certificate/1", "compared": ["ids"], "target": "ü 中文 🙂"})
MOST = 1 << 20
TYPE = plain.TYPES["certificate"]

KINDS = ("gpt2_like", "llama3_like", "qwen_like", "roberta_like", "every_case", "longest_case", *NAMES)


@pytest.fixture(scope="session", params=KINDS)
def cartridge(request: pytest.FixtureRequest) -> bytes:
    """One of every kind of vocabulary, without a certificate."""
    if request.param in NAMES:
        return compiled(text_source(request.param))
    path: Path = request.getfixturevalue(request.param)
    return compiled(path.read_bytes())


def expected(data: bytes, certificate: str | None) -> bytes:
    """The plain twin."""
    sections, digest = plain.read_sections(data)
    kept = [section for section in sections if section.type != TYPE]
    new = [] if certificate is None else [Section(TYPE, 0, certificate.encode())]
    return plain.write_cartridge(kept + new, digest)


def test_put_in_and_taken_out(cartridge: bytes) -> None:
    certified = _core.with_certificate(cartridge, CERTIFICATE)
    assert certified == expected(cartridge, CERTIFICATE)
    assert _core.with_certificate(certified, None) == cartridge
    assert _core.with_certificate(cartridge, None) == cartridge
    assert _core.Engine.from_bytes(cartridge).certificate is None
    assert _core.Engine.from_bytes(certified).certificate == CERTIFICATE


def test_the_engine_is_the_same(cartridge: bytes, tmp_path: Path) -> None:
    path = tmp_path / "certified.dat"
    path.write_bytes(_core.with_certificate(cartridge, CERTIFICATE))
    _core._testing.verify_cartridge(str(path))
    engine, other = _core.Engine.open(str(path)), _core.Engine.from_bytes(cartridge)
    assert engine.source_digest == other.source_digest
    assert engine.metadata == other.metadata
    assert engine.components == other.components
    assert engine.get_vocab() == other.get_vocab()
    for text in TEXTS:
        one, two = engine.encode(text), other.encode(text)
        assert (one.ids, one.offsets, one.tokens) == (two.ids, two.offsets, two.tokens)
        assert engine.decode(one.ids) == other.decode(one.ids)
    assert engine.certificate == CERTIFICATE
    assert engine.greedy().certificate == CERTIFICATE
    assert engine.with_components(engine.components).certificate == CERTIFICATE


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(
        st.none()
        | st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=200), max_size=5).map(json.dumps),
        max_size=4,
    ),
    st.booleans(),
)
def test_any_order_of_changes(small: bytes, steps: list[str | None], escaped: bool) -> None:
    data, last = small, None
    for step in steps:
        if step is not None and not escaped:
            step = json.dumps(json.loads(step), ensure_ascii=False)
        data, last = _core.with_certificate(data, step), step
        assert data == expected(small, step)
    assert _core.Engine.from_bytes(data).certificate == last
    assert _core.with_certificate(data, None) == small


def test_a_certificate_in_another_place(small: bytes) -> None:
    """Other writers put it elsewhere, set its flag, and have sections that are not known here."""
    sections, digest = parsed(small)
    others = [Section(900, 0, b"\xff" * 100), *sections[:3], Section(901, 0, b""), *sections[3:], Section(900, 0, b"x")]
    for at in (0, 4, len(others)):
        for flags in (0, 1):
            data = plain.write_cartridge([*others[:at], Section(TYPE, flags, b'{"a":1}'), *others[at:]], digest)
            assert _core.Engine.from_bytes(data).certificate == '{"a":1}'
            assert _core.with_certificate(data, CERTIFICATE) == expected(data, CERTIFICATE)
            assert _core.with_certificate(data, None) == plain.write_cartridge(others, digest)


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
    """JSON of so many bytes."""
    return '{"a":"' + "x" * (size - 8) + '"}'


def test_the_largest_certificate(small: bytes) -> None:
    certified = _core.with_certificate(small, object_of(MOST))
    assert _core.Engine.from_bytes(certified).certificate == object_of(MOST)
    for text in (object_of(MOST + 1), "é" * MOST):
        with pytest.raises(ValueError, match="the certificate is larger than 1 MiB"):
            _core.with_certificate(small, text)
    with pytest.raises(CartridgeError, match="section certificate is larger than 1 MiB"):
        _core.Engine.from_bytes(expected(small, object_of(MOST + 1)))


def test_what_is_no_certificate(small: bytes) -> None:
    for text in ("", " ", "[]", "null", '"a"', "{", "{}{}", "{'a':1}", '{"a":1,}', '{"a":' * 10**5):
        with pytest.raises(ValueError, match="the certificate is not a JSON object") as raised:
            _core.with_certificate(small, text)
        assert "\n" not in str(raised.value)
        assert not isinstance(raised.value, CartridgeError)


def test_certificates_that_are_no_text(small: bytes) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        _core.with_certificate(small, '{"a":"\ud800"}')
    for other in (b"{}", 1, {}):
        with pytest.raises(TypeError):
            _core.with_certificate(small, other)  # type: ignore[arg-type]


def test_what_a_certificate_of_a_file_can_be(small: bytes, tmp_path: Path) -> None:
    """Of a file that was not verified it is an error when it is asked for."""
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
        with pytest.raises(CartridgeError, match=r"version 2 \(CRAYON\) cartridge has no sections"):
            _core.with_certificate(version_2, certificate)
        for content in (b"", b"C", b"CRAY", b"CRAY\3\0\0", b"CRAY\2\0\0", b"\0" * 4096, b'{"model": {}}' * 100):
            with pytest.raises(CartridgeError):
                _core.with_certificate(content, certificate)


def test_deceiving_containers_are_refused(small: bytes) -> None:
    for data, message in container_cases(small).values():
        with pytest.raises(CartridgeError, match=message):
            _core.with_certificate(data, CERTIFICATE)


def test_damage_is_refused(small: bytes, tmp_path: Path) -> None:
    """Every byte of header, table and certificate, some of all others; by the engine, and by with_certificate."""
    rng = random.Random(7)
    certified = _core.with_certificate(small, CERTIFICATE)
    path = tmp_path / "certified.dat"
    path.write_bytes(certified)
    rows = {row["name"]: row for row in _core.cartridge_sections(str(path))}
    begin = rows["certificate"]["offset"]
    places = [*range(64 + 32 * len(rows)), *range(begin, len(certified)), *rng.sample(range(begin), 200)]
    cases: dict[str, tuple[Any, ...]] = {f"{at}": ("flip", at, rng.randrange(8)) for at in places}
    cases |= {f"cut {at}": ("cut", at) for at in (begin - 1, begin, begin + 1, len(certified) - 64, len(certified) - 1)}
    accepted = {k: v for k, v in judged(cases, str(path)).items() if not v.startswith("CartridgeError: ")}
    assert not accepted
    for at in places[:: len(places) // 150]:
        damaged = bytearray(certified)
        damaged[at] ^= 1 << rng.randrange(8)
        for certificate in (CERTIFICATE, None):
            with pytest.raises(CartridgeError):
                _core.with_certificate(bytes(damaged), certificate)


def test_a_forged_certificate_needs_a_new_table(small: bytes) -> None:
    """Other text in its place is refused, even under a table that is signed again without the section's checksum."""
    certified = bytearray(_core.with_certificate(small, '{"a":1}'))
    at = certified.index(b'{"a":1}')
    certified[at : at + 7] = b'{"a":2}'
    with pytest.raises(CartridgeError, match="checksum of section certificate"):
        _core.Engine.from_bytes(signed(certified))
    (count,) = struct.unpack_from("<I", certified, 16)
    entry = 64 + 32 * (count - 1)
    struct.pack_into("<Q", certified, entry + 24, plain.xxh64(b'{"a":2}'))
    assert _core.Engine.from_bytes(signed(certified)).certificate == '{"a":2}'
