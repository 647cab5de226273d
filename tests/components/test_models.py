"""Models on text: tokens, offsets and refusals as the reference's, for every model, option and odd vocabulary."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, trainers

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, UnsupportedError, VocabularyError

Model = dict[str, Any]
Token = tuple[int, str, tuple[int, int]]

UNIGRAM: Model = {"type": "Unigram", "unk_id": 0, "byte_fallback": False}
WORD_PIECE: Model = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
WORD_LEVEL: Model = {"type": "WordLevel", "unk_token": "[UNK]"}
BPE: Model = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
LINES = """The quick brown fox jumps over the lazy dog; the dogs and foxes were jumping quickly, again and again.
def tokenize(text): return [token for token in text.split() if token]  # élan, naïve, Straße, Ünïcödé
日本語の文章を分割する。中文分词也在这里。 Привет, мир! 👩‍👩‍👧 🇫🇷 1234567890 00000000 ======== \t\t\n\n"""
TEXT = LINES * 3
BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]


def text_of(model: Model) -> str:
    return json.dumps(model, ensure_ascii=False)


def reference(model: Model | str) -> tokenizers.Tokenizer:
    text = model if isinstance(model, str) else text_of(model)
    rest = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    head = '{"version":"1.0","added_tokens":[],' + "".join(f'"{name}":null,' for name in rest)
    return tokenizers.Tokenizer.from_str(head + f'"model":{text}}}')


def reference_tokens(tokenizer: tokenizers.Tokenizer, piece: str) -> list[Token] | None:
    """None where the reference fails to encode."""
    try:
        return [(t.id, t.value, t.offsets) for t in tokenizer.model.tokenize(piece)]
    except Exception:
        return None


def our_tokens(ours: _core.TextModel, piece: str) -> list[Token] | None:
    try:
        tokens: list[Token] = ours.tokenize(piece)
    except VocabularyError:
        return None
    return tokens


def check(model: Model, *pieces: str) -> None:
    """Both load the model and make the same of the pieces, also when the thread has seen them before."""
    theirs, ours = reference(model), _core.TextModel(text_of(model))
    assert len(ours) == theirs.get_vocab_size(False)
    written = json.loads(theirs.to_str())["model"]
    assert json.loads(ours.options) == {k: v for k, v in written.items() if k not in ("vocab", "merges")}
    for piece in pieces * 2:
        assert our_tokens(ours, piece) == reference_tokens(theirs, piece), piece


def check_both_refuse(model: Model) -> None:
    with pytest.raises(Exception, match=r"."):  # the reference raises Exception itself
        reference(model)
    with pytest.raises(VocabularyError):
        _core.TextModel(text_of(model))


def without(model: Model, *names: str) -> Model:
    return {name: value for name, value in model.items() if name not in names}


def ids(*tokens: str) -> dict[str, int]:
    return {token: i for i, token in enumerate(tokens)}


def bpe(tokens: list[str], merges: list[Any], **options: object) -> Model:
    return {**BPE, **options, "vocab": ids(*tokens), "merges": merges}


# ---- trained models, on text and on what hostile text there is


def trained(model: models.Model, trainer: trainers.Trainer, words: list[str]) -> Model:
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.train_from_iterator(words, trainer=trainer)
    result: Model = json.loads(tokenizer.to_str())["model"]
    return result


def hostile(seed: int, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    chars = [*"aeth ▁<>0x41##é", "\0", "\u0301", "\u200d", "語", "ﬁ", "👩", "\U0010ffff", "\ud7ff", "\ue000", "\n"]
    pieces = ["".join(rng.choices(chars, k=rng.randint(1, 40))) for _ in range(count)]
    return [*pieces, "a" * 5000, "the" * 2000, "\U0010ffff" * 999, "語" * 3000, TEXT[rng.randint(0, 99) :]]


WORDS = TEXT.split()
TRAINED = {
    "bpe": lambda: trained(
        models.BPE(unk_token="<unk>", fuse_unk=True),
        trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False),
        ["▁" + w for w in WORDS],
    ),
    "bpe_lines": lambda: trained(
        models.BPE(), trainers.BpeTrainer(vocab_size=400, show_progress=False), TEXT.splitlines()
    ),
    "bpe_affixes": lambda: trained(
        models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"),
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=["<unk>"],
            continuing_subword_prefix="##",
            end_of_word_suffix="</w>",
            show_progress=False,
        ),
        WORDS,
    ),
    "word_piece": lambda: trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False),
        WORDS,
    ),
    "word_level": lambda: trained(
        models.WordLevel(unk_token="[UNK]"),
        trainers.WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False),
        WORDS,
    ),
    "unigram": lambda: trained(
        models.Unigram(),
        trainers.UnigramTrainer(vocab_size=200, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False),
        WORDS,
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_trained(name: str) -> None:
    model = TRAINED[name]()
    check(model, *WORDS, *("▁" + w for w in WORDS), TEXT, TEXT.replace(" ", "▁"), *hostile(1))


def test_trained_with_byte_fallback() -> None:
    model = TRAINED["bpe"]()
    size = len(model["vocab"])
    model["vocab"].update({token: size + i for i, token in enumerate(BYTE_TOKENS)})
    for options in ({}, {"fuse_unk": False}, {"ignore_merges": True}, {"unk_token": None}):
        check({**model, "byte_fallback": True, **options}, *WORDS, TEXT, *hostile(2))
    unigram = TRAINED["unigram"]()
    unigram["vocab"] += [[token, -30.0] for token in BYTE_TOKENS]
    check({**unigram, "byte_fallback": True}, *WORDS, TEXT, *hostile(3))


# ---- what a file may leave out, and how it may be wrong

TINY = {
    "BPE": bpe(["<unk>", "a", "b", "ab"], ["a b"]),
    "WordPiece": {**WORD_PIECE, "vocab": ids("[UNK]", "a", "##b", "ab")},
    "WordLevel": {**WORD_LEVEL, "vocab": ids("[UNK]", "a", "b")},
    "Unigram": {**UNIGRAM, "vocab": [["<unk>", 0.0], ["a", -1], ["b", -1.5], ["ab", -2.25]]},
}
WRONG: list[object] = [None, "x", 1, -1, 99, 2.0, 0.5, True, [], {}, ["a"], {"a": 1}]


@pytest.mark.parametrize("name", TINY)
def test_fields(name: str) -> None:
    """Every field left out, of every other type, alone and with no type to go by."""
    accepted = refused = 0
    variants = [without(TINY[name], *names) for key in TINY[name] for names in ((key,), (key, "type"))]
    for key in TINY[name]:
        variants += [{**TINY[name], key: value} for value in WRONG]
        variants += [{**without(TINY[name], "type"), key: value} for value in WRONG if key != "type"]
    for model in variants:
        try:
            theirs = reference(model)
        except Exception:
            refused += 1
            with pytest.raises(VocabularyError):
                _core.TextModel(text_of(model))
            continue
        accepted += 1
        try:
            ours = _core.TextModel(text_of(model))
        except UnsupportedError:
            continue
        assert json.loads(ours.options)["type"] == type(theirs.model).__name__
        if model.get("dropout") in (None, 0, 1):
            check(model, "ab", "ba", "aab", "x", "axxb", "q")
    assert accepted > 2
    assert refused > 10


def test_untyped_files_are_guessed_in_order() -> None:
    everything = {**TINY["BPE"], **TINY["WordPiece"], "merges": []}
    for model in (everything, without(everything, "merges"), without(everything, "merges", "max_input_chars_per_word")):
        check(without(model, "type"), "ab", "a", "x")
    check(without({**everything, "merges": ["no such"]}, "type"), "ab", "a", "x")
    check_both_refuse({"vocab": {}})
    check_both_refuse({**TINY["BPE"], "type": "bpe"})


@pytest.mark.parametrize("dropout", [-0.1, 1.0000001, 1e40, -1e-50, 1.00000001, 0.0, 1, 0, 1e-50])
def test_dropout_range(dropout: float) -> None:
    model = {**TINY["BPE"], "dropout": dropout}
    try:
        reference(model)
    except Exception:
        check_both_refuse(model)
    else:
        check(model, "ab", "abab", "xabx")


@pytest.mark.parametrize(
    "merges",
    [
        ["a b", ["a", "b"]],
        [["a", "b"], "a b"],
        ["#version: 0.2", "a b"],
        ["#versionx y z w", "a b"],
        ["a b", "#version", "ab a"],
        [["#version", "b"]],
        ["a  b"],
        ["a"],
        ["a b a"],
        [["a"]],
        [["a", "b", "a"]],
        ["a z"],
        ["z a"],
        ["b a"],
        [["a", "b"], ["ab", "a"], ["a", "b"]],
        ["ab a", "b a", "a b"],
        [["a", 1]],
        ["\u3000a b"],
        [" b"],
        ["a "],
        [[], []],
    ],
)
def test_merge_lists(merges: list[Any]) -> None:
    model = bpe(["<unk>", "a", "b", "ab", "aba"], merges)
    try:
        reference(model)
    except Exception:
        check_both_refuse(model)
    else:
        check(model, "ab", "aba", "abaab", "bab")


@pytest.mark.parametrize("i", [1.0, -1, 2**32, "1", None, 2**64])
def test_ids_that_are_none(i: object) -> None:
    check_both_refuse({**TINY["WordLevel"], "vocab": {"a": i}})


def test_ids_with_holes_and_repeated_strings() -> None:
    check({**TINY["WordLevel"], "vocab": {"a": 70, "[UNK]": 3, "": 9}}, "a", "b")
    text = '{"type":"WordLevel","unk_token":"a","vocab":{"a":5,"b":1,"a":0}}'
    ours, theirs = _core.TextModel(text), reference(text)
    for piece in ("a", "b", "c"):
        assert ours.tokenize(piece) == reference_tokens(theirs, piece)


def test_what_is_not_native_is_said_to_be_so() -> None:
    for model in (
        {**TINY["WordLevel"], "vocab": {"a": 1, "b": 1}},
        {**TINY["WordLevel"], "vocab": {"a": 2**21}},
        {**TINY["WordLevel"], "vocab": {"a": 2**20}},
        bpe(["a", "ab", "##"], [["a", "##"]], continuing_subword_prefix="##"),
        bpe(["a"], [], byte_fallback=True, end_of_word_suffix="</w>"),
    ):
        reference(model)
        with pytest.raises(UnsupportedError):
            _core.TextModel(text_of(model))


def test_merges_that_the_reference_panics_at() -> None:
    for right in ("b", "#é"):
        with pytest.raises(VocabularyError, match="cut by the prefix"):
            _core.TextModel(text_of(bpe(["a", "ab", right], [["a", right]], continuing_subword_prefix="##")))


# ---- BPE, option by option


def test_bpe_unknown_characters() -> None:
    tokens = ["<unk>", "a", "b", "ab", "<0x79>", "<0xC3>"]
    pieces = ("xx", "axxb", "axb", "xya", "xyxa", "xé", "yyx", "yab", "éab", "abxab", "y" * 99 + "x" * 99)
    for unk in (None, "<unk>", "<nope>", ""):
        for fuse in (False, True):
            for fallback in (False, True):
                check(bpe(tokens, ["a b"], unk_token=unk, fuse_unk=fuse, byte_fallback=fallback), *pieces)
    check(bpe(["", "a"], [], unk_token=""), "a", "ax")


def test_bpe_merges_over_what_is_no_text() -> None:
    """The tokens of bytes and of the unknown can be merged, too; and bytes are their own strings as text."""
    tokens = ["<unk>", "a", "<unk>a", "<unk><unk>", *BYTE_TOKENS, "<0x0A>a", "a<0x0A>", "<0x0A><0x0A>", *"<0xA>"]
    merges = [["<unk>", "a"], ["<unk>", "<unk>"], ["<0x0A>", "a"], ["<0x0A>", "<0x0A>"], ["a", "<0x0A>"]]
    pieces = ("xa", "xxa", "xaxxa", "\na", "\n\na", "a\n\n\n", "\n" * 300, "<0x0A>a", "x" * 300 + "a")
    for fallback in (False, True):
        for fuse in (False, True):
            check(bpe(tokens, merges, unk_token="<unk>", fuse_unk=fuse, byte_fallback=fallback), *pieces)
    spelled = [["<", "0"], ["<0", "x"], ["<0x", "0"], ["<0x0", "A"], ["<0x0A", ">"]]
    tokens += ["<0", "<0x", "<0x0", "<0x0A"]
    check(bpe(tokens, spelled, byte_fallback=True), "<0x0A>", "\n<0x0A>\n", "a<0x0A>a" * 20)


def test_bpe_affixes() -> None:
    tokens = ["a", "##b", "##a", "ab", "##ab", "ab</w>", "##b</w>", "b", "b</w>", "a</w>", "##c"]
    merges = [["a", "##b"], ["##a", "##b"], ["a", "##b</w>"]]
    pieces = ("a", "b", "ab", "abab", "aba", "bab", "cab", "ccc", "abcab", "ab" * 50)
    for prefix in (None, "", "##"):
        for suffix in (None, "", "</w>"):
            used = merges if prefix == "##" else []
            for unk in (None, "a"):
                model = bpe(tokens, used, unk_token=unk, continuing_subword_prefix=prefix, end_of_word_suffix=suffix)
                check(model, *pieces)


def test_bpe_ignore_merges_looks_the_piece_up() -> None:
    tokens = ["a", "b", "ab", "ba", "xq", "bab", "a\0"]
    for ignore in (False, True):
        for dropout in (None, 0.0, 1.0):
            model = bpe(tokens, ["a b"], ignore_merges=ignore, dropout=dropout)
            check(model, "ba", "xq", "bab", "ab", "xqa", "a\0", "abab")


def test_bpe_cuts_and_long_words() -> None:
    """Words that fit the cache and not, cut at pairs of all lengths, and documents of one word."""
    letters = [*"abcd", "é", "語", "文", "👩", "\U0010ffff"]
    rng = random.Random(4)
    tokens, merges = list(letters), []
    for _ in range(80):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if left + right not in tokens and len(left + right) < 20:
            tokens.append(left + right)
            merges.append([left, right])
    model = bpe(tokens, merges)
    pieces = ["".join(rng.choices(letters, k=rng.choice([1, 3, 15, 16, 63, 64, 65, 300]))) for _ in range(200)]
    check(model, *pieces, "a" * 20000, "ab" * 9000, "".join(rng.choices(letters, k=30000)), "語文" * 5000)
    check(bpe(["a", *("a" * 2**i for i in range(1, 11))], [["a" * 2**i] * 2 for i in range(10)]), "a" * 12345)


@pytest.mark.parametrize("seed", range(6))
def test_bpe_documents_of_one_word(seed: int) -> None:
    """Merged in windows: no two letters are ever apart."""
    rng = random.Random(seed)
    tokens, merges = [*"ab"], []
    for left, right in ("aa", "ab", "ba", "bb"):
        tokens.append(left + right)
        merges.append([left, right])
    for _ in range(rng.choice([3, 20, 60])):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if left + right not in tokens and len(left + right) < 200:
            tokens.append(left + right)
            merges.append([left, right])
    rng.shuffle(merges)
    model = bpe(tokens, merges)
    come_round = "aab" * 9000 + "b" + "aab" * 9000
    check(model, "".join(rng.choices("ab", k=14000)), "a" * 9000, "ab" * 5000, "b" * 4097, "aab" * 3000, come_round)


def dropout_counts(count: Any, piece: str) -> float:
    return sum(count(piece) for _ in range(400)) / 400


def test_bpe_dropout_is_distributed_like_the_references() -> None:
    words = ["a" * 2**i for i in range(6)] + ["b", "ab", "abab"]
    merges = [["a" * 2**i] * 2 for i in range(5)] + [["a", "b"], ["ab", "ab"]]
    for dropout in (0.1, 0.5, 0.9):
        model = bpe(words, merges, dropout=dropout)
        theirs, ours = reference(model), _core.TextModel(text_of(model))
        for piece in ("a" * 32, "ab" * 10 + "a" * 10):
            want = dropout_counts(lambda p, m=theirs.model: len(m.tokenize(p)), piece)
            got = dropout_counts(ours.count, piece)
            # Standard errors are below 0.2 here.
            assert math.isclose(want, got, abs_tol=1.2), (dropout, piece)
            assert "".join(value for _, value, _ in ours.tokenize(piece)) == piece


def test_bpe_dropout_differs_from_call_to_call() -> None:
    ours = _core.TextModel(text_of(bpe(["a", "aa", "aaaa"], [["a", "a"], ["aa", "aa"]], dropout=0.5)))
    assert len({tuple(i for i, _, _ in ours.tokenize("a" * 64)) for _ in range(20)}) > 10


# ---- the other models


def test_word_piece() -> None:
    vocab = ids("[UNK]", "a", "##b", "##", "##bb", "éa", "a##", "#", "")
    pieces = ["a", "ab", "abb", "abbb", "x", "ax", "éab", "aaaaaa", "abbbb", "abbbbb", "éabbb", "##", "a##b", "#"]
    for most in (0, 1, 5, 2**40):
        for prefix in ("##", "", "é", "zz"):
            for unk in ("[UNK]", "", "nope"):
                model = {
                    **WORD_PIECE,
                    "vocab": vocab,
                    "max_input_chars_per_word": most,
                    "continuing_subword_prefix": prefix,
                    "unk_token": unk,
                }
                check(model, *pieces, "é" * 6)
    check({**WORD_PIECE, "vocab": {}}, "a")


def test_word_level() -> None:
    vocab = ids("[UNK]", "a", "", "語" * 20)
    for unk in ("[UNK]", "", "nope"):
        check({**WORD_LEVEL, "vocab": vocab, "unk_token": unk}, "a", "b", "語" * 20, "語" * 21)
    check({**WORD_LEVEL, "vocab": {}}, "a")


def test_unigram_unknown_characters() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["b", -2], ["ab", -0.5], ["xy", -100.0], ["", 5.0]]
    pieces = ("ab", "xxa", "<unk>", "axyb", "x<unk>y", "xy", "xyz", "zxy", "axya", "éxy語", "\0", "x" * 3000)
    for unk_id in (None, 0, 1, 3):
        for fallback in (False, True):
            for tokens in ([], BYTE_TOKENS, BYTE_TOKENS[:120]):
                scored = [[token, -5.0] for token in tokens]
                check({**UNIGRAM, "vocab": vocab + scored, "unk_id": unk_id, "byte_fallback": fallback}, *pieces)
    for small in ([], [["", 5.0]], [["a", 1.0], ["a", 2.0]], [["<unk>", 0.0], ["a", -1], ["a", -3], ["<unk>", -4]]):
        check({**UNIGRAM, "vocab": small, "unk_id": 0 if small else None}, "a", "aa", "x<unk>x", "b")


def test_unigram_ties_and_huge_scores() -> None:
    flat = [["<unk>", 0.0], *([t, -1.0] for t in ("a", "b", "aa", "ab", "ba", "bb", "aab", "abb"))]
    sums = [["<unk>", 0.0], ["a", -0.1], ["aa", -0.2], ["aaa", -0.3], ["aaaa", -0.4], ["aaaaa", -0.5]]
    huge = [["<unk>", -1.7e308], ["a", -1.7e308], ["b", 1.7e308], ["bb", 1.7e308], ["aa", -1.7e308]]
    small = [["<unk>", 5e-324], ["a", -5e-324], ["aa", -1e-323], ["b", 0.0], ["bb", -0.0]]
    pieces = ["".join(random.Random(i).choices("abx", k=1 + i % 25)) for i in range(100)]
    for vocab in (flat, sums, huge, small):
        check({**UNIGRAM, "vocab": vocab}, *pieces, "a" * 50)


def number_texts(rng: random.Random) -> str:
    digits = "".join(rng.choices("0123456789", k=rng.randint(1, 26)))
    match rng.randint(0, 6):
        case 0:
            return repr(-rng.random() * 15)
        case 1:
            return repr(struct.unpack("f", struct.pack("f", -rng.random() * 15))[0])
        case 2:
            return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300))
        case 3:
            return f"-{rng.randint(1, 9)}{digits}"
        case 4:
            return f"{rng.randint(1, 9)}{digits}.{digits[::-1]}"
        case 5:
            return f"-0.{'0' * rng.randint(0, 30)}{digits}e{rng.randint(-320, 300)}"
        case _:
            return f"{rng.randint(0, 9)}.{digits}E+{rng.randint(0, 250)}"


def test_unigram_scores_are_read_as_the_reference_reads_them() -> None:
    """Not always to the nearest double; the difference decides ties."""
    rng = random.Random(5)
    texts = [number_texts(rng) for _ in range(4000)]
    scores = ",".join(f'["{i}",{text}]' for i, text in enumerate(texts))
    model = f'{{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[{scores}]}}'
    want = [score for _, score in json.loads(reference(model).to_str())["model"]["vocab"]]
    assert want != [float(text) for text in texts]
    cartridge = _core.TextModel(model).cartridge
    assert struct.pack(f"<{len(want) + 1}d", *want, min(want)) in cartridge


# ---- anything at all

LETTERS = st.sampled_from([*"abcx▁#<", "é", "語", "👩", "\0", "\u0301"])
STRINGS = st.text(LETTERS, min_size=1, max_size=12)
PIECES = st.lists(st.one_of(st.text(LETTERS, min_size=1, max_size=60), st.text(min_size=1)), min_size=1, max_size=8)
SCORES = st.one_of(st.floats(-20, 5), st.sampled_from([0.0, -1.0, -2.0, -0.5, -1.5]))


@st.composite
def bpe_models(draw: st.DrawFn) -> Model:
    prefix, suffix = draw(st.sampled_from([(None, None)] * 6 + [("#", None), (None, "<"), ("##", "</w>"), ("", "")]))
    fallback = draw(st.booleans()) and not prefix and not suffix
    letters = draw(st.lists(LETTERS, min_size=1, max_size=7, unique=True))
    tokens = [f"{p}{c}{s}" for c in letters for p in {"", prefix or ""} for s in {"", suffix or ""}]
    tokens += ["<unk>"] + (BYTE_TOKENS if draw(st.booleans()) else BYTE_TOKENS[:0x79]) * fallback
    tokens = list(dict.fromkeys(tokens))
    rng = random.Random(draw(st.integers(0, 2**32)))
    merges = []
    for _ in range(draw(st.integers(0, 30))):
        left, right = rng.choice(tokens[:40]), rng.choice(tokens[:40] if rng.random() < 0.5 else tokens[-10:])
        if len(right) <= len(prefix or "") or not right.startswith(prefix or ""):
            continue
        product = left + right[len(prefix or "") :]
        if len(product) > 30:
            continue
        merges.append([left, right])
        if product not in tokens:
            tokens.append(product)
    rng.shuffle(merges)
    if draw(st.booleans()):
        rng.shuffle(tokens)
    return bpe(
        tokens,
        merges,
        unk_token=draw(st.sampled_from([None, "<unk>", "<unk>", tokens[0], "<nope>"])),
        fuse_unk=draw(st.booleans()),
        byte_fallback=fallback,
        ignore_merges=draw(st.booleans()),
        continuing_subword_prefix=prefix,
        end_of_word_suffix=suffix,
        dropout=draw(st.sampled_from([None, None, None, 0.0, 1.0])),
    )


@st.composite
def other_models(draw: st.DrawFn) -> Model:
    tokens = draw(st.lists(STRINGS, max_size=30, unique=True))
    kind = draw(st.sampled_from(["WordPiece", "WordLevel", "Unigram"]))
    if kind == "Unigram":
        vocab = [["<unk>", draw(SCORES)], *([token, draw(SCORES)] for token in tokens)]
        fallback = draw(st.booleans())
        vocab += [[token, -3.0] for token in BYTE_TOKENS] * (fallback and draw(st.booleans()))
        unk_id = draw(st.sampled_from([None, 0, 0, 0, len(vocab) - 1]))
        return {**UNIGRAM, "vocab": vocab, "unk_id": unk_id, "byte_fallback": fallback}
    prefix = draw(st.sampled_from(["##", "#", "", "é"]))
    tokens = list(dict.fromkeys(["[UNK]", *tokens, *(prefix + t for t in tokens[::2])]))
    unk = draw(st.sampled_from(["[UNK]", "[UNK]", "nope", tokens[-1]]))
    if kind == "WordLevel":
        return {**WORD_LEVEL, "vocab": ids(*tokens), "unk_token": unk}
    most = draw(st.sampled_from([3, 10, 100]))
    return {
        **WORD_PIECE,
        "vocab": ids(*tokens),
        "unk_token": unk,
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": most,
    }


@settings(max_examples=150, deadline=None)
@given(bpe_models(), PIECES)
def test_any_bpe(model: Model, pieces: list[str]) -> None:
    tokens = list(model["vocab"])
    check(model, *pieces, *(t for t in tokens[:10] if t), "".join(tokens)[:300], "".join(pieces))


@settings(max_examples=150, deadline=None)
@given(other_models(), PIECES)
def test_any_other(model: Model, pieces: list[str]) -> None:
    tokens = [t if isinstance(t, str) else t[0] for t in model["vocab"]]
    check(model, *pieces, *(t for t in tokens[:10] if t), "".join(tokens)[:300], "".join(pieces))


# ---- cartridges that lie


SECTIONS = {3: "trie", 4: "offsets", 5: "tokens", 8: "bytes", 9: "merges", 10: "pairs", 19: "filter", 21: "characters"}


@pytest.mark.parametrize("name", ["BPE", "Unigram"])
def test_a_changed_byte_is_refused_or_changes_nothing(name: str) -> None:
    """Of all sections but the scores: those are what they are. (Checksums are the business of verify_cartridge.)"""
    ours = _core.TextModel(text_of({**TINY[name], "byte_fallback": True}))
    file, pieces = ours.cartridge, ("ab", "ba", "xab", "aabb", "<0x41>")
    want = [ours.tokenize(piece) for piece in pieces]
    refused = set()
    for i in range(struct.unpack_from("<I", file, 16)[0]):
        kind, _, offset, size = struct.unpack_from("<IIQQ", file, 64 + 32 * i)
        rng = random.Random(kind)
        for at in {offset + rng.randrange(size) for _ in range(60)} if size and kind in SECTIONS else ():
            damaged = bytearray(file)
            damaged[at] ^= rng.choice([1, 0x80, 0xFF])
            try:
                opened = _core.TextModel.open(bytes(damaged))
            except CartridgeError:
                refused.add(SECTIONS[kind])
            else:
                assert [opened.tokenize(piece) for piece in pieces] == want, (SECTIONS[kind], at - offset)
    expected = {"trie", "offsets", "tokens", "bytes"}
    assert refused == expected | ({"merges", "pairs", "filter", "characters"} if name == "BPE" else set())
