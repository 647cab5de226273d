"""Snapshots of the tokenizers that `from_pretrained` returns, so that the next call need not build them again.

A snapshot is a JSON file in the cache; none of it is executed. Its name is a digest of everything that the result
depends on: the stat of each file of the repository, the arguments, the versions of the libraries. A snapshot holds the
class, the attributes of the instance, the path of its tokenizer.json, and the changes that the class made to that
document.

As in the index of the cache, a snapshot is kept only if no file of the repository has changed in the last seconds. A
snapshot is used only if no other user can have written it. If a program has replaced code of transformers, snapshots
are neither kept nor used.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

import tokenizers
import transformers
from tokenizers import AddedToken
from transformers import PretrainedConfig, PreTrainedTokenizerFast

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.errors import CrayonError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.transformers import backend as backends
from crayon_hf.transformers.classes import CrayonMeta, class_for, stock_class
from crayon_hf.transformers.construction import Vocabulary
from crayon_hf.transformers.originals import opening_values
from crayon_hf.util.files import HeldFile, write_atomic

_FORMAT = 10
_VOCABULARY = frozenset({"_vocab", "_vocab_scores", "_merges"})
"""Attributes in which classes of models keep their vocabulary. transformers never reads them through ``__dict__``."""

_LARGE = 1000
"""Attributes of `_VOCABULARY` with more items than this are in a file of their own, read at their first use."""

_VERSIONS = f"{_FORMAT} {transformers.__version__} {tokenizers.__version__} {cache.BUILD}"


class _Unsuitable(Exception):
    """The instance has a value that a snapshot cannot hold."""


class Fingerprint(NamedTuple):
    """The name of a tokenizer's snapshot, and the time of the last change to the tokenizer's files."""

    key: str
    changed_ns: int


# -- fingerprints


def fingerprint(kind: Any, name: Any, directory: str, kwargs: dict[str, Any]) -> Fingerprint | None:
    """Return the fingerprint of a call of `from_pretrained`.

    Return None if the call's result could depend on something that a fingerprint does not cover.
    """
    if any(key.endswith("_file") for key in kwargs):
        return None
    try:
        arguments = json.dumps(_encode(_with_plain_config(kind, kwargs)), sort_keys=True)
        files, changed_ns = _files(directory)
    except (_Unsuitable, OSError, ValueError):
        return None
    facts = (
        _VERSIONS,
        kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}",
        os.fspath(name),
        os.path.realpath(directory),
        arguments,
        _surroundings(),
        *files,
    )
    return Fingerprint(sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest(), changed_ns)


def _with_plain_config(kind: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Replace a model's configuration by its values, by which `AutoTokenizer` finds the class."""
    config = kwargs.get("config")
    if kind != "auto" or not isinstance(config, PretrainedConfig):
        return kwargs
    cls = type(config)
    try:
        said = config.to_dict()
    except Exception as error:  # a program's own class may raise anything
        raise _Unsuitable from error
    facts = [cls.__module__, cls.__qualname__, getattr(config, "_name_or_path", None), said]
    return kwargs | {"config": facts}


def _files(directory: str) -> tuple[list[str], int]:
    """Return a line for each file that transformers may read, and the time of the latest change."""
    lines, youngest = [], 0
    for place in (directory, os.path.join(directory, "additional_chat_templates")):
        try:
            entries = sorted(os.listdir(place))
        except FileNotFoundError:
            continue
        for entry in entries:
            stat = os.stat(os.path.join(place, entry))
            youngest = max(youngest, stat.st_mtime_ns, stat.st_ctime_ns)
            lines.append(f"{place}/{entry} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}")
    return lines, youngest


def _surroundings() -> str:
    """Return the global state of transformers that can change a result: offline mode and registered classes."""
    from transformers.models.auto import tokenization_auto
    from transformers.utils import hub

    extra = tokenization_auto.TOKENIZER_MAPPING._extra_content
    registered = getattr(tokenization_auto, "REGISTERED_TOKENIZER_CLASSES", {})
    offline = hub.is_offline_mode()  # type: ignore[attr-defined]
    names = dict(tokenization_auto.TOKENIZER_MAPPING_NAMES)  # a plain dict is written much faster
    return f"{offline} {sorted(map(str, extra.values()))} {sorted(map(str, registered.values()))} {names}"


# -- keeping


