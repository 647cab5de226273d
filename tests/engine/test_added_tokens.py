"""Added tokens: where they match in a text, which white space they take, and how encodings show them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError
from tests.support import reference_impl
from tests.support.cartridge_cases import child
from tests.support.versions import shown_token

cpu = reference_impl.cpu

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
COMBINATIONS = [dict(zip(FLAGS, values, strict=True)) for values in itertools.product((False, True), repeat=len(FLAGS))]
MERGES = [(b" ", b"a"), (b"a", b"b"), (b" a", b"b"), (b" ", b" "), (b"<", b"m"), (b"m", b">"), (b"e", b"\xcc")]
# Every character that some library treats as white space, and similar ones that none does.
SPACES = list(" \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u180e\u2000\u2009\u200b\u2028\u2029\u202f\u205f\u3000\ufeff")
# Characters that all or some libraries treat as word characters: letters, marks, digits, joiners, newer letters.
WORDS = list(
    "aZ_0\u00e9\u00df\u0301\u0661\u00b2\u00bd\u2167\u203f\u4e2d\u3042\U0001d7d8\U00010400\u200d\u200c\u1e9e\u24b6"
)
OTHERS = list("-.'\u2019\u00b7\U0001f642\u20dd\x00\u00ad\ue000\u0378\U0010ffff")


class Maker:
    """Makes vocabularies with added tokens, opened in the engine and in ``tokenizers``. Each is compiled once for all
    instruction sets."""

    def __init__(self) -> None:
        self.made: dict[str, reference_impl.Both] = {}

    def __call__(self, tokens: list[AddedToken], **parts: Any) -> reference_impl.Both:
        text = with_tokens(tokens, **parts)
        if text not in self.made:
            self.made[text] = reference_impl.Both(text)
        return self.made[text]


@pytest.fixture(scope="module")
def both_with(cpu: str) -> Maker:
    return Maker()


def with_tokens(tokens: list[AddedToken], **parts: Any) -> str:
    document = reference_impl.byte_level_document(MERGES, more=["<s>", "</s>"], **parts)
    tokenizer = Tokenizer.from_str(json.dumps(document))
    for token in tokens:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer.to_str()


def gpt2_split(add_prefix_space: bool = False) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": True}


def check_all(both: reference_impl.Both, text: str) -> None:
    both.check(text)
    both.check(text, special_as_text=True)


# -- one token


@pytest.mark.parametrize("flags", COMBINATIONS, ids=lambda flags: "+".join(f for f in FLAGS if flags[f]) or "none")
def test_every_combination(both_with: Maker, flags: dict[str, bool]) -> None:
    """An added token with each combination of flags, next to white space, words and other characters on either side, at
    both ends of a text, and repeated."""
    both = both_with([AddedToken("<m>", **flags)])
    for side in ["", *SPACES, *WORDS, *OTHERS, "  ", "a ", " a", "\n \t", "\u3000\u00e9"]:
        for text in (f"{side}<m>", f"<m>{side}", f"x{side}<m>{side}x", f"<m>{side}<m>", f" {side}<m> <m>{side}"):
            both.check(text)
    for text in ("<m", "m>", "<<m>>", "<m><m><m>", "<m> <m>  <m>", "<<mm>>", "<m\u200b>", "", "<", "  <m>  " * 3):
        check_all(both, text)


# -- several tokens


OVERLAPPING = {
    # A special token read as text is still the longest match: tokens inside it do not match.
    "one that hides what begins in it": ["<abc>", "abc", "bc>d", "d"],
    "prefixes of each other": ["<", "<m", "<m>", "<m><m>", "m>a"],
    "suffixes of each other": ["ab", "b", "aab", "bb"],
    "the longest first": ["aaaa", "aa", "a"],
    "the longest last": ["aa", "aaa", "aaaaaa"],
    "crossing": ["abc", "bcd", "cd", "bc", "da"],
    "runs of spaces": ["  ", "    ", "      ", "\t", "\t\t"],
    "with spaces inside": ["a b", "b a", "a b a", " b ", "a  b"],
    "bytes in common": ["\u00e9", "\u00e8", "\u4e2d", "\u4e2d\u6587", "\u6587\u4e2d"],
    "spelled like the vocabulary": ["\u0120a", "\u0120", "ab", "<s>", "\u0120ab"],
}


@pytest.mark.parametrize("name", OVERLAPPING)
@pytest.mark.parametrize("shift", range(2))
def test_overlapping_contents(both_with: Maker, name: str, shift: int) -> None:
    contents = OVERLAPPING[name]
    combinations = itertools.cycle(COMBINATIONS[shift * 13 :] + COMBINATIONS)
    both = both_with([AddedToken(content, **next(combinations)) for content in contents])
    letters = [*sorted(set("".join(contents))), " "]
    pieces = contents + letters
    texts = ["".join(pair) for pair in itertools.product(pieces, repeat=2)]
    texts += ["".join(contents), " ".join(contents), "".join(reversed(contents)) * 2, "x".join(contents)]
    for text in texts:
        check_all(both, text)
        both.check_decode(both.reference.encode(text).ids)


NEIGHBOURS = [
    AddedToken("<m>"),
    AddedToken("<l>", lstrip=True),
    AddedToken("<r>", rstrip=True),
    AddedToken("<lr>", lstrip=True, rstrip=True, normalized=False),
    AddedToken("word", single_word=True, normalized=False),
    AddedToken("Wort", single_word=True, lstrip=True, rstrip=True),
    AddedToken("  "),
    AddedToken(" \n", lstrip=True, normalized=False),
    AddedToken("<s>", special=True),
    AddedToken("<sr>", special=True, rstrip=True, normalized=False),
]


_PIECES = "wo rd < m> ab e\u0301"
PIECES = [*(token.content for token in NEIGHBOURS), *SPACES, *WORDS[:8], *OTHERS[:6], *_PIECES.split()]


@settings(max_examples=250, deadline=None)
@given(
    reference_impl.texts_of(PIECES),
    st.none() | reference_impl.texts_of(PIECES, size=5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_texts_made_of_pieces(
    both_with: Maker, text: str, pair: str | None, prefix: bool, special_as_text: bool, nfc: bool
) -> None:
    parts: dict[str, Any] = {"pre_tokenizer": gpt2_split(prefix), "normalizer": {"type": "NFC"} if nfc else None}
    both = both_with(NEIGHBOURS, **parts)
    both.check(text, pair, special_as_text=special_as_text)


LETTERS = "ab <_\x00\u00e9\u0301\u0120\n\u3000\U0001f642"


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.text(LETTERS, min_size=1, max_size=4), st.sampled_from(COMBINATIONS)), max_size=5),
    st.lists(st.text(LETTERS, max_size=12), min_size=1, max_size=6),
    st.booleans(),
)
def test_any_tokens(both_with: Maker, tokens: list[tuple[str, dict[str, bool]]], texts: list[str], nfc: bool) -> None:
    unique = {content: AddedToken(content, **flags) for content, flags in tokens}
    both = both_with(list(unique.values()), normalizer={"type": "NFC"} if nfc else None)
    for text in texts + list(unique):
        check_all(both, text)
    check_contents(both, list(unique))


def check_contents(both: reference_impl.Both, contents: list[str]) -> None:
    """Compare ids by content, contents by id, and decoding, for tokens whose normalized content differs from their
    content."""
    assert both.engine.get_vocab() == both.reference.get_vocab()
    assert both.engine.get_vocab_size() == both.reference.get_vocab_size()
    for content in contents:
        for name in (content, *(change.normalize_str(content) for change in (NFC, NFD, LOWER))):
            assert both.engine.token_to_id(name) == both.reference.token_to_id(name), ascii(name)
        token_id = both.reference.token_to_id(content)
        assert both.engine.id_to_token(token_id) == shown_token(both.reference, token_id), ascii(content)
        both.check_decode([token_id])
        both.check_decode([token_id, 5, token_id])


# -- tokens and the normalizer


NFC, NFD, LOWER = normalizers.NFC(), normalizers.NFD(), normalizers.Lowercase()
_COMPOSED = "\u00e9t\u00e9 e\u0301a \u1e9b\u0323 \u212b \u0301 \u0301x \uac00 \u1100\u1161 a\u0323\u0307 x\u0338"
COMPOSED = _COMPOSED.split()
CHANGING: dict[str, dict[str, Any]] = {
    "NFC": {"type": "NFC"},
    "NFD": {"type": "NFD"},
    "NFKC": {"type": "NFKC"},
    "Lowercase": {"type": "Lowercase"},
    "StripAccents": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
    "Strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "Replace": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    "Prepend": {"type": "Prepend", "prepend": "\u2581"},
}
CONTENTS = [*COMPOSED, "AB", "ab", " a b ", "a b", "A", "\ufb01", "\u2581ab", "\u0120A", "<S>", "\u00c9 x"]


def changed_by(content: str, normalizer: dict[str, Any]) -> str:
    text: str = Tokenizer.from_str(with_tokens([], normalizer=normalizer)).normalizer.normalize_str(content)
    return text


def distinct(contents: list[str], normalizer: dict[str, Any]) -> list[str]:
    """Keep the first of all contents with the same normalized form, because the reference chooses among them by hash
    order. Contents whose normalized form is empty are dropped."""
    first: dict[str, str] = {}
    for content in contents:
        first.setdefault(changed_by(content, normalizer), content)
    first.pop("", None)
    return list(first.values())


@pytest.mark.parametrize("special", [(False, False), (True, True), (False, True)])
def test_two_contents_with_one_normalized_form(special: tuple[bool, bool]) -> None:
    """Of two contents with one normalized form, the reference finds either. The engine finds a special one, or if none
    is special the first."""
    contents = ["AB x", "ab x"]
    tokens = [AddedToken(content, normalized=True, special=s) for content, s in zip(contents, special, strict=True)]
    text = with_tokens(tokens, normalizer={"type": "Lowercase"})
    engine = reference_impl.open_engine(text)
    first = engine.token_to_id(contents[special == (False, True)])
    for sample in ("ab x", "Ab X", "AB x"):
        assert engine.encode_ids(sample) == [first]
        assert Tokenizer.from_str(text).encode(sample).ids in [[engine.token_to_id(content)] for content in contents]


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", CHANGING)
def test_contents_that_the_normalizer_changes(both_with: Maker, name: str, special: bool) -> None:
    """A token whose content the normalizer changes is identified by its content, and shown and decoded in its
    normalized form."""
    contents = distinct(CONTENTS, CHANGING[name])
    tokens = [AddedToken(content, normalized=True, special=special) for content in contents]
    for pre_tokenizer in ({"pre_tokenizer": gpt2_split(True)}, {"pre_tokenizer": None, "decoder": None}):
        both = both_with(tokens, normalizer=CHANGING[name], **pre_tokenizer)
        check_contents(both, contents)
        texts = [*CONTENTS, *map(str.lower, CONTENTS), "".join(CONTENTS), " ".join(CONTENTS)]
        texts += [f"x{content}y {content} " for content in CONTENTS]
        for text in texts:
            check_all(both, text)
            both.check(text, "a \u00e9")
            both.check_decode(both.reference.encode(text).ids)
        both.check([*CONTENTS, " "], is_pretokenized=True)


def test_a_token_of_which_the_normalizer_leaves_nothing_is_named() -> None:
    """An added token whose normalized content is empty is refused by name, since the reference would match it nowhere
    or everywhere."""
    for normalizer in ({"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "StripAccents"}):
        content = "\u0301" if normalizer["type"] == "StripAccents" else "  "
        text = with_tokens([AddedToken(content, normalized=True)], normalizer=normalizer)
        with pytest.raises(UnsupportedError, match="reduces to nothing"):
            reference_impl.compiled(text)


Found = list[tuple[int, int]]


# -- backward matching: a walk from the end of a text finds the longest key at each position in linear time


def longest(keys: list[bytes], text: bytes, start: int, stop: int) -> Found:
    """The definition: (length, index) of the longest key at each position from `start` to `stop`."""
    return [
        max(((len(key), value) for value, key in enumerate(keys) if text.startswith(key, at)), default=(0, -1))
        for at in range(start, stop)
    ]


def found(keys: list[bytes], text: bytes, start: int, stop: int) -> Found:
    numbered = sorted((key, value) for value, key in enumerate(keys))
    return _core._testing.match_backwards(*_core.build_double_array(numbered), text, start, stop)


@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=12, unique=True),
    st.lists(st.text("ab", max_size=12) | st.text("abc", max_size=4), max_size=8),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_any_keys(keys: list[str], parts: list[str], start: int, size: int) -> None:
    spelled, text = [key.encode() for key in keys], "".join(parts).encode()
    start = min(start, len(text))
    stop = min(start + size, len(text))
    assert found(spelled, text, start, stop) == longest(spelled, text, start, stop)


# -- added tokens, long enough for backward matching


@pytest.mark.parametrize("shift", range(3))
def test_contents_of_many_kinds(both_with: Maker, shift: int) -> None:
    """Added tokens that are prefixes and suffixes of each other. Some have conditions that fail, some take white
    space."""
    contents = ["a" * size for size in range(1, 40)] + ["a" * size + "b" for size in range(1, 60, 7)]
    contents += [" " * size + "a" for size in range(1, 20, 3)] + ["b" + "a" * 50]
    kinds: list[dict[str, Any]] = (COMBINATIONS[shift * 11 :] + COMBINATIONS) * 3
    both = both_with([AddedToken(content, **kind) for content, kind in zip(contents, kinds, strict=False)])
    text = "".join(
        "a" * size + "b " + " " * (size % 13) + "_" * (size % 2) for size in (90, 3, 41, 77, 12, 60, 59, 200)
    )
    check_all(both, text)


HOSTILE = {
    "one": ["a" * 200_000 + "b"],
    "normalized": ["a" * 200_000 + "b"],
    "prefixes": [*("a" * size for size in range(2, 200)), "a" * 200_000 + "b"],
}
LIMITED = """
import resource, sys
from crayon_hf import _core
engine = _core.Engine.from_bytes(sys.stdin.buffer.read())
used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
resource.setrlimit(resource.RLIMIT_CPU, (used + 20, used + 20))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear(name: str) -> None:
    """Searching from each position would take hours; the process that encodes is killed after seconds."""
    pytest.importorskip("resource")
    document = with_tokens([AddedToken(content, normalized=name == "normalized") for content in HOSTILE[name]])
    done = child(
        LIMITED + 'print(len(engine.encode_ids("a" * 4_000_000)))',
        lines=_core.compile_tokenizer_json(document.encode()),
    )
    assert done.returncode == 0, done.stderr
    expected = -(-4_000_000 // 199) if name == "prefixes" else 4_000_000
    assert int(done.stdout) == expected


CUT = """
text = (" a" * 2_000 + " c") * 400
ids, _ = engine.encode_ragged([text])
assert ids.tolist() == engine.encode_ids(text)
print(len(ids))
"""


def test_time_to_find_where_a_long_text_can_be_cut_is_linear() -> None:
    """The text cannot be cut between its words: at each word an added token may continue, and another added token
    matches for long before it fails."""
    pytest.importorskip("resource")
    tokens = [AddedToken(content, normalized=False) for content in (" a" * 4_000 + "b", "a b", " a d", "c b")]
    document = with_tokens(tokens, pre_tokenizer=gpt2_split())
    done = child(LIMITED + CUT, lines=_core.compile_tokenizer_json(document.encode()))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 400 * 2_002
