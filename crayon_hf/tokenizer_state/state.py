"""The parts of a tokenizer, and the engine made from them.

Changes are collected: the next use makes one engine for all of them. If the model is unchanged, that engine is another
view of the same cartridge. Otherwise the whole tokenizer is compiled in memory; if the compiler does not support it,
the reference encodes.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.cartridges.compiling import EMPTY, REFERENCE_METADATA, compile_json, compiled_engine, reference_of
from crayon_hf.cartridges.opened_source import OpenedSource, Source
from crayon_hf.errors import CartridgeError, SourceMissingError, UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.added_tokens import AddedTokens, Token
from crayon_hf.tokenizer_json.components import (
    COMPONENTS,
    BorrowedComponent,
    changed_options,
    check_kind,
    check_options,
    has_no_json,
    json_of,
    model_attributes,
    object_of,
)
from crayon_hf.tokenizer_json.truncation_padding import Padding, Truncation, stored_padding, stored_truncation
from crayon_hf.tokenizer_state.modes import EXACT, Mode
from crayon_hf.util.collector import CollectorPause
from crayon_hf.util.files import read_cartridge
from crayon_hf.util.reference import need_components, reference_class
from crayon_hf.util.wording import joined

if TYPE_CHECKING:
    import tokenizers

    from crayon_hf.cartridges.opened_source import AnyEngine
    from crayon_hf.training_data.counting import Untrained

lock = threading.RLock()
"""Held while a tokenizer is changed, or gets a new engine after a change. Encoding takes the lock only to get a new
engine.

