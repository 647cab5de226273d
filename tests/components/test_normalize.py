"""NFC equals the reference's, text and alignments; the reference is the installed ``tokenizers``."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from crayon_hf import _core

ROOT = Path(__file__).resolve().parents[2]
reference_nfc = normalizers.NFC().normalize_str
reference_nfd = normalizers.NFD().normalize_str

# Characters that meet each other in interesting ways.
MARKS = [chr(c) for c in (0x300, 0x301, 0x308, 0x30A, 0x316, 0x323, 0x327, 0x334, 0x344, 0x345, 0x93C, 0xF71, 0xF72)]
NEWER_MARKS = [chr(c) for c in (0x7FD, 0x8D3, 0x9FE, 0x1ABF, 0x1DF6, 0x10F46, 0x11839, 0x1E130)]  # after Unicode 9.0
STARTERS = list("aAeouKnx \n\u00c5\u00e9\u1ea5\u03b9\u0915\u09c7\u0dd9\u0b92\u1025\u4e2d\U0001f600\u200d")
SECOND_STARTERS = list("\u09be\u09d7\u0b3e\u0bd7\u0cc2\u0d3e\u0dcf\u0ddf\u102e\u1b35\U000110ba\U00011127")
SINGLETONS = list("\u212b\u2126\u2000\u1f71\u0340\u0387\uf900\U0002f800")
EXCLUDED = list("\u0958\u09dc\u0f43\u0f73\u0f81\u2adc\ufb1d\ufb2c\U0001d15e\U0001d1bb")
JAMO = [
    chr(c)
    for first, last in ((0x1100, 0x1113), (0x115F, 0x1177), (0x11A6, 0x11C4), (0xAC00, 0xAC02), (0xD787, 0xD7A4))
    for c in range(first, last + 1)
]
GROUPS = [MARKS, NEWER_MARKS, STARTERS, SECOND_STARTERS, SINGLETONS, EXCLUDED, JAMO]


@pytest.fixture(scope="module")
def per_character() -> Tokenizer:
    """A reference tokenizer with one token, hence one pair of offsets, per character of the NFC form."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return tokenizer


def code_points() -> Iterator[int]:
    return (c for c in range(0x110000) if not 0xD800 <= c < 0xE000)


def nfc(text: str) -> str:
    return _core._testing.normalize_nfc(text.encode())[0].decode()


def check(text: str, per_character: Tokenizer) -> None:
    """The form, the alignment of each byte of it and the quick check of one text against the reference."""
    want = reference_nfc(text)
    got, alignments = _core._testing.normalize_nfc(text.encode())
    assert got.decode() == want
    if _core._testing.nfc_quick_check(text.encode()):
        assert want == text

    byte_of = [0]
    for c in text:
        byte_of.append(byte_of[-1] + len(c.encode()))
    offsets = per_character.encode(text).offsets
    assert len(offsets) == len(want)
    expected = [
        (byte_of[start], byte_of[end]) for c, (start, end) in zip(want, offsets, strict=True) for _ in c.encode()
    ]
    assert alignments == expected


@pytest.mark.slow
def test_every_code_point() -> None:
    different = [c for c in code_points() if nfc(chr(c)) != reference_nfc(chr(c))]
    assert different == []


@pytest.mark.slow
def test_quick_check_is_sound_and_not_idle() -> None:
    quick = {c for c in code_points() if _core._testing.nfc_quick_check(chr(c).encode())}
    assert [c for c in quick if reference_nfc(chr(c)) != chr(c)] == []
    assert quick.issuperset(c for c in code_points() if c < 0x300)
    assert quick.issuperset(range(0x4E00, 0x9FFF))
    assert quick.issuperset(range(0xAC00, 0xD7A4))
    assert len(quick) > 1_110_000
    assert _core._testing.nfc_quick_check("Ünïcödé is composed. क्षत्रिय 日本語 한국어 \u0316\u0316".encode())
    for text in ("e\u0301", "a\u0316\u0334", "\u1100\u1161", "\u212b", "\u0958", "\u09c7\u09be", "\u0301"):
        assert not _core._testing.nfc_quick_check(text.encode())


