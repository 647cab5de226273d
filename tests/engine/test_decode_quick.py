"""The fast path for decoding, a single pass over the ids, gives the text of the decoders' general algorithm and of
``tokenizers``."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from crayon_hf import _core
from tests.components.test_decoders import PIECES
from tests.support import reference_impl

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
