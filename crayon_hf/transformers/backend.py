"""The backend of our classes, a `crayon_hf.Tokenizer` in the attribute `_tokenizer`.

This module opens backends, converts those of the ``tokenizers`` library (the reference), and describes them as JSON.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.errors import CrayonError, VocabularyError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.opening import find_json, open_any
from crayon_hf.tokenizer_json.added_tokens import AddedTokens
from crayon_hf.tokenizer_json.components import COMPONENTS
from crayon_hf.tokenizer_json.truncation_padding import stored_padding, stored_truncation
from crayon_hf.tokenizer_state import state as states
from crayon_hf.tokenizer_state.state import TokenizerState
from crayon_hf.util.files import read_source, write_atomic
from crayon_hf.util.reference import exact_json_of, is_reference

if TYPE_CHECKING:
    import tokenizers


_HELD = (
    "the program still holds the tokenizer that it assigned to _tokenizer, and may change it; assign "
    "crayon_hf.Tokenizer.from_tokenizers(it) instead"
)

FOLDER = "transformers"
"""The folder of this package in the cache of cartridges."""

_kinds: WeakKeyDictionary[Any, tuple[Any, str]] = WeakKeyDictionary()
_bare: WeakKeyDictionary[Any, tuple[Any, _core.Engine | None]] = WeakKeyDictionary()
"""For each backend, its engine, and the same engine without added tokens (None if that is impossible)."""


def model_kind(backend: Any) -> str:
    """Return the name of the model's class without building the model, which would need the whole vocabulary."""
    if not isinstance(backend, Tokenizer):
        return type(backend.model).__name__
    engine = backend._current_engine()
    known = _kinds.get(backend)
    if known is None or known[0] is not engine:
        bpe = backend.engine == "native" and backend.engine_info().get("merges", 0) > 0
        known = _kinds[backend] = engine, "BPE" if bpe else type(copy.copy(backend).model).__name__
    return known[1]


def without_added_tokens(backend: Tokenizer) -> _core.Engine | None:
    """Return a native backend's engine without added tokens, or None for a delegated or greedy backend."""
    engine = backend._current_engine()
    known = _bare.get(backend)
    if known is None or known[0] is not engine:
        bare = None
        if isinstance(engine, _core.Engine) and engine.mode == "exact":
            bare = engine.with_components(engine.components, [])
        known = _bare[backend] = engine, bare
    return known[1]


def assign(state: dict[str, Any], backend: Any) -> None:
    """Set the backend in the attributes (`state`) of a tokenizer.

    A backend of the reference is put into `_crayon_assigned`, from where `Assigned` converts it. While transformers
    builds a tokenizer, any backend is set directly, because it is converted at the end.
    """
    waits = is_reference(backend) and "_crayon_building" not in state
    with _settling:
        state.pop("_crayon_warned", None)
        state["_crayon_assigned" if waits else "_tokenizer"] = backend  # set before pop: other threads always find one
        state.pop("_tokenizer" if waits else "_crayon_assigned", None)


class Assigned:
    """The `_tokenizer` of an instance to which a program has assigned a backend of the reference.

    The backend is converted to ours once the program no longer holds it. Until then the program may change it, so the
    reference encodes.
    """

    def __get__(self, tokenizer: Any, owner: type) -> Any:
        """Return the backend of an instance, or None. For the class, return this descriptor."""
        if tokenizer is None:
            return self
        state = tokenizer.__dict__
        with _settling:
            if "_crayon_assigned" not in state:  # none was assigned, or another thread has converted it
                return state.get("_tokenizer")
            if _references(state) <= _ALONE:
                state["_tokenizer"] = made = from_reference(state["_crayon_assigned"])
                del state["_crayon_assigned"]
                state.pop("_crayon_warned", None)
                return made
            if "_crayon_warned" not in state:
                from crayon_hf.fallback.delegated import warn_delegated

                state["_crayon_warned"] = True
                warn_delegated(_HELD, "tokenizers")
            return state["_crayon_assigned"]


def _references(state: dict[str, Any]) -> int:
    return sys.getrefcount(state["_crayon_assigned"])


_ALONE = _references({"_crayon_assigned": object()})
"""The reference count that `_references` returns for an object that only one dictionary holds. It includes references
of the call, whose number depends on Python's version."""

_settling = threading.RLock()


def from_reference(reference: tokenizers.Tokenizer, keep: bool = False) -> Any:
    """Convert a tokenizer of the reference.

    `keep` stores the tokenizer.json and its cartridge in the cache, so that they are compiled once. A tokenizer that we
    cannot read is returned unchanged, with a warning that it is not faster.
    """
    try:
        path = _keep_source(exact_json_of(reference)) if keep else None
        tokenizer = Tokenizer.from_tokenizers(reference) if path is None else Tokenizer.from_file(path)
        tokenizer._take_marks(reference)
        return _with_extras(tokenizer, reference)
    except CrayonError as error:
        from crayon_hf.fallback.delegated import warn_delegated

        warn_delegated(str(error), "tokenizers")
        return reference


def open_source(path: str) -> Tokenizer | None:
    """Open the tokenizer.json that transformers is about to open. Return None if the reference has to open it.

    A cartridge beside the file is mapped. Without a cartridge, a copy of the file in the cache is opened, because the
    original may be deleted while the tokenizer is used.
    """
    path = os.path.abspath(path)  # the working directory may change before the path is needed again
    try:
        return Tokenizer._of(TokenizerState(find_json(path, lambda path: _keep_source(read_source(path)) or path)))
    except (CrayonError, OSError):
        return None


