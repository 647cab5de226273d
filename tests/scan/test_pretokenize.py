"""The engine's scanners cut texts as the reference libraries do, for every family of patterns, both flavors and every
instruction set."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from crayon_hf import _core
from tests.scan import pretokenize_reference as twin
from tests.support.reference_impl import KIMI_PATTERN

CPUS = _core.cpu_levels()
SPELLINGS = [
    pytest.param(pattern, flavor, family, id=f"{flavor}-{family}-{number}")
    for flavor in twin.FLAVORS
    for number, (pattern, family) in enumerate(twin.spellings(flavor))
]
# cl100k as tiktoken 0.14 publishes it.
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)


# All code points below U+3100, and a sample of the rest, most of which are unassigned or ideographs.
POINTS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
POINTS = POINTS[:0x3100] + random.Random(5).sample(POINTS[0x3100:], 20_000)


@cache
def texts(seed: int) -> list[str]:
    return list(twin.hostile_texts(1500, seed))


# -- against the references


@pytest.mark.parametrize(("pattern", "flavor", "family"), SPELLINGS)
def test_generated_texts(pattern: str, flavor: str, family: str) -> None:
    difference = twin.first_difference(
        texts(20240601), pattern, flavor, lambda data: twin.agreed_scan(data, family, flavor)
    )
    assert difference is None


@pytest.mark.slow
@pytest.mark.parametrize("flavor", twin.FLAVORS)
@pytest.mark.parametrize("family", twin.FAMILIES)
def test_every_code_point(family: str, flavor: str) -> None:
    """Each code point is scanned after and before a letter, a digit, punctuation and a line break."""
    pattern = _core.canonical_pattern(family)
    batch = ["".join(f"a{c}A1{c}!{c}\n{c} {c}'{c}" for c in POINTS[at : at + 64]) for at in range(0, len(POINTS), 64)]
    assert twin.first_difference(batch, pattern, flavor, lambda d: twin.agreed_scan(d, family, flavor)) is None


@pytest.mark.slow
@pytest.mark.parametrize("flavor", twin.FLAVORS)
def test_a_pattern_without_a_scanner_that_both_engines_read_alike(flavor: str) -> None:
    assert _core.is_read_alike(KIMI_PATTERN)
    assert not any(_core.is_read_alike(pattern) for pattern, _ in twin.spellings(flavor))
    batch = [
        *texts(20240602),
        *(beside.join(POINTS[at : at + 500]) for beside in "A漢1" for at in range(0, len(POINTS), 500)),
    ]

    def ends(data: bytes) -> list[int]:
        return [end for _, end in _core._testing.regex_find_all(KIMI_PATTERN, data.decode())]

    assert twin.first_difference(batch, KIMI_PATTERN, flavor, ends) is None


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_published_tiktoken_patterns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine knows the pattern of an encoding in the installed tiktoken, and the pattern for `tokenizers` of the
    same family cuts alike."""
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})  # it would download the ranks
    pattern = getattr(openai_public, name)()["pat_str"]
    family = _core.family_of_pattern(pattern, "rust_regex")
    assert family == {"r50k_base": "gpt2"}.get(name, name.removesuffix("_base"))
    canonical = _core.canonical_pattern(family)
    sample = texts(4)
    assert all(twin.tiktoken_agrees(pattern, sample, [twin.oniguruma_ends(canonical, text) for text in sample]))


# -- other promises of a scanner


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("family", twin.FAMILIES)
def test_scanning_goes_on_where_it_stopped(family: str, cpu: str) -> None:
    for text in texts(7)[:400]:
        data = text.encode()
        ends = twin.scan(data, family, "oniguruma", cpu, 100_000)
        for capacity in (1, 2, 3, 63, 64, 65, 100):
            assert twin.scan(data, family, "oniguruma", cpu, capacity) == ends, (capacity, text)


BROKEN = [*map(bytes.fromhex, ("ff", "80", "c3", "e4b8", "f09f98", "eda080", "e08080", "f4908080"))]
CHARACTERS = [
    *"\U0001d400\U00010428\U00020000",
    *"aAeжЖдД中あ가힣हीกאﬆ\u093e\u0301ǅªʰß1٣½ \t\r\x85\xa0\u3000\x1c\n!“。-_'\u2019s\u017ftTmdlLreRvE/.😀\x00䷀",
]


@given(
    st.integers(0, 70),
    st.lists(st.sampled_from(CHARACTERS) | st.characters(), max_size=60),
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(BROKEN) | st.binary(max_size=3)), max_size=2),
)
@settings(max_examples=600, deadline=None)
def test_any_bytes_in_windows(lead: int, chars: list[str], broken_at: list[tuple[int, bytes]]) -> None:
    """The scanner treats an invalid byte as a character without a class."""
    data = b"a" * lead + "".join(chars).encode("utf-8", "replace")
    for at, wrong in broken_at:
        data = data[:at] + wrong + data[at:]
    text, sizes = twin.stand_in(data)
    for family in twin.FAMILIES:
        expected = twin.ends_in_bytes(twin.oniguruma_ends(_core.canonical_pattern(family), text), text, sizes)
        assert twin.agreed_scan(data, family, "oniguruma") == expected, family


@pytest.mark.parametrize("family", twin.FAMILIES)
@pytest.mark.parametrize("unit", [*"a中! \n1A", " \n", "\n ", "'s", "中A", "!\n", "\u0301a"])
def test_long_pretokens(unit: str, family: str) -> None:
    text = "x" + unit * 20_000 + "b"
    expected = twin.oniguruma_ends(_core.canonical_pattern(family), text)
    assert twin.agreed_scan(text.encode(), family, "oniguruma") == expected


# -- names


def test_a_pattern_that_means_something_else_is_not_known() -> None:
    for flavor in twin.FLAVORS:
        assert {family for _, family in twin.spellings(flavor)} == set(twin.FAMILIES)
    # In Oniguruma `{1,3}+` repeats a repeat: numbers of any length are one piece.
    assert _core.family_of_pattern(CL100K, "rust_regex") == "cl100k"
    assert _core.family_of_pattern(CL100K, "oniguruma") is None
    assert twin.oniguruma_ends(CL100K, "1234567") == [7]
    for flavor in twin.FLAVORS:
        assert _core.family_of_pattern("", flavor) is None
        for pattern, _ in twin.spellings(flavor):
            for other in (pattern + " ", pattern[:-1], "|" + pattern, pattern.replace(r"\p{N}", r"\d", 1)):
                assert _core.family_of_pattern(other, flavor) is None


def test_the_environment_chooses_the_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CPUS[0] == "scalar"
    for cpu in CPUS:
        monkeypatch.setenv("CRAYON_CPU", cpu)
        assert _core._testing.pretokenize(b"a b", "gpt2") == [1, 3]
    monkeypatch.setenv("CRAYON_CPU", "mmx")
    with pytest.raises(ValueError, match=r"CRAYON_CPU.*mmx.*scalar"):
        _core._testing.pretokenize(b"a b", "gpt2")
