"""Compare ours with the library on the models of `random_models`."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from crayon_hf import Tokenizer
from crayon_hf.errors import CrayonError, UnsupportedError
from parity.sentencepiece.random_models import RandomModel

_SHOWN = 10
_TEXTS, _ROWS = 60, 30


class RandomRun:
    """A comparison of the random models of one seed, with the numbers of comparisons and differences so far."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.reports: list[str] = []
        self.library = import_module("sentencepiece")

    def run(self, numbers: range) -> None:
        """Make the models of these numbers, and compare each."""
        with _own_cache() as directory, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about delegated models, which are counted
            for number in numbers:
                self.counts["made"] += 1
                self._compare(number, Path(directory, "random.model"))

    def summary(self) -> str:
        """Return the numbers and the verdict in one line."""
        n = self.counts
        verdict = f"{n['differing']:,} DIFFER in {n['bad models']:,} models" if n["differing"] else "all agree"
        return (
            f"{n['made']:,} models of seed {self.seed}: {n['compared']:,} compared, {n['invalid']:,} that the library "
            f"rejects, {n['refused']:,} refused, {n['delegated']:,} delegated; {n['inputs']:,} texts and rows of "
            f"ids: {verdict}"
        )

    def _compare(self, number: int, path: Path) -> None:
        library = self.library.SentencePieceProcessor()
        try:
            model = RandomModel(self.seed, number)
            library.LoadFromSerializedProto(model.data)
        except (RuntimeError, OSError):  # raised by the library
            self.counts["invalid"] += 1
            return
        path.write_bytes(model.data)
        try:
            ours = Tokenizer.from_file(path)
        except UnsupportedError as error:
            self.counts["refused"] += 1
            self._report(f"model {number} is refused: {error}")
            return
        except CrayonError as error:
            self._differ(model, 1, f"an error: {error}")
            return
        self.counts["compared"] += 1
        self.counts["delegated"] += ours.engine_report()["engine"] != "native"
        texts = model.texts(_TEXTS)
        wanted = library.encode(texts)
        found = [encoding.ids for encoding in ours.encode_batch(texts, add_special_tokens=False)]
        alone = [encoding.ids for encoding in ours.encode_batch_fast(texts, add_special_tokens=False)]
        self._each(model, texts, wanted, found)
        self._each(model, texts, wanted, alone)
        rows = wanted + model.rows(_ROWS)
        self._each(model, rows, library.decode(rows), ours.decode_batch(rows, skip_special_tokens=False))

    def _each(self, model: RandomModel, inputs: list[Any], wanted: list[Any], found: list[Any]) -> None:
        self.counts["inputs"] += len(inputs)
        bad = [i for i in range(len(inputs)) if wanted[i] != found[i]]
        if bad:
            i = min(bad, key=lambda i: len(inputs[i]))
            self._differ(model, len(bad), f"{inputs[i]!a}\n  expected {wanted[i]!a}\n  ours     {found[i]!a}")

    def _differ(self, model: RandomModel, count: int, what: str) -> None:
        self.counts["differing"] += count
        self.counts["bad models"] += 1
        self._report(f"model {model.number} ({model.described}): {count} differ: {what}")

    def _report(self, what: str) -> None:
        if len(self.reports) < _SHOWN:
            self.reports.append(what)


@contextmanager
def _own_cache() -> Iterator[str]:
    """Use a temporary directory as the cache, since thousands of compiled vocabularies would fill the user's cache."""
    before = os.environ.get("CRAYON_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="crayon-parity-") as directory:
        os.environ["CRAYON_CACHE_DIR"] = directory
        try:
            yield directory
        finally:
            if before is None:
                del os.environ["CRAYON_CACHE_DIR"]
            else:
                os.environ["CRAYON_CACHE_DIR"] = before
