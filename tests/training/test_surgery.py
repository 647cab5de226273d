"""`extend` equals a plain trainer that begins with the old merges. `shrink` removes tokens: a text whose ids include no
removed token keeps its tokens, with new ids by the map. Stock libraries open the results.

CRAYON_SURGERY_STRINGS says on how many strings each published vocabulary is compared (default: 250).
"""

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
from crayon_hf import Tokenizer, extend, shrink, train_bpe
from crayon_hf.errors import CorpusError, TokenIdError, UnsupportedError, VocabularyError
from crayon_hf.parity.inputs.strings import CATEGORIES, generate
from crayon_hf.tokenizer.resolve import open_tokenizer
from crayon_hf.training import VocabularyChange
from tests.conftest import SENTENCES
from tests.training.surgery_cases import KINDS, strings, texts, vocabulary
from tests.training.surgery_twin import document_of, extended, parts_of, words_of

# -- extend


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


def test_files(tmp_path: Path) -> None:
    old = vocabulary("bytes", 5)
    (tmp_path / "a.txt").write_text("abab\n" * 9)
    change = extend(old, tmp_path / "a.txt", new_tokens=2, output=tmp_path / "b.json", show_progress=False)
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.dat", "b.id_map.json", "b.json"]
    assert json.loads((tmp_path / "b.id_map.json").read_text()) == change.id_map.tolist()
    assert Tokenizer.from_file(tmp_path / "b.dat").get_vocab() == change.tokenizer.get_vocab()
    stock = tokenizers.Tokenizer.from_file(str(tmp_path / "b.json"))
    assert extend(stock, ["xyz"], new_tokens=1, show_progress=False).new_tokens == 1
    (tmp_path / "old").mkdir()
    old.save(tmp_path / "old" / "tokenizer.json")
    (tmp_path / "old" / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}')
    extend(tmp_path / "old", ["xyz"], new_tokens=1, output=tmp_path / "new", show_progress=False)
    assert json.loads((tmp_path / "new" / "tokenizer_config.json").read_text())["chat_template"] == "{{ messages }}"


def test_what_extend_refuses(tmp_path: Path) -> None:
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


# -- shrink


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
    names = ["tokenizer.json", "tokenizer_config.json", "tokenizer.dat", "id_map.json"]
    assert change.files == [os.path.join(str(tmp_path / "new"), name) for name in names]
    assert json.loads((tmp_path / "new" / "id_map.json").read_text()) == change.id_map.tolist()
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


def test_what_shrink_refuses(tmp_path: Path) -> None:
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


# -- published vocabularies

STRINGS = int(os.environ.get("CRAYON_SURGERY_STRINGS", "250"))
DIRECTORIES = ("gpt2", "llama2", "llama3", "qwen", "phi-2", "roberta-base", "whisper-tiny")
FILES = ("mistral-v1/tokenizer.model", "mistral-v3/tokenizer.model", "cl100k_base/cl100k_base.tiktoken")
TRAINED = tuple(f"{kind}-{seed}" for seed in (1, 2) for kind in KINDS)


def inputs(tokenizer: Tokenizer, seed: int) -> list[str]:
    """Return strings of every category, also with the tokenizer's special tokens, and sentences."""
    specials = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    chance = random.Random(seed)
    words = " ".join(SENTENCES).split(" ")
    categories = [name for name in CATEGORIES if name != "surrogates"]  # tokenizers does not accept surrogates
    made = [text for _, text in generate(STRINGS * 3 // 4, seed, categories, specials)]
    return made + [" ".join(chance.choices(words, k=chance.randrange(1, 9))) for _ in range(STRINGS - len(made))]


def check_stock(folder: Path, ours: Tokenizer, given: list[str]) -> list[list[int]]:
    """Return the ids of `Tokenizer`, after comparing them with those of `tokenizers` and `transformers`."""
    from transformers import AutoTokenizer

    ids = [encoding.ids for encoding in ours.encode_batch(given)]
    stock = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert [encoding.ids for encoding in stock.encode_batch_fast(given)] == ids
    reopened = Tokenizer.from_file(folder)
    assert [encoding.ids for encoding in reopened.encode_batch(given)] == ids
    # The class of the transformers tokenizer may cut text differently, also before the change.
    assert AutoTokenizer.from_pretrained(folder)(given).input_ids == (
        crayon_hf.AutoTokenizer.from_pretrained(folder)(given).input_ids
    )
    return ids


@pytest.mark.parametrize("name", [*DIRECTORIES, *FILES, *TRAINED])
def test_extended(name: str, shared: Path, tmp_path: Path) -> None:
    """The extended vocabularies give the same ids here, in `tokenizers` and in `transformers`."""
    kind, _, seed = name.rpartition("-")
    old: Any = vocabulary(kind, int(seed)) if name in TRAINED else shared / "vocab" / name
    change = extend(old, list(SENTENCES), new_tokens=100, output=tmp_path / "new", show_progress=False)
    assert change.new_tokens == 100
    check_stock(tmp_path / "new", change.tokenizer, inputs(change.tokenizer, 1))
    opened = old if name in TRAINED else open_tokenizer(old)
    more, fewer = (sum(map(len, each.encode_batch(list(SENTENCES)))) for each in (opened, change.tokenizer))
    assert fewer <= more


@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen", "llama2"])
@pytest.mark.parametrize("how", ["vocab_size", "used_by"])
def test_shrunk(name: str, how: str, shared: Path, tmp_path: Path) -> None:
    """Texts without lost tokens get the mapped ids. All texts get the ids of `tokenizers` and `transformers`."""
    path = shared / "vocab" / name
    old = Tokenizer.from_file(path)
    given = inputs(old, 2)
    options: dict[str, Any] = {"used_by": given[::2]} if how == "used_by" else {"vocab_size": old.get_vocab_size() // 2}
    change = shrink(path, output=tmp_path / "new", show_progress=False, **options)
    assert json.loads((tmp_path / "new" / "id_map.json").read_text()) == change.id_map.tolist()
    kept = 0
    new = check_stock(tmp_path / "new", change.tokenizer, given)
    for encoding, ids in zip(old.encode_batch(given), new, strict=True):
        mapped = change.id_map[encoding.ids]
        if (mapped >= 0).all():
            assert ids == mapped.tolist()
            kept += 1
    assert kept >= STRINGS // 4
