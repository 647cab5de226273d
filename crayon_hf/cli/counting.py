"""``crayon-hf count``: counts tokens of texts and files, their cost, and the tokens left in a context window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from click import get_current_context
from click.core import ParameterSource

from crayon_hf.cli import prices
from crayon_hf.cli.arguments import BYTES, NUMBER, Arguments, UsageError, command, option
from crayon_hf.cli.file_counts import How, counts_of, files_of
from crayon_hf.cli.inputs import TREES, batches, find_files, note, opened, texts_of, utf8
from crayon_hf.cli.output import print_line
from crayon_hf.formats.openai_models import MODEL_TO_ENCODING, encoding_of_model
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.progress import FilesBar
from crayon_hf.util.wording import meant, plural

_NAMED = 5
"""The most names of files in a note."""


@dataclass
class _Table:
    """Rows of a count, a cost and a name. `lines` aligns their columns."""

    limit: int | None
    window: int | None
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

    def add_left(self) -> None:
        """Add a row: the tokens left in the window after all texts and the answer, or the number beyond it."""
        if self.window is None:
            return
        left = self.window - self.total - self.reply
        self.is_over |= left < 0
        cost = () if self.price is None else ("",)
        self.rows.append((str(abs(left)), *cost, f"left of {self.window}" if left >= 0 else f"over {self.window}"))

    def lines(self) -> Iterator[str]:
        widths = [max(map(len, column)) for column in list(zip(*self.rows, strict=True))[:-1]]
        for row in self.rows:
            numbers = [f"{value:>{width}}" for value, width in zip(row, widths, strict=False)]
            yield " ".join([*numbers, row[-1]])


@command(
    "count",
    alternatives=("limit", "window"),
    examples=(
        ('crayon-hf count "Hello, world!"', "a text"),
        ("crayon-hf count book.txt poem.txt", "files, and their total"),
        ("crayon-hf count data/", "all files below a directory"),
        ("cat book.txt | crayon-hf count", "standard input"),
        ("crayon-hf count poem.txt --lines", "each line"),
        ("crayon-hf count poem.txt --limit 4096", "whether a file fits"),
        ("crayon-hf count data/ --window 128k", "the tokens left in a context window"),
        ("crayon-hf count book.txt --prices prices.csv --model small", "the cost of a file"),
    ),
)
@TREES
@BYTES
@option("--no-ignore", is_flag=True, help="in directories, also count files that .gitignore names")
@option("--limit", type=NUMBER, help="stop counting a text after N tokens")
@option("--window", type=NUMBER, help="print the tokens left in a context window of N after all texts")
@option("--model", metavar="NAME", help="an OpenAI model, whose encoding is used; with --prices, a row of the table")
@option("--prices", metavar="FILE", help="a table of prices: print the cost of each text")
@option("--output-tokens", type=NUMBER, help="reserve N tokens for an answer: in each price, or in the window")
def count(arguments: Arguments) -> int:
    """Prints the number of tokens of each text.

    For files it prints names and a total, as wc does. In a directory it skips hidden files, binary files (a note names
    them) and files that a .gitignore excludes, even outside a git checkout.

    With --limit 100, counting a text stops after 100 tokens: it prints ">100", and the exit status is 1. With --window
    128k, the last line has the number of tokens left. If the texts exceed the window, the exit status is 1.

    With --prices it also prints the price of a call with each text. FILE is CSV with the columns model and input, and
    output for --output-tokens: prices of a million tokens.
    """
    reply = arguments.output_tokens or 0
    if arguments.output_tokens is not None and arguments.prices is None and arguments.window is None:
        raise UsageError("--output-tokens needs --prices, a table of prices, or --window")
    _choose_tokenizer(arguments)
    price = None
    if arguments.prices is not None:
        with_answers = arguments.output_tokens is not None and reply > 0
        price = prices.read_price(arguments.prices, arguments.model, with_answers)
    table = _Table(arguments.limit, arguments.window, price, reply)
    find_files(arguments, trees=True)
    if not arguments.file or arguments.lines:
        texts = texts_of(arguments)
        tokenizer = opened(arguments)
        for batch in batches(texts):
            for tokens in _counts(tokenizer, batch, arguments):
                print_line(" ".join(table.add(tokens)))
            table.rows.clear()
    else:
        _count_files(table, arguments)
    table.add_left()
    for line in table.lines():
        print_line(line)
    return 1 if table.is_over else 0


def _choose_tokenizer(arguments: Arguments) -> None:
    """Select the encoding of ``--model``. A model that is only in the table of prices selects none."""
    if arguments.model is None:
        return
    encoding = encoding_of_model(arguments.model)
    is_named = get_current_context().get_parameter_source("tokenizer") is not ParameterSource.DEFAULT
    if arguments.prices is None and encoding is None:
        like = meant(arguments.model, MODEL_TO_ENCODING)
        raise UsageError(
            f"--model {arguments.model} is unknown to tiktoken{like}; -t names any tokenizer, and --prices a "
            "table with models of your own"
        )
    if arguments.prices is None and is_named:
        raise UsageError(f"--model and -t cannot be combined: {arguments.model} has the encoding {encoding}")
    if encoding is not None and not is_named:
        arguments.tokenizer = f"encoding:{encoding}"


def _count_files(table: _Table, arguments: Arguments) -> None:
    files = list(files_of(arguments.file, not arguments.no_ignore))  # reports missing files before it counts any
    tokenizer = opened(arguments)
    how = How(arguments.limit, not arguments.no_special, arguments.bytes)
    bar = FilesBar([file.size for file in files])
    passed_over = []
    try:
        for file, tokens in counts_of(tokenizer, files, how, bar.add):
            if tokens is None:
                passed_over.append(file.name)
            else:
                table.add(tokens, file.name)
    finally:
        bar.end()
    if passed_over:
        note(f"passed over {listed(passed_over)}")
    if len(table.rows) > 1:
        table.add_total()


def listed(names: Sequence[str]) -> str:
    """Return the number of files that are not text, with the first names, for a note."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    are = "is" if len(names) == 1 else "are"
    return f"{plural(len(names), 'file')} that {are} not UTF-8 text: {', '.join(names[:_NAMED])}{more}"


def _counts(tokenizer: Tokenizer, batch: list[bytes], arguments: Arguments) -> list[int]:
    limit: int | None = arguments.limit
    if arguments.bytes:
        found = [len(tokenizer.encode_bytes(data)) for data in batch]
        return found if limit is None else [min(tokens, limit + 1) for tokens in found]
    return tokenizer.count_tokens([utf8(data) for data in batch], not arguments.no_special, limit=limit)
