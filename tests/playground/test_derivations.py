"""Derivations, the steps by which the playground explains a token: merges equal a plain twin's, and every token of
every kind of vocabulary has a derivation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crayon_hf import Tokenizer
from crayon_hf.display.tokens import Options, Tokenization, tokens_of
from crayon_hf.playground.derivations import Derivations
from tests.playground.client import TEXTS
from tests.support import reference_impl


def derivations_of(
    path: Path, data: bytes, mode: str = "exact", options: Options | None = None
) -> tuple[Tokenization, Derivations]:
    engine = Tokenizer.from_file(path)._current_engine()
    options = options or Options()
    cut_by = engine.greedy() if mode == "greedy" else engine
    tokenization = Tokenization(mode, tokens_of(cut_by, data, options))
    return tokenization, Derivations(engine, data, tokenization.segmentation, options, mode)


@pytest.mark.parametrize("text", TEXTS)
def test_merges_are_those_of_the_plain_rule(gpt2_like: Path, text: str) -> None:
    document = json.loads(gpt2_like.read_text(encoding="utf-8"))
    tokenization, derivations = derivations_of(gpt2_like, text.encode())
    for number, token in enumerate(tokenization.tokens):
        made = derivations.derive(number)
        if token.is_added:
            assert made["notes"] == ["An added token: it is matched in the text before the model encodes the rest."]
            continue
        ids, ranks = reference_impl.merge(document, token.data)
        assert ids == [token.id]
        assert [row[0] for row in made["rows"][1:]] == [f"{rank:,}" for rank in ranks]
        assert made["tokens"][made["at"]][1] == token.id
        if ranks:
            assert made["columns"] == ["rank", "merge", "id", "symbols"]
            assert made["rows"][-1][2] == str(token.id)
            assert made["rows"][-1][3] == [[made["tokens"][made["at"]][0], 1]]
            assert len(made["rows"][0][3]) == len(token.data) == len(ranks) + 1


def test_tokens_of_the_pretoken(gpt2_like: Path) -> None:
    tokenization, derivations = derivations_of(gpt2_like, b"an internationalization of")
    longest = [number for number, token in enumerate(tokenization.tokens) if 2 <= token.start < token.end <= 23]
    assert len(longest) > 1
    for place, number in enumerate(longest):
        made = derivations.derive(number)
        assert [id for _, id in made["tokens"]] == [tokenization.tokens[each].id for each in longest]
        assert made["at"] == place


def test_a_long_piece(gpt2_like: Path) -> None:
    """A token of a pretoken too long to trace has the merges of its own bytes."""
    tokenization, derivations = derivations_of(gpt2_like, b"abcdefgh" * 1000)
    document = json.loads(gpt2_like.read_text(encoding="utf-8"))
    for number in (0, 7, len(tokenization.tokens) - 1):
        made = derivations.derive(number)
        assert made["notes"][0].startswith("Its pretoken has 8,000 bytes")
        ranks = reference_impl.merge(document, tokenization.tokens[number].data)[1]
        assert [row[0] for row in made["rows"][1:]] == [f"{rank:,}" for rank in ranks]


def test_longest_match_and_words(wordpiece_like: Path) -> None:
    tokenization, derivations = derivations_of(wordpiece_like, "jumps ☃".encode())
    for number, token in enumerate(tokenization.tokens[:-1]):
        made = derivations.derive(number)
        assert made["columns"] == ["id", "token"]
        (last,) = [row for row in made["rows"] if row[1][0][1]]
        assert last[0] == str(token.id)
    assert derivations.derive(len(tokenization.tokens) - 1)["notes"] == ["No token matches here: the text is unknown."]


def check(path: Path, data: bytes, options: Options | None = None) -> None:
    """Check that the derivation of each token is complete and belongs to the token, in both modes."""
    for mode in ("exact", "greedy"):
        tokenization, derivations = derivations_of(path, data, mode, options)
        for number, token in enumerate(tokenization.tokens):
            made = derivations.derive(number)
            assert not any("No single pretoken" in note or "too long" in note for note in made["notes"])
            assert made["notes"] or made["rows"]
            assert (made["notes"] == ["The post-processor inserts this token."]) == token.is_inserted
            if made["tokens"]:
                assert made["tokens"][made["at"]][1] == token.id
            assert all(len(row) == len(made["columns"]) for row in made["rows"])


def test_every_token_has_steps(any_vocabulary: Path, wordpiece_like: Path) -> None:
    for path in (any_vocabulary, wordpiece_like):
        for text in TEXTS:
            check(path, text.encode())


def test_any_bytes(gpt2_like: Path) -> None:
    check(gpt2_like, b"the \xff" + 9 * b"\x80" + b" qu", Options(is_bytes=True))


@pytest.mark.parametrize("name", ["gpt2", "llama2", "t5-small", "bert-cased", "roberta-base", "qwen", "whisper-tiny"])
def test_published_vocabularies(shared: Path, name: str) -> None:
    for text in (*TEXTS, "  Der Anfang: ﬁn ½ \u0301 नमस्ते, 안녕\r\n\r\n x"):
        check(shared / "vocab" / name / "tokenizer.json", text.encode())
