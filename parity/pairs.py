"""Compare a vocabulary in its own library and in ours, field by field: the shared part of single-library suites.

A suite yields a `Row` for each set of inputs; `run` reads the options, prints the rows as a table and returns the exit
code. ``parity/mistral_common/__main__.py`` is the shortest example.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crayon_hf import Tokenizer
from crayon_hf.errors import CrayonError, UnsupportedError
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.parity.compare.comparison import Comparison, singles
from crayon_hf.parity.compare.lines import suite_line
from crayon_hf.parity.compare.records import Item, Mode, Outcome, Side, each, has_surrogates, outcome_of
from crayon_hf.parity.compare.suites import Event, event_of
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import text_documents
from crayon_hf.parity.inputs.token_strings import generate_of_tokens

from .options import add_texts, texts_of
from .runner import AGREED, DIFFERED, MISUSED


@dataclass
class Row:
    """One line of a table: the outcome for one set of inputs of a target, or why the set was skipped."""

    target: str
    what: str
    """The name and version of the other library."""
    suite: str = ""
    values: Event = field(default_factory=dict)
    skipped: str = ""
    """Why the set was skipped, or an empty text if it was compared. A skipped set is not a failure."""

    @property
    def inputs(self) -> int:
        """The number of inputs compared."""
        return sum(self.values.get("inputs", {}).values())

    @property
    def differing(self) -> int:
        """The number of differing inputs."""
        return sum(self.values.get("differing", {}).values())

    def lines(self) -> list[str]:
        """Return the line of the table, followed by the smallest differing inputs."""
        name = f"{self.target:14} {self.suite:8} {self.what:8}"
        if self.skipped:
            return [f"{name} not compared: {self.skipped}"]
        characters, seconds = self.values.get("characters", 0), self.values.get("seconds", 0.0)
        lines = [suite_line(name, self.inputs, self.differing, characters, seconds)]
        if self.differing:
            by_category = sorted(self.values["differing"].items(), key=lambda entry: -entry[1])
            lines.append("  by category: " + ", ".join(f"{name} {count}" for name, count in by_category))
            lines += [f"  {line}" for line in self.values["report"]]
        return lines


class CallsSide:
    """A side of a comparison, made of two functions of a library: `ids_of` encodes texts, `texts_of` decodes ids.

    Without `texts_of`, decoded texts are not compared.
    """

    def __init__(
        self,
        ids_of: Callable[[list[str]], list[list[int]]],
        texts_of: Callable[[list[list[int]]], list[str]] | None = None,
    ) -> None:
        self.ids_of, self.texts_of = ids_of, texts_of

    def outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        """Return the outcome of each item, in order: its ``ids`` and, with `texts_of`, the ``decoded`` text."""
        ids_of, texts_of = self.ids_of, self.texts_of
        rows = each(ids_of, lambda text: ids_of([text])[0], [item[0] for item in items])
        if texts_of is None:
            return [outcome_of(lambda ids: {"ids": ids}, row) for row in rows]
        encoded = [i for i, row in enumerate(rows) if not isinstance(row, Outcome)]
        decoded = dict(
            zip(encoded, each(texts_of, lambda row: texts_of([row])[0], [rows[i] for i in encoded]), strict=True)
        )
        return [
            outcome_of(lambda ids, text: {"ids": ids, "decoded": text}, row, decoded.get(i))
            for i, row in enumerate(rows)
        ]


def our_side(tokenizer: Tokenizer, *, decodes: bool = True) -> CallsSide:
    """Return our side of a comparison. It adds no special tokens to a text.

    With `decodes`, it also decodes ids, and special tokens stay in the decoded texts.
    """

    def ids_of(texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return CallsSide(
        ids_of, (lambda rows: tokenizer.decode_batch(rows, skip_special_tokens=False)) if decodes else None
    )


def one_by_one(call: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    """Turn a call for one input into a function of many inputs."""
    return lambda inputs: [call(each) for each in inputs]


@dataclass(frozen=True)
class Pair:
    """The two sides of a comparison: a target as its own library opens it (`expected`), and as we do (`ours`)."""

    target: str
    reference: str
    """The library and its version, or the origin of the expected ids."""
    expected: Side
    ours: Side
    tokens: Sequence[bytes] = ()
    """The bytes of the vocabulary's tokens. Some of the compared strings are made of these."""
    specials: Sequence[str] = ()


def pair_of(path: str, reference: str, expected: Side, ours: Side, tokenizer: Tokenizer) -> Pair:
    """Return a pair for the file at `path`. Its tokens, for making strings, come from `tokenizer`."""
    ids = sorted(tokenizer.get_vocab().values())
    tokens = [tokenizer.decode([id], skip_special_tokens=False).encode() for id in ids]
    specials = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    return Pair(Path(path).name, reference, expected, ours, [token for token in tokens if token], specials)


@dataclass(frozen=True)
class Inputs:
    """The inputs to compare, as the command line selects them: numbers of strings, and names of texts."""

    strings: int
    texts: Sequence[str]
    limit: int | None
    """The most bytes of each text; None for no limit."""
    seed: int

    def of(self, pair: Pair) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
        """Yield the name of each set of inputs for a pair, and its inputs: each a category and a text.

        No text has a lone surrogate.
        """
        if self.strings:
            yield "strings", self._clean(generate(self.strings, self.seed, specials=pair.specials))
            if pair.tokens and self.strings >= 4:
                yield "tokens", self._clean(generate_of_tokens(pair.tokens, self.strings // 4, self.seed))
        for text in self.texts:
            yield Path(text).name.split(".")[0], text_documents(text, self.limit)

    @staticmethod
    def _clean(made: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        return ((category, text) for category, text in made if not has_surrogates((text,)))


def compare(pair: Pair, sets: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> Iterator[Row]:
    """Compare sets of inputs, as `Inputs.of` yields them, and yield a row of the table for each set."""
    for suite, made in sets:
        result = Comparison(pair.ours, lambda: pair.expected).run(singles(made), reports=1)
        yield Row(pair.target, pair.reference, suite, values=event_of(suite, result))


def check_kind(path: str, kind: Kind, command: str) -> None:
    """Raise UnsupportedError unless the file is of this kind."""
    found = recognise(path)
    if found is not kind:
        raise UnsupportedError(f"{path} is {found.value}: {command} compares {kind.value}")


def make_parser(command: str, description: str | None, metavar: str) -> argparse.ArgumentParser:
    """Make a command line with the options that all suites share."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {command}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar=metavar, help="files to compare (default: known local files)")
    add_texts(parser, 20_000)
    return parser


def run(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    rows_of: Callable[[argparse.Namespace, Inputs], Iterator[Row]],
) -> int:
    """Run the command. Return 0 if all inputs agree, 1 if some differ, 2 if it could not start or compared nothing."""
    arguments = parser.parse_args(argv)
    rows: list[Row] = []
    try:
        for row in rows_of(arguments, Inputs(arguments.strings, *texts_of(arguments), arguments.seed)):
            rows.append(row)
            print("\n".join(row.lines()), flush=True)
    except (CrayonError, ImportError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return MISUSED
    compared = [row for row in rows if row.inputs]
    differing = sum(row.differing for row in compared)
    if not compared:
        print(f"{parser.prog}: nothing was compared", file=sys.stderr)
        return MISUSED
    print(f"{sum(row.inputs for row in compared):,} inputs: " + (f"{differing:,} differ" if differing else "all agree"))
    return DIFFERED if differing else AGREED
