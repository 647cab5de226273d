"""Character classes: for every code point, the compiled tables equal the classes of ``tokenizers`` and ``tiktoken``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from crayon_hf import _core

GENERATOR = Path(__file__).resolve().parents[2] / "tools" / "unicode" / "generate_classes.py"


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    """The module of the tables' generator, which measures the classes of a reference library."""
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
