"""What every target asks: is the error one that is promised, and does a result say what the reference says of it?"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import crayon_hf
from crayon_hf import CrayonError, _core
from crayon_hf.parity.compare.comparison import FastPaths
from crayon_hf.parity.compare.records import DEFAULT, FieldDifference, Item, Mode, Outcome, Side, attempt
from parity.components.__main__ import AnyIdsSide, TolerantComparison, quiet_panics

PROBES = ("Hello, world! it's 123", "  a\u00a0b\u2581c \u00e9 e\u0301 \u4f60\u597d\n\n", "<s>[X] \U0001f642 \x00\ufffd")
"""What is encoded with a vocabulary that only just came to be."""
MOST_IDS = 1 << 20
"""The reference is not asked about a vocabulary with a greater id: it counts up to it."""


class Defect(AssertionError):
    """What a target found: not promised, or not what the reference says."""


def converted(read: Callable[..., Any], *arguments: Any) -> Any:
    """What a reader gives, or None where it refuses with an error that is promised. Others go through."""
    try:
        return read(*arguments)
    except CrayonError as error:
        check_message(error)
        return None


def check_message(error: CrayonError) -> None:
    """An error says something, on one line."""
    if not str(error).strip():
        raise Defect(f"{type(error).__name__} without a message")


def opened(document: bytes) -> crayon_hf.Tokenizer | None:
    """Our tokenizer, delegated ones without their warning; None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
        tokenizer: crayon_hf.Tokenizer | None = converted(crayon_hf.Tokenizer.from_buffer, document)
    return tokenizer


def is_for_the_library(error: Outcome) -> bool:
    """What is not native, with a version of tokenizers installed that it cannot be handed to: 1.0."""
    return error.error[0] == "UnsupportedError" and "needs tokenizers before 1.0" in error.message


def reference_of(document: bytes) -> Any:
    """The reference's tokenizer, or an Outcome where it refuses."""
    import tokenizers

    def read() -> Any:
        return tokenizers.Tokenizer.from_str(document.decode())

    with quiet_panics():
        return attempt(read)


def judge_document(document: bytes, texts: Sequence[str] = PROBES) -> None:
    """A ``tokenizer.json`` that a reader made: the engine compiles it or says why not, and encodes as the reference."""
    ours = opened(document)
    if ours is None or max(ours.get_vocab().values(), default=0) > MOST_IDS or by_chance(document):
        return
    if isinstance(ours._engine, _core.Engine):
        _core.Engine.from_bytes(_core.compile_tokenizer_json(document))  # verified whole
    reference = reference_of(document)
    if isinstance(reference, Outcome):
        if reference.error[0] == "PanicException":
            return
        raise Defect(f"only the reference refuses what a reader made: {reference.error[0]}: {reference.message}")
    compare(ours, reference, [(text,) for text in texts])


def by_chance(document: bytes) -> bool:
    """Whether two tokens have one id: the reference answers by chance, another way in each tokenizer."""
    try:
        vocab = json.loads(document)["model"]["vocab"]
        return isinstance(vocab, dict) and len(set(vocab.values())) < len(vocab)
    except (ValueError, RecursionError, KeyError, TypeError):
        return False


def compare(ours: Any, reference: Any, items: Sequence[Item], mode: Mode = DEFAULT, fast: bool = True) -> None:
    """Two tokenizers on the same items, with all that they say of each and of any ids; Defect where they differ."""
    whole = reference.truncation is None and reference.padding is None  # the fast ways never truncate or pad
    check(AnyIdsSide(ours), AnyIdsSide(reference), items, mode, FastPaths(ours) if fast and whole else None)


class _Comparison(TolerantComparison):
    """Ids that are too large for an array of ours are no difference."""

    def _sure(self, items: list[Item], found: list[list[FieldDifference]]) -> list[list[FieldDifference]]:
        found = [[one for one in some if not is_too_large(one)] for some in found]
        return super()._sure(items, found)


def is_too_large(difference: FieldDifference) -> bool:
    """Whether an array of int32 was refused because an id of the reference does not fit."""
    refused = difference.field.startswith("own encode_ragged") and "does not fit" in str(difference.ours)
    return refused and max(difference.reference, default=0) > (1 << 31) - 1


def check(ours: Side, reference: Side, items: Sequence[Item], mode: Mode, fast: FastPaths | None = None) -> None:
    """Two sides; Defect with the smallest item that differs. Where the reference panics nothing is asked."""
    comparison = _Comparison(ours, lambda: reference, mode, fast_paths=fast, minimise_seconds=5)
    with quiet_panics():
        result = comparison.run([("", item) for item in items], reports=1)
    if result.total_differing:
        raise Defect("\n".join([f"mode {mode.label or 'default'}", *result.differences[0].lines()]))


_directory: Path | None = None


def directory() -> Path:
    """An empty directory of this process, on memory where there is such a place. The one before is gone."""
    global _directory
    if _directory is None:
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        _directory = Path(tempfile.mkdtemp(prefix="crayon-fuzz-", dir=parent))
        atexit.register(shutil.rmtree, _directory, ignore_errors=True)
    inside = _directory / "case"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    return inside


def dumped(document: Any) -> bytes:
    """JSON as bytes."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
