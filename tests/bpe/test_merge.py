"""Merging one pretoken: every way equals the plain twin, and the reference, on vocabularies of every order."""

from __future__ import annotations

import random
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import cartridge_reader as plain
from tests.support import reference_impl

cpu = reference_impl.cpu
pytestmark = pytest.mark.usefixtures("cpu")

Way = _core._testing.MergeWay
WAYS = (Way.usual, Way.short_arrays, Way.together, Way.sweeps, Way.heap)
LONGEST_TOGETHER = 15
LONGEST_SHORT = 64
MOST_PREEMPTIONS = 8  # after more of them the sweeps give way to the heap

ALPHABETS = ([b"a"], [b"a", b"b"], [b"a", b"b", b"c", b" "], [b"\x00", b"\xff", b"\xe4", b"\xb8", b"\xad"])
# Merges that make a pair of lower rank each time: (a, b) comes last, and what it makes is wanted by all before it.
PREEMPTING = [(b"ab", b"c"), (b"abc", b"ab"), (b"c", b"abc"), (b"b", b"abc"), (b"ab", b"ab"), (b"a", b"b")]


def ways_for(data: bytes) -> tuple[_core._testing.MergeWay, ...]:
    limits = {Way.together: LONGEST_TOGETHER, Way.short_arrays: LONGEST_SHORT}
    return tuple(way for way in WAYS if len(data) <= limits.get(way, len(data)))


def check_all(both: reference_impl.Both, document: reference_impl.Document, data: bytes) -> list[int]:
    """All ways equal the twin; on text the whole engine equals the reference. The ranks of the merges, in order."""
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
        merges += rng.choices(merges, k=len(merges) // 2)  # twice in the list: the later rank counts
    return reference_impl.byte_level_document(merges, seed=draw(st.integers(0, 9))), letters


@settings(max_examples=60, deadline=None)
@given(vocabularies(), st.data())
def test_random_vocabularies(vocabulary: tuple[reference_impl.Document, list[bytes]], data: st.DataObject) -> None:
    """One engine after the other takes several texts, so that what a text leaves behind meets the next."""
    document, letters = vocabulary
    both = reference_impl.Both(document)
    texts = st.lists(st.sampled_from(letters), max_size=150).map(b"".join)
    for text in data.draw(st.lists(texts, min_size=1, max_size=8)):
        check_all(both, document, text)


@pytest.mark.parametrize("ordered", [True, False])
def test_every_short_pretoken(ordered: bool) -> None:
    """All pretokens of up to nine letters of two, with many merges."""
    for seed in range(3):
        merges = reference_impl.random_merges(random.Random(seed), [b"a", b"b"], 24, longest=6, ordered=ordered)
        document = reference_impl.byte_level_document(merges, seed=seed)
        engine = reference_impl.open_engine(document)
        for size in range(1, 10):
            for letters in product(b"ab", repeat=size):
                want = reference_impl.merge(document, bytes(letters))[0]
                for way in WAYS:
                    assert _core._testing.merge_pretoken(engine, bytes(letters), way) == want, (bytes(letters), way)


@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 62, 63, 64, 65, 66, 127, 128, 129])
def test_around_the_limits_of_the_ways(size: int) -> None:
    rng = random.Random(size)
    for letters in ALPHABETS:
        document = reference_impl.byte_level_document(
            reference_impl.random_merges(rng, letters, 30, ordered=False), seed=size
        )
        both = reference_impl.Both(document)
        for _ in range(3):
            check_all(both, document, b"".join(rng.choices(letters, k=size)))
    if size > LONGEST_SHORT:
        with pytest.raises(ValueError, match="at most 64 bytes"):
            _core._testing.merge_pretoken(both.engine, b"a" * size, Way.short_arrays)
    if size > LONGEST_TOGETHER:
        with pytest.raises(ValueError, match="at most 15 bytes"):
            _core._testing.merge_pretoken(both.engine, b"a" * size, Way.together)


def test_nothing_is_merged_from_nothing() -> None:
    engine = reference_impl.open_engine(reference_impl.byte_level_document([(b"a", b"b")]))
    for way in WAYS:
        assert _core._testing.merge_pretoken(engine, b"", way) == []


# -- merges that make pairs of lower rank


