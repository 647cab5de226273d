"""Makes the inputs and expected results of a soak (an hour of mixed work, see run.py) from a seed: vocabularies, texts,
and the reference library's results."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

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
