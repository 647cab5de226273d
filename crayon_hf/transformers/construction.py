"""Building a tokenizer of transformers over an engine of ours, instead of with the ``tokenizers`` library.

transformers opens a ``tokenizer.json`` in one of two ways. Some classes have the library open the file. Others read its
vocabulary and merges with `json`, build a model of the library from them, and give that their own normalizer,
pre-tokenizer and decoder. While a `Construction` is active in a thread, our engine opens the file once, and stand-ins
answer both: `_Library` for ``tokenizers.Tokenizer``, `_ModelClass` for its models, `_Json` for `json`. A model that is
built from another vocabulary than the file's is the library's own.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tokenizers import models
from transformers import PreTrainedTokenizerFast, tokenization_utils_base

from crayon_hf import _core
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer_json.document import NEAREST_SCORES, without_vocabulary
from crayon_hf.util.reference import reference_class

_home: Any = sys.modules[PreTrainedTokenizerFast.__module__]  # which is another one in transformers 4
_MODELS = (models.BPE, models.Unigram, models.WordPiece)
_thread = threading.local()


class Construction:
    """The files that one call of `from_pretrained` opens. `fetch` is called with a path before the file is opened."""

    def __init__(self, fetch: Callable[[str], None]) -> None:
        self._fetch = fetch
        self._opened: dict[str, _Source | None] = {}
        self.given: list[Tokenizer] = []
        """The tokenizers that stand for those of the library."""

    def source(self, path: str) -> _Source | None:
        """A ``tokenizer.json`` as ours opens it; None where the library has to."""
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

    def gave_only(self, backend: Any) -> bool:
        """Whether nothing but this backend was `given`: other code may open a tokenizer meanwhile, for itself."""
        return all(given is backend for given in self.given)

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

    def document(self) -> dict[str, Any] | None:
        """What `json` reads in the file. Its vocabulary and merges are made when they are asked for.

        None where the file lists something otherwise than the cartridge: its tokens in another order, for example.
        """
        engine, kind = self.tokenizer._current_engine(), self.vocabulary.kind
        assert isinstance(engine, _core.Engine)
        if kind not in {model.__name__ for model in _MODELS} or not engine.reads_alike:
            return None
        parts = copy.deepcopy(self.vocabulary.parts)
        if not engine.has_model_type:
            del parts["model"]["type"]
        model = _LazyModel(parts["model"], self.vocabulary)
        return {"version": "1.0", "added_tokens": engine.added_tokens(), **parts, "model": model}


class _LazyModel(dict[str, Any]):
    """The model in a document. Whatever looks at more than its type makes the vocabulary."""

    def __init__(self, options: dict[str, Any], vocabulary: Vocabulary) -> None:
        super().__init__(options)
        self._vocabulary: Vocabulary | None = vocabulary

    def _fill(self) -> None:
        if self._vocabulary is not None:
            vocabulary, self._vocabulary = self._vocabulary, None
            dict.update(self, vocabulary.as_read())


def _filled(name: str) -> Any:
    plain = getattr(dict, name)

    def method(self: _LazyModel, *arguments: Any, **named: Any) -> Any:
        if arguments != ("type",):
            self._fill()
        return plain(self, *arguments, **named)

    return method


for _name in (
    *("__contains__", "__delitem__", "__eq__", "__getitem__", "__ior__", "__iter__", "__len__", "__ne__", "__or__"),
    *("__repr__", "__reversed__", "__ror__", "__setitem__", "clear", "copy", "get", "items", "keys", "pop", "popitem"),
    *("setdefault", "update", "values"),
):
    setattr(_LazyModel, _name, _filled(_name))


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
        self._construction.given.append(made)
        return made


def _options(kind: type, vocab: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a model as a ``tokenizer.json`` has them: those of the library's own over hardly any tokens."""
    empty: Any = {"vocab": vocab[: (given.get("unk_id") or 0) + 1]} if kind is models.Unigram else {"vocab": {}}
    if kind is models.BPE:
        empty["merges"] = []
    options = without_vocabulary(json.loads(kind(**empty, **given).__getstate__()))
    return options | ({NEAREST_SCORES: True} if kind is models.Unigram else {})


