"""Longest match: greedy mode, the form of tokenizer.json that requests it, and the search for a single token give the
results of a plain longest match (greedy_reference.py)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from crayon_hf.errors import UnsupportedError, VocabularyError
from tests.support import greedy_reference as twin
from tests.support import reference_impl
from tests.support.cartridge_cases import child, rewritten, sections_of
from tests.support.greedy_reference import ON_BYTES, assert_ids, component, some_tokens, text_document, word_piece

cpu = reference_impl.cpu
on_every_cpu = pytest.mark.usefixtures("cpu")

NO_FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


@on_every_cpu
@settings(max_examples=60, deadline=None)
@given(reference_impl.texts_of(["ab", " a", "é", "<s>", "  "]), st.booleans())
def test_offsets_over_bytes(text: str, prefix: bool) -> None:
    document = word_piece([b"ab", b" ab", b"a\xc3", b"\xa9 ", b"  a", b"bab"])
    document["pre_tokenizer"]["add_prefix_space"] = prefix
    space = " " if prefix and text and not text.startswith(" ") else ""
    tokens = twin.byte_tokens(document["model"]["vocab"]).cut((space + text).encode())
    encoding = reference_impl.open_engine(document).greedy().encode(text)
    assert encoding.ids == [i for i, _, _ in tokens]
    assert encoding.offsets == twin.byte_offsets(text, tokens, len(space))
    assert encoding.word_ids == [0] * len(tokens)


def test_special_tokens_come_from_added_tokens_alone() -> None:
    """A token of the model that is also a special added token does not match in plain text, unless it is a single
    byte."""
    document = reference_impl.byte_level_document([(b"<", b"s"), (b"<s", b">"), (b"<s>", b"!")])
    vocab = document["model"]["vocab"]
    for token in ("<s>", "x"):
        document["added_tokens"].append({"id": vocab[token], "content": token} | NO_FLAGS | {"special": True})
    engine = reference_impl.open_engine(document).greedy()
    assert engine.encode("<s><s>!x").tokens == ["<s>", "<s>", "!", "x"]
    as_text = engine.encode("<s><s>!x", special_as_text=True)
    assert as_text.tokens == ["<s", ">", "<s>!", "x"]
    assert engine.encode_ids("<s><s>!x", special_as_text=True) == as_text.ids == engine.encode_bytes(b"<s><s>!x")
    assert engine.longest_match(b"<s>") == (vocab["<s"], 2)
    assert engine.longest_match(b"xy") == (vocab["x"], 1)
    # Other added tokens make it a special token, or plain text again.
    freed = engine.with_components(engine.components, [])
    assert freed.encode("<s>x").tokens == ["<s>", "x"]
    again = freed.with_components(freed.components, engine.added_tokens())
    assert again.encode_ids("<s>", special_as_text=True) == [vocab["<s"], vocab[">"]]


@pytest.mark.parametrize(
    "model",
    [
        models.BPE({"a": 0}, [], unk_token="<unk>"),
        models.Unigram([("a", -1.0)], None, False),
        models.WordLevel({"a": 0}, unk_token="<unk>"),
    ],
)
def test_no_unknown_token_to_give(model: Any) -> None:
    engine = reference_impl.open_engine(text_document(model, None, None)).greedy()
    assert engine.encode_ids("aa") == [0, 0]
    for call in (engine.encode, engine.encode_ids):
        with pytest.raises(VocabularyError):
            call("ab")


def test_modes() -> None:
    document = reference_impl.byte_level_document([(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")])
    exact = reference_impl.open_engine(document)
    greedy = exact.greedy()
    assert (exact.mode, greedy.mode, greedy.greedy().mode) == ("exact", "greedy", "greedy")
    assert exact.encode("abc").tokens == ["a", "bc"]
    assert greedy.encode("abc").tokens == greedy.greedy((999, 0)).encode("abc").tokens == ["abc"]
    assert greedy.components == exact.components
    rows = [{"id": 300, "content": "bc"} | NO_FLAGS]
    changed = [engine.with_components(exact.components, rows) for engine in (greedy, exact)]
    for engine in (changed[0], changed[1].greedy()):
        assert engine.mode == "greedy"
        assert engine.encode("abcabca").tokens == ["a", "bc", "a", "bc", "a"]
        assert engine.added_tokens() == rows
    upper = json.loads(greedy.components) | {"normalizer": {"type": "Lowercase"}}
    assert greedy.with_components(json.dumps(upper)).encode("ABC").tokens == ["abc"]
    with pytest.raises(UnsupportedError, match="pipeline without ByteLevel"):
        greedy.with_components(json.dumps(upper | {"pre_tokenizer": None}))


def test_unknown_ids() -> None:
    """`unknown=(first, id)` replaces every id from `first` on by `id` in all calls. Offsets stay those of the
    tokens."""
    document = word_piece([b"abc"], ON_BYTES[1])
    plain, named = (reference_impl.open_engine(document).greedy(unknown) for unknown in (None, (98, 7)))
    text = "abc éa<m>"
    for engine in (named, named.with_components(named.components), named.greedy((98, 7))):
        ids = [i if i < 98 else 7 for i in plain.encode(text).ids]
        assert 7 in ids
        assert_ids(engine, text, ids)
        assert engine.encode_bytes(text.encode()) == ids
        assert engine.encode(text).offsets == plain.encode(text).offsets
        assert engine.encode(text).tokens == [plain.id_to_token(i) for i in ids]
        assert engine.longest_match(b"abc") == (7, 3)
    rows = [{"id": 300, "content": "<m>"} | NO_FLAGS]
    assert named.with_components(named.components, rows).encode_ids("<m>") == [300]
    model = models.BPE({"ab": 0, "b": 1, "a": 2}, [])
    on_text = reference_impl.open_engine(text_document(model, None, pre_tokenizers.Metaspace())).greedy((1, 0))
    assert_ids(on_text, "abba", [0, 0, 0])
    for bad in ((0, 257), (0, 2**31)):
        with pytest.raises(ValueError, match="the id for unknown tokens"):
            plain.greedy(bad)
    for wrong in ((-1, 0), (0,), (0, 1, 2), 5):
        with pytest.raises(TypeError):
            plain.greedy(wrong)


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
    return "".join(rng.choices(twin.LETTERS + (more if rng.random() < 0.3 else ""), k=rng.randint(1, 14)))


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


PUNCTUATION_THEN_SPACE = pre_tokenizers.Sequence(
    [pre_tokenizers.Punctuation(), pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)]
)


def text_bpe(tokens: list[str], pre_tokenizer: Any = None) -> reference_impl.Document:
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    vocab = {token: i for i, token in enumerate(dict.fromkeys([*names, *tokens]))}
    return text_document(models.BPE(vocab, [], byte_fallback=True), None, pre_tokenizer)


@pytest.mark.parametrize("kind", ["words", "tokens across words", "inserted marks"])
@pytest.mark.parametrize("on_bytes", [True, False])
def test_threads_share_a_text(on_bytes: bool, kind: str) -> None:
    """Threads give the ids of one thread, also if a pre-tokenizer cuts the text and inserts a mark or a space at each
    cut. Greedy mode joins the pieces, so tokens can reach across a cut."""
    rng = random.Random(3)
    if kind == "inserted marks":
        text = ("a." if on_bytes else "a ") * 300_000
        bytes_document = word_piece([b"a ", b". "], PUNCTUATION_THEN_SPACE)
        document = bytes_document if on_bytes else text_bpe(["a", "\u2581", "a\u2581"], METASPACES[0])
    else:
        text = "".join(long_text(rng) for _ in range(10)) * 15
        tokens = [*some_tokens(rng, 30), *(["b a", "e\na"] if "across" in kind else [])]
        longer = [token.encode() for token in tokens if len(token.encode()) > 1]
        document = word_piece(longer) if on_bytes else text_bpe(tokens)
    engine = reference_impl.open_engine(document).greedy()
    assert len(text.encode()) > 2**19  # long enough to be cut
    wanted = engine.encode_ids(text.encode())  # not cut
    for threads in (1, 3):
        ids, splits = engine.encode_ragged([text, "a b"], threads=threads)
        assert ids.tolist() == wanted + engine.encode_ids("a b")
        assert splits.tolist() == [0, len(wanted), len(ids)]


# -- the form of tokenizer.json that requests longest match


SHAPES = {
    "plain": {},
    "pattern": {"pre_tokenizer": component(ON_BYTES[1])},
    "prefix": {"pre_tokenizer": component(ON_BYTES[2]), "normalizer": {"type": "NFC"}},
    "family": {"pre_tokenizer": component(ON_BYTES[3])},
    "any pre-tokenizer": {"pre_tokenizer": component(ON_BYTES[6])},
}


@pytest.fixture(scope="module", params=SHAPES)
def both(request: pytest.FixtureRequest, cpu: str) -> reference_impl.Both:
    tokens = [b"ab", b" ab", b"a\xc3", b"\xa9 ", b"  a", b"b a", b"'ll", b"\xe4\xb8", b" 12", b"\r\n\n"]
    document = word_piece(tokens) | SHAPES[request.param]
    document["model"]["vocab"] |= {"": 300, "中": 301, "a b": 302, "[hole before]": 310}
    document["added_tokens"] = [
        {"id": 256, "content": "ab"} | NO_FLAGS | {"special": True},
        {"id": 311, "content": "<m>"} | NO_FLAGS | {"rstrip": True, "normalized": True},
    ]
    document["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    return reference_impl.Both(document)


@settings(max_examples=40, deadline=None)
@given(
    reference_impl.texts_of(["ab", " ab", "a", " ", "é ", "中", "'ll", "<m>", "12", "\r\n\n", "[hole before]"]),
    st.booleans(),
)
def test_the_shape_is_what_the_reference_makes_of_it(both: reference_impl.Both, text: str, as_text: bool) -> None:
    both.check(text, special_as_text=as_text)
    both.check(text, "ab a", also_lookups=True)
    both.check_decode(both.plain_reference.encode(text).ids)


def test_what_does_not_fit_stays_text() -> None:
    """WordPiece documents that differ from the form for longest match get text tables, and the reference's ids."""
    fits = word_piece([b"ab"])
    model, vocab = fits["model"], fits["model"]["vocab"]
    less = {token: i for token, i in vocab.items() if token != "z"}
    for change in (
        {"continuing_subword_prefix": "##"},
        {"max_input_chars_per_word": 100},
        {"max_input_chars_per_word": 2**48 - 1},
        {"vocab": less},
    ):
        changed = reference_impl.Both(fits | {"model": model | change})
        assert not changed.engine.info()["longest_match"]
        assert changed.engine.info()["tokens"] == "text"
        for text in ("abab z", "a" * 99, "a" * 101):
            changed.check(text)
    assert reference_impl.open_engine(fits | {"model": model | {"max_input_chars_per_word": 2**48}}).info()[
        "longest_match"
    ]
    for change in ({"unk_token": None}, {"continuing_subword_prefix": 1}, {"vocab": None}):
        with pytest.raises(VocabularyError):
            reference_impl.compiled(fits | {"model": model | change})


