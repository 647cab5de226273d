"""``crayon-hf count``: how many tokens texts and files have, up to a limit, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from crayon_hf.cli import prices
from crayon_hf.cli.arguments import BYTES, NUMBER, Arguments, UsageError, command, option
from crayon_hf.cli.inputs import TREES, batches, find_files, note, opened, texts_of, utf8, utf8_advice
from crayon_hf.cli.output import print_line
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.progress import FilesBar
from crayon_hf.util.wording import plural


@dataclass
class _Table:
    """Rows of a number, a cost and a name, one under the other; a row alone is not aligned."""

    limit: int | None
    price: prices.Price | None
    reply: int
    rows: list[tuple[str, ...]] = field(default_factory=list)
    total: int = 0
    cost: Decimal = Decimal(0)
    is_over: bool = False

    def add(self, tokens: int, name: str | None = None) -> tuple[str, ...]:
        over = self.limit is not None and tokens > self.limit
        self.is_over |= over
        self.total += tokens
        row = [f">{self.limit}" if over else str(tokens)]
        if self.price is not None:
            cost = self.price.of(tokens - over, self.reply)
            self.cost += cost
            row.append(f"{'>' if over else ''}{prices.shown(cost)}")
        self.rows.append((*row, *(() if name is None else (name,))))
        return self.rows[-1]

    def add_total(self) -> None:
        more = ">" if self.is_over else ""
        cost = () if self.price is None else (f"{more}{prices.shown(self.cost)}",)
        self.rows.append((f"{more}{self.total - self.is_over}", *cost, "total"))

    def lines(self) -> Iterator[str]:
        widths = [max(map(len, column)) for column in list(zip(*self.rows, strict=True))[:-1]]
        for row in self.rows:
            numbers = [f"{value:>{width}}" for value, width in zip(row, widths, strict=False)]
            yield " ".join([*numbers, row[-1]])


@command(
    "count",
    examples=(
        ('crayon-hf count "Hello, world!"', "a text"),
        ("crayon-hf count book.txt poem.txt", "files, and their total"),
        ("crayon-hf count data/", "all files below a directory"),
        ("cat book.txt | crayon-hf count", "what comes in"),
        ("crayon-hf count poem.txt --lines", "each line"),
        ("crayon-hf count poem.txt --limit 4096", "whether a file fits"),
        ("crayon-hf count book.txt --prices prices.csv --model small", "what it costs"),
    ),
)
@TREES
@BYTES
@option("--limit", type=NUMBER, help="stop where a text has more than N tokens")
@option("--prices", metavar="FILE", help="a table of prices: print what each text costs")
@option("--model", metavar="NAME", help="the model in the table; not needed if there is only one")
@option("--output-tokens", type=NUMBER, help="add the price of an answer of N tokens to each text")
def count(arguments: Arguments) -> int:
    """Prints the number of tokens of each text.

    For files it prints names and a total, as wc does. In a directory it counts all files but hidden ones and those that
    are not UTF-8.

    With --limit 100, a text with more than 100 tokens is read no further: it counts as ">100", and the exit status is
    1.

    With --prices it also prints the price of a call with each text. FILE is CSV with the columns model and input, and
    output for --output-tokens: prices of a million tokens.
    """
    if arguments.prices is None and (arguments.model is not None or arguments.output_tokens is not None):
        raise UsageError("--model and --output-tokens need a table of prices: give it with --prices")
    reply = arguments.output_tokens or 0
    price = None if arguments.prices is None else prices.read_price(arguments.prices, arguments.model, reply > 0)
    table = _Table(arguments.limit, price, reply)
    find_files(arguments, trees=True)
    if not arguments.file or arguments.lines:
        texts = texts_of(arguments)
        tokenizer = opened(arguments)
        for batch in batches(texts):
            for tokens in _counts(tokenizer, batch, arguments):
                print_line(" ".join(table.add(tokens)))
            table.rows.clear()
        return 1 if table.is_over else 0
    _count_files(table, arguments)
    for line in table.lines():
        print_line(line)
    return 1 if table.is_over else 0


def _count_files(table: _Table, arguments: Arguments) -> None:
    files = list(_files(arguments.file))  # what is missing is found before anything is counted
    tokenizer = opened(arguments)
    line = FilesBar([file.size for file in files])
    left_out = 0
    for file in files:
        with line.file(file.size):
            try:
                table.add(_count_file(tokenizer, file.name, arguments, line.told), file.name)
            except InvalidUtf8Error:
                if not file.is_found:
                    raise
                left_out += 1
    if left_out:
        note(f"left out {plural(left_out, 'file')} that {'is' if left_out == 1 else 'are'} not UTF-8")
    if len(files) > 1:
        table.add_total()


class _File(NamedTuple):
    name: str
    size: int
    is_found: bool
    """Whether it was found below a directory; a file that is named must be text."""


def _files(names: Iterable[str]) -> Iterator[_File]:
    for name in names:
        if os.path.isdir(name):
            yield from (_File(found.address, found.size, True) for found in find_inputs([name], "text"))
        else:
            yield _File(name, os.stat(name).st_size, False)


def _count_file(tokenizer: Tokenizer, name: str, arguments: Arguments, told: Callable[[str, int], None]) -> int:
    """How many tokens a file has, in little memory however long it is; one more than the limit where that is enough."""
    limit: int | None = arguments.limit
    if arguments.bytes:
        found = len(tokenizer.encode_bytes(Path(name).read_bytes()))
        return found if limit is None else min(found, limit + 1)
    total = 0
    chunk_bytes = 1 << 20 if limit is None else min(1 << 20, max(1 << 12, 8 * limit))
    special = not arguments.no_special
    try:
        for chunk in tokenizer.encode_file(name, chunk_bytes=chunk_bytes, add_special_tokens=special):
            total += len(chunk.ids)
            if limit is not None and total > limit:
                return limit + 1
            told(name, chunk.end)
    except InvalidUtf8Error as error:
        raise InvalidUtf8Error(f"{name}: {error} ({utf8_advice(name, '--bytes takes any bytes')})") from error
    return total


def _counts(tokenizer: Tokenizer, batch: list[bytes], arguments: Arguments) -> list[int]:
    limit: int | None = arguments.limit
    if arguments.bytes:
        found = [len(tokenizer.encode_bytes(data)) for data in batch]
        return found if limit is None else [min(tokens, limit + 1) for tokens in found]
    return tokenizer.count_tokens([utf8(data) for data in batch], not arguments.no_special, limit=limit)
