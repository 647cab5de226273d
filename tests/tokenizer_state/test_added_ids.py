"""Added tokens of a model that has ids beyond its size: they get the ids of ``tokenizers``, in files and in calls."""

from __future__ import annotations

import json
import warnings

import pytest
import tokenizers

from crayon_hf import DelegatedWarning, Tokenizer
from crayon_hf.tokenizer_json.parts import added_token, whole_document

HOLES = {"<unk>": 0, "a": 1, "<e>": 50, "<f>": 90}


def both(vocab: dict[str, int], added: list[str]) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    tokens = [added_token(vocab.get(content, 200 + at), content) for at, content in enumerate(added)]
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}
    document = whole_document(model, added_tokens=tokens, pre_tokenizer={"type": "Whitespace"})
    text = json.dumps(document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DelegatedWarning)
        return Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)


@pytest.mark.parametrize(
    "added",
    [["<e>", "<x>"], ["<x>", "<e>", "<y>"], ["<f>", "<x>", "<y>", "<e>"], ["<x>", "<y>", "<z>"], ["<e>", "<f>"]],
)
def test_in_a_file(added: list[str]) -> None:
    ours, reference = both(HOLES, added)
    assert ours.get_vocab() == reference.get_vocab()
    text = "a <x> <y><e> <f> <z>"
    assert ours.encode(text).ids == reference.encode(text).ids


def test_a_token_without_content_needs_its_flags() -> None:
    document = {"model": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}}
    whole = added_token(1, "")
    assert Tokenizer.from_str(json.dumps({**document, "added_tokens": [whole]})).get_vocab() == {"<unk>": 0}
    del whole["special"]
    for opener in (Tokenizer.from_str, tokenizers.Tokenizer.from_str):
        with pytest.raises(Exception, match="special"):
            opener(json.dumps({**document, "added_tokens": [whole]}))


@pytest.mark.parametrize("listed", [[], [1], [3], [1, 3]])
def test_of_two_equal_tokens_of_unigram_the_last_counts(listed: list[int]) -> None:
    """A trainer makes two equal tokens if its texts contain a special token, which then becomes a piece, too."""
    vocab = [["<unk>", 0.0], ["<s>", 0.0], ["a", -2.0], ["<s>", -3.0], ["b", -2.5], ["<", -5.0], ["s>", -5.0]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}
    document = whole_document(model, added_tokens=[added_token(at, "<s>") for at in listed])
    text = json.dumps(document)
    ours, reference = Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)
    assert ours.engine == "native"
    assert ours.get_vocab() == reference.get_vocab()
    for part in ("<s>", "a<s>b", "<s><s>", "<", "<s"):
        ids = reference.encode(part).ids
        assert ours.encode(part).ids == ids
        for tokens in (ids, [0, 1, 2, 3]):
            for skip in (False, True):
                assert ours.decode(tokens, skip) == reference.decode(tokens, skip)
