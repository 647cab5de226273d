"""Components of a tokenizer: objects of the ``tokenizers`` library, and their JSON in a ``tokenizer.json``.

In that library, a component that a tokenizer returned or received stays a part of the tokenizer: changing the object
changes the tokenizer. `BorrowedComponent` detects such changes.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from crayon_hf.util.reference import has_components, reference_class

COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")

_NAMES = {
    "model": "models.BPE",
    "normalizer": "normalizers.NFC",
    "pre_tokenizer": "pre_tokenizers.ByteLevel",
    "post_processor": "processors.TemplateProcessing",
    "decoder": "decoders.ByteLevel",
}

_EMPTY_MODEL = {"type": "BPE", "vocab": {}, "merges": []}
_ATTRIBUTES = {
    "BPE": (
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
    ),
    "WordPiece": ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
    "WordLevel": ("unk_token",),
    "Unigram": (),
}
_SAMPLING = ("alpha", "nbest_size")
"""Attributes of a Unigram model that a tokenizer.json does not store."""


class BorrowedComponent:
    """A component that the caller may hold and change, and its state when `look` was last called."""

    __slots__ = ("_read", "component", "state")

    def __init__(self, component: Any) -> None:
        self.component = component
        self._read = _reader_of(component)
        self.state = self._read(component)

    def look(self) -> bool:
        """Return whether the component has changed since the last call."""
        state = self._read(self.component)
        changed: bool = state != self.state
        self.state = state
        return changed

    def is_held(self) -> bool:
        """Whether the caller or another tokenizer still holds the object."""
        return sys.getrefcount(self.component) > _REFERENCES_OF_OURS


class _Probe:
    pass


def _references_of_ours() -> int:
    probe = BorrowedComponent.__new__(BorrowedComponent)
    probe.component = _Probe()
    return sys.getrefcount(probe.component)


_REFERENCES_OF_OURS = _references_of_ours()


def pattern_of(regex: Any) -> str | None:
    """Return the pattern of a ``Regex``, or None for other types."""
    if not has_components():
        from crayon_hf.tokenizer_json import described

        return regex.pattern if isinstance(regex, described.Regex) else None
    import json

    from tokenizers import Regex, pre_tokenizers

    if not isinstance(regex, Regex):
        return None
    pattern: str = json.loads(pre_tokenizers.Split(regex, "isolated").__getstate__())["pattern"]["Regex"]
    return pattern


def state_of(component: Any) -> Any:
    """Return a value that is equal for equal components: the JSON, or for a model its attributes.

    Return None for a component without JSON.
    """
    names = _ATTRIBUTES.get(type(component).__name__)
    if names is not None and is_model(component):
        names = (*names, *_SAMPLING) if type(component).__name__ == "Unigram" else names
        return {name: getattr(component, name, None) for name in names}
    try:
        return component.__getstate__()
    except Exception:  # the library raises plain Exception for components written in Python
        return None


def _reader_of(component: Any) -> Callable[[Any], Any]:
    """Return a faster function than `state_of` for one component, since some programs get the model for every token."""
    state = state_of(component)
    if not isinstance(state, dict):
        return state_of
    names = [name for name in state if hasattr(component, name)]
    return attrgetter(*names) if names else state_of


def is_model(component: Any) -> bool:
    """Whether this is a model of the ``tokenizers`` library."""
    if not has_components():
        from crayon_hf.tokenizer_json import described

        return described.fits("model", component)
    from tokenizers.models import Model

    return isinstance(component, Model)


def has_no_json(component: Any) -> bool:
    """Whether only the reference can run the component: it is written in Python, or it is a model that samples."""
    state = state_of(component)
    if isinstance(state, dict):
        return any(state.get(name) is not None for name in _SAMPLING)
    return state is None


def json_of(component: Any) -> Any:
    """Return the JSON that a ``tokenizer.json`` has for a component that is not a model."""
    import json

    return None if component is None else json.loads(component.__getstate__())


def object_of(kind: str, document: Any, exact_scores: bool = False) -> Any:
    """Return the component, an object of ``tokenizers``, for its JSON in a ``tokenizer.json``.

    With `exact_scores` a Unigram model has the exact scores of the document. The library's file reader can differ in
    the last digit.
    """
    import json

    if not has_components():
        from crayon_hf.tokenizer_json import described

        return described.object_of(kind, document)
    if exact_scores:
        from tokenizers import models

        options = {name: value for name, value in document.items() if name not in ("type", "vocab")}
        return models.Unigram(list(map(tuple, document["vocab"])), **options)
    text = json.dumps({"version": "1.0", "added_tokens": [], "model": _EMPTY_MODEL} | {kind: document})
    return getattr(reference_class().from_str(text), kind)


def model_attributes(model: Any) -> dict[str, Any]:
    """Return the settings of a model, spelled as in a ``tokenizer.json``."""
    names = _ATTRIBUTES.get(type(model).__name__)
    if names is None:  # the bare base class
        return {name: value for name, value in json_of(model).items() if name not in ("vocab", "merges")}
    values = {name: getattr(model, name) for name in names}
    if values.get("dropout") is not None:
        values["dropout"] = shortest_single(values["dropout"])
    return values


def check_options(model: dict[str, Any]) -> None:
    """Raise ValueError for settings out of range: the library's objects accept any number, its file reader does not."""
    dropout = model.get("dropout")
    if dropout is not None and not 0 <= dropout <= 1:
        raise ValueError(f"model.dropout is {dropout}, expected a number from 0 to 1, or None")


def changed_options(model: dict[str, Any], file: dict[str, Any]) -> str:
    """Return the settings that a program has changed since the file was read, as text for a message."""
    names = [
        name
        for name in _ATTRIBUTES.get(model.get("type", ""), ())
        if (model.get(name) or None) != (file.get(name) or None)
    ]
    return ", ".join(f"model.{name} was set to {model.get(name)!r}" for name in names)


def shortest_single(value: float) -> float:
    """Return the number with the fewest digits that rounds to the same single-precision number."""
    if not math.isfinite(value):
        return value
    wanted = struct.pack("f", value)
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((number for number in candidates if struct.pack("f", number) == wanted), value)


def check_kind(kind: str, component: Any) -> None:
    """Raise TypeError unless `component` can be set as a component of this kind."""
    if component is None and kind != "model":
        return
    if not has_components():
        from crayon_hf.tokenizer_json import described

        if not described.fits(kind, component):
            raise TypeError(
                f"{kind} is {type(component).__name__}, expected a component such as crayon_hf.{_NAMES[kind]}"
            )
        return
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    wanted: dict[str, type] = {
        "normalizer": normalizers.Normalizer,
        "pre_tokenizer": pre_tokenizers.PreTokenizer,
        "post_processor": processors.PostProcessor,
        "decoder": decoders.Decoder,
        "model": models.Model,
    }
    if not isinstance(component, wanted[kind]):
        raise TypeError(f"{kind} is {type(component).__name__}, expected tokenizers' {wanted[kind].__name__}")
