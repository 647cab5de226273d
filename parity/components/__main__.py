"""``python -m parity.components``: every component of a ``tokenizer.json``, one by one and combined.

Small tokenizers are built from the parts in `parts` and `models`, opened by both sides, and compared on hostile
strings. A difference is reported as the smallest document and the smallest text that still show it.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from crayon_hf.parity.compare.comparison import Comparison, Difference
from crayon_hf.parity.compare.records import (
    DEFAULT,
    FieldDifference,
    Item,
    Mode,
    Outcome,
    TokenizersSide,
    attempt,
    each,
)

from .cases import ADDED_FLAGS, SECTIONS, SEQUENCES, Case, random_case, single_cases
from .models import Document
from .texts import texts_for

Open = Callable[[str], Any]

SAID_AGAIN = 40
"""How often the reference repeats a call before a difference from it counts. Some of its results are random, with two
likely outcomes, and a run may meet such a result hundreds of times."""

_MOST_FAILURES = 10

# One case uses a few of these variants in turn, so that a run over many cases covers all of them.
VARIANTS = (
    (Mode(add_special_tokens=False), 1),
    (DEFAULT, 2),
    (Mode(words=True), 1),
    (Mode(special_as_text=True), 1),
    (Mode(add_special_tokens=False), 2),
    (Mode(max_length=6, stride=2, pad="right", pad_multiple=4), 1),
    (Mode(max_length=9, stride=1, direction="left", pad="left", pad_id=5), 2),
    (Mode(words=True), 2),
    (Mode(max_length=8, strategy="only_second", pad="right", pad_length=10), 2),
    (Mode(max_length=5, strategy="only_first", direction="left", add_special_tokens=False), 2),
)


class AnyIdsSide(TokenizersSide):
    """A side of the comparison that also decodes arbitrary ids, since decoders must handle any ids.

    It derives the ids from the text's characters.
    """

    def _outcomes(self, items: Sequence[Item], mode: Mode) -> list[Outcome]:
        outcomes = super()._outcomes(items, mode)
        known = sorted(set(self.tokenizer.get_vocab().values()))
        ids = [[known[ord(ch) * 7 % len(known)] for text in item for ch in text if known] for item in items]
        for skip in (True, False):

            def one(row: list[int], skip: bool = skip) -> Any:
                return self.tokenizer.decode(row, skip_special_tokens=skip)

            def all_of(rows: list[Any], skip: bool = skip) -> Any:
                return self.tokenizer.decode_batch(rows, skip_special_tokens=skip)

            for outcome, text in zip(outcomes, each(all_of, one, ids), strict=True):
                if not outcome.error:
                    said = ("error", text.error[0]) if isinstance(text, Outcome) else text
                    outcome.fields[f"decoded any ids, skip_special_tokens={skip}"] = said
        return outcomes


class TolerantComparison(Comparison):
    """A comparison that ignores the reference's panics, and fields that differ between repeats of the reference.

    For example, if a post-processor repeats a sequence, the reference finds a token's sequence by iterating over a hash
    map.
    """

    def _compare(self, items: list[Item]) -> list[list[FieldDifference]]:
        return self._sure(items, super()._compare(items))

    def differences_of(self, item: Item) -> list[FieldDifference]:
        return self._sure([item], [super().differences_of(item)])[0]

    def _sure(self, items: list[Item], found: list[list[FieldDifference]]) -> list[list[FieldDifference]]:
        found = [[one for one in some if not is_panic(one)] for some in found]
        if not any(found):
            return found
        said = [self.reference.outcomes(items, self.mode) for _ in range(SAID_AGAIN)]

        def steady(i: int, name: str) -> bool:
            return all(outcomes[i].fields.get(name) == said[0][i].fields.get(name) for outcomes in said)

        return [[one for one in some if steady(i, one.field)] for i, some in enumerate(found)]


def is_panic(difference: FieldDifference) -> bool:
    said = difference.reference
    return (difference.field == "error" and str(said).startswith("PanicException")) or said == (
        "error",
        "PanicException",
    )


def open_reference(text: str) -> Any:
    """Open a tokenizer.json with the reference."""
    import tokenizers

    return tokenizers.Tokenizer.from_str(text)


def open_ours(text: str) -> Any:
    """Open a tokenizer.json with ours, without the warning of a delegated tokenizer."""
    import crayon_hf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
        return crayon_hf.Tokenizer.from_str(text)


@dataclass(frozen=True)
class Failure:
    """A failed case: the wrong engine (native or delegated), a failed opening, or a text that differs in some mode."""

    case: Case
    reason: str
    mode: Mode = DEFAULT
    difference: Difference | None = None

    def lines(self) -> list[str]:
        """The lines of a report."""
        lines = [f"{self.case.name}: {self.reason}", f"  {self.case.short()}"]
        if self.difference is not None:
            mode = self.mode.label or "default"
            lines += [f"  mode {mode}", *(f"  {line}" for line in self.difference.lines())]
        return lines


def check(case: Case, open_ours: Open, *, strings: int, variants: int, seed: int) -> list[Failure]:
    """Compare one tokenizer of ours with the reference's, and return its failures: one, or none.

    The default mode runs on all texts, and a few other modes of `VARIANTS` run on some of the texts.
    """
    reference, ours = attempt(open_reference, case.json), attempt(open_ours, case.json)
    refused = [isinstance(side, Outcome) for side in (ours, reference)]
    if any(refused):
        if all(refused) or (refused[1] and reference.error[0] == "PanicException"):
            return []
        who, side = ("ours", ours) if refused[0] else ("the reference", reference)
        return [Failure(case, f"only {who} refuses it: {side.error[0]}: {side.message}")]
    if not case.delegated and hasattr(ours, "engine_report"):
        report = ours.engine_report()
        if report["engine"] != "native":
            return [Failure(case, f"not native: {report['reason']}")]
    texts = texts_for([token["content"] for token in case.document["added_tokens"]], strings, seed)
    chosen: list[tuple[Mode, int]] = [(DEFAULT, 1)]
    chosen += [VARIANTS[(seed * variants + i) % len(VARIANTS)] for i in range(variants)]
    for turn, (mode, width) in enumerate(chosen):
        mode = _fitting(mode, case, ours, width)
        some = texts if turn == 0 else texts[(seed + turn) % 3 :: 3]
        first, second = [text for _, text in some], [text for _, text in reversed(some)]
        items = [(some[i][0], (first[i],) if width == 1 else (first[i], second[i])) for i in range(len(some))]
        found = _compare(ours, reference, mode, items)
        if found:
            return [Failure(case, "differs", mode, found[0])]
    return []


def _compare(ours: Any, reference: Any, mode: Mode, items: Iterable[tuple[str, Item]]) -> list[Difference]:
    comparison = TolerantComparison(AnyIdsSide(ours), lambda: AnyIdsSide(reference), mode, minimise_seconds=10)
    return comparison.run(items, reports=1).differences


def _fitting(mode: Mode, case: Case, ours: Any, width: int) -> Mode:
    """Return the mode with its `max_length` raised by the number of tokens that the post-processor adds.

    If those tokens do not fit, the reference panics.
    """
    if mode.max_length is None:
        return mode
    added = attempt(open_reference(case.json).num_special_tokens_to_add, width == 2)
    return replace(mode, max_length=mode.max_length + (added if isinstance(added, int) else 0))


# -- the smallest document


def simpler(document: Document) -> Iterator[Document]:
    """Yield each document that is one step simpler: without a section, a member, an added token or one of its flags."""
    for section in (*SECTIONS, "truncation", "padding"):
        part = document[section]
        if part is None:
            continue
        yield {**document, section: None}
        for smaller in _simpler_part(part, SEQUENCES.get(section, "")):
            yield {**document, section: smaller}
    for token in document["added_tokens"]:
        yield {**document, "added_tokens": [other for other in document["added_tokens"] if other is not token]}
        for flag in ADDED_FLAGS:
            if token[flag]:
                tokens = [{**other, flag: False} if other is token else other for other in document["added_tokens"]]
                yield {**document, "added_tokens": tokens}


def _simpler_part(part: Document, inside: str) -> Iterator[Document]:
    if part.get("type") != "Sequence":
        return
    members = part[inside]
    yield from members
    for i, member in enumerate(members):
        yield {**part, inside: members[:i] + members[i + 1 :]}
        for smaller in _simpler_part(member, inside):
            yield {**part, inside: [*members[:i], smaller, *members[i + 1 :]]}


def smallest(failure: Failure, open_ours: Open) -> Failure:
    """Return a failure with a document as small as possible, and then a text, that still shows a difference."""
    if failure.difference is None:
        return failure
    item = failure.difference.smallest if failure.difference.alone else failure.difference.found
    best = failure
    progress = True
    while progress:
        progress = False
        for document in simpler(best.case.document):
            case = replace(best.case, document=document)
            sides = attempt(open_ours, case.json), attempt(open_reference, case.json)
            if any(isinstance(side, Outcome) for side in sides):
                continue
            found = _compare(*sides, best.mode, [("smallest", item)])
            if found:
                best = Failure(case, best.reason, best.mode, found[0])
                item = found[0].smallest
                progress = True
                break
    return best


# -- the command


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.components",
        description="Compare small tokenizers of every component, one by one and combined, with the reference.",
    )
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="number of random combinations")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first seed (default %(default)s)")
    parser.add_argument("--strings", type=int, default=40, metavar="N", help="generated texts for each tokenizer")
    parser.add_argument("--only", default="", metavar="TEXT", help="single components whose name contains TEXT")
    parser.add_argument("--save", metavar="DIR", help="write the tokenizer.json of each failure there")
    arguments = parser.parse_args(argv)
    with quiet_panics():
        return _run(arguments)


@contextmanager
def quiet_panics() -> Iterator[None]:
    """Silence the standard error, where the reference prints many panics."""
    os.environ["RUST_BACKTRACE"] = "0"
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _run(arguments: argparse.Namespace) -> int:
    numbered = enumerate(case for case in single_cases() if arguments.only in case.name)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    done = failed = 0
    for seed, case in chain(numbered, ((seed, random_case(seed)) for seed in seeds)):
        done += 1
        for failure in check(case, open_ours, strings=arguments.strings, variants=3, seed=seed):
            failed += 1
            least = smallest(failure, open_ours)
            print("\n".join(least.lines()), flush=True)
            if arguments.save:
                directory = Path(arguments.save)
                directory.mkdir(parents=True, exist_ok=True)
                (directory / f"failure-{failed}.json").write_text(least.case.json, encoding="utf-8")
        if failed >= _MOST_FAILURES:
            break
    print(f"{done} tokenizers: " + ("all agree" if not failed else f"{failed} do not agree"))
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