# -- one match


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=12), st.integers(0, 14))
def test_longest_match(data: bytes, start: int) -> None:
    document = word_piece([b"ab", b"abab", b"\x00\x00", b"\xff\xfe\xfd"])
    tokens = twin.byte_tokens(document["model"]["vocab"])
    want = tokens.match(data, start) if start < len(data) else (-1, 0)
    engine = reference_impl.open_engine(document)
    assert engine.longest_match(data, start) == engine.greedy().longest_match(data, start) == want
    assert engine.longest_match(data) == (tokens.match(data, 0) if data else (-1, 0))


UNVERIFIED = """
import sys
from crayon_hf import _core
for path in sys.stdin.read().split():
    engine = _core.Engine.open(path)
    for one in (engine, engine.greedy()):
        one.longest_match(bytes(range(256)) * 3, 7)
        one.encode_bytes(bytes(range(256)) * 3)
print("done")
"""


def test_arrays_that_were_never_verified_are_not_left(longest: bytes, tmp_path: Path) -> None:
    """For any contents of a trie that was not verified, a search stays inside the trie's arrays and ends."""
    rng = np.random.default_rng(9)
    size = len(sections_of(longest)[3]) // 12
    paths = []
    for number in range(60):
        limit = (size, 300, 2**31)[number % 3]
        trie = rng.integers(-limit, limit, 3 * size, np.int64)
        trie[size : 2 * size] = rng.integers(-1, 3 if number % 2 else size, size)
        trie[0] = rng.choice([1, -1, 2**31 - 1, -(2**31), size - 1])
        path = tmp_path / f"{number}.dat"
        path.write_bytes(rewritten(longest, {"trie": trie.astype(np.int32).tobytes()}))
        paths.append(str(path))
    done = child(UNVERIFIED, lines="\n".join(paths).encode())
    assert (done.returncode, done.stdout.decode().strip()) == (0, "done"), done.stderr.decode()[-500:]
