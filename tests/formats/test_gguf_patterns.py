"""The pre-tokenizers that GGUF files name cut texts as llama.cpp does, and the engine runs all their patterns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import Tokenizer, UnsupportedError, _core
from crayon_hf.formats.gguf_models import byte_level_bpe
from crayon_hf.formats.gguf_patterns import PRE_TOKENIZERS, PreTokenizer, pre_tokenizer
from crayon_hf.formats.gguf_tokens import Tokens
from crayon_hf.formats.piece_types import NORMAL
from crayon_hf.util.byte_level import BYTE_LEVEL

# The pieces into which llama.cpp (October 2026) cuts two texts, measured with a vocabulary that has a token for each
# piece. If llama.cpp's pattern visibly differs from the published model's, the pieces are those of the published model.
CUTS = json.loads((Path(__file__).parent / "gguf_pieces.json").read_text(encoding="utf-8"))

ALPHABET = [
    *("a", "B", "z", "\u00e9", "\u00c9", "\u0301", "\u65e5", "\u30ab", "\uac00", "\u0e01", "\U0001f600", "\u017f"),
    *("1", "23", "456", "\u00b2", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000"),
    *("'s", "'LL", "!", "$", "--", "/", "_", "<|", "(", "\u3002"),
]


def document(pre: PreTokenizer) -> str:
    """A vocabulary of single bytes with this pre-tokenizer."""
    texts = [chr(byte).translate(BYTE_LEVEL) for byte in range(256)]
    tokens = Tokens(texts, [NORMAL] * len(texts), None, {}, {})
    return json.dumps(byte_level_bpe(tokens, (), pre))


def pieces(pre: PreTokenizer, text: str) -> list[str]:
    cutter = tokenizers.Tokenizer.from_str(document(pre)).pre_tokenizer
    return [text[start:end] for _, (start, end) in cutter.pre_tokenize_str(text)]


def test_every_name_was_measured() -> None:
    cut_by_bytes = sorted(name for name, pre in PRE_TOKENIZERS.items() if not pre.spaces_escaped)
    assert sorted(name for cut in CUTS for name in cut["names"]) == sorted(2 * cut_by_bytes)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut["names"][0])
def test_pieces(cut: dict[str, list[str]]) -> None:
    for name in cut["names"]:
        assert pieces(PRE_TOKENIZERS[name], "".join(cut["pieces"])) == cut["pieces"], name


@pytest.mark.parametrize("patterns", sorted({pre.patterns for pre in PRE_TOKENIZERS.values()}))
def test_every_pattern_is_native_and_cuts_as_stock_does(patterns: tuple[str, ...]) -> None:
    pre = PreTokenizer(patterns)
    source = document(pre)
    stock, ours = tokenizers.Tokenizer.from_str(source), Tokenizer.from_str(source)
    assert ours.engine_report()["engine"] == "native"
    component = json.dumps(json.loads(source)["pre_tokenizer"])

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(st.lists(st.sampled_from(ALPHABET), max_size=30).map("".join))
    def compare(text: str) -> None:
        assert _core._testing.pre_tokenize(component, text) == stock.pre_tokenizer.pre_tokenize_str(text)

    compare()


def test_an_unknown_name_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnsupportedError, match=r"'gpt-9'.*falcon.*tekken"):
        pre_tokenizer("gpt-9")
    with pytest.raises(UnsupportedError, match="whitespace"):
        pre_tokenizer("whitespace")
