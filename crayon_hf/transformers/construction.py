"""Building a tokenizer of transformers over an engine of ours, instead of with the ``tokenizers`` library.

transformers opens a ``tokenizer.json`` in one of two ways. Some classes have the library open the file: these get our
tokenizer of it as their ``tokenizer_object``. Others read its vocabulary and merges with `json`, build a model of the
library from them, and give that their own normalizer, pre-tokenizer and decoder. While a `Construction` is active in a
thread, our classes run those functions of transformers over stand-ins: `_Library` for ``tokenizers.Tokenizer``,
`_ModelClass` for its models, `_Json` for `json`. A model that is built from another vocabulary than the file's is the
library's own.
"""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tokenizers import models

from crayon_hf import _core
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer_json.document import NEAREST_SCORES, without_vocabulary
from crayon_hf.transformers.rebinding import with_names
from crayon_hf.util.reference import reference_class

_MODELS = (models.BPE, models.Unigram, models.WordPiece)
_thread = threading.local()


class Construction:
    """The files that one call of `from_pretrained` opens.

    `fetch` is called with a path before the file is opened; without it the library opens all of them.
    """

    def __init__(self, fetch: Callable[[str], None] | None) -> None:
        self._fetch = fetch
        self._opened: dict[str, _Source | None] = {}
        self.was_used = False
        """Whether a tokenizer of ours stands for one of the library."""

    def source(self, path: str) -> _Source | None:
        """A ``tokenizer.json`` as ours opens it; None where the library has to."""
        if self._fetch is None:
            return None
        if path not in self._opened:
            from crayon_hf.transformers.backend import open_source

            self._fetch(path)
            made = open_source(path)
            self._opened[path] = None if made is None else _Source(made)
        return self._opened[path]

    def described(self, kind: type, arguments: tuple[Any, ...], options: dict[str, Any]) -> _Model | None:
        """The model that a constructor of the library would give, if its vocabulary is that of a file."""
        names = ("vocab", "merges") if kind is models.BPE else ("vocab",)
        given = options | dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names) or not all(name in given for name in names):
            return None
        for source in self._sources():
            if source.vocabulary.kind != kind.__name__:
                continue
            if all(source.vocabulary.name_of(given[name]) == name for name in names):
                rest = {name: value for name, value in given.items() if name not in names}
                return _Model(self, source, _options(kind, given["vocab"], rest))
        return None

    @property
    def has_cartridge(self) -> bool:
        """Whether a cartridge beside it opened a file."""
        return any(source.tokenizer._state.came_along for source in self._sources())

    def vocabulary(self) -> Vocabulary | None:
        """That of the file that was opened, if it was one."""
        sources = self._sources()
        return sources[0].vocabulary if len(sources) == 1 else None

    def _sources(self) -> list[_Source]:
        return [source for source in self._opened.values() if source is not None]


class Vocabulary:
    """The vocabulary and the merges of a file that is open, as Python reads them from it. Made when asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        engine = tokenizer._current_engine()
        assert isinstance(engine, _core.Engine)
        self.engine = engine
        self._made: dict[str, Any] | None = None
        self.parts: dict[str, Any] = json.loads(engine.components)
        """The file without its vocabulary and added tokens."""
        self.kind: str | None = self.parts["model"].get("type")

    def values(self) -> dict[str, Any]:
        """What ``vocab`` is, and ``merges`` where the model has them, each pair a tuple. The caller changes neither."""
        if self._made is None:
            vocab, merges = self.engine.model_vocabulary()
            self._made = {"vocab": vocab}
            if self.kind == "BPE":
                self._made["merges"] = merges
        return self._made

    def as_read(self) -> dict[str, Any]:
        """A copy of `values`, with the pieces of a Unigram model as the lists that JSON has."""
        return {
            name: list(map(list, value)) if name == "vocab" and type(value) is list else value.copy()
            for name, value in self.values().items()
        }

    def name_of(self, value: Any) -> str | None:
        """Which of `values` is equal to this; None for another one. Only what was made before is compared."""
        for name, known in (self._made or {}).items():
            if type(value) is type(known) and value == known:
                return name
        return None


class _Source:
    """One ``tokenizer.json``, and what transformers was given of it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = Vocabulary(tokenizer)

    def document(self, with_vocabulary: bool) -> dict[str, Any] | None:
        """What `json` reads in the file, with or without the vocabulary and the merges.

        None where the file lists something otherwise than the cartridge: its tokens in another order, for example.
        """
        engine, kind = self.tokenizer._current_engine(), self.vocabulary.kind
        assert isinstance(engine, _core.Engine)
        if kind not in {model.__name__ for model in _MODELS} or not engine.reads_alike:
            return None
        parts = copy.deepcopy(self.vocabulary.parts)
        if not engine.has_model_type:
            del parts["model"]["type"]
        if with_vocabulary:
            parts["model"].update(self.vocabulary.as_read())
        return {"version": "1.0", "added_tokens": engine.added_tokens(), **parts}


