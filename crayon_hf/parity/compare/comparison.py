"""Compare our side with the reference on many inputs: counts by category, and the smallest differing inputs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from .minimise import minimise
from .records import (
    DEFAULT,
    FieldDifference,
    Item,
    Mode,
    Outcome,
    Side,
    attempt,
    compare_outcomes,
    has_surrogates,
)

T = TypeVar("T")

BATCH_ITEMS = 256
BATCH_CHARACTERS = 400_000
KEPT_PER_CATEGORY = 3
"""The number of differing inputs of each category, the shortest ones, that are kept for minimising."""


@dataclass(frozen=True)
class Difference:
    """One differing input, as found and minimised."""

    category: str
    found: Item
    smallest: Item
    fields: list[FieldDifference]
    alone: bool = True
    """False if the results for the input differ in a batch, but not when it is encoded alone."""

    def lines(self) -> list[str]:
        """Return the lines of a report. Characters outside ASCII are escaped."""
        shown = ", ".join(_clip(ascii(text), 400) for text in self.smallest)
        lines = [f"{self.category}: {shown}  ({_length(self.smallest)} characters, found in {_length(self.found)})"]
        if not self.alone:
            lines.append("  only within its batch, not alone")
        return lines + [f"  {line}" for each in self.fields for line in describe(each)]

    def to_json(self) -> dict[str, Any]:
        """Return the difference as plain values, for ``--json``."""
        shown = [(each, *around(each.ours, each.reference)[1:]) for each in self.fields]
        return {
            "category": self.category,
            "smallest": [ascii(text) for text in self.smallest],
            "found": [_clip(ascii(text), 2000) for text in self.found],
            "alone": self.alone,
            "fields": [{"field": each.field, "ours": ours, "reference": reference} for each, ours, reference in shown],
        }


@dataclass
class Result:
    """The counts and differences of a comparison."""

    inputs: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    characters: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """The number of inputs compared."""
        return sum(self.inputs.values())

    @property
    def total_differing(self) -> int:
        """The number of differing inputs."""
        return sum(self.differing.values())


def describe(difference: FieldDifference) -> list[str]:
    """Return both values of a field, around the first difference."""
    at, ours, reference = around(difference.ours, difference.reference)
    if at is None:
        return [f"{difference.field}: ours {ours}", f"{'':{len(difference.field)}}  reference {reference}"]
    return [
        f"{difference.field}: first difference at {at}, lengths {len(difference.ours)} and {len(difference.reference)}",
        f"  ours      {ours}",
        f"  reference {reference}",
    ]


def around(ours: Any, reference: Any) -> tuple[int | None, str, str]:
    """Return the first index where two sequences differ, and both as ASCII text, clipped to that index.

    The index is None for values that are not two sequences of one type.
    """
    sequences = (list, tuple, str, bytes)
    if not isinstance(ours, sequences) or not isinstance(reference, sequences) or type(ours) is not type(reference):
        return None, _clip(ascii(ours)), _clip(ascii(reference))
    at = next(
        (i for i, (a, b) in enumerate(zip(ours, reference, strict=False)) if a != b), min(len(ours), len(reference))
    )
    start = 0 if max(len(ours), len(reference)) <= 24 else max(0, at - 4)
    where = f"(from {start}) " if start else ""
    return at, where + _clip(ascii(ours[start:])), where + _clip(ascii(reference[start:]))


def _clip(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _length(item: Item) -> int:
    return sum(map(len, item))


class FastPaths:
    """Our calls that return no `Encoding`. Their results must agree with those of ``encode_batch``."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def differences(
        self, items: Sequence[Item], outcomes: Sequence[Outcome], mode: Mode
    ) -> list[list[FieldDifference]]:
        """Return, for each item, the fast paths whose results differ from the item's outcome of ``encode_batch``.

        Pairs and items with an error are skipped.
        """
        found: list[list[FieldDifference]] = [[] for _ in items]
        chosen = [i for i, outcome in enumerate(outcomes) if not outcome.error and len(items[i]) == 1]
        if not chosen or mode.words or mode.windows:
            return found
        self.tokenizer.encode_special_tokens = mode.special_as_text
        texts = [items[i][0] for i in chosen]
        special = {"add_special_tokens": mode.add_special_tokens}
        said: dict[str, Any] = {
            "encode_ragged": attempt(self._ragged, texts, special),
            "encode_batch_fast": attempt(self._fast, texts, special),
            "encode": [attempt(self._one, text, special) for text in texts],
            "count_tokens": attempt(self._counts, texts, special),
        }
        utf8 = [place for place, i in enumerate(chosen) if not has_surrogates(items[i])]
        of_bytes = attempt(self._ragged, [texts[place].encode() for place in utf8], special)
        for place, i in enumerate(chosen):
            ids = outcomes[i].fields["ids"]
            for name, values in said.items():
                value = values if isinstance(values, Outcome) else values[place]
                expected = len(ids) if name == "count_tokens" else ids
                if value != expected:
                    found[i].append(FieldDifference(f"own {name}", _plain(value), expected))
        for row, place in enumerate(utf8):
            ids = outcomes[chosen[place]].fields["ids"]
            value = of_bytes if isinstance(of_bytes, Outcome) else of_bytes[row]
            if value != ids:
                found[chosen[place]].append(FieldDifference("own encode_ragged of bytes", _plain(value), ids))
        return found

    def _one(self, text: str, special: dict[str, bool]) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, **special).ids
        return ids

    def _counts(self, texts: list[str], special: dict[str, bool]) -> list[int]:
        return _whole(list(self.tokenizer.count_tokens(texts, **special)), texts)

    def _fast(self, texts: list[str], special: dict[str, bool]) -> list[list[int]]:
        return _whole([encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts, **special)], texts)

    def _ragged(self, texts: list[Any], special: dict[str, bool]) -> list[list[int]]:
        ids, splits = self.tokenizer.encode_ragged(texts, **special)
        flat, ends = ids.tolist(), splits.tolist()
        if ends[:1] != [0] or ends[-1] != len(flat):
            raise ValueError(f"row_splits do not fit {len(flat)} ids")
        return _whole([flat[start:end] for start, end in pairwise(ends)], texts)


