"""What calls of an API cost, by a table of prices that the user has."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from crayon_hf.cli.arguments import UsageError
from crayon_hf.errors import FormatError

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """What a million tokens of a model cost."""

    input: Decimal
    output: Decimal

    def of(self, tokens: int, reply: int) -> Decimal:
        """The cost of a call with so many tokens, and so many of the answer."""
        return (tokens * self.input + reply * self.output) / _MILLION


def read_price(path: str, model: str | None) -> Price:
    """The price of a model in a table: CSV with the columns model and input and, for answers, output.

    Without a name it is that of a table of one model. FormatError names the line that is wrong.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, skipinitialspace=True)
        missing = {"model", "input"} - set(rows.fieldnames or ())
        if missing:
            raise FormatError(f"{path}: the first line has no column {' and no '.join(sorted(missing))}")
        prices = {row["model"]: _price(path, rows.line_num, row) for row in rows}
    if not prices:
        raise FormatError(f"{path}: the table has no model")
    if model is None and len(prices) > 1:
        raise UsageError(f"{path} has {len(prices)} models: --model says which ({', '.join(prices)})")
    if model is not None and model not in prices:
        raise UsageError(f"{path} has no model {model!r}; it has {', '.join(prices)}")
    return prices[next(iter(prices)) if model is None else model]


def _price(path: str, line: int, row: dict[str, str]) -> Price:
    values = []
    for name in ("input", "output"):
        text = row.get(name) or "0"
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or value < 0:
            raise FormatError(f"{path}: line {line}: {name} is {text!r}, expected the price of a million tokens")
        values.append(value)
    return Price(*values)


def shown(cost: Decimal) -> str:
    """A cost, with all its digits and at least two of them behind the point."""
    text = f"{cost.normalize():f}"
    whole, _, part = text.partition(".")
    return f"{whole}.{part:0<2}"
