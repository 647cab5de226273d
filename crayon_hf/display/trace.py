"""How a text becomes tokens, piece by piece: every merge, every walk on the trie. The engine does the work."""

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
    """What greedy mode takes at once: bytes [start, end) of a segment's text, and the walks over it."""

    start: int
    end: int
    walks: list[Walk]

    @property
    def walked(self) -> int:
        """Where in the segment's text the last walk ended."""
        return self.start + (int(self.walks[-1]["end"]) if self.walks else 0)

    @property
    def is_cut(self) -> bool:
        """Whether it is longer than what is walked."""
        return self.walked < self.end


@dataclass(frozen=True)
class Piece:
    """One piece, and how it becomes tokens: `exact` is None in greedy mode, `walks` in exact mode."""

    data: bytes
    start: int
    end: int
    original: tuple[int, int]
    exact: dict[str, Any] | None
    run: Run | None
    walks: list[Walk] | None
    """The walks of the run that begin in this piece."""

    @property
    def differs(self) -> bool:
        """Whether exact and greedy mode make other tokens of it, or another border."""
        if self.exact is None or self.walks is None or self.run is None:
            return False
        # A match that comes in from the piece before, or goes on into the next, ends elsewhere.
        first = self.walks[0]["start"] + self.run.start if self.walks else self.end
        last = self.walks[-1]["end"] + self.run.start if self.walks else self.end
        ids = [token["id"] for walk in self.walks for token in walk["tokens"]]
        return (first, last) != (self.start, self.end) or ids != [token["id"] for token in self.exact["tokens"]]


class Trace:
    """How a text becomes tokens, in exact mode, greedy mode, or both."""

    def __init__(self, engine: _core.Engine, data: bytes, mode: str, options: Options) -> None:
        self.engine, self.mode = engine, mode
        self.segments = (
            engine.trace_raw_segments(data)
            if options.is_bytes
            else engine.trace_segments(data, options.special_as_text)
        )
        self.data = data
        self.is_on_bytes = engine.info()["tokens"] == "bytes"

    def name(self, id: int) -> str:
        """A token as it is shown: what it says, with the spelling of bytes undone."""
        if self.is_on_bytes:
            return plain(self.engine.id_to_bytes(id) or b"")
        return plain(self.engine.id_to_token(id) or "")

    def pieces(self, segment: dict[str, Any]) -> Iterator[Piece]:
        """The pieces of a segment, one by one: each costs as much as it is long, and more."""
        text: bytes = segment["text"]
        runs = iter(segment["runs"])
        run: Run | None = None
        walks: Iterator[Walk] = iter(())
        waiting: Walk | None = None
        for row in segment["pieces"]:
            start, end = row["start"], row["end"]
            data = text[start:end]
            exact = self.engine.trace_piece(data) if self.mode != "greedy" else None
            here: list[Walk] | None = None
            if self.mode != "exact":
                while run is None or run.end <= start:
                    first, last = next(runs)
                    run = Run(first, last, self.engine.trace_longest_match(text[first:last]))
                    walks, waiting = iter(run.walks), None
                here = []
                waiting = waiting or next(walks, None)
                while waiting is not None and run.start + waiting["start"] < end:
                    here.append(waiting)
                    waiting = next(walks, None)
            yield Piece(data, start, end, row["original"], exact, run if here is not None else None, here)

    def report(self) -> list[dict[str, Any]]:
        """Everything, for machines. Bytes are in hexadecimal."""
        out = []
        for segment in self.segments:
            row = {key: segment[key] for key in ("added", "start", "end")}
            row |= {key: segment[key].hex() for key in ("normalized", "text")}
            row["pieces"] = [
                {"start": piece.start, "end": piece.end, "original": piece.original, "bytes": piece.data.hex()}
                | ({} if piece.exact is None else {"exact": piece.exact})
                for piece in self.pieces(segment)
            ]
            if self.mode != "exact":
                text = segment["text"]
                row["runs"] = [
                    {"start": start, "end": end, "walks": self.engine.trace_longest_match(text[start:end])}
                    for start, end in segment["runs"]
                ]
            out.append(row)
        return out
