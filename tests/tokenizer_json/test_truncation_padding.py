"""Truncation and padding with numbers at their limits, such as sizes of 64 bits."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tokenizers

from crayon_hf import Tokenizer, VocabularyError
from tests.support.stand_in_cases import fields, trained

TEXTS = ("", "fox", "The quick brown fox jumps over the lazy dog")
TRUNCATION = {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": "BatchLongest",
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "[PAD]",
}
MODEL = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
SPLIT = {"type": "Split", "pattern": {"Regex": r"(?<x>.)\k<x>"}, "behavior": "Isolated", "invert": False}


def with_settings(**settings: Any) -> str:
    return json.dumps(json.loads(trained("byte_level")) | settings)


@pytest.mark.parametrize("most", [2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("key", ["max_length", "stride"])
def test_stored_sizes_of_64_bits(key: str, most: int, tmp_path: Any) -> None:
    """A stored size may have 64 bits: some files have usize::MAX for "no limit"."""
    source = with_settings(truncation=TRUNCATION | {key: most})
    reference = tokenizers.Tokenizer.from_str(source)
    reference.save(str(tmp_path / "x.json"), pretty=False)
    for ours in (Tokenizer.from_str(source), Tokenizer.from_file(tmp_path / "x.json")):
        assert ours.engine == "native"
        assert ours.truncation == reference.truncation
        assert ours.truncation is not None
        assert ours.truncation[key] == most
        assert ours.to_str() == reference.to_str()
        assert ours.to_str(pretty=True) == reference.to_str(pretty=True)
        for text in TEXTS[: 3 if key == "max_length" else 2]:
            assert fields(ours.encode(text)) == fields(reference.encode(text))
            assert fields(ours.encode("", text)) == fields(reference.encode("", text))
    if key == "stride":
        with pytest.raises(ValueError, match=f"stride {most} is not less than max_length"):
            ours.encode(TEXTS[2])


def test_values_that_are_none() -> None:
    sizes = {"max_length", "stride", "pad_to_multiple_of", "pad_id", "pad_type_id"}
    for name, good in (("truncation", TRUNCATION), ("padding", PADDING)):
        for key in good:
            too_large = [2**64, 2**70, 1e19, -(2**63)] + [2**32] * key.endswith("_id") if key in sizes else []
            for bad in (True, False, 1.0, -1, *too_large):
                source = with_settings(**{name: good | {key: {"Fixed": bad} if key == "strategy" else bad}})
                with pytest.raises(VocabularyError, match=f"malformed {name}"):
                    Tokenizer.from_str(source)
                with pytest.raises(Exception, match="line 1 column"):
                    tokenizers.Tokenizer.from_str(source)


@pytest.mark.parametrize(("length", "multiple"), [(2**32, None), (2**64 - 1, None), (2**32 - 1, 2), (None, 2**32)])
@pytest.mark.parametrize("pre_tokenizer", [None, SPLIT], ids=["native", "delegated"])
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_more_padding_than_there_can_be(pre_tokenizer: Any, length: int | None, multiple: int | None) -> None:
    """Padding to an impossible length is an error. The reference would try to allocate the memory, and end the
    process."""
    strategy = "BatchLongest" if length is None else {"Fixed": length}
    padding = PADDING | {"strategy": strategy, "pad_to_multiple_of": multiple}
    stored = json.dumps({"model": MODEL, "pre_tokenizer": pre_tokenizer, "padding": padding})
    enabled = Tokenizer.from_str(json.dumps({"model": MODEL, "pre_tokenizer": pre_tokenizer}))
    enabled.enable_padding(length=length, pad_to_multiple_of=multiple)
    for ours in (Tokenizer.from_str(stored), enabled):
        assert (ours.engine == "native") == (pre_tokenizer is None)
        assert ours.encode_ragged(["a"])[0].tolist() == [0]  # calls without padding still work
        for how in ("encode", "encode_batch", "encode_batch_fast"):
            with pytest.raises(ValueError, match="padding to"):
                list(getattr(ours, how)("a" if how == "encode" else ["a"]))
        ours.no_padding()
        assert ours.encode("a").ids == [0]


@pytest.mark.parametrize("pre_tokenizer", [{"type": "WhitespaceSplit"}, SPLIT], ids=["native", "delegated"])
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_a_stored_stride_that_does_not_fit(pre_tokenizer: Any) -> None:
    """A file may have a stride that does not fit its length: it has no effect on texts that are short enough."""
    source = json.dumps(
        {"model": MODEL, "pre_tokenizer": pre_tokenizer, "truncation": TRUNCATION | {"max_length": 2, "stride": 2}}
    )
    ours, reference = Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)
    assert (ours.engine == "native") == (pre_tokenizer is not SPLIT)
    assert ours.truncation == reference.truncation
    assert fields(ours.encode("a")) == fields(reference.encode("a"))
    with pytest.raises(ValueError, match="stride"):
        ours.encode("aa bb c")
