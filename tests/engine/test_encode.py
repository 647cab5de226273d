"""Whole encodings against the reference, for every shape of published vocabulary."""

from __future__ import annotations

import lzma
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from tests.support import reference_impl
from tests.support.encode_shapes import PIECES, SHAPES, opened, vocabulary

cpu = reference_impl.cpu


@pytest.fixture(params=SHAPES, scope="module")
def both(request: pytest.FixtureRequest, cpu: str) -> reference_impl.Both:
    return opened(request.param, cpu)


@pytest.fixture(scope="module")
def gpt2_both(cpu: str) -> reference_impl.Both:
    return opened("gpt2", cpu)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    text=reference_impl.texts_of(PIECES, size=20),
    pair=st.none() | reference_impl.texts_of(PIECES, size=6),
    special=st.booleans(),
    as_text=st.booleans(),
)
def test_texts_of_pieces(both: reference_impl.Both, text: str, pair: str | None, special: bool, as_text: bool) -> None:
    both.check(text, pair, add_special_tokens=special, special_as_text=as_text)


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(both: reference_impl.Both, text: str) -> None:
    both.check(text)
    both.check([text, text[::2]], is_pretokenized=True)


def test_pieces_side_by_side(both: reference_impl.Both) -> None:
    rng = random.Random(3)
    for piece in PIECES:
        both.check(piece)
        for other in rng.sample(PIECES, 3):
            both.check(piece + other)
    shuffled = PIECES * 3
    rng.shuffle(shuffled)
    both.check("".join(shuffled), "".join(shuffled[::-1]))


@pytest.mark.slow
@pytest.mark.concurrency
def test_documents(both: reference_impl.Both) -> None:
    """Text like that of the training, text of new words, and both a second time, when the thread's cache has them."""
    for seed in (1, 2):
        text = reference_impl.generated_text(random.Random(seed), 12_000)
        for _ in range(2):
            both.check(text)
    both.reference.encode_special_tokens = False
    documents = reference_impl.generated_text(random.Random(4), 30_000).split("\n\n")
    want = [encoding.ids for encoding in both.reference.encode_batch(documents)]
    for threads in (1, 2):
        flat, splits = both.engine.encode_ragged(documents, threads=threads)
        assert [flat[a:b].tolist() for a, b in pairwise(splits)] == want


@pytest.mark.slow
def test_all_code_points(both: reference_impl.Both) -> None:
    """Each between letters, a few at a time, so that a difference is found near."""
    points = [
        chr(c)
        for c in [*range(0x3400), *range(0xA000, 0x11000), *range(0x11000, 0x110000, 131)]
        if not 0xD800 <= c < 0xE000
    ]
    texts = ["".join(f"a{c}b {c}" for c in points[i : i + 50]) for i in range(0, len(points), 50)]
    both.reference.encode_special_tokens = False
    for text, want in zip(texts, both.reference.encode_batch(texts), strict=True):
        assert both.engine.encode_ids(text) == want.ids, ascii(text)