def _whole(results: list[T], texts: list[Any]) -> list[T]:
    if len(results) != len(texts):
        raise ValueError(f"{len(results)} results for {len(texts)} texts")
    return results


def _plain(value: Any) -> Any:
    return f"{value.error[0]}: {value.message}" if isinstance(value, Outcome) else value


@dataclass
class Comparison:
    """A comparison of crayon_hf (`ours`) with the reference library, in one mode (a set of encoding options)."""

    ours: Side
    open_reference: Callable[[], Side]
    """Opens the reference when it is first needed."""
    mode: Mode = DEFAULT
    fast_paths: FastPaths | None = None
    on_batch: Callable[[int], None] = lambda first: None
    """Called before each batch with the number of the batch's first input, to locate a crash."""
    minimise_seconds: float = 20.0

    def __post_init__(self) -> None:
        self._reference: Side | None = None

    @property
    def reference(self) -> Side:
        """The reference's side, opened on first use."""
        if self._reference is None:
            self._reference = self.open_reference()
        return self._reference

    def differences_of(self, item: Item) -> list[FieldDifference]:
        """Return the fields of the result that differ when the item is encoded alone."""
        ours = self.ours.outcomes([item], self.mode)
        found = compare_outcomes(ours[0], self.reference.outcomes([item], self.mode)[0])
        if self.fast_paths is not None:
            found = found + self.fast_paths.differences([item], ours, self.mode)[0]
        return found

    def run(self, inputs: Iterable[tuple[str, Item]], reports: int = 5) -> Result:
        """Compare on all inputs, each with its category. Minimise the smallest ``reports`` differences."""
        result = Result()
        started = time.monotonic()
        kept: dict[str, list[tuple[int, Item, list[FieldDifference]]]] = {}
        first = 0
        for batch in batches(inputs):
            self.on_batch(first)
            items = [item for _, item in batch]
            for (category, item), found in zip(batch, self._compare(items), strict=True):
                result.inputs[category] += 1
                result.characters += _length(item)
                if found:
                    result.differing[category] += 1
                    of_category = kept.setdefault(category, [])
                    of_category.append((_length(item), item, found))
                    of_category.sort(key=lambda entry: entry[:2])
                    del of_category[KEPT_PER_CATEGORY:]
            first += len(batch)
        result.seconds = time.monotonic() - started
        result.differences = self._report(kept, reports)
        return result

    def _compare(self, items: list[Item]) -> list[list[FieldDifference]]:
        ours = self.ours.outcomes(items, self.mode)
        reference = self.reference.outcomes(items, self.mode)
        found = [compare_outcomes(*pair) for pair in zip(ours, reference, strict=True)]
        if self.fast_paths is not None:
            own = self.fast_paths.differences(items, ours, self.mode)
            found = [a + b for a, b in zip(found, own, strict=True)]
        return found

    def _report(self, kept: dict[str, list[tuple[int, Item, list[FieldDifference]]]], reports: int) -> list[Difference]:
        candidates = sorted((entry[0][0], category, entry) for category, entry in kept.items())[:reports]
        differences = []
        seen: set[Item] = set()
        for _, category, entries in candidates:
            _, item, fields = entries[0]
            difference = self._smallest(category, item, fields)
            if difference.smallest not in seen:
                seen.add(difference.smallest)
                differences.append(difference)
        return sorted(differences, key=lambda each: (_length(each.smallest), each.smallest))

    def _smallest(self, category: str, item: Item, fields: list[FieldDifference]) -> Difference:
        alone = self.differences_of(item)
        if not alone:
            return Difference(category, item, item, fields, alone=False)
        # Minimise only for the first differing field: a smaller input with an unrelated difference must not count.
        wanted = alone[0].field
        tame = not has_surrogates(item)

        def differs(candidate: Item) -> bool:
            if tame and has_surrogates(candidate):
                return False
            return any(each.field == wanted for each in self.differences_of(candidate))

        smallest = minimise(item, differs, seconds=self.minimise_seconds)
        return Difference(category, item, smallest, self.differences_of(smallest))


def batches(inputs: Iterable[tuple[str, Item]]) -> Iterator[list[tuple[str, Item]]]:
    """Yield batches of bounded length, in order. Their boundaries depend on the inputs alone."""
    batch: list[tuple[str, Item]] = []
    characters = 0
    for entry in inputs:
        batch.append(entry)
        characters += _length(entry[1])
        if len(batch) >= BATCH_ITEMS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def singles(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Item]]:
    """Yield each text alone."""
    return ((category, (text,)) for category, text in texts)


def pairs(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Item]]:
    """Yield each text paired with the text before it."""
    previous = ""
    for category, text in texts:
        yield category, (text, previous)
        previous = text
