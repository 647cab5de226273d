"""Training, small, and stopped."""

from __future__ import annotations

import json

import crayon_hf
from tests.soak.material import Training
from tests.soak.world import Run


class Stopped(Exception):
    """Raised by a report of progress."""


def import_everything() -> None:
    """What training needs, and nothing else here."""
    crayon_hf.train_bpe(iter(["a b"]), vocab_size=300, pattern="gpt2", show_progress=False)
    crayon_hf.train_bpe(iter(["a b"]), vocab_size=300, show_progress=False)


def _training(run: Run) -> Training | None:
    there = [subject.material.training for subject in run.world.subjects if subject.material.training]
    return run.rng.choice(there) if there else None


def train(run: Run) -> None:
    """The reference's merges and ids."""
    training = _training(run)
    if training is None:
        return
    trained = crayon_hf.train_bpe(
        iter(training.texts), pattern="gpt2", show_progress=False, threads=run.rng.randrange(4), **training.options
    )
    model = json.loads(trained.to_str())["model"]
    run.same(model["merges"], training.model["merges"], "merges")
    run.same(model["vocab"], training.model["vocab"], "vocab")


def stop_training(run: Run) -> None:
    """A report of progress raises: the error comes back, and nothing is left."""
    training = _training(run)
    if training is None:
        return

    def report(*_: object) -> None:
        raise Stopped

    with run.refused(Stopped):
        crayon_hf.train_bpe(iter(training.texts), pattern="gpt2", show_progress=report, **training.options)
