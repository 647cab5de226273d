"""Training makes the same tokenizers as ``tokenizers``: `Tokenizer.train`, `train_from_iterator`, `train_bpe` and the
rest, with their templates, results and files."""

from __future__ import annotations

import json
import os
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

import crayon_hf
from crayon_hf import DelegatedWarning, InvalidUtf8Error, Tokenizer, VocabularyError, train_bpe
from crayon_hf.training.templates import byte_level, pattern_names
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.conftest import LLAMA3_PATTERN
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


NOTHING: list[Any] = [[], [""], [[]], ["", ""], [[], [""]]]


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
        texts = corpus(seed) if seed % 8 else NOTHING[seed // 8 % len(NOTHING)]
        ours, stock = both(**how)
        for tokenizer in (ours, stock):
            tokenizer.add_tokens(added(seed))
            tokenizer.train_from_iterator(texts, trainer(**options))
        assert ours.to_str() == stock.to_str(), (seed, how, options, texts)
    assert len(native) == 120


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


def reference(pre_tokenizer: Any, **options: Any) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True)
    options.setdefault("initial_alphabet", pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS, trainer(**options))
    return tokenizer


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])


def test_by_default() -> None:
    """Byte-level BPE with the pattern of the profile lite, which encodes every text without loss."""
    ours = train_bpe(TEXTS)
    assert ours.to_str() == reference(split(LLAMA3_PATTERN)).to_str()
    assert ours.engine == "native"
    for text in [*TEXTS, "\x00\u0378 never seen: Ω"]:
        assert ours.decode(ours.encode(text).ids) == text
    lite = json.loads(Tokenizer.from_profile("lite").to_str())
    made = json.loads(ours.to_str())
    assert all(made[name] == lite[name] for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"))


OPTIONS: dict[str, Any] = {
    **{"vocab_size": 290, "min_frequency": 2, "max_token_length": 3},
    **{"special_tokens": ["<s>", AddedToken("<m>", lstrip=True)]},
}
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
NAMED = ("cl100k", "o200k", "qwen2", "tekken", "deepseek-v3", "bloom")


@pytest.mark.parametrize("options", [OPTIONS, {"initial_alphabet": ["a"], "vocab_size": 60}], ids=["all", "bare"])
def test_options(options: dict[str, Any]) -> None:
    assert train_bpe(TEXTS, **options).to_str() == reference(split(LLAMA3_PATTERN), **options).to_str()


@before_1("Sequence that could be handed to the reference")
def test_patterns() -> None:
    for cuts, how in (
        (GPT2, {"pattern": "gpt2"}),
        (GPT2, {"pre_tokenizer": GPT2}),
        (split(r"\w+|\W"), {"pattern": crayon_hf.Regex(r"\w+|\W")}),
        *((byte_level(name).pre_tokenizer, {"pattern": name}) for name in NAMED),
    ):
        assert train_bpe(TEXTS, vocab_size=280, **how).to_str() == reference(cuts, vocab_size=280).to_str()
    words = train_bpe(TEXTS, pre_tokenizer=pre_tokenizers.Whitespace(), vocab_size=100)
    assert "Ġ" not in words.get_vocab()
    assert {"gpt2", "llama3", *NAMED} <= set(pattern_names())
    with pytest.raises(ValueError, match=r"unknown pattern 'gpt-9'; .*gpt-2"):
        train_bpe(TEXTS, pattern="gpt-9")
    with pytest.raises(ValueError, match="give one of them"):
        train_bpe(TEXTS, pattern="gpt2", pre_tokenizer=GPT2)


def test_wrong_arguments() -> None:
    cases: tuple[tuple[dict[str, Any], type[Exception], str], ...] = (
        ({"vocab_size": -1}, OverflowError, "vocab_size"),
        ({"vocab_size": "5"}, TypeError, "vocab_size"),
        ({"special_tokens": "<s>"}, TypeError, "special_tokens"),
        ({"special_tokens": [5]}, TypeError, "token 0"),
        ({"end_of_word_suffix": 5}, TypeError, "end_of_word_suffix"),
        ({"initial_alphabet": [5]}, TypeError, "initial_alphabet"),
        ({"max_token_length": 1.5}, TypeError, "max_token_length"),
        ({"no_such_option": 1}, TypeError, "no_such_option"),
        ({"tokenizer": 5}, TypeError, "int"),
        ({"threads": -1}, OverflowError, "threads"),
        ({"length": -1}, OverflowError, "length"),
        ({"format": "x"}, ValueError, "format"),
        ({"column": 5}, TypeError, "column"),
        ({"show_progress": "x"}, TypeError, "show_progress"),
    )
    for options, error, message in cases:
        with pytest.raises(error, match=message):
            train_bpe(TEXTS, **options)


@pytest.mark.parametrize("given", ["ours", "stock", "path"])
def test_like_another_tokenizer(given: str, template_like: Path) -> None:
    """Components and special tokens are copied with their new ids; the template is unchanged."""
    other: Any = {
        "ours": lambda: Tokenizer.from_file(template_like),
        "stock": lambda: tokenizers.Tokenizer.from_file(str(template_like)),
        "path": lambda: template_like,
    }[given]()
    before = template_like.read_bytes() if given == "path" else other.to_str()
    made = train_bpe(TEXTS, tokenizer=other, vocab_size=300, special_tokens=["<first>"])
    assert (template_like.read_bytes() if given == "path" else other.to_str()) == before
    assert [made.id_to_token(id) for id in range(3)] == ["[CLS]", "[SEP]", "<first>"]
    assert set(made.get_added_tokens_decoder()) == {0, 1, 2}
    assert made.encode("the").tokens[::3] == ["[CLS]", "[SEP]"][: len(made.encode("the").tokens[::3])]
    ids = made.encode("the the", "then").ids
    assert ids[0] == made.token_to_id("[CLS]")
    assert ids[-1] == made.token_to_id("[SEP]")
    assert set(map(chr, BYTE_LEVEL.values())) <= made.get_vocab().keys()


def test_ids_of_a_template_are_put_right() -> None:
    template = train_bpe(TEXTS, vocab_size=300, special_tokens=["<pad>", "</s>"])
    template.enable_padding(pad_id=0, pad_token="<pad>")
    template.enable_truncation(50)
    for post_processor in (
        processors.RobertaProcessing(("</s>", 1), ("<pad>", 0)),
        processors.BertProcessing(("</s>", 1), ("<pad>", 0)),
        processors.Sequence(
            [
                processors.ByteLevel(),
                processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)]),
            ]
        ),
    ):
        template.post_processor = post_processor
        shuffled = Tokenizer.from_tokenizers(tokenizers.Tokenizer.from_str(template.to_str()))
        made = train_bpe(TEXTS, tokenizer=shuffled, vocab_size=290)
        assert made.encode("the").ids[-1] == made.token_to_id("</s>")
        assert made.padding == template.padding
        assert made.truncation == template.truncation
    template.post_processor = processors.TemplateProcessing(single="$A other", special_tokens=[("other", 1)])
    with pytest.raises(VocabularyError, match=r"'other'.*special_tokens"):
        train_bpe(TEXTS, tokenizer=template)


