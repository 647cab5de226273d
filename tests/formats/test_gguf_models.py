"""GGUF vocabularies of the other models: the ids that plain twins of llama.cpp give."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.gguf import read_gguf
from tests.formats.gguf_files import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Reader,
    both,
    ids,
    reader,
    write_gguf,
)


@pytest.fixture
def convert(tmp_path: Path) -> Reader:
    return reader(tmp_path)


# --- llama ---

SPM_TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
SPM_TYPES = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
SPM_PIECES = {
    "\u2581": -9.0, "a": -8.0, "b": -8.5, "c": -8.7, "ab": -3.0, "bc": -2.0, "abc": -4.0, "\u2581a": -1.5,
    "\u2581ab": -5.0, "\u2581\u2581": -2.5, "aa": -2.2, "aaa": -2.1, "cab": -6.0, "\u00e9": -9.5, "\u00e9a": -1.0,
    "<": -9.6, "s": -9.7, ">": -9.8,
}  # fmt: skip


def spm_twin(text: str) -> list[int]:
    """llama.cpp's: always the pair of the best score, the leftmost of equals; then bytes for what is no token."""
    vocabulary = {piece: (len(SPM_TOKENS) + place, score) for place, (piece, score) in enumerate(SPM_PIECES.items())}
    symbols = list(text)
    while True:
        pairs = [
            (-vocabulary[left + right][1], place)
            for place, (left, right) in enumerate(pairwise(symbols))
            if left + right in vocabulary
        ]
        if not pairs:
            break
        _, place = min(pairs)
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
    found: list[int] = []
    for symbol in symbols:
        found += [vocabulary[symbol][0]] if symbol in vocabulary else [3 + byte for byte in symbol.encode()]
    return found


def spm(convert: Reader, *more: str, kind: int = USER_DEFINED, **keys: Any) -> Converted:
    tokens = [*SPM_TOKENS, *SPM_PIECES, *more]
    types = SPM_TYPES + [NORMAL] * len(SPM_PIECES) + [kind] * len(more)
    scores = [0.0] * len(SPM_TOKENS) + [*SPM_PIECES.values()] + [-100.0] * len(more)
    return convert("llama", tokens, types=types, scores=scores, keys=keys)


def test_sentencepiece_bpe_as_a_plain_twin(convert: Reader) -> None:
    with_prefix, without = both(spm(convert)), both(spm(convert, add_space_prefix=False))

    @settings(max_examples=150, deadline=None)
    @given(st.text(st.sampled_from("aaabbc  \u00e9<s>x\n\u65e5"), max_size=24))
    def compare(text: str) -> None:
        for (ours, stock), prefix in ((with_prefix, "\u2581"), (without, "")):
            expected = [
                token
                for number, part in enumerate(text.split("<s>"))
                for token in ([1] if number else []) + (spm_twin(prefix + part.replace(" ", "\u2581")) if part else [])
            ]
            assert ours.encode(text, add_special_tokens=False).ids == expected
            assert stock.encode(text, add_special_tokens=False).ids == expected
            if "<s>" not in text:
                assert ours.decode(expected) == stock.decode(expected) == text

    compare()


def test_sentencepiece_bpe_begins_with_bos_when_nothing_is_said(convert: Reader) -> None:
    a = len(SPM_TOKENS) + [*SPM_PIECES].index("\u2581a")
    assert ids(spm(convert), "a", special=True) == [1, a]
    assert ids(spm(convert, add_bos_token=False, add_eos_token=True), "a", special=True) == [a, 2]


def test_user_defined_tokens_are_found_before_spaces_are_escaped(convert: Reader) -> None:
    made = spm(convert, "  ", "<tool>")
    spaces = len(SPM_TOKENS) + len(SPM_PIECES)
    space_a = len(SPM_TOKENS) + [*SPM_PIECES].index("\u2581a")
    assert ids(made, "a  a<tool>a") == [space_a, spaces, space_a, spaces + 1, space_a]
    # Made of escaped spaces, it is what merging makes of them.
    made = spm(convert, "\u2581\u2581\u2581\u2581")
    assert ids(made, "a" + " " * 4 + "b")[1:-1] == [spaces]


def test_unused_tokens_are_tokens(convert: Reader) -> None:
    made = spm(convert, "bb", kind=UNUSED)
    assert ids(made, "bb")[-1] == len(SPM_TOKENS) + len(SPM_PIECES)


def test_a_token_of_thousands_of_letters(convert: Reader) -> None:
    with pytest.raises(UnsupportedError, match="5000 characters"):
        convert("llama", ["<unk>", "a" * 5000])


def test_progress_is_shown(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "v.gguf", "llama", ["<unk>", "a", "aa"], types=[2, 1, 1], scores=[0, -1, -2])
    seen: list[tuple[str, int, int]] = []
    read_gguf(path, lambda *what: seen.append(what))
    assert seen
    assert seen[-1][1] == seen[-1][2] > 0


