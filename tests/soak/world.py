"""Shared state of a soak's operations: vocabularies in use, each with its files, texts, and the reference's results.

A seed decides all of them. A soak is an hour of mixed work: see run.py."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from crayon_hf import Tokenizer

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


SHARED = ("gpt2", "bert-cased", "llama2", "t5-small", "llama3", "roberta-base", "whisper-tiny")
SHAPES = ("gpt2", "llama3", "qwen")
KINDS = (*SHAPES, "word_piece", "unigram", "llama")
TRAINING = {"vocab_size": 500, "min_frequency": 2, "special_tokens": ["<s>", "</s>"]}


class Material(NamedTuple):
    """One vocabulary, texts, and the reference's results. Each list of results has an item for each text."""

    name: str
    source: bytes
    """The tokenizer.json."""
    texts: list[str]
    ids: list[list[int]]
    whole: list[list[int]]
    """The ids of each text, with special tokens."""
    offsets: list[list[tuple[int, int]]]
    decoded: list[str]
    """The decoded text of each row of `whole`, without special tokens."""
    large: str
    large_ids: list[int]
    trained: dict[str, Any]
    """The reference's model, trained on the first lines of `large` with `TRAINING`."""


def make(seed: int, shared: str | None) -> Material:
    """Make the material of a seed. For every second seed the vocabulary is a published one, if `shared` has any."""
    import tokenizers

    from tests.support.encode_shapes import vocabulary
    from tests.support.stand_in_cases import trained

    rng = random.Random(f"soak {seed}")
    if shared and seed % 2:
        name = SHARED[seed // 2 % len(SHARED)]
        source = (Path(shared) / "vocab" / name / "tokenizer.json").read_text(encoding="utf-8")
    else:
        name = KINDS[(seed // 2 if shared else seed) % len(KINDS)]
        source = vocabulary(name) if name in SHAPES else trained(name)
    reference = tokenizers.Tokenizer.from_str(source)
    reference.no_truncation()
    reference.no_padding()
    texts = _texts(seed, rng)
    large = "\n".join(_prose(rng, 4000))
    plain = reference.encode_batch(texts, add_special_tokens=False)
    whole = [encoding.ids for encoding in reference.encode_batch(texts)]
    return Material(
        name=f"{name}-{seed}",
        source=reference.to_str().encode(),
        texts=texts,
        ids=[encoding.ids for encoding in plain],
        whole=whole,
        offsets=[encoding.offsets for encoding in plain],
        decoded=[reference.decode(ids) for ids in whole],
        large=large,
        large_ids=reference.encode(large, add_special_tokens=False).ids,
        trained=_trained(lines_of(large)),
    )


def lines_of(large: str) -> list[str]:
    """The lines of the text `large` on which a soak trains."""
    return large.split("\n")[:300]


def _texts(seed: int, rng: random.Random) -> list[str]:
    from crayon_hf.parity.inputs.strings import generate

    hostile = [text[:4000] for _, text in generate(100, seed)]
    valid = [text for text in hostile if not any("\ud800" <= char <= "\udfff" for char in text)]
    return [*valid[:50], *_prose(rng, 30), ""]


def _prose(rng: random.Random, lines: int) -> list[str]:
    from tests.conftest import SENTENCES

    words = [word for sentence in SENTENCES for word in sentence.split()]
    own = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 12))) for _ in range(300)]
    return [" ".join(rng.choices(words + own, k=rng.randrange(3, 30))) for _ in range(lines)]


def _trained(texts: list[str]) -> dict[str, Any]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    reference = Tokenizer(models.BPE())
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(show_progress=False, initial_alphabet=alphabet, **TRAINING)  # type: ignore[arg-type]
    reference.train_from_iterator(texts, trainer)
    model: dict[str, Any] = json.loads(reference.to_str())["model"]
    return model
