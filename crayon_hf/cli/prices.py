"""Prices of API calls, from the user's table."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from crayon_hf.cli.arguments import UsageError
from crayon_hf.errors import FormatError

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """The prices of a million input and output tokens of a model."""

    input: Decimal
    output: Decimal | None

    def of(self, tokens: int, reply: int) -> Decimal:
        """The cost of a call with `tokens` input tokens and `reply` output tokens."""
        return (tokens * self.input + reply * (self.output or 0)) / _MILLION


def read_price(path: str, model: str | None, with_answers: bool = False) -> Price:
    """The price of a model in a CSV table with the columns model and input and, for `with_answers`, output.

    The model's name may be left out if the table has one model. FormatError names the faulty line.
    """
    prices: dict[str, Price] = {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            missing = [name for name in ("model", "input") if name not in (rows.fieldnames or ())]
            if missing:
                raise FormatError(f"{path}: the first line has no column {' and no '.join(missing)}")
            for row in rows:
                if row["model"] in prices:
                    raise FormatError(f"{path}: line {rows.line_num}: the model {row['model']!r} is listed twice")
                prices[row["model"]] = _price(path, rows.line_num, row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path}: not a CSV table in UTF-8: {error}") from error
    if not prices:
        raise FormatError(f"{path}: the table lists no models")
    if model is None and len(prices) > 1:
        raise UsageError(f"{path} has {len(prices)} models: choose one with --model ({', '.join(prices)})")
    if model is not None and model not in prices:
        raise UsageError(f"{path} has no model {model!r}; it has {', '.join(prices)}")
    name = next(iter(prices)) if model is None else model
    if with_answers and prices[name].output is None:
        raise FormatError(f"{path}: the model {name!r} has no price in the column output, which --output-tokens needs")
    return prices[name]


def _price(path: str, line: int, row: dict[str, str]) -> Price:
    if None in row:  # for example a price with a comma and no quotes
        raise FormatError(f"{path}: line {line} has more columns than the first line")
    return Price(_number(path, line, row, "input"), _number(path, line, row, "output") if row.get("output") else None)


def _number(path: str, line: int, row: dict[str, str], name: str) -> Decimal:
    text = row[name] or ""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0:
        raise FormatError(f"{path}: line {line}: {name} is {text!r}, expected the price of a million tokens")
    return value


def shown(cost: Decimal) -> str:
    """A cost with all its digits, and at least two decimals."""
    text = f"{cost.normalize():f}"
    whole, _, part = text.partition(".")
    return f"{whole}.{part:0<2}"
