"""Decoding gives the text that ``tokenizers`` gives, by the fast path and by the general algorithm, loses no byte, and
refuses invalid ids."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from crayon_hf import _core
from crayon_hf.errors import TokenIdError
from tests.components.test_decoders import PIECES
from tests.support import reference_impl

cpu = reference_impl.cpu

MERGES = [(b" ", b"a"), (b"\xe4", b"\xb8"), (b"\xb8", b"\xad"), (b"\xf0\x9f", b"\x99"), (b"\xf0", b"\x9f")]
MERGES += [(b"a", b"\xe4"), (b"\x80", b"\x80")]
# Tokens outside the byte alphabet, the empty token, and added tokens of all kinds.
RAW = ["\u4e2d", " ", "", "a b", "\U0001f642", "\u0120 ", "\n"]
ADDED = [
    AddedToken("<s>", special=True),
    AddedToken("<|end|>", special=True, normalized=False),
    AddedToken(" x ", special=False),
    AddedToken("\u00e9", special=True),
    AddedToken("\u4e2d\u6587", lstrip=True),
    AddedToken("\u0120a", special=True),
    AddedToken("\u0120\u010a\u0120"),
    AddedToken("\u4e2d", special=True),
]
HOLE = 400


def make() -> str:
    document = reference_impl.byte_level_document(MERGES, more=RAW, seed=4)
    document["model"]["vocab"]["hole"] = HOLE
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_special_tokens([token for token in ADDED if token.special])
    tokenizer.add_tokens([token for token in ADDED if not token.special])
    return str(tokenizer.to_str())


@pytest.fixture(scope="module")
def both(cpu: str) -> reference_impl.Both:
    return reference_impl.Both(make())


@pytest.fixture(scope="module")
def ids(both: reference_impl.Both) -> list[int]:
    return sorted(both.reference.get_vocab().values())


def check(both: reference_impl.Both, ids: list[int]) -> None:
    vocab = {id: token for token, id in both.reference.get_vocab().items()}
    special = {id for id, token in both.reference.get_added_tokens_decoder().items() if token.special}
    for skip in (True, False):
        want = both.reference.decode(ids, skip)
        assert both.engine.decode(ids, skip) == want
        data = b"".join(reference_impl.token_bytes(vocab[id]) for id in ids if not (skip and id in special))
        assert both.engine.decode_bytes(ids, skip) == data
        assert want == data.decode(errors="replace")


def test_every_id(both: reference_impl.Both, ids: list[int]) -> None:
    for id in ids:
        check(both, [id])
    check(both, ids)
    check(both, ids[::-1] * 3)
    check(both, [])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_ids(both: reference_impl.Both, ids: list[int], data: st.DataObject) -> None:
    check(both, data.draw(st.lists(st.sampled_from(ids), max_size=30)))


def test_incomplete_utf8(both: reference_impl.Both) -> None:
    """Incomplete UTF-8 decodes to one U+FFFD for each longest beginning of a character, as in ``tokenizers``."""
    vocab = both.engine.get_vocab()

    def bytes_ids(data: bytes) -> list[int]:
        return [vocab[reference_impl.BYTE_CHARS[b]] for b in data]

    samples = [
        b"\xed\xa0\x80",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
        b"\xff\xfe",
        b"\xf8\x88\x80\x80\x80",
        b"\xf0\x80\x80\x80",
    ]
    rng = random.Random(1)
    samples += [
        bytes(rng.choices(b"\xe4\xb8\xad\xf0\x9f\x99\x82\xc3a\x80\xed\xa0\xf4\x8f\x90\xe0\xbf", k=rng.randint(1, 12)))
        for _ in range(500)
    ]
    for data in samples:
        check(both, bytes_ids(data))
        check(both, both.engine.encode_bytes(data))
        assert both.engine.decode_bytes(bytes_ids(data)) == data


def test_a_list_that_an_item_changes(both: reference_impl.Both) -> None:
    """If the `__index__` of an item changes the list of ids during decoding, the text may be wrong, but nothing
    crashes."""

    class Shrinking:
        def __index__(self) -> int:
            ids.clear()  # type: ignore[attr-defined]
            return 7

    ids: list[Any] = [Shrinking(), *range(50)]
    assert both.engine.decode(ids) == both.engine.decode([7])


def ways(engine: _core.Engine) -> list[Callable[[Any], Any]]:
    return [engine.decode, engine.decode_bytes, lambda ids: engine.decode_batch([[0], ids])]


@pytest.mark.parametrize("bad", [-1, HOLE - 1, HOLE + 1, 2**31, 2**32, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30])
def test_numbers_that_are_no_ids(both: reference_impl.Both, bad: int) -> None:
    forms: list[Any] = [[bad], [0, 1, bad], (0, bad)]
    if -(2**63) <= bad < 2**64:
        forms.append(np.array([3, bad], np.int64 if bad < 2**63 else np.uint64))
    for ids in forms:
        for call in ways(both.engine):
            with pytest.raises(TokenIdError, match=str(bad)):
                call(ids)
    if -(2**63) <= bad < 2**63:
        assert (both.engine.id_to_token(bad), both.engine.id_to_bytes(bad)) == (None, None)


NO_IDS = [["1"], [1.0], [None], [[1]], [1 + 0j], [np.float32(1)], 1, "12", b"12", None, np.array(3)]
NO_IDS += [np.ones(3).astype(dtype) for dtype in ("float32", "bool", "U3", "object", "datetime64[s]")]
NO_IDS += [np.array([[1, 2], [3, 4]])]


@pytest.mark.parametrize("bad", NO_IDS, ids=repr)
def test_what_are_no_ids(both: reference_impl.Both, bad: Any) -> None:
    for call in ways(both.engine):
        with pytest.raises(TypeError):
            call(bad)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4"])
def test_arrays(both: reference_impl.Both, dtype: str) -> None:
    ids = [*range(100), 5, 127]
    array = np.array(ids, dtype=dtype)
    want, backwards = both.engine.decode(ids), both.engine.decode(ids[::-1])
    read_only = array.copy()
    read_only.flags.writeable = False
    for form in (
        array,
        np.repeat(array, 2)[::2],
        read_only,
        list(array),
        iter(ids),
        (i for i in ids),
        memoryview(bytes(ids)),
    ):
        assert both.engine.decode(form) == want
    assert both.engine.decode(array[::-1]) == backwards
    assert both.engine.decode_bytes(array) == both.engine.decode_bytes(ids)
    assert both.engine.decode_batch([array, ids, array[:0]]) == [want, want, ""]
    assert both.engine.decode_batch(np.array([ids, ids[::-1]], dtype=dtype)) == [want, backwards]


@pytest.mark.slow
@pytest.mark.concurrency
@pytest.mark.parametrize("threads", [0, 1, 3])
def test_batches(both: reference_impl.Both, ids: list[int], threads: int) -> None:
    rng = random.Random(3)
    sequences = [rng.choices(ids, k=rng.randint(0, 400)) for _ in range(800)]
    for skip in (True, False):
        assert both.engine.decode_batch(sequences, skip, threads) == both.reference.decode_batch(sequences, skip)
    assert both.engine.decode_batch([], threads=threads) == []
    sequences[700] = [*ids, HOLE + 1]
    sequences[750] = [-5]
    with pytest.raises(TokenIdError, match=f"id {HOLE + 1} is"):
        both.engine.decode_batch(sequences, threads=threads)


Component = dict[str, Any]

BYTES = [f"<0x{byte:02X}>" for byte in (0x20, 0x41, 0xC3, 0xA9, 0xE2, 0x96, 0x81, 0xFF)]
_OTHERS = """<0x+1> <0x4\u2581> \u2581<0x41> <0x41>a n't 'm 's 've 're ' n do 'd ? ! , ,a ## ##. ##'s \u2581\u2581\u2581
x\u2581y\u2581 \u2582 \u2581. \u65e5\u672c \U0001f642"""
LONG = ["##a b .", "\u00e9" * 20, "the quick brown fox jumps over"]
TOKENS = list(dict.fromkeys([*PIECES, *BYTES, *_OTHERS.split(), *LONG]))


def _fallback(start: int, content: str = " ", spaced: str | None = "\u2581") -> Component:
    steps: list[Component] = []
    if spaced is not None:
        steps.append({"type": "Replace", "pattern": {"String": spaced}, "content": " "})
    steps += [{"type": "ByteFallback"}, {"type": "Fuse"}]
    steps.append({"type": "Strip", "content": content, "start": start, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _replace(content: str, **pattern: str) -> Component:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _steps(before: list[Component], after: list[Component]) -> Component:
    return {"type": "Sequence", "decoders": [*before, {"type": "ByteFallback"}, {"type": "Fuse"}, *after]}


STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
MARK = "\ufdd5\ufdda"
DECODERS: dict[str, Component] = {
    "SentencePiece": _steps(
        [
            _replace("", Regex=r"\A(?:\<s\>|do|\,)\z"),
            _replace(" ", String="\u2581"),
            _replace(f"{MARK}\u2047 ", Regex=r"\A(?:'|\?)\z"),
        ],
        [STRIP, _replace(" ", String=MARK)],
    ),
    "Replace that makes bytes": _steps([_replace("<0x41>", String="n"), _replace("<0xC3>", Regex=r"\A\!\z")], [STRIP]),
    "Replace of words by bytes": _steps([_replace("<0x41>", Regex=r"\A[a-z]+\z")], [STRIP]),
    "Replace that empties": _steps([_replace("", Regex="."), _replace("x", String="")], [_replace("", String=" ")]),
    "Replace of much": _steps([_replace("ab" * 200, Regex="[a-z]"), _replace(" ", String="b")], []),
    "Replace of too much": _steps([_replace("ab" * 300, Regex="[a-z]")], [_replace("yes", String="b")]),
    "WordPiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "WordPiece without cleanup": {"type": "WordPiece", "prefix": "##", "cleanup": False},
    "WordPiece without prefix": {"type": "WordPiece", "prefix": "", "cleanup": True},
    "Metaspace": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    "Metaspace that keeps": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
    "Metaspace of ASCII": {"type": "Metaspace", "replacement": "a", "prepend_scheme": "first", "split": True},
    "Llama": _fallback(1),
    "Llama that strips much": _fallback(3),
    "Llama that strips characters": _fallback(2, "\u2581", None),
    "Llama without Replace": _fallback(1, " ", None),
    "Llama of odd marks": _fallback(1, " ", "0"),
    "Llama without Strip": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
}


@cache
def document(name: str) -> str:
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(TOKENS)}, "a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", AddedToken("\u2581</s>", normalized=False)])
    tokenizer.add_tokens([" added . one "])
    return json.dumps(json.loads(tokenizer.to_str()) | {"decoder": DECODERS[name]})


@cache
def engines(name: str) -> tuple[_core.Engine, Tokenizer]:
    return reference_impl.open_engine(document(name)), Tokenizer.from_str(document(name))


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_usual_decoders(name: str, data: st.DataObject) -> None:
    engine, reference = engines(name)
    ids = data.draw(st.lists(st.integers(0, len(TOKENS) + 2), max_size=40))
    for skip in (False, True):
        want = reference.decode(ids, skip_special_tokens=skip)
        assert _core._testing.decode_strings(engine, ids, skip) == want
        assert engine.decode(ids, skip) == want
        assert engine.decode(ids=ids, skip_special_tokens=skip, unknown_ids="skip") == want
        assert engine.decode_batch([ids, [], ids], skip) == [want, reference.decode([]), want]


@pytest.mark.parametrize("name", DECODERS)
def test_the_table_says_the_same(name: str) -> None:
    """After as many decoded ids as the vocabulary has tokens, the engine makes a table of decoded tokens. It gives the
    same text."""
    _, reference = engines(name)
    engine = reference_impl.open_engine(document(name))
    n = len(TOKENS) + 3
    texts = [[a, b, a] for a in range(n) for b in (0, a, n - 1, n - 2, (7 * a + 3) % n)]
    for _ in range(2):
        assert [engine.decode(ids, False) for ids in texts] == reference.decode_batch(texts, skip_special_tokens=False)
    fresh = reference_impl.open_engine(document(name))
    for ids in texts[: n // 3]:
        assert fresh.decode(ids, False) == engine.decode(ids, False)
