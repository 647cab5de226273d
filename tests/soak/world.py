"""What all operations of a soak share: vocabularies in use, each with the files that it is opened from."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import crayon_hf
from crayon_hf import Tokenizer
from tests.soak.material import Maker, Material
from tests.soak.table import Count

KEPT = 4
"""Vocabularies in use at a time."""


class Subject:
    """A vocabulary in use. Its files go when nobody has it any more."""

    def __init__(self, material: Material, home: Path) -> None:
        self.material = material
        self.profile = material.name.replace(" ", "-")
        self.directory = Path(tempfile.mkdtemp(prefix=f"{self.profile}-", dir=home))
        profiles = home / "profiles"
        weakref.finalize(self, _remove, self.directory, profiles / self.profile, os.getpid())
        self.json = self.directory / "tokenizer.json"
        self.cartridge = self.directory / "saved.dat"
        self.text = self.directory / "large.txt"
        self.json.write_bytes(material.source)
        self.text.write_text(material.large, encoding="utf-8", newline="")
        self.tokenizer = Tokenizer.from_file(self.json)
        if self.tokenizer.engine != "native":
            raise RuntimeError(f"{material.name} is not native: {self.tokenizer.engine_report()['reason']}")
        self.tokenizer.save(self.cartridge)
        self.tokenizer.save(profiles / f"{self.profile}.dat")


def _remove(directory: Path, profile: Path, owner: int) -> None:
    if os.getpid() != owner:  # a child that was forked goes through its parent's list, too
        return
    shutil.rmtree(directory, ignore_errors=True)
    for suffix in (".dat", ".json"):
        Path(f"{profile}{suffix}").unlink(missing_ok=True)


class TiktokenSubject:
    """An encoding of tiktoken's in use."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.parts: dict[str, Any] = pickle.loads(material.source)
        self.encoding = crayon_hf.tiktoken.Encoding(**self.parts)


class World:
    """Changes in the main thread alone; operations take what there is when they begin."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        (home / "profiles").mkdir()
        os.environ["CRAYON_CACHE_DIR"] = str(home / "cache")
        os.environ["CRAYON_PROFILE_DIR"] = str(home / "profiles")
        self.subjects: list[Subject] = []
        self.encodings: list[TiktokenSubject] = []
        self.made = 0
        self._maker = Maker(home, seed)
        while len(self.subjects) < 2 or not self.encodings:
            self.renew()

    def renew(self) -> None:
        """Take the next vocabulary, in place of the oldest, and begin to make another one."""
        material = self._maker.take()
        self.made += 1
        self._maker.start()
        if material.is_tiktoken:
            self.encodings = [TiktokenSubject(material)]
        else:
            self.subjects = [*self.subjects[-KEPT + 1 :], Subject(material, self.home)]

    def renew_if_ready(self) -> None:
        if self._maker.is_ready():
            self.renew()

    def stop(self) -> None:
        self._maker.stop()
        self.subjects, self.encodings = [], []


class Run(Count):
    """One run of one operation."""

    def __init__(self, world: World, rng: random.Random) -> None:
        super().__init__()
        self.world, self.rng = world, rng
        self.subject = rng.choice(world.subjects)
        self.material = self.subject.material

    def some(self, most: int = 20) -> list[int]:
        """Numbers of some texts of the material."""
        return self.rng.sample(range(len(self.material.texts)), self.rng.randrange(1, most))

    def check(self, tokenizer: Tokenizer, material: Material | None = None, what: str = "") -> None:
        """A few texts, by the plainest way."""
        of = self.material if material is None else material
        for i in self.rng.sample(range(len(of.texts)), 4):
            ids = tokenizer.encode(of.texts[i], add_special_tokens=False).ids
            self.same(ids, of.ids[i], f"{what or 'encode'} of {of.name}, text {i}")

    def place(self) -> Path:
        """A directory for this run, in the subject's."""
        return Path(tempfile.mkdtemp(dir=self.subject.directory))
