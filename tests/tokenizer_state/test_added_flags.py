"""Added tokens whose flags are changed: ``tokenizers`` remembers their earlier flags, and so must our `Tokenizer`."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, normalizers

from crayon_hf import Tokenizer
from tests.support.stand_in_cases import KINDS, fields, trained
from tests.support.versions import since

pytestmark = pytest.mark.filterwarnings("ignore::crayon_hf.DelegatedWarning")

TEXT = "a <TOOL> fox<TOOL>"
NORMALIZERS = (
    normalizers.Prepend("▁"),
    normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
    normalizers.Lowercase(),
)


def said(tokenizer: Any) -> list[Any]:
    """The results of all calls that show the added token <TOOL>."""
    id = tokenizer.token_to_id("<TOOL>")
    encoding = tokenizer.encode(TEXT)
    shown: list[Any] = [fields(encoding), tokenizer.id_to_token(id)]
    for skip in (True, False):
        shown += [tokenizer.decode(ids, skip_special_tokens=skip) for ids in ([id], [id, id], encoding.ids)]
    return shown


@since((0, 23), "finds an added token that was normalized once otherwise, and decodes it as it was added")
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("kind", [*KINDS, "refused"])
def test_what_was_normalized_once(request: pytest.FixtureRequest, kind: str, normalizer: Any) -> None:
    """A token that was normalized once keeps its normalized spelling until a normalizer is set. Copies do not keep
    it."""
    if kind == "refused":
        request.getfixturevalue("refusing")
    text = trained("word_piece" if kind == "refused" else kind)
    both = []
    for tokenizer in (Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)):
        steps = []
        tokenizer.normalizer = normalizer
        assert tokenizer.add_tokens(["<TOOL>"]) == tokenizer.add_special_tokens(["<TOOL>"]) == 1
        steps += [said(tokenizer), said(copy.copy(tokenizer))]
        tokenizer.encode_special_tokens = True
        steps.append(tokenizer.encode(TEXT).ids)
        tokenizer.encode_special_tokens = False
        assert tokenizer.add_tokens([AddedToken("<TOOL>", lstrip=True, normalized=False)]) == 1
        steps.append(said(tokenizer))
        tokenizer.normalizer = normalizer
        steps.append(said(tokenizer))
        both.append(steps)
    assert both[0] == both[1]
    assert both[1][0] != both[1][1]


@pytest.mark.parametrize("decoder", [None, decoders.Strip("<", 1, 0), decoders.CTC("<TOOL>")])
@pytest.mark.parametrize("kind", KINDS)
def test_made_of_a_reference(kind: str, decoder: Any) -> None:
    """A Tokenizer made of one of ``tokenizers`` has its tokens' earlier flags, although a tokenizer.json does not store
    them."""
    reference = tokenizers.Tokenizer.from_str(trained(kind))
    reference.normalizer = normalizers.Prepend("▁")
    reference.add_special_tokens(["<TOOL>", "<other>"])
    reference.add_tokens([AddedToken("<TOOL>", special=False, normalized=False), "<plain>"])
    reference.add_special_tokens(["<plain>"])
    reference.decoder = decoder
    ours = Tokenizer.from_tokenizers(reference)
    ids = [reference.token_to_id(content) for content in ("<TOOL>", "<other>", "<plain>")]
    rows = [*([id] for id in ids), ids, [5, ids[0], 5, ids[2], ids[0], ids[0], 6], reference.encode(TEXT).ids]
    for skip in (True, False):
        assert ours.decode_batch(rows, skip) == reference.decode_batch(rows, skip)
    assert said(ours) == said(reference)
    assert json.loads(ours.to_str()) == json.loads(reference.to_str())
    for tokenizer in (ours, reference):
        tokenizer.encode_special_tokens = True
    assert ours.encode(TEXT).ids == reference.encode(TEXT).ids
