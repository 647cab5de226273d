"""Opening, by every way."""

from __future__ import annotations

import contextlib
import shutil

from crayon_hf import CrayonVocab, Tokenizer, _core
from tests.soak.world import Run


def open_source(run: Run) -> None:
    """A tokenizer.json, through the cache."""
    run.check(Tokenizer.from_file(run.subject.json))


def open_buffer(run: Run) -> None:
    """A tokenizer.json in memory, compiled now."""
    run.check(Tokenizer.from_buffer(run.material.source))


def open_cartridge(run: Run) -> None:
    """A cartridge with its tokenizer.json beside it."""
    run.check(Tokenizer.from_file(run.subject.cartridge))


def open_engine(run: Run) -> None:
    """The engine alone, mapped, and perhaps verified."""
    engine = _core.Engine.open(str(run.subject.cartridge), verify=run.rng.random() < 0.5)
    numbers = run.some()
    for i in numbers:
        run.same(engine.encode_ids(run.material.texts[i], False), run.material.ids[i], "encode_ids")


def open_memory(run: Run) -> None:
    """A cartridge in memory."""
    engine = _core.Engine.from_bytes(run.subject.cartridge.read_bytes())
    ids = engine.encode_lists(run.material.texts, False)
    run.same(ids, run.material.ids, "encode_lists")


def open_profile(run: Run) -> None:
    """By name."""
    run.check(Tokenizer.from_profile(run.subject.profile))
    with CrayonVocab() as vocab:
        vocab.load_profile(run.subject.profile)
        i = run.rng.randrange(len(run.material.texts))
        run.same(vocab.tokenize(run.material.texts[i]), run.material.ids[i], "CrayonVocab.tokenize")


def empty_cache(run: Run) -> None:
    """The cache is deleted while others open from it; then everything is compiled again."""
    with contextlib.suppress(OSError):  # another run does the same
        shutil.rmtree(run.world.home / "cache")
    run.check(Tokenizer.from_file(run.subject.json))
