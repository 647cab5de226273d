"""Pretokens cut before they are merged: never between characters that a merge joins, and to the same ids."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.formats import convert
from tests.bpe import byte_cuts_reference as twin
from tests.support import cartridge_reader as plain
from tests.support import reference_impl

Way = _core._testing.MergeWay

# Characters of each length whose bytes have ends and begins in common, and bytes that are no character.
CHARACTERS = "ab éèЖ の子か本語 😀😁🂀"
BYTES = [bytes([b]) for b in sorted({*CHARACTERS.encode(), 0x00, 0xBF, 0xC0, 0xFF})]
BROKEN = [b"\x80", b"\xe3\x81", b"\xf0\x9f\x98", b"\xc3", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80"]

SCRIPTS = (
    "日本語の文章を短く区切る。それから、もう一度。今日は天気が良いので、散歩に行きました。",
    "敏捷的棕色狐狸跳过懒狗、在打开右键菜单之后。请选择要启用的扩展名",
    "안녕하세요반갑습니다오늘은날씨가좋네요",
    "Пользователям имеющим привилегии администратора достопримечательностями",
    "Πλήκτρα λειτουργίας σε υπολογιστικά φύλλα",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ",
    "🙂👩‍👩‍👧‍👦🇩🇪déjà-vu“quoted”…naïve—ﬁn x\u0000y \uff14\uff15",
)


def products_of(document: reference_impl.Document) -> set[bytes]:
    return {
        reference_impl.token_bytes(left) + reference_impl.token_bytes(right)
        for left, right in document["model"]["merges"]
    }


def check(engine: _core.Engine, words: list[int], data: bytes) -> list[int]:
    """The engine cuts where the page says, and the parts merge to what the whole merges to."""
    at = _core._testing.cuts(engine, data)
    assert at == twin.cuts(words, data)
    ids = _core._testing.merge_pretoken(engine, data, Way.usual)
    parts = [data[start:end] for start, end in pairwise([0, *at, len(data)])]
    assert [i for part in parts for i in _core._testing.merge_pretoken(engine, part, Way.usual)] == ids
    return ids


def random_document(seed: int) -> reference_impl.Document:
    """Merges of bytes and characters: tokens begin and end inside characters."""
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


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32).map(random_document), st.lists(TEXTS.map(b"".join), min_size=1, max_size=6))
def test_random_vocabularies(document: reference_impl.Document, texts: list[bytes]) -> None:
    source = reference_impl.compiled(document)
    cartridge, engine = plain.Cartridge(source), _core.Engine.from_bytes(source)
    products = products_of(document)
    words = list(cartridge.byte_cuts)
    assert words == twin.build(products)
    for data in filter(None, texts):
        assert check(engine, words, data) == reference_impl.merge(document, data)[0] == engine.encode_bytes(data)
        for _, before, after in twin.borders(data):
            joined = twin.may_join(words, before, after)
            assert joined or not twin.is_crossed(products, before, after)


def test_few_cuts_are_missed() -> None:
    """Between all pairs of characters, by trying every place of every token."""
    crossed = missed = free = 0
    for seed in range(30):
        document = random_document(seed)
        products = products_of(document)
        engine = reference_impl.open_engine(document)
        for a in CHARACTERS:
            for b in CHARACTERS:
                if not (a + b).isascii():
                    cut = _core._testing.cuts(engine, (a + b).encode()) == [len(a.encode())]
                    is_crossed = twin.is_crossed(products, a.encode(), b.encode())
                    assert not (cut and is_crossed), (seed, a, b)
                    crossed += is_crossed
                    free += not is_crossed
                    missed += not is_crossed and not cut
    assert crossed > 100
    assert missed < free / 20


def test_next_to_what_is_no_character() -> None:
    """Nothing is cut there, nor between ASCII, nor before the first character or after the last."""
    engine = reference_impl.open_engine(reference_impl.byte_level_document())
    assert (
        _core._testing.cuts(engine, b"")
        == _core._testing.cuts(engine, b"a")
        == _core._testing.cuts(engine, "の".encode())
        == _core._testing.cuts(engine, b"ab" * 40)
        == []
    )
    assert _core._testing.cuts(engine, "aのéb😀c".encode()) == [1, 4, 6, 7, 11]
    for bad in (b"\x80", b"\xe3\x81", b"\xf0\x9f\x98", b"\xc3", b"\xff", b"\xf8\x88\x80\x80\x80"):
        for before in ("a", "é", "の", "😀"):
            data = before.encode() + bad + "の子".encode()
            assert _core._testing.cuts(engine, data) == [len(data) - 3], bad
            assert _core._testing.cuts(engine, data[: len(before.encode()) + len(bad)]) == [], bad
    for size in range(1, 5):  # a character that the end cuts off
        assert _core._testing.cuts(engine, "a😀".encode()[: 1 + size]) == ([1] if size == 4 else [])


def test_a_part_is_not_what_ignore_merges_makes_of_a_pretoken() -> None:
    """A token that merges never make is a pretoken's id, but no part's; the cache keeps the two apart."""
    # The merge that would make "の" comes too late: its second half is taken before.
    merges = [(b"\x81", b"\xae"), (b"\xe3", b"\x81"), (b"\xe3\x81", b"\xae"), (b"\xc3", b"\xa9"), (b"\xe5", b"\xad")]
    unmade = ["の", "子", "éé", "é"]
    document = reference_impl.byte_level_document(merges, more=[reference_impl.spell(text.encode()) for text in unmade])
    document["model"]["ignore_merges"] = True
    both = reference_impl.Both(document)
    cartridge = plain.Cartridge(reference_impl.compiled(document))
    rng = random.Random(2)
    texts = [*unmade, *("".join(rng.choices("のか子éa", k=n)) for n in (2, 5, 6, 7, 15, 16, 40, 200) for _ in range(8))]
    for text in [*texts, *texts[::-1], *unmade]:
        want = cartridge.define_pretoken(text.encode())
        assert both.engine.encode_ids(text) == want == both.reference.encode(text).ids, text
    flags = {text: cartridge.token_flags[cartridge.trie.find(text.encode())] for text in unmade}
    assert [bool(flag & plain.MERGED) for flag in flags.values()] == [False, False, False, True]
    assert all(flag & plain.WHOLE for flag in flags.values())


def test_a_long_pretoken() -> None:
    """Longer than the merger's windows, with and without places to cut."""
    document = reference_impl.byte_level_document([(b"\xe3", b"\x81"), (b"\xe3\x81", b"\xae"), (b"\xae", b"\xe3")])
    both = reference_impl.Both(document)
    last = "のあ子" * 2000 + "a" * 5000 + "の"
    for text, cuts in (("の" * 5000, 0), ("のか" * 3000, 2999), ("か" * 5000, 4999), (last, 4001)):
        assert both.engine.encode_ids(text) == both.reference.encode(text).ids
        assert len(_core._testing.cuts(both.engine, text.encode())) == cuts


