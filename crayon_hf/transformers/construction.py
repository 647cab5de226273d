"""Lets transformers build a tokenizer on our engine instead of the ``tokenizers`` library.

transformers opens a ``tokenizer.json`` in one of two ways:

- Some classes let the library open the file. They get our tokenizer as their ``tokenizer_object``.
- Others read the vocabulary and merges with `json`, build a model of the library, and add their own components.

While a `Construction` is active in a thread, our classes run these functions of transformers with substitutes:
`_Library` for ``tokenizers.Tokenizer``, `_ModelClass` for its models, `_Json` for `json`. A model whose vocabulary
differs from the file's stays an object of the library.
"""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tokenizers import models

from crayon_hf import _core
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer_json.document import NEAREST_SCORES, without_vocabulary
from crayon_hf.transformers.backend import open_source, with_model
from crayon_hf.transformers.rebinding import with_names
from crayon_hf.util.reference import reference_class

_MODELS = (models.BPE, models.Unigram, models.WordPiece)
_thread = threading.local()


class Construction:
    """The files that one call of `from_pretrained` opens.

    `fetch` is called with a path before the file is opened. Without `fetch` the library opens all files.
    """

    def __init__(self, fetch: Callable[[str], None] | None) -> None:
        self._fetch = fetch
        self._opened: dict[str, _Source | None] = {}
        self.was_used = False
        """Whether our tokenizer has replaced a tokenizer of the library in this call."""

    def source(self, path: str) -> _Source | None:
        """Open a ``tokenizer.json`` with our engine. Return None if the library has to open it."""
        if self._fetch is None:
            return None
        if path not in self._opened:
            self._fetch(path)
            made = open_source(path)
            self._opened[path] = None if made is None else _Source(made)
        return self._opened[path]

    def described(self, kind: type, arguments: tuple[Any, ...], options: dict[str, Any]) -> _Model | None:
        """Return a stand-in for the model that ``kind(*arguments, **options)`` makes, a class of ``tokenizers.models``.

        Return None unless its vocabulary is that of an opened file.
        """
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
        """Whether a file was opened with the cartridge beside it."""
        return any(source.tokenizer._state.came_along for source in self._sources())

    def vocabulary(self) -> Vocabulary | None:
        """Return the vocabulary of the opened file, if exactly one was opened."""
        sources = self._sources()
        return sources[0].vocabulary if len(sources) == 1 else None

    def _sources(self) -> list[_Source]:
        return [source for source in self._opened.values() if source is not None]


class Vocabulary:
    """The vocabulary and merges of an opened file as Python objects, made at the first use."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        engine = tokenizer._current_engine()
        assert isinstance(engine, _core.Engine)
        self.engine = engine
        self._made: dict[str, Any] | None = None
        self.parts: dict[str, Any] = json.loads(engine.components)
        """The file without its vocabulary and added tokens."""
        self.kind: str | None = self.parts["model"].get("type")

    def values(self) -> dict[str, Any]:
        """Return ``vocab``, and for BPE ``merges`` as tuples. The caller must not modify them."""
        if self._made is None:
            vocab, merges = self.engine.model_vocabulary()
            self._made = {"vocab": vocab}
            if self.kind == "BPE":
                self._made["merges"] = merges
        return self._made

    def as_read(self) -> dict[str, Any]:
        """Return a copy of `values` as `json` reads it: entries of a Unigram vocabulary are lists."""
        return {
            name: list(map(list, value)) if name == "vocab" and type(value) is list else value.copy()
            for name, value in self.values().items()
        }

    def name_of(self, value: Any) -> str | None:
        """Return ``vocab`` or ``merges`` if `value` equals that entry of `values`, or None. It makes no values."""
        for name, known in (self._made or {}).items():
            if type(value) is type(known) and value == known:
                return name
        return None


class _Source:
    """An opened ``tokenizer.json``."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = Vocabulary(tokenizer)

    def document(self, with_vocabulary: bool) -> dict[str, Any] | None:
        """Return the document that `json` reads from the file, with or without vocabulary and merges.

        Return None if the cartridge lists something in another order or spelling than the file.
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
    """A model with the vocabulary of a file, for `_Library` to make a tokenizer from."""

    def __init__(self, construction: Construction, source: _Source, options: dict[str, Any]) -> None:
        self._construction = construction
        self._source = source
        self._options = options

    def built(self) -> Tokenizer:
        """Return a tokenizer with this model and no other component."""
        made = with_model(self._source.tokenizer, self._options)
        self._construction.was_used = True
        return made


def _options(kind: type, vocab: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return a model's options as in a ``tokenizer.json``, from a model of the library with almost no tokens."""
    empty: Any = {"vocab": vocab[: (given.get("unk_id") or 0) + 1]} if kind is models.Unigram else {"vocab": {}}
    if kind is models.BPE:
        empty["merges"] = []
    options = without_vocabulary(json.loads(kind(**empty, **given).__getstate__()))
    return options | ({NEAREST_SCORES: True} if kind is models.Unigram else {})


# -- transformers' own functions, with our engine instead of the library


class _StandIn:
    """Proxy of an object of another module; subclasses override some of its attributes."""

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
    """``tokenizers.models.BPE`` or another model class."""

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
    """Whether the path names a ``tokenizer.json``, or one for a transformers version: ``tokenizer.4.0.0.json``."""
    name = os.path.basename(path)
    return name.startswith("tokenizer.") and name.endswith(".json")


def over_our_engine(method: Any, with_vocabulary: bool = True) -> Any:
    """Return a copy of a method of transformers that makes our tokenizers instead of the `tokenizers` library's.

    Without `with_vocabulary`, the copy leaves the vocabulary out of JSON files that it reads. Outside of `building`, or
    if a program has replaced the method, the method itself is returned.
    """
    active, names = _active(), getattr(getattr(method, "__func__", method), "__globals__", {})
    if active is None or not names.get("__name__", "").startswith("transformers."):
        return method
    substitutes: dict[int, Callable[..., Any]] = {
        **dict.fromkeys(map(id, (reference_class(), Tokenizer)), _Library),
        **dict.fromkeys(map(id, _MODELS), _ModelClass),
        id(models): _Models,
        id(json): partial(_Json, with_vocabulary=with_vocabulary),
    }
    ours = {name: substitutes[id(value)](value, active) for name, value in names.items() if id(value) in substitutes}
    return with_names(method, ours)


def with_backend(options: dict[str, Any]) -> dict[str, Any]:
    """Replace the path of a ``tokenizer.json`` in a constructor's arguments with our tokenizer of the file."""
    active, path = _active(), options.get("tokenizer_file")
    if active is None or path is None or options.get("tokenizer_object") is not None or options.get("from_slow"):
        return options
    source = active.source(path)
    if source is None:
        return options
    active.was_used = True
    return {**options, "tokenizer_file": None, "tokenizer_object": source.tokenizer}


# -- the active construction of this thread


def _active() -> Construction | None:
    construction: Construction | None = getattr(_thread, "construction", None)
    return construction


def is_building() -> bool:
    """Whether transformers is making a tokenizer in this thread that is converted at the end."""
    return _active() is not None


@contextmanager
def building(construction: Construction) -> Iterator[None]:
    """Let our engine open files for our classes in this thread."""
    outer, _thread.construction = _active(), construction
    try:
        yield
    finally:
        _thread.construction = outer