@pytest.mark.parametrize("order", range(6))
def test_preempted_sweeps(order: int) -> None:
    """Few preemptions stay with the sweeps, many fall back to the heap, and what follows finds clean tables."""
    merges = PREEMPTING[order:] + PREEMPTING[:order]
    document = reference_impl.byte_level_document(merges, seed=order)
    both = reference_impl.Both(document)
    reached = set()
    for repeats in [*range(1, 14), 40, 3]:
        for text in (b"abc" * repeats, b"abcab" * repeats, b"cababc" * repeats + b"ab", b"ababababc" * repeats):
            reached.add(reference_impl.descents(check_all(both, document, text)) > MOST_PREEMPTIONS)
    if order == 0:
        assert reached == {False, True}


def test_a_chain_of_preemptions() -> None:
    """Each product is wanted by the merge of next lower rank: one letter starts a descent through all ranks."""
    letters = [bytes([c]) for c in b"bcdefghijklmnopqrstu"]
    merges = [(b"a" + b"".join(letters[:i]), letter) for i, letter in enumerate(letters)][::-1]
    document = reference_impl.byte_level_document(merges)
    both = reference_impl.Both(document)
    word = b"a" + b"".join(letters)
    for stop in range(2, len(word) + 1):
        applied = check_all(both, document, word[:stop] * 9)
        assert reference_impl.descents(applied) == 9 * (stop - 2)
        assert applied[: stop - 1] == sorted(applied[: stop - 1], reverse=True)


@pytest.mark.slow
def test_fallback_on_many_vocabularies() -> None:
    """Shuffled merges over long texts: both the sweeps and the fallback are met, often."""
    rng = random.Random(5)
    seen = {False: 0, True: 0}
    for seed in range(40):
        letters = ALPHABETS[1 + seed % 2]
        document = reference_impl.byte_level_document(
            reference_impl.random_merges(rng, letters, 25, longest=9, ordered=False)
        )
        both = reference_impl.Both(document)
        for size in (70, 90, 250):
            applied = check_all(both, document, b"".join(rng.choices(letters, k=size)))
            seen[reference_impl.descents(applied) > MOST_PREEMPTIONS] += 1
    assert min(seen.values()) > 10


# -- windows


@pytest.mark.parametrize("period", [1, 2, 3, 7, 64, 997, 3840, 4096, 5000])
def test_windows_that_come_round(period: int) -> None:
    """A long run of the same letters, whole and with some changed: as if all were merged at once."""
    rng = random.Random(period)
    for letters in ALPHABETS:
        document = reference_impl.byte_level_document(
            reference_impl.random_merges(rng, letters, 25, longest=9, ordered=period % 2 == 0)
        )
        engine = reference_impl.open_engine(document)
        run = b"".join(rng.choices(letters, k=period)) * (40_000 // (period * len(letters[0])) + 1)
        changed = bytearray(run)
        for at in rng.sample(range(len(run)), 3):
            changed[at] ^= 3
        for data in (run, bytes(changed), run[:4097], run[::-1]):
            assert _core._testing.merge_pretoken(engine, data, Way.usual) == _core._testing.merge_pretoken(
                engine, data, Way.heap
            )


# -- merges that never happen


def with_all_splits(merges: list[reference_impl.Merge]) -> list[reference_impl.Merge]:
    """Every way to make each product of two tokens, in the order of the products, as converters of ranks list them."""
    tokens = {bytes([b]) for b in range(256)} | {a + b for a, b in merges}
    out: dict[reference_impl.Merge, None] = {}
    for token in dict.fromkeys(a + b for a, b in merges):
        halves = ((token[:cut], token[cut:]) for cut in range(1, len(token)))
        out |= dict.fromkeys(both for both in halves if both[0] in tokens and both[1] in tokens)
    return list(out)


@pytest.mark.parametrize("ordered", [True, False])
def test_merges_that_never_happen(ordered: bool) -> None:
    """The table of merges that happen has less than the list, and words merged together are what the twin makes."""
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
            text = b"".join(rng.choices(letters, k=rng.randint(1, 15)))
            applied = check_all(both, document, text)
            assert set(applied) <= {rank for rank, *_ in happen}
    assert fewer > 5


def test_tokens_too_long_to_be_traced() -> None:
    """Of tokens of more than 256 bytes every merge counts as one that happens."""
    runs = [b"a" * size for size in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)]
    merges = [(run, run) for run in runs[:-1]] + [(runs[0], runs[-2]), (runs[-2], runs[0])]
    document = reference_impl.byte_level_document(merges)
    both = reference_impl.Both(document)
    cartridge = plain.Cartridge(reference_impl.compiled(document))
    assert all(cartridge.reachable_rank(m[1], m[2]) == m[0] for m in cartridge.merges())
    for size in (1, 3, 15, 64, 65, 128, 256, 257, 512, 700):
        check_all(both, document, b"a" * size)


