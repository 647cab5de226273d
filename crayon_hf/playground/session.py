"""The answers of the playground: the tokens of a text in several tokenizers, how one was made, the reference's ids."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from crayon_hf.display.tokens import Cut, Token, cut_of, encode, marks_by_ends, tokens_in
from crayon_hf.errors import CrayonError
from crayon_hf.tokenizer.resolve import open_tokenizer

from .checking import Reference, compared
from .makings import Makings
from .requests import MOST_ROWS, Asked, Request
from .rows import rows_of

Answer = dict[str, Any]
Key = TypeVar("Key")
Kept = TypeVar("Kept")

_TOKENIZERS, _VIEWS = 16, 4
"""The number of tokenizers that stay open, and of texts that stay encoded: the latest."""
_ERRORS = (CrayonError, ValueError, OSError, OverflowError, MemoryError, ImportError)


class Opened:
    """A tokenizer that the page shows."""

    def __init__(self, name: str, locate: Callable[[str], str]) -> None:
        self.local = locate(name)
        self.engine = open_tokenizer(self.local)._current_engine()
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._reference: Reference | None = None

    @property
    def note(self) -> str:
        """Who encodes, if it is not our engine."""
        reason = getattr(self.engine, "reason", "")
        return f"{self.engine.info()['reference']} encodes: {reason}" if reason else ""

    def ids_of_reference(self, asked: Asked) -> tuple[str, list[int]]:
        """The reference's name and ids. It is opened once, and takes one text at a time."""
        with self._lock:
            if self._reference is None:
                self._directory = tempfile.TemporaryDirectory(prefix="crayon-hf-playground-")
                self._reference = Reference(self.local, self._directory.name)
            return self._reference.name, self._reference.ids(asked)


@dataclass
class Panel:
    """A text in one tokenizer."""

    opened: Opened
    asked: Asked
    encoding: Any
    differing: Sequence[bool] = ()
    """Whether each token differs from those of other panels."""

    @cached_property
    def cut(self) -> Cut:
        """The ids; `View` compares other things."""
        return cut_of(self.encoding)

    @cached_property
    def makings(self) -> Makings:
        """How its tokens were made."""
        return Makings(self.opened.engine, self.asked.utf8(), self.cut, self.asked.options)

    def tokens(self, first: int, last: int) -> list[Token]:
        """Tokens [first, last)."""
        return tokens_in(self.opened.engine, self.encoding, self.cut, self.asked.text, first, last)


class View:
    """A text in several tokenizers; of one that cannot be opened, or does not take the text, the error."""

    def __init__(self, asked: Asked, opened: Callable[[str], Opened]) -> None:
        self.panels: list[Panel | str] = []
        self.is_whole = True
        for name in asked.names:
            try:
                found = opened(name)
                self.panels.append(Panel(found, asked, encode(found.engine, asked.text, asked.options)))
            except _ERRORS as error:
                self.panels.append(said(error))
                self.is_whole = False  # the next try may succeed
        whole = [panel for panel in self.panels if isinstance(panel, Panel)]
        if whole:
            for panel, marked in zip(whole, marks_by_ends([panel.cut for panel in whole]), strict=True):
                panel.differing = marked.tolist()


class Session:
    """What one server knows: the tokenizers that are open, and the last texts. Any number of threads may ask."""

    def __init__(self, locate: Callable[[str], str]) -> None:
        """`locate` gives for any name of a tokenizer one that `open_tokenizer` takes: it fetches repositories."""
        self._locate = locate
        self._opened: _Latest[str, Opened] = _Latest(_TOKENIZERS)
        self._views: _Latest[Asked, View] = _Latest(_VIEWS)

    def open(self, name: str) -> Opened:
        """A tokenizer by its name, opened once."""
        return self._opened.get(name, lambda: Opened(name, self._locate))

    def open_named(self, request: Request) -> Answer:
        """Nothing, once the tokenizer of a name is open: a repository may have to be fetched first."""
        name = request.name()
        try:
            self.open(name)
        except _ERRORS as error:
            return {"error": said(error)}
        return {}

    def encode(self, request: Request) -> Answer:
        """Rows for tokens [first, first + count) in each tokenizer, and the counts of the whole text."""
        asked, first = request.asked(), request.number("first", 1 << 31)
        count = request.number("count", MOST_ROWS + 1)
        try:
            size = len(asked.utf8())
        except CrayonError as error:
            return {"error": said(error)}
        view = self._view(asked)
        panels = [
            {"error": panel} if isinstance(panel, str) else _rows(panel, first, first + count) for panel in view.panels
        ]
        return {"characters": len(asked.text), "bytes": size, "panels": panels}

    def explain(self, request: Request) -> Answer:
        """How one token was made."""
        panel = self._panel(request)
        if isinstance(panel, str):
            return {"error": panel}
        return panel.makings.of(request.number("token", len(panel.encoding)))

    def check(self, request: Request) -> Answer:
        """The ids of one tokenizer's reference beside ours."""
        panel = self._panel(request)
        if isinstance(panel, str):
            return {"error": panel}
        try:
            name, ids = panel.opened.ids_of_reference(panel.asked)
        except _ERRORS as error:
            return {"error": said(error)}
        return {"reference": name} | compared(panel.encoding.ids, ids)

    def _panel(self, request: Request) -> Panel | str:
        asked = request.asked()
        try:
            asked.utf8()
        except CrayonError as error:
            return said(error)
        return self._view(asked).panels[request.number("panel", len(asked.names))]

    def _view(self, asked: Asked) -> View:
        return self._views.get(asked, lambda: View(asked, self.open), lambda view: view.is_whole)


def said(error: BaseException) -> str:
    """An error in a line, as commands write it."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _rows(panel: Panel, first: int, last: int) -> Answer:
    return {
        "count": len(panel.encoding),
        "differing": sum(panel.differing),
        "note": panel.opened.note,
        "rows": rows_of(panel.tokens(first, last), panel.differing[first:last]),
    }


class _Latest(Generic[Key, Kept]):
    """The latest things by key. No thread waits for the slow `make` of another, so two may make the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: OrderedDict[Key, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Kept], is_kept: Callable[[Kept], bool] = lambda made: True) -> Kept:
        """The thing of this key; an error of `make` is raised, and the next call tries again."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = make()
        if not is_kept(made):
            return made
        with self._lock:
            made = self._made.setdefault(key, made)
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return made
