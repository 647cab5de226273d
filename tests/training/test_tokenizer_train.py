"""`Tokenizer.train` and `train_from_iterator` make the same tokenizer as those of ``tokenizers``."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors, trainers

from crayon_hf import DelegatedWarning, InvalidUtf8Error, Tokenizer
from tests.support.versions import before_1, since
from tests.training.training_cases import CUTS, NORMALIZERS, TEXTS, added, build, corpus, trainer


def both(**how: Any) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    return build(Tokenizer, **how), build(tokenizers.Tokenizer, **how)


def same(ours: Tokenizer, stock: tokenizers.Tokenizer) -> None:
    assert ours.to_str() == stock.to_str()
    for text in TEXTS:
        assert ours.encode(text).ids == stock.encode(text).ids
    assert ours.get_vocab() == stock.get_vocab()
    assert ours.get_added_tokens_decoder() == stock.get_added_tokens_decoder()


def test_random_corpora_and_options(native: list[str]) -> None:
    """Random corpora with every way to cut words. Cases in which the reference chooses randomly are excluded."""
    for seed in range(120):
        chance = random.Random(seed)
        how = {"cut": list(CUTS)[seed % len(CUTS)], "normalizer": list(NORMALIZERS)[seed % len(NORMALIZERS)]}
        if chance.random() < 0.3:
            how["unk_token"] = "<unk>"
        options: dict[str, Any] = {
            "vocab_size": chance.choice((0, 1, 5, 12, 40, 300)),
            "min_frequency": chance.choice((0, 0, 1, 2, 5)),
            "special_tokens": chance.sample(["<s>", "a", "ab", "<unk>", AddedToken("b", lstrip=True)], 2),
        }
        if chance.random() < 0.3:
            options["initial_alphabet"] = chance.sample(["a", "z", "é", "xyz", ""], 3)
        if chance.random() < 0.3:
            options["max_token_length"] = chance.choice((0, 1, 2, 3, 5))
        texts = corpus(seed)
        ours, stock = both(**how)
        for tokenizer in (ours, stock):
            tokenizer.add_tokens(added(seed))
            tokenizer.train_from_iterator(texts, trainer(**options))
        assert ours.to_str() == stock.to_str(), (seed, how, options, texts)
    assert len(native) == 120


def test_nothing_to_train_on(native: list[str]) -> None:
    for texts in ([], [""], [[]], ["", ""], [[], [""]]):
        for options in ({}, {"special_tokens": ["<s>"]}, {"initial_alphabet": ["a", "b"]}):
            ours, stock = both()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DelegatedWarning)
                for tokenizer in (ours, stock):
                    tokenizer.train_from_iterator(texts, trainer(**options))
                assert ours.to_str() == stock.to_str()
                assert ours.encode("ab").ids == stock.encode("ab").ids
    assert len(native) == 15


def test_what_was_there_stays(native: list[str], gpt2_like: Path) -> None:
    """Added tokens with their ids, the post-processor, truncation and padding stay; the vocabulary is replaced."""
    ours, stock = Tokenizer.from_file(gpt2_like), tokenizers.Tokenizer.from_file(str(gpt2_like))
    for tokenizer in (ours, stock):
        tokenizer.add_tokens(["the", AddedToken("[x]", rstrip=True)])
        tokenizer.enable_truncation(7, stride=1)
        tokenizer.enable_padding(length=9, pad_id=3, pad_token="<p>")
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
        )
        options = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
        tokenizer.train_from_iterator(
            TEXTS, trainer(vocab_size=400, special_tokens=["<|endoftext|>", "<new>"], **options)
        )
    assert ours.to_str() == stock.to_str()
    assert ours.get_added_tokens_decoder() == stock.get_added_tokens_decoder()
    for text in TEXTS:
        assert ours.encode(text).ids == stock.encode(text).ids


def test_special_tokens_in_the_text(native: list[str]) -> None:
    """A token added before training is a word of its own. A special token of the trainer alone is ordinary text."""
    for as_text in (False, True):
        for tokens in (["<s>"], [AddedToken("[x]", lstrip=True, special=True)]):
            ours, stock = both(cut="whitespace")
            for tokenizer in (ours, stock):
                tokenizer.add_special_tokens(tokens)
                tokenizer.encode_special_tokens = as_text
                tokenizer.train_from_iterator(["<s> <s>a [x]b [x]", "<t><t>"] * 3, trainer(special_tokens=["<t>"]))
            assert ours.to_str() == stock.to_str()


def test_special_tokens_as_text_beside_others(native: list[str]) -> None:
    """Only in the reference, a skipped special token hides another token that it overlaps."""
    ours, stock = both(cut="whitespace")
    for tokenizer in (ours, stock):
        tokenizer.add_special_tokens(["<s>"])
        tokenizer.add_tokens(["s>a", "b"])
        tokenizer.encode_special_tokens = True
    with pytest.warns(DelegatedWarning, match="special tokens"):
        ours.train_from_iterator(["<s>a s>ab b"] * 3, trainer())
    stock.train_from_iterator(["<s>a s>ab b"] * 3, trainer())
    assert ours.to_str() == stock.to_str()
    for tokenizer in (ours, stock):
        tokenizer.model = models.WordLevel(unk_token="<unk>")
        tokenizer.train_from_iterator(["<s>a s>ab b"] * 3, trainers.WordLevelTrainer(show_progress=False))
    assert ours.to_str() == stock.to_str()


@pytest.mark.parametrize(
    "settings", [{}, {"unk_token": "<s>", "fuse_unk": True}, {"end_of_word_suffix": "</w>", "byte_fallback": True}]
)
def test_an_empty_file_is_filled(settings: dict[str, Any], tmp_path: Path, native: list[str]) -> None:
    """A tokenizer.json without vocabulary is trained, and keeps its truncation and padding."""
    made, path = build(tokenizers.Tokenizer, cut="whitespace", normalizer="lower", **settings), tmp_path / "empty.json"
    made.enable_truncation(7, stride=2)
    made.enable_padding(pad_token="<s>")
    made.save(str(path))
    for written in (made.to_str(), json.dumps({"model": {"type": "BPE", "vocab": {}, "merges": []} | settings})):
        path.write_text(written, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DelegatedWarning)
            ours = [Tokenizer.from_file(path), Tokenizer.from_str(written)]
        stock = tokenizers.Tokenizer.from_str(written)
        both: list[Any] = [*ours, stock]
        for tokenizer in both:
            tokenizer.train_from_iterator(TEXTS, trainer(vocab_size=90, special_tokens=["<s>"]))
        for filled in ours:
            same(filled, stock)
    assert len(native) == 4


def test_files(tmp_path: Path, native: list[str]) -> None:
    """Files are read as lines with their line endings, whatever the suffixes of their names."""
    data = [b"one two\r\nthree\n\nfour", b"", b"two two\rtwo\n", "漢字\u2028漢字\n".encode() * 3]
    paths = [tmp_path / name for name in ("a.txt", "empty", "b.jsonl", "c")]
    for path, content in zip(paths, data, strict=True):
        path.write_bytes(content)
    for cut in ("gpt2", "prefix_space", "none", "metaspace"):
        ours, stock = both(cut=cut)
        for tokenizer in (ours, stock):
            tokenizer.train([str(path) for path in paths], trainer(vocab_size=70))
        same(ours, stock)
    with pytest.raises(FileNotFoundError, match="nope"):
        ours.train([str(paths[0]), str(tmp_path / "nope")])
    for wrong in ("x", 5, [5], [b"x"]):
        with pytest.raises(TypeError, match="files"):
            ours.train(wrong)
    paths[0].write_bytes(b"ok\nok\nbad\xff\n")
    with pytest.raises(InvalidUtf8Error, match="line 3"):
        ours.train([str(paths[0])])
    same(ours, stock)


def test_an_iterator_that_raises(native: list[str]) -> None:
    """The iterator is read lazily. After an error our tokenizer is unchanged, even if the reference's is not."""
    ours = build(Tokenizer)
    ours.train_from_iterator(TEXTS, trainer(vocab_size=100))
    before, seen = ours.to_str(), []

    def texts(error: BaseException) -> Any:
        for text in TEXTS:
            seen.append(text)
            yield text
        raise error

    for error in (RuntimeError("mine"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            ours.train_from_iterator(texts(error), trainer(vocab_size=50))
    assert ours.to_str() == before
    assert seen == TEXTS * 2


class Shout:
    """A normalizer that is written in Python."""

    def normalize(self, text: tokenizers.NormalizedString) -> None:
        text.uppercase()


class Halves:
    """A pre-tokenizer that is written in Python."""

    def pre_tokenize(self, text: tokenizers.PreTokenizedString) -> None:
        def cut(_: int, part: tokenizers.NormalizedString) -> list[tokenizers.NormalizedString]:
            size = len(str(part))
            return [part[: size // 2], part[size // 2 :]]

        text.split(cut)


@since((0, 23), "finds an added token that was normalized once otherwise, and decodes it as it was added")
@before_1("components written in Python")
def test_components_in_python(native: list[str]) -> None:
    """Components in Python cut the text, and the engine finds the merges."""
    results = []
    for tokenizer in (build(Tokenizer), build(tokenizers.Tokenizer)):
        tokenizer.normalizer = normalizers.Normalizer.custom(Shout())
        tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Halves())
        tokenizer.add_tokens(["the", AddedToken("FOX", normalized=True)])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            tokenizer.train_from_iterator(iter(TEXTS), trainer(vocab_size=90, special_tokens=["the", "FOX", "<s>"]))
        results.append((tokenizer.get_vocab(), tokenizer.encode("the quick fox").tokens))
        assert [str(w.message).partition(";")[0] for w in seen] == (
            ["not supported by crayon-hf's engine: a normalizer and pre_tokenizer that has no JSON"]
            if isinstance(tokenizer, Tokenizer)
            else []
        )
    assert results[0] == results[1]
    assert native == ["bpe"]


@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel", "Unigram"])
def test_other_models(kind: str, native: list[str]) -> None:
    """The reference trains models other than BPE. Its training is deterministic if every inner character of a word is a
    special token."""
    inside = [f"##{letter}" for letter in sorted({letter for text in TEXTS for letter in text})]
    unknown = {"unk_token": "<unk>"}
    options = {"special_tokens": ["<unk>", *inside], "vocab_size": 300, "show_progress": False}
    options |= unknown if kind == "Unigram" else {}
    results = []
    for tokenizer_class in (Tokenizer, tokenizers.Tokenizer):
        model = getattr(models, kind)(**({} if kind == "Unigram" else unknown))
        tokenizer = tokenizer_class(model)
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.train_from_iterator(TEXTS, getattr(trainers, f"{kind}Trainer")(**options))
        results.append(tokenizer.get_added_tokens_decoder())
        if kind != "Unigram":
            results[-1] = tokenizer.to_str()
    assert results[0] == results[1]
    assert native == []


@since((0, 23), "has no progress_format")
def test_progress_is_shown_where_it_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal no bar is drawn, and JSON lines are written if requested."""
    ours = build(Tokenizer)
    ours.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=100))
    ours.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=100, progress_format="silent"))
    assert capfd.readouterr().err == ""
    ours.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=100, progress_format="json"))
    assert capfd.readouterr().err.startswith('{"stage":"Count words","current":')
