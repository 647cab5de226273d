"""The `_tokenizer` of our classes: a `crayon_hf.Tokenizer`, where it comes from and what it is."""

from __future__ import annotations

import copy
import os
import sys
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.cartridge_check import open_beside
from crayon_hf.errors import CrayonError, VocabularyError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.opening import open_native_json
from crayon_hf.util.files import read_source, write_atomic

if TYPE_CHECKING:
    import tokenizers


_HELD = (
    "the tokenizer that was assigned to _tokenizer may still be changed by whoever holds it; assign "
    "crayon_hf.Tokenizer.from_tokenizers(it) instead"
)

kept: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Where the file is that opens a backend again."""

_kinds: WeakKeyDictionary[Any, tuple[Any, str]] = WeakKeyDictionary()
_bare: WeakKeyDictionary[Any, tuple[Any, _core.Engine | None]] = WeakKeyDictionary()
"""Of a backend, its engine, and the engine without added tokens that was made from that."""


def model_kind(backend: Any) -> str:
    """The name of the class of its model. The model itself would have to be built, from the whole vocabulary."""
    if not isinstance(backend, Tokenizer):
        return type(backend.model).__name__
    engine = backend._current_engine()
    known = _kinds.get(backend)
    if known is None or known[0] is not engine:
        bpe = backend.engine == "native" and backend.engine_info().get("merges", 0) > 0
        known = _kinds[backend] = engine, "BPE" if bpe else type(copy.copy(backend).model).__name__
    return known[1]


def without_added_tokens(backend: Tokenizer) -> _core.Engine | None:
    """A native engine that does what a backend's does, and knows none of its added tokens; None for another backend."""
    engine = backend._current_engine()
    known = _bare.get(backend)
    if known is None or known[0] is not engine:
        bare = None
        if isinstance(engine, _core.Engine) and engine.mode == "exact":
            bare = engine.with_components(engine.components, [])
        known = _bare[backend] = engine, bare
    return known[1]


def settle(state: dict[str, Any]) -> Any:
    """The `_tokenizer` among the attributes of a tokenizer to which somebody assigned one of the reference's.

    It becomes ours as soon as nobody else holds it. Until then it may change, and encodes itself.
    """
    with _settling:
        if "_crayon_assigned" not in state:  # another thread was here meanwhile
            return state["_tokenizer"]
        if _references(state) <= _ALONE:
            del state["_crayon_assigned"]
            state["_tokenizer"] = from_reference(state["_tokenizer"])
        elif state["_crayon_assigned"] is True:
            from crayon_hf.fallback.delegated import warn_delegated

            state["_crayon_assigned"] = "warned"
            warn_delegated(_HELD, "tokenizers")
        return state["_tokenizer"]


def _references(state: dict[str, Any]) -> int:
    return sys.getrefcount(state["_tokenizer"])


_ALONE = _references({"_tokenizer": object()})
"""References to an object that nothing has but one dictionary. How many of our own count is up to Python's version."""

_settling = threading.RLock()


def from_reference(reference: tokenizers.Tokenizer, beside: str | None = None, keep: bool = False) -> Any:
    """Our tokenizer for one of the reference's.

    `beside` is the path of a cartridge that may say what this tokenizer does. `keep` puts the tokenizer.json into the
    cache, so that the same tokenizer is only mapped the next time. A tokenizer that we cannot read is returned as it
    is, with a warning: it works, and is as slow as ever.
    """
    try:
        refused = made = path = None
        source = None if beside is None and not keep else _core.with_exact_scores(reference.to_str().encode())
        if beside is not None and source is not None:
            made, refused = _from_cartridge(beside, source)
            path = None if made is None else beside
        if made is None and keep and source is not None and (path := _keep_source(source)) is not None:
            made = Tokenizer.from_file(path)
        tokenizer = made or Tokenizer.from_tokenizers(reference)
        if path is not None:
            kept[tokenizer] = path
        tokenizer._state.refused = refused
        tokenizer._take_marks(reference)
        return _with_extras(tokenizer, reference)
    except CrayonError as error:
        from crayon_hf.fallback.delegated import warn_delegated

        warn_delegated(str(error), "tokenizers")
        return reference


def open_source(path: str) -> Any:
    """Our tokenizer of the tokenizer.json that transformers is about to open; None where the reference has to do it.

    It is opened from a copy in the cache, since the file may go while the tokenizer is used. Its cartridge is that of
    `Tokenizer.from_file`.
    """
    try:
        data = read_source(path)
        copied = _keep_source(data)
        if copied is None:
            return None
        tokenizer = Tokenizer._of(open_native_json(copied))
    except (CrayonError, OSError):
        return None
    kept[tokenizer] = copied
    return tokenizer


def keep_changed(tokenizer: Any) -> None:
    """Where transformers has changed what `open_source` gave, put one in its place that opens as it is now."""
    backend = vars(tokenizer).get("_tokenizer")
    if not isinstance(backend, Tokenizer) or backend not in kept:
        return
    native, parts = backend.engine == "native", backend._state
    if native and parts.path and not parts.is_modified and parts.stored_settings() == backend._settings()[1:]:
        return
    del kept[backend]
    try:
        path = _keep_source(backend.to_str().encode())
        if path is None:
            return
        made = Tokenizer.from_file(path)
    except CrayonError:
        return
    made.encode_special_tokens = backend.encode_special_tokens
    made._mark(*backend._marks())
    tokenizer.__dict__["_tokenizer"] = _with_extras(made, backend)
    kept[made] = path


def _from_cartridge(path: str, document: bytes) -> tuple[Tokenizer | None, str | None]:
    """The tokenizer of a cartridge, if it says what `document` does; else why it is refused, if it is there."""
    if not os.path.isfile(path):
        return None, None
    engine, refused = open_beside(path, path.removesuffix(".dat") + ".json", document)
    return (None, refused) if engine is None else (Tokenizer.from_file(path), None)


def report(backend: Any) -> dict[str, Any]:
    """The `Tokenizer.engine_report` of a backend, which is one of the reference's where we cannot read it."""
    if isinstance(backend, Tokenizer):
        return backend.engine_report()
    reason = "not a tokenizer that is read here"
    facts: dict[str, Any] = dict.fromkeys(("cpu", "cartridge", "origin", "refused"))
    where = {"reference": "tokenizers", "device": "cpu", "device_reason": reason}
    return {"engine": "delegated", "mode": "exact", "reason": reason, **where, **facts}


def cache_directory() -> str:
    """Where the files of this face are kept, inside the cache of cartridges."""
    return os.path.join(cache.cache_directory(), "transformers")


def make_directory() -> None:
    """Make `cache_directory`, for its owner alone. PermissionError where it is somebody else's."""
    cache.make_ours(cache.cache_directory(), cache_directory())


def _keep_source(source: bytes) -> str | None:
    """Put a tokenizer.json into the cache; the path, or None when the cache is not writable."""
    digest = sha256(source).hexdigest()
    path = os.path.join(cache_directory(), f"{digest}.json")
    try:
        make_directory()
        if not os.path.isfile(path) or cache.source_digest(path) != digest:
            write_atomic(path, source, private=True)
    except (OSError, VocabularyError):
        return None
    return path


def _with_extras(tokenizer: Any, reference: Any) -> Any:
    """What transformers has written on the object itself: a flag, or CLIP's own `decode`."""
    for name, value in vars(reference).items():
        if not callable(value):
            setattr(tokenizer, name, value)
    return tokenizer