class _Model:
    """A model over the vocabulary of a file: what `_Library` makes a tokenizer of."""

    def __init__(self, construction: Construction, source: _Source, options: dict[str, Any]) -> None:
        self._construction = construction
        self._source = source
        self._options = options

    def built(self) -> Tokenizer:
        """A tokenizer with this model and nothing else."""
        from crayon_hf.transformers.backend import with_model

        made = with_model(self._source.tokenizer, self._options)
        self._construction.was_used = True
        return made


def _options(kind: type, vocab: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a model as a ``tokenizer.json`` has them: those of the library's own over hardly any tokens."""
    empty: Any = {"vocab": vocab[: (given.get("unk_id") or 0) + 1]} if kind is models.Unigram else {"vocab": {}}
    if kind is models.BPE:
        empty["merges"] = []
    options = without_vocabulary(json.loads(kind(**empty, **given).__getstate__()))
    return options | ({NEAREST_SCORES: True} if kind is models.Unigram else {})


# -- transformers' own functions, with our engine in the place of the library


class _StandIn:
    """Stands for an object of another module: gives what that gives, but for what a subclass does."""

    def __init__(self, stock: Any, construction: Construction) -> None:
        self._stock = stock
        self._construction = construction

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._stock(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)


class _Library(_StandIn):
    """``tokenizers.Tokenizer``."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named and isinstance(model := arguments[0], _Model):
            return model.built()
        return super().__call__(*arguments, **named)

    def from_file(self, path: str) -> Any:
        source = self._construction.source(path)
        return self._stock.from_file(path) if source is None else source.tokenizer


class _ModelClass(_StandIn):
    """``tokenizers.models.BPE`` and the like."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        described = self._construction.described(self._stock, arguments, named)
        return super().__call__(*arguments, **named) if described is None else described


class _Models(_StandIn):
    """The module ``tokenizers.models``."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stock, name)
        return _ModelClass(found, self._construction) if found in _MODELS else found


class _Json(_StandIn):
    """The module `json`."""

    def __init__(self, stock: Any, construction: Construction, with_vocabulary: bool) -> None:
        super().__init__(stock, construction)
        self._with_vocabulary = with_vocabulary

    def load(self, file: Any, *arguments: Any, **named: Any) -> Any:
        path = getattr(file, "name", None)
        if not arguments and not named and isinstance(path, str) and _is_tokenizer_json(path):
            source = self._construction.source(path)
            document = None if source is None else source.document(self._with_vocabulary)
            if document is not None:
                return document
        return self._stock.load(file, *arguments, **named)


def _is_tokenizer_json(path: str) -> bool:
    """A ``tokenizer.json``, or one for some versions of transformers: ``tokenizer.4.0.0.json``."""
    name = os.path.basename(path)
    return name.startswith("tokenizer.") and name.endswith(".json")


def over_our_engine(method: Any, with_vocabulary: bool = True) -> Any:
    """A method of transformers that opens files or builds models, with stand-ins for the library and for `json`.

    What it reads with `json` lacks the vocabulary if it does not use that. The method is as it is outside of
    `building`, and where a program has put a function of its own.
    """
    active, names = _active(), getattr(getattr(method, "__func__", method), "__globals__", {})
    if active is None or not names.get("__name__", "").startswith("transformers."):
        return method
    stand_ins: dict[str, Any] = {}
    for name, value in names.items():
        if value is reference_class() or value is Tokenizer:
            stand_ins[name] = _Library(value, active)
        elif value is json:
            stand_ins[name] = _Json(value, active, with_vocabulary)
        elif value is models:
            stand_ins[name] = _Models(value, active)
        elif isinstance(value, type) and value in _MODELS:
            stand_ins[name] = _ModelClass(value, active)
    return with_names(method, stand_ins)


def with_backend(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor, with our tokenizer of the ``tokenizer.json`` in the place of its path."""
    active, path = _active(), options.get("tokenizer_file")
    if active is None or path is None or options.get("tokenizer_object") is not None or options.get("from_slow"):
        return options
    source = active.source(path)
    if source is None:
        return options
    active.was_used = True
    return {**options, "tokenizer_file": None, "tokenizer_object": source.tokenizer}


# -- the construction of this thread


def _active() -> Construction | None:
    construction: Construction | None = getattr(_thread, "construction", None)
    return construction


def is_building() -> bool:
    """Whether transformers is making a tokenizer in this thread that will be made ours when it is complete."""
    return _active() is not None


@contextmanager
def building(construction: Construction) -> Iterator[None]:
    """Have our engine open files for our classes in this thread."""
    outer, _thread.construction = _active(), construction
    try:
        yield
    finally:
        _thread.construction = outer
