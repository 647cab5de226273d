"""Normalization rules: what our components make of texts is what SentencePiece's own normalizer makes of them."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers

from crayon_hf import UnsupportedError, VocabularyError, _core
from crayon_hf.formats.charsmap import PROVEN, rules_as_components
from crayon_hf.parity.inputs.strings import generate
from parity.components.parts import charsmap as charsmap_base64
from tests.formats import plain_charsmap
from tests.support.steps import steps_of

schema = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

NAMES = ("nfkc", "nmt_nfkc", "nmt_nfkc_cf")
NFKC = {"type": "NFKC"}
NEWER = re.compile("[\ua7f1-\ua7f4\U00010500-\U0001e0ff]")
"""Where letters are that came after Unicode 9: those are not composed with marks."""


@lru_cache
def charsmap_of(name: str, tsv: str = "") -> bytes:
    """The rules that SentencePiece has under this name, or makes of a table."""
    written = io.BytesIO()
    rules = {"normalization_rule_tsv": tsv} if tsv else {"normalization_rule_name": name}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b"]), model_writer=written, model_type="char", vocab_size=5, minloglevel=2,
        hard_vocab_limit=False, **rules,
    )  # fmt: skip
    proto = schema.ModelProto()
    proto.ParseFromString(written.getvalue())
    found: bytes = proto.normalizer_spec.precompiled_charsmap
    return found


@lru_cache
def normalizer_of(name: str) -> tuple[str, normalizers.Normalizer]:
    """Ours as JSON, and in stock tokenizers."""
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
    """A result, or the error with its message. Dictionaries in their order."""
    try:
        result = call()
    except VocabularyError as error:  # UnsupportedError is one
        return type(error), str(error)
    return list(result.items()) if isinstance(result, dict) else result


def check_as_the_plain_way(charsmap: bytes, texts: list[str], compared: bool = True) -> None:
    """The rules as the plain way reads them, and all that is asked about them."""
    wanted = outcome(lambda: plain_charsmap.rules_of(charsmap))
    assert outcome(lambda: _core.CharsmapRules(charsmap).as_dict()) == wanted
    if isinstance(wanted, tuple):
        return
    plain, rules = plain_charsmap.rules_of(charsmap), _core.CharsmapRules(charsmap)
    assert len(rules) == len(plain)
    assert rules.characters() == {key: value for key, value in plain.items() if len(key) == 1}
    assert outcome(rules.following) == outcome(lambda: plain_charsmap.following(plain))
    assert [rules.apply(text) for text in texts] == plain_charsmap.applied(texts, plain)
    for parts in ([NFKC], [NFKC, precompiled(charsmap)]) if compared else ():
        component = {"type": "Sequence", "normalizers": parts}
        found = outcome(lambda component=component: rules.differences(json.dumps(component)))
        assert found == outcome(lambda component=component: plain_charsmap.differences(plain, component))


def precompiled(charsmap: bytes) -> dict[str, str]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_published_rules_are_read_as_the_plain_way_reads_them(name):
    texts = [text.encode("utf-8", "replace").decode() for _, text in generate(500)]
    check_as_the_plain_way(charsmap_of(name), texts)


CHARS = st.sampled_from("aAbe\u0301\u0300\u00e9\u1e17\ufb01\uac00\u1100\u0915\U00011099\U000110ba ")
MAPPINGS = st.dictionaries(st.text(CHARS, min_size=1, max_size=4), st.text(CHARS, max_size=3), min_size=1, max_size=12)


@settings(deadline=None)
@given(MAPPINGS, st.lists(st.text(CHARS, max_size=12), max_size=4))
def test_any_rules_are_read_as_the_plain_way_reads_them(mapping, texts):
    charsmap = base64.b64decode(charsmap_base64(mapping))
    assert _core.CharsmapRules(charsmap).as_dict() == mapping
    check_as_the_plain_way(charsmap, texts, compared=False)


@pytest.mark.parametrize(
    "mapping",
    [{"a": "b"}, {"e\u0301": "\u00e9", "e": "e"}, {"ab": "c", "a": ""}, {"\u0958": "\u0915\u093c", "\u00e9": "E"}],
)
def test_a_normalizer_is_compared_as_the_plain_way_compares_it(mapping):
    check_as_the_plain_way(base64.b64decode(charsmap_base64(mapping)), [])


@settings(deadline=None)
@given(MAPPINGS, st.data())
def test_damaged_rules_are_refused_as_the_plain_way_refuses_them(mapping, data):
    whole = bytearray(base64.b64decode(charsmap_base64(mapping)))
    for _ in range(data.draw(st.integers(0, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    check_as_the_plain_way(bytes(whole[: data.draw(st.integers(0, len(whole)))]), ["ab e\u0301"], compared=False)
    check_as_the_plain_way(bytes(whole), ["ab e\u0301"], compared=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "nfkc_cf"])
def test_published_rules_differ_from_the_components_where_it_is_known(name):
    charsmap = charsmap_of(name)
    component = {"type": "Sequence", "normalizers": [NFKC, precompiled(charsmap)]}
    differing, sequences = _core.CharsmapRules(charsmap).differences(json.dumps(component))
    assert PROVEN[sha256(charsmap).hexdigest()] == differing
    assert all(NEWER.search(key) for key in sequences)


def test_no_rule_is_gone_through_in_python():
    charsmap = charsmap_of("nmt_nfkc")
    assert steps_of(lambda: rules_as_components(charsmap)) < len(_core.CharsmapRules(charsmap))


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
    # A zero character is part of no rule, and ends whatever it is in.
    ours = _core.normalize(component, "\0".join(texts), False)[0].split("\0")
    assert [ascii(text) for text, made, wanted in zip(texts, ours, expected, strict=True) if made != wanted] == []
    assert stock.normalize_str("\0".join(texts)).split("\0") == ours


@pytest.mark.slow
def test_every_character_alone_and_every_rule_alone():
    component, _ = normalizer_of("nmt_nfkc")
    rules = _core.CharsmapRules(charsmap_of("nmt_nfkc")).as_dict()
    texts = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts += [key for key in rules if not NEWER.search(key)]
    # A zero character is no part of any rule.
    made = _core.normalize(component, "\0".join(texts), False)[0].split("\0")
    assert [text for text, found in zip(texts[1:], made[2:], strict=True) if found != rules.get(text, text)] == []


@pytest.mark.slow
def test_shielded_texts_stay_and_take_no_marks():
    shielded = ["\uff21", "ABC", "e\u0301x", "ing"]
    component = json.dumps(
        {"type": "Sequence", "normalizers": rules_as_components(charsmap_of("nmt_nfkc_cf"), shielded)}
    )
    texts = {
        "\uff21\uff22 ABCD abc": "\uff21b ABCd abc",
        "e\u0301xe\u0301": "e\u0301xé",
        "ing\u0301 ng\u0301": "ing\u0301 nǵ",
        "ABC\u0301C\u0301": "ABC\u0301ć",
    }
    for text, wanted in texts.items():
        assert _core.normalize(component, text, False)[0] == wanted


def test_own_rules_of_single_characters(tmp_path):
    table = tmp_path / "rules.tsv"
    table.write_text("61\t62 63\n3042\t\nE9\t45\n", encoding="utf-8")
    charsmap = charsmap_of("own", str(table))
    assert _core.CharsmapRules(charsmap).as_dict() == {"a": "bc", "あ": "", "é": "E"}
    component = json.dumps({"type": "Sequence", "normalizers": rules_as_components(charsmap)})
    for text, wanted in {"a\u0301あxé": "bc\u0301xE", "あ": "", "\r\na": "\r\nbc"}.items():
        assert _core.normalize(component, text, False)[0] == wanted


def test_own_rules_of_sequences_are_not_expressible(tmp_path):
    table = tmp_path / "rules.tsv"
    table.write_text("28 63 29\tA9\n", encoding="utf-8")
    with pytest.raises(UnsupportedError, match="the normalization rule"):
        rules_as_components(charsmap_of("own", str(table)))


@pytest.mark.slow
def test_damaged_rules():
    whole = charsmap_of("nfkc")
    assert len(_core.CharsmapRules(whole)) > 200_000
    for data in (b"", b"\x04", b"\x00\x00\x00\x00", whole[:1000], b"\xff" * 40, (8).to_bytes(4, "little") + bytes(8)):
        with pytest.raises(VocabularyError, match="the normalization rules are damaged"):
            _core.CharsmapRules(data)
    rng = random.Random(2)
    for flips in (1, 1, 20, 20):
        data = bytearray(whole)
        for _ in range(flips):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            rules_as_components(bytes(data))
        except VocabularyError:  # UnsupportedError is one: a rule may have become another
            continue


def test_a_trie_that_goes_in_a_circle():
    # Each unit's only child is itself: 'a' for ever.
    units = [0] * 256
    units[ord("a")] = ord("a") | (ord("a") << 10)
    units[0] = 0
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    with pytest.raises(VocabularyError, match="damaged: more than 4000000 places, or a rule for more than 64 bytes"):
        _core.CharsmapRules(len(trie).to_bytes(4, "little") + trie + b"x\0")
