"""Pickles of our classes, found by name in another process and the same before and after use; retrained tokenizers."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import AddedToken

import crayon_hf
from crayon_hf import DelegatedWarning
from tests.transformers.comparing import plain

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu"
OF_LIBRARIES = [pytest.param(name, marks=pytest.mark.slow) for name in ("dill", "ray.cloudpickle", "multiprocess")]
WAYS = ["copy", "deepcopy", "pickle", *OF_LIBRARIES]

FINGERPRINTS = """
import copy, pickle, sys
{first}
from datasets.fingerprint import Hasher
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
print(Hasher.hash(tokenizer), Hasher.hash(type(tokenizer)), Hasher.hash(lambda rows: tokenizer(rows["text"])))
copy.copy(tokenizer), pickle.loads(pickle.dumps(tokenizer)), tokenizer("a", truncation=True, max_length=2)
print(Hasher.hash(tokenizer), Hasher.hash(type(tokenizer)), Hasher.hash(lambda rows: tokenizer(rows["text"])))
"""


def twin(way: str, thing: Any) -> Any:
    if way in ("copy", "deepcopy"):
        return getattr(copy, way)(thing)
    if way == "multiprocess":
        pytest.importorskip("multiprocess")
        return import_module("multiprocess.reduction").ForkingPickler.loads(
            import_module("multiprocess.reduction").ForkingPickler.dumps(thing)
        )
    library = pickle if way == "pickle" else pytest.importorskip(way)
    return library.loads(library.dumps(thing))


@pytest.mark.parametrize("way", WAYS)
def test_the_class_stays(pair: tuple[Any, Any], way: str) -> None:
    for tokenizer in pair:
        tokenizer.add_tokens(["quick"])
    stock, ours = pair
    found = twin(way, ours)
    assert type(found) is type(ours)
    assert isinstance(found._tokenizer, crayon_hf.Tokenizer)
    assert plain(found(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
    assert vars(found).keys() == vars(ours).keys()
    found.add_tokens(["brown"])
    assert len(found) == len(ours) + (way != "copy")
    assert twin(way, type(ours)) is type(ours)
    assert twin(way, crayon_hf.CrayonTokenizerFast) is crayon_hf.CrayonTokenizerFast


@pytest.mark.parametrize("library", ["pickle", *OF_LIBRARIES[:2]])
def test_in_another_process(repositories: dict[str, Path], library: str, tmp_path: Path) -> None:
    """Another process loads the pickle, and imports only modules that the pickle names."""
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["bert"])
    pickler = pickle if library == "pickle" else pytest.importorskip(library)
    (tmp_path / "pickled").write_bytes(pickler.dumps(ours))
    program = (
        "import pickle, sys\n"
        "tokenizer = pickle.load(open(sys.argv[1], 'rb'))\n"
        "from crayon_hf.transformers.classes import class_for, stock_class\n"
        "assert class_for(stock_class(type(tokenizer))) is type(tokenizer)\n"
        f"print(tokenizer({TEXT!r})['input_ids'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "pickled")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(ours(TEXT)["input_ids"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        "import datasets; from crayon_hf import AutoTokenizer",
        "import crayon_hf; crayon_hf.install(); from transformers import AutoTokenizer",
    ],
)
def test_fingerprints_before_and_after_use(repositories: dict[str, Path], first: str) -> None:
    """The fingerprint of datasets does not change with use. It is taken in a separate process, because copying a class
    leaves state in the process."""
    pytest.importorskip("datasets")
    command = [sys.executable, "-c", FINGERPRINTS.format(first=first), str(repositories["bert"])]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0][:3] == runs[0][3:]


def cached(tokenizer: Any) -> Any:
    """A tokenizer as servers wrap it: its class is derived at run time, and it pickles as a function call."""

    class Cached(type(tokenizer)):  # type: ignore[misc]
        def __len__(self) -> int:
            return length

        def __reduce__(self) -> Any:
            return cached, (tokenizer,)

    length = len(tokenizer)
    twin = copy.copy(tokenizer)
    twin.__class__ = Cached
    return twin


def test_subclasses_say_how_they_are_pickled(pair: tuple[Any, Any]) -> None:
    for tokenizer in pair:
        for twin in (pickle.loads(pickle.dumps(cached(tokenizer))), copy.deepcopy(cached(tokenizer))):
            assert type(twin).__qualname__ == "cached.<locals>.Cached"
            assert plain(twin(TEXT)) == plain(tokenizer(TEXT))


def test_pickled_batches(pair: tuple[Any, Any]) -> None:
    stock, ours = pair
    for arguments in ({}, {"padding": True, "return_tensors": "np"}):
        batch = pickle.loads(pickle.dumps(ours([TEXT, "a"], **arguments)))
        expected = stock([TEXT, "a"], **arguments)
        assert plain(dict(batch)) == plain(dict(expected))
        assert [one.tokens for one in batch.encodings] == [one.tokens for one in expected.encodings]
        assert plain(dict(copy.deepcopy(ours([TEXT, "a"], **arguments)))) == plain(dict(expected))


# -- retraining

TEXTS = [["hello hello world\n", "the quick brown fox the the"], ["  spaced   out é ü 漢字 "]] * 5
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "more special tokens": {"new_special_tokens": ["<new>", AddedToken("<lazy>", lstrip=True)]},
    "renamed": {"special_tokens_map": {"<|endoftext|>": "<end>", "[CLS]": "<cls>", "</s>": "<fin>", "<s>": "<begin>"}},
    "trainer": {"min_frequency": 3, "max_token_length": 4, "show_progress": False},
}


def retrain(tokenizer: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DelegatedWarning)
        return tokenizer.train_new_from_iterator(iter(TEXTS), 400, length=10, **options)


def facts(tokenizer: Any) -> dict[str, Any]:
    """All properties of a tokenizer that a user sees."""
    return {
        "class": type(tokenizer).__name__,
        "json": json.loads(tokenizer._tokenizer.to_str()),
        "named": {name: str(token) for name, token in tokenizer._special_tokens_map.items()},
        "special": tokenizer.all_special_tokens,
        "ids": tokenizer.all_special_ids,
        "arguments": sorted(tokenizer.init_kwargs),
        "size": len(tokenizer),
        "encoded": [tokenizer(text).data for texts in TEXTS[:2] for text in texts],
        "decoded": tokenizer.decode(tokenizer("the fox")["input_ids"]),
    }


@pytest.mark.parametrize("options", OPTIONS)
def test_like_transformers(pair: tuple[Any, Any], options: str, native: list[str]) -> None:
    """The retrained tokenizer equals that of transformers. If the reference trains the model with random results, all
    but the vocabulary is equal."""
    stock, ours = (facts(retrain(tokenizer, **_known(tokenizer, OPTIONS[options]))) for tokenizer in pair)
    bpe = stock["json"]["model"]["type"] == "BPE"
    assert len(native) == bpe
    if not bpe:
        for one in (stock, ours):
            del one["json"]["model"]["vocab"], one["size"], one["encoded"], one["decoded"]
    assert ours == stock


def _known(tokenizer: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the trainer of the tokenizer's model has."""
    unigram = json.loads(tokenizer._tokenizer.to_str())["model"]["type"] == "Unigram"
    return {} if unigram and "min_frequency" in options else dict(options)


def test_the_result_is_ours(repositories: dict[str, Path], tmp_path: Path, native: list[str]) -> None:
    ours = crayon_hf.AutoTokenizer.from_pretrained(repositories["byte_level"])
    before = ours._tokenizer.to_str()
    made = retrain(ours)
    assert isinstance(made, crayon_hf.CrayonTokenizerFast)
    assert made._tokenizer.engine == "native"
    assert ours._tokenizer.to_str() == before
    assert made.chat_template == ours.chat_template
    made.save_pretrained(tmp_path)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)("the fox").data == made("the fox").data
    again = retrain(made)
    assert again.get_vocab() == made.get_vocab()
