"""`shrink` removes tokens: a text whose ids include no removed token keeps its tokens, with new ids by the map."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import processors

import crayon_hf
from crayon_hf import CorpusError, TokenIdError, Tokenizer, UnsupportedError, VocabularyError, shrink
from crayon_hf.training import VocabularyChange
from tests.training.surgery_cases import KINDS, strings, texts, vocabulary
from tests.training.surgery_twin import document_of, parts_of


def check_promise(old: Tokenizer, change: VocabularyChange, given: list[str]) -> int:
    """Check the ids of texts after `shrink`: our engine's equal those of `tokenizers`, and texts without removed tokens
    have the mapped old ids. Returns the number of these texts."""
    stock = tokenizers.Tokenizer.from_str(change.tokenizer.to_str())
    count = 0
    for text in given:
        ids = change.tokenizer.encode(text).ids
        assert ids == stock.encode(text).ids
        mapped = change.id_map[old.encode(text).ids]
        if (mapped >= 0).all():
            assert ids == mapped.tolist()
            count += 1
    return count


def check_map(old: Tokenizer, change: VocabularyChange) -> None:
    """Check that the kept tokens have new ids without gaps, in the old order."""
    before, after = old.get_vocab(), change.tokenizer.get_vocab()
    assert change.id_map.shape == (max(before.values()) + 1,)
    assert change.id_map.dtype == np.int64
    kept = change.id_map[change.id_map >= 0]
    assert kept.tolist() == list(range(len(after)))
    assert after == {token: change.id_map[id] for token, id in before.items() if change.id_map[id] >= 0}
    assert change.lost_tokens == len(before) - len(after)
    assert change.new_tokens == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_to_a_size(kind: str, seed: int) -> None:
    """The tokens of the lowest merges stay, with all their parts."""
    old = vocabulary(kind, seed, 330)
    before = document_of(old)
    size = old.get_vocab_size() - 25
    change = shrink(old, vocab_size=size)
    check_map(old, change)
    assert document_of(old) == before
    assert change.tokenizer.get_vocab_size() == size
    kept = {token for token, id in before["model"]["vocab"].items() if change.id_map[id] >= 0}
    for token in kept:
        assert parts_of(before["model"], token) <= kept
    assert check_promise(old, change, strings(seed, 200) + texts(seed)) > 20
    assert shrink(old, vocab_size=old.get_vocab_size()).tokenizer.to_str() == Tokenizer.from_str(old.to_str()).to_str()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_to_what_a_corpus_uses(kind: str, seed: int) -> None:
    old = vocabulary(kind, seed, 330)
    before = document_of(old)["model"]
    given = texts(seed + 100)
    change = shrink(old, used_by=given, show_progress=False)
    check_map(old, change)
    assert check_promise(old, change, given) == len(given)
    check_promise(old, change, strings(seed, 200))
    uses = np.bincount(
        np.concatenate([old.encode(text).ids for text in given]).astype(int), minlength=len(change.id_map)
    )
    spelled = {id: token for token, id in old.get_vocab().items()}
    needed = set().union(*(parts_of(before, spelled[id]) for id in np.flatnonzero(uses)))
    alphabet = {token for token in before["vocab"] if len(token) == 1}
    if kind == "fallback":
        alphabet = {f"<0x{byte:02X}>" for byte in range(256)}
    assert change.tokenizer.get_vocab().keys() == needed | alphabet | {
        token["content"] for token in document_of(old)["added_tokens"]
    }
    often = shrink(old, used_by=given, min_frequency=3, show_progress=False)
    assert set(np.flatnonzero(often.id_map >= 0)) <= set(np.flatnonzero(change.id_map >= 0))
    assert all(often.id_map[id] >= 0 for id in np.flatnonzero(uses >= 3))
    size = change.tokenizer.get_vocab_size()
    for wanted in (size - 3, size + 3):
        other = shrink(old, used_by=given, vocab_size=wanted, show_progress=False)
        assert other.tokenizer.get_vocab_size() == wanted
        most_used = max(np.flatnonzero(change.id_map >= 0), key=lambda id: uses[id])
        assert other.id_map[most_used] >= 0
        check_promise(old, other, given)
    assert (other.id_map[change.id_map >= 0] >= 0).all()


def test_tokens_to_keep() -> None:
    old = vocabulary("bytes", 1, 330)
    vocab = old.get_vocab()
    longest = max(vocab, key=len)
    last = max(vocab.values())
    small = shrink(old, vocab_size=275)
    assert small.id_map[vocab[longest]] < 0
    change = shrink(old, vocab_size=290, keep=[longest, np.int64(last), "<s>"])
    assert change.tokenizer.get_vocab_size() == 290
    assert min(change.id_map[[vocab[longest], last]]) >= 0
    assert change.tokenizer.encode(longest.replace("Ġ", " ")).tokens == [longest]
    check_map(old, change)


def test_a_random_choice_keeps_the_promise() -> None:
    """Keep random tokens with their parts, in vocabularies in which two merges make the same token."""
    for seed in range(6):
        chance = random.Random(seed)
        document = document_of(vocabulary("bytes", 1, 320))
        model = document["model"]
        spare = [token for token in model["vocab"] if len(token) > 2 and "<" not in token]
        for token in chance.sample(spare, 20):  # a second merge that makes the token, of any rank
            at = chance.randrange(1, len(token))
            pair = [token[:at], token[at:]]
            if pair[0] in model["vocab"] and pair[1] in model["vocab"] and pair not in model["merges"]:
                model["merges"].insert(chance.randrange(len(model["merges"])), pair)
        old = Tokenizer.from_str(json.dumps(document))
        change = shrink(old, vocab_size=300, keep=chance.sample(spare, 8))
        check_map(old, change)
        assert check_promise(old, change, strings(seed, 300) + texts(1)) > 20


def test_ids_of_components_are_mapped(tmp_path: Path) -> None:
    """The post-processor, the padding, the added tokens and the settings get the new ids."""
    from transformers import AutoTokenizer

    old = vocabulary("bytes", 2, 330)
    old.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    ids = {name: old.token_to_id(name) for name in ("[PAD]", "[CLS]", "[SEP]")}
    old.enable_padding(pad_id=ids["[PAD]"], pad_token="[PAD]", length=40)
    old.enable_truncation(30)
    pairs = [(name, ids[name]) for name in ("[CLS]", "[SEP]")]
    for post_processor in (
        processors.BertProcessing(pairs[1], pairs[0]),
        processors.RobertaProcessing(pairs[1], pairs[0]),
        processors.Sequence(
            [processors.ByteLevel(), processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=pairs)]
        ),
    ):
        old.post_processor = post_processor
        change = shrink(old, vocab_size=300)
        check_map(old, change)
        assert check_promise(old, change, strings(2, 100)) > 5
        assert change.tokenizer.padding["pad_id"] == change.tokenizer.token_to_id("[PAD]")
        assert change.tokenizer.truncation == old.truncation
    (tmp_path / "old").mkdir()
    old.save(tmp_path / "old" / "tokenizer.json")
    listed = {"id": ids["[CLS]"], "content": "[CLS]", "special": True}
    more = {"content": "<later>", "special": True, "normalized": False}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "cls_token": "[CLS]",
        "model_max_length": 77,
        "chat_template": "{{ messages }}",
        "added_tokens_decoder": {str(ids["[CLS]"]): listed, str(max(old.get_vocab().values()) + 1): more},
    }
    (tmp_path / "old" / "tokenizer_config.json").write_text(json.dumps(config))
    change = shrink(tmp_path / "old", vocab_size=300, output=tmp_path / "new")
    stock = AutoTokenizer.from_pretrained(tmp_path / "new")
    assert (stock.cls_token, stock.chat_template, stock.model_max_length) == ("[CLS]", "{{ messages }}", 77)
    assert len(stock) == 300
    assert stock.get_vocab() == change.tokenizer.get_vocab()
    assert stock.convert_tokens_to_ids("<later>") == 299
    for text in [*strings(2, 50), "a<later>b"]:
        expected = change.tokenizer.encode(text)
        assert stock(text, truncation=True, max_length=30).input_ids == [
            id for id, mask in zip(expected.ids, expected.attention_mask, strict=True) if mask
        ]


def test_what_is_refused(tmp_path: Path) -> None:
    """Each case raises a typed error and leaves no file."""
    old = vocabulary("bytes", 1)
    padded = Tokenizer.from_str(old.to_str())
    padded.enable_padding(pad_id=9999, pad_token="[PAD]")
    unigram = Tokenizer(tokenizers.models.Unigram([("<unk>", 0.0), ("a", -1.0)], 0))
    wordlevel = Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a"))
    count = old.get_vocab_size()
    cases: tuple[tuple[Any, dict[str, Any], type[Exception], str], ...] = (
        (old, {}, ValueError, "give one of them"),
        (old, {"vocab_size": 258}, VocabularyError, "are 259"),
        (old, {"vocab_size": count + 1}, VocabularyError, f"only {count} tokens"),
        (old, {"vocab_size": "9"}, TypeError, "vocab_size"),
        (old, {"vocab_size": -9}, OverflowError, "vocab_size"),
        (old, {"used_by": []}, CorpusError, "no text"),
        (old, {"used_by": [5]}, TypeError, "text 0"),
        (old, {"used_by": tmp_path / "none.txt"}, FileNotFoundError, "none.txt"),
        (old, {"vocab_size": 260, "keep": "ab"}, TypeError, "keep"),
        (old, {"vocab_size": 260, "keep": ["no such token"]}, VocabularyError, "no such token"),
        (old, {"vocab_size": 260, "keep": [count]}, TokenIdError, str(count)),
        (old, {"vocab_size": 260, "keep": [1.5]}, TypeError, "keep"),
        (padded, {"vocab_size": 260}, VocabularyError, "9999"),
        (unigram, {"vocab_size": 1}, UnsupportedError, "Unigram has none"),
        (wordlevel, {"vocab_size": 1}, UnsupportedError, "WordLevel has none"),
    )
    for tokenizer, options, error, message in cases:
        with pytest.raises(error, match=message):
            shrink(tokenizer, output=tmp_path / "out", show_progress=False, **options)
    assert not os.listdir(tmp_path)
    shrink(old, vocab_size=260, output=tmp_path / "out")
    with pytest.raises(FileExistsError, match="another tokenizer"):
        shrink(old, vocab_size=260, output=tmp_path / "out")
    first = crayon_hf.Tokenizer.from_file(tmp_path / "out")
    again = shrink(tmp_path / "out", vocab_size=259, output=tmp_path / "out", overwrite=True)
    assert len(again.id_map) == first.get_vocab_size() == 260
    assert json.loads((tmp_path / "out" / "id_map.json").read_text()) == again.id_map.tolist()
