"""Explains how the model found each token of a text: by merges, by longest match, or by the path of best score."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from crayon_hf import _core
from crayon_hf.display.tokens import Options, Segmentation
from crayon_hf.display.trace import Trace, Walk
from crayon_hf.util.wording import plural

Derivation = dict[str, Any]
"""The explanation of one token, as JSON. ``notes`` are sentences. ``tokens`` are the (name, id) of the tokens of the
same pretoken, and ``at`` is the index of this one. ``columns`` and ``rows`` are a table; a cell is a text, or a list of
(part, whether it is new)."""

_MOST_ROWS = 200
_AROUND = 12
"""The number of parts shown on each side of the new one in a long row."""


class Derivations:
    """The derivations of the tokens of one text, traced on demand."""

    def __init__(
        self, engine: Any, data: bytes, segmentation: Segmentation, options: Options, mode: str = "exact"
    ) -> None:
        """`segmentation` has the tokens of `data` in `mode`, "exact" or "greedy"; `engine` is the exact engine."""
        self._engine, self._data, self._options, self._mode = engine, data, options, mode
        self._segmentation = segmentation
        self._exact: dict[bytes, dict[str, Any]] = {}
        self._derived: dict[tuple[bytes, int], Derivation] = {}

    def derive(self, token: int) -> Derivation:
        """Return the derivation of the token at index `token`."""
        if self._segmentation.inserted[token]:
            return _derivation("The post-processor inserts this token.")
        if not isinstance(self._engine, _core.Engine):
            reason = f"crayon-hf's engine does not support {self._engine.reason}"
            return _derivation(f"{reason}. The reference library encodes this text, without steps to show.")
        if self._mode == "greedy":
            return self._derive_greedy(token)
        for part, pretoken in self._near(token):
            if pretoken is None:
                if part["added"] == self._segmentation.ids[token]:
                    return _derivation("An added token: it is matched in the text before the model encodes the rest.")
                continue
            data = part["text"][pretoken["start"] : pretoken["end"]]
            if data not in self._exact:
                self._exact[data] = self._engine.trace_piece(data)
            at = self._index_in(token, self._exact[data]["tokens"])
            if at is None:
                continue
            if (data, at) not in self._derived:
                self._derived[data, at] = self._steps(data, self._exact[data], at)
            return self._derived[data, at]
        return _derivation("No single pretoken produces this token.")

    # -- the pretoken of a token

    @cached_property
    def _trace(self) -> Trace:
        return Trace(self._engine, self._data, self._mode, self._options)

    @cached_property
    def _pretokens(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """The (part, pretoken) pairs of the text in order. An added token has no pretoken."""
        return [
            (part, pretoken)
            for part in self._trace.parts
            for pretoken in ([None] if part["added"] is not None else part["pieces"])
        ]

    @cached_property
    def _starts(self) -> list[int]:
        return [part["start"] if pretoken is None else pretoken["original"][0] for part, pretoken in self._pretokens]

    @cached_property
    def _byte_places(self) -> Sequence[int]:
        """The byte offset of each character, by its character offset."""
        import numpy as np

        if self._options.is_bytes:
            return range(len(self._data) + 1)
        first = (np.frombuffer(self._data, np.uint8) & 0xC0) != 0x80
        places: list[int] = [*np.flatnonzero(first).tolist(), len(self._data)]
        return places

    def _near(self, token: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Yield the pretoken where the token begins, then its neighbours, since normalization can move characters.

        Each comes with its part of the text, as in `_pretokens`.
        """
        start = self._byte_places[self._segmentation.ranges[token][0]]
        place = bisect_right(self._starts, start) - 1
        for step in (0, -1, 1, -2, 2):
            if 0 <= place + step < len(self._pretokens):
                yield self._pretokens[place + step]

    def _index_in(self, token: int, pretoken: Sequence[dict[str, Any]]) -> int | None:
        """Return a token's index among a pretoken's tokens, or None unless the ids around it are the pretoken's."""
        ids = [each["id"] for each in pretoken]
        for at, id in enumerate(ids):
            first = token - at
            if id != self._segmentation.ids[token] or first < 0:
                continue
            if self._segmentation.ids[first : first + len(ids)] == ids:
                return at
        return None

    # -- exact mode

    def _steps(self, data: bytes, exact: dict[str, Any], at: int) -> Derivation:
        token = exact["tokens"][at]
        around = self._named(exact["tokens"], at)
        if exact["is_too_long"]:
            alone = data[token["start"] : token["end"]]
            trace = self._engine.trace_piece(alone)
            note = f"Its pretoken has {len(data):,} bytes: these are the merges of the token's own {len(alone)} bytes."
            if [each["id"] for each in trace["tokens"]] != [token["id"]] or trace["is_too_long"]:
                return _derivation("Its pretoken is too long to show merges.") | around
            return self._merges(alone, trace, trace["tokens"][0], [note]) | around
        if exact["path"]:
            return self._path(exact, at) | around
        if exact["walks"]:
            pairs = [(walk, each) for walk in exact["walks"] for each in walk["tokens"]]
            return self._walk(pairs[at][0], token["kind"]) | around if at < len(pairs) else _derivation() | around
        return self._merges(data, exact, token, []) | around

    def _merges(self, data: bytes, exact: dict[str, Any], token: dict[str, Any], notes: list[str]) -> Derivation:
        if exact["is_random"]:
            notes.append("This vocabulary skips merges at random (dropout): these are the merges without dropout.")
        if exact["shortcut"] == "whole_token":
            notes.append(
                "The whole pretoken is in the vocabulary, so it is not merged (ignore_merges). Its merges would be:"
            )
        if token["kind"] == "byte":
            notes.append("The vocabulary lacks this character, but has its bytes.")
        elif token["kind"] == "unknown":
            notes.append("The vocabulary lacks this character.")
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
            return _derivation(*notes, "No merges: the token is one of the symbols that merging begins with.")
        if len(rows) > _MOST_ROWS:
            notes.append(f"The last {_MOST_ROWS} of {plural(len(rows) - 1, 'merge')}:")
        return _derivation(*notes, columns=["rank", "merge", "id", "symbols"], rows=rows[-_MOST_ROWS:])

    def _path(self, exact: dict[str, Any], at: int) -> Derivation:
        notes = [f"The path of the highest score through the pretoken: {exact['score']:.4f} in total."]
        if exact["path"][at]["kind"] == "unknown":
            notes.append("The vocabulary lacks this text.")
        rows = [
            [f"{step['score']:.4f}", str(step["id"]), [[self._trace.name(step["id"]), int(place == at)]]]
            for place, step in enumerate(exact["path"][:_MOST_ROWS])
        ]
        return _derivation(*notes, columns=["score", "id", "token"], rows=rows)

    def _walk(self, walk: Walk, kind: str) -> Derivation:
        """Return the derivation of a longest match: all tokens that match at its place, the shortest first."""
        if kind == "unknown":
            return _derivation("No token matches here: the text is unknown.")
        if kind == "byte":
            return _derivation("No token matches here, but the vocabulary has the bytes of the character.")
        steps = [step for step in walk["steps"] if step["id"] is not None]
        last = max((at for at, step in enumerate(steps) if step["id"] == walk["tokens"][0]["id"]), default=-1)
        rows = [
            [str(step["id"]), [[self._trace.name(step["id"]), int(place == last)]]] for place, step in enumerate(steps)
        ]
        note = "Longest match: the longest token that matches here."
        return _derivation(note, columns=["id", "token"], rows=rows[-_MOST_ROWS:])

    # -- greedy mode

    @cached_property
    def _walks(self) -> list[tuple[Walk | None, dict[str, Any]]]:
        """The tokens of the text by longest match, each with the walk through the vocabulary's trie that found it.

        An added token has no walk.
        """
        out: list[tuple[Walk | None, dict[str, Any]]] = []
        for part in self._trace.parts:
            if part["added"] is not None:
                out.append((None, {"id": part["added"], "kind": "token"}))
            for start, end in part["runs"]:
                for walk in self._engine.trace_longest_match(part["text"][start:end]):
                    out += [(walk, token) for token in walk["tokens"]]
        return out

    def _derive_greedy(self, token: int) -> Derivation:
        index = sum(not inserted for inserted in self._segmentation.inserted[:token])
        if index >= len(self._walks) or self._walks[index][1]["id"] != self._segmentation.ids[token]:
            return _derivation("The text is too long to show its longest-match walks.")
        walk, found = self._walks[index]
        if walk is None:
            return _derivation("An added token: it is matched in the text before the model encodes the rest.")
        return self._walk(walk, found["kind"])

    def _named(self, tokens: Sequence[dict[str, Any]], at: int) -> Derivation:
        """Return the entries ``tokens`` and ``at`` of a derivation. Only tokens near index `at` are included."""
        first = max(0, at - _AROUND)
        window = tokens[first : at + _AROUND + 1]
        return {"tokens": [[self._trace.name(each["id"]), each["id"]] for each in window], "at": at - first}


def _derivation(*notes: str, columns: Sequence[str] = (), rows: Sequence[Sequence[Any]] = ()) -> Derivation:
    return {"notes": list(notes), "columns": list(columns), "rows": list(rows), "tokens": [], "at": 0}


def _inside(parts: Sequence[tuple[int, int, str]], token: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [part for part in parts if token["start"] <= part[0] and part[1] <= token["end"]]


def _state(names: Sequence[str], new: int | None) -> list[list[Any]]:
    """Return the cell of a table for the symbols after a merge: pairs of (symbol, whether it is new).

    `new` is the index of the merged symbol. Only symbols near it are included.
    """
    at = new or 0
    first, last = max(0, at - _AROUND), at + _AROUND + 1
    shown: list[list[Any]] = [[name, int(first + i == new)] for i, name in enumerate(names[first:last])]
    return [*([["…", 0]] if first else []), *shown, *([["…", 0]] if last < len(names) else [])]
