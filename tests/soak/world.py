"""Shared state of a soak's operations: the vocabularies in use, each with its source files."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from crayon_hf import Tokenizer
from tests.soak.material import Material, make

KEPT = 4
"""How many vocabularies are in use at a time."""


class Difference(AssertionError):
    """Our result differs from the reference's."""


class Subject:
    """A vocabulary in use, with its files. The files are deleted when no operation refers to the subject any more."""

    def __init__(self, material: Material, home: Path) -> None:
        self.material = material
        self.directory = Path(tempfile.mkdtemp(prefix=f"{material.name}-", dir=home))
        profile = home / "profiles" / material.name
        weakref.finalize(self, _remove, self.directory, profile, os.getpid())
        self.json = self.directory / "tokenizer.json"
        self.cartridge = self.directory / "saved.dat"
        self.text = self.directory / "large.txt"
        self.json.write_bytes(material.source)
        self.text.write_text(material.large, encoding="utf-8", newline="")
        self.tokenizer = Tokenizer.from_file(self.json)
        assert self.tokenizer.engine == "native", self.tokenizer.engine_report()
        self.tokenizer.save(self.cartridge)
        self.tokenizer.save(profile.with_name(f"{material.name}.dat"))


def _remove(directory: Path, profile: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child finalizes its parent's objects, too
        shutil.rmtree(directory, ignore_errors=True)
        for suffix in (".dat", ".json"):
            Path(f"{profile}{suffix}").unlink(missing_ok=True)


class World:
    """The vocabularies in use. Only the main thread replaces them; an operation keeps the one that it began with.

    Other processes make the vocabularies and expected results, so that the tested process never runs the reference. The
    pool starts a new process for each, and forks none from this process.
    """

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self._seed = home, seed
        (home / "profiles").mkdir()
        os.environ["CRAYON_CACHE_DIR"] = str(home / "cache")
        os.environ["CRAYON_PROFILE_DIR"] = str(home / "profiles")
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
        self.subjects: list[Subject] = []
        self._next: Future[Material] = self._begun()
        for _ in range(2):
            self.renew()

    def _begun(self) -> Future[Material]:
        self._seed += 1
        return self._pool.submit(make, self._seed, os.environ.get("CRAYON_SHARED"))

    def renew(self) -> None:
        """Replace the oldest vocabulary with the next, and begin to make another one."""
        material, self._next = self._next.result(), self._begun()
        self.subjects = [*self.subjects[-KEPT + 1 :], Subject(material, self.home)]

    def renew_if_ready(self) -> None:
        if self._next.done():
            self.renew()

    def stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self.subjects = []


class Run:
    """One run of one operation, on a random vocabulary in use."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.comparisons = self.expected_errors = 0
        self.world, self.rng = world, rng
        self.subject = rng.choice(world.subjects)
        self.material = self.subject.material

    def same(self, ours: Any, wanted: Any, what: str) -> None:
        """Raise Difference if a result is not the expected one. `what` names the call."""
        self.comparisons += 1
        if ours != wanted:
            raise Difference(f"{what} of {self.material.name}: {ours!r:.500}, expected {wanted!r:.500}")

    @contextlib.contextmanager
    def refused(self, *errors: type[BaseException]) -> Iterator[None]:
        """Check that the `with` block raises one of these errors."""
        try:
            yield
        except errors:
            self.expected_errors += 1
        else:
            raise Difference(f"nothing was raised, expected {errors}")

    def some(self, most: int = 20) -> list[int]:
        """Indices of some texts of the material."""
        return self.rng.sample(range(len(self.material.texts)), self.rng.randrange(1, most))

    def check(self, tokenizer: Tokenizer, what: str = "encode") -> None:
        """Encode a few texts with `tokenizer.encode`, and compare the ids."""
        for i in self.rng.sample(range(len(self.material.texts)), 4):
            ids = tokenizer.encode(self.material.texts[i], add_special_tokens=False).ids
            self.same(ids, self.material.ids[i], what)

    @contextlib.contextmanager
    def place(self) -> Iterator[Path]:
        """A temporary directory for this run."""
        with tempfile.TemporaryDirectory(dir=self.world.home) as place:
            yield Path(place)
