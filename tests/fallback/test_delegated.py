"""A tokenizer that the engine does not support is delegated to ``tokenizers``, with one warning."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
import tokenizers

from crayon_hf import DelegatedWarning, Tokenizer, UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json.parts import added_token, byte_level, split
from tests.support.versions import before_1, since

# With the tokenizers of the fixtures `ours` and `reference` below.
from tests.tokenizer.test_tokenizer import test_every_call, test_ragged_and_counts  # noqa: F401


@pytest.fixture(scope="module")
def ours(refusing, wordpiece_like):
    with pytest.warns(DelegatedWarning):
        return Tokenizer.from_file(wordpiece_like)


@pytest.fixture(scope="module")
def reference(wordpiece_like):
    return tokenizers.Tokenizer.from_file(str(wordpiece_like))


@pytest.fixture(scope="module")
def odd_pattern(refusing, gpt2_like, vocabularies) -> Path:
    """Byte-level BPE with a custom pattern, the only part that the engine refuses."""
    document = json.loads(gpt2_like.read_bytes())
    cuts = [split("[aeiou]+|[^aeiou]+"), byte_level()]
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": cuts}
    path = vocabularies / "odd_pattern.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_one_warning_names_the_component_and_the_caller(refusing, wordpiece_like):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tokenizer = Tokenizer.from_file(wordpiece_like)
        tokenizer.encode("a")
        tokenizer.encode_batch(["a", "b"])
        tokenizer.decode([1])
    (warning,) = caught
    assert warning.category is DelegatedWarning
    assert warning.filename == __file__
    assert "WordPiece" in str(warning.message)
    assert "slower" in str(warning.message)
    assert "tokenizers" in str(warning.message)


def test_other_calls(ours, reference):
    texts = ["Hello, world!", "", "naïve 日本 [CLS] x", "  spaces  "]
    expected = [encoding.ids for encoding in reference.encode_batch(texts)]
    assert [encoding.ids for encoding in ours.encode_batch_fast(texts, threads=2)] == expected
    assert ours.encode(["a", "b"], is_pretokenized=True).ids == reference.encode(["a", "b"], is_pretokenized=True).ids
    assert ours.decode_bytes(expected[2]) == reference.decode(expected[2], skip_special_tokens=False).encode()


def test_saving(ours, reference, tmp_path):
    ours.save(tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == reference.to_str(pretty=True)
    with pytest.raises(UnsupportedError, match=r"no cartridge.*WordPiece"):
        ours.save(tmp_path / "x.dat")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(UnsupportedError, match="WordPiece"):
        ours.encode_bytes(b"x")


def test_odd_pattern(odd_pattern):
    with pytest.warns(DelegatedWarning, match="aeiou"):
        ours = Tokenizer.from_file(odd_pattern)
    reference = tokenizers.Tokenizer.from_file(str(odd_pattern))
    ids = ours.encode("Hello, wörld <|endoftext|>").ids
    assert ids == reference.encode("Hello, wörld <|endoftext|>").ids
    assert ours.decode_bytes(ids) == "Hello, wörld <|endoftext|>".encode()
    assert ours.decode_bytes(ids, skip_special_tokens=True) == "Hello, wörld ".encode()
    (split,) = [ours.token_to_id("Ã")]
    assert ours.decode_bytes([split]) == b"\xc3"


def test_what_the_reference_refuses_too(refusing, wordpiece_like, tmp_path):
    document = json.loads(wordpiece_like.read_bytes())
    document["model"]["vocab"] = 5
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(VocabularyError, match=r"x\.json"):
            Tokenizer.from_file(path)


@before_1("class that would encode before the training")
@pytest.mark.parametrize("model", ["BPE", "WordPiece", "WordLevel"])
def test_empty_vocabulary(model, tmp_path):
    """A tokenizer with an empty vocabulary cannot be compiled; ``tokenizers`` opens and trains it."""
    stock = tokenizers.Tokenizer(getattr(tokenizers.models, model)())
    stock.save(str(tmp_path / "empty.json"))
    trainer = getattr(tokenizers.trainers, f"{model.replace('BPE', 'Bpe')}Trainer")(show_progress=False)
    for open_it in (
        lambda: Tokenizer.from_str(stock.to_str()),
        lambda: Tokenizer.from_file(tmp_path / "empty.json"),
        lambda: Tokenizer.from_tokenizers(stock),
    ):
        with pytest.warns(DelegatedWarning, match="an empty vocabulary"):
            ours = open_it()
        assert (ours.engine, ours.get_vocab(), ours.to_str()) == ("delegated", {}, stock.to_str())
        ours.train_from_iterator(["ab abc ab"], trainer)
        twin = tokenizers.Tokenizer(getattr(tokenizers.models, model)())
        twin.train_from_iterator(["ab abc ab"], trainer)
        assert ours.get_vocab() == twin.get_vocab() != {}
        assert ours.encode("ab abc ab").ids == twin.encode("ab abc ab").ids


@since((0, 23), "refuses the file, and does not panic")
def test_a_panic_of_the_reference_is_an_error():
    """`tokenizers` panics at a merge whose product is not a token. The file is delegated because two of its tokens have
    one id."""
    document = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 1}, "merges": [["a", "b"]]}}
    with pytest.raises(BaseException, match="range end index"):
        tokenizers.Tokenizer.from_str(json.dumps(document))
    with pytest.raises(VocabularyError, match="its reader panicked"):
        Tokenizer.from_str(json.dumps(document))


def test_an_added_token_at_which_the_normalizer_panics():
    """The reference normalizes added tokens when it opens a file, and panics at this one. The native compiler reports
    the token as an error of the file."""
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": ""}, {"type": "Nmt"}]}
    document = {
        "added_tokens": [added_token(1, "\u4e00", normalized=True)],
        "normalizer": normalizer,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 2}, "unk_token": "<unk>"},
    }
    with pytest.raises(BaseException, match=r"start|index|range|None"):
        tokenizers.Tokenizer.from_str(json.dumps(document))
    with pytest.raises(VocabularyError, match="panicked"):
        Tokenizer.from_str(json.dumps(document))