def with_model(tokenizer: Tokenizer, model: dict[str, Any]) -> Tokenizer:
    """Return a tokenizer with the vocabulary of the native `tokenizer`, and no component besides the model.

    `model` has the options of the model, as in a ``tokenizer.json``.
    """
    # Adding a token asks this engine for its id. Ids of the file's added tokens must not count.
    bare = without_added_tokens(tokenizer)
    assert bare is not None
    made = _changed(tokenizer, bare, dict.fromkeys(COMPONENTS) | {"model": model}, AddedTokens(()))
    made.no_truncation()
    made.no_padding()
    return made


def _changed(tokenizer: Tokenizer, engine: _core.Engine, parts: dict[str, Any], added: AddedTokens | None) -> Tokenizer:
    changed = TokenizerState(tokenizer._state.opened_with(engine))
    changed.change(parts, added)
    return Tokenizer._of(changed)


# -- reopening a backend


def described(backend: Tokenizer, of_file: _core.Engine | None = None) -> dict[str, Any] | None:
    """Return the JSON from which `open_described` makes the same tokenizer, or None if that is impossible.

    Added tokens equal to those of the engine `of_file` are left out: a file may have thousands.
    """
    with states.lock:
        engine, state = backend._current_engine(), backend._state
        if not isinstance(engine, _core.Engine) or state.source.path is None or state.made_of_source() is None:
            return None
        changes = None
        if state.is_modified:
            added, marks = state.added().for_json(), backend._marks()
            is_own = of_file is not None and not any(marks) and added == AddedTokens(of_file.added_tokens()).for_json()
            changes = {"added": None if is_own else added, "marks": marks, "parts": state._read_parts()}
    return {
        "path": os.path.abspath(state.source.path),
        "digest": engine.source_digest,
        "changes": changes,
        **backend._sizes_as_json(),
        "refused": state.refused,
        "special_as_text": bool(backend.encode_special_tokens),
    }


def open_described(facts: dict[str, Any], base: Tokenizer | None = None) -> Tokenizer:
    """Open a tokenizer from a result of `described`. `base` is an open tokenizer with the same vocabulary."""
    made = Tokenizer._of(open_any(facts["path"], kind="TOKENIZER_JSON")) if base is None else base
    engine = made._current_engine()
    if not isinstance(engine, _core.Engine) or engine.source_digest != facts["digest"]:
        raise VocabularyError(f"{facts['path']} has changed")
    if facts["changes"] is not None:
        parts, added, marks = (facts["changes"][name] for name in ("parts", "added", "marks"))
        made = _changed(made, engine, parts, None if added is None else AddedTokens(added).marked(*marks))
        made._current_engine()
    elif base is not None:
        made = base._as_it_is()
    made._restore((False, stored_truncation(facts["truncation"]), stored_padding(facts["padding"])))
    made._state.refused = facts["refused"]
    made.encode_special_tokens = facts["special_as_text"]
    return made


def settle_built(tokenizer: Any, of_file: _core.Engine | None) -> bool:
    """Replace the backend of a newly built tokenizer with the one that a snapshot would restore.

    The tokenizer's pickle is then the same in each process. If no snapshot is possible, change nothing and return
    False.
    """
    backend = vars(tokenizer).get("_tokenizer")
    facts = described(backend, of_file) if isinstance(backend, Tokenizer) else None
    if facts is None:
        return False
    made = _with_extras(open_described(json.loads(json.dumps(facts)), backend), backend)
    replace(tokenizer, backend, made)
    if callable(vars(backend).get("decode")):  # CLIP's classes wrap the backend's own decode
        tokenizer._wrap_decode_method_backend_tokenizer()
    return True


def replace(tokenizer: Any, backend: Any, new: Any) -> None:
    """Replace a backend in all attributes of a tokenizer: a program's constructor may keep it under another name."""
    attributes = vars(tokenizer)
    attributes.update({name: new for name, value in attributes.items() if value is backend})


def note_unused(tokenizer: Any, reason: str) -> None:
    """If the cartridge beside the files is not used, make `report` give `reason` as ``refused``."""
    backend = vars(tokenizer).get("_tokenizer")
    if isinstance(backend, Tokenizer) and not backend._state.came_along:
        backend._state.refused = backend._state.refused or reason


def report(backend: Any) -> dict[str, Any]:
    """Return the `Tokenizer.engine_report` of a backend, or such a report on a backend of the reference."""
    if isinstance(backend, Tokenizer):
        return backend.engine_report()
    reason = "the engine cannot read this tokenizer"
    facts: dict[str, Any] = dict.fromkeys(("cpu", "cartridge", "origin", "refused"))
    where = {"reference": "tokenizers", "device": "cpu", "device_reason": reason}
    return {"engine": "delegated", "mode": "exact", "reason": reason, **where, **facts}


def _keep_source(source: bytes) -> str | None:
    """Store a tokenizer.json in the cache. Return its path, or None if the cache is not writable."""
    digest = sha256(source).hexdigest()
    try:
        path = os.path.join(cache.make_folder(FOLDER), f"{digest}.json")
        if not os.path.isfile(path) or cache.source_digest(path) != digest:
            write_atomic(path, source, private=True)
    except (OSError, VocabularyError):
        return None
    return path


def _with_extras(tokenizer: Any, reference: Any) -> Any:
    """Copy attributes that transformers has set on the object `reference` to `tokenizer`, and return `tokenizer`."""
    for name, value in vars(reference).items():
        if not callable(value):
            setattr(tokenizer, name, value)
    return tokenizer
