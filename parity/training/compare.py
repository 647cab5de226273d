"""One training on both sides: the resulting tokenizer.json, and the differences."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.parity.compare.minimise import minimise
from crayon_hf.parity.compare.records import Outcome, attempt

from .cases import Case, names_symbols, with_named_symbols

__all__ = ["Answer", "Finding", "Train", "check", "difference", "ours", "reference", "smallest", "train_with"]

AGAIN = 40
"""How many times the reference must train before a difference from it counts, since some of its results are random."""

Answer = str | Outcome
Train = Callable[[Case], Answer]


def train_with(tokenizer_class: Any, case: Case) -> str:
    """Train with a class that has the methods of ``tokenizers.Tokenizer``; return the ``tokenizer.json``."""
    from tokenizers.trainers import BpeTrainer

    tokenizer = tokenizer_class.from_str(json.dumps(case.document()))
    trainer = BpeTrainer(show_progress=False, **case.options)
    if case.as_file:
        with TemporaryDirectory(prefix="crayon-training-") as directory:
            path = os.path.join(directory, "text")
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.writelines(case.texts)
            tokenizer.train([path], trainer)
    else:
        tokenizer.train_from_iterator(case.texts, trainer)
    text: str = tokenizer.to_str()
    return text


def reference(case: Case) -> Answer:
    """Train a case with ``tokenizers``, and return the result."""
    import tokenizers

    answer: Answer = attempt(train_with, tokenizers.Tokenizer, case)
    return answer


def ours(case: Case) -> Answer:
    """Train a case with ours, and return the result. Ignore the warning that an empty vocabulary is not native."""
    import crayon_hf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
        answer: Answer = attempt(train_with, crayon_hf.Tokenizer, case)
    return answer


@dataclass(frozen=True)
class Finding:
    """The result of comparing a case. If the trainings do not differ, ``what`` is empty."""

    case: Case
    what: str = ""
    by_chance: bool = False
    """Whether the reference gave several results, ours among them."""
    undecided: bool = False
    """Whether the reference gave several results and could give more, and ours is none of these."""

    def lines(self) -> list[str]:
        """Return the report of a difference, as lines."""
        texts = sorted({text: self.case.texts.count(text) for text in self.case.texts}.items())
        return [
            f"{self.case.name}: {self.what}",
            f"  normalizer {json.dumps(self.case.normalizer)}, pre-tokenizer {json.dumps(self.case.pre_tokenizer)}",
            f"  {'lines of a file' if self.case.as_file else 'texts'} and how often: {texts!r}",
            f"  options {self.case.options!r}",
        ]


def difference(expected: Answer, found: Answer) -> str:
    """Return the first difference of two trainings in words, or an empty text if all their bytes are equal."""
    if isinstance(expected, Outcome) or isinstance(found, Outcome):
        if isinstance(expected, Outcome) and isinstance(found, Outcome):
            return ""
        if isinstance(found, Outcome):
            return f"only ours is refused: {found.error[0]}: {found.message}"
        assert isinstance(expected, Outcome)
        panicked = expected.error[0] == "PanicException"
        return "" if panicked else f"only the reference refuses: {expected.error[0]}: {expected.message}"
    if expected == found:
        return ""
    one, two = json.loads(expected), json.loads(found)
    merges = one["model"].pop("merges"), two["model"].pop("merges")
    for rank, (right, got) in enumerate(zip(*merges, strict=False)):
        if right != got:
            return f"merge {rank} is {got}, the reference's {right}"
    if merges[0] != merges[1]:
        return f"{len(merges[1])} merges, the reference has {len(merges[0])}"
    vocabs = one["model"].pop("vocab"), two["model"].pop("vocab")
    if vocabs[0] != vocabs[1]:
        items = [sorted(vocab.items(), key=lambda item: item[1]) for vocab in vocabs]
        for right, got in zip(*items, strict=False):
            if right != got:
                return f"a token and its id are {got}, the reference's {right}"
        return f"{len(items[1])} tokens, the reference has {len(items[0])}"
    for key, value in one.items():
        if value != two.get(key):
            return f"{key} is {json.dumps(two.get(key))}, the reference's {json.dumps(value)}"
    return "the same values, in another form"


def check(case: Case, ours: Train, reference: Train = reference) -> list[Finding]:
    """Compare a case. If its symbols have no fixed ids in the reference, also compare the case with fixed ids."""
    first = reference(case)
    finding = _compare(case, ours, reference, first)
    if not names_symbols(case) or not isinstance(first, str):
        return [finding]
    named = with_named_symbols(case, json.loads(first)["model"]["vocab"])
    decided = _compare(named, ours, reference, reference(named))
    return [decided] if finding.undecided else [finding, decided]


def _compare(case: Case, ours: Train, reference: Train, expected: Answer) -> Finding:
    found = ours(case)
    what = difference(expected, found)
    if not what:
        return Finding(case)
    answers = [expected]
    for _ in range(AGAIN - 1):
        answers.append(reference(case))
        if not difference(answers[-1], found):
            return Finding(case, by_chance=True)
    if any(difference(expected, answer) for answer in answers):
        return Finding(case, undecided=True)
    return Finding(case, what)


def smallest(case: Case, ours: Train, reference: Train = reference) -> Finding:
    """Reduce a case to the smallest one that still differs: fewer texts, options and characters."""

    def differs(smaller: Case) -> bool:
        return bool(_compare(smaller, ours, reference, reference(smaller)).what)

    for name in list(case.options):
        smaller = replace(case, options={key: value for key, value in case.options.items() if key != name})
        case = smaller if differs(smaller) else case
    for change in ({"normalizer": None}, {"pre_tokenizer": None}, {"as_file": False}):
        smaller = replace(case, **change)
        case = smaller if differs(smaller) else case
    size = len(case.texts)
    while size:
        at = 0
        while at < len(case.texts):
            smaller = replace(case, texts=case.texts[:at] + case.texts[at + size :])
            if differs(smaller):
                case = smaller
            else:
                at += size
        size //= 2
    texts = minimise(case.texts, lambda texts: differs(replace(case, texts=texts)), checks=500)
    case = replace(case, texts=texts)
    return _compare(case, ours, reference, reference(case))
