"""Character classes and UTF-8: the compiled tables equal the references over every code point."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crayon_hf import _core

GENERATOR = Path(__file__).resolve().parents[2] / "tools" / "unicode" / "generate_classes.py"


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    """The generator, for the measuring it does."""
    spec = importlib.util.spec_from_file_location("generate_classes", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(GENERATOR.parent))
        spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("flavor", ["oniguruma", "rust_regex"])
def test_classes_equal_the_reference_everywhere(measure: ModuleType, flavor: str) -> None:
    members = measure.oniguruma_members if flavor == "oniguruma" else measure.rust_members
    expected = measure.class_table(members)
    found = _core._testing.char_classes(flavor)
    assert len(found) == 0x110000
    assert [hex(c) for c in range(0x110000) if found[c] != expected[c]][:20] == []
    assert len(set(found)) == 8


@pytest.mark.slow
def test_added_token_classes_equal_the_reference_everywhere(measure: ModuleType) -> None:
    word, space = measure.word_and_space()
    found = _core._testing.added_token_classes()
    assert {c for c in range(0x110000) if found[c] & 1} == word
    assert {c for c in range(0x110000) if found[c] & 2} == space
    assert ord("_") in word
    assert 0x3000 in space


def scalar_values() -> Iterator[int]:
    yield from range(0xD800)
    yield from range(0xE000, 0x110000)


@pytest.mark.parametrize("backwards", [False, True])
def test_every_character_is_decoded(backwards: bool) -> None:
    text = "".join(map(chr, scalar_values()))
    found = _core._testing.utf8_chars(text.encode(), backwards)
    if backwards:
        found.reverse()
    assert [point for point, _, _ in found] == list(scalar_values())
    assert all(valid for _, _, valid in found)
    sizes = [1 if c < 0x80 else 2 if c < 0x800 else 3 if c < 0x10000 else 4 for c in scalar_values()]
    assert [size for _, size, _ in found] == sizes


EDGES = [b"\x7f", b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2", b"\xc2\x80", b"\xdf\xbf", b"\xe0\x80\x80"]
EDGES += [b"\xe0\x9f\xbf", b"\xe0\xa0\x80", b"\xe0\xa0", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xee\x80"]
EDGES += [b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf0\x90\x80", b"\xf0\x90", b"\xf0"]
EDGES += [b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf4\x8f\xbf", b"\xf5\x80\x80\x80", b"\xff", b"\xfe", b"\xef\xbf"]


def any_bytes() -> st.SearchStrategy[bytes]:
    """Valid and invalid pieces, mixed, after enough ASCII that the fast path ends anywhere."""
    piece = st.one_of(st.sampled_from(EDGES), st.binary(max_size=4), st.text(max_size=3).map(lambda t: t.encode()))
    return st.tuples(st.integers(0, 40), st.lists(piece, max_size=8)).map(lambda x: b"a" * x[0] + b"".join(x[1]))


def check_utf8(data: bytes) -> None:
    try:
        data.decode()
        first_error = len(data)
    except UnicodeDecodeError as error:
        first_error = error.start
    assert _core._testing.utf8_error(data) == first_error
    assert _core._testing.utf8_lossy(data) == data.decode(errors="replace")
    # Each byte that Python escapes is one invalid character.
    expected = [
        (1, False) if "\udc80" <= char <= "\udcff" else (len(char.encode()), True)
        for char in data.decode("utf-8", "surrogateescape")
    ]
    assert [(size, valid) for _, size, valid in _core._testing.utf8_chars(data)] == expected
    assert _core._testing.utf8_chars(data, True)[::-1] == _core._testing.utf8_chars(data)


@given(any_bytes())
def test_invalid_bytes_are_found_as_python_finds_them(data: bytes) -> None:
    check_utf8(data)


def test_truncated_and_broken_sequences() -> None:
    for left in EDGES:
        for right in EDGES:
            check_utf8(left + right)
            check_utf8(b"0123456789abcdef" + left + right + b"x")
    rng = random.Random(11)
    for _ in range(3000):
        text = bytearray("aé中😀".encode() * 4)
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        check_utf8(bytes(text))
