"""Merging one pretoken: each of the engine's algorithms gives the ids of the plain twin and of ``tokenizers``."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import cartridge_reader as plain
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

Way = _core._testing.MergeWay
WAYS = (Way.usual, Way.together, Way.heap)
LONGEST_TOGETHER = 31
WINDOW = 16  # pretokens of more than twice as many bytes are merged in windows
OVERLAP = 4

ALPHABETS = ([b"a"], [b"a", b"b"], [b"a", b"b", b"c", b" "], [b"\x00", b"\xff", b"\xe4", b"\xb8", b"\xad"])
# Each merge makes a pair of lower rank possible: (a, b) is the last in rank, and all merges before it need its product.
PREEMPTING = [(b"ab", b"c"), (b"abc", b"ab"), (b"c", b"abc"), (b"b", b"abc"), (b"ab", b"ab"), (b"a", b"b")]


def ways_for(data: bytes) -> tuple[_core._testing.MergeWay, ...]:
    return tuple(way for way in WAYS if way != Way.together or len(data) <= LONGEST_TOGETHER)


def check_all(both: reference_impl.Both, document: reference_impl.Document, data: bytes) -> list[int]:
    """Check that all merge algorithms give the twin's ids for `data`, and, if `data` is text, that the whole engine
    gives the reference's. Returns the ranks of the merges in order."""
    want, applied = reference_impl.merge(document, data)
    for way in ways_for(data):
        assert _core._testing.merge_pretoken(both.engine, data, way) == want, way
    assert both.engine.encode_bytes(data) == want
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return applied
    assert both.engine.encode_ids(text) == want == both.reference.encode(text).ids
    return applied


