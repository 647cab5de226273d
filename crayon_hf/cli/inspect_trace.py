"""``crayon-hf inspect --trace``: prints the merges of exact mode, and the walks of greedy mode through the trie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from crayon_hf import _core
from crayon_hf.cli.colour import Paint, padded, shortened
from crayon_hf.display.cells import plain, width_of
from crayon_hf.display.trace import Pretoken, Trace, Walk
from crayon_hf.util.wording import plural


class TraceView:
    """Writes a trace for a terminal of some width."""

    def __init__(self, write: Callable[[str], None], paint: Paint, width: int) -> None:
        self._write, self._paint, self._width = write, paint, width

    def show(self, trace: Trace) -> None:
        """Write all parts of the trace, pretoken by pretoken."""
        number = 0
        for part in trace.parts:
            place = f"bytes {part['start']}-{part['end']}"
            self._write("")
            if part["added"] is not None:
                name = plain(trace.engine.id_to_token(part["added"]) or "")
                self._title("added token", self._paint.token(0, name, is_special=True), f"{part['added']}, {place}")
                continue
            before = trace.data[part["start"] : part["end"]]
            self._step("text", before, place)
            if part["normalized"] != before:
                self._step("normalized", part["normalized"], "")
            pretokens = [part["text"][pretoken["start"] : pretoken["end"]] for pretoken in part["pieces"]]
            if pretokens != [part["normalized"]]:
                self._pretokens(pretokens, number)
            for pretoken in trace.pretokens(part):
                number += 1
                start, end = pretoken.original
                self._write("")
                title = self._paint.token(number, self._shorten(plain(pretoken.data[:100]), 24))
                self._title(f"pretoken {number}", title, f"bytes {start}-{end}")
                if pretoken.differs:
                    self._write(f"  {self._paint.alert('≠ exact and greedy differ here')}")
                if pretoken.exact is not None:
                    self._exact(trace, pretoken, pretoken.exact)
                if pretoken.walks is not None:
                    self._greedy(trace, pretoken)

    def _title(self, label: str, name: str, note: str) -> None:
        self._write(f"{self._paint.strong(label)} {name} {self._paint.faint(note)}")

    def _pretokens(self, pretokens: Sequence[bytes], number: int) -> None:
        """Write the pre-tokenizer's output on one line."""
        line, room = "", self._width - len("pretokens … ")
        for i, pretoken in enumerate(pretokens):
            name = plain(pretoken[: 4 * self._width])
            room -= width_of(name) + (i > 0 and not self._paint.enabled)
            if room < 0:
                line += "…"
                break
            line += "│" * (i > 0 and not self._paint.enabled) + self._paint.token(number + 1 + i, name)
        self._write(f"{self._paint.strong('pretokens')} {line}")

    def _step(self, label: str, data: bytes, note: str) -> None:
        room = self._width - len(label) - len(note) - 4
        # `plain` is slow for a long text, and the line holds only its beginning.
        text = self._shorten(plain(data[: 4 * self._width]), room)
        self._write(f"{self._paint.strong(label)} {text} {self._paint.faint(note)}".rstrip())

    def _shorten(self, text: str, room: int) -> str:
        return shortened(text, max(8, room))

    def _note(self, text: str, mode: str = "") -> None:
        mode = f"{self._paint.strong(mode)} " if mode else ""
        self._write(f"  {mode}{self._paint.faint(text)}")

    # -- exact mode

    def _exact(self, trace: Trace, pretoken: Pretoken, exact: dict[str, Any]) -> None:
        if exact["is_too_long"]:
            self._note(f"more than {_core.TRACE_PIECE_BYTES} bytes: tokens only", "exact")
        elif exact["path"]:
            self._path(trace, pretoken, exact)
        elif exact["walks"]:
            self._note("longest match", "exact")
            self._walks(trace, exact["walks"], 0)
            return
        elif exact["symbols"]:
            self._merges(trace, pretoken, exact)
        self._result(trace, exact["tokens"])

    def _merges(self, trace: Trace, pretoken: Pretoken, exact: dict[str, Any]) -> None:
        symbols = [trace.name(symbol["id"]) for symbol in exact["symbols"]]
        merges = exact["merges"]
        if exact["dropped"]:
            self._note(f"dropped, without a token: {plural(exact['dropped'], 'byte')}")
        if exact["is_random"]:
            self._note("this vocabulary skips merges at random (dropout): shown without dropout")
        if exact["shortcut"] == "whole_token":
            self._note("the whole pretoken is in the vocabulary, so it is not merged (ignore_merges)", "exact")
        elif merges:
            looked_up = " (the engine takes the ids from its word table)" if exact["shortcut"] else ""
            self._note(f"merges in order of rank{looked_up}", "exact")
        else:
            self._note("no two symbols merge" if len(symbols) > 1 else "one symbol, nothing to merge", "exact")
        if not merges:
            return
        if exact["shortcut"] == "whole_token":
            self._note("its merges would be:")
        ranks = max(len(str(merge["rank"])) for merge in merges)
        ranks = max(ranks, len("rank"))
        names = [(trace.name(merge["left"]), trace.name(merge["right"])) for merge in merges]
        pairs = min(max(width_of(f"{left} + {right}") for left, right in names), self._width // 3)
        ids = max(len(str(merge["product"])) for merge in merges)
        room = self._width - (2 + ranks + 2 + pairs + 2 + ids + 2)
        lead = " " * (2 + ranks + 2 + pairs + 2 + ids + 2)
        self._write(self._paint.faint(f"  {'rank':>{ranks}}  {padded('merge', pairs)}  {padded('id', ids, True)}"))
        self._write(lead + self._state(symbols, None, room))
        for merge, (left, right) in zip(merges, names, strict=True):
            at = merge["position"]
            symbols[at : at + 2] = [trace.name(merge["product"])]
            row = f"  {merge['rank']:>{ranks}}  {padded(f'{left} + {right}', pairs)}  {merge['product']:>{ids}}  "
            self._write(row + self._state(symbols, at, room))

    def _state(self, symbols: Sequence[str], made: int | None, room: int) -> str:
        """Return the symbols in a row, with the newest one marked. A long row is shortened around that symbol."""
        at = 0 if made is None else made
        first, last = at, at + 1
        used = width_of(symbols[at]) + 2
        while True:
            grown = False
            for i in (last, first - 1):
                if 0 <= i < len(symbols) and used + width_of(symbols[i]) + 1 <= room - 4:
                    used += width_of(symbols[i]) + 1
                    first, last = min(first, i), max(last, i + 1)
                    grown = True
            if not grown:
                break
        shown = list(symbols[first:last])
        if made is not None:
            new = self._shorten(shown[at - first], room)
            shown[at - first] = self._paint.token(1, new) if self._paint.enabled else f"[{new}]"
        return " ".join([*["…"][: first > 0], *shown, *["…"][: last < len(symbols)]])

    def _path(self, trace: Trace, pretoken: Pretoken, exact: dict[str, Any]) -> None:
        self._note(f"the best path, score {exact['score']:.4f}", "exact")
        ids = max(len(str(step["id"])) for step in exact["path"])
        for step in exact["path"]:
            text = self._shorten(plain(pretoken.data[step["start"] : step["end"]]), self._width - ids - 16)
            unknown = " unknown" if step["kind"] == "unknown" else ""
            self._write(f"  {step['score']:>10.4f}  {step['id']:>{ids}}  {text}{self._paint.faint(unknown)}")

    def _result(self, trace: Trace, tokens: Sequence[dict[str, Any]], first: int = 0) -> None:
        line, column = "", 0
        for number, token in enumerate(tokens, first):
            name = self._shorten(trace.name(token["id"]), self._width - 16)
            size = width_of(name) + len(str(token["id"])) + 2
            if column + size > self._width - 4 and column > 0:
                self._write(f"  → {line}".rstrip())
                line, column = "", 0
            line += f"{self._paint.token(number, name)} {self._paint.strong(str(token['id']))} "
            column += size
        self._write(f"  → {line}".rstrip())

    # -- greedy mode

    def _greedy(self, trace: Trace, pretoken: Pretoken) -> None:
        assert pretoken.run is not None
        assert pretoken.walks is not None
        offset = pretoken.run.start - pretoken.start
        if pretoken.exact is not None and pretoken.exact["walks"] and pretoken.exact["walks"] == pretoken.walks:
            self._note("the same walks", "greedy")
            return
        self._note("longest match", "greedy")
        if pretoken.walks:
            first = pretoken.walks[0]["start"] + offset
            if first > 0:
                self._note(f"the first {plural(first, 'byte')} belong to a match that began in an earlier pretoken")
            self._walks(trace, pretoken.walks, offset)
            if pretoken.walks[-1]["end"] + offset > len(pretoken.data):
                self._note("the match continues in the next pretoken")
        elif not pretoken.run.is_truncated or pretoken.start < pretoken.run.walked:
            self._note("all of it belongs to an earlier match")
        if pretoken.run.is_truncated and pretoken.run.walked < pretoken.end:
            self._note(f"walks are shown for the first {pretoken.run.walked - pretoken.run.start} bytes only")

    def _walks(self, trace: Trace, walks: Sequence[Walk], offset: int) -> None:
        for number, walk in enumerate(walks):
            self._walk(trace, walk, offset, number)

    def _walk(self, trace: Trace, walk: Walk, offset: int, number: int) -> None:
        rows: list[list[str]] = [["byte"], ["node"], ["id"]]
        for i, step in enumerate(walk["steps"]):
            is_affix = i < walk["prefix"] or i >= len(walk["steps"]) - walk["suffix"]
            char = plain(bytes([step["byte"]])) if step["byte"] < 0x80 else f"{step['byte']:02X}"
            rows[0].append(f"({char})" if is_affix else char)
            rows[1].append("✗" if step["node"] is None else str(step["node"]))
            rows[2].append("" if step["id"] is None else str(step["id"]))
        widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
        head = f"  at {walk['start'] + offset}  "
        found = bool(walk["tokens"]) and walk["tokens"][0]["kind"] == "token"
        matched = walk["prefix"] + walk["end"] - walk["start"] if found else 0
        start = 1
        while start < len(widths):
            end, used = start, len(head) + widths[0]
            while end < len(widths) and (end == start or used + 2 + widths[end] <= self._width):
                used += 2 + widths[end]
                end += 1
            for i, row in enumerate(rows):
                lead = head if i == 0 and start == 1 else " " * len(head)
                cells = "  ".join(
                    self._paint.strong(text) if i == 0 and k <= matched else text
                    for k, text in ((k, padded(row[k], widths[k], True)) for k in range(start, end))
                )
                self._write((lead + self._paint.faint(padded(row[0], widths[0])) + "  " + cells).rstrip())
            start = end
        if walk["joins_unknown"]:
            self._note("no match: part of the previous unknown token")
        elif not walk["tokens"]:
            self._note("the match is not used" if walk["end"] > walk["start"] else "no match")
        else:
            if walk["tokens"][0]["kind"] == "byte":
                self._note("no match, but the vocabulary has the bytes of the character")
            elif walk["tokens"][0]["kind"] == "unknown":
                self._note("no match: unknown" if walk["steps"] else "the whole pretoken is unknown")
            self._result(trace, walk["tokens"], number)
