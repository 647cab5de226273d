"""`install`: everything in transformers that opens or makes a fast tokenizer gives ours, until `uninstall`."""

from __future__ import annotations

import abc
import copy
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import tokenizers
import transformers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

import crayon_hf
from tests.transformers.comparing import plain

TEXTS = ["The quick brown <pad> fox </s> [SEP] déjà vu", "", "a"]
NAMES = [
    "transformers.AutoTokenizer.from_pretrained",
    "tokenizers.decoders.DecodeStream",
    "transformers.PreTrainedTokenizerFast.from_pretrained",
    "transformers.PreTrainedTokenizerFast",
]


class Mine(PreTrainedTokenizerFast):
    """A project's subclass of the class of transformers."""

    def __init__(self, *args: Any, shout: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, shout=shout, **kwargs)
        self.shout = shout
        self.kept = self._tokenizer
        self.backend_tokenizer.normalizer = tokenizers.normalizers.Lowercase()

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        return super().from_pretrained(*args, **kwargs)

    def __call__(self, text: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(text.upper() if self.shout else text, *args, **kwargs)


class Characters:
    """A pre-tokenizer in Python."""

    def pre_tokenize(self, text: tokenizers.PreTokenizedString) -> None:
        text.split(lambda _, part: [part[i : i + 1] for i in range(len(str(part)))])


class InPython(PreTrainedTokenizerFast):
    """A project's subclass whose constructor sets a component that has no JSON."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Characters())


class Counted(abc.ABC):
    """An interface of a project."""

    @abc.abstractmethod
    def size(self) -> int: ...


class Abstract(PreTrainedTokenizerFast, Counted):
    """A project's subclass with a metaclass, and with a registry of the classes derived from it."""

    names: ClassVar[list[str]] = []

    def __init_subclass__(cls, *, key: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        assert key not in cls.names
        cls.names.append(key)

    def size(self) -> int:
        return len(self)


class Registered(Abstract, key="registered"):
    """A class in that registry."""


@pytest.fixture
def installed() -> Iterator[None]:
    crayon_hf.install()
    yield
    crayon_hf.uninstall()


def ways(repository: Path) -> dict[str, Any]:
    """Functions that open the fast tokenizer of a repository in common ways."""
    file = str(repository / "tokenizer.json")
    kind = type(AutoTokenizer.from_pretrained(repository)).__name__
    return {
        "auto": lambda: AutoTokenizer.from_pretrained(repository),
        "auto, by a name": lambda: AutoTokenizer.from_pretrained(pretrained_model_name_or_path=str(repository)),
        "its class": lambda: getattr(transformers, kind).from_pretrained(repository),
        "the base": lambda: PreTrainedTokenizerFast.from_pretrained(repository),
        "a derived class": lambda: Mine.from_pretrained(repository, shout=True),
        "a file": lambda: PreTrainedTokenizerFast(tokenizer_file=file, eos_token="</s>"),
        "an object": lambda: PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_file(file)),
        "a derived class of a file": lambda: Mine(tokenizer_file=file),
        "a pickle": lambda: pickle.loads(pickle.dumps(PreTrainedTokenizerFast.from_pretrained(repository))),
        "a copy": lambda: copy.deepcopy(PreTrainedTokenizerFast(tokenizer_file=file)),
    }


def test_every_way_to_open_one(repository: Path, tmp_path: Path) -> None:
    for way, make in ways(repository).items():
        stock = make()
        assert not isinstance(stock, crayon_hf.CrayonTokenizerFast), way
        crayon_hf.install()
        try:
            ours = make()
        finally:
            crayon_hf.uninstall()
        assert isinstance(ours, crayon_hf.CrayonTokenizerFast), way
        assert isinstance(ours, type(stock)), way
        assert isinstance(ours._tokenizer, crayon_hf.Tokenizer), way
        assert type(ours).__name__ == type(stock).__name__
        if isinstance(ours, Mine):
            assert ours.kept is ours._tokenizer
        for text in TEXTS:
            assert plain(ours(text)) == plain(stock(text)), way
            assert plain(ours(text, max_length=4, truncation=True)) == plain(stock(text, max_length=4, truncation=True))
        assert json.loads(ours._tokenizer.to_str())["model"] == json.loads(stock._tokenizer.to_str())["model"]
        stock.save_pretrained(tmp_path / "stock")
        ours.save_pretrained(tmp_path / "ours")
        for file in (tmp_path / "stock").iterdir():
            assert (tmp_path / "ours" / file.name).read_bytes() == file.read_bytes(), (way, file.name)
        shutil.rmtree(tmp_path / "stock")
        shutil.rmtree(tmp_path / "ours")


@pytest.mark.usefixtures("installed")
def test_classes_with_a_metaclass_or_a_registry(repositories: dict[str, Path]) -> None:
    repository = repositories["llama"]
    for kind in (Abstract, Registered):
        for tokenizer in (
            kind.from_pretrained(repository),
            kind(tokenizer_file=str(repository / "tokenizer.json")),
        ):
            assert isinstance(tokenizer, crayon_hf.CrayonTokenizerFast)
            assert isinstance(tokenizer, (kind, Counted))
            assert tokenizer.size() == len(tokenizer)
            for twin in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
                assert type(twin) is type(tokenizer)
                assert twin("a b")["input_ids"] == tokenizer("a b")["input_ids"]
            assert pickle.loads(pickle.dumps(type(tokenizer))) is type(tokenizer)
    assert Abstract.names == ["registered"]
    ours: Any = type(Registered.from_pretrained(repository))
    type("Derived", (ours,), {}, key="derived")
    assert Abstract.names.pop() == "derived"


def test_a_component_in_python(repository: Path) -> None:
    stock = InPython.from_pretrained(repository)
    crayon_hf.install()
    try:
        with pytest.warns(crayon_hf.DelegatedWarning, match="cannot be written"):
            ours = InPython.from_pretrained(repository)
    finally:
        crayon_hf.uninstall()
    for text in TEXTS:
        assert plain(ours(text)) == plain(stock(text))


def test_an_object_of_an_installed_library(repositories: dict[str, Path]) -> None:
    """A tokenizer that `install` opened for ``tokenizers`` takes the fast paths of transformers' classes."""
    crayon_hf.install(tokenizers=True)
    try:
        backend = tokenizers.Tokenizer.from_file(str(repositories["byte_level"] / "tokenizer.json"))
        for tokenizer in (
            PreTrainedTokenizerFast(tokenizer_object=backend),
            crayon_hf.CrayonTokenizerFast(tokenizer_object=backend),
            AutoTokenizer.from_pretrained(repositories["byte_level"]),
        ):
            tokenizer._tokenizer = backend
            assert tokenizer._tokenizer is backend
            assert tokenizer._crayon_plain_calls
            assert tokenizer("a b")["input_ids"] == backend.encode("a b").ids
    finally:
        crayon_hf.uninstall()


def test_what_is_covered() -> None:
    assert crayon_hf.installed() == {}
    before = [dict(vars(kind)) for kind in (AutoTokenizer, PreTrainedTokenizerFast)]
    crayon_hf.install()
    try:
        assert crayon_hf.installed() == dict.fromkeys(NAMES, "in place")
        AutoTokenizer.from_pretrained = classmethod(lambda cls: None)
        said = crayon_hf.installed()
        assert said.pop("transformers.AutoTokenizer.from_pretrained") == "not in place: other code has replaced it"
        assert set(said.values()) == {"in place"}
    finally:
        crayon_hf.uninstall()
    changed: Any = AutoTokenizer
    assert changed.from_pretrained() is None  # a later replacement by the program stays
    changed.from_pretrained = before[0]["from_pretrained"]
    assert [dict(vars(kind)) for kind in (AutoTokenizer, PreTrainedTokenizerFast)] == before
    assert crayon_hf.installed() == {}


PROGRAM = """
import sys
{before}
import crayon_hf
crayon_hf.install()
first = crayon_hf.installed()
{after}
assert set(crayon_hf.installed().values()) == {{"in place"}}, crayon_hf.installed()
for kind in kinds:
    assert isinstance(kind.from_pretrained(sys.argv[1]), crayon_hf.CrayonTokenizerFast), kind
crayon_hf.uninstall()
waiting = [finder.module for finder in sys.meta_path if "crayon" in type(finder).__module__]
assert {{*waiting, "dill"}} == {{"datasets.utils._dill", "dill"}}, waiting
for kind in kinds:
    assert not isinstance(kind.from_pretrained(sys.argv[1]), crayon_hf.CrayonTokenizerFast), kind
"""
NAMED = "from transformers import AutoTokenizer, BertTokenizerFast; kinds = AutoTokenizer, BertTokenizerFast"
WAITS = "assert {value.partition(' for')[0] for value in first.values()} == {'waits'}, first"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{WAITS}\nassert 'transformers' not in sys.modules and 'tokenizers' not in sys.modules\n{NAMED}"),
        (NAMED, ""),
        ("from transformers import BertTokenizerFast", NAMED),
    ],
    ids=["before", "after", "one class before"],
)
def test_the_order_of_imports(repositories: dict[str, Path], before: str, after: str) -> None:
    program = PROGRAM.format(before=before, after=after)
    subprocess.run([sys.executable, "-c", program, str(repositories["bert"])], check=True)