@st.composite
def vocabularies(draw: st.DrawFn) -> tuple[reference_impl.Document, list[bytes]]:
    letters = draw(st.sampled_from(ALPHABETS))
    rng = random.Random(draw(st.integers(0, 2**32)))
    merges = reference_impl.random_merges(rng, letters, draw(st.integers(0, 40)), ordered=draw(st.booleans()))
    if draw(st.booleans()):
        merges += rng.choices(merges, k=len(merges) // 2)  # repeated in the list: the later rank counts
    document = reference_impl.byte_level_document(merges, seed=draw(st.integers(0, 9)), more=["\u4e2d", "a ", ""])
    if draw(st.booleans()):  # tokens outside the byte alphabet: they have ranks and are never used
        document["model"]["merges"][:0] = [["", "\u4e2d"], ["", "a "]]
    return document, letters


@settings(max_examples=100, deadline=None)
@given(vocabularies(), st.data())
def test_random_vocabularies(vocabulary: tuple[reference_impl.Document, list[bytes]], data: st.DataObject) -> None:
    """Each engine encodes several texts in turn, so that state left by one text would change the next text's ids."""
    document, letters = vocabulary
    both = reference_impl.Both(document)
    texts = st.lists(st.sampled_from(letters), max_size=150).map(b"".join)
    for text in data.draw(st.lists(texts, min_size=1, max_size=8)):
        check_all(both, document, text)


WINDOWS = [windows * (WINDOW - OVERLAP) + more for windows in (1, 2, 3, 8) for more in (0, OVERLAP)]
LIMITS = {0, 1, LONGEST_TOGETHER, 2 * WINDOW, 56, 57, 8 * WINDOW, *WINDOWS}


@pytest.mark.parametrize(
    "size", sorted({limit + shift for limit in LIMITS for shift in (-1, 0, 1, 2) if limit + shift >= 0})
)
def test_around_the_limits_of_the_ways(size: int) -> None:
    rng = random.Random(size)
    for letters in ALPHABETS:
        merges = reference_impl.random_merges(rng, letters, 80, longest=40, ordered=size % 2 == 0)
        document = reference_impl.byte_level_document(merges, seed=size)
        both = reference_impl.Both(document)
        for _ in range(3):
            check_all(both, document, b"".join(rng.choices(letters, k=size)))
    if size > LONGEST_TOGETHER:
        with pytest.raises(ValueError, match="at most 31 bytes"):
            _core._testing.merge_pretoken(both.engine, b"a" * size, Way.together)


# -- merges that make pairs of lower rank


@pytest.mark.parametrize("order", range(6))
def test_merges_that_make_pairs_of_lower_rank(order: int) -> None:
    merges = PREEMPTING[order:] + PREEMPTING[:order]
    document = reference_impl.byte_level_document(merges, seed=order)
    both = reference_impl.Both(document)
    falls = False
    for repeats in [*range(1, 14), 40, 3]:
        for text in (b"abc" * repeats, b"abcab" * repeats, b"cababc" * repeats + b"ab", b"ababababc" * repeats):
            applied = check_all(both, document, text)
            falls |= sorted(applied) != applied
    assert falls == (order < 5)


# -- merges that never happen


def with_all_splits(merges: list[reference_impl.Merge]) -> list[reference_impl.Merge]:
    """All ways to split each merge's product into two tokens, in order of products, as converters of rank files list
    them."""
    tokens = {bytes([b]) for b in range(256)} | {a + b for a, b in merges}
    out: dict[reference_impl.Merge, None] = {}
    for token in dict.fromkeys(a + b for a, b in merges):
        halves = ((token[:cut], token[cut:]) for cut in range(1, len(token)))
        out |= dict.fromkeys(both for both in halves if both[0] in tokens and both[1] in tokens)
    return list(out)


@pytest.mark.parametrize("ordered", [True, False])
def test_merges_that_never_happen(ordered: bool) -> None:
    """The table of reachable merges leaves out merges that never happen. The ids of pretokens that are merged together
    equal the twin's."""
    rng = random.Random(31)
    fewer = 0
    for seed in range(12):
        letters = ALPHABETS[seed % 4]
        merges = with_all_splits(reference_impl.random_merges(rng, letters, 40, ordered=ordered))
        document = reference_impl.byte_level_document(merges, seed=seed)
        both = reference_impl.Both(document)
        cartridge = plain.Cartridge(reference_impl.compiled(document))
        happen = [m for m in cartridge.merges() if cartridge.reachable_rank(m[1], m[2]) != plain.NO_RANK]
        fewer += len(happen) < len(merges)
        for _ in range(60):
            text = b"".join(rng.choices(letters, k=rng.randint(1, 31)))
            applied = check_all(both, document, text)
            assert set(applied) <= {rank for rank, *_ in happen}
    assert fewer > 5


# -- merges of odd kinds


def test_a_token_that_its_merges_do_not_make() -> None:
    """No merge makes the token abc, so only `ignore_merges`, which looks up whole pretokens first, can give it."""
    document = reference_impl.byte_level_document([(b"a", b"b")], more=["abc", "ca", "abcab" * 5, "b" * 15, "b" * 16])
    both = reference_impl.Both(document)
    check_all(both, document, b"abc")
    assert len(both.engine.encode_ids("abc")) == 2
    check_all(both, document, b"abcab" * 5)
    assert len(both.engine.encode_ids("abcab" * 5)) == 15
    document["model"]["ignore_merges"] = True
    both = reference_impl.Both(document)
    whole = document["model"]["vocab"]["abc"]
    for text in ("abc", "ca", "abcabc", "cab", "c" * 30, "abcab" * 5, "abcab" * 6, "b" * 15, "b" * 16, "b" * 17):
        both.check(text)
    assert both.engine.encode_ids("abc") == [whole]
    for way in WAYS:
        assert len(_core._testing.merge_pretoken(both.engine, b"abc", way)) == 2


# -- pretokens that are merged in windows


@pytest.mark.parametrize("longest", [OVERLAP, WINDOW * 8, WINDOW * 1024])
def test_runs_of_one_letter(longest: int) -> None:
    """Runs of one letter whose length is a power of two are tokens, also longer than the overlap of two windows. So is
    such a run followed by another letter."""
    runs = [b"a" * (1 << i) for i in range(longest.bit_length())]
    merges = [(run, run) for run in runs[:-1]] + [(run, b"b") for run in runs]
    for order in (merges, merges[::-1]):
        document = reference_impl.byte_level_document(order)
        both = reference_impl.Both(document)
        for size in [*range(1, 140, 3), 255, 256, 257]:
            check_all(both, document, b"a" * size)
        for size in (4095, 4096, 4097, 12293):
            for text in (b"a" * size, b"a" * size + b"b", b"b" + b"a" * size, (b"a" * 700 + b"b") * (size // 700)):
                want = both.reference.encode(text.decode()).ids
                for way in (Way.usual, Way.heap):
                    assert _core._testing.merge_pretoken(both.engine, text, way) == want


def test_a_choice_that_reaches_back_through_many_windows() -> None:
    """In this text the last pair of letters merges first, and each merge decides whether the pair before it can merge.

    So the last letter decides all tokens: windows of the merger share no token until one contains that letter.
    """
    letters = [bytes([c]) for c in range(1, 0x7F)]
    walk = [b for i, a in enumerate(letters) for b in [a, *(x for c in letters[i + 1 :] for x in (a, c))]]
    text = b"".join(walk)  # the de Bruijn sequence: its Lyndon words a and ac in order
    assert len(text) == len(set(pairwise(walk))) + 1 == len(letters) ** 2 > 800 * WINDOW
    document = reference_impl.byte_level_document(list(pairwise(walk))[::-1])
    both = reference_impl.Both(document)
    starts = set()
    for piece in (text, text[:-1], text[1:-1], text * 3, (text + b" ") * 4 + text[:-1]):
        want = _core._testing.merge_pretoken(both.engine, piece, Way.heap)
        assert _core._testing.merge_pretoken(both.engine, piece, Way.usual) == want
        assert both.reference.encode(piece.decode()).ids == want
        starts.add(tuple(want[:50]))
    assert len(starts) > 1


# -- long pretokens are cut into parts, only between characters that no merge joins

# Characters of each length that share first and last bytes, and bytes that are not UTF-8.
CHARACTERS = "ab éèЖ の子か本語 😀😁🂀"
BYTES = [bytes([b]) for b in sorted({*CHARACTERS.encode(), 0x00, 0xBF, 0xC0, 0xFF})]
BROKEN = [b"\x80", b"\xe3\x81", b"\xf0\x9f\x98", b"\xc3", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80"]


def random_document(seed: int) -> reference_impl.Document:
    """A vocabulary with merges of bytes and characters: tokens begin and end inside characters."""
    rng = random.Random(seed)
    letters = rng.sample(BYTES, rng.randrange(2, 13))
    merges = reference_impl.random_merges(rng, letters, rng.randrange(40), longest=9, ordered=rng.random() < 0.5)
    for char in rng.sample(CHARACTERS, rng.randrange(7)):  # and whole characters, built from their bytes
        spelled = char.encode()
        merges += [(spelled[:n], spelled[n : n + 1]) for n in range(1, len(spelled))]
    made = sorted({*letters, *(left + right for left, right in merges)})
    merges += zip(rng.choices(made, k=30), rng.choices(made, k=30), strict=True)
    return reference_impl.byte_level_document(list(dict.fromkeys(merges)), seed=seed)


TEXTS = st.lists(st.sampled_from([*CHARACTERS, *"aの子"]).map(str.encode) | st.sampled_from(BROKEN), max_size=40)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32).map(random_document), st.lists(TEXTS.map(b"".join), min_size=1, max_size=6))
@example(random_document(1), ["".join("の" + c * size for size in (14, 15, 16) for c in "xyzt").encode() * 20])
def test_parts_of_pretokens(document: reference_impl.Document, texts: list[bytes]) -> None:
    """Merging the parts of a pretoken gives the ids of merging the whole pretoken."""
    engine = reference_impl.open_engine(document)
    for data in filter(None, texts):
        want = reference_impl.merge(document, data)[0]
        at = _core._testing.cuts(engine, data)
        parts = [data[start:end] for start, end in pairwise([0, *at, len(data)])]
        assert [i for part in parts for i in _core._testing.merge_pretoken(engine, part, Way.usual)] == want
        assert _core._testing.merge_pretoken(engine, data, Way.usual) == want == engine.encode_bytes(data)


def test_next_to_what_is_no_character() -> None:
    """Pretokens are not cut next to invalid bytes, between ASCII characters, or at their two ends."""
    engine = reference_impl.open_engine(reference_impl.byte_level_document())
    assert (
        _core._testing.cuts(engine, b"")
        == _core._testing.cuts(engine, b"a")
        == _core._testing.cuts(engine, "の".encode())
        == _core._testing.cuts(engine, b"ab" * 40)
        == []
    )
    assert _core._testing.cuts(engine, "aのéb😀c".encode()) == [1, 4, 6, 7, 11]
    assert len(_core._testing.cuts(engine, "か".encode() * 5000)) == 4999
    for bad in (b"\x80", b"\xe3\x81", b"\xf0\x9f\x98", b"\xc3", b"\xff", b"\xf8\x88\x80\x80\x80"):
        for before in ("a", "é", "の", "😀"):
            data = before.encode() + bad + "の子".encode()
            assert _core._testing.cuts(engine, data) == [len(data) - 3], bad
            assert _core._testing.cuts(engine, data[: len(before.encode()) + len(bad)]) == [], bad
    for size in range(1, 5):  # a character cut off by the end of the text
        assert _core._testing.cuts(engine, "a😀".encode()[: 1 + size]) == ([1] if size == 4 else [])


def test_a_part_is_not_what_ignore_merges_makes_of_a_pretoken() -> None:
    """With `ignore_merges` a token that merges never make can be the id of a pretoken, but not of a part. The cache
    keeps the two apart."""
    # The merge that would make "の" comes too late: an earlier merge takes its second half.
    merges = [(b"\x81", b"\xae"), (b"\xe3", b"\x81"), (b"\xe3\x81", b"\xae"), (b"\xc3", b"\xa9"), (b"\xe5", b"\xad")]
    unmade = ["の", "子", "éé", "é"]
    document = reference_impl.byte_level_document(merges, more=[reference_impl.spell(text.encode()) for text in unmade])
    document["model"]["ignore_merges"] = True
    both = reference_impl.Both(document)
    rng = random.Random(2)
    texts = [*unmade, *("".join(rng.choices("のか子éa", k=n)) for n in (2, 5, 6, 7, 15, 16, 40, 200) for _ in range(8))]
    for text in [*texts, *texts[::-1], *unmade]:
        assert both.engine.encode_ids(text) == both.reference.encode(text).ids, text
