"""Pickles of our classes: found by name in another process, and the same before and after use."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
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
