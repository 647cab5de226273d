"""What the benchmarks have in common whose engines take turns: a finished run, and the command around it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from ..inputs.texts import UnknownVocabularyError
from .tables import put_between_marks

Run = TypeVar("Run")
AnyBench = TypeVar("AnyBench", bound="TurnsBench[Any]")


@dataclass
class TurnsBench(Generic[Run]):
    """A finished run."""

    run_type: ClassVar[type[Any]]
    """A dataclass: all jobs of one engine."""

    machine: list[str]
    settings: dict[str, Any]
    runs: list[Run] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain values, every round."""
        return asdict(self)

    @classmethod
    def from_json(cls: type[AnyBench], plain: dict[str, Any]) -> AnyBench:
        """What ``to_json`` gave."""
        return cls(plain["machine"], plain["settings"], [cls.run_type(**run) for run in plain["runs"]])

    def keep(self, path: str | os.PathLike[str]) -> None:
        """Write all figures, for ``--from``."""
        Path(path).write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")


def add_outputs(parser: argparse.ArgumentParser, begin: str) -> None:
    """The options that `run_command` and `TurnsBench.keep` go by."""
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    parser.add_argument("--from", dest="kept", metavar="FILE", help="tables of figures that --json kept")
    parser.add_argument("--markdown", metavar="FILE", help=f"put the tables into a document, behind {begin}")


def run_command(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    kind: type[AnyBench],
    run_bench: Callable[[argparse.Namespace, Callable[[str], None]], AnyBench],
    to_markdown: Callable[[AnyBench], str],
    shortfalls: Callable[[AnyBench], list[str]],
    marks: tuple[str, str],
) -> int:
    """The command: 0 when the targets are met, 1 when not, 2 for misuse, 130 for Ctrl-C.

    `marks` are what the tables stand between in a document.
    """
    options = parser.parse_args(argv)
    started = time.monotonic()

    def progress(message: str) -> None:
        print(f"{time.monotonic() - started:7.1f} s  {message}", file=sys.stderr, flush=True)

    try:
        if options.kept:
            bench = kind.from_json(json.loads(Path(options.kept).read_text(encoding="utf-8")))
        else:
            bench = run_bench(options, progress)
        tables = to_markdown(bench)
        if options.markdown:
            put_between_marks(options.markdown, tables, *marks)
        else:
            print(tables, end="")
    except (UnknownVocabularyError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
    short = shortfalls(bench)
    for line in short:
        print(f"short of the target: {line}", file=sys.stderr)
    return 1 if short else 0
