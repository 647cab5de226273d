"""Greedy mode with 2,500 random vocabularies gives the results of a plain longest match (greedy_reference.py)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tests.support import greedy_reference as twin
from tests.support import reference_impl
from tests.support.greedy_reference import (
    LETTERS,
    ON_BYTES,
    assert_ids,
    component,
    some_tokens,
    text_document,
    word_piece,
)

METASPACES = [pre_tokenizers.Metaspace(prepend_scheme=scheme) for scheme in ("always", "first", "never")]
ON_TEXT = (
    None,
    *METASPACES,
    pre_tokenizers.Whitespace(),
    pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), METASPACES[0]]),
    pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), METASPACES[0]]),
    pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), METASPACES[2]]),
)


def some_text(rng: random.Random, more: str = "zñ🙂\n") -> str:
    return "".join(rng.choices(LETTERS + (more if rng.random() < 0.3 else ""), k=rng.randint(1, 14)))


def check_bytes(document: reference_impl.Document, pre_tokenizer: Any, rng: random.Random) -> None:
    engine = reference_impl.open_engine(document).greedy()
    tokens = twin.byte_tokens(document["model"]["vocab"])
    for _ in range(2):
        text = some_text(rng)
        pieces = twin.pieces_of(text, None, pre_tokenizer)
        ids = [i for piece in pieces for i, _, _ in tokens.cut(reference_impl.token_bytes(piece))]
        assert_ids(engine, text, ids)
        assert engine.encode_bytes(text.encode()) == [i for i, _, _ in tokens.cut(text.encode())]


@pytest.mark.slow
def test_random_byte_level_bpe() -> None:
    rng = random.Random(11)
    letters = [c.encode() for c in "aab e.1"] + [b"\xc3", b"\xa9"]
    for seed in range(500):
        pre_tokenizer = rng.choice(ON_BYTES)
        merges = reference_impl.random_merges(rng, letters, rng.randint(0, 9), longest=6)
        document = reference_impl.byte_level_document(merges, seed=seed, pre_tokenizer=component(pre_tokenizer))
        check_bytes(document, pre_tokenizer, rng)


@pytest.mark.slow
def test_random_word_piece_on_bytes() -> None:
    """In exact mode the results are those of ``tokenizers``, in greedy mode those of the plain twin."""
    rng = random.Random(12)
    for _ in range(500):
        pre_tokenizer = rng.choice(ON_BYTES)
        tokens = [token.encode() for token in some_tokens(rng, 9)] + [b"\xa9 ", b"a\xc3"]
        document = word_piece(tokens, pre_tokenizer)
        check_bytes(document, pre_tokenizer, rng)
        engine, reference = reference_impl.open_engine(document), Tokenizer.from_str(json.dumps(document))
        assert engine.info()["longest_match"]
        text = some_text(rng)
        reference_impl.assert_same(engine.encode(text), reference.encode(text), f"{text!r}")
        assert engine.encode_ids(text) == reference.encode(text).ids


def check_text(model: Any, rules: twin.TextRules, rng: random.Random) -> None:
    normalizer = rng.choice((None, normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")))
    # With affixes words are not joined.
    pre_tokenizer = pre_tokenizers.WhitespaceSplit() if rules.prefix + rules.suffix else rng.choice(ON_TEXT)
    engine = reference_impl.open_engine(text_document(model, normalizer, pre_tokenizer)).greedy()
    for _ in range(3):
        text = some_text(rng)
        pieces = twin.pieces_of(text, normalizer, pre_tokenizer)
        assert_ids(engine, text, [i for piece in pieces for i, _, _ in rules.cut(piece)])


def byte_names(rng: random.Random) -> list[str]:
    """The byte tokens (such as <0x41>) of all, some, or no bytes."""
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    return rng.choice((names, rng.sample(names, 128), []))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["BPE", "BPE with affixes", "Unigram"])
def test_random_vocabularies_on_text(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(500):
        byte_fallback, fuses = rng.random() < 0.6 and "affixes" not in kind, rng.random() < 0.5
        tokens = ["<unk>", *byte_names(rng), *some_tokens(rng, 12)]
        rng.shuffle(tokens)
        unk = rng.choice(("<unk>", None)) if kind == "BPE" else "<unk>"
        prefix, suffix = (rng.choice(("##", "")), rng.choice(("</w>", ""))) if "affixes" in kind else ("", "")
        spelled = some_tokens(rng, 12) if prefix + suffix else []
        tokens += [rng.choice(("", prefix)) + token + rng.choice(("", suffix)) for token in spelled]
        vocab = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
        model: Any
        if kind == "Unigram":
            fuses = True
            model = models.Unigram([(token, -rng.random()) for token in vocab], vocab["<unk>"], byte_fallback)
        else:
            affixes = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix} if prefix + suffix else {}
            model = models.BPE(vocab, [], unk_token=unk, fuse_unk=fuses, byte_fallback=byte_fallback, **affixes)
        rules = twin.TextRules(vocab, vocab["<unk>"] if unk else None, fuses, byte_fallback, (), prefix, suffix)
        check_text(model, rules, rng)


def long_text(rng: random.Random) -> str:
    """A random text of repeated and new words, of 1 to 300 letters."""
    words = ["".join(rng.choices("abe.1é中", k=rng.choice((1, 2, 3, 6, 20, 300)))) for _ in range(30)]
    fresh = ["".join(rng.choices("abe", k=5)) for _ in range(50)]
    return "".join(rng.choice(words + fresh) + rng.choice((" ", " ", "  ", "\n", "")) for _ in range(400))


@pytest.mark.parametrize("seed", range(40))
def test_words_of_long_texts(seed: int) -> None:
    """Some vocabularies have tokens that contain a space between letters. With these, a text cannot be cut between
    words."""
    rng = random.Random(seed)
    across = rng.sample(["a b", "e ", ". a", "1 ", "\na", "b\n", "  a", "中 a"], rng.choice((0, 0, 1, 3)))
    tokens = {*across, *some_tokens(rng, 12), *("".join(rng.choices(" abe", k=4)) for _ in range(3 if across else 0))}
    text = long_text(rng)
    document = word_piece([token.encode() for token in tokens if len(token.encode()) > 1])
    rules = twin.byte_tokens(document["model"]["vocab"])
    engine = reference_impl.open_engine(document).greedy()
    wanted = [i for i, _, _ in rules.cut(text.encode())]
    for _ in range(2):
        assert engine.encode_ids(text) == engine.encode_bytes(text.encode()) == wanted
    assert engine.encode(text).ids == wanted


@pytest.mark.parametrize("seed", range(40))
def test_words_of_long_texts_in_a_model_on_text(seed: int) -> None:
    """Long texts with unknown characters, which become one token across words, byte tokens, or one token each."""
    rng = random.Random(seed)
    names = byte_names(rng)
    tokens = ["<unk>", *names, *some_tokens(rng, 12), *"abe\u2581", *(["a b"] if seed % 3 == 0 else [])]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    byte_fallback, fuses, unk = rng.random() < 0.6, rng.random() < 0.5, rng.choice(("<unk>", None))
    model = models.BPE(vocab, [], unk_token=unk, fuse_unk=fuses, byte_fallback=byte_fallback)
    rules = twin.TextRules(vocab, vocab["<unk>"] if unk else None, fuses, byte_fallback)
    engine = reference_impl.open_engine(text_document(model, None, None)).greedy()
    text = long_text(rng)
    wanted = [i for i, _, _ in rules.cut(text)]
    for _ in range(2):
        assert engine.encode_ids(text) == wanted


@pytest.mark.parametrize("across", [[], ["b a", "e\na"]])
@pytest.mark.parametrize("on_bytes", [True, False])
def test_threads_share_a_text(on_bytes: bool, across: list[str]) -> None:
    rng = random.Random(3)
    text = "".join(long_text(rng) for _ in range(10)) * 40
    tokens = [*some_tokens(rng, 30), *across]
    if on_bytes:
        document = word_piece([token.encode() for token in tokens if len(token.encode()) > 1])
        rules: Any = twin.byte_tokens(document["model"]["vocab"])
        cut = rules.cut(text.encode())
    else:
        names = [f"<0x{byte:02X}>" for byte in range(256)]
        vocab = {token: i for i, token in enumerate(dict.fromkeys([*names, *tokens]))}
        document = text_document(models.BPE(vocab, [], byte_fallback=True), None, None)
        cut = twin.TextRules(vocab, byte_fallback=True).cut(text)
    engine = reference_impl.open_engine(document).greedy()
    assert len(text.encode()) > 2**19  # long enough to be cut
    wanted = [[i for i, _, _ in cut], engine.encode_ids("a b")]
    for threads in (1, 3):
        ids, splits = engine.encode_ragged([text, "a b"], threads=threads)
        assert ids.tolist() == wanted[0] + wanted[1]
        assert splits.tolist() == [0, len(wanted[0]), len(ids)]


PUNCTUATION_THEN_SPACE = pre_tokenizers.Sequence(
    [pre_tokenizers.Punctuation(), pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)]
)


@pytest.mark.parametrize("on_bytes", [True, False])
def test_threads_share_a_text_that_a_pre_tokenizer_changes(on_bytes: bool) -> None:
    """The pre-tokenizer cuts the text, and inserts a mark or a space at each cut. Greedy mode joins the pieces, so
    tokens can reach across a cut."""
    if on_bytes:
        document = word_piece([b"a ", b". "], PUNCTUATION_THEN_SPACE)
        unit = "a."
    else:
        names = [f"<0x{byte:02X}>" for byte in range(256)]
        vocab = {token: i for i, token in enumerate([*names, "a", "\u2581", "a\u2581"])}
        document = text_document(models.BPE(vocab, [], byte_fallback=True), None, METASPACES[0])
        unit = "a "
    engine = reference_impl.open_engine(document).greedy()
    text = unit * 300_000
    alone = engine.encode_ragged([text], threads=1)[0].tolist()
    assert alone[:100] == engine.encode_ids(unit * 200)[:100]
    assert engine.encode_ragged([text], threads=3)[0].tolist() == alone