def test_progress() -> None:
    """The callback sees each stage from beginning to end. If it raises, the training ends."""
    seen: list[tuple[str, int, int]] = []
    train_bpe(iter(TEXTS), length=len(TEXTS), vocab_size=280, show_progress=lambda *event: seen.append(event))
    assert ("Count words", len(TEXTS), len(TEXTS)) in seen
    assert len({stage for stage, _, _ in seen}) >= 2

    def refuse(*_: Any) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train_bpe(TEXTS, show_progress=refuse)


def test_a_result_that_is_not_native(tmp_path: Path) -> None:
    """For a trained tokenizer that the engine does not support, only the tokenizer.json is written. An old cartridge
    beside it is removed."""
    train_bpe(TEXTS, vocab_size=260, output=tmp_path / "a.dat")
    foreign: dict[str, Any] = {"pattern": crayon_hf.Regex(r"(?<x>\w)\k<x>"), "overwrite": True}
    with pytest.warns(crayon_hf.DelegatedWarning):
        made = train_bpe(TEXTS, vocab_size=280, output=tmp_path / "a.dat", **foreign)
    assert made.engine == "delegated"
    assert os.listdir(tmp_path) == ["a.json"]
    stock = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    assert stock.encode(TEXTS[0]).ids == made.encode(TEXTS[0]).ids


