"""Answers the playground's requests: the tokens of a text, the derivation of a token, a comparison with a reference."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from crayon_hf.display.tokens import Segmentation, Token, encode, marks_by_ends, segmentation_of, tokens_in
from crayon_hf.errors import CrayonError
from crayon_hf.tokenizer.resolve import open_tokenizer
from crayon_hf.util.wording import error_line

from .derivations import Derivations
from .reference import Reference, compare_ids
from .requests import MOST_ROWS, Query, Request
from .rows import rows_of

Answer = dict[str, Any]
Key = TypeVar("Key")
Value = TypeVar("Value")

_TOKENIZERS, _COMPARISONS = 16, 4
"""The number of tokenizers and of encoded texts in the caches."""
_ERRORS = (CrayonError, ValueError, OSError, OverflowError, MemoryError, ImportError)


class OpenTokenizer:
    """A tokenizer and its reference, which is opened on demand."""

    def __init__(self, name: str, locate: Callable[[str], str]) -> None:
        self.local = locate(name)
        self.engine = open_tokenizer(self.local)._current_engine()
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._reference: Reference | None = None

    @property
    def note(self) -> str:
        """A sentence on the library that encodes, and why our engine does not. Empty if our engine encodes."""
        reason = getattr(self.engine, "reason", "")
        return f"{self.engine.info()['reference']} encodes: {reason}" if reason else ""

    def ids_of_reference(self, query: Query) -> tuple[str, list[int]]:
        """Encode with the tokenizer's reference library, opened on first use. Return its name and the ids.

        A lock admits one thread at a time.
        """
        with self._lock:
            if self._reference is None:
                self._directory = tempfile.TemporaryDirectory(prefix="crayon-hf-playground-")
                self._reference = Reference(self.local, self._directory.name)
            return self._reference.name, self._reference.ids(query)


@dataclass
class Panel:
    """The encoding of a text by one tokenizer."""

    tokenizer: OpenTokenizer
    query: Query
    encoding: Any
    differing: Sequence[bool] = ()
    """Whether each token differs between panels."""

    @cached_property
    def segmentation(self) -> Segmentation:
        """The ids and ranges of the tokens."""
        return segmentation_of(self.encoding)

    @cached_property
    def derivations(self) -> Derivations:
        """The derivations of the tokens."""
        return Derivations(self.tokenizer.engine, self.query.utf8(), self.segmentation, self.query.options)

    def tokens(self, first: int, last: int) -> list[Token]:
        """Return tokens [first, last)."""
        return tokens_in(self.tokenizer.engine, self.encoding, self.segmentation, self.query.text, first, last)


class Comparison:
    """The encodings of a text by several tokenizers. A tokenizer that fails has an error message instead."""

    def __init__(self, query: Query, open_named: Callable[[str], OpenTokenizer]) -> None:
        self.panels: list[Panel | str] = []
        self.is_complete = True
        for name in query.names:
            try:
                tokenizer = open_named(name)
                self.panels.append(Panel(tokenizer, query, encode(tokenizer.engine, query.text, query.options)))
            except _ERRORS as error:
                self.panels.append(error_line(error))
                self.is_complete = False  # not cached: the next attempt may succeed
        encoded = [panel for panel in self.panels if isinstance(panel, Panel)]
        if encoded:
            for panel, marked in zip(encoded, marks_by_ends([panel.segmentation for panel in encoded]), strict=True):
                panel.differing = marked.tolist()


class Session:
    """The state of one server: caches of open tokenizers and of encoded texts. Thread-safe."""

    def __init__(self, locate: Callable[[str], str]) -> None:
        """`locate` turns the name that a user gives into a local one for `open_tokenizer`, by a download if needed."""
        self._locate = locate
        self._opened: _LruCache[str, OpenTokenizer] = _LruCache(_TOKENIZERS)
        self._comparisons: _LruCache[Query, Comparison] = _LruCache(_COMPARISONS)

    def open(self, name: str) -> OpenTokenizer:
        """Open a tokenizer by name, or return it from the cache."""
        return self._opened.get(name, lambda: OpenTokenizer(name, self._locate))

    def open_named(self, request: Request) -> Answer:
        """Open a tokenizer, which may download a repository. The answer is empty, or an error."""
        name = request.name()
        try:
            self.open(name)
        except _ERRORS as error:
            return {"error": error_line(error)}
        return {}

    def encode(self, request: Request) -> Answer:
        """Encode a text. The answer has each tokenizer's tokens [first, first + count) and the whole text's counts."""
        query, first = request.query(), request.number("first", 1 << 31)
        count = request.number("count", MOST_ROWS + 1)
        try:
            size = len(query.utf8())
        except CrayonError as error:
            return {"error": error_line(error)}
        comparison = self._compare(query)
        panels = [
            {"error": panel} if isinstance(panel, str) else _rows(panel, first, first + count)
            for panel in comparison.panels
        ]
        return {"characters": len(query.text), "bytes": size, "panels": panels}

    def explain(self, request: Request) -> Answer:
        """Return the derivation of one token: how the model found it."""
        panel = self._panel(request)
        if isinstance(panel, str):
            return {"error": panel}
        return panel.derivations.derive(request.number("token", len(panel.encoding)))

    def check(self, request: Request) -> Answer:
        """Compare the ids of one tokenizer with those of its reference."""
        panel = self._panel(request)
        if isinstance(panel, str):
            return {"error": panel}
        try:
            name, ids = panel.tokenizer.ids_of_reference(panel.query)
        except _ERRORS as error:
            return {"error": error_line(error)}
        return {"reference": name} | compare_ids(panel.encoding.ids, ids)

    def _panel(self, request: Request) -> Panel | str:
        query = request.query()
        try:
            query.utf8()
        except CrayonError as error:
            return error_line(error)
        return self._compare(query).panels[request.number("panel", len(query.names))]

    def _compare(self, query: Query) -> Comparison:
        return self._comparisons.get(
            query, lambda: Comparison(query, self.open), lambda comparison: comparison.is_complete
        )


def _rows(panel: Panel, first: int, last: int) -> Answer:
    return {
        "count": len(panel.encoding),
        "differing": sum(panel.differing),
        "note": panel.tokenizer.note,
        "rows": rows_of(panel.tokens(first, last), panel.differing[first:last]),
    }


class _LruCache(Generic[Key, Value]):
    """A cache of the latest values. Threads do not wait for each other, so two may compute the same value."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, key: Key, make: Callable[[], Value], is_cached: Callable[[Value], bool] = lambda value: True
    ) -> Value:
        """Return the value of a key, from the cache or by `make`. An error of `make` is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        if not is_cached(value):
            return value
        with self._lock:
            value = self._values.setdefault(key, value)
            while len(self._values) > self._capacity:
                self._values.popitem(last=False)
        return value
