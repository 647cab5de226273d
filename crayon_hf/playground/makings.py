"""How each token of a text was made, in words and a table: its merges, its walk of longest match, its path."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from crayon_hf import _core
from crayon_hf.display.tokens import Cut, Options
from crayon_hf.display.trace import Trace, Walk
from crayon_hf.util.wording import plural

Making = dict[str, Any]
"""``notes`` are sentences. ``tokens`` are the (name, id) of the piece's tokens, and ``at`` is the place of this one.
``rows`` are those of a table with ``columns``; a cell is a text, or a list of (part, whether it is new)."""

_MOST_ROWS = 200
_AROUND = 12
"""The number of parts that a long row shows on each side of the new one."""


class Makings:
    """The steps of one text, traced when they are asked for."""

    def __init__(self, engine: Any, data: bytes, cut: Cut, options: Options, mode: str = "exact") -> None:
        """`cut` compares ids; `engine` is the exact one, also for `mode` "greedy"."""
        self._engine, self._data, self._cut, self._options, self._mode = engine, data, cut, options, mode
        self._exact: dict[bytes, dict[str, Any]] = {}
        self._made: dict[tuple[bytes, int], Making] = {}

    def of(self, token: int) -> Making:
        """The steps to one token of the text, by its place."""
        if self._cut.inserted[token]:
            return _making("The post-processor puts this token around the text.")
        if not isinstance(self._engine, _core.Engine):
            reason = f"crayon-hf's engine does not support {self._engine.reason}"
            return _making(f"{reason}: the library encodes this text, and shows no steps.")
        if self._mode == "greedy":
            return self._greedy_of(token)
        for segment, piece in self._near(token):
            if piece is None:
                if segment["added"] == self._cut.what[token]:
                    return _making("An added token: it is found in the text before the model reads the rest.")
                continue
            data = segment["text"][piece["start"] : piece["end"]]
            if data not in self._exact:
                self._exact[data] = self._engine.trace_piece(data)
            at = self._place_in(token, self._exact[data]["tokens"])
            if at is None:
                continue
            if (data, at) not in self._made:
                self._made[data, at] = self._steps(data, self._exact[data], at)
            return self._made[data, at]
        return _making("No piece of the text gives this token alone.")

    # -- where a token is

    @cached_property
    def _trace(self) -> Trace:
        return Trace(self._engine, self._data, self._mode, self._options)

    @cached_property
    def _pieces(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Segment and piece, in order; an added token has no piece."""
        return [
            (segment, piece)
            for segment in self._trace.segments
            for piece in ([None] if segment["added"] is not None else segment["pieces"])
        ]

    @cached_property
    def _starts(self) -> list[int]:
        return [segment["start"] if piece is None else piece["original"][0] for segment, piece in self._pieces]

    @cached_property
    def _byte_places(self) -> Sequence[int]:
        """For each place between characters of the text, its byte."""
        import numpy as np

        if self._options.is_bytes:
            return range(len(self._data) + 1)
        first = (np.frombuffer(self._data, np.uint8) & 0xC0) != 0x80
        places: list[int] = [*np.flatnonzero(first).tolist(), len(self._data)]
        return places

    def _near(self, token: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """The piece in which the token begins, then its neighbours: characters can move between them."""
        start = self._byte_places[self._cut.spans[token][0]]
        place = bisect_right(self._starts, start) - 1
        for step in (0, -1, 1, -2, 2):
            if 0 <= place + step < len(self._pieces):
                yield self._pieces[place + step]

    def _place_in(self, token: int, made: Sequence[dict[str, Any]]) -> int | None:
        """Which token of a piece it is, if all tokens of the piece are around it in the text."""
        ids = [each["id"] for each in made]
        for at, id in enumerate(ids):
            first = token - at
            if id == self._cut.what[token] and first >= 0 and self._cut.what[first : first + len(ids)] == ids:
                return at
        return None

    # -- exact mode

    def _steps(self, data: bytes, exact: dict[str, Any], at: int) -> Making:
        token = exact["tokens"][at]
        around = self._named(exact["tokens"], at)
        if exact["is_too_long"]:
            alone = data[token["start"] : token["end"]]
            made = self._engine.trace_piece(alone)
            note = f"Its piece of the text has {len(data):,} bytes: these are the steps of its own {len(alone)} bytes."
            if [each["id"] for each in made["tokens"]] != [token["id"]] or made["is_too_long"]:
                return _making("Its piece of the text is too long to show steps of it.") | around
            return self._merges(alone, made, made["tokens"][0], [note]) | around
        if exact["path"]:
            return self._path(exact, at) | around
        if exact["walks"]:
            pairs = [(walk, each) for walk in exact["walks"] for each in walk["tokens"]]
            return self._walk(pairs[at][0], token["kind"]) | around if at < len(pairs) else _making() | around
        return self._merges(data, exact, token, []) | around

    def _merges(self, data: bytes, exact: dict[str, Any], token: dict[str, Any], notes: list[str]) -> Making:
        if exact["is_random"]:
            notes.append("This vocabulary skips merges at random (dropout): the steps are those without that.")
        if exact["shortcut"] == "whole_token":
            notes.append("The whole piece is a token, which comes before merges (ignore_merges). Merges would be:")
        if token["kind"] == "byte":
            notes.append("The vocabulary has no token of this character, but one of each of its bytes.")
        elif token["kind"] == "unknown":
            notes.append("The vocabulary has no token of this character.")
        parts = [(each["start"], each["end"], self._trace.name(each["id"])) for each in exact["symbols"]]
        shown = _inside(parts, token)
        rows: list[list[Any]] = [["", "", "", _state([part[2] for part in shown], None)]]
        for merge in exact["merges"]:
            at = merge["position"]
            new = (parts[at][0], parts[at + 1][1], self._trace.name(merge["product"]))
            parts[at : at + 2] = [new]
            if not token["start"] <= new[0] < new[1] <= token["end"]:
                continue
            shown = _inside(parts, token)
            pair = f"{self._trace.name(merge['left'])} + {self._trace.name(merge['right'])}"
            state = _state([part[2] for part in shown], shown.index(new))
            rows.append([f"{merge['rank']:,}", pair, str(merge["product"]), state])
        if len(rows) == 1:
            return _making(*notes, "No merge made it: it is a symbol that merging begins with.")
        if len(rows) > _MOST_ROWS:
            notes.append(f"The last {_MOST_ROWS} of {plural(len(rows) - 1, 'merge')}:")
        return _making(*notes, columns=["rank", "merge", "id", "symbols"], rows=rows[-_MOST_ROWS:])

    def _path(self, exact: dict[str, Any], at: int) -> Making:
        notes = [f"The path of the highest score through the piece, {exact['score']:.4f} in sum."]
        if exact["path"][at]["kind"] == "unknown":
            notes.append("The vocabulary has no token of this text.")
        rows = [
            [f"{step['score']:.4f}", str(step["id"]), [[self._trace.name(step["id"]), int(place == at)]]]
            for place, step in enumerate(exact["path"][:_MOST_ROWS])
        ]
        return _making(*notes, columns=["score", "id", "token"], rows=rows)

    def _walk(self, walk: Walk, kind: str) -> Making:
        """The tokens that begin at one place, from the shortest to the one that was taken."""
        if kind == "unknown":
            return _making("No token begins here: the text is unknown.")
        if kind == "byte":
            return _making("No token begins here, but the bytes of the character have tokens.")
        steps = [step for step in walk["steps"] if step["id"] is not None]
        last = max((at for at, step in enumerate(steps) if step["id"] == walk["tokens"][0]["id"]), default=-1)
        rows = [
            [str(step["id"]), [[self._trace.name(step["id"]), int(place == last)]]] for place, step in enumerate(steps)
        ]
        note = "Longest match: of the tokens that begin here, the longest that fits."
        return _making(note, columns=["id", "token"], rows=rows[-_MOST_ROWS:])

    # -- greedy mode

    @cached_property
    def _walks(self) -> list[tuple[Walk | None, dict[str, Any]]]:
        """For each token that longest match takes: its walk, and the token."""
        out: list[tuple[Walk | None, dict[str, Any]]] = []
        for segment in self._trace.segments:
            if segment["added"] is not None:
                out.append((None, {"id": segment["added"], "kind": "token"}))
            for start, end in segment["runs"]:
                for walk in self._engine.trace_longest_match(segment["text"][start:end]):
                    out += [(walk, token) for token in walk["tokens"]]
        return out

    def _greedy_of(self, token: int) -> Making:
        place = sum(not inserted for inserted in self._cut.inserted[:token])
        if place >= len(self._walks) or self._walks[place][1]["id"] != self._cut.what[token]:
            return _making("The text is too long to show steps of it.")
        walk, found = self._walks[place]
        if walk is None:
            return _making("An added token: it is found in the text before the model reads the rest.")
        return self._walk(walk, found["kind"])

    def _named(self, tokens: Sequence[dict[str, Any]], at: int) -> Making:
        """The tokens of the piece, of many those around one."""
        first = max(0, at - _AROUND)
        here = tokens[first : at + _AROUND + 1]
        return {"tokens": [[self._trace.name(each["id"]), each["id"]] for each in here], "at": at - first}


def _making(*notes: str, columns: Sequence[str] = (), rows: Sequence[Sequence[Any]] = ()) -> Making:
    return {"notes": list(notes), "columns": list(columns), "rows": list(rows), "tokens": [], "at": 0}


def _inside(parts: Sequence[tuple[int, int, str]], token: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [part for part in parts if token["start"] <= part[0] and part[1] <= token["end"]]


def _state(names: Sequence[str], made: int | None) -> list[list[Any]]:
    """Symbols in a row, and whether each is the new one; of a long row those around that."""
    at = made or 0
    first, last = max(0, at - _AROUND), at + _AROUND + 1
    shown: list[list[Any]] = [[name, int(first + i == made)] for i, name in enumerate(names[first:last])]
    return [*([["…", 0]] if first else []), *shown, *([["…", 0]] if last < len(names) else [])]
