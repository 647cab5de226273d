"""Cartridges with text tables follow docs/cartridge-format.md for every kind of model.

From such a cartridge the engine gives the results that ``tokenizers`` gives from the document.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from tokenizers import Tokenizer

from crayon_hf import _core
from tests.support import cartridge_reader as plain
from tests.support import reference_impl
from tests.support.cartridge_cases import TEXTS, compiled
from tests.support.cartridge_text import NAMES, text_source
from tests.support.versions import REFERENCE

cpu = reference_impl.cpu


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@cache
def read(name: str) -> plain.Cartridge:
    return plain.Cartridge(compiled(text_source(name)))


@cache
def document(name: str) -> dict[str, Any]:
    source: dict[str, Any] = json.loads(text_source(name))
    return source


# -- output of the compiler


def test_components(name: str) -> None:
    """The section of components has the document without its vocabulary, merges and added tokens."""
    source = document(name)
    expected = {key: value for key, value in source.items() if key not in ("version", "added_tokens")}
    expected["model"] = {key: value for key, value in source["model"].items() if key not in ("vocab", "merges")}
    assert read(name).components == expected
    engine = _core.Engine.from_bytes(compiled(text_source(name)))
    assert json.loads(engine.components) == expected


def test_scores(name: str) -> None:
    """Scores are read as the reference reads them, which can differ from the text in the last bit."""
    cartridge = read(name)
    model = json.loads(Tokenizer.from_str(text_source(name).decode()).to_str())["model"]
    scores = [score for _, score in model["vocab"]] if model["type"] == "Unigram" else []
    assert list(cartridge.scores) == ([*scores, min(scores)] if scores else [])


# -- the engine's results


MORE_TEXTS = (
    "\u2581 \u2581the\u2581\u2581",
    "crayon box Crayon BOX crayon  box\u2003x <r>  the",
    "AaA <0x41> \u00c9t\u00e9 \u00e9b ab" * 3,
    "\x00\x01\u0301\U0010ffff\u0378",
    "thetheThe" * 40,
)


DECODED_AS_ADDED = "decodes an added token that is looked for in normalized text as it was added"
BEFORE_0_23 = {
    **dict.fromkeys(("llama_like", "bert_like", "word_level"), DECODED_AS_ADDED),
    "odd_unigram": "counts pieces of one spelling once in get_vocab_size(True)",
}
"""Vocabularies for which tokenizers before 0.23 gives other results, and the reason."""


def test_the_engine_agrees(name: str, cpu: str) -> None:
    if REFERENCE < (0, 23) and name in BEFORE_0_23:
        pytest.skip(f"tokenizers before 0.23 {BEFORE_0_23[name]}")
    both = reference_impl.Both(text_source(name).decode())
    assert both.engine.cpu == cpu
    for text in (*TEXTS, *MORE_TEXTS):
        both.check(text, also_lookups=True)
        both.check(text, TEXTS[2], add_special_tokens=False)
        both.check([text, "a", text], is_pretokenized=True)
        both.reference.encode_special_tokens = False
        both.check_decode(both.reference.encode(text).ids)
    for with_added in (True, False):
        assert both.engine.get_vocab(with_added) == both.reference.get_vocab(with_added)
        assert both.engine.get_vocab_size(with_added) == both.reference.get_vocab_size(with_added)
    for token_id in range(both.engine.get_vocab_size() + 60):
        token = both.reference.id_to_token(token_id)
        assert both.engine.id_to_token(token_id) == token
        assert both.engine.id_to_bytes(token_id) == (None if token is None else token.encode())
        if token is not None:
            assert both.engine.token_to_id(token) == both.reference.token_to_id(token)


# -- files that a reader accepts
