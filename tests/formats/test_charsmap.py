"""SentencePiece's normalization rules become components of a tokenizer.json that normalize texts as SentencePiece
does."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers

from crayon_hf import UnsupportedError, VocabularyError, _core
from crayon_hf.formats.charsmap import rules_as_components
from crayon_hf.parity.inputs.strings import generate
from parity.components.charsmap import charsmap as made
from tests.formats import plain_charsmap
from tests.support.sentencepiece_models import trained

schema = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

NAMES = ("nfkc", "nmt_nfkc", "nmt_nfkc_cf")
NFKC = {"type": "NFKC"}
NEWER = re.compile("[\ua7f1-\ua7f4\U00010500-\U0001e0ff]")
"""Ranges with letters newer than Unicode 9, which are not composed with marks."""


@lru_cache
def charsmap_of(name: str, tsv: str = "") -> bytes:
    """The compiled rules that SentencePiece has under this name, or makes of the table `tsv`."""
    rules = {"normalization_rule_tsv": tsv} if tsv else {"normalization_rule_name": name}
    proto = schema.ModelProto()
    proto.ParseFromString(trained(["a b"], model_type="char", vocab_size=5, **rules))
    found: bytes = proto.normalizer_spec.precompiled_charsmap
    return found


@lru_cache
def normalizer_of(name: str) -> tuple[str, normalizers.Normalizer]:
    """The components for the rules of this name, as JSON and as a normalizer of stock ``tokenizers``."""
    component = json.dumps({"type": "Sequence", "normalizers": rules_as_components(charsmap_of(name))})
    document = {"version": "1.0", "added_tokens": [], "normalizer": json.loads(component)}
    document["model"] = {"type": "BPE", "vocab": {}, "merges": []}
    return component, Tokenizer.from_str(json.dumps(document)).normalizer


def library(name: str) -> sentencepiece.SentencePieceNormalizer:
    return sentencepiece.SentencePieceNormalizer(
        rule_name=name, add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rules_are_read_as_the_library_applies_them(name):
    rules = _core.CharsmapRules(charsmap_of(name))
    assert len(rules) > 200_000
    normalize = library(name).normalize
    sample = random.Random(1).sample(sorted(rules.as_dict()), 4000)
    assert [rules.apply(key) for key in sample] == normalize(sample)
    texts = [text for _, text in generate(1500) if "\0" not in text]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    assert [rules.apply(text) for text in texts] == normalize(texts)


def outcome(call: Callable[[], object]) -> object:
    """The result of a call, a dictionary as a list of its items, or the class and message of its error."""
    try:
        result = call()
    except VocabularyError as error:  # UnsupportedError derives from it
        return type(error), str(error)
    return list(result.items()) if isinstance(result, dict) else result


def check_as_the_plain_way(charsmap: bytes) -> None:
    wanted = outcome(lambda: plain_charsmap.rules_of(charsmap))
    assert outcome(lambda: _core.CharsmapRules(charsmap).as_dict()) == wanted


CHARS = st.sampled_from("aAbe\u0301\u0300\u00e9\u1e17\ufb01\uac00\u1100\u0915\U00011099\U000110ba ")
MAPPINGS = st.dictionaries(st.text(CHARS, min_size=1, max_size=4), st.text(CHARS, max_size=3), min_size=1, max_size=12)


@settings(deadline=None)
@given(MAPPINGS, st.data())
def test_any_rules_are_read(mapping, data):
    """Valid and damaged rules are read as by the plain reader."""
    charsmap = made(mapping)
    assert _core.CharsmapRules(charsmap).as_dict() == mapping
    check_as_the_plain_way(charsmap)
    damaged = bytearray(charsmap)
    for _ in range(data.draw(st.integers(0, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    check_as_the_plain_way(bytes(damaged))
    check_as_the_plain_way(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_components_do_what_the_rules_do(name):
    component, stock = normalizer_of(name)
    rules = _core.CharsmapRules(charsmap_of(name)).as_dict()
    rng = random.Random(name)
    keys = [key for key in rules if not NEWER.search(key)]
    marks = sorted({char for key in rng.sample(keys, 20000) for char in key[1:]})
    bases = [*"aeoAEO\r\n \tg>=", *"가각ᄀ한\uff76か\u0915\u05e9\u03b1\u1f00~\uff5e\ufb01¨\u0344İ\u0131\u017f"]
    texts = [text for _, text in generate(2000, seed=5)]
    texts += [
        "".join(rng.choice(rng.choice((keys, marks, bases))) for _ in range(rng.randint(1, 9))) for _ in range(4000)
    ]
    texts += [unicodedata.normalize(form, text) for form in ("NFD", "NFKD") for text in texts[:1000]]
    texts = [text.encode("utf-8", "replace").decode() for text in texts if not NEWER.search(text)]
    texts = [text for text in texts if text and "\0" not in text]
    expected = library(name).normalize(texts)
    # NUL is not part of any rule, and ends a rule that contains it.
    ours = _core.normalize(component, "\0".join(texts), False)[0].split("\0")
    assert [ascii(text) for text, made, wanted in zip(texts, ours, expected, strict=True) if made != wanted] == []
    assert stock.normalize_str("\0".join(texts)).split("\0") == ours


@pytest.mark.parametrize(
    ("rules", "texts"),
    [
        ({"(c)": "\u00a9"}, {"a(c)(c": "a\u00a9(c", "\u2460\uff21": "\u2460\uff21"}),
        ({"e\u0301": "\u00e9", "\u0301": "'", "e": "E"}, {"e\u0301ea\u0301": "\u00e9Ea'", "e\u0302": "E\u0302"}),
        ({"aa": "b", "a": "c"}, {"aaaaa": "bbc"}),
        ({"a": "x", "\uff9e": "y"}, {"a\uff9e": "xy"}),
        ({"a": "bc", "\u3042": "", "\u00e9": "E"}, {"a\u0301\u3042x\u00e9": "bc\u0301xE", "\r\na": "\r\nbc"}),
    ],
)
def test_own_rules(rules, texts):
    charsmap = made(rules)
    component = {"type": "Sequence", "normalizers": rules_as_components(charsmap)}
    document = {"version": "1.0", "added_tokens": [], "normalizer": component}
    document["model"] = {"type": "BPE", "vocab": {}, "merges": []}
    stock = Tokenizer.from_str(json.dumps(document)).normalizer
    for text, wanted in texts.items():
        assert _core.CharsmapRules(charsmap).apply(text) == wanted
        assert _core.normalize(json.dumps(component), text, False)[0] == stock.normalize_str(text) == wanted


def test_rules_that_no_components_say():
    with pytest.raises(UnsupportedError, match="overlap"):
        rules_as_components(made({"ab": "1", "bc": "2"}))
    many = {chr(0x4E00 + at) + chr(0x4F00 + at // 9): "x" for at in range(700)}
    with pytest.raises(UnsupportedError, match="the normalization rule"):
        rules_as_components(made(many))
    few = made({"\uff21": "a", "b": "c"})
    with pytest.raises(UnsupportedError, match="700 user-defined"):
        rules_as_components(few, [f"b{number}" for number in range(700)])
