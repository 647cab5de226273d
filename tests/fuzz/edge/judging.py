"""Checks of every fuzz target: only documented errors may be raised, and results must agree with the reference
library."""

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
"""Texts that are encoded with each vocabulary that a target reads."""
MOST_IDS = 1 << 20
"""Vocabularies with a greater id are not given to the reference, which allocates memory for all ids up to the
greatest."""


class Defect(AssertionError):
    """A target's finding: an undocumented error, or a difference from the reference."""


def converted(read: Callable[..., Any], *arguments: Any) -> Any:
    """Return a reader's result, or None if the reader refuses with a CrayonError. Other errors propagate."""
    try:
        return read(*arguments)
    except CrayonError as error:
        check_message(error)
        return None


def check_message(error: CrayonError) -> None:
    """Check that an error has a message."""
    if not str(error).strip():
        raise Defect(f"{type(error).__name__} without a message")


def opened(document: bytes) -> crayon_hf.Tokenizer | None:
    """Open a document with our `Tokenizer`, without its warning about delegation. Returns None if the document is
    refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
        tokenizer: crayon_hf.Tokenizer | None = converted(crayon_hf.Tokenizer.from_buffer, document)
    return tokenizer


def is_for_the_library(error: Outcome) -> bool:
    """Whether the tokenizer is not native, and the installed tokenizers (1.0) cannot open it."""
    return error.error[0] == "UnsupportedError" and "needs tokenizers before 1.0" in error.message


def reference_of(document: bytes) -> Any:
    """Open a document with ``tokenizers``. Returns an Outcome if ``tokenizers`` refuses it."""
    import tokenizers

    def read() -> Any:
        return tokenizers.Tokenizer.from_str(document.decode())

    with quiet_panics():
        return attempt(read)


def judge_document(document: bytes, texts: Sequence[str] = PROBES) -> None:
    """Check the ``tokenizer.json`` that a reader made: the engine compiles it or says why not, and encodes `texts` as
    the reference does."""
    ours = opened(document)
    if ours is None or max(ours.get_vocab().values(), default=0) > MOST_IDS or by_chance(document):
        return
    if isinstance(ours._engine, _core.Engine):
        _core.Engine.from_bytes(_core.compile_tokenizer_json(document))  # fully verified
    reference = reference_of(document)
    if isinstance(reference, Outcome):
        if reference.error[0] == "PanicException":
            return
        raise Defect(f"only the reference refuses what a reader made: {reference.error[0]}: {reference.message}")
    compare(ours, reference, [(text,) for text in texts])


def by_chance(document: bytes) -> bool:
    """Whether two tokens of the document have one id. For these, the results of ``tokenizers`` depend on hash order."""
    try:
        vocab = json.loads(document)["model"]["vocab"]
        return isinstance(vocab, dict) and len(set(vocab.values())) < len(vocab)
    except (ValueError, RecursionError, KeyError, TypeError):
        return False


def compare(ours: Any, reference: Any, items: Sequence[Item], mode: Mode = DEFAULT, fast: bool = True) -> None:
    """Compare two tokenizers on the same items and ids. Raises Defect if they differ."""
    whole = reference.truncation is None and reference.padding is None  # the fast calls never truncate or pad
    check(AnyIdsSide(ours), AnyIdsSide(reference), items, mode, FastPaths(ours) if fast and whole else None)


class _Comparison(TolerantComparison):
    """A comparison that ignores ids of the reference that do not fit our arrays of int32."""

    def _sure(self, items: list[Item], found: list[list[FieldDifference]]) -> list[list[FieldDifference]]:
        found = [[one for one in some if not is_too_large(one)] for some in found]
        return super()._sure(items, found)


def is_too_large(difference: FieldDifference) -> bool:
    """Whether a difference is due to an id of the reference that does not fit an array of int32."""
    refused = difference.field.startswith("own encode_ragged") and "does not fit" in str(difference.ours)
    return refused and max(difference.reference, default=0) > (1 << 31) - 1


def check(ours: Side, reference: Side, items: Sequence[Item], mode: Mode, fast: FastPaths | None = None) -> None:
    """Compare our side with the reference's on `items`. Raises Defect with the smallest item that differs. Items on
    which the reference panics are skipped."""
    comparison = _Comparison(ours, lambda: reference, mode, fast_paths=fast, minimise_seconds=5)
    with quiet_panics():
        result = comparison.run([("", item) for item in items], reports=1)
    if result.total_differing:
        raise Defect("\n".join([f"mode {mode.label or 'default'}", *result.differences[0].lines()]))


_directory: Path | None = None


def directory() -> Path:
    """An empty directory for this process, in memory if possible. The previous one is removed."""
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
    """A document as the bytes of its JSON."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