PUBLISHED = ("gpt2", "roberta-base", "phi-2", "whisper-tiny", "llama3", "qwen")


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(shared: Path, name: str, cpu: str) -> None:
    """A little of each real text; the parity harness reads all of them."""
    both = reference_impl.Both((shared / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8"))
    texts = [piece + other for piece, other in pairwise(PIECES)]
    for corpus in ("english", "code", "multi"):
        with lzma.open(shared / "corpus" / f"{corpus}.txt.xz", "rt", encoding="utf-8") as file:
            texts += [file.read(2000) for _ in range(12)]
    for text in texts:
        both.check(text)
    both.check(texts[-1], texts[-2], add_special_tokens=False)


# -- shapes of input that the engine treats apart


def test_words_around_the_size_of_keys(gpt2_both: reference_impl.Both) -> None:
    """Words of up to 15 bytes are looked up by keys of 16, which may not read past the end of the text."""
    rng = random.Random(7)
    for size in range(1, 40):
        for letters in ("etaoin", "\u0430\u0431\u0432", "\u4e2d\u6587", "q"):
            word = "".join(rng.choices(letters, k=size))
            for text in (word, " " + word, word + " a", f"{word} {word}", f"{word}1"):
                gpt2_both.check(text)
                gpt2_both.check(text)


@pytest.mark.parametrize("word", ["a", " the", "qzx", "\u4e2d", "1 "])
def test_around_the_size_of_blocks(gpt2_both: reference_impl.Both, word: str) -> None:
    """Pretokens are cut and looked up in blocks of 256."""
    for count in (*range(254, 259), 511, 512, 513, 1024):
        gpt2_both.check(f"{word}!" * (count // 2) + word * (count % 2))
        gpt2_both.check(f" {word}" * count)


@pytest.mark.slow
def test_more_words_than_the_cache_holds(gpt2_both: reference_impl.Both) -> None:
    """Words of more than one token fall out of the cache, and come back."""
    rng = random.Random(8)
    words = [" " + "".join(rng.choices("qzxjkvw", k=rng.randint(4, 11))) for _ in range(25_000)]
    text = "".join(words) + "".join(reversed(words)) + "".join(words[:100]) * 3
    want = gpt2_both.reference.encode(text).ids
    for _ in range(2):
        assert gpt2_both.engine.encode_ids(text) == want


def test_nothing(both: reference_impl.Both) -> None:
    for special in (True, False):
        both.check("", add_special_tokens=special)
        both.check("", "", add_special_tokens=special)
        both.check([], is_pretokenized=True, add_special_tokens=special)
        both.check([""], ["", ""], is_pretokenized=True, add_special_tokens=special)
    assert both.engine.encode_bytes(b"") == []
    flat, splits = both.engine.encode_ragged([])
    assert (flat.tolist(), splits.tolist()) == ([], [0])
    assert both.engine.count_tokens([]) == []
    flat, splits = both.engine.encode_ragged([""] * 3, add_special_tokens=False)
    assert (flat.tolist(), splits.tolist()) == ([], [0, 0, 0, 0])


def test_ragged_arrays_outlive_the_engine() -> None:
    engine = reference_impl.open_engine(vocabulary("gpt2"))
    flat, splits = engine.encode_ragged(["the nation", "a"])
    want = flat.tolist()
    del engine
    assert flat.tolist() == want
    assert flat.flags.writeable
    assert splits.dtype == np.int64
    assert splits[-1] == len(flat)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("first", ["", "\x01\x02\x03", " the nation"], ids=["nothing", "an id for each byte", "words"])
def test_first_texts_that_are_not_like_the_rest(gpt2_both: reference_impl.Both, first: str, threads: int) -> None:
    """Room for all ids is guessed from the first texts."""
    engine = gpt2_both.engine
    rest = [" the nation" * 500, "\x01" * 5000, "", "é the" * 700] * 60
    for texts in ([first] * 6000 + rest, [first * 30_000, *rest], [first * 300_000], rest + [first] * 6000):
        flat, splits = engine.encode_ragged(texts, threads=threads)
        want = {text: engine.encode_ids(text) for text in set(texts)}
        assert splits.tolist() == np.cumsum([0] + [len(want[text]) for text in texts]).tolist()
        assert flat.tolist() == [i for text in texts for i in want[text]]


# -- offsets


def character_offsets(text: str, tokens: list[bytes]) -> list[tuple[int, int]]:
    """The characters that each token has a byte of."""
    owner = [i for i, c in enumerate(text) for _ in c.encode()]
    out, at = [], 0
    for token in tokens:
        out.append((owner[at], owner[at + len(token) - 1] + 1))
        at += len(token)
    return out


@pytest.mark.parametrize("shape", ["gpt2", "cl100k", "o200k"])
def test_offsets_of_split_characters(shape: str, cpu: str) -> None:
    """Rare characters become several tokens, each of which covers the whole character."""
    both = opened(shape, cpu)
    for text in (
        "\u4e2d\u9f98\U0001f680x",
        "a\U0001f469\u200d\U0001f4bb\u00e9",
        "\U00020000" * 5,
        " \u20ac\u20ac 1\u20ac",
        "\U0001f642\u0301\u0301 \x00",
    ):
        encoding = both.engine.encode(text)
        tokens = [both.engine.id_to_bytes(id) for id in encoding.ids]
        assert b"".join(tokens) == text.encode()
        assert encoding.offsets == character_offsets(text, tokens)
        assert len(set(encoding.offsets)) < len(encoding.offsets)
        both.check(text, text, also_lookups=True)


def test_offsets_of_decomposed_text(cpu: str) -> None:
    """After NFC one character stands for several of the original."""
    both = opened("qwen", cpu)
    for text in (
        "e\u0301te\u0301",
        "a\u0323\u0307\u0301x",
        "\u1100\u1161\u11a8 \u1100\u1161",
        "\u212b\u212b",
        "q\u0301\u0323 e\u0301 <|end|>e\u0301",
        "\u0301a",
    ):
        both.check(text, "e\u0301 " + text, also_lookups=True)
        both.check([text, "x", text], is_pretokenized=True, also_lookups=True)


# -- bytes


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text().map(str.encode),
        st.lists(
            st.sampled_from([b" ", b"\xff", b"\xe4\xb8", b"\xad", b"a", b"'s", b"\xf0\x9f", b"\x80", b"\n", b"1"])
        ).map(b"".join),
    )
)
def test_any_bytes_come_back(both: reference_impl.Both, data: bytes) -> None:
    ids = both.engine.encode_bytes(data)
    assert both.engine.decode_bytes(ids) == data
    assert b"".join(both.engine.id_to_bytes(id) for id in ids) == data


def test_many_bytes_come_back(both: reference_impl.Both) -> None:
    rng = random.Random(9)
    for data in (rng.randbytes(100_000), bytes(range(256)) * 20, bytes(rng.choices(b"\xc3\xa9 \xff'a1\n", k=50_000))):
        assert both.engine.decode_bytes(both.engine.encode_bytes(data)) == data


def test_bytes_of_text_are_text(cpu: str) -> None:
    """Without added tokens and normalizer, text and its bytes are the same to the engine."""
    both = opened("gpt2", cpu)
    text = reference_impl.generated_text(random.Random(10), 5000)
    assert (
        both.engine.encode_bytes(text.encode()) == both.engine.encode_ids(text) == both.engine.encode_ids(text.encode())
    )
    assert len(both.engine.encode_bytes(b"<|end|>")) > len(both.engine.encode_ids("<|end|>")) == 1


def test_levels_agree_on_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(12)
    for shape in SHAPES:
        cartridge = reference_impl.compiled(vocabulary(shape))
        engines = []
        for level in _core.cpu_levels():
            monkeypatch.setenv("CRAYON_CPU", level)
            engines.append(_core.Engine.from_bytes(cartridge))
        assert [engine.cpu for engine in engines] == _core.cpu_levels()
        for _ in range(200):
            letters = rng.choice(
                [b"a 1\n'", b"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x99\x82 ", bytes(range(256)), b"ab'sS\xc5\xbf"]
            )
            data = bytes(rng.choices(letters, k=rng.randint(1, 300)))
            assert len({tuple(engine.encode_bytes(data)) for engine in engines}) == 1