One lock serves all tokenizers, so that a fork can wait for it. Otherwise a child could inherit a lock that a thread of
its parent holds.
"""


def _release_in_child() -> None:
    global lock
    lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: lock.acquire(), after_in_parent=lambda: lock.release(), after_in_child=_release_in_child
    )


class TokenizerState:
    """The parts of one tokenizer, and the engine for them. Call its methods with `lock` held."""

    __slots__ = (
        *("_added", "_anew", "_changed", "_encoder", "_engine", "_handed", "_kept", "_live", "_metadata", "_parts"),
        *("came_along", "is_modified", "mode", "path", "refused", "sizes", "source"),
    )

    def __init__(self, opened: OpenedSource, mode: Mode = EXACT) -> None:
        """Take the parts from an exact engine. Without an engine, the source has a model only."""
        engine, self.source, self.path, self.came_along, self.refused = opened
        self.mode = mode
        self.is_modified = False
        """Whether the engine differs from one made of `source` and `path`, because of changes."""
        self.sizes: tuple[Truncation | None, Padding | None] = None, None
        """Truncation and padding of a ``tokenizer.json`` without an engine."""
        self._engine = engine
        """The exact engine. Changes make the next one from it."""
        self._encoder: AnyEngine | None = None
        """The view that encodes in the tokenizer's mode. None until the view is made."""
        self._metadata = REFERENCE_METADATA if engine is None else engine.metadata
        self._changed = self._anew = engine is None
        self._parts: dict[str, Any] | None = None
        self._added = AddedTokens(()) if engine is None else None
        self._live: dict[str, Any] = {}
        self._handed: dict[str, BorrowedComponent] = {}
        self._kept: dict[str, BorrowedComponent] = {}
        """Borrowed components that callers have released, kept because making one can take a second."""

    @property
    def is_idle(self) -> bool:
        """Whether the engine is current: no change is pending, and no caller holds a component."""
        return not self._changed and not self._handed

    def engine(self) -> AnyEngine:
        """Return the engine of the current state, in the tokenizer's mode."""
        exact = self.exact_engine()
        if self._encoder is None:
            self._encoder = self.mode.engine(exact) if isinstance(exact, _core.Engine) else exact
        return self._encoder

    def exact_engine(self) -> AnyEngine:
        """Return the engine of the current state in exact mode, regardless of the tokenizer's mode."""
        self._look()
        if self._engine is None or self._changed:
            self._engine, self._encoder = self._make(), None
            self._changed = self._anew = False
        return self._engine

    def made_of_source(self) -> _core.Engine | None:
        """Return the current native engine if it has the vocabulary of `source`. Its components may be outdated."""
        return self._engine if isinstance(self._engine, _core.Engine) and not self._anew else None

    def origin(self) -> str | None:
        """Return the origin of the cartridge: "repository", "cache" or "memory", or None when delegated."""
        if not isinstance(self.engine(), _core.Engine):
            return None
        return "memory" if self.path is None else "repository" if self.came_along else "cache"

    def opened_with(self, engine: AnyEngine) -> OpenedSource:
        """Return the source and its cartridge with another engine of it."""
        return OpenedSource(engine, self.source, self.path, self.came_along, self.refused)

    def copy(self, reopened: bool = False) -> TokenizerState:
        """Return a state with the same parts that shares no mutable object with this one.

        `reopened` drops facts that a ``tokenizer.json`` does not store, as copies in ``tokenizers`` do.
        """
        twin = TokenizerState(self.opened_with(self.exact_engine()), self.mode)
        twin.is_modified, twin._metadata = self.is_modified, self._metadata
        twin._parts, twin._added, twin._live = self._parts, self._added, dict(self._live)
        if reopened and self._added is not None and self._added.lasts():
            twin.change(self._read_parts(), self._added.reopened())
        return twin

    def change(self, parts: dict[str, Any], added: AddedTokens | None) -> None:
        """Replace all components (`parts`, as JSON) and the added tokens."""
        self._parts, self._added, self._changed = parts, added, True
        self._kept.clear()

    def stored_settings(self) -> tuple[Truncation | None, Padding | None]:
        """Return the truncation and the padding that the ``tokenizer.json`` stores."""
        if self._engine is None:
            return self.sizes
        if not self.source.exists:
            return None, None
        components = self._engine.components
        if '"truncation":null' in components and '"padding":null' in components:
            return None, None
        import json

        document = json.loads(components)
        return stored_truncation(document.get("truncation")), stored_padding(document.get("padding"))

    # -- components

    def component(self, kind: str) -> Any:
        """Return a component as an object of the ``tokenizers`` library. Changes of the object change the tokenizer."""
        if kind in self._live:
            return self._live[kind]
        if kind not in self._handed:
            handed = self._kept.pop(kind, None)
            if handed is None:
                part = self._document()["model"] if kind == "model" else self._read_parts()[kind]
                if part is None:
                    return None
                handed = BorrowedComponent(object_of(kind, part, kind == "model" and self._has_nearest_scores()))
            self._handed[kind] = handed
        return self._handed[kind].component

    def set_component(self, kind: str, component: Any) -> None:
        """Replace a component with an object of the ``tokenizers`` library, or with None."""
        check_kind(kind, component)
        self._look()
        live = component is not None and has_no_json(component)
        if kind == "model":
            document = json_of(component)
            check_options(document | model_attributes(component))
            self._put_model(document)
            for objects in (self._live, self._handed, self._kept):
                objects.pop(kind, None)
        else:
            self.put_component(kind, None if live else json_of(component))
        if live:
            self._live[kind] = component
        elif component is not None:
            self._handed[kind] = BorrowedComponent(component)

    def put_component(self, kind: str, document: dict[str, Any] | None) -> None:
        """Replace a component, except the model, by its JSON in a ``tokenizer.json``."""
        self._look()
        if kind == "normalizer" and self._added is not None:
            self._added = self._added.normalized_anew()
        self._put(kind, document)
        for objects in (self._live, self._handed, self._kept):
            objects.pop(kind, None)

    def mark_added(self, special: Iterable[str], normalized: Iterable[str]) -> None:
        """Set marks that the flags of added tokens do not show: see `AddedTokens.marked`."""
        marked = self.added().marked(special, normalized)
        if marked.lasts():
            self.change(self._read_parts(), marked)

    def _put(self, kind: str, part: Any) -> None:
        self._parts = self._read_parts() | {kind: part}
        self._changed = True
        if kind == "pre_tokenizer" and reference_of(self._metadata) == "tiktoken":
            # Objects of the reference have patterns in the syntax of tokenizers, not in tiktoken's.
            self._metadata, self._anew = REFERENCE_METADATA, True

    def _put_model(self, model: dict[str, Any]) -> None:
        parts = self._read_parts() | {"model": tokenizer_json.without_vocabulary(model)}
        added = self.added()  # added tokens keep their ids
        self._parts, self._added, self._changed, self._anew = parts, added, True, True
        self._kept.pop("model", None)
        self.source, self.path = Source(tokenizer_json.dump({"model": model}).encode()), None

    def _look(self) -> None:
        """Take over changes of components that callers hold. Stop watching components that callers have released."""
        for kind, handed in list(self._handed.items()):
            changed, component = handed.look(), handed.component
            if changed and has_no_json(component):
                self._handed.pop(kind)
                self._live[kind] = component
                self._changed = True
            elif changed and kind == "model":
                self._put(kind, self._read_parts()[kind] | model_attributes(component))
            elif changed:
                self._put(kind, json_of(component))
            del component
            if kind in self._handed and not handed.is_held():
                self._kept[kind] = self._handed.pop(kind)

    def _read_parts(self) -> dict[str, Any]:
        if self._parts is None:
            import json

            if self._engine is None:
                model = tokenizer_json.without_vocabulary(self.source.document()["model"])
                self._parts = dict.fromkeys(COMPONENTS) | {"model": model}
            else:
                parts = json.loads(self._engine.components)
                self._parts = {kind: parts.get(kind) for kind in (*COMPONENTS, "model")}
        return self._parts

    # -- added tokens

    def added(self) -> AddedTokens:
        """Return the added tokens. Do not modify them."""
        added = self._added
        if added is None:
            with lock:  # get_added_tokens_decoder calls this without the lock
                added = self._added
                if added is None:
                    assert self._engine is not None
                    added = self._added = AddedTokens(self._engine.added_tokens())
        return added

    def add(self, tokens: Iterable[Token]) -> int:
        """Add tokens. Return how many were added or changed."""
        added = self.added().copy()
        engine = self._engine
        if engine is None or self._anew:
            vocab = tokenizer_json.ids_of(self.source.document()["model"])
            count = added.add(tokens, lambda contents: map(vocab.get, contents), len(vocab))
        else:

            def find(contents: list[str]) -> Iterable[int | None]:
                ids = engine.tokens_to_ids(contents) if isinstance(engine, _core.Engine) else None
                return map(engine.token_to_id, contents) if ids is None else ids

            count = added.add(tokens, find, engine.get_vocab_size(False))
        if count:
            self._read_parts()
            self._added, self._changed = added, True
        return count

    # -- the whole

    def document(self) -> dict[str, Any]:
        """Return the ``tokenizer.json`` without truncation and padding."""
        self._check_written()
        return self._document()

    def without_vocabulary(self) -> dict[str, Any]:
        """Return `document` without added tokens, and without the vocabulary and the merges, which `source` has."""
        self._check_written()
        return self._without_vocabulary()

    def _check_written(self) -> None:
        self._look()
        check_options(self._read_parts()["model"])
        if self._live:
            raise UnsupportedError(f"a tokenizer.json cannot hold this {joined(self._live)}")

    def _document(self) -> dict[str, Any]:
        document = self._without_vocabulary() | {"added_tokens": self.added().for_json()}
        if self._has_nearest_scores():
            assert isinstance(self._engine, _core.Engine)
            document["model"]["vocab"] = list(map(list, self._engine.model_vocabulary()[0]))
        else:
            document["model"] |= tokenizer_json.vocabulary_of(self.source.document()["model"])
        return document

    def _without_vocabulary(self) -> dict[str, Any]:
        parts = self._read_parts()
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            **parts,
            "model": {name: value for name, value in parts["model"].items() if name != tokenizer_json.NEAREST_SCORES},
        }

    def _has_nearest_scores(self) -> bool:
        return tokenizer_json.NEAREST_SCORES in self._read_parts()["model"]

    def _dumped(self, document: dict[str, Any]) -> str:
        """Return a document of this tokenizer as text from which the library reads the exact scores."""
        text = tokenizer_json.dump(document)
        return _core.with_exact_scores(text.encode()).decode() if self._has_nearest_scores() else text

    # -- training

    def reference(self) -> tokenizers.Tokenizer:
        """Return this tokenizer as an object of the ``tokenizers`` library, with the components that callers hold."""
        self._look()
        need_components(f"training a {self._read_parts()['model'].get('type')} model with the library's trainer")
        reference = reference_class().from_str(self._dumped(self._document()))
        for kind, handed in self._handed.items():
            setattr(reference, kind, handed.component)
        for kind, component in self._live.items():
            setattr(reference, kind, component)
        return reference

    def untrained(self, special_as_text: bool) -> Untrained:
        """Return a snapshot of the parts that training needs."""
        from crayon_hf.training_data.counting import Untrained

        self._look()
        return Untrained(
            dict(self._read_parts()), dict(self._live), self.added().copy(), special_as_text, self._metadata
        )

    def take_model(self, model: dict[str, Any], special_tokens: Iterable[Token]) -> None:
        """Replace the model with a trained one, and add its special tokens. A borrowed model object is trained, too."""
        handed = self._handed.get("model")
        if handed is not None:
            handed.component.__setstate__(tokenizer_json.dump(model).encode())
        self._put_model(model)
        added = self.added().copy()
        added.add(special_tokens, lambda contents: map(model["vocab"].get, contents), len(model["vocab"]))
        self._added = added
        if handed is not None:
            handed.look()

    def emptied(self) -> TokenizerState:
        """Return the same state without vocabulary and added tokens."""
        self._look()
        parts = dict(self._read_parts())
        empty: Any = {}
        if parts["model"].get("type") == "Unigram":
            parts["model"], empty = parts["model"] | {"unk_id": None}, []
        source = Source(tokenizer_json.dump({"model": parts["model"] | {"vocab": empty}}).encode())
        twin = TokenizerState(OpenedSource(None, source), self.mode)
        twin._metadata, twin._live = self._metadata, dict(self._live)
        twin.change(parts, AddedTokens(()))
        return twin

    def take_trained(self, reference: tokenizers.Tokenizer) -> None:
        """Take over the model and the added tokens of a tokenizer that the ``tokenizers`` library has trained."""
        model = json_of(reference.model)
        tokens = reference.get_added_tokens_decoder().items()
        self._put_model(model)
        self._live.pop("model", None)
        self._added = AddedTokens({"id": id} | token.__getstate__() for id, token in tokens)

    # -- leaving the process

    def cartridge(self) -> bytes:
        """Return the bytes of the cartridge of `source`."""
        engine = self.engine()
        if not isinstance(engine, _core.Engine):
            raise UnsupportedError(
                f"this tokenizer has no cartridge: the native engine does not support it ({engine.reason})"
            )
        if self.path is not None:
            try:
                data = read_cartridge(self.path)
                if _core.Engine.from_bytes(data).source_digest == engine.source_digest:
                    return data
            except (OSError, CartridgeError):
                pass  # the cache was emptied or damaged: compile again
        return compile_json(self.source.read(), engine.metadata)

    def pickled(self) -> tuple[Any, ...]:
        """Return the arguments of `opening.open_pickled`."""
        engine = self.engine()
        if self._live:
            raise UnsupportedError(f"a pickle cannot hold this {joined(self._live)}")
        if not isinstance(engine, _core.Engine):
            return type(engine).__name__, tuple(map(_reopened, engine.arguments)), None, self.mode
        try:
            source: bytes | None = self.source.read()
        except SourceMissingError:
            if self.path is None:
                raise
            source = None  # only the path of the cartridge is pickled
        changes = (self._parts, self.added().reopened()) if self.is_modified else None
        return "Engine", (self.path, engine.source_digest, engine.metadata, source), changes, self.mode

    # -- making engines

    def _make(self) -> AnyEngine:
        engine = self._engine
        if isinstance(engine, _core.Engine) and not self._anew and not self._live:
            try:
                view = self._view(engine)
            except VocabularyError:
                pass  # this cartridge cannot be the base of the new engine; compile another below
            else:
                self.is_modified = True
                return view
        check_options(self._read_parts()["model"])
        document = self._document()
        if self._live:
            reason = f"a {joined(self._live)} that has no JSON"
        elif not document["model"].get("vocab"):
            reason = EMPTY
        else:
            try:
                return self._compile(document)
            except VocabularyError as error:
                reason = str(error)
            with contextlib.suppress(VocabularyError):  # the ids of added tokens may differ from those of a new file
                return self._compile(document | {"added_tokens": []})
        try:
            return self._delegate(document, reason, warn=isinstance(engine, _core.Engine))
        except VocabularyError as error:
            changed = changed_options(document["model"], self.source.document()["model"])
            raise (VocabularyError(f"{changed}: {error}") if changed else error) from error

    def _view(self, engine: _core.Engine) -> _core.Engine:
        parts = {"truncation": None, "padding": None} | self._read_parts()
        with CollectorPause():
            added = None if self._added is None else self._added.for_engine()
            return engine.with_components(tokenizer_json.dump(parts), added)

    def _compile(self, document: dict[str, Any]) -> _core.Engine:
        data = self._dumped(document).encode()
        engine = compiled_engine(data, self._metadata)
        differs = sorted(engine.added_tokens(), key=_id_of) != sorted(self.added().for_engine(), key=_id_of)
        if differs:
            engine = self._view(engine)
        self.source, self.path, self.is_modified = Source(data), None, differs
        return engine

    def _delegate(self, document: dict[str, Any], reason: str, warn: bool) -> AnyEngine:
        from crayon_hf.fallback.delegated import warn_delegated
        from crayon_hf.fallback.tokenizers_engine import TokenizersEngine

        self.mode.check_native(reason)
        json = self._dumped(document)
        engine = TokenizersEngine(json, reason, self.added(), self._live)
        if warn:
            warn_delegated(reason, "tokenizers")
        self.source, self.path, self.is_modified = Source(json.encode()), None, False
        return engine


def _reopened(value: Any) -> Any:
    return value.reopened() if isinstance(value, AddedTokens) else value


def _id_of(token: dict[str, Any]) -> int:
    id: int = token["id"]
    return id
