"""The `_tokenizer` of our classes: a `crayon_hf.Tokenizer`, where it comes from and what it is."""

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
from crayon_hf.cartridges.source_json import json_recipe
from crayon_hf.errors import CrayonError, VocabularyError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.opening import open_by_cartridge, open_json, opened
from crayon_hf.tokenizer_json.added_tokens import AddedTokens
from crayon_hf.tokenizer_json.components import COMPONENTS
from crayon_hf.tokenizer_json.truncation_padding import stored_padding, stored_truncation
from crayon_hf.tokenizer_state import state as states
from crayon_hf.tokenizer_state.modes import EXACT
from crayon_hf.tokenizer_state.state import TokenizerState
from crayon_hf.util.files import read_source, write_atomic
from crayon_hf.util.reference import reference_class

if TYPE_CHECKING:
    import tokenizers


_HELD = (
    "the tokenizer that was assigned to _tokenizer may still be changed by whoever holds it; assign "
    "crayon_hf.Tokenizer.from_tokenizers(it) instead"
)

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


def assign(state: dict[str, Any], backend: Any) -> None:
    """Put a backend among the attributes of a tokenizer; one of the reference's where `Assigned` finds it.

    While transformers builds a tokenizer, its backend is as any other: it becomes ours when all is done.
    """
    waits = isinstance(backend, reference_class()) and "_crayon_building" not in state
    with _settling:
        state.pop("_crayon_warned", None)
        state["_crayon_assigned" if waits else "_tokenizer"] = backend  # first: another thread always finds one
        state.pop("_tokenizer" if waits else "_crayon_assigned", None)


class Assigned:
    """The `_tokenizer` of an instance without one in its ``__dict__``: one of the reference's that was assigned.

    It becomes ours as soon as nobody else holds it. Until then it may change, and encodes itself.
    """

    def __get__(self, tokenizer: Any, owner: type) -> Any:
        """The backend of an instance, None where it has none; of a class, this."""
        if tokenizer is None:
            return self
        state = tokenizer.__dict__
        with _settling:
            if "_crayon_assigned" not in state:  # or another thread was here meanwhile
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
"""References to an object that nothing has but one dictionary. How many of our own count is up to Python's version."""

_settling = threading.RLock()


def from_reference(reference: tokenizers.Tokenizer, keep: bool = False) -> Any:
    """Our tokenizer for one of the reference's.

    `keep` puts the tokenizer.json into the cache, so that the same tokenizer is only mapped the next time. A tokenizer
    that we cannot read is returned as it is, with a warning: it works, and is as slow as ever.
    """
    try:
        made = None
        if keep and (path := _keep_source(_core.with_exact_scores(reference.to_str().encode()))) is not None:
            made = Tokenizer.from_file(path)
        tokenizer = made or Tokenizer.from_tokenizers(reference)
        tokenizer._take_marks(reference)
        return _with_extras(tokenizer, reference)
    except CrayonError as error:
        from crayon_hf.fallback.delegated import warn_delegated

        warn_delegated(str(error), "tokenizers")
        return reference


def open_source(path: str) -> Tokenizer | None:
    """Our tokenizer of the tokenizer.json that transformers is about to open; None where the reference has to do it.

    The cartridge beside the file opens it. Without one it is opened from a copy in the cache, since the file may go
    while the tokenizer is used.
    """
    path = os.path.abspath(path)  # it may be needed again when the working directory is another one
    try:
        state, refused = open_by_cartridge(path)
        if state is None:
            state = opened(cache.open_source(_keep_source(read_source(path)) or path, json_recipe()))
            state.refused = refused
    except (CrayonError, OSError):
        return None
    return Tokenizer._of(state)


def with_model(tokenizer: Tokenizer, model: dict[str, Any]) -> Tokenizer:
    """A tokenizer with the vocabulary of a native one, a model with these options, and nothing else."""
    # Adding a token asks this engine for its id, which must not be that of a token which the file adds.
    bare = without_added_tokens(tokenizer)
    assert bare is not None
    made = _changed(tokenizer, bare, dict.fromkeys(COMPONENTS) | {"model": model}, AddedTokens(()))
    made.no_truncation()
    made.no_padding()
    return made


def _changed(tokenizer: Tokenizer, engine: _core.Engine, parts: dict[str, Any], added: AddedTokens | None) -> Tokenizer:
    state = tokenizer._state
    changed = TokenizerState(engine, state.source, state.path, EXACT, state.came_along)
    changed.refused = state.refused
    changed.change(parts, added)
    return Tokenizer._of(changed)


# -- what opens a backend again


def described(backend: Tokenizer, of_file: _core.Engine | None = None) -> dict[str, Any] | None:
    """What `open_described` makes the same tokenizer of, as JSON; None where that cannot be said.

    Added tokens are left out where they are those of the engine `of_file`: a file may have thousands.
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
    """The tokenizer that `described` gave the facts of. `base` is one with the same vocabulary that is open."""
    made = Tokenizer._of(open_json(facts["path"])) if base is None else base
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
    """Give a tokenizer that transformers has built the backend that a snapshot of it will have: so its pickle is the
    same each time. False where no snapshot can have it, and it stays as it is."""
    backend = vars(tokenizer).get("_tokenizer")
    facts = described(backend, of_file) if isinstance(backend, Tokenizer) else None
    if facts is None:
        return False
    made = _with_extras(open_described(json.loads(json.dumps(facts)), backend), backend)
    vars(tokenizer)["_tokenizer"] = made
    if callable(vars(backend).get("decode")):  # of CLIP: a function that calls the backend's own
        tokenizer._wrap_decode_method_backend_tokenizer()
    return True


def note_unused(tokenizer: Any, reason: str) -> None:
    """Have the report say why the cartridge beside the files is not used, if it is not."""
    backend = vars(tokenizer).get("_tokenizer")
    if isinstance(backend, Tokenizer) and not backend._state.came_along:
        backend._state.refused = backend._state.refused or reason


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
