"""The same calls give the same results on `tokenizers.Tokenizer` and on our `Tokenizer`, for every name in the
class."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

import crayon_hf
from crayon_hf import DelegatedWarning, Tokenizer
from tests.support.stand_in_cases import KINDS, TEXTS, check, check_saving, fields, plain, trained
from tests.support.versions import before_1, since

pytestmark = pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")


def both(kind: str) -> tuple[tokenizers.Tokenizer, Tokenizer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DelegatedWarning)
        return tokenizers.Tokenizer.from_str(trained(kind)), Tokenizer.from_str(trained(kind))


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[tokenizers.Tokenizer, Tokenizer]:
    return both(request.param)


def test_names():
    missing = [name for name in dir(tokenizers.Tokenizer) if not hasattr(Tokenizer, name)]
    assert missing == []


@pytest.mark.parametrize("kind", KINDS)
def test_made_of_the_library_s_objects(kind):
    reference = tokenizers.Tokenizer.from_str(trained(kind))
    ours = Tokenizer.from_tokenizers(reference)
    check(reference, ours)
    built, bare = Tokenizer(reference.model), tokenizers.Tokenizer(reference.model)
    for tokenizer in (built, bare):
        for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            setattr(tokenizer, name, getattr(reference, name))
        tokenizer.add_special_tokens(list(reference.get_added_tokens_decoder().values()))
    check(bare, built)
    check_saving(bare, built)


def test_refused_components(pair):
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model", "encode_special_tokens"):
        for value in (5, "x", normalizers.NFC() if name != "normalizer" else decoders.Fuse()):
            with pytest.raises(TypeError):
                setattr(pair[1], name, value)
    check(*pair)


@since((0, 23), "decodes an added token as it was added, not as the normalizer spells it")
def test_added_tokens(pair):
    steps: list[tuple[str, list[Any]]] = [
        ("add_tokens", ["[NEW]", "newword", "[NEW]", ""]),
        ("add_tokens", ["[NEW]"]),
        ("add_special_tokens", ["[NEW]", AddedToken("xx", lstrip=True)]),
        ("add_tokens", [AddedToken("fox", single_word=True, normalized=False), "fox", "Zoë"]),
        ("add_tokens", [AddedToken("xx", rstrip=True, special=False)]),
        ("add_special_tokens", []),
        ("add_tokens", ["e\u0301", "狐", "QUICK", AddedToken("", special=True)]),
        ("add_special_tokens", [AddedToken(" over", normalized=True), "<s>", "</s>"]),
    ]
    for name, tokens in steps:
        counts = [getattr(tokenizer, name)(copy.deepcopy(tokens)) for tokenizer in pair]
        assert counts[0] == counts[1]
        check(*pair)
        for tokenizer in pair:
            tokenizer.encode_special_tokens = True
        check(*pair)
        for tokenizer in pair:
            tokenizer.encode_special_tokens = False
    assert pair[0].to_str() == pair[1].to_str()


def test_changing_an_object_changes_the_tokenizer():
    reference, ours = both("llama")
    for tokenizer in (reference, ours):
        tokenizer.normalizer[1].content = "_"
    check(reference, ours)
    held = [tokenizer.normalizer for tokenizer in (reference, ours)]
    check(reference, ours)
    for normalizer in held:
        normalizer[0].prepend = "*"
    check(reference, ours)
    given = [pre_tokenizers.Metaspace(), pre_tokenizers.Metaspace()]
    for tokenizer, pre_tokenizer in zip((reference, ours), given, strict=True):
        tokenizer.pre_tokenizer = pre_tokenizer
        pre_tokenizer.replacement = "*"
    check(reference, ours)
    check_saving(reference, ours)
    del held, given, normalizer, pre_tokenizer
    ours.encode("x")
    assert ours._state.is_idle


def test_changing_a_model_changes_the_tokenizer():
    reference, ours = both("llama")
    ours.encode(TEXTS[4])
    for tokenizer in (reference, ours):  # before the reference encodes: its cache would survive the change
        tokenizer.model.unk_token = None
        tokenizer.model.byte_fallback = False
        tokenizer.model.ignore_merges = True
    check(reference, ours)
    check_saving(reference, ours)
    assert ours.model.ignore_merges is True  # type: ignore[attr-defined]


def test_unknown_ids(pair):
    reference, ours = pair
    for ids in ([1, 10**6, 5], (2**32 - 1, 5), np.array([10**6, 1]), np.array([1, 10**6], np.uint64), [10**6]):
        assert ours.decode(ids) == ours.decode(ids, True, "skip") == reference.decode(ids)
        assert ours.decode_batch([ids, [5], []]) == reference.decode_batch([ids, [5], []])
        with pytest.raises(crayon_hf.TokenIdError):
            ours.decode(ids, unknown_ids="error")
        with pytest.raises(crayon_hf.TokenIdError):
            ours.decode_batch([[5], ids], unknown_ids="error")
    for ids in ([1, -1], [2**32], [2**70], np.array([-1]), [1, np.int64(2**40)]):
        for tokenizer in pair:
            with pytest.raises(OverflowError):
                tokenizer.decode(ids)
            with pytest.raises(OverflowError):
                tokenizer.decode_batch([[5], ids])
    for call in (ours.decode, ours.decode_batch):
        with pytest.raises(ValueError, match="unknown_ids"):
            call([], unknown_ids="maybe")


@before_1("components written in Python")
def test_a_component_written_in_python():
    class Upper:
        def normalize(self, normalized: tokenizers.NormalizedString) -> None:
            normalized.uppercase()

    reference, ours = both("word_piece")
    for tokenizer in (reference, ours):
        tokenizer.normalizer = normalizers.Normalizer.custom(Upper())
        tokenizer.enable_truncation(9)
    for text in TEXTS:
        assert fields(ours.encode(text)) == fields(reference.encode(text))
    assert "normalizer" in ours.engine_report()["reason"]
    for call in (ours.to_str, lambda: pickle.dumps(ours)):
        with pytest.raises(crayon_hf.UnsupportedError, match="normalizer"):
            call()
    for tokenizer in (reference, ours):
        tokenizer.normalizer = None
    check(reference, ours)


def test_state_methods(pair):
    reference, ours = pair
    assert ours.__getstate__() == reference.__getstate__()
    assert plain(ours.__getnewargs__()) == plain(reference.__getnewargs__())
    empty = Tokenizer(models.BPE())
    empty.__setstate__(reference.__getstate__())
    check(reference, empty)
    ours.anything = 5
    assert ours.anything == 5
    assert json.loads(Tokenizer(models.BPE()).to_str()) == json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
