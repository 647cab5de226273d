"""Train the `lite` profile from the text that collect.py made, and write it as a tokenizer.json."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

MADE_WITH = "0.23.3"
SIZE = 50_000
SPECIALS = ("<|endoftext|>", "<|pad|>", "<|unk|>", "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>")

# The pattern that llama3 published, so that the scanner of that family serves this profile too.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOCK = 1 << 20


def blocks(corpus: Path) -> Iterator[str]:
    """The corpus in its order, in blocks cut at line ends."""
    for path in sorted(corpus.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        start = 0
        while start < len(text):
            end = text.find("\n", start + BLOCK)
            end = len(text) if end < 0 else end + 1
            yield text[start:end]
            start = end


def build() -> Tokenizer:
    """An untrained byte-level BPE with everything around the model in place."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True)
    return tokenizer


def train(corpus: Path) -> Tokenizer:
    """Merges from the corpus; the special tokens take the last ids, so the model's own start at 0."""
    tokenizer = build()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE - len(SPECIALS),
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(blocks(corpus), trainer)
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    return tokenizer


def check(tokenizer: Tokenizer) -> None:
    """The size, every byte, every merge's parts and product, the places of the special tokens."""
    vocab = tokenizer.get_vocab()
    form = json.loads(tokenizer.to_str())
    merges = form["model"]["merges"]
    assert len(vocab) == tokenizer.get_vocab_size() == SIZE
    assert sorted(vocab.values()) == list(range(SIZE))
    assert all(symbol in vocab for symbol in pre_tokenizers.ByteLevel.alphabet())
    assert len(merges) == SIZE - len(SPECIALS) - 256
    assert all(a in vocab and b in vocab and a + b in vocab for a, b in merges)
    assert len({a + b for a, b in merges}) == len(merges)
    assert [vocab[s] for s in SPECIALS] == list(range(SIZE - len(SPECIALS), SIZE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True, help="folder that collect.py wrote")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the tokenizer.json to write")
    options = parser.parse_args()
    if tokenizers.__version__ != MADE_WITH:
        print(f"warning: lite was made with tokenizers {MADE_WITH}, this is {tokenizers.__version__}", file=sys.stderr)
    tokenizer = train(options.corpus)
    check(tokenizer)
    options.output.write_text(tokenizer.to_str(pretty=False), encoding="utf-8")
    print(f"{options.output}: {tokenizer.get_vocab_size()} ids, {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