@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "wordlevel"])
def test_models_that_the_reference_trains(kind: str, tmp_path: Path) -> None:
    train = getattr(crayon_hf, f"train_{kind}")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"content": text}) + "\n" for text in TEXTS))
    seen: list[Any] = []
    made = train(
        tmp_path / "a.jsonl",
        column="content",
        vocab_size=120,
        output=tmp_path / "out",
        show_progress=lambda *event: seen.append(event),
    )
    assert seen[-1] == ("Count words", *[(tmp_path / "a.jsonl").stat().st_size] * 2)
    assert made.engine == "native"
    stock = tokenizers.Tokenizer.from_str(made.to_str())
    again = Tokenizer.from_file(tmp_path / "out" / "tokenizer.dat")
    for text in TEXTS:
        assert made.encode(text).ids == stock.encode(text).ids == again.encode(text).ids
    unknown = {"unigram": "<unk>"}.get(kind, "[UNK]")
    assert made.encode("Ω").ids[-2 if kind == "wordpiece" else -1] == made.token_to_id(unknown)
    twin = train(TEXTS, tokenizer=made, vocab_size=100, special_tokens=["<mine>"])
    assert twin.token_to_id("<mine>") is not None
    assert twin.token_to_id(unknown) == made.token_to_id(unknown)
    with pytest.raises(TypeError, match="has no option limit_alphabets"):
        train(TEXTS, limit_alphabets=5)


@pytest.mark.parametrize(
    ("name", "output"), [("data.json", "data.dat"), ("data.json", "data.json"), ("x.dat", "x.json")]
)
def test_no_output_replaces_what_it_is_trained_on(tmp_path: Path, name: str, output: str) -> None:
    source = tmp_path / name
    source.write_text('{"text": "ab ab"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="input"):
        train_bpe(source, vocab_size=260, output=tmp_path / output)
    assert source.read_text(encoding="utf-8") == '{"text": "ab ab"}\n'
    assert os.listdir(tmp_path) == [name]


def test_what_cannot_be_written_is_found_out_first(tmp_path: Path) -> None:
    def never() -> Any:
        raise AssertionError("the corpus was asked for")
        yield

    for name in ("file", "h.json"):
        (tmp_path / name).write_text("OLD")
    for name in ("d.json", "h.dat"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for output, error in (
        ("no/such", FileNotFoundError),
        ("file", NotADirectoryError),
        ("d.json", IsADirectoryError),
        ("h.json", IsADirectoryError),  # its cartridge
        ("link", OSError),
    ):
        with pytest.raises(error):
            train_bpe(never(), output=tmp_path / output)
    assert (tmp_path / "h.json").read_text() == "OLD"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_documentation(threads: int) -> None:
    """The corpus has half a megabyte, with ties and special tokens that are words."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[2] / "docs").glob("*.md"))]
    options: dict[str, Any] = {"vocab_size": 3000, "special_tokens": ["<s>", "the"], "min_frequency": 2}
    made = json.loads(train_bpe(iter(texts), pattern="gpt2", threads=threads, **options).to_str())["model"]
    stock = tokenizers.Tokenizer(models.BPE())
    stock.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    stock.train_from_iterator(texts, trainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options))
    model = json.loads(stock.to_str())["model"]
    assert (made["vocab"], made["merges"]) == (model["vocab"], model["merges"])


def test_a_word_without_an_end_takes_no_quadratic_time() -> None:
    """A word has a million characters. If the time of a merge grew with the word, this would take hours."""
    rng = random.Random(1)
    words = ["a" * 1_000_000, "".join(rng.choices("abcdefghij", k=500_000))]
    made = train_bpe(iter(words), vocab_size=5_000, pre_tokenizer=pre_tokenizers.Metaspace())
    assert made.get_vocab_size() == 5_000
