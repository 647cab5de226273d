"""Truncation and padding at the ends of what their numbers may be."""

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
    """usize::MAX is how some say that there is no limit."""
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


@pytest.mark.parametrize("most", [2**63, 2**64 - 1])
def test_given_sizes_of_64_bits(most: int) -> None:
    ours, reference = Tokenizer.from_str(with_settings()), tokenizers.Tokenizer.from_str(with_settings())
    for tokenizer in (ours, reference):
        tokenizer.enable_truncation(most, stride=most - 9)
        tokenizer.enable_padding(pad_to_multiple_of=4)
    assert (ours.truncation, ours.to_str()) == (reference.truncation, reference.to_str())
    assert Tokenizer.from_str(ours.to_str()).truncation == ours.truncation
    for text in TEXTS:
        assert fields(ours.encode(text, "a")) == fields(reference.encode(text, "a"))
    for tokenizer in (ours, reference):
        tokenizer.enable_padding(pad_to_multiple_of=most)
    assert (ours.padding, ours.to_str()) == (reference.padding, reference.to_str())
    again = Tokenizer.from_str(ours.to_str())
    assert again.padding == ours.padding
    with pytest.raises(ValueError, match=rf"padding to {most} tokens, which is more than 2\^32-1"):
        again.encode("fox")


def test_sizes_that_are_none() -> None:
    for name, good, keys in (
        ("truncation", TRUNCATION, ("max_length", "stride")),
        ("padding", PADDING, ("pad_to_multiple_of", "pad_id", "pad_type_id")),
    ):
        for key in keys:
            for bad in (2**64, 2**70, 1e19, -(2**63), -1, *((2**32,) if key.endswith("_id") else ())):
                source = with_settings(**{name: good | {key: bad}})
                with pytest.raises(VocabularyError, match=f"malformed {name}"):
                    Tokenizer.from_str(source)
                with pytest.raises(Exception, match="line 1 column"):
                    tokenizers.Tokenizer.from_str(source)


@pytest.mark.parametrize(
    ("length", "multiple", "wanted"),
    [
        (2**32, None, 2**32),
        (2**64 - 1, None, 2**64 - 1),
        (2**32 - 1, 2, 2**32),
        (1, 2**32, 2**32),
        (None, 2**32, 2**32),
        (2**64 - 1, 2, None),  # the sum has 64 bits, and is 0
        (0, 2**32, None),
    ],
)
@pytest.mark.parametrize("pre_tokenizer", [None, SPLIT], ids=["native", "delegated"])
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_more_padding_than_there_can_be(
    pre_tokenizer: Any, length: int | None, multiple: int | None, wanted: int | None
) -> None:
    """The reference asks for the memory, and ends the process."""
    strategy = "BatchLongest" if length is None else {"Fixed": length}
    padding = PADDING | {"strategy": strategy, "pad_to_multiple_of": multiple}
    stored = json.dumps({"model": MODEL, "pre_tokenizer": pre_tokenizer, "padding": padding})
    enabled = Tokenizer.from_str(json.dumps({"model": MODEL, "pre_tokenizer": pre_tokenizer}))
    enabled.enable_padding(length=length, pad_to_multiple_of=multiple)
    for ours in (Tokenizer.from_str(stored), enabled):
        assert (ours.engine == "native") == (pre_tokenizer is None)
        plain = ours.encode_ragged(["a"])[0].tolist()  # what is not padded goes on
        assert plain == [0]
        for call in (
            lambda: ours.encode("a"),  # noqa: B023
            lambda: ours.encode_batch(["a"])[0],  # noqa: B023
            lambda: ours.encode_batch_fast(["a"])[0],  # noqa: B023
        ):
            if wanted is None:
                assert call().ids == tokenizers.Tokenizer.from_str(stored).encode("a").ids == [0]
                continue
            with pytest.raises(ValueError, match=rf"padding to {wanted} tokens, which is more than 2\^32-1"):
                call()
        if pre_tokenizer is None and wanted is not None:
            with pytest.raises(ValueError, match=rf"padding to {wanted} tokens"):
                ours.encode_columns(["a"], padding=(length, "right", multiple, 0, 0))
        ours.no_padding()
        assert ours.encode("a").ids == [0]


@pytest.mark.parametrize("pre_tokenizer", [{"type": "WhitespaceSplit"}, SPLIT], ids=["native", "delegated"])
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_a_stored_stride_that_does_not_fit(pre_tokenizer: Any) -> None:
    """A file may have it: it says nothing of texts that are short enough."""
    source = json.dumps(
        {"model": MODEL, "pre_tokenizer": pre_tokenizer, "truncation": TRUNCATION | {"max_length": 2, "stride": 2}}
    )
    ours, reference = Tokenizer.from_str(source), tokenizers.Tokenizer.from_str(source)
    assert (ours.engine == "native") == (pre_tokenizer is not SPLIT)
    assert ours.truncation == reference.truncation
    assert fields(ours.encode("a")) == fields(reference.encode("a"))
    with pytest.raises(ValueError, match="stride"):
        ours.encode("aa bb c")