# -- merges of odd kinds


def test_the_last_of_equal_merges_counts() -> None:
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"b")]
    document = reference_impl.byte_level_document(merges)
    both = reference_impl.Both(document)
    ids = document["model"]["vocab"]
    check_all(both, document, b"abc")
    assert both.engine.encode_ids("abc") == [ids["a"], ids["bc"]]
    first = reference_impl.open_engine(reference_impl.byte_level_document(merges[:2]))
    assert first.encode_ids("abc") == [ids["ab"], ids["c"]]


def test_several_merges_of_one_product() -> None:
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc"), (b"abc", b"abc"), (b"ab", b"cabc")]
    for shift in range(len(merges)):
        document = reference_impl.byte_level_document(merges[shift:] + merges[:shift], more=["cabc"], seed=shift)
        both = reference_impl.Both(document)
        for text in (b"abc", b"abcabc", b"aabcc", b"cabcab" * 20, b"abcabcabcabc" * 9):
            check_all(both, document, text)


def test_merges_of_tokens_that_no_bytes_spell() -> None:
    """They take ranks and are never used."""
    more = ["\u4e2d", "\u6587", "\u4e2d\u6587", " ", "a ", "", "b"]
    document = reference_impl.byte_level_document([(b"a", b"b"), (b"ab", b"ab")], more=more)
    document["model"]["merges"][:0] = [["\u4e2d", "\u6587"], ["a", " "], ["", "b"]]
    both = reference_impl.Both(document)
    for text in (b"ab" * 50, b"a b a ", "\u4e2d\u6587ab".encode(), b"b"):
        check_all(both, document, text)


def test_a_token_that_its_merges_do_not_make() -> None:
    """The entry abc is there, and nothing leads to it; with `ignore_merges` a whole pretoken is looked up first."""
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


@pytest.mark.slow
def test_more_merges_than_three_levels_of_ranks() -> None:
    """Waiting ranks are kept in a tree with a fan of 64: this takes its fourth level."""
    rng = random.Random(23)
    letters = [bytes([c]) for c in range(0x21, 0x7F)]
    twos = rng.sample([a + b for a in letters for b in letters], 513)
    merges = [(two[:1], two[1:]) for two in twos] + [(a, b) for a in twos for b in twos]
    rng.shuffle(merges)
    assert len(merges) > 64**3
    document = reference_impl.byte_level_document(merges)
    engine = reference_impl.open_engine(document)
    for size in (10, 40, 300, 3000):
        text = b"".join(rng.choices(twos, k=size))
        want = _core._testing.merge_pretoken(engine, text, Way.heap)
        assert (
            _core._testing.merge_pretoken(engine, text, Way.sweeps)
            == _core._testing.merge_pretoken(engine, text, Way.usual)
            == want
        )
    assert _core._testing.merge_pretoken(engine, text[:80], Way.sweeps) == reference_impl.merge(document, text[:80])[0]


# -- long pretokens


def run_vocabulary(letter: bytes = b"a") -> reference_impl.Document:
    """Runs of one letter: 2, 3, 4, 8, 16 and 64 of them are tokens."""
    halves = [(2, 1, 1), (4, 2, 2), (3, 2, 1), (8, 4, 4), (16, 8, 8), (64, 16, 48), (48, 16, 32), (32, 16, 16)]
    return reference_impl.byte_level_document([(letter * left, letter * right) for _, left, right in halves], seed=3)


@pytest.mark.parametrize("order", ["as they come", "reversed", "shuffled"])
def test_runs_of_one_letter(order: str) -> None:
    document = run_vocabulary()
    merges = document["model"]["merges"]
    if order == "reversed":
        merges.reverse()
    if order == "shuffled":
        random.Random(2).shuffle(merges)
    both = reference_impl.Both(document)
    for size in [*range(1, 140), 255, 256, 257, 511]:
        check_all(both, document, b"a" * size)
    for size in (999, 1000, 4095, 4096, 4097, 19_999, 20_000):
        want = both.reference.encode("a" * size).ids
        for way in (Way.usual, Way.sweeps, Way.heap):
            assert _core._testing.merge_pretoken(both.engine, b"a" * size, way) == want


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_long_random_pretokens_equal_the_reference(ordered: bool) -> None:
    rng = random.Random(11)
    for letters in ALPHABETS[1:3]:
        document = reference_impl.byte_level_document(
            reference_impl.random_merges(rng, letters, 60, ordered=ordered), seed=1
        )
        both = reference_impl.Both(document)
        text = b"".join(rng.choices(letters, k=20_000)).decode()
        want = both.reference.encode(text).ids
        for way in (Way.usual, Way.sweeps, Way.heap):
            assert _core._testing.merge_pretoken(both.engine, text.encode(), way) == want
        both.check(text)


