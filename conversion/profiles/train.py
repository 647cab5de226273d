"""Train a profile on the output of collect.py and word_lists.py, and write it as a tokenizer.json."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, pre_tokenizers

import crayon_hf

SPECIALS = ("<|endoftext|>", "<|pad|>", "<|unk|>", "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>")

BLOCK = 1 << 20


PROFILES = {"lite": 50_000, "standard": 206_373}
"""The number of ids of each profile, special tokens included."""


def texts(corpus: Path, words: Path) -> Iterator[Path]:
    """The texts of the corpus in order, then the word lists."""
    yield from sorted(corpus.glob("*.txt"))
    yield from sorted(words.glob("word-list-*.txt"))


def blocks(paths: Iterator[Path]) -> Iterator[str]:
    """Yield the texts of files in blocks that are cut at line ends."""
    for path in paths:
        text = path.read_text(encoding="utf-8")
        start = 0
        while start < len(text):
            end = text.find("\n", start + BLOCK)
            end = len(text) if end < 0 else end + 1
            yield text[start:end]
            start = end


def train(source: Iterator[str], size: int) -> Tokenizer:
    """Train byte-level BPE on a text. The special tokens take the last ids, so the model's own ids start at 0."""
    trained = crayon_hf.train_bpe(source, vocab_size=size - len(SPECIALS), min_frequency=2, show_progress=False)
    tokenizer = Tokenizer.from_str(trained.to_str())
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    return tokenizer


def check(tokenizer: Any, size: int) -> None:
    """Check the size, every byte, every merge's parts and product, and the ids of the special tokens."""
    vocab = tokenizer.get_vocab()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    assert len(vocab) == tokenizer.get_vocab_size() == size, len(vocab)
    assert sorted(vocab.values()) == list(range(size))
    assert all(symbol in vocab for symbol in pre_tokenizers.ByteLevel.alphabet())
    assert len(merges) == size - len(SPECIALS) - 256
    assert all(a in vocab and b in vocab and a + b in vocab for a, b in merges)
    assert len({a + b for a, b in merges}) == len(merges)
    assert [vocab[s] for s in SPECIALS] == list(range(size - len(SPECIALS), size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=tuple(PROFILES), required=True)
    parser.add_argument("--corpus", type=Path, required=True, help="the output folder of collect.py")
    parser.add_argument("--words", type=Path, required=True, help="the output folder of word_lists.py")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the tokenizer.json to write")
    options = parser.parse_args()
    size = PROFILES[options.profile]
    tokenizer = train(blocks(texts(options.corpus, options.words)), size)
    check(tokenizer, size)
    options.output.write_text(tokenizer.to_str(pretty=False), encoding="utf-8")
    print(f"{options.output}: {tokenizer.get_vocab_size()} ids, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