@pytest.mark.slow
def test_every_pair_that_may_compose() -> None:
    decompositions = [d for c in code_points() if (d := reference_nfd(chr(c))) != chr(c)]
    starts = sorted({d[0] for d in decompositions} | {reference_nfc(d[:-1]) for d in decompositions})
    seconds = sorted({c for d in decompositions for c in d[1:]})
    assert len(starts) > 500
    assert len(seconds) > 100
    for second in seconds:
        text = "\n".join(start + second for start in starts)
        assert nfc(text) == reference_nfc(text), f"U+{ord(second):04X}"


def test_hangul_syllables_from_jamo() -> None:
    text = " ".join(reference_nfd(chr(c)) for c in range(0xAC00, 0xD7A4))
    assert nfc(text) == " ".join(map(chr, range(0xAC00, 0xD7A4)))
    # The filler U+11A7 is no trailing consonant, and LV + T composes while LVT + T does not.
    assert nfc("\uac00\u11a7") == "\uac00\u11a7"
    assert nfc("\uac00\u11a8\u11a8") == "\uac01\u11a8"


def test_marks_newer_than_the_reference_do_not_move() -> None:
    for mark in NEWER_MARKS:
        for text in (mark + "\u0316", "a" + mark + "\u0334", "e" + mark + "\u0301"):
            assert nfc(text) == reference_nfc(text) == text


@pytest.mark.parametrize(
    ("text", "form", "alignments"),
    [
        ("", "", []),
        ("ab", "ab", [(0, 1), (1, 2)]),
        ("e\u0301x", "\u00e9x", [(0, 1), (0, 1), (3, 4)]),  # the composite is aligned with its starter alone
        ("\u212b", "\u00c5", [(0, 3), (0, 3)]),
        ("\u0958", "\u0915\u093c", [(0, 3)] * 6),  # an added character shares the alignment of the one before
        ("A\u030a\u0327", "\u00c5\u0327", [(0, 1), (0, 1), (3, 5), (3, 5)]),
        ("x\u0301\u0316", "x\u0316\u0301", [(0, 1), (1, 3), (1, 3), (3, 5), (3, 5)]),  # marks swap, places do not
    ],
)
def test_alignments(text: str, form: str, alignments: list[tuple[int, int]], per_character: Tokenizer) -> None:
    assert _core._testing.normalize_nfc(text.encode()) == (form.encode(), alignments)
    check(text, per_character)


def test_random_strings(per_character: Tokenizer) -> None:
    rng = random.Random(20240917)
    for _ in range(20_000):
        groups = rng.sample(GROUPS, rng.choice((1, 2, 2, 3)))
        check("".join(rng.choice(rng.choice(groups)) for _ in range(rng.choice((2, 3, 5, 9, 20)))), per_character)


@given(st.text(st.one_of(st.sampled_from("".join(map("".join, GROUPS))), st.characters(exclude_categories=("Cs",)))))
def test_any_text(text: str) -> None:
    assert nfc(text) == reference_nfc(text)
    if _core._testing.nfc_quick_check(text.encode()):
        assert reference_nfc(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("length", [30, 31, 32, 33, 1_000, 100_000])
def test_long_runs_of_marks(length: int, per_character: Tokenizer) -> None:
    rng = random.Random(length)
    run = "".join(rng.choice(MARKS) for _ in range(length))
    for text in ("e" + run, run, "\u0316" * length + "\u0334" + "e", "a" + "\u0301\u0316" * length + "\u0323"):
        check(text, per_character)


@pytest.mark.parametrize("tail", [b"\xcc", b"\xe0\xa4", b"\xf0\x9f\x98", b"\x80", b"\xff", b"e\xcc"])
def test_text_cut_inside_a_character_is_safe(tail: bytes) -> None:
    for head in (b"", b"plain text ", "e\u0316".encode()):
        form, alignments = _core._testing.normalize_nfc(head + tail)
        assert form == head + tail
        assert len(alignments) == len(form)
        assert _core._testing.nfc_quick_check(head + tail)


@pytest.mark.slow
def test_tables_are_those_of_the_reference() -> None:
    tables = (ROOT / "cpp" / "src" / "unicode" / "nfc_tables.inc").read_text(encoding="utf-8")
    measured = tables.split("tokenizers ", 1)[1].split(" ", 1)[0]
    if tokenizers.__version__ != measured:
        pytest.skip(f"the tables are of tokenizers {measured}")
    generator = ROOT / "tools" / "unicode" / "generate_nfc.py"
    path = os.pathsep.join([str(generator.parent), *sys.path])  # also where PYTHONSAFEPATH is set
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, generator, "--check"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