# -- pretokens that are merged in windows

WINDOW = 4096
OVERLAP = 256


@pytest.mark.parametrize("ordered", [True, False])
def test_around_the_borders_of_windows(ordered: bool) -> None:
    rng = random.Random(17)
    sizes = {windows * (WINDOW - OVERLAP) + more for windows in (1, 2, 3) for more in (0, OVERLAP)}
    for letters in ALPHABETS[1:4]:
        merges = reference_impl.random_merges(rng, letters, 80, longest=40, ordered=ordered)
        engine = reference_impl.open_engine(reference_impl.byte_level_document(merges, seed=2))
        for size in sorted({size + shift for size in sizes for shift in (-2, -1, 0, 1, 2)}):
            text = b"".join(rng.choices(letters, k=size))
            assert _core._testing.merge_pretoken(engine, text, Way.usual) == _core._testing.merge_pretoken(
                engine, text, Way.heap
            )


@pytest.mark.slow
@pytest.mark.parametrize("longest", [OVERLAP // 2, OVERLAP, OVERLAP * 4, WINDOW, WINDOW * 4])
def test_tokens_longer_than_what_windows_share(longest: int) -> None:
    """Runs of a power of two of letters are tokens, and so are runs that end in another letter."""
    runs = [b"a" * (1 << i) for i in range(longest.bit_length())]
    merges = [(run, run) for run in runs[:-1]] + [(run, b"b") for run in runs]
    for order in (merges, merges[::-1]):
        document = reference_impl.byte_level_document(order)
        both = reference_impl.Both(document)
        for size in (WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW + 5, 9 * WINDOW):
            for text in (b"a" * size, b"a" * size + b"b", b"b" + b"a" * size, (b"a" * 700 + b"b") * (size // 700)):
                want = _core._testing.merge_pretoken(both.engine, text, Way.heap)
                assert _core._testing.merge_pretoken(both.engine, text, Way.usual) == want
                assert both.reference.encode(text.decode()).ids == want


def test_a_choice_that_reaches_back_through_many_windows() -> None:
    """Every pair of letters once, in falling rank: the last pair merges first, and each merge decides the one before.

    A letter less at the end changes all tokens, so windows have nothing in common until they reach it.
    """
    letters = [bytes([c]) for c in range(1, 0x7F)]
    walk = [b for i, a in enumerate(letters) for b in [a, *(x for c in letters[i + 1 :] for x in (a, c))]]
    text = b"".join(walk)  # the de Bruijn sequence: its Lyndon words a and ac in order
    assert len(text) == len(set(pairwise(walk))) + 1 == len(letters) ** 2 > 3 * WINDOW
    document = reference_impl.byte_level_document(list(pairwise(walk))[::-1])
    both = reference_impl.Both(document)
    starts = set()
    for piece in (text, text[:-1], text[1:-1], text * 3, (text + b" ") * 4 + text[:-1]):
        want = _core._testing.merge_pretoken(both.engine, piece, Way.heap)
        assert _core._testing.merge_pretoken(both.engine, piece, Way.usual) == want
        assert both.reference.encode(piece.decode()).ids == want
        starts.add(tuple(want[:50]))
    assert len(starts) > 1


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_pretokens_of_a_megabyte(ordered: bool) -> None:
    """The ways agree, and what they give spells the pretoken."""
    rng = random.Random(13)
    size = 1 << 20
    letters = ALPHABETS[2]
    merges = reference_impl.random_merges(rng, letters, 200, longest=20, ordered=ordered)
    engine = reference_impl.open_engine(reference_impl.byte_level_document(merges, seed=1))
    phrase = b"".join(rng.choices(letters, k=50))
    noise = b"".join(rng.choices(letters, k=size))
    for text in (b"a" * size, phrase * (size // len(phrase)), noise):
        usual = _core._testing.merge_pretoken(engine, text, Way.usual)
        assert (
            usual
            == _core._testing.merge_pretoken(engine, text, Way.sweeps)
            == _core._testing.merge_pretoken(engine, text, Way.heap)
        )
        assert engine.decode_bytes(usual) == text
    run = reference_impl.open_engine(run_vocabulary())
    text = b"a" * (size + 31)
    assert (
        _core._testing.merge_pretoken(run, text, Way.sweeps)
        == _core._testing.merge_pretoken(run, text, Way.heap)
        == run.encode_bytes(text)
    )
