"""One training in this process, measured. Only the trainer is imported, so that memory is the trainer's."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .measured import digest, timed

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of gpt2, for trainers that take one."""

Tokens = Callable[[], list[bytes]]
"""Returns the tokens that merges made, by id."""


def crayon(path: str, vocab_size: int, threads: int) -> Tokens:
    """Train with our trainer."""
    import crayon_hf

    tokenizer = crayon_hf.train_bpe(path, vocab_size=vocab_size, pattern="gpt2", format="text", threads=threads)
    return lambda: _of_json(tokenizer.to_str())


def tokenizers(path: str, vocab_size: int, threads: int) -> Tokens:
    """Train with the reference and its own reader of files."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train([path], trainer)
    return lambda: _of_json(tokenizer.to_str())


def rustbpe(path: str, vocab_size: int, threads: int) -> Tokens:
    """Train with rustbpe, which requires an iterator of lines."""
    tokenizer = import_module("rustbpe").Tokenizer()
    with open(path, encoding="utf-8", newline="\n") as lines:
        tokenizer.train_from_iterator(lines, vocab_size, pattern=PATTERN)

    def tokens() -> list[bytes]:
        ranked = sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])
        return [bytes(token) for token, _ in ranked[256:]]

    return tokens


def gigatoken(path: str, vocab_size: int, threads: int) -> Tokens:
    """Train with gigatoken on the file, which is one document."""
    package = import_module("gigatoken")
    _, merges = package.train_bpe(package.TextFileSource([path]), vocab_size, [])
    return lambda: [left + right for left, right in merges]


ENGINES = {"crayon": crayon, "tokenizers": tokenizers, "rustbpe": rustbpe, "gigatoken": gigatoken}


def _of_json(text: str) -> list[bytes]:
    vocab, unspell = json.loads(text)["model"]["vocab"], import_module("crayon_hf.util.byte_level").unspell
    return [unspell(token) for token in sorted(vocab, key=lambda token: vocab[token])[256:]]


def run(step: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Measure a training with the engine that `job` names. Return its figures and a digest of the new tokens."""
    engine, threads = job["engine"], job["threads"]
    import_module("crayon_hf.training" if engine == "crayon" else engine)  # not part of the time
    trained: list[Tokens] = []
    seconds = timed(lambda: trained.append(ENGINES[engine](step["path"], step["vocab_size"], threads)))
    return {**seconds, "digest": digest(*trained[0]())}