# -- published vocabularies


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_parts_that_come_again(seed: int) -> None:
    """Parts are remembered, more of them than there is room for; some become more ids than an entry has room for."""
    rng = random.Random(seed)
    every = [chr(c) for c in (*range(0x20, 0xD800), *range(0xE000, 0x12000))]
    source = random_document(seed)
    source["model"]["ignore_merges"] = seed % 2 == 1
    for char in rng.sample(every, 3000):  # tokens that merging makes of two or three ids, or never
        source["model"]["vocab"].setdefault(reference_impl.spell(char.encode()), len(source["model"]["vocab"]))
    engine = _core.Engine.from_bytes(reference_impl.compiled(json.dumps(source)))
    known: dict[bytes, list[int]] = {}

    def want(data: bytes) -> list[int]:
        out: list[int] = []
        for start, end in pairwise([0, *_core._testing.cuts(engine, data), len(data)]):
            part = data[start:end]
            if part not in known:
                known[part] = list(_core._testing.merge_pretoken(engine, part, Way.sweeps))
            out += known[part]
        return out

    few = rng.choices(every, k=30)
    texts = ["".join(rng.choices(few, k=rng.randrange(20, 300))) for _ in range(60)]
    texts += ["".join(rng.sample(every, len(every))) for _ in range(2)]
    for text in [*texts, *texts[::-1]]:
        assert engine.encode_bytes(text.encode()) == want(text.encode())
    assert len(known) > 40_000


def published(shared: Path, name: str) -> str:
    directory = shared / "vocab" / name
    if (path := directory / "tokenizer.json").exists():
        return path.read_text(encoding="utf-8")
    return convert(str(directory / f"{name}.tiktoken")).tokenizer_json.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen", "o200k_base"])
def test_published_vocabularies(name: str, shared: Path) -> None:
    source = published(shared, name)
    data = reference_impl.compiled(source)
    cartridge, engine = plain.Cartridge(data), _core.Engine.from_bytes(data)
    products = {cartridge.bytes_of(i) for i in cartridge.merge_products}
    words = list(cartridge.byte_cuts)
    assert words == twin.build(products)
    reference = Tokenizer.from_str(source) if name != "o200k_base" else None
    rng = random.Random(name)
    long = sorted(token for token in products if not token.isascii())
    for _ in range(80):
        text = ""
        while len(text) < rng.choice((4, 12, 60)):
            script = rng.choice(SCRIPTS)
            at = rng.randrange(len(script))
            text += script[at : at + rng.randrange(1, 12)]
        check(engine, words, text.encode())
        # Tokens side by side: their ends and begins are where no cut may be missed by a byte.
        mixed = b"".join(rng.choices(long, k=rng.randrange(2, 8)))
        check(engine, words, mixed)
        if reference is not None:
            for sample in (text, mixed.decode(errors="ignore")):
                assert engine.encode_ids(sample, add_special_tokens=False) == (
                    reference.encode(sample, add_special_tokens=False).ids
                )
    for text in SCRIPTS:  # that no token crosses a cut, by trying every place, of some of them
        borders = list(twin.borders(text.encode()))
        _, before, after = rng.choice([border for border in borders if not twin.may_join(words, *border[1:])])
        assert not twin.is_crossed(long, before, after)


def test_text_tables_are_not_cut() -> None:
    document = reference_impl.byte_level_document()
    longest = document | {
        "model": {
            "type": "WordPiece",
            "unk_token": "a",
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": 2**53 - 1,
            "vocab": document["model"]["vocab"],
        }
    }
    with pytest.raises(Exception, match="byte-level vocabularies with merges"):
        _core._testing.cuts(reference_impl.open_engine(longest), b"a")
