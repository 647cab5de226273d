"""Train a profile on the output of collect.py and word_lists.py, and write it as a tokenizer.json."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIALS = ("<|endoftext|>", "<|pad|>", "<|unk|>", "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>")

# Patterns published under these names, so that the scanners of those families serve the profiles, too.
PATTERNS = {
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
BLOCK = 1 << 20


@dataclass(frozen=True)
class Profile:
    """The number of ids, special tokens included, and the pattern that splits text."""

    size: int
    pattern: str


PROFILES = {"lite": Profile(50_000, "llama3"), "standard": Profile(206_373, "llama3")}


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


def build(pattern: str) -> Tokenizer:
    """Return an untrained byte-level BPE tokenizer with all its components."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERNS[pattern]), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True)
    return tokenizer


def train(source: Iterator[str], size: int, pattern: str, reference: bool = False) -> Any:
    """Train on a text. The special tokens take the last ids, so the model's own ids start at 0.

    With `reference`, the trainer of `tokenizers` trains, which gives the same merges in more time.
    """
    tokenizer = build(pattern)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if reference:
        trainer = trainers.BpeTrainer(
            vocab_size=size - len(SPECIALS), min_frequency=2, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(source, trainer)
        trained: Any = tokenizer
    else:
        import crayon_hf

        trained = crayon_hf.train_bpe(
            source,
            vocab_size=size - len(SPECIALS),
            tokenizer=tokenizer,
            initial_alphabet=alphabet,
            min_frequency=2,
            show_progress=False,
        )
    # Rebuilds the tokenizer from its JSON, so that the result of either trainer gets its special tokens in the same
    # way.
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
    parser.add_argument("--size", type=int, help="another number of ids, for comparisons")
    parser.add_argument("--pattern", choices=tuple(PATTERNS), help="another pattern, for comparisons")
    parser.add_argument("--reference", action="store_true", help="train with tokenizers, for comparisons")
    options = parser.parse_args()
    profile = PROFILES[options.profile]
    size = options.size or profile.size
    source = blocks(texts(options.corpus, options.words))
    tokenizer = train(source, size, options.pattern or profile.pattern, options.reference)
    check(tokenizer, size)
    options.output.write_text(tokenizer.to_str(pretty=False), encoding="utf-8")
    print(f"{options.output}: {tokenizer.get_vocab_size()} ids, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