def keep(
    made_of: Fingerprint,
    tokenizer: Any,
    directory: str,
    messages: list[tuple[str, int, str]],
    vocabulary: Vocabulary | None = None,
) -> None:
    """Write the snapshot of a tokenizer, unless it has a value that a snapshot cannot hold.

    Attributes equal to the `vocabulary` or merges of the file are not written, because the cartridge has them. The
    tokenizer itself is changed to what the snapshot restores, so that its pickle and hash are the same each time.
    """
    if not isinstance(type(tokenizer), CrayonMeta):
        return
    values = {key: value for key, value in tokenizer.__dict__.items() if key != "_tokenizer"}
    late = {key: values.pop(key) for key in list(values) if _is_late(tokenizer, key, values[key])}
    try:
        state = [[key, _encode(value)] for key, value in values.items()]
        written = {key: _encode_late(value, vocabulary) for key, value in late.items()}
    except (_Unsuitable, ValueError):
        return
    held = None
    if made_of.changed_ns + cache.SETTLED_NS <= time.time_ns():
        of_file = None if vocabulary is None else vocabulary.engine
        held = _write_snapshot(made_of, tokenizer, directory, messages, state, written, of_file)
    # Pickles differ if equal values are one object or two, so take the objects that restoring would make.
    tokenizer.__dict__.update((key, _decode(value)) for key, value in state)
    for key in late:
        del tokenizer.__dict__[key]
    if late:
        names = tuple(late)
        tokenizer.__dict__["_crayon_deferred"] = (
            Deferred(names, None, late)
            if held is None
            else Deferred(names, held, vocabulary=Vocabulary(tokenizer.__dict__["_tokenizer"]))
        )


def _write_snapshot(
    made_of: Fingerprint,
    tokenizer: Any,
    directory: str,
    messages: list[tuple[str, int, str]],
    state: list[list[Any]],
    late: dict[str, Any],
    of_file: _core.Engine | None,
) -> HeldFile | None:
    """Write the snapshot, unless a part of it is unsuitable. Return the file of large attributes, if it has one."""
    backend = tokenizer.__dict__.get("_tokenizer")
    if not isinstance(backend, Tokenizer):
        return None
    try:
        extras = {key: _encode(value) for key, value in vars(backend).items()}
    except (_Unsuitable, ValueError):
        return None
    stock = stock_class(type(tokenizer))
    described = backends.described(backend, of_file)
    if described is None:
        return None
    if not stock.__module__.startswith("transformers.") or _reads_elsewhere(tokenizer, directory):
        return None
    values = opening_values(stock)
    if values is None:
        return None
    snapshot = {
        "class": [stock.__module__, stock.__qualname__],
        "values": values,
        "backend": described,
        "extras": extras,
        "state": state,
        "late": list(late),
        "messages": messages,
    }
    try:
        path = os.path.join(cache.make_folder(backends.FOLDER), made_of.key)
        if late:
            _write(f"{path}.late", late)
        _write(f"{path}.snapshot", snapshot)
    except (OSError, ValueError):
        return None
    held = HeldFile(f"{path}.late")
    return held if held.is_there else None


def _is_late(tokenizer: Any, key: str, value: Any) -> bool:
    return (
        key in _VOCABULARY
        and type(value) in (list, dict, tuple)
        and len(value) > _LARGE
        and not any(key in cls.__dict__ for cls in type(tokenizer).__mro__)
    )


def _reads_elsewhere(tokenizer: Any, directory: str) -> bool:
    inside = os.path.realpath(directory) + os.sep
    for key, value in (*tokenizer.init_kwargs.items(), *tokenizer.__dict__.items()):
        if key.endswith("_file") and isinstance(value, str):
            here = os.path.join(os.path.realpath(os.path.dirname(value)), os.path.basename(value))
            if not here.startswith(inside):
                return True
    return False


def _write(path: str, value: Any) -> None:
    write_atomic(path, json.dumps(value, separators=(",", ":")).encode(), private=True)


# -- restoring


def restore(made_of: Fingerprint) -> Any:
    """Return the tokenizer of a snapshot, or None if the snapshot is missing or unusable."""
    try:
        data = cache.read_kept(backends.FOLDER, f"{made_of.key}.snapshot")
        if data is None:
            return None
        snapshot = json.loads(data)
        module, name = snapshot["class"]
        if not module.startswith("transformers."):  # checked before the import
            return None
        stock = getattr(import_module(module), name)
        if not issubclass(stock, PreTrainedTokenizerFast) or snapshot["values"] != opening_values(stock):
            return None
        cls = class_for(stock)
        backend = backends.open_described(snapshot["backend"])
        vars(backend).update((key, _decode(value)) for key, value in snapshot["extras"].items())
        state = {key: _decode(value) for key, value in snapshot["state"]}
        late = snapshot["late"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, CrayonError) as error:
        logging.getLogger("crayon_hf").debug("the snapshot %s is not usable: %s", made_of.key, error)
        return None
    if late:
        held = HeldFile(os.path.join(cache.cache_directory(), backends.FOLDER, f"{made_of.key}.late"))
        if not held.is_there:
            return None
        state["_crayon_deferred"] = Deferred(tuple(late), held, vocabulary=Vocabulary(backend))
    make: Any = cls
    tokenizer = make.__new__(make)
    tokenizer.__dict__.update(state, _tokenizer=backend)
    for logger, level, message in snapshot["messages"]:
        logging.getLogger(logger).log(level, "%s", message)
    return tokenizer


