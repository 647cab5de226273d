"""The steps from a text to its tokens, pretoken by pretoken: merges and walks on the trie, computed by the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crayon_hf import _core
from crayon_hf.display.cells import plain
from crayon_hf.display.tokens import Options

Walk = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """Bytes that greedy mode matches as one text, and its walks on the trie.

    They are bytes [start, end) of a part: the text between two added tokens.
    """

    start: int
    end: int
    walks: list[Walk]

    @property
    def walked(self) -> int:
        """The end of the last walk, in bytes of the part's text."""
        return self.start + (int(self.walks[-1]["end"]) if self.walks else 0)

    @property
    def is_truncated(self) -> bool:
        """Whether the walks end before the run does, as they do in a long run."""
        return self.walked < self.end


@dataclass(frozen=True)
class Pretoken:
    """A pretoken and the steps to its tokens. `exact` is None in greedy mode, `walks` in exact mode."""

    data: bytes
    start: int
    end: int
    original: tuple[int, int]
    exact: dict[str, Any] | None
    run: Run | None
    walks: list[Walk] | None
    """The walks of the run that begin in this pretoken."""

    @property
    def differs(self) -> bool:
        """Whether exact and greedy mode differ in the pretoken's tokens or borders."""
        if self.exact is None or self.walks is None or self.run is None:
            return False
        # A match that crosses the start or the end of the pretoken moves that border.
        first = self.walks[0]["start"] + self.run.start if self.walks else self.end
        last = self.walks[-1]["end"] + self.run.start if self.walks else self.end
        ids = [token["id"] for walk in self.walks for token in walk["tokens"]]
        return (first, last) != (self.start, self.end) or ids != [token["id"] for token in self.exact["tokens"]]


class Trace:
    """The steps from a text to its tokens, in exact mode, greedy mode, or both."""

    def __init__(self, engine: _core.Engine, data: bytes, mode: str, options: Options) -> None:
        self.engine, self.mode = engine, mode
        self.parts = (
            engine.trace_raw_parts(data) if options.is_bytes else engine.trace_parts(data, options.special_as_text)
        )
        self.data = data
        self.is_on_bytes = engine.info()["tokens"] == "bytes"

    def name(self, id: int) -> str:
        """Return a token's text to display, with byte-level spelling decoded."""
        if self.is_on_bytes:
            return plain(self.engine.id_to_bytes(id) or b"")
        return plain(self.engine.id_to_token(id) or "")

    def pretokens(self, part: dict[str, Any]) -> Iterator[Pretoken]:
        """Trace the pretokens of one of the `parts`, one by one. The time for one grows faster than its length."""
        text: bytes = part["text"]
        runs = iter(part["runs"])
        run: Run | None = None
        walks: Iterator[Walk] = iter(())
        waiting: Walk | None = None
        for row in part["pieces"]:
            start, end = row["start"], row["end"]
            data = text[start:end]
            exact = self.engine.trace_piece(data) if self.mode != "greedy" else None
            begun: list[Walk] | None = None
            if self.mode != "exact":
                while run is None or run.end <= start:
                    first, last = next(runs)
                    run = Run(first, last, self.engine.trace_longest_match(text[first:last]))
                    walks, waiting = iter(run.walks), None
                begun = []
                waiting = waiting or next(walks, None)
                while waiting is not None and run.start + waiting["start"] < end:
                    begun.append(waiting)
                    waiting = next(walks, None)
            yield Pretoken(data, start, end, row["original"], exact, run if begun is not None else None, begun)

    def report(self) -> list[dict[str, Any]]:
        """Return the trace of the whole text for JSON, with bytes in hexadecimal."""
        out = []
        for part in self.parts:
            row = {key: part[key] for key in ("added", "start", "end")}
            row |= {key: part[key].hex() for key in ("normalized", "text")}
            row["pieces"] = [
                {
                    "start": pretoken.start,
                    "end": pretoken.end,
                    "original": pretoken.original,
                    "bytes": pretoken.data.hex(),
                }
                | ({} if pretoken.exact is None else {"exact": pretoken.exact})
                for pretoken in self.pretokens(part)
            ]
            if self.mode != "exact":
                text = part["text"]
                row["runs"] = [
                    {"start": start, "end": end, "walks": self.engine.trace_longest_match(text[start:end])}
                    for start, end in part["runs"]
                ]
            out.append(row)
        return out
