"""What a soak compares with: vocabularies, texts, and what the reference library makes of them.

It is made in a process of its own (``python -m tests.soak.material``), so that the process under test never runs the
reference, neither its threads nor its memory. Everything follows from a seed.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("gpt2", "bert-cased", "llama2", "t5-small", "llama3", "roberta-base", "whisper-tiny")
KINDS = ("gpt2", "wordpiece", "tiktoken", "llama3", "qwen", "llama2", "unigram", "own pattern")
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LARGE = 700_000
"""Characters: texts of more than half a million are cut into parts for threads."""


class Training(NamedTuple):
    """A small training, and what the reference's trainer makes of it."""

    texts: list[str]
    options: dict[str, Any]
    model: dict[str, Any]


class Material(NamedTuple):
    """One vocabulary. Lists go by text."""

    name: str
    source: bytes
    """The tokenizer.json; of ``tiktoken`` the pickled ranks and special tokens."""
    texts: list[str]
    ids: list[list[int]]
    whole: list[list[int]]
    """With special tokens around them."""
    offsets: list[list[tuple[int, int]]]
    decoded: list[str]
    """Of `whole`, special tokens left out."""
    large: str
    large_ids: list[int]
    training: Training | None

    @property
    def is_tiktoken(self) -> bool:
        return self.name.startswith("tiktoken")