class Deferred:
    """Large attributes of an instance, read at their first use. A pickle has their values.

    The attributes never enter the instance's ``__dict__``: ``datasets`` hashes that dict, and the hash must not change
    when attributes are read.
    """

    __slots__ = ("_held", "_values", "_vocabulary", "names")

    def __init__(
        self,
        names: tuple[str, ...],
        held: HeldFile | None,
        values: dict[str, Any] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """`values` are the attributes if known. Otherwise the file `held` has them, and can refer to `vocabulary`."""
        self.names = names
        self._held = held
        self._values = values
        self._vocabulary = vocabulary

    def values(self) -> dict[str, Any]:
        """Return the attributes by name."""
        held = self._held
        if self._values is None and held is not None:
            written = json.loads(held.read())
            self._values = {name: _decode_late(written[name], self._vocabulary) for name in self.names}
            self._held = self._vocabulary = None
        assert self._values is not None  # set before `_held` is cleared, so each thread finds one of them
        return self._values

    def __reduce__(self) -> tuple[Any, ...]:
        return Deferred, (self.names, None, self.values())


# -- values as JSON: numbers, strings, None and lists directly, other types as {kind: contents}

_PLAIN = frozenset((type(None), str, int, float, bool))


def _encode_late(value: Any, vocabulary: Vocabulary | None) -> Any:
    name = None if vocabulary is None else vocabulary.name_of(value)
    return _encode(value) if name is None else {"of the cartridge": name}


def _decode_late(value: Any, vocabulary: Vocabulary | None) -> Any:
    if type(value) is dict and "of the cartridge" in value:
        assert vocabulary is not None
        return vocabulary.values()[value["of the cartridge"]].copy()
    return _decode(value)


def _are_plain(values: Iterable[Any]) -> bool:
    return _PLAIN.issuperset(map(type, values))


def _encode(value: Any) -> Any:
    """Return a value for `json`. Vocabularies and merges are passed through, not converted item by item in Python."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        kinds = set(map(type, value))
        if len(kinds) == 1 and kinds <= {list, tuple} and _are_plain(chain.from_iterable(value)):
            return value if list in kinds else {"tuples": value}
        return value if kinds <= _PLAIN else [_encode(item) for item in value]
    if kind is dict or kind is OrderedDict:
        if set(map(type, value)) <= {str}:
            if len(value) > _LARGE and _are_plain(value.values()):
                # For a dict `json` would make a tuple for each item, which garbage collection would scan.
                return {f"{kind.__name__} columns": [list(value), list(value.values())]}
            return {kind.__name__: {key: _encode(item) for key, item in value.items()}}
        return {f"{kind.__name__} items": [[_encode(key), _encode(item)] for key, item in value.items()]}
    if kind is tuple:
        return {"tuple": [_encode(item) for item in value]}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    if kind is AddedToken:
        return {"token": value.__getstate__()}
    if kind is re.Pattern and type(value.pattern) is str:
        return {"regex": [value.pattern, value.flags]}
    raise _Unsuitable(f"{kind.__name__} in a snapshot")


def _decode(value: Any) -> Any:
    if type(value) is list:  # a deep copy
        return [_decode(item) if type(item) in (list, dict) else item for item in value]
    if type(value) is not dict:
        return value
    ((kind, contents),) = value.items()
    if kind == "token":
        return AddedToken(**contents)
    if kind == "bytes":
        return b64decode(contents, validate=True)
    if kind == "regex":
        return re.compile(*contents)
    if kind == "tuple":
        return tuple([_decode(item) for item in contents])
    if kind == "tuples":
        return list(map(tuple, contents))
    make = OrderedDict if kind.startswith("OrderedDict") else dict
    if kind.endswith(" columns"):
        return make(zip(*contents, strict=True))
    items = contents if kind.endswith(" items") else contents.items()
    return make((_decode(key), _decode(item)) for key, item in items)
