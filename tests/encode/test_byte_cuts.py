"""Long pretokens are cut into parts before merging, only between characters that no merge joins, so ids stay the
same."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl

Way = _core._testing.MergeWay

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
def test_random_vocabularies(document: reference_impl.Document, texts: list[bytes]) -> None:
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