def make(seed: int, shared: str | None) -> Material:
    """The material of a seed: every other one a published vocabulary where `shared` has some."""
    rng = random.Random(f"soak {seed}")
    if shared and seed % 2 and (Path(shared) / "vocab").is_dir():
        name = SHARED[seed // 2 % len(SHARED)]
        return _of_tokenizers(name, (Path(shared) / "vocab" / name / "tokenizer.json").read_bytes(), seed, rng)
    kind = KINDS[(seed // 2 if shared else seed) % len(KINDS)]
    texts = _texts(seed, 60)
    if kind == "tiktoken":
        return _of_tiktoken(seed, texts, rng)
    return _of_tokenizers(kind, _train(kind, [*texts, *_prose(rng, 400)], rng), seed, rng)


def _texts(seed: int, count: int) -> list[str]:
    from crayon_hf.parity.inputs.strings import generate

    out = []
    for _, text in generate(2 * count, seed):
        try:
            text.encode()
        except UnicodeEncodeError:  # the reference takes no surrogates
            continue
        out.append(text[:4000])
    return out[:count]


def _prose(rng: random.Random, lines: int) -> list[str]:
    from tests.conftest import SENTENCES

    words = [word for sentence in SENTENCES for word in sentence.split()]
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    own = ["".join(rng.choices(alphabet, k=rng.randrange(2, 12))) for _ in range(300)]
    return [" ".join(rng.choices(words + own, k=rng.randrange(3, 30))) for _ in range(lines)]


def _of_tokenizers(name: str, source: bytes, seed: int, rng: random.Random) -> Material:
    import tokenizers

    reference = tokenizers.Tokenizer.from_buffer(source)
    reference.no_truncation()
    reference.no_padding()
    source = reference.to_str().encode()
    texts = [*_texts(seed + 1, 50), *_prose(rng, 30), ""]
    large = "\n".join(_prose(rng, 4000 if name in KINDS else 8000))
    plain = reference.encode_batch(texts, add_special_tokens=False)
    whole = [encoding.ids for encoding in reference.encode_batch(texts)]
    return Material(
        name=f"{name} {seed}",
        source=source,
        texts=texts,
        ids=[encoding.ids for encoding in plain],
        whole=whole,
        offsets=[encoding.offsets for encoding in plain],
        decoded=[reference.decode(ids) for ids in whole],
        large=large,
        large_ids=reference.encode(large, add_special_tokens=False).ids,
        training=_training(rng) if seed % 3 == 0 else None,
    )


def _of_tiktoken(seed: int, texts: list[str], rng: random.Random) -> Material:
    import tiktoken
    from tokenizers import pre_tokenizers

    model = json.loads(_train("gpt2", [*texts, *_prose(rng, 400)], rng))["model"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_of = dict(zip(alphabet, _bytes_of(alphabet), strict=True))
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in model["merges"]:
        token = b"".join(bytes_of[character] for character in left + right)
        if token not in tokens[:256] and token not in tokens:
            tokens.append(token)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    parts = {
        "name": f"soak-{seed}",
        "pat_str": LLAMA3,
        "mergeable_ranks": ranks,
        "special_tokens": {"<|endoftext|>": len(ranks)},
    }
    reference = tiktoken.Encoding(**parts)
    texts = [*_texts(seed + 1, 50), *_prose(rng, 30), ""]
    large = "\n".join(_prose(rng, 2000))
    ids = [reference.encode_ordinary(text) for text in texts]
    return Material(
        name=f"tiktoken {seed}",
        source=pickle.dumps(parts),
        texts=texts,
        ids=ids,
        whole=ids,
        offsets=[],
        decoded=[reference.decode(one) for one in ids],
        large=large,
        large_ids=reference.encode_ordinary(large),
        training=None,
    )


def _bytes_of(alphabet: list[str]) -> list[bytes]:
    from crayon_hf.util.byte_level import BYTE_LEVEL

    byte_of = {chr(character): byte for byte, character in BYTE_LEVEL.items()}
    return [bytes([byte_of[character]]) for character in alphabet]


def _training(rng: random.Random) -> Training:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = _prose(rng, 300)
    options: dict[str, Any] = {
        "vocab_size": rng.randrange(300, 900),
        "min_frequency": rng.choice([0, 2, 5]),
        "special_tokens": ["<s>", "</s>"],
    }
    reference = Tokenizer(models.BPE())
    reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(show_progress=False, initial_alphabet=alphabet, **options)
    reference.train_from_iterator(texts, trainer)
    return Training(texts, options, json.loads(reference.to_str())["model"])


def _train(kind: str, texts: list[str], rng: random.Random) -> bytes:
    """A vocabulary of the shape of a published one."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    def split(pattern: str) -> Any:
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])

    size = rng.randrange(600, 3000)
    special = ["<unk>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=rng.random() < 0.5)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    elif kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    elif kind == "llama2":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        special = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.decoder = decoders.ByteLevel()
        if kind == "qwen":
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = {
            "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=rng.random() < 0.3),
            "llama3": split(LLAMA3),
            "qwen": split(LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")),
        }.get(kind) or split(r"[a-z]+|[^a-z\s]{1,7}|\s+")
        trainer = trainers.BpeTrainer(
            vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
    tokenizer.train_from_iterator(texts, trainer)
    begin = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", begin)])
    document = json.loads(tokenizer.to_str())
    if kind == "llama3":
        document["model"]["ignore_merges"] = True
    if kind == "llama2":
        document["pre_tokenizer"] = None
        document["normalizer"] = normalizer_of_llama2()
        document["decoder"] = decoder_of_llama2()
        names = {f"<0x{byte:02X}>" for byte in range(256)}
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] not in names]
    return json.dumps(document).encode()


def normalizer_of_llama2() -> dict[str, Any]:
    return {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ],
    }


def decoder_of_llama2() -> dict[str, Any]:
    return {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    }


class Maker:
    """Makes materials in processes of their own, one ahead of need."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._directory, self._seed = directory, seed
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin with the next one."""
        command = [sys.executable, "-m", "tests.soak.material", str(self._seed), str(self._path())]
        path = os.pathsep.join([*sys.path, str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "RAYON_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, cwd=self._directory, env=environment, stdin=subprocess.DEVNULL)

    def is_ready(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def take(self) -> Material:
        """The one that was begun, when it is made."""
        if self._process is None:
            self.start()
        assert self._process is not None
        if self._process.wait() != 0:
            raise RuntimeError(f"the material of seed {self._seed} could not be made")
        path = self._path()
        material: Material = pickle.loads(path.read_bytes())
        path.unlink()
        self._process, self._seed = None, self._seed + 1
        return material

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _path(self) -> Path:
        return self._directory / f"material-{self._seed}"


def main() -> None:
    seed, path = int(sys.argv[1]), sys.argv[2]
    # By the name that the reader knows the classes by.
    from tests.soak import material

    made = material.make(seed, os.environ.get("CRAYON_SHARED"))
    Path(path).write_bytes(pickle.dumps(made))


if __name__ == "__main__":
    main()