# --- bert ---

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[unused1]",
    "un",
    "##able",
    "##a",
    "a",
    "\u00e9t\u00e9",
    "ete",
    "##!",
    "!",
    "\u65e5",
    "A",
]
ROLES = {"padding_token_id": 0, "unknown_token_id": 1, "bos_token_id": 2, "seperator_token_id": 3, "mask_token_id": 4}


def phantom(word: str) -> str:
    """How a GGUF file spells a token of WordPiece."""
    if word.startswith("[") and word.endswith("]"):
        return word
    return word[2:] if word.startswith("##") else "\u2581" + word


def bert(convert: Reader, **keys: Any) -> Converted:
    types = [CONTROL] * 5 + [NORMAL] * (len(WORDS) - 5)
    return convert("bert", [phantom(word) for word in WORDS], types=types, keys=ROLES | keys)


def test_wordpiece_is_spelled_back(convert: Reader) -> None:
    made = bert(convert)
    vocab = json.loads(made.tokenizer_json)["model"]["vocab"]
    assert sorted(vocab, key=vocab.__getitem__) == WORDS
    expected = ["[CLS]", "un", "##able", "[MASK]", "[UNK]", "ete", "!", "\u65e5", "[SEP]"]
    text = "UNable[MASK] unx \u00c9t\u00e9!\u65e5"
    assert ids(made, text, special=True) == [WORDS.index(word) for word in expected]
    assert ids(made, "a", "a", special=True) == [2, 9, 3, 9, 3]
    assert ids(made, "a" * 500) == [9] + [8] * 499  # llama.cpp knows no longest word


def test_wordpiece_keeps_capitals_and_accents_where_the_file_says_so(convert: Reader) -> None:
    cased = bert(convert, **{"normalizer.lowercase": False})
    assert ids(cased, "A \u00e9t\u00e9") == [WORDS.index("A"), WORDS.index("\u00e9t\u00e9")]
    accented = bert(convert, **{"normalizer.strip_accents": False})
    assert ids(accented, "A \u00c9t\u00e9") == [WORDS.index("a"), WORDS.index("\u00e9t\u00e9")]


def test_two_tokens_of_one_spelling(convert: Reader) -> None:
    with pytest.raises(VocabularyError, match="the same spelling"):
        convert("bert", ["[UNK]", "[CLS]", "[SEP]", "[x]", "\u2581[x]"], keys=ROLES)


# --- t5 ---

UGM = {
    "\u2581": -3.0, "a": -4.0, "b": -4.5, "ab": -5.0, "\u2581a": -3.5, "\u2581ab": -6.5, "abb": -7.0, "ba": -6.0,
    "\u2581b": -5.5,
}  # fmt: skip
UGM_TOKENS = ["<pad>", "</s>", "<unk>", *UGM, "<u>"]


def unigram_twin(text: str, scores: dict[str, float]) -> list[str]:
    """The best-scored way to cut a text; unknown characters cost ten more than the worst token, and are joined."""
    unknown = min(scores.values()) - 10
    best: list[tuple[float, list[str]]] = [(0.0, [])]
    for end in range(1, len(text) + 1):
        ways = []
        for start in range(end):
            score, tokens = best[start]
            piece = text[start:end]
            if piece in scores:
                ways.append((score + scores[piece], [*tokens, piece]))
            elif end - start == 1:
                ways.append((score + unknown, [*tokens, "<unk>"]))
        best.append(max(ways, key=lambda way: way[0]))
    found = best[-1][1]
    return [token for place, token in enumerate(found) if token != "<unk>" or not place or found[place - 1] != token]


def escaped(text: str, prefix: bool, merge: bool) -> str:
    if merge:
        return "".join("\u2581" + word for word in text.split(" ") if word)
    first = "\u2581" if prefix and text.strip(" ") else ""
    return first + text.replace(" ", "\u2581")


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("prefix", [False, True])
def test_unigram_as_a_plain_twin(convert: Reader, prefix: bool, merge: bool) -> None:
    types = [CONTROL, CONTROL, UNKNOWN] + [NORMAL] * len(UGM) + [USER_DEFINED]
    keys = {"add_space_prefix": prefix, "remove_extra_whitespaces": merge}
    made = convert("t5", UGM_TOKENS, types=types, scores=[0.0, 0.0, 0.0, *UGM.values(), 0.0], keys=keys)
    ours, stock = both(made)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.sampled_from(["a", "b", "ab", " ", "  ", "x", "<u>", "\n"]), max_size=14).map("".join))
    def compare(text: str) -> None:
        expected: list[str] = []
        for number, part in enumerate(text.split("<u>")):
            expected += ["<u>"] if number else []
            expected += unigram_twin(escaped(part, prefix, merge), UGM)
        numbers = [UGM_TOKENS.index(token) for token in [*expected, "</s>"]]
        assert ours.encode(text).ids == stock.encode(text).ids == numbers

    compare()
