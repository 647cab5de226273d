"""What all operations of a soak share: vocabularies in use, each with the files that it is opened from."""

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
"""Vocabularies in use at a time."""


class Difference(AssertionError):
    """Ours is not what the reference gave."""


class Subject:
    """A vocabulary in use. Its files go when nobody has it any more."""

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
    if os.getpid() == owner:  # a child that was forked goes through its parent's list, too
        shutil.rmtree(directory, ignore_errors=True)
        for suffix in (".dat", ".json"):
            Path(f"{profile}{suffix}").unlink(missing_ok=True)


class World:
    """Changes in the main thread alone; operations take what there is when they begin.

    Other processes make the material, so that the process under test never runs the reference, neither its threads nor
    its memory: each makes one, so the pool forks none from this process.
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
        """Take the next vocabulary, in place of the oldest, and begin to make another one."""
        material, self._next = self._next.result(), self._begun()
        self.subjects = [*self.subjects[-KEPT + 1 :], Subject(material, self.home)]

    def renew_if_ready(self) -> None:
        if self._next.done():
            self.renew()

    def stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self.subjects = []


class Run:
    """One run of one operation."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.comparisons = self.expected_errors = 0
        self.world, self.rng = world, rng
        self.subject = rng.choice(world.subjects)
        self.material = self.subject.material

    def same(self, ours: Any, wanted: Any, what: str) -> None:
        """Compare. Difference says where the two part."""
        self.comparisons += 1
        if ours != wanted:
            raise Difference(f"{what} of {self.material.name}: {ours!r:.500}, expected {wanted!r:.500}")

    @contextlib.contextmanager
    def refused(self, *errors: type[BaseException]) -> Iterator[None]:
        """What is inside has to raise one of these errors."""
        try:
            yield
        except errors:
            self.expected_errors += 1
        else:
            raise Difference(f"nothing was raised, expected {errors}")

    def some(self, most: int = 20) -> list[int]:
        """Numbers of some texts of the material."""
        return self.rng.sample(range(len(self.material.texts)), self.rng.randrange(1, most))

    def check(self, tokenizer: Tokenizer, what: str = "encode") -> None:
        """A few texts, by the plainest way."""
        for i in self.rng.sample(range(len(self.material.texts)), 4):
            ids = tokenizer.encode(self.material.texts[i], add_special_tokens=False).ids
            self.same(ids, self.material.ids[i], what)

    @contextlib.contextmanager
    def place(self) -> Iterator[Path]:
        """A directory for this run."""
        with tempfile.TemporaryDirectory(dir=self.world.home) as place:
            yield Path(place)
