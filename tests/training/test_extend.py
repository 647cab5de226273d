"""`extend` equals a plain trainer that begins with the old merges."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import crayon_hf
from crayon_hf import CorpusError, Tokenizer, UnsupportedError, VocabularyError, extend, train_bpe
from tests.training.surgery_cases import KINDS, strings, texts, vocabulary
from tests.training.surgery_twin import document_of, extended, words_of


def options(seed: int) -> dict[str, Any]:
    """Return options that depend on the seed."""
    return {
        "min_frequency": seed % 3,
        "max_token_length": (None, None, 6)[seed % 3],
        "limit_alphabet": (None, 0, 3)[seed % 5 % 3],
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_like_a_plain_twin(kind: str, seed: int) -> None:
    """Tokens, ids and merges are equal, and each word is encoded as its symbols after the last merge."""
    old = vocabulary(kind, seed)
    before = document_of(old)
    given = texts(seed + 1000) + texts(seed)
    size = max(old.get_vocab().values()) + 1
    change = extend(old, given, new_tokens=60, show_progress=False, **options(seed))
    crosses = any("▁" in token.lstrip("▁") for token in before["model"]["vocab"])
    words = words_of(old.to_str(), given, cut_at_marks=kind in ("marks", "fallback") and not crosses)
    new, merges, states = extended(before, words, size + 60, **options(seed))
    after = document_of(change.tokenizer)
    assert document_of(old) == before
    assert after["model"]["merges"] == before["model"]["merges"] + merges
    added = {token["content"]: token["id"] for token in before["added_tokens"]}
    assert after["model"]["vocab"] | added == before["model"]["vocab"] | added | new
    assert after["added_tokens"] == before["added_tokens"]
    assert change.new_tokens == len(new)
    assert change.id_map.tolist() == list(range(size))
    stock = tokenizers.Tokenizer.from_str(change.tokenizer.to_str())
    for word, state in states.items():
        if "" not in state:
            assert [token.value for token in stock.model.tokenize(word)] == state
    for text in strings(seed, 50):
        assert stock.encode(text).ids == change.tokenizer.encode(text).ids


@pytest.mark.parametrize("seed", range(8))
def test_training_that_was_cut_in_two(seed: int) -> None:
    """Train to 280 tokens, then extend to 330 with the same texts: the result equals one training to 330."""
    for options in ({}, {"max_token_length": 5}, {"min_frequency": 3}):
        whole = train_bpe(texts(seed), vocab_size=330, special_tokens=["<unk>"], show_progress=False, **options)
        half = train_bpe(texts(seed), vocab_size=280, special_tokens=["<unk>"], show_progress=False, **options)
        merges = document_of(whole)["model"]["merges"]
        assert len({"".join(merge) for merge in merges}) == len(merges)  # no token has two merges
        larger = extend(half, texts(seed), vocab_size=330, show_progress=False, **options).tokenizer
        assert larger.to_str() == whole.to_str()


def test_special_tokens_and_characters() -> None:
    """New special tokens get the first ids, then characters, then merges. No merge contains a special token."""
    old = vocabulary("metaspace", 1)
    size = max(old.get_vocab().values()) + 1
    marked = [f"<sep>{text}Ω" for text in texts(1)]
    change = extend(old, marked, new_tokens=8, special_tokens=["<sep>", "<s>", "<cls>"], show_progress=False)
    made = change.tokenizer
    assert [made.id_to_token(size + i) for i in range(2)] == ["<sep>", "<cls>"]
    assert made.id_to_token(size + 2) == "Ω"
    assert made.token_to_id("<s>") == old.token_to_id("<s>")
    assert made.encode("a<sep>b").ids.count(size) == 1
    assert change.new_tokens == 8
    assert not any("<sep>" in token for token in made.get_vocab() if token != "<sep>")
    without = extend(old, marked, new_tokens=5, limit_alphabet=0, show_progress=False).tokenizer
    assert without.token_to_id("Ω") is None


def test_a_prefix_and_a_suffix() -> None:
    """New tokens are spelled with the prefix or suffix, and no characters are added."""
    given = ["abab abc abcabc aab"] * 3
    for affix in ({"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}):
        start = Tokenizer(tokenizers.models.BPE(unk_token="[U]", **affix))
        start.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        special: dict[str, Any] = {"tokenizer": start, "special_tokens": ["[U]"], "show_progress": False}
        half, whole = (train_bpe(given, vocab_size=size, **special) for size in (11, 15))
        assert extend(half, given, vocab_size=15, show_progress=False).tokenizer.to_str() == whole.to_str()
        assert extend(half, ["Ω ab"], new_tokens=1, show_progress=False).tokenizer.token_to_id("Ω") is None


def test_ids_with_gaps() -> None:
    """Unused ids remain unused, and `tokenizers` gives the added tokens the same ids."""
    document = document_of(vocabulary("bytes", 2))
    document["added_tokens"][-1]["id"] += 5
    document["model"]["vocab"]["</s>"] = document["added_tokens"][-1]["id"]
    old = Tokenizer.from_str(json.dumps(document))
    size = max(old.get_vocab().values()) + 1
    change = extend(old, texts(3), vocab_size=size + 7, show_progress=False)
    assert sorted(np.flatnonzero(change.id_map < 0)) == sorted(set(range(size)) - set(old.get_vocab().values()))
    assert max(change.tokenizer.get_vocab().values()) == size + 6
    stock = tokenizers.Tokenizer.from_str(change.tokenizer.to_str())
    assert stock.get_vocab() == change.tokenizer.get_vocab()


def test_a_directory_keeps_its_settings(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    old = vocabulary("bytes", 6)
    (tmp_path / "old").mkdir()
    old.save(tmp_path / "old" / "tokenizer.json")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "chat_template": "{{ messages }}"}
    (tmp_path / "old" / "tokenizer_config.json").write_text(json.dumps(config | {"model_max_length": 99}))
    change = extend(tmp_path / "old", texts(6), new_tokens=9, output=tmp_path / "new", show_progress=False)
    names = ["tokenizer.json", "tokenizer_config.json", "tokenizer.dat", "id_map.json"]
    assert change.files == [os.path.join(str(tmp_path / "new"), name) for name in names]
    assert json.loads((tmp_path / "new" / "id_map.json").read_text()) == change.id_map.tolist()
    stock = AutoTokenizer.from_pretrained(tmp_path / "new")
    assert (stock.eos_token, stock.chat_template, stock.model_max_length) == ("</s>", "{{ messages }}", 99)
    ours = Tokenizer.from_file(tmp_path / "new")
    for text in strings(6, 50):
        assert stock(text).input_ids == ours.encode(text).ids == change.tokenizer.encode(text).ids


def test_files(tmp_path: Path) -> None:
    old = vocabulary("bytes", 5)
    (tmp_path / "a.txt").write_text("abab\n" * 9)
    change = extend(old, tmp_path / "a.txt", new_tokens=2, output=tmp_path / "b.json", show_progress=False)
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.dat", "b.id_map.json", "b.json"]
    assert json.loads((tmp_path / "b.id_map.json").read_text()) == change.id_map.tolist()
    assert Tokenizer.from_file(tmp_path / "b.dat").get_vocab() == change.tokenizer.get_vocab()
    stock = tokenizers.Tokenizer.from_file(str(tmp_path / "b.json"))
    assert extend(stock, ["xyz"], new_tokens=1, show_progress=False).new_tokens == 1


def test_what_is_refused(tmp_path: Path) -> None:
    """Each case raises a typed error and leaves no file."""
    old = vocabulary("bytes", 1)
    size = max(old.get_vocab().values()) + 1
    dropout = document_of(old)
    dropout["model"]["dropout"] = 0.1
    wordpiece = Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    source = ["abc"]
    cases: tuple[tuple[Any, Any, dict[str, Any], type[Exception], str], ...] = (
        (old, source, {}, ValueError, "give one of them"),
        (old, source, {"vocab_size": 9, "new_tokens": 9}, ValueError, "give one of them"),
        (old, source, {"vocab_size": size}, VocabularyError, f"give more than {size}"),
        (old, source, {"new_tokens": 0}, VocabularyError, f"give more than {size}"),
        (old, source, {"new_tokens": 1, "special_tokens": ["<x>", "<y>"]}, VocabularyError, "2 special tokens"),
        (old, source, {"new_tokens": "1"}, TypeError, "new_tokens"),
        (old, source, {"new_tokens": 1, "min_frequency": -1}, OverflowError, "min_frequency"),
        (old, source, {"new_tokens": 1, "special_tokens": "<x>"}, TypeError, "special_tokens"),
        (old, [], {"new_tokens": 1}, CorpusError, "no text"),
        (old, ["<s>"], {"new_tokens": 1}, CorpusError, "no text"),
        (old, [5], {"new_tokens": 1}, TypeError, "text 0"),
        (Tokenizer.from_str(json.dumps(dropout)), source, {"new_tokens": 1}, UnsupportedError, "dropout"),
        (wordpiece, source, {"new_tokens": 1}, UnsupportedError, "WordPiece"),
        (5, source, {"new_tokens": 1}, TypeError, "int"),
        (tmp_path / "none.json", source, {"new_tokens": 1}, FileNotFoundError, "none.json"),
    )
    for tokenizer, given, options, error, message in cases:
        with pytest.raises(error, match=message):
            extend(tokenizer, given, show_progress=False, output=tmp_path / "out", **options)
    assert not os.listdir(tmp_path)
    old.save(tmp_path / "there.json")
    with pytest.raises(FileExistsError, match="another tokenizer"):
        extend(old, source, new_tokens=1, output=tmp_path / "there.json")
    assert os.listdir(tmp_path) == ["there.json"]
    extend(old, ["xyz"], new_tokens=1, output=tmp_path / "there.json", overwrite=True, show_progress=False)

    def refuse(*_: Any) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        extend(old, source, new_tokens=1, output=tmp_path / "late", show_progress=refuse)
    assert not (tmp_path / "late").exists()


def test_a_tokenizer_that_is_not_native() -> None:
    document = document_of(vocabulary("bytes", 1))
    document["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": r"(?<x>\w)\k<x>"}
    with pytest.warns(crayon_hf.DelegatedWarning):
        delegated = Tokenizer.from_str(json.dumps(document))
    with pytest.raises(UnsupportedError, match="does not support"):
        extend(delegated, ["abc"], new_tokens=1, show_progress=False)