# -- stand-ins


class _StandIn:
    """Stands for an object of another module: gives what that gives, but for what a subclass does."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._stock(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._stock)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._stock)


class _Library(_StandIn):
    """``tokenizers.Tokenizer``."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named and isinstance(model := arguments[0], _Model):
            return model.built()
        return super().__call__(*arguments, **named)

    def from_file(self, path: str) -> Any:
        active = _active()
        if active is not None and _is_of_transformers(sys._getframe(1).f_locals):
            source = active.source(path)
            if source is not None:
                if "self" in sys._getframe(1).f_locals:  # else it is asked for its components alone
                    active.given.append(source.tokenizer)
                return source.tokenizer
        return self._stock.from_file(path)


class _ModelClass(_StandIn):
    """``tokenizers.models.BPE`` and the like."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        active = _active()
        described = None if active is None else active.described(self._stock, arguments, named)
        return super().__call__(*arguments, **named) if described is None else described


class _Models(_StandIn):
    """The module ``tokenizers.models``."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stock, name)
        return _ModelClass(found) if found in _MODELS else found


class _Json(_StandIn):
    """The module `json`."""

    def load(self, file: Any, *arguments: Any, **named: Any) -> Any:
        active, path = _active(), getattr(file, "name", None)
        if active is not None and not arguments and not named and isinstance(path, str) and _is_tokenizer_json(path):
            source = active.source(path)
            document = None if source is None else source.document()
            if document is not None:
                _stand_in_for_modules_of(sys._getframe(1).f_locals.get("cls"))
                return document
        return self._stock.load(file, *arguments, **named)


def _is_tokenizer_json(path: str) -> bool:
    """A ``tokenizer.json``, or one for some versions of transformers: ``tokenizer.4.0.0.json``."""
    name = os.path.basename(path)
    return name.startswith("tokenizer.") and name.endswith(".json")


def _is_of_transformers(names: dict[str, Any]) -> bool:
    """Whether these local names are of a method of a class, or of an instance of one, that transformers has itself."""
    found = names.get("cls", type(names.get("self")))
    return isinstance(found, type) and found.__module__.startswith("transformers.")


# -- where they stand

_lock = threading.Lock()
_standing: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
"""By the name of a module: it, and what stood in it."""
_users = 0


def _active() -> Construction | None:
    return getattr(_thread, "construction", None)


@contextmanager
def building(construction: Construction | None) -> Iterator[None]:
    """Have our engine open files for transformers in this thread; None has the library do it."""
    global _users
    outer, _thread.construction = _active(), construction
    if construction is not None:
        with _lock:
            _users += 1
            for module in (_home, tokenization_utils_base):
                _stand_in(module)
    try:
        yield
    finally:
        _thread.construction = outer
        if construction is not None:
            with _lock:
                _users -= 1
                if not _users:
                    for module, before in _standing.values():
                        for name, value in before.items():
                            if isinstance(vars(module).get(name), _StandIn):
                                setattr(module, name, value)
                    _standing.clear()


def _stand_in_for_modules_of(cls: Any) -> None:
    if not isinstance(cls, type) or not issubclass(cls, PreTrainedTokenizerFast):
        return
    with _lock:
        for base in cls.__mro__:
            if base.__module__.startswith("transformers.models."):
                _stand_in(sys.modules[base.__module__])


def _stand_in(module: ModuleType) -> None:
    """Put stand-ins into a module; not for models where a program has put a class of its own. `_lock` is held."""
    if module.__name__ in _standing:
        return
    names = vars(module)
    libraries = [name for name, value in names.items() if value is reference_class() or value is Tokenizer]
    stand_ins: dict[str, Any] = {name: _Library(names[name]) for name in libraries}
    for name, value in names.items():
        if value is json:
            stand_ins[name] = _Json(value)
        elif value is models and libraries:
            stand_ins[name] = _Models(value)
        elif isinstance(value, type) and value in _MODELS and libraries:
            stand_ins[name] = _ModelClass(value)
    _standing[module.__name__] = module, {name: names[name] for name in stand_ins}
    names.update(stand_ins)
