"""A delegated tokenizer raises the same classes of errors as a native tokenizer."""

from __future__ import annotations

import json
import re

import pytest
import tokenizers

from crayon_hf import DelegatedWarning, Tokenizer, VocabularyError
from tests.support.versions import before_1

SPLIT = {"type": "Split", "pattern": {"Regex": r"(?<x>.)\k<x>"}, "behavior": "Isolated", "invert": False}
MODELS = {
    "WordPiece": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "[UNK]", "max_input_chars_per_word": 9}
    | {"continuing_subword_prefix": "##"},
    "WordLevel": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"},
    "empty WordLevel": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"},
    "BPE": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "[UNK]"},
    "Unigram": {"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": None},
}


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "delegated"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_a_vocabulary_without_its_unknown_token(model, is_native):
    """For a vocabulary without its unknown token, `tokenizers` raises a plain `Exception`; its message is also ours."""
    document = json.dumps({"model": MODELS[model], "pre_tokenizer": None if is_native else SPLIT})
    ours, reference = Tokenizer.from_str(document), tokenizers.Tokenizer.from_str(document)
    assert (ours.engine == "native") == (is_native and model != "empty WordLevel")
    with pytest.raises(Exception, match=r"(?i)unk") as bare:
        reference.encode("b")
    for call in (
        lambda: ours.encode("b"),
        lambda: ours.encode("", "b"),
        lambda: ours.encode(["b"], is_pretokenized=True),
        lambda: ours.encode_batch(["", "b"]),
        lambda: ours.encode_batch_fast(["b"]),
        lambda: ours.encode_ragged(["b"]),
        lambda: ours.count_tokens("b"),
        lambda: ours.count_tokens(["b"]),
    ):
        with pytest.raises(VocabularyError, match=f"^{re.escape(str(bare.value))}$"):
            call()
    assert ours.encode("").ids == []


@pytest.mark.parametrize("pre_tokenizer", [None, SPLIT], ids=["native", "delegated"])
@pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")
def test_a_text_that_cannot_be_truncated_is_no_fault_of_the_vocabulary(pre_tokenizer):
    ours = Tokenizer.from_str(json.dumps({"model": MODELS["BPE"], "pre_tokenizer": pre_tokenizer}))
    parts = ours.encode("aa"), ours.encode("a")
    ours.enable_truncation(1, strategy="only_second")
    for call in (
        lambda: ours.encode("aa"),
        lambda: ours.encode_batch(["aa"]),
        lambda: ours.encode("aa", "a"),
        lambda: ours.post_process(*parts),
    ):
        with pytest.raises(ValueError, match=r"^Truncation error: ") as caught:
            call()
        assert type(caught.value) is ValueError


@before_1("components written in Python")
def test_an_error_of_a_component_in_python():
    class Failing:
        def pre_tokenize(self, text: object) -> None:
            raise KeyError("mine")

    ours = Tokenizer.from_str(json.dumps({"model": MODELS["WordLevel"]}))
    ours.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Failing())
    with pytest.warns(DelegatedWarning), pytest.raises(ValueError, match=r"^KeyError: 'mine'$") as caught:
        ours.encode("a")
    assert type(caught.value) is ValueError
